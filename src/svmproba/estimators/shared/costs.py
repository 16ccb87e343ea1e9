"""Decisions of least expected cost."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from svmproba._types import Floats
from svmproba.bootstrap.classes.fitted import FittedClasses, without_targets
from svmproba.bootstrap.fitted import FittedEnsemble, without_target
from svmproba.estimators.classes.costs import check_cost_matrix, costs_of_two, expected_costs
from svmproba.estimators.shared.texts import document_parameters

Cost = float | ArrayLike

#: Names of the costs, and what they are where nobody gave any.
COSTS = {"tp_cost": 0.0, "tn_cost": 0.0, "fn_cost": 1.0, "fp_cost": 1.0}
NO_GUARANTEE_BY_COSTS = "No guarantee: the threshold follows from costs, and no rate was asked for."


class Decider(Protocol):
    """What decisions need to know of a fitted classifier."""

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels, sorted."""

    @property
    def costs_(self) -> Any:
        """Costs that decide, or None."""

    @property
    def _plus(self) -> int: ...
    def _is_calibrated(self) -> bool: ...
    def _decided_by(self: Model, costs: Mapping[str, float] | Floats) -> Model: ...
    def _proba_without_rate(self, X: ArrayLike) -> Floats: ...
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the classes."""


Model = TypeVar("Model", bound=Decider)
Copied = TypeVar("Copied")


@document_parameters
class DecisionMixin:
    """Decisions by cost, and logarithms of the probabilities."""

    def predict_log_proba(self: Decider, X: ArrayLike) -> Floats:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Columns as `classes_`; minus infinity where a probability is 0, as vote shares may be.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def with_costs(
        self: Model,
        *,
        fn_cost: float | None = None,
        fp_cost: float | None = None,
        tp_cost: float | None = None,
        tn_cost: float | None = None,
        cost_matrix: ArrayLike | None = None,
    ) -> Model:
        r"""Copy of the model whose `predict` takes the label of least expected cost.

        Nothing is fitted again and the arrays are shared. The costs imply the threshold on the
        probability of the class of interest from which on that class costs no more [1]_,

        .. math:: t=\frac{c_{FP}-c_{TN}}{(c_{FP}-c_{TN})+(c_{FN}-c_{TP})},

        and ``proba_threshold_`` becomes that threshold. It is part of the model: saved files and
        ONNX graphs decide in the same way. A rate asked for before is given up; a later `with_rate`
        or `with_calibration` gives up the costs.

        Parameters
        ----------
        fn_cost, fp_cost : float
            Cost of a missed sample of the class of interest, and of a false alarm; not negative.
            Both are needed, or `cost_matrix`.
        tp_cost, tn_cost : float, default=0.0
            Cost of a sample of the class of interest, or of the other class, that is called
            rightly. A gain is a negative cost. Wrong calls must cost more than right ones:
            ``fn_cost + fp_cost > tp_cost + tn_cost``.
        cost_matrix : array-like or DataFrame, shape (n_classes, n_classes), optional
            Instead of these, for any number of classes: what it costs to call a sample of the class
            of a row the class of a column, in the order of ``classes_``; a DataFrame has the labels
            as its index and columns, in any order.

        Returns
        -------
        estimator
            A copy with its own ``costs_`` and ``proba_threshold_``; of a bootstrap ensemble also
            with its own ``threshold_`` of 0, ``guarantee_`` and out-of-bag rates.

        Warns
        -----
        UserWarning
            Where the probabilities are vote shares, as in `decide`.

        See Also
        --------
        decide : The same for once, with costs that may differ from sample to sample.

        References
        ----------
        .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import ProbabilitySVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = ProbabilitySVC(pos_label=0, random_state=0).fit(scale(X), y)
        >>> careful = model.with_costs(fn_cost=9.0, fp_cost=1.0)
        >>> careful.proba_threshold_
        0.1
        >>> bool((careful.predict(scale(X)) == 0).sum() > (model.predict(scale(X)) == 0).sum())
        True
        """
        check_is_fitted(self, "intercept_")
        given: Any = {"tp_cost": tp_cost, "tn_cost": tn_cost}
        given |= {"fn_cost": fn_cost, "fp_cost": fp_cost}
        refuse_both(given, cost_matrix, len(self.classes_))
        if cost_matrix is not None:
            costs = check_cost_matrix(cost_matrix, self.classes_)
            if len(self.classes_) > 2:
                warn_of_votes(self)
                return self._decided_by(costs)
            given = {name: float(c) for name, c in costs_of_two(costs, self._plus).items()}
        for name in ("fn_cost", "fp_cost"):
            if given[name] is None:
                raise TypeError(f"with_costs() needs {name}, or cost_matrix.")
        warn_of_votes(self)
        return self._decided_by({k: 0.0 if cost is None else cost for k, cost in given.items()})

    def _decided_by(self: Copied, costs: Mapping[str, float] | Floats) -> Copied:
        """Copy with costs and their threshold as plain attributes."""
        other = copy.copy(self)
        if isinstance(costs, np.ndarray):
            vars(other).update(costs_=costs)
            return other
        known = {name: float(cost) for name, cost in costs.items()}
        vars(other).update(proba_threshold_=float(cost_threshold(costs)), costs_=known)
        return other

    def _proba_without_rate(self: Decider, X: ArrayLike) -> Floats:
        """Probabilities that no threshold of `with_rate` has changed."""
        return self.predict_proba(X)

    def decide(
        self: Decider,
        X: ArrayLike,
        *,
        tp_cost: Cost | None = None,
        tn_cost: Cost | None = None,
        fn_cost: Cost | None = None,
        fp_cost: Cost | None = None,
        cost_matrix: ArrayLike | None = None,
        return_cost: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], Floats]:
        r"""Labels of least expected cost.

        With :math:`p=P(+|x)`, calling a sample positive costs
        :math:`p\,c_{TP}+(1-p)\,c_{FP}` on average, calling it negative
        :math:`p\,c_{FN}+(1-p)\,c_{TN}`; the cheaper label is chosen, the class of interest where
        both cost the same [1]_. The threshold of `with_rate` plays no part.

        Parameters
        ----------
        {X}
        tp_cost, tn_cost, fn_cost, fp_cost : float or array-like of shape (n_samples,), optional
            Cost of a positive sample called positive, a negative one called negative, a positive
            one called negative, and a negative one called positive. None: that of `with_costs`;
            where the model has no costs, 0 for right calls and 1 for wrong ones. A gain is a
            negative cost of a right call; ``fn_cost`` and ``fp_cost`` must not be negative, and
            together exceed ``tp_cost + tn_cost``, or equal it for single samples.
        cost_matrix : array-like or DataFrame, shape (n_classes, n_classes), optional
            Instead of these, for any number of classes, as in `with_costs`; or one matrix for each
            sample, shape (n_samples, n_classes, n_classes). With more than two classes and no
            matrix, that of `with_costs`, or 0 for right calls and 1 for wrong ones. The class of
            least expected cost :math:`\sum_kP(k|x)c_{kl}` is called, the first of equals.
        return_cost : bool, default=False
            Whether to give the expected cost of every decision too.

        Returns
        -------
        labels : ndarray, shape (n_samples,)
            The decisions.
        cost : ndarray, shape (n_samples,)
            Their expected costs, with ``return_cost=True``.

        Warns
        -----
        UserWarning
            Where the probabilities are vote shares: they measure how stable the sign of the score
            is and should not be multiplied by costs. Fit with ``calibration="auto"`` instead.

        References
        ----------
        .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import BootstrapSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BootstrapSVC(n_bootstraps=50, calibration="platt", random_state=0)
        >>> model = model.fit(scale(X), y)
        >>> costly_alarm = model.decide(scale(X), fp_cost=50.0)
        >>> bool(costly_alarm.sum() < model.predict(scale(X)).sum())
        True
        """
        given: Any = {"tp_cost": tp_cost, "tn_cost": tn_cost}
        given |= {"fn_cost": fn_cost, "fp_cost": fp_cost}
        n_classes = len(self.classes_)
        refuse_both(given, cost_matrix, n_classes)
        probabilities = self._proba_without_rate(X)
        warn_of_votes(self)
        if n_classes > 2:
            own_matrix = 1.0 - np.eye(n_classes) if self.costs_ is None else self.costs_
            matrix = own_matrix if cost_matrix is None else cost_matrix
            matrix = check_cost_matrix(matrix, self.classes_, len(probabilities))
            of_calls = expected_costs(probabilities, matrix)
            labels = self.classes_[of_calls.argmin(axis=1)]
            return (labels, of_calls.min(axis=1)) if return_cost else labels
        if cost_matrix is not None:
            matrix = check_cost_matrix(cost_matrix, self.classes_, len(probabilities))
            given = costs_of_two(matrix, self._plus)
        P = probabilities[:, self._plus]
        own = COSTS if self.costs_ is None else self.costs_
        costs = {name: own[name] if cost is None else cost for name, cost in given.items()}
        chosen = cost_threshold(costs, len(P)) <= P
        labels = self.classes_[np.where(chosen, self._plus, 1 - self._plus)]
        return (labels, expected_cost(P, chosen, costs)) if return_cost else labels


def refuse_both(given: Mapping[str, Any], cost_matrix: Any, n_classes: int) -> None:
    """Refuse costs of two classes together with a matrix, or with more than two classes."""
    named = [name for name, cost in given.items() if cost is not None]
    if named and n_classes > 2:
        raise ValueError(
            f"{', '.join(named)} need two classes, got {n_classes}: give cost_matrix, with a row "
            f"for each true and a column for each called class."
        )
    if named and cost_matrix is not None:
        raise ValueError(f"cost_matrix takes the place of {', '.join(named)}: leave them out.")


def warn_of_votes(model: Decider) -> None:
    """Warn that vote shares are not probabilities of labels."""
    if not model._is_calibrated():
        warnings.warn(
            "Expected costs from vote shares are not expectations: a vote share says how stable "
            "the sign of the score is, not how probable the label is. Fit with "
            "calibration='auto'.",
            UserWarning,
            stacklevel=3,
        )


def ensemble_with_costs(ensemble: FittedEnsemble, costs: Mapping[str, float]) -> FittedEnsemble:
    """Let costs decide: the threshold of a rate is taken back."""
    return replace(
        without_target(ensemble),
        proba_threshold=float(cost_threshold(costs)),
        costs={name: float(cost) for name, cost in costs.items()},
        guarantee=NO_GUARANTEE_BY_COSTS,
    )


def classes_with_costs(ensemble: FittedClasses, costs: Floats) -> FittedClasses:
    """Let a cost matrix decide: recalls asked for are given up."""
    return replace(without_targets(ensemble), costs=costs, guarantee=NO_GUARANTEE_BY_COSTS)


def cost_threshold(costs: Mapping[str, Cost], n: int | None = None) -> Floats:
    """Probability from which on the class of interest costs no more than the other class.

    With `n`, every sample may have its own costs; infinite where wrong calls cost as much as right
    ones.
    """
    tp, tn, fn, fp = (check_cost(name, costs[name], n) for name in COSTS)
    for name, cost in (("fn_cost", fn), ("fp_cost", fp)):
        if cost.min(initial=0.0) < 0:
            raise ValueError(
                f"{name} must not be negative, got {cost.min():g}; a gain is a negative cost of a "
                f"right call, tp_cost or tn_cost."
            )
    alarm, miss = np.broadcast_arrays(fp - tn, fn - tp)
    total = np.asarray(alarm + miss)
    # A sample may well have costs by which its probability does not matter; a model may not.
    bad = np.flatnonzero(~((total > 0) | ((total == 0) & (total.ndim > 0))) | np.isinf(total))
    if len(bad):
        parts = [np.broadcast_to(cost, alarm.shape).flat[bad[0]] for cost in (fn, fp, tp, tn)]
        raise ValueError(
            "wrong calls must cost more than right ones, fn_cost + fp_cost > tp_cost + tn_cost, "
            "got {:g} + {:g} and {:g} + {:g}".format(*parts)
            + ("." if alarm.ndim == 0 else f" in place {bad[0]}.")
        )
    sure = np.where(alarm > 0, np.inf, -np.inf)
    return np.divide(alarm, total, out=np.array(sure), where=total > 0)


def expected_cost(P: Floats, chosen: NDArray[np.bool_], costs: Mapping[str, Cost]) -> Floats:
    """Tell the expected cost of every call from the probability of the class of interest."""
    tp, tn, fn, fp = (np.asarray(costs[name], dtype=np.float64) for name in COSTS)
    return np.where(chosen, P * tp + (1 - P) * fp, P * fn + (1 - P) * tn)


def check_cost(name: str, cost: Cost, n: int | None) -> Floats:
    """Cost as one finite number, or one per sample."""
    try:
        values = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    bad = values[~np.isfinite(values)]
    if values.shape not in ((), (n,)) or bad.size:
        several = "" if n is None else f" or {n} of them"
        found = f"shape {values.shape}" if values.shape not in ((), (n,)) else f"{bad.flat[0]}"
        raise ValueError(
            f"{name} must be a finite number{several}, got {found if values.ndim else repr(cost)}."
        )
    return values
