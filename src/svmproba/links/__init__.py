"""Links: maps from a score to a probability, fitted on scores of samples not trained on.

Each link is a small class with ``fit(scores, positive)`` and ``predict(scores)``. Its attribute
``reads`` tells which scores ``predict`` takes:

* ``"mixed"``: one score per sample, shape (n,);
* ``"scaled"``: the scores of all hyperparameter values, shape (n_theta, n);
* ``"ratios"``: these and, below them, scores in units of their spread over the bags, one row for
  each family of hyperparameter values;
* ``"margin"`` or ``"bootstrap"``: one score per sample and its variance, both (n,);
* ``"draws"``: the scores of posterior draws, shape (n_draws, n).
"""

from __future__ import annotations

from svmproba.links._beta import BetaLink
from svmproba.links._choose import fit_link
from svmproba.links._class_scaling import ClassScaling
from svmproba.links._coupling import couple
from svmproba.links._isotonic import IsotonicLink
from svmproba.links._platt import PlattLink
from svmproba.links._spline import QuadraticLink, SplineLink
from svmproba.links._stack import StackLink
from svmproba.links._super_learner import AutoLink
from svmproba.links._venn_abers import VennAbersLink
from svmproba.links.rivals._cosine import CosineLink
from svmproba.links.rivals._cpon import CponLink
from svmproba.links.rivals._gaussian import GaussianLink
from svmproba.links.rivals._moderated import ModeratedLink
from svmproba.links.rivals._sollich import SollichLink
from svmproba.links.rivals._wahba import WahbaLink

__all__ = [
    "AutoLink",
    "BetaLink",
    "ClassScaling",
    "CosineLink",
    "CponLink",
    "GaussianLink",
    "IsotonicLink",
    "ModeratedLink",
    "PlattLink",
    "QuadraticLink",
    "SollichLink",
    "SplineLink",
    "StackLink",
    "VennAbersLink",
    "WahbaLink",
    "couple",
    "fit_link",
]
