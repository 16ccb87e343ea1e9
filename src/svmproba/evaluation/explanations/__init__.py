"""What each column adds to a score, through the steps of a pipeline."""

from svmproba.evaluation.explanations._explain import explain
from svmproba.evaluation.explanations._original_columns import original_columns

__all__ = ["explain", "original_columns"]
