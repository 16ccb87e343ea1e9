"""Measures and pictures of probabilities, for any classifier."""

from svmproba.evaluation._reliability_display import ReliabilityDisplay
from svmproba.evaluation._score_display import ScoreHistogramDisplay
from svmproba.evaluation.metrics import class_mse, mse, reliability_curve

__all__ = [
    "ReliabilityDisplay",
    "ScoreHistogramDisplay",
    "class_mse",
    "mse",
    "reliability_curve",
]
