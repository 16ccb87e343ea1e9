"""Rates of subgroups with their limits, and what a floor in every one of them costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.bootstrap.subgroups import Subgroups, rates_of_subgroups, subgroup_thresholds
from svmproba.estimators.input.groups import read_subgroups
from svmproba.evaluation.measures.metrics import Label, is_positive, positive_label


class SubgroupTable(NamedTuple):
    """Rates of subgroups, arrays of one entry for each; see `rates_by_subgroup`."""

    subgroup: NDArray[Any]
    n_samples: NDArray[np.int64]
    n_positive: NDArray[np.int64]
    tpr: Floats
    tpr_lower: Floats
    tpr_upper: Floats
    fpr: Floats
    fpr_lower: Floats
    fpr_upper: Floats
    precision: Floats
    called: Floats


def rates_by_subgroup(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    by: Any,
    *,
    pos_label: Label = None,
    confidence: float = 0.95,
) -> SubgroupTable:
    """Rates of the predicted labels in every subgroup, with exact limits.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        True and predicted labels of two classes.
    by : array-like, shape (n,), dict or DataFrame
        Subgroups: labels of the samples, or several columns, one subgroup for a column of True and
        False and one for each label of another.
    pos_label : label, default=None
        The class of interest, by default the larger label.
    confidence : float, default=0.95
        Confidence of each of the limits by itself (Clopper and Pearson).

    Returns
    -------
    SubgroupTable
        Arrays ``subgroup``, ``n_samples``, ``n_positive``, ``tpr``, ``tpr_lower``, ``tpr_upper``,
        ``fpr``, ``fpr_lower``, ``fpr_upper``, ``precision`` and ``called``, the share of the
        samples that are called positive; ``pandas.DataFrame(table._asdict())`` shows them. NaN for
        a share of no samples.

    Examples
    --------
    >>> from svmproba.evaluation import rates_by_subgroup
    >>> table = rates_by_subgroup([1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0], list("aaabbb"))
    >>> table.subgroup.tolist(), table.tpr.tolist(), table.fpr.tolist()
    (['a', 'b'], [0.5, 1.0], [0.0, 0.5])
    """
    positive = is_positive(y_true, pos_label)
    wanted = positive_label(y_true, pos_label)
    labels = {*np.asarray(y_true).tolist(), wanted}
    unknown = [label for label in np.unique(y_pred).tolist() if label not in labels]
    if unknown and len(labels) > 1:
        raise ValueError(f"y_pred must hold labels of y_true, {labels!r}, got {unknown!r}.")
    called = np.asarray(y_pred) == wanted
    if called.shape != positive.shape:
        raise ValueError(
            f"y_pred must hold one label for each of the {len(positive)} samples, got shape "
            f"{called.shape}."
        )
    return subgroup_table(called, positive, read_subgroups(by, len(positive)), confidence)


def subgroup_table(
    called: Bools, positive: Bools, subgroups: Subgroups, confidence: float = 0.95
) -> SubgroupTable:
    """Rates of subgroups where these samples are called positive."""
    rates = rates_of_subgroups(called.astype(float), positive, subgroups, [0.5] * len(subgroups[0]))
    n_minus = rates.n_samples - rates.n_positive
    limits: list[Floats] = []
    for share, n in ((rates.tpr, rates.n_positive), (rates.fpr, n_minus)):
        some = n > 0
        hits = np.where(some, np.rint(np.nan_to_num(share) * n), 0)
        pair = clopper_pearson(hits, np.maximum(n, 1), confidence=confidence)
        limits += [np.where(some, limit, np.nan) for limit in pair]
    return SubgroupTable(
        rates.subgroup,
        rates.n_samples,
        rates.n_positive,
        rates.tpr,
        limits[0],
        limits[1],
        rates.fpr,
        limits[2],
        limits[3],
        rates.precision,
        rates.called,
    )


def called_with_floor(
    levels: Floats, positive: Bools, subgroups: Subgroups, sign: int, rate: float
) -> Bools:
    """Call samples positive at the common threshold that gives every subgroup a rate on them."""
    thresholds = subgroup_thresholds(
        levels,
        positive,
        subgroups,
        common=True,
        sign=sign,
        rate=rate,
        confidence=None,
        neutral=0.0,
        exceed=False,
        groups=None,
        subsampling="single",
    )
    return np.asarray(levels > thresholds[0])
