"""Support vector machines with calibrated probabilities.

`BootstrapSVC` fits SVMs on bootstrap bags, for a grid of ``C``, and combines them. Its
probabilities are vote shares, which measure how stable the sign of the score is, or, with
``calibration="auto"``, probabilities of the label that are learned from out-of-bag scores. The
threshold can be set to reach a true positive rate, with a guarantee on new samples.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmproba.estimators import (
        CEBB1,
        CEBB2,
        EBB,
        BootstrapSVC,
        ConstrainedBootstrapSVC,
        ConstrainedSVC,
        PosteriorProbabilitySVC,
        ProbabilitySVC,
        RateGuarantee,
        ThresholdBootstrapSVC,
        WeightedProbabilitySVC,
    )
    from svmproba.persistence import ModelFileError, load, read_about, save, to_onnx
    from svmproba.preparation.warmup import warmup
    from svmproba.selection import RateFeatureSelector, SelectedBootstrapSVC

__all__ = [
    "CEBB1",
    "CEBB2",
    "EBB",
    "BootstrapSVC",
    "ConstrainedBootstrapSVC",
    "ConstrainedSVC",
    "ModelFileError",
    "PosteriorProbabilitySVC",
    "ProbabilitySVC",
    "RateFeatureSelector",
    "RateGuarantee",
    "SelectedBootstrapSVC",
    "ThresholdBootstrapSVC",
    "WeightedProbabilitySVC",
    "load",
    "read_about",
    "save",
    "to_onnx",
    "warmup",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``svmproba --help`` starts fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "estimators" if name[0].isupper() and name != "ModelFileError" else "persistence"
    home = "selection" if name in ("RateFeatureSelector", "SelectedBootstrapSVC") else home
    home = "preparation.warmup" if name == "warmup" else home
    value = getattr(import_module(f"svmproba.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
