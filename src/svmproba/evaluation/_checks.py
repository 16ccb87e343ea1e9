"""Warnings to read before the figures of a model are relied on.

Each function takes labels, probabilities, counts or columns and returns the warnings that apply.
They are sentences of the command line and the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.metrics import roc_auc_score

from svmproba._types import Bools, Floats
from svmproba.evaluation.measures.limits import auc_deviation, auc_limits, mean_limits

#: A class with fewer records than this is small.
FEW_RECORDS = 20
#: A class with a smaller share than this makes the accuracy misleading.
RARE_SHARE = 0.2
#: A class is almost never predicted if at most this share of its size is.
HARDLY_ANY = 0.05
#: A column with this AUC is suspected of being recorded after the outcome.
LEAK_AUC = 0.99
#: A column is almost as good as the model if it has this share of the model's AUC above one half.
GOLDEN_SHARE = 0.9
#: Columns are compared with the model only if the lower limit of its AUC is above this.
GOLDEN_LEAST = 0.6


class Finding(NamedTuple):
    """A name for programs and a sentence for people."""

    name: str
    text: str


class Calls(NamedTuple):
    """Records of either class, and how many of them are called positive."""

    tp: int
    fp: int
    n_plus: int
    n_minus: int


def check_size(n_plus: int, n_minus: int, names: tuple[str, str]) -> list[Finding]:
    """Warn of few records and of a rare class; `names` are the class of interest and the other."""
    found, n = [], n_plus + n_minus
    if min(n_plus, n_minus) < FEW_RECORDS:
        text = (
            f"There are only {n} records, {n_plus} of them {names[0]}. All figures are "
            "uncertain: read their limits."
        )
        found.append(Finding("few records", text))
    share, rare = min((n_plus, names[0]), (n_minus, names[1]))
    if share < RARE_SHARE * n:
        text = (
            f"The classes are not balanced: {100 * share / n:.1f} % of the records are {rare}. "
            f"Never predicting {rare} has an accuracy of {100 * (1 - share / n):.1f} %, so the "
            "accuracy is misleading: look at TPR and TNR."
        )
        found.append(Finding("imbalance", text))
    return found


def check_calls(calls: Calls, names: tuple[str, str], remedy: str, usual: bool) -> list[Finding]:
    """Warn if almost no record, or every record, is called positive, or of a low accuracy.

    Accuracy counts only at the `usual` threshold: costs and rates trade it for something else.
    """
    n_called, n = calls.tp + calls.fp, calls.n_plus + calls.n_minus
    for n_others, n_class, who in (
        (n_called, calls.n_plus, "no record"),
        (n - n_called, calls.n_minus, "every record"),
    ):
        if n_others <= HARDLY_ANY * n_class:
            which = f"almost {who}" if n_others else who
            text = f"The model classifies {which} as {names[0]} ({n_called} of {n}). {remedy}"
            return [Finding(f"{who} positive", text)]
    right = calls.tp + calls.n_minus - calls.fp
    if usual and right < max(calls.n_plus, calls.n_minus):
        larger = names[0] if calls.n_plus > calls.n_minus else names[1]
        text = (
            f"The accuracy is {100 * right / n:.1f} %; always predicting {larger} has an accuracy "
            f"of {100 * max(calls.n_plus, calls.n_minus) / n:.1f} %."
        )
        return [Finding("worse than the larger class", text)]
    return []


def check_probabilities(positive: Bools, proba: Floats) -> list[Finding]:
    """Warn unless the Brier score is below that of the base rate, with 95 % confidence.

    So must the AUC be above one half: links gain a little where out-of-bag scores are noise.
    """
    share = positive.mean()
    gain = (positive - share) ** 2 - (positive - proba) ** 2
    if mean_limits(gain, 0.9)[0] > 0:
        n_plus = int(positive.sum())
        sizes = n_plus, len(positive) - n_plus
        if auc_limits(float(roc_auc_score(positive, proba)), *sizes, 0.9)[0] > 0.5:
            return []
    own, base = np.mean((positive - proba) ** 2), share * (1 - share)
    which = "no better" if own >= base else "not significantly better"
    text = (
        f"The probabilities are {which} than the base rate: their Brier score is {own:.3f}, and "
        f"{base:.3f} with {100 * share:.1f} % for every record."
    )
    return [Finding(f"{which} than the base rate", text)]


def check_columns(columns: Mapping[str, Any], positive: Bools, proba: Floats) -> list[Finding]:
    """Warn of columns, of numbers or categories, that separate about as well as the model."""
    n_plus, n_minus = int(positive.sum()), int((~positive).sum())
    if min(n_plus, n_minus) < FEW_RECORDS // 2 or len(columns) < 2:
        return []
    auc, found, golden = float(roc_auc_score(positive, proba)), [], []
    sure = auc_limits(auc, n_plus, n_minus)[0] > GOLDEN_LEAST
    for name, values in columns.items():
        alone = column_auc(values, positive)
        if alone >= leak_limit(n_plus, n_minus):
            found.append(Finding("leak", f"Column {name!r}: {leak_in_words(alone)}"))
        elif sure and alone - 0.5 >= GOLDEN_SHARE * (auc - 0.5):
            golden.append(f"{name!r} (AUC {alone:.3f})")
    if golden:
        which, they = (
            ("Column", "it is") if len(golden) == 1 else ("Each of the columns", "they are")
        )
        text = (
            f"{which} {', '.join(golden)} alone ranks the records almost as well as the model (AUC "
            f"{auc:.3f}). Check that {they} known before the outcome, and whether the other "
            f"columns are needed."
        )
        found.append(Finding("golden feature", text))
    return found


def column_auc(values: ArrayLike, positive: Bools) -> float:
    """Area under the ROC curve of one column, in the direction that separates better.

    Missing values may separate, too; categories are ordered by their share of positives.
    """
    cells = np.asarray(values)
    v = cells.astype(np.float64) if cells.dtype.kind in "biuf" else category_shares(cells, positive)
    missing, given = np.isnan(v), ~np.isnan(v)
    areas = [roc_auc_score(positive, missing)]
    if given.any():
        areas += [
            roc_auc_score(positive, np.where(missing, fill, v))
            for fill in (np.nanmin(v), np.nanmax(v))
        ]
    return float(max(max(a, 1 - a) for a in areas))


def category_shares(cells: NDArray[Any], positive: Bools) -> Floats:
    """Share of positives among records of the same category in the other half of the table."""
    codes = np.unique([str(cell) for cell in cells.tolist()], return_inverse=True)[1]
    half, shares = np.empty(len(positive), dtype=bool), np.empty(len(positive))
    for of_class in (positive, ~positive):
        half[of_class] = np.arange(np.count_nonzero(of_class)) % 2 == 0
    # The share must not use the record's own class, or rare categories would separate anything.
    for part, other in ((half, ~half), (~half, half)):
        n = np.bincount(codes[other], minlength=codes.max() + 1)
        hits = np.bincount(codes[other], positive[other], minlength=len(n))
        shares[part] = ((hits + positive.mean()) / (n + 1))[codes[part]]
    return shares


def leak_limit(n_plus: int, n_minus: int) -> float:
    """Smallest AUC of a column that does not contradict a true AUC of `LEAK_AUC`, at 5 %."""
    return LEAK_AUC - float(special.ndtri(0.95)) * auc_deviation(LEAK_AUC, n_plus, n_minus)


def leak_in_words(auc: float) -> str:
    """Warn of a column that almost alone separates the classes."""
    return f"it almost alone separates the classes (AUC {auc:.3f}): is it known before the outcome?"
