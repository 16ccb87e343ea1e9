"""Support vector machines with probabilities people can act on."""

from __future__ import annotations

from svmproba.estimators import (
    CEBB1,
    CEBB2,
    EBB,
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
)
from svmproba.persistence import ModelFileError, load, read_about, save, to_onnx

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
    "ThresholdBootstrapSVC",
    "WeightedProbabilitySVC",
    "load",
    "read_about",
    "save",
    "to_onnx",
]
__version__ = "0.1.0"
