"""Decisions of least expected cost."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba.estimators._validation import Floats

Cost = float | ArrayLike


class DecisionMixin:
    """Method `decide` of a classifier with two classes and probabilities."""

    def decide(
        self: Any,
        X: ArrayLike,
        *,
        tp_cost: Cost = 0.0,
        tn_cost: Cost = 0.0,
        fn_cost: Cost = 1.0,
        fp_cost: Cost = 1.0,
        return_cost: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], Floats]:
        r"""Labels of least expected cost.

        With :math:`p=P(+|x)`, calling a record positive costs
        :math:`p\,c_{TP}+(1-p)\,c_{FP}` on average, calling it negative
        :math:`p\,c_{FN}+(1-p)\,c_{TN}`; the cheaper label is chosen, the class of interest where
        both cost the same [1]_. The cut of `with_rate` plays no part.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.
        tp_cost, tn_cost, fn_cost, fp_cost : float or array-like of shape (n_samples,)
            Cost of a positive record called positive, a negative one called negative, a positive
            one called negative, and a negative one called positive. A gain is a negative cost.
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
            Where the probabilities are vote shares: they tell how stable the sign of the score is
            and may not be multiplied with money. Fit with ``calibration="auto"`` instead.

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
        >>> dear_alarm = model.decide(scale(X), fp_cost=50.0)
        >>> bool(dear_alarm.sum() < model.predict(scale(X)).sum())
        True
        """
        P = self.predict_proba(X)[:, self._plus]
        if not self._is_calibrated():
            warnings.warn(
                "Expected costs from vote shares are not expectations: a vote share tells how "
                "stable the sign of the score is, not how probable the label is. Fit with "
                "calibration='auto'.",
                UserWarning,
                stacklevel=2,
            )
        costs = {"tp_cost": tp_cost, "tn_cost": tn_cost, "fn_cost": fn_cost, "fp_cost": fp_cost}
        tp, tn, fn, fp = (check_cost(name, cost, len(P)) for name, cost in costs.items())
        if_positive, if_negative = P * tp + (1 - P) * fp, P * fn + (1 - P) * tn
        chosen = if_positive <= if_negative
        labels = self.classes_[np.where(chosen, self._plus, 1 - self._plus)]
        return (labels, np.where(chosen, if_positive, if_negative)) if return_cost else labels


def check_cost(name: str, cost: Cost, n: int) -> Floats:
    """Cost as one finite number or one per record."""
    try:
        values = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (n,)) or not np.isfinite(values).all():
        found = f"shape {values.shape}" if values.ndim else repr(cost)
        raise ValueError(f"{name} must be a finite number or {n} of them, got {found}.")
    return values
