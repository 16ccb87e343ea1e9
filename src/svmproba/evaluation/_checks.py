"""What to know before a model's figures are trusted: few records, one column, no better than none.

Plain functions of labels, probabilities, counts and columns; each gives the sentences that apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.metrics import roc_auc_score

from svmproba.evaluation._limits import auc_deviation, auc_limits, mean_limits

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: Fewer records of a class than this say little of it.
FEW_RECORDS = 20
#: A class with a smaller share than this makes the accuracy misleading.
RARE_SHARE = 0.2
#: As many calls as this share of the class are hardly any.
HARDLY_ANY = 0.05
#: A column that alone orders the classes so well is suspected to know the outcome.
LEAK_AUC = 0.99
#: A column with this share of the model's AUC above one half does almost all of its work.
GOLDEN_SHARE = 0.9
#: Of a model whose AUC is not surely above this, nothing is said of single columns.
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


def check_size(calls: Calls, names: tuple[str, str]) -> list[Finding]:
    """Point out few records, and a rare class.

    Parameters
    ----------
    calls : Calls
    names : tuple of str
        The class of interest and the other, as they are to be written.

    Returns
    -------
    list of Finding
    """
    found, n = [], calls.n_plus + calls.n_minus
    if min(calls.n_plus, calls.n_minus) < FEW_RECORDS:
        text = (
            f"There are only {n} records, {calls.n_plus} of them {names[0]}: so few say little, "
            "whatever the figures are. Read their limits."
        )
        found.append(Finding("few records", text))
    share, rare = min((calls.n_plus, names[0]), (calls.n_minus, names[1]))
    if share < RARE_SHARE * n:
        text = (
            f"The classes are not balanced: {100 * share / n:.1f} % of the records are {rare}. "
            f"Calling none of them so is right in {100 * (1 - share / n):.1f} %, so the accuracy "
            "says little; look at both rates."
        )
        found.append(Finding("imbalance", text))
    return found


def check_calls(calls: Calls, names: tuple[str, str], remedy: str, usual: bool) -> list[Finding]:
    """Point out a model that calls nobody, or everybody, or that the larger class beats.

    Parameters
    ----------
    calls : Calls
    names : tuple of str
    remedy : str
        What to do, as a sentence.
    usual : bool
        Whether the usual threshold decides. Costs and rates may give up accuracy on purpose.

    Returns
    -------
    list of Finding
    """
    n_called, n = calls.tp + calls.fp, calls.n_plus + calls.n_minus
    for n_others, n_class, who in (
        (n_called, calls.n_plus, "nobody"),
        (n - n_called, calls.n_minus, "everybody"),
    ):
        if n_others <= HARDLY_ANY * n_class:
            hardly = f"almost {who}" if n_others else who
            listed = f"{n_called} of {n} records"
            return [Finding(who, f"The model calls {hardly} {names[0]}: {listed}. {remedy}")]
    right = calls.tp + calls.n_minus - calls.fp
    if usual and right < max(calls.n_plus, calls.n_minus):
        larger = names[0] if calls.n_plus > calls.n_minus else names[1]
        text = (
            f"The model calls {100 * right / n:.1f} % of the records rightly; calling all of them "
            f"{larger} would be right in {100 * max(calls.n_plus, calls.n_minus) / n:.1f} %."
        )
        return [Finding("worse than the larger class", text)]
    return []


def check_probabilities(positive: Bools, proba: Floats) -> list[Finding]:
    """Compare the Brier score with that of one probability for all records.

    Parameters
    ----------
    positive : ndarray of bool of shape (n,)
    proba : ndarray of shape (n,)

    Returns
    -------
    list of Finding
        One where the mean difference is not below 0 with 95 % confidence.
    """
    share = positive.mean()
    gain = (positive - share) ** 2 - (positive - proba) ** 2
    lower, _ = mean_limits(gain, 0.9)
    if lower > 0:
        return []
    own, base = np.mean((positive - proba) ** 2), share * (1 - share)
    scores = f"Brier score {own:.3f}, and {base:.3f} if all get {100 * share:.1f} %"
    if own >= base:
        text = f"The probabilities are no better than the same one for all: {scores}."
        return [Finding("no better than the base rate", text)]
    text = f"The probabilities are not surely better than the same one for all: {scores}."
    return [Finding("not surely better than the base rate", text)]


def check_columns(columns: Mapping[str, Any], positive: Bools, proba: Floats) -> list[Finding]:
    """Point out columns that alone order the classes almost as well as the model, or perfectly.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n,)
        Numbers or categories, as the user knows them.
    positive : ndarray of bool of shape (n,)
    proba : ndarray of shape (n,)
        Of the model.

    Returns
    -------
    list of Finding
        One at most for each column.
    """
    n_plus, n_minus = int(positive.sum()), int((~positive).sum())
    if min(n_plus, n_minus) < FEW_RECORDS // 2 or len(columns) < 2:
        return []
    auc, found = float(roc_auc_score(positive, proba)), []
    sure = auc_limits(auc, n_plus, n_minus)[0] > GOLDEN_LEAST
    for name, values in columns.items():
        alone = column_auc(values, positive)
        if alone >= leak_limit(n_plus, n_minus):
            text = f"Column {name!r}: {leak_in_words(alone)}"
            found.append(Finding("leak", text))
        elif sure and alone - 0.5 >= GOLDEN_SHARE * (auc - 0.5):
            text = (
                f"Column {name!r} alone orders the records almost as well (AUC {alone:.3f}) as the "
                f"model (AUC {auc:.3f}): is it known before the outcome, and are the others needed?"
            )
            found.append(Finding("golden feature", text))
    return found


def column_auc(values: ArrayLike, positive: Bools) -> float:
    """Area under the ROC curve of one column, in the direction that separates better.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers, NaN where missing: whether it is missing may tell the class, too. Other cells are
        categories, put in order by their share of positives.
    positive : ndarray of bool of shape (n,)
        Both classes.

    Returns
    -------
    float
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
    # A record must not tell its own class, or rare categories would separate anything.
    for told, teller in ((half, ~half), (~half, half)):
        n = np.bincount(codes[teller], minlength=codes.max() + 1)
        hits = np.bincount(codes[teller], positive[teller], minlength=len(n))
        shares[told] = ((hits + positive.mean()) / (n + 1))[codes[told]]
    return shares


def leak_limit(n_plus: int, n_minus: int) -> float:
    """Least AUC of a column that does not contradict a true one of `LEAK_AUC`, at 5 %.

    Examples
    --------
    >>> from svmproba.evaluation._checks import leak_limit
    >>> [round(leak_limit(n, n), 3) for n in (10, 100, 1000)]
    [0.951, 0.978, 0.986]
    """
    return LEAK_AUC - float(special.ndtri(0.95)) * auc_deviation(LEAK_AUC, n_plus, n_minus)


def leak_in_words(auc: float) -> str:
    """Doubt a column that almost alone separates the classes."""
    return (
        f"it almost alone separates the classes (area under the ROC curve {auc:.3f}): is it known "
        "before the outcome?"
    )
