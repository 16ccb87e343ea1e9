"""How far predicted probabilities are from what happened."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Bools, Floats

Label = str | int | float | bool | None


def positive_label(y_true: ArrayLike, pos_label: Label = None) -> Label:
    """Class of interest: `pos_label`, the larger of two labels, or 1 beside 0, 1 or -1 alone.

    Of more than two classes `pos_label` names the one that stands against the rest.
    """
    labels = np.asarray(y_true)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"y_true must be a non-empty 1-D array of labels, got shape {labels.shape}"
        )
    classes = np.unique(labels).tolist()
    if len(classes) > 2 and pos_label is None:
        raise ValueError(
            f"y_true holds {len(classes)} classes: pos_label must name one of {classes}, which "
            f"stands against the rest; got None"
        )
    if pos_label is not None:
        if len(classes) >= 2 and pos_label not in classes:
            raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes}")
        return pos_label
    if len(classes) == 2:
        return classes[1]
    if classes[0] not in (-1, 0, 1):
        raise ValueError(f"y_true holds only {classes[0]!r}: set pos_label")
    return 1


def is_positive(y_true: ArrayLike, pos_label: Label = None) -> Bools:
    """Mark the samples of the class of interest, see `positive_label`."""
    return np.asarray(np.asarray(y_true) == positive_label(y_true, pos_label))


def check_pair(y_true: ArrayLike, proba: ArrayLike, pos_label: Label) -> tuple[Bools, Floats]:
    """Mark the positives and check that each sample has one probability."""
    positive = is_positive(y_true, pos_label)
    p = np.asarray(proba, dtype=np.float64)
    if p.shape != positive.shape:
        raise ValueError(
            f"proba must hold P(positive) of each sample, shape {positive.shape}, "
            f"got shape {p.shape}"
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"proba must lie in [0, 1], got values in [{p.min()}, {p.max()}]")
    return positive, p


def check_scores(positive: Bools, scores: ArrayLike) -> Floats:
    """Scores as an array of shape (..., n), without NaN or infinite values."""
    values = finite(scores, "scores")
    if values.ndim < 1 or values.shape[-1] != len(positive):
        raise ValueError(
            f"scores must hold {len(positive)} samples along their last axis, "
            f"got shape {values.shape}"
        )
    return values


def finite(values: ArrayLike, name: str, *, infinite: bool = False) -> Floats:
    """Array of float64 without NaN and, unless they are allowed, without infinite values."""
    array = np.asarray(values, dtype=np.float64)
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise ValueError(f"{name} must not hold NaN{'' if infinite else ' or infinite values'}")
    return array


def mse(y_true: ArrayLike, proba: ArrayLike, *, pos_label: Label = None) -> float:
    r"""Mean squared error of a probability, the paper's MSE (Brier score, one term per sample).

    .. math:: \frac1n\sum_i\big(1[y_i=+]-\hat p_i\big)^2

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels; of more than two classes, `pos_label` stands against the rest.
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
        NaN for a class without samples.

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
