"""Arrays and numbers that do not go together: each check of a loaded model is needed."""

import copy
import io
import itertools
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    RateFeatureSelector,
    SelectedBootstrapSVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
    load,
    save,
)
from svmproba.persistence._archive import Refused
from svmproba.persistence._codec import decode
from svmproba.persistence._names import TUPLES, parameters
from svmproba.persistence.rules import members as _member_rules
from svmproba.persistence.rules import objects as _rules

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X[:, 0] + 0.5 * rng.normal(size=40) > 0
IRIS = load_iris(return_X_y=True)
SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 12, "random_state": 0}
ONE = {"Cs": [1.0], "random_state": 0}
SOLLICH = {"average": "sampled", "n_draws": 9}
MARGIN = {"C": 1.0, "average": "frozen", "joint": False, "bias_scale": 10.0, "n_draws": 2000}
THREE = X, np.digitize(X[:, 0], [-0.5, 0.5])
PRESENT = np.append(np.zeros(4), np.ones(36))


MODELS = {
    "auto": lambda: BootstrapSVC(
        kernel="rbf", gammas=[0.1, 0.5], calibration="auto", epsilon=0.001, **SMALL
    ).fit(X, y),
    "sparse": lambda: BootstrapSVC(kernel="rbf", calibration="beta", **SMALL).fit(
        sparse.csr_array(X), y
    ),
    "precomputed": lambda: BootstrapSVC(kernel="precomputed", calibration="stack", **SMALL).fit(
        X @ X.T, y, sample_weight=PRESENT
    ),
    "wide": lambda: BootstrapSVC(calibration="isotonic", **SMALL).fit(
        X.reshape(12, -1), np.arange(12) % 2
    ),
    "little": lambda: BootstrapSVC(resample="blb", **SMALL).fit(np.tile(X, (9, 1)), np.tile(y, 9)),
    "per theta": lambda: ThresholdBootstrapSVC(0.9, per_theta=True, **SMALL).fit(X, y),
    "split": lambda: ThresholdBootstrapSVC(0.5, guarantee="split", confidence=0.5, **SMALL).fit(
        X, y
    ),
    "jackknife+": lambda: ThresholdBootstrapSVC(
        0.9, guarantee="jackknife+", calibration="venn_abers", **SMALL
    ).fit(X, y),
    "names": lambda: (
        BootstrapSVC(calibration="platt", **SMALL)
        .fit(pd.DataFrame(X, columns=list("abc")), y)
        .with_costs(fn_cost=5.0, fp_cost=1.0)
    ),
    "groups": lambda: (
        BootstrapSVC(**SMALL)
        .fit(X, y, groups=np.arange(40) % 20)
        .with_rate(tpr=0.5, by=np.arange(40) % 2, common_threshold=False)
    ),
    "constrained": lambda: ConstrainedBootstrapSVC(0.7, effort="fast", **SMALL).fit(X, y),
    "selected": lambda: SelectedBootstrapSVC(RateFeatureSelector(0.7, 0.7), **SMALL).fit(X, y),
    "constrained one": lambda: ConstrainedSVC(min_tpr=0.9, effort="fast").fit(X, y),
    "sampled": lambda: ProbabilitySVC("sollich", link_params=SOLLICH, **ONE).fit(X, y),
    "margin": lambda: ProbabilitySVC("sollich", link_params={"average": "frozen"}, **ONE).fit(X, y),
    "bags": lambda: ProbabilitySVC("moderated", link_params={"n_bootstraps": 9}, **ONE).fit(X, y),
    "cosine": lambda: ProbabilitySVC("cosine", link_params={"isotonic": True}, **ONE).fit(X, y),
    "cpon": lambda: ProbabilitySVC("cpon", **ONE).fit(X, y),
    "gaussian": lambda: ProbabilitySVC("gaussian", **ONE).fit(X, y),
    "classes": lambda: ProbabilitySVC("platt", **ONE).fit(*IRIS),
    "neighbours": lambda: PosteriorProbabilitySVC(**ONE).fit(X, y),
    "neighbours sparse": lambda: PosteriorProbabilitySVC(**ONE).fit(sparse.csr_array(X), y),
    "weights": lambda: WeightedProbabilitySVC(**ONE).fit(X, y),
    "three": lambda: BootstrapSVC(calibration="auto", epsilon=0.001, **SMALL).fit(*IRIS),
    "three constrained": lambda: ConstrainedBootstrapSVC(
        min_recall={IRIS[1][0]: 0.8}, effort="fast", **SMALL
    ).fit(*IRIS),
    "three kernels": lambda: BootstrapSVC(
        kernel=["linear", "rbf"], gammas=0.5, calibration="platt", **SMALL
    ).fit(*THREE),
    "landmarks": lambda: BootstrapSVC(
        kernel="rbf", n_components="auto", gammas="search", **SMALL
    ).fit(X, y),
    "three precomputed": lambda: BootstrapSVC(kernel="precomputed", **SMALL).fit(
        X @ X.T, THREE[1], sample_weight=PRESENT
    ),
}

