"""Costs of decisions: their mean, the threshold that minimises it, and a scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Bools, Floats
from svmproba.estimators.shared.costs import COSTS, check_cost, cost_threshold
from svmproba.evaluation._classifiers import (
    column_of,
    has_several,
    last_step,
    rows_for_last_step,
)
from svmproba.evaluation.measures.metrics import Label, check_pair, is_positive


class CostCurve(NamedTuple):
    """Mean cost of each threshold of the probability.

    Attributes
    ----------
    threshold : ndarray of shape (n_thresholds,)
        Thresholds, increasing: the distinct probabilities, then infinity. Samples at or above the
        threshold are called positive, so the first threshold calls all samples positive and the
        last one none.
    cost : ndarray of shape (n_thresholds,)
        Mean cost per sample.
    """

    threshold: Floats
    cost: Floats


def mean_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    fn_cost: ArrayLike = 1.0,
    fp_cost: ArrayLike = 1.0,
    pos_label: Label = None,
) -> float:
    """Mean cost of decisions, per sample.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True labels and decisions, at most two classes.
    tp_cost, tn_cost, fn_cost, fp_cost : float or array-like of shape (n,), default=0, 0, 1, 1
        Cost of a true positive, a true negative, a false negative and a false positive: one
        number, or one for each sample. A gain is a negative cost.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    float

    Examples
    --------
    >>> from svmproba.evaluation import mean_cost
    >>> mean_cost([0, 0, 1, 1], [0, 1, 0, 1], fn_cost=5)
    1.5
    >>> mean_cost([0, 0, 1, 1], [0, 1, 0, 1], fn_cost=[10, 20, 30, 40], fp_cost=2)
    8.0

    As a scorer of labels, larger where costs are smaller:

    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(mean_cost, greater_is_better=False, fn_cost=5)
    """
    truth, calls = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != calls.shape:
        raise ValueError(
            f"y_true and y_pred must hold one label for each sample, got shapes {truth.shape} "
            f"and {calls.shape}"
        )
    # Both together: either may hold one class only.
    positive, called = np.split(is_positive(np.concatenate([truth, calls]), pos_label), 2)
    if_called, if_not = _costs_of_calls(positive, tp_cost, tn_cost, fn_cost, fp_cost)
    return float(np.mean(np.where(called, if_called, if_not)))


def optimal_threshold(
    *,
    tp_cost: float = 0.0,
    tn_cost: float = 0.0,
    fn_cost: float = 1.0,
    fp_cost: float = 1.0,
) -> float:
    r"""Threshold of the probability that minimises the expected cost.

    .. math:: \frac{c_{fp}-c_{tn}}{(c_{fp}-c_{tn})+(c_{fn}-c_{tp})}

    It is optimal for calibrated probabilities.

    Parameters
    ----------
    tp_cost, tn_cost, fn_cost, fp_cost : float
        As in :func:`mean_cost`. ``fn_cost`` and ``fp_cost`` must not be negative, and their sum
        must exceed ``tp_cost + tn_cost``.

    Returns
    -------
    float
        Samples at or above it are best called positive: all of them if it is at most 0, none if it
        is above 1.

    References
    ----------
    C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.

    Examples
    --------
    >>> from svmproba.evaluation import optimal_threshold
    >>> optimal_threshold(fn_cost=4, fp_cost=1)
    0.2
    """
    costs = {"tp_cost": tp_cost, "tn_cost": tn_cost, "fn_cost": fn_cost, "fp_cost": fp_cost}
    return float(cost_threshold(costs))


def cost_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    fn_cost: ArrayLike = 1.0,
    fp_cost: ArrayLike = 1.0,
    pos_label: Label = None,
) -> CostCurve:
    """Mean cost at every threshold of the probability.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    proba : array-like of shape (n,)
        Predicted probability of the class of interest.
    tp_cost, tn_cost, fn_cost, fp_cost, pos_label
        As in :func:`mean_cost`.

    Returns
    -------
    CostCurve

    Examples
    --------
    >>> from svmproba.evaluation import cost_curve
    >>> curve = cost_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], fn_cost=2)
    >>> curve.threshold, curve.cost
    (array([0.1, 0.4, 0.6, 0.9, inf]), array([0.5 , 0.25, 0.75, 0.5 , 1.  ]))
    """
    positive, p = check_pair(y_true, proba, pos_label)
    if_called, if_not = _costs_of_calls(positive, tp_cost, tn_cost, fn_cost, fp_cost)
    thresholds, place = np.unique(p, return_inverse=True)
    # Each threshold that is passed turns the samples at it from called to not called.
    turned = np.append(0.0, np.cumsum(np.bincount(place, weights=if_not - if_called)))
    return CostCurve(np.append(thresholds, np.inf), (if_called.sum() + turned) / len(p))


def cheapest_calls(proba: Floats, costs: dict[str, Any]) -> Bools:
    """Mark the samples that cost no more in expectation when called positive."""
    return np.asarray(proba >= cost_threshold(costs, len(proba)))


@dataclass(frozen=True)
class CostScorer:
    """What :func:`cost_scorer` returns: call it with a fitted classifier, X and y."""

    costs: dict[str, Any]

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Minus the mean cost of the estimator's decisions on X, whose labels are y."""
        if has_several(estimator):
            raise ValueError(
                f"cost_scorer needs two classes, the estimator has {len(estimator.classes_)}: "
                f"for more, score decide(X, cost_matrix=...)"
            )
        column, label = column_of(estimator, None)
        costs = {name: cost(X) if callable(cost) else cost for name, cost in self.costs.items()}
        if hasattr(last_step(estimator), "decide"):
            rows = rows_for_last_step(estimator, X)
            decisions = last_step(estimator).decide(rows, **costs)
        else:
            called = cheapest_calls(estimator.predict_proba(X)[:, column], costs)
            decisions = estimator.classes_[np.where(called, column, 1 - column)]
        return -mean_cost(y, decisions, pos_label=label, **costs)


