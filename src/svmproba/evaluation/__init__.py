"""Metrics, displays and reports for probabilities of any classifier."""

from svmproba.evaluation.displays.contributions import (
    ContributionDisplay,
    ContributionSummaryDisplay,
)
from svmproba.evaluation.displays.costs import CostCurveDisplay
from svmproba.evaluation.displays.rates import RateDisplay
from svmproba.evaluation.displays.reliability import ReliabilityDisplay
from svmproba.evaluation.displays.scores import ScoreHistogramDisplay
from svmproba.evaluation.displays.selection import SelectionDisplay
from svmproba.evaluation.displays.votes import VoteHistogramDisplay
from svmproba.evaluation.explanations import explain
from svmproba.evaluation.measures.calibration import (
    brier_decomposition,
    calibration_error,
    reliability_curve,
)
from svmproba.evaluation.measures.costs import cost_curve, cost_scorer, mean_cost, optimal_threshold
from svmproba.evaluation.measures.metrics import class_mse, mse
from svmproba.evaluation.measures.rates import rate_curve, rates_at
from svmproba.evaluation.measures.subgroups import SubgroupTable, rates_by_subgroup
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
