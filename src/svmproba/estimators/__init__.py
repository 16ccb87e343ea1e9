"""What users import: one public class per file."""

from __future__ import annotations

from svmproba.estimators._bootstrap_svc import BootstrapSVC
from svmproba.estimators._constrained_bootstrap_svc import ConstrainedBootstrapSVC
from svmproba.estimators._constrained_svc import ConstrainedSVC
from svmproba.estimators._posterior_probability_svc import PosteriorProbabilitySVC
from svmproba.estimators._probability_svc import ProbabilitySVC
from svmproba.estimators._rate_guarantee import RateGuarantee
from svmproba.estimators._threshold_bootstrap_svc import ThresholdBootstrapSVC
from svmproba.estimators._weighted_probability_svc import WeightedProbabilitySVC

EBB = BootstrapSVC
"""The paper's name of `BootstrapSVC`."""
CEBB1 = ThresholdBootstrapSVC
"""The paper's name of `ThresholdBootstrapSVC`."""
CEBB2 = ConstrainedBootstrapSVC
"""The paper's name of `ConstrainedBootstrapSVC`."""

__all__ = [
    "CEBB1",
    "CEBB2",
    "EBB",
    "BootstrapSVC",
    "ConstrainedBootstrapSVC",
    "ConstrainedSVC",
    "PosteriorProbabilitySVC",
    "ProbabilitySVC",
    "RateGuarantee",
    "ThresholdBootstrapSVC",
    "WeightedProbabilitySVC",
]
