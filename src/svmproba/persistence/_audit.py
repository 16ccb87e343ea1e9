"""What a model file may hold: a fixed list, checked before anything is built from it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from svmproba.persistence._archive import SCHEMA, ModelFileError, check_sparse, refusing

_NUMBERS = "float16 float32 float64 longdouble int8 int16 int32 int64 longlong"
_NUMBERS += " uint8 uint16 uint32 uint64 ulonglong"
_KEYS = {"builtins.str", "builtins.int", "builtins.float", "numpy.str_"}
_KEYS |= {f"numpy.{name}" for name in _NUMBERS.split()}
_SCALARS = {name for name in _KEYS if name.startswith("numpy")} | {"numpy.bool", "numpy.bytes_"}

_ESTIMATORS = (
    "_bootstrap_svc.BootstrapSVC",
    "_constrained_bootstrap_svc.ConstrainedBootstrapSVC",
    "_constrained_svc.ConstrainedSVC",
    "_posterior_probability_svc.PosteriorProbabilitySVC",
    "_probability_svc.ProbabilitySVC",
    "_threshold_bootstrap_svc.ThresholdBootstrapSVC",
    "_weighted_probability_svc.WeightedProbabilitySVC",
)
_LINKS = (
    "beta.BetaLink",
    "choose.AutoLink",
    "cosine.CosineLink",
    "cpon.CponLink",
    "gaussian.GaussianLink",
    "isotonic.IsotonicLink",
    "isotonic.IsotonicMixtureLink",
    "moderated.ModeratedLink",
    "platt.PlattLink",
    "sollich.SollichLink",
    "stack.StackLink",
    "venn_abers.VennAbersLink",
    "wahba.WahbaLink",
)
#: Steps of scikit-learn that may come before the model, by public module.
_STEPS = {
    "compose": "ColumnTransformer make_column_selector",
    "decomposition": "IncrementalPCA KernelPCA PCA TruncatedSVD",
    "feature_selection": "SelectKBest SelectPercentile VarianceThreshold",
    "impute": "KNNImputer MissingIndicator SimpleImputer",
    "kernel_approximation": "Nystroem RBFSampler",
    "model_selection": "GroupKFold KFold LeaveOneOut PredefinedSplit StratifiedKFold",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer LabelBinarizer "
    "LabelEncoder MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder "
    "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler StandardScaler "
    "TargetEncoder",
    "random_projection": "GaussianRandomProjection SparseRandomProjection",
}
#: Older protocols of skops write names in other places than those looked at here.
_PROTOCOL = 2
#: Scores of columns for SelectKBest and SelectPercentile.
_SCORES = {"feature_selection": "chi2 f_classif mutual_info_classif"}


@cache
def allowed() -> dict[str, frozenset[str]]:
    """Types that each loader of skops may build, by full name.

    No entry runs anything that a file could choose: arrays, plain containers, numbers and text,
    the classes of this package with nothing but such attributes, scikit-learn's preparation steps,
    numpy's element-wise functions and three of scikit-learn's feature scores.
    """
    own = {f"svmproba.estimators.{name}" for name in _ESTIMATORS}
    own |= {f"svmproba.links.{name}" for name in _LINKS}
    own.add("svmproba.solvers.features.FeatureMap")
    elementwise = {f"numpy.{name}" for name, f in vars(np).items() if isinstance(f, np.ufunc)}
    tuples = {
        "builtins.tuple",
        "svmproba.bootstrap.members.Members",
        "svmproba.bootstrap.threshold.RateCurve",
        "svmproba.estimators._score_spread.Spread",
    }
    table: dict[str, Any] = {
        "JsonNode": {"builtins.str"},
        "DictNode": {"builtins.dict"},
        "ListNode": {"builtins.list"},
        "TupleNode": tuples,
        "SliceNode": {"builtins.slice"},
        "NdArrayNode": {"numpy.ndarray", *_SCALARS},
        "SparseMatrixNode": {"scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"},
        "DTypeNode": {"numpy.dtype"},
        "TypeNode": {*_KEYS, *_SCALARS, "builtins.bool"},
        "RandomStateNode": {"numpy.random.mtrand.RandomState"},
        "ObjectNode": own | _sklearn_names(_STEPS),
        "FunctionNode": elementwise | _sklearn_names(_SCORES),
    }
    return {loader: frozenset(names) for loader, names in table.items()}


def trusted() -> list[str]:
    """All of them, as skops wants them."""
    return sorted(frozenset().union(*allowed().values()))


def _sklearn_names(table: Mapping[str, str]) -> set[str]:
    """Full names, as skops writes them, of public names by public module."""
    found = set()
    for module, names in table.items():
        public = importlib.import_module(f"sklearn.{module}")
        for name in names.split():
            found.add(f"{getattr(public, name).__module__}.{name}")
    return found


def audit(path: Path, members: Mapping[str, bytes]) -> None:
    """Refuse a file that names anything beyond `allowed`; nothing is built or imported by it."""
    with refusing(path, f"its {SCHEMA} cannot be read"):
        schema = json.loads(members[SCHEMA])
        if type(schema["protocol"]) is not int or schema["protocol"] < _PROTOCOL:
            raise ModelFileError(path, f"unknown skops protocol {schema['protocol']!r}.")
        pending = [("", schema)]
        while pending:
            where, value = pending.pop()
            if isinstance(value, dict):
                if "__loader__" in value:
                    _check_node(path, where, value, members)
                pending += [(_inside(where, key), child) for key, child in value.items()]
            elif isinstance(value, list):
                pending += [(f"{where}[{i}]", child) for i, child in enumerate(value)]


def _inside(where: str, key: str) -> str:
    return where if key == "content" else f"{where}.{key}".removeprefix(".")


def _check_node(path: Path, where: str, node: dict[str, Any], members: Mapping[str, bytes]) -> None:
    name = f"{node['__module__']}.{node['__class__']}"
    loader, place = node["__loader__"], where or "the model"
    if name not in allowed().get(loader, ()):
        raise ModelFileError(path, f"{place} is {name}, which a model file may not hold.")
    if "file" in node and node["file"] not in members:
        raise ModelFileError(path, f"{place} is missing from it.")
    if loader == "SparseMatrixNode":
        check_sparse(path, node["file"], members[node["file"]])
    elif loader == "DictNode":
        _check_keys(path, place, node)
    elif loader == "SliceNode":
        if not all(type(end) in (int, type(None)) for end in node["content"].values()):
            raise ModelFileError(path, f"{place} is not a slice of whole numbers.")
    elif name == "sklearn.pipeline.Pipeline":
        _check_memory(path, place, node["content"]["content"])


def _check_memory(path: Path, place: str, attributes: dict[str, Any]) -> None:
    """Refuse a cache: it is read with pickle when the pipeline is fitted again."""
    if attributes["memory"].get("content") != "null":
        raise ModelFileError(path, f"{place} is a Pipeline with memory; set it to None.")


def _check_keys(path: Path, place: str, node: dict[str, Any]) -> None:
    """Keys become text in the file: refuse those that would not come back as they were."""
    kinds = node["key_types"]["content"]
    names = [(kind["__loader__"], f"{kind['__module__']}.{kind['__class__']}") for kind in kinds]
    wrong = [name for loader, name in names if loader != "TypeNode" or name not in _KEYS]
    if wrong or len(kinds) != len(node["content"]):
        found = ", ".join(wrong) or "keys that are equal as text"
        raise ModelFileError(path, f"{place} is a dict with keys of {found}; use text or numbers.")