#: What does not belong there, for attributes that are no arrays.
WRONG = {
    "feature_names_in_": [
        None,
        ["a"],
        {"objects": [[2], ["a", "b"]]},
        {"objects": [[3], ["a", "b", 3]]},
    ],
    "n_features_in_": [0, 99, "6", None, 2.5],
    "_plus": [2, -1, None, True],
    "pos_label_": [7, None],
    "_present": [[0, 1]],
    "ensemble_": [None, [], {"PlattLink": {"A_": 1.0, "B_": 0.0}}],
    "members": [None, []],
    "n_redraws": [-1, None, 0.5],
    "places": [[1, 2]],
    "vote_curve": [None, []],
    "thetas": [None, [1.0]],
    "jackknife": [
        1,
        [1, 0.5],
        {"tuple": [2, 0.5]},
        {"tuple": [1, 1.5]},
        {"tuple": [1]},
        {"tuple": [1, "r"]},
    ],
    "threshold": ["0", None, {"float": "nan"}, True],
    **{key: ["0.5", None, {"float": "nan"}] for key in ("proba_threshold", "proba_threshold_")},
    "oob_proba": [[0.5]],
    "of_pair": [None, []],
    "n_classes": [2, None],
    "scaling": [None, {"ClassScaling": {"kind_": "none"}}],
    "kind_": ["linear", None],
    "links": [None, []],
    "X": [None, [1.0]],
    "present": [[0, 1]],
    "calibrator": [1, {"SollichLink": {}}, {"PlattLink": {"A_": 1.0}}],
    "guarantee": [None, 1],
    "groups": [[1], 3],
    "subgroup_rates": [None, [], [[0, 1]]],
    "separate": [None, 1],
    "subgroup": [None, [0, 1]],
    **{key: [3, {"dict": [["brier", 2.0]]}] for key in ("components_path_", "gammas_path_")},
    "n_subsets_": [0, None],
    "subset_size_": [0, "9"],
    "held_out_": [[1]],
    "summary_": [None],
    "_feature_map": [None, {"PlattLink": {"A_": 1.0, "B_": 0.0}}],
    "floors_": [None, {"dict": [["min_tpr", 2.0]]}, {"dict": [[1, 0.5]]}],
    "rates_": [None, {"dict": [["tpr", 2.0]]}],
    "objective_": [None, {"float": "nan"}],
    "bound_": [None, {"float": "nan"}],
    "status_": [None],
    "optimality_gap_": [None, "0"],
    "n_solves_": [-1, None],
    "_pairs": [None, [], [{"tuple": [0, 7]}], [{"tuple": [0, 1]}, {"tuple": [0, 1]}]],
    "cv_results_": [None, {"dict": [["C", 1.0]]}, {"dict": []}],
    "best_index_": [-1, 99, None],
    "C_": [0.0, {"float": "inf"}, None],
    "gamma_": [-1.0, None],
    "_points": [None, [1.0]],
    "link_": [None, {"SollichLink": {"C": -1.0}}, {"AutoLink": {}}],
    "_spreads": [None, [], [None, None]],
    "chosen_": [None],
    "candidates_": [None, {"dict": [["mean", 2.0]]}],
    "links_": [None, [], [{"PlattLink": {"A_": 1.0, "B_": 0.0}}]],
    **{key: [-1.0, {"float": "nan"}] for key in ("a_", "b_")},
    **{
        key: [{"float": "nan"}] for key in ("c_", "A_", "B_", "low_", "high_", "offset_", "middle_")
    },
    "slope_": [{"float": "nan"}, None],
    "share_": [1.5, {"float": "nan"}],
    "intercept_": [{"float": "inf"}, None],
    "n_terms": [99, 0],
    "kernel": ["rbf", "poly", "linear", "none", 3],
    "gamma": [-1.0, {"float": "nan"}, None],
    "degree": [0, None, 1.5],
    "coef0": [{"float": "nan"}, None],
    "n_features": [99, None],
    "basis": [[1.0]],
    "pivots": [[1]],
    "projection": [[1.0]],
    "exact": [1, None],
    "columns": [[], None],
    "mean_columns": [[], None],
    "feature_maps": [[], None],
    **{key: [3, {"dict": [["fn", "much"]]}, {"dict": [[1, 2.0]]}] for key in ("costs", "costs_")},
}
#: Values that these arrays may take.
MAY = {
    **{key: {"nan", "inf", "negative"} for key in ("duality_gap", "duality_gap_", "cv_results_")},
    **{
        key: {"nan", "negative"}
        for key in ("oob_scores", "oob_median", "oob_medians", "soft_labels_")
    },
    **{key: {"nan"} for key in ("reliability", "vote_proba", "oob_proba", "plus_", "minus_")},
    **{key: {"nan"} for key in ("tpr", "fpr", "precision", "called")},
    **{f"curve {key}": {"nan"} for key in ("tpr", "tnr", "mse_plus", "mse_minus")},
    "gamma": {"nan"},
    "curve threshold": {"negative"},
    "threshold": {"inf", "negative"},
    "scale_": {"inf"},
    "score_scales": {"inf"},
    "X": {"negative"},
    **{key: {"negative"} for key in ("shifts", "costs", "slope_", "offset_")},
    "knots_": {"negative"},
    "cv_scores_": {"nan", "negative"},
    **{
        key: {"negative"}
        for key in (
            "intercept_",
            "intercept",
            "columns",
            "mean_columns",
            "column_means",
            "_coef",
            "coef_",
            "centre_",
        )
    },
    **{key: {"negative"} for key in ("coef", "noise", "basis", "projection", "scores_", "_points")},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One saved model of each kind, made when it is needed."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("models") / f"{name}.svmproba"
            save(MODELS[name](), made[name])
        return made[name]

    return get


def walk(node, place=()):
    """Places of all attributes of our classes in a tree, with their nodes."""
    if isinstance(node, dict):
        ((kind, content),) = node.items()
        if isinstance(content, dict):
            for name, child in content.items():
                if name not in params(kind):
                    yield (*place, kind, name), child
                yield from walk(child, (*place, kind, name))
        elif kind == "dict":
            for i, (_, child) in enumerate(content):
                yield from walk(child, (*place, kind, i, 1))
        elif kind in FIELDS:
            for i, child in enumerate(content):
                yield (*place, kind, i), child
                yield from walk(child, (*place, kind, i))
        elif kind == "tuple":
            for i, child in enumerate(content):
                yield from walk(child, (*place, kind, i))
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from walk(child, (*place, i))


FIELDS = {name: cls._fields for name, cls in TUPLES.items()}


def params(kind):
    known = {**_rules.PARTS, **{c.__name__: c for c in (*_rules._MODELS, RateFeatureSelector)}}
    cls = known[kind]
    return (
        set()
        if kind in ("FeatureMap", "FittedClasses", "FittedEnsemble")
        else parameters(cls).keys() - {"n_terms"}
    )


def arrays_in(node, place):
    """Places of the arrays of one attribute that is no object."""
    if isinstance(node, dict):
        ((kind, content),) = node.items()
        if kind == "array":
            yield (*place, kind)
        elif kind == "dict":
            for i in range(len(content)):
                yield from arrays_in(content[i][1], (*place, kind, i, 1))
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from arrays_in(child, (*place, i))


def last_name(place):
    for part, before in zip(place[::-1], [*place[-2::-1], None], strict=True):
        if before in FIELDS:
            return "curve " * (before == "RateCurve") + FIELDS[before][part]
        if isinstance(part, str) and part not in ("array", "dict", "tuple"):
            return part
    return None


def spoiled(array, name):
    """The array in wrong shapes, types and ranges."""
    yield "axis", array[np.newaxis]
    for axis in range(array.ndim):
        more = np.ones([1 if k == axis else n for k, n in enumerate(array.shape)], array.dtype)
        yield f"longer {axis}", np.concatenate([array, more], axis)
        if array.shape[axis]:
            yield f"shorter {axis}", np.delete(array, -1, axis)
    if array.dtype.names:
        yield "fields", array["C"]
        other = array.copy()
        other["kernel"][-1] = "cubic"
        yield "kernel", other
        fields = ("C", "gamma", "class_weight")
        for field, value in itertools.product(fields, (np.nan, np.inf, -1.0)):
            if not (field == "gamma" and np.isnan(value)):
                other = array.copy()
                other[field][0] = value
                yield f"{field} {value}", other
        return
    narrow = {"f": np.float32, "i": np.int32, "b": np.uint8, "u": np.int64}
    if name not in ("classes_",):
        yield "type", array.astype(narrow[array.dtype.kind])
    if array.dtype.kind == "f" and array.size:
        for what, value in [("nan", np.nan), ("inf", np.inf), ("negative", -0.3)]:
            if what not in MAY.get(name, ()):
                other = array.copy()
                other.flat[0] = value
                yield what, other
    if array.dtype.kind == "i" and array.size and name != "classes_":
        for value in (-1, 10**9) if name not in ("held_out_", "places") else (-1,):
            other = array.copy()
            other.flat[-1] = value
            yield str(value), other
    if name in ("scores_", "curve threshold", "knots_") and array.size > 1:
        yield "falls", array[::-1]
    if name == "classes_":
        yield "equal", np.repeat(array[:1], len(array))


MAY_BE_MISSING = {"feature_names_in_", "costs_", "n_subsets_", "subset_size_"}
MAY_BE_MISSING |= {"components_path_", "gammas_path_"}
MAY_BE_MISSING |= {"n_terms", "column_means", "groups", "subgroup_rates", "separate"}
#: Shapes that are free: nothing else has the same size.
FREE = {key: {"longer 0", "shorter 0"} for key in ("held_out_", "cv_scores_", "satisfied_")}
#: Names of subgroups are any labels, and they are counted on other samples.
FREE |= {key: {str(10**9)} for key in ("n_samples", "n_positive")}
FREE |= {"components_path_": {str(10**9)}, "groups": {"-1"}, "subgroup": {"-1", str(10**9), "type"}}


def corruptions(tree, arrays):
    """Every tree and array that is wrong in one attribute: its name, what, tree, arrays."""
    for place, node in walk(tree):
        name = last_name(place)
        for array_place in arrays_in(node, place):
            number = at(tree, array_place)
            for what, array in spoiled(arrays[number], name):
                if allowed(tree, place, what):
                    continue
                new = max(arrays) + 1
                other = copy.deepcopy(tree)
                at(other, array_place[:-1])["array"] = new
                yield place, what, other, arrays | {new: array}
        if isinstance(at(tree, place[:-1]), dict) and name not in MAY_BE_MISSING:
            other = copy.deepcopy(tree)
            del at(other, place[:-1])[place[-1]]
            yield place, "missing", other, arrays
        for value in WRONG.get(name, ()):
            if value != node:
                other = copy.deepcopy(tree)
                at(other, place[:-1])[place[-1]] = value
                yield place, value, other, arrays


def allowed(tree, place, what):
    """Whether this is right in this model: places of landmarks are notes unless precomputed."""
    name = last_name(place)
    (model,) = tree.values()
    if name == "pivots":
        return what == str(10**9) and model["kernel"] != "precomputed"
    if name == "_present":
        return what == "shorter 0" and model["kernel"] != "precomputed"
    on_margin = name == "coef" and model["link_"] == {"SollichLink": {**MARGIN}}
    return what in FREE.get(name, ()) or (on_margin and what in FREE["held_out_"])


def at(tree, place):
    for part in place:
        tree = tree[part]
    return tree


def opened(path):
    with zipfile.ZipFile(path) as archive:
        tree = json.loads(archive.read("model.json"))
        arrays = {
            int(name.partition(".")[0]): np.load(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    return tree, arrays


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_every_attribute_is_checked(name, files):
    tree, arrays = opened(files(name))
    decode(tree, arrays.__getitem__)
    accepted, seen = [], set()
    for place, what, other, kept in corruptions(tree, arrays):
        seen.add(place)
        if not is_refused(other, kept):
            accepted.append((place, what))
    assert not accepted
    assert not {last_name(p) for p, node in walk(tree) if p not in seen and node is not None}


def is_refused(tree, arrays):
    try:
        decode(tree, arrays.__getitem__)
    except (Refused, TypeError, ValueError):  # which `load` makes a ModelFileError
        return True
    return False


def test_kernels_that_do_not_exist(files):
    tree, arrays = opened(files("constrained one"))
    tree["ConstrainedSVC"]["kernel"] = "none"
    tree["ConstrainedSVC"]["_feature_map"]["FeatureMap"]["kernel"] = "none"
    with pytest.raises(ValueError, match="kernel must be one of"):
        decode(tree, arrays.__getitem__)


def test_thetas_that_the_maps_cannot_share(files):
    members = load(files("auto")).ensemble_.members
    with pytest.raises(Refused, match="2 maps for 3 theta"):
        _member_rules.members(members, {"theta": 3, "bags": 12, "features": 3})
