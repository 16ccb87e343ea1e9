"""The classes and functions that a model file may name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from svmproba import estimators, links
from svmproba._words import CategoryWords
from svmproba.bootstrap.fitted import FittedEnsemble
from svmproba.bootstrap.fitting.members import Members
from svmproba.bootstrap.subgroups import SubgroupRates
from svmproba.bootstrap.threshold import RateCurve
from svmproba.estimators.pairs.score_spread import Spread
from svmproba.selection import RateFeatureSelector, SelectedBootstrapSVC
from svmproba.solvers.features import FeatureMap

_ESTIMATORS = (
    "BootstrapSVC ConstrainedBootstrapSVC ConstrainedSVC PosteriorProbabilitySVC ProbabilitySVC "
    "ThresholdBootstrapSVC WeightedProbabilitySVC"
)
_LINKS = (
    "AutoLink BetaLink CosineLink CponLink GaussianLink IsotonicLink ModeratedLink "
    "PlattLink QuadraticLink SollichLink SplineLink StackLink VennAbersLink WahbaLink"
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
#: They may be parameters of an estimator of this package, too.
SPLITTERS = [*_STEPS["model_selection"].split(), "RateFeatureSelector"]
#: Scores of columns for SelectKBest and SelectPercentile.
_SCORES = {"feature_selection": "chi2 f_classif mutual_info_classif"}
_NUMBERS = (
    "float16 float32 float64 longdouble int8 int16 int32 int64 longlong uint8 uint16 uint32 "
    "uint64 ulonglong bool_ str_ bytes_ number"
)

MODELS: dict[str, type] = {name: getattr(estimators, name) for name in _ESTIMATORS.split()}
MODELS["SelectedBootstrapSVC"] = SelectedBootstrapSVC
LINKS: dict[str, type] = {name: getattr(links, name) for name in _LINKS.split()}
TUPLES: dict[str, type] = {cls.__name__: cls for cls in (Members, RateCurve, Spread, SubgroupRates)}
#: Classes that only an estimator of this package may hold.
PARTS: dict[str, type] = {**LINKS, "FeatureMap": FeatureMap, "FittedEnsemble": FittedEnsemble}


@cache
def classes() -> dict[str, type]:
    """Classes of which a file may hold instances."""
    own = {"CategoryWords": CategoryWords, "RateFeatureSelector": RateFeatureSelector}
    return {**MODELS, **PARTS, **own, **_sklearn(_STEPS)}


@cache
def functions() -> dict[str, Any]:
    """Functions that a file may name: numpy's element-wise ones and three scores of columns."""
    numpy_s = {name: f for name, f in vars(np).items() if isinstance(f, np.ufunc)}
    return {**numpy_s, **_sklearn(_SCORES)}


@cache
def types() -> dict[str, type]:
    """Types that a parameter may be, such as the dtype of an encoder."""
    plain = {cls.__name__: cls for cls in (bool, float, int, object, str)}
    return {**plain, **{f"numpy.{name}": getattr(np, name) for name in _NUMBERS.split()}}


def _sklearn(table: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: getattr(importlib.import_module(f"sklearn.{module}"), name)
        for module, names in table.items()
        for name in names.split()
    }


@cache
def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Parameters of a class."""
    return dict(inspect.signature(cls).parameters)
