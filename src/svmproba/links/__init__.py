"""Links: maps from a score to a probability, fitted on scores of records not trained on.

Each is a small class with ``fit(scores, positive)`` and ``predict(scores)``. Its attribute
``reads`` says which scores it takes: ``"mixed"``, one score a record, shape (n,), or
``"scaled"``, the scores of all hyperparameter values, shape (n_theta, n).
"""

from __future__ import annotations

from svmproba.links.beta import BetaLink
from svmproba.links.choose import AutoLink, fit_link
from svmproba.links.isotonic import IsotonicLink, IsotonicMixtureLink
from svmproba.links.platt import PlattLink
from svmproba.links.stack import StackLink
from svmproba.links.venn_abers import VennAbersLink

__all__ = [
    "AutoLink",
    "BetaLink",
    "IsotonicLink",
    "IsotonicMixtureLink",
    "PlattLink",
    "StackLink",
    "VennAbersLink",
    "fit_link",
]
