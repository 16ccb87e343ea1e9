"""How far predicted probabilities are from what happened."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Label = str | int | float | bool | None


def positive_label(y_true: ArrayLike, pos_label: Label = None) -> Label:
    """Name the class of interest.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of at most two classes.
    pos_label : label, default=None
        The class of interest. ``None`` takes the larger of two labels; where only one class
        occurs it must be 0, 1 or -1, and 1 is the class of interest.

    Returns
    -------
    label

    Examples
    --------
    >>> from svmproba.evaluation._metrics import positive_label
    >>> positive_label(["benign", "malignant", "benign"])
    'malignant'
    """
    labels = np.asarray(y_true)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"y_true must be a non-empty 1-D array of labels, got shape {labels.shape}"
        )
    classes = np.unique(labels).tolist()
    if len(classes) > 2:
        raise ValueError(f"y_true must hold at most two classes, got {len(classes)}: {classes}")
    if pos_label is not None:
        if len(classes) == 2 and pos_label not in classes:
            raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes}")
        return pos_label
    if len(classes) == 2:
        return classes[1]
    if classes[0] not in (-1, 0, 1):
        raise ValueError(f"y_true holds only {classes[0]!r}: say which class pos_label is")
    return 1


def is_positive(y_true: ArrayLike, pos_label: Label = None) -> NDArray[np.bool_]:
    """Mark the records of the class of interest, see :func:`positive_label`."""
    return np.asarray(np.asarray(y_true) == positive_label(y_true, pos_label))


def check_pair(
    y_true: ArrayLike, proba: ArrayLike, pos_label: Label
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Mark the positives and check that each record has one probability."""
    positive = is_positive(y_true, pos_label)
    p = np.asarray(proba, dtype=np.float64)
    if p.shape != positive.shape:
        raise ValueError(
            f"proba must hold P(positive) of each record, shape {positive.shape}, "
            f"got shape {p.shape}"
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"proba must lie in [0, 1], got values in [{p.min()}, {p.max()}]")
    return positive, p


def mse(y_true: ArrayLike, proba: ArrayLike, *, pos_label: Label = None) -> float:
    r"""Mean squared error of a probability, the paper's MSE (Brier score, one term per record).

    .. math:: \frac1n\sum_i\big(1[y_i=+]-\hat p_i\big)^2

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    proba : array-like of shape (n,)
        Predicted probability of the class of interest.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    float

    Examples
    --------
    >>> from svmproba.evaluation import mse
    >>> mse([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.5])
    0.125
    """
    positive, p = check_pair(y_true, proba, pos_label)
    return float(np.mean((positive - p) ** 2))


def class_mse(
    y_true: ArrayLike, proba: ArrayLike, *, pos_label: Label = None
) -> tuple[float, float]:
    r"""Mean squared error within the positive and within the negative class.

    With :math:`n_+` positives and :math:`n_-` negatives,
    :math:`n\,\mathrm{MSE}=n_+\mathrm{MSE}_++n_-\mathrm{MSE}_-`.

    Parameters
    ----------
    y_true, proba, pos_label
        As in :func:`mse`.

    Returns
    -------
    mse_plus, mse_minus : float
        NaN for a class without records.

    Examples
    --------
    >>> from svmproba.evaluation import class_mse
    >>> class_mse([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.0])
    (0.125, 0.0)
    """
    positive, p = check_pair(y_true, proba, pos_label)
    plus, minus = (1 - p[positive]) ** 2, p[~positive] ** 2
    return (
        float(plus.mean()) if plus.size else float("nan"),
        float(minus.mean()) if minus.size else float("nan"),
    )
