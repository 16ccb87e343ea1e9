"""What each column adds to a score: through pipelines, and as displays."""

from svmproba.evaluation.explanations._displays import (
    ContributionDisplay,
    ContributionSummaryDisplay,
)
from svmproba.evaluation.explanations._explain import explain
from svmproba.evaluation.explanations._original_columns import original_columns

__all__ = ["ContributionDisplay", "ContributionSummaryDisplay", "explain", "original_columns"]
