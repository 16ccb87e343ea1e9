"""Metrics, displays and reports for probabilities of any classifier."""

from svmproba.evaluation._calibration import (
    brier_decomposition,
    calibration_error,
    reliability_curve,
)
from svmproba.evaluation._cost_display import CostCurveDisplay
from svmproba.evaluation._costs import cost_curve, cost_scorer, mean_cost, optimal_threshold
from svmproba.evaluation._metrics import class_mse, mse
from svmproba.evaluation._rate_display import RateDisplay
from svmproba.evaluation._rates import rate_curve, rates_at
from svmproba.evaluation._reliability_display import ReliabilityDisplay
from svmproba.evaluation._score_display import ScoreHistogramDisplay
from svmproba.evaluation._selection_display import SelectionDisplay
from svmproba.evaluation._subgroups import SubgroupTable, rates_by_subgroup
from svmproba.evaluation._vote_display import VoteHistogramDisplay
from svmproba.evaluation.explanations import (
    ContributionDisplay,
    ContributionSummaryDisplay,
    explain,
)
from svmproba.evaluation.report import report_html, write_report

__all__ = [
    "ContributionDisplay",
    "ContributionSummaryDisplay",
    "CostCurveDisplay",
    "RateDisplay",
    "ReliabilityDisplay",
    "ScoreHistogramDisplay",
    "SelectionDisplay",
    "SubgroupTable",
    "VoteHistogramDisplay",
    "brier_decomposition",
    "calibration_error",
    "class_mse",
    "cost_curve",
    "cost_scorer",
    "explain",
    "mean_cost",
    "mse",
    "optimal_threshold",
    "rate_curve",
    "rates_at",
    "rates_by_subgroup",
    "reliability_curve",
    "report_html",
    "write_report",
]
