"""Links: maps from a score to a probability, fitted on scores of records not trained on.

Each is a small class with ``fit(scores, positive)`` and ``predict(scores)``. Its attribute
``reads`` says which scores it takes: ``"mixed"``, one score a record, shape (n,); ``"scaled"``,
the scores of all hyperparameter values, shape (n_theta, n); ``"margin"`` or ``"bootstrap"``, one
score a record and its variance from there, both (n,); ``"draws"``, the scores of posterior draws,
shape (n_draws, n).
"""

from __future__ import annotations

from svmproba.links.beta import BetaLink
from svmproba.links.choose import fit_link
from svmproba.links.cosine import CosineLink
from svmproba.links.coupling import couple
from svmproba.links.cpon import CponLink
from svmproba.links.gaussian import GaussianLink
from svmproba.links.isotonic import IsotonicLink
from svmproba.links.moderated import ModeratedLink
from svmproba.links.platt import PlattLink
from svmproba.links.sollich import SollichLink
from svmproba.links.spline import QuadraticLink, SplineLink
from svmproba.links.stack import StackLink
from svmproba.links.super_learner import AutoLink
from svmproba.links.venn_abers import VennAbersLink
from svmproba.links.wahba import WahbaLink

__all__ = [
    "AutoLink",
    "BetaLink",
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
