"""Links of all pairs of classes, and measures of their probabilities."""

from __future__ import annotations

import inspect
import warnings
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from svmproba._types import Floats
from svmproba.estimators.pairs.samples import Samples, join_pairs
from svmproba.links._choose import BY_NAME

_OF_ENSEMBLES = ("quadratic", "spline", "stack", "auto")
LINKS = tuple(name for name in BY_NAME if name not in _OF_ENSEMBLES)
SELECTIONS = ("accuracy", "log_loss", "brier")
#: Standard errors by which the area under the ROC curve must fall below one half to be warned of.
#: Held-out scores of noise are below it on average: a sample left out makes its class rarer.
_CLEARLY = 5.0
#: Least probability of which a logarithm is taken.
LEAST = 1e-15


def make_link(name: str, C: float, params: dict[str, Any] | None) -> Any:
    """Unfitted link; Sollich's is given the C of the SVM."""
    own = {"C"} if name == "sollich" else set()
    allowed = sorted(set(inspect.signature(BY_NAME[name]).parameters) - own)
    unknown = sorted(set(params or {}) - set(allowed))
    if unknown:
        raise ValueError(
            f"link_params of link={name!r} must be among {allowed!r}, got {unknown!r}."
        )
    return BY_NAME[name](**(params or {}), **dict.fromkeys(own, C))


def fit_links(
    name: str, params: dict[str, Any] | None, samples: Samples, scores: Floats, C: float
) -> list[Any]:
    """Fit one link for every pair to the held-out scores (n_pairs, n) of its samples."""
    with warnings.catch_warnings():
        # With few samples some links fall with the score by chance, see `warn_of_order`.
        warnings.simplefilter("ignore")
        return [
            make_link(name, C, params).fit(of_pair[pair.places], pair.positive)
            for pair, of_pair in zip(samples.by_pair(), scores, strict=True)
        ]


def warn_of_order(samples: Samples, scores: Floats) -> None:
    """Warn where held-out scores (n_pairs, n) order a pair of classes clearly the wrong way."""
    for k, (pair, of_pair) in enumerate(zip(samples.by_pair(), scores, strict=True)):
        n_plus = int(pair.positive.sum())
        n_minus = len(pair.places) - n_plus
        rank_sum = rankdata(of_pair[pair.places])[pair.positive].sum()
        auc = (rank_sum / n_plus - (n_plus + 1) / 2) / n_minus
        # Standard error of the Mann-Whitney statistic for scores without information.
        error = np.sqrt((n_plus + n_minus + 1) / (12 * n_plus * n_minus))
        if auc < 0.5 - _CLEARLY * error:
            minus, plus = samples.classes[list(samples.pairs[k])].tolist()
            warnings.warn(
                f"Held-out scores order the classes {minus!r} and {plus!r} the wrong way (area "
                f"under the ROC curve {auc:.2f}), so the probabilities cannot be trusted.",
                UserWarning,
                stacklevel=4,
            )


def class_scores(scores: Floats, n_classes: int) -> Floats:
    """Scores (n, n_classes) from those of all pairs, as scikit-learn's ``SVC`` makes them."""
    votes, sums = np.zeros((2, len(scores), n_classes))
    for column, (i, j) in zip(scores.T, combinations(range(n_classes), 2), strict=True):
        votes[:, i] += column <= 0
        votes[:, j] += column > 0
        sums[:, i] -= column
        sums[:, j] += column
    return votes + sums / (3 * (np.abs(sums) + 1))


def measure(links: list[Any], samples: Samples, scores: Floats) -> dict[str, float]:
    """Measures of held-out scores (n_pairs, n): their accuracy, and losses of the probabilities.

    The Brier score is half the squared distance from the label.
    """
    n_classes, n = len(samples.classes), len(samples.label)
    of_pairs = np.column_stack([g.predict(s) for g, s in zip(links, scores, strict=True)])
    P = join_pairs(of_pairs, samples.pairs)
    if n_classes == 2:
        minus, plus = samples.pairs[0]
        chosen = np.where(scores[0] >= 0, plus, minus)
    else:
        chosen = class_scores(scores.T, n_classes).argmax(axis=1)
    label = np.arange(n_classes) == samples.label[:, np.newaxis]
    return {
        "accuracy": float(np.mean(chosen == samples.label)),
        "log_loss": float(-np.log(P[label].clip(LEAST)).mean()),
        "brier": float(np.square(P - label).sum() / (2 * n)),
    }
