"""Links of all pairs of classes, and how good the probabilities are that they make."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from svmproba.bootstrap.votes import two_columns
from svmproba.estimators._cross_fit import Records, class_scores
from svmproba.estimators._validation import Floats
from svmproba.links import (
    BetaLink,
    CosineLink,
    CponLink,
    GaussianLink,
    IsotonicLink,
    ModeratedLink,
    PlattLink,
    SollichLink,
    VennAbersLink,
    WahbaLink,
    couple,
)

LINKS: dict[str, Callable[..., Any]] = {
    "platt": PlattLink,
    "wahba": WahbaLink,
    "gaussian": GaussianLink,
    "cosine": CosineLink,
    "cpon": CponLink,
    "sollich": SollichLink,
    "moderated": ModeratedLink,
    "isotonic": IsotonicLink,
    "beta": BetaLink,
    "venn_abers": VennAbersLink,
}
SELECTIONS = ("accuracy", "log_loss", "brier")
#: Standard errors below one half from which the area under the ROC curve is no accident. Held-out
#: scores of noise are below it on average: a record left out makes its class rarer.
_CLEARLY = 5.0
#: Probabilities are kept so far from 0 where their logarithm is taken.
LEAST = 1e-15


def make_link(name: str, C: float, params: dict[str, Any] | None) -> Any:
    """Unfitted link; Sollich's is given the machine's C."""
    own = {"C"} if name == "sollich" else set()
    allowed = sorted(set(inspect.signature(LINKS[name]).parameters) - own)
    unknown = sorted(set(params or {}) - set(allowed))
    if unknown:
        raise ValueError(
            f"link_params of link={name!r} must be among {allowed!r}, got {unknown!r}."
        )
    return LINKS[name](**(params or {}), **dict.fromkeys(own, C))


def fit_links(
    name: str, params: dict[str, Any] | None, records: Records, scores: Floats, C: float
) -> list[Any]:
    """Fit one link for every pair to the held-out scores (n_pairs, n) of its members."""
    links = []
    with warnings.catch_warnings():
        # Of few or of hopeless records some fall with the score by chance, see `warn_of_order`.
        warnings.simplefilter("ignore")
        for pair, of_pair in zip(records.pairs, scores, strict=True):
            here, positive = records.members(pair)
            links.append(make_link(name, C, params).fit(of_pair[here], positive))
    return links


def warn_of_order(records: Records, scores: Floats) -> None:
    """Warn where held-out scores (n_pairs, n) order a pair of classes clearly the wrong way."""
    for pair, of_pair in zip(records.pairs, scores, strict=True):
        here, positive = records.members(pair)
        n_plus = int(positive.sum())
        n_minus = len(here) - n_plus
        rank_sum = rankdata(of_pair[here])[positive].sum()
        auc = (rank_sum / n_plus - (n_plus + 1) / 2) / n_minus
        # Standard error of the Mann-Whitney statistic where the scores know nothing.
        error = np.sqrt((n_plus + n_minus + 1) / (12 * n_plus * n_minus))
        if auc < 0.5 - _CLEARLY * error:
            minus, plus = records.classes[list(pair)].tolist()
            warnings.warn(
                f"Held-out scores order the classes {minus!r} and {plus!r} the wrong way (area "
                f"under the ROC curve {auc:.2f}): the link is fitted to machines that fail.",
                UserWarning,
                stacklevel=4,
            )


def measure(links: list[Any], records: Records, scores: Floats) -> dict[str, float]:
    """Measure held-out scores.

    Parameters
    ----------
    links : list of links
        One a pair. Those that read more than the score are given the score alone.
    records : Records
        The training records.
    scores : ndarray, shape (n_pairs, n)
        Their held-out scores.

    Returns
    -------
    dict of str to float
        Accuracy of the scores, log loss of the probabilities, and their Brier score: half the
        squared distance from the label, which for two classes is one squared error a record.
    """
    n_classes, n = len(records.classes), len(records.place)
    pairwise = np.column_stack([g.predict(s) for g, s in zip(links, scores, strict=True)])
    if n_classes == 2:
        minus, plus = records.pairs[0]
        chosen, P = np.where(scores[0] >= 0, plus, minus), two_columns(pairwise[:, 0], plus)
    else:
        chosen, P = class_scores(scores.T, n_classes).argmax(axis=1), couple(1 - pairwise)
    label = np.arange(n_classes) == records.place[:, np.newaxis]
    return {
        "accuracy": float(np.mean(chosen == records.place)),
        "log_loss": float(-np.log(P[label].clip(LEAST)).mean()),
        "brier": float(np.square(P - label).sum() / (2 * n)),
    }
