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

__all__ = [
    "CEBB1",
    "CEBB2",
    "EBB",
    "BootstrapSVC",
    "ConstrainedBootstrapSVC",
    "ConstrainedSVC",
    "PosteriorProbabilitySVC",
    "ProbabilitySVC",
    "ThresholdBootstrapSVC",
    "WeightedProbabilitySVC",
]
__version__ = "0.1.0"
