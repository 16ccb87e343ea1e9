"""Selection of columns: the cheapest ones with which a linear rule reaches given rates."""

from svmproba.selection._selected_bootstrap_svc import SelectedBootstrapSVC
from svmproba.selection._selector import RateFeatureSelector

__all__ = ["RateFeatureSelector", "SelectedBootstrapSVC"]