def cost_scorer(
    *,
    tp_cost: float | Callable[[Any], ArrayLike] = 0.0,
    tn_cost: float | Callable[[Any], ArrayLike] = 0.0,
    fn_cost: float | Callable[[Any], ArrayLike] = 1.0,
    fp_cost: float | Callable[[Any], ArrayLike] = 1.0,
) -> CostScorer:
    """Scorer for cross-validation and searches: minus the mean cost of the cheapest decisions.

    The decisions are those of ``estimator.decide(X, **costs)``. For a classifier without this
    method they minimise the expected cost by its ``predict_proba``. The class of interest is the
    estimator's ``pos_label`` or larger class.

    Parameters
    ----------
    tp_cost, tn_cost, fn_cost, fp_cost : float or function of X, default=0, 0, 1, 1
        As in :func:`mean_cost`. A function of X returns one cost for each of its samples, so that
        costs that differ between samples follow the folds.

    Returns
    -------
    CostScorer
        A callable of an estimator, X and y.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from svmproba.evaluation import cost_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scorer = cost_scorer(fn_cost=10, fp_cost=lambda X: 1 + X[:, 0])
    >>> cross_val_score(LogisticRegression(), X[:, :2], y, scoring=scorer, cv=3).shape
    (3,)
    """
    return CostScorer(dict(zip(COSTS, (tp_cost, tn_cost, fn_cost, fp_cost), strict=True)))


def _costs_of_calls(positive: Bools, *costs: ArrayLike) -> tuple[Floats, Floats]:
    """Cost of each sample if it is called positive, and if it is not."""
    tp, tn, fn, fp = (
        check_cost(name, cost, len(positive)) for name, cost in zip(COSTS, costs, strict=True)
    )
    return np.where(positive, tp, fp), np.where(positive, fn, tn)
