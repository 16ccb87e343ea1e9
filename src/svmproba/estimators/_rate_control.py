"""Rates under control for every bootstrap ensemble: thresholds, curves and guarantees."""

from __future__ import annotations

import copy
import math
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from svmproba.bootstrap.blocks import map_blocks
from svmproba.bootstrap.guarantee import bag_scores, check_kind, jackknife_plus, state_guarantee
from svmproba.bootstrap.members import member_scores
from svmproba.bootstrap.profile import profile_records
from svmproba.bootstrap.threshold import HAIR, RateCurve, rates_at_threshold, threshold_for_rate
from svmproba.bootstrap.votes import two_columns
from svmproba.estimators._validation import Floats, check_confidence, check_number
from svmproba.solvers.kernels import Rows

Model = TypeVar("Model", bound="RateControlMixin")

#: Calibrated probabilities above this number, so from one half on, are called positive.
BELOW_HALF = float(np.nextafter(0.5, 0))
NO_GUARANTEE_BY_COSTS = "No guarantee: the threshold follows from costs, and no rate was asked for."


class RateControlMixin:
    """Methods `rate_curve` and `with_rate` of a fitted bootstrap ensemble."""

    calibrator_: Any
    costs_: dict[str, float] | None
    _jackknife: tuple[int, float] | None
    _rate_curve: RateCurve

    def rate_curve(self) -> RateCurve:
        """Rates and errors of either class at many thresholds, measured out of bag.

        Returns
        -------
        RateCurve
            Arrays ``threshold``, ``tpr``, ``tnr``, ``mse_plus``, ``mse_minus``, by increasing
            threshold. For vote shares the threshold applies to the scores and moves the
            probabilities with it; for calibrated probabilities it applies to the probabilities,
            which stay.
        """
        check_is_fitted(self, "intercept_")
        return self._rate_curve

    def with_rate(
        self: Model,
        *,
        tpr: float | None = None,
        tnr: float | None = None,
        per_theta: bool = False,
        exceed: bool = True,
        guarantee: str | None = None,
        confidence: float = 0.9,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> Model:
        r"""Copy of the model with the threshold at which a class reaches a rate (CEBB1).

        Nothing is fitted again and the arrays are shared. The threshold is set on out-of-bag levels
        of the training records, or on the records `X`, `y`. Vote shares are counted at the new
        threshold, :math:`P_t(+|x)=\sum_\theta\rho_\theta\frac1B\#\{b:f_{\theta,b}(x)>t\}`, and
        `predict` still compares them with one half; calibrated probabilities stay as they are, and
        `predict` compares them with ``proba_threshold_``.

        Parameters
        ----------
        tpr, tnr : float in [0, 1]
            Rate of the class of interest, or of the other class; one of the two.
        per_theta : bool, default=False
            Whether every hyperparameter value gets a threshold of its own, at which its own votes
            reach the rate. For vote shares without a guarantee only; the rate of the mixture may
            then differ from the rate asked for.
        exceed : bool, default=True
            Whether a rate above the one asked for may stay, as in the paper: the threshold then
            only moves in favour of the class. False gives up the excess for the sake of the other
            class.
        guarantee : {None, "split", "oob", "jackknife+"}, default=None
            What is guaranteed on new records, see ``guarantee_`` of the result. None: nothing, the
            threshold reaches the rate on the records at hand. ``"split"``: the rate with
            `confidence`, exactly, from the records `X`, `y`. ``"oob"``: approximately the same,
            from out-of-bag levels. ``"jackknife+"``: the rate on average over training samples;
            probabilities on the wrong side of the threshold are then moved to it.
        confidence : float, default=0.9
            Confidence of ``"split"`` and ``"oob"``.
        X : array-like or sparse, shape (n_samples, n_features), optional
            Records that had no part in the fit.
        y : array-like, shape (n_samples,), optional
            Their labels.

        Returns
        -------
        estimator
            A copy with its own ``threshold_``, ``proba_threshold_``, ``oob_tpr_``, ``oob_tnr_``,
            ``oob_score_`` and ``guarantee_``; costs of `with_costs` decide no longer. One of vote
            shares has no ``oob_proba_``, which would need the training records again.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import BootstrapSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BootstrapSVC(n_bootstraps=50, pos_label=0, random_state=0).fit(scale(X), y)
        >>> wary = model.with_rate(tpr=0.99)
        >>> bool(model.oob_tpr_ < 0.99 <= wary.oob_tpr_), bool(wary.threshold_ < 0)
        (True, True)
        """
        check_is_fitted(self, "intercept_")
        other: Model = copy.copy(self)
        other._move_threshold(
            X,
            y,
            tpr=tpr,
            tnr=tnr,
            per_theta=per_theta,
            exceed=exceed,
            guarantee=guarantee,
            confidence=confidence,
        )
        if other.calibrator_ is None:
            other.__dict__.pop("oob_proba_", None)
        return other

    def _move_threshold(
        self: Any,
        X: ArrayLike | None,
        y: ArrayLike | None,
        *,
        tpr: float | None,
        tnr: float | None,
        per_theta: bool,
        exceed: bool,
        guarantee: str | None,
        confidence: float,
    ) -> None:
        """Move the threshold of this model, see `with_rate`."""
        sign, rate = check_rate(tpr, tnr)
        check_confidence(confidence)
        calibrated = self._is_calibrated()
        check_combination(calibrated, per_theta, guarantee, X, y)
        levels, positive = self._levels_of(X, y, per_theta)
        neutral = BELOW_HALF if calibrated else 0.0
        find_threshold = partial(
            threshold_for_rate,
            positive=positive,
            sign=sign,
            rate=rate,
            neutral=neutral,
            exceed=exceed,
            confidence=confidence if guarantee in ("split", "oob") else None,
            hair=0.0 if calibrated else HAIR,
        )
        self.costs_ = None
        self._jackknife = (sign, rate) if guarantee == "jackknife+" else None
        if guarantee == "jackknife+":
            threshold: Any = neutral
        else:
            threshold = (
                np.array([find_threshold(row) for row in levels])
                if per_theta
                else find_threshold(levels)
            )
        self.threshold_ = 0.0 if calibrated else threshold
        self.proba_threshold_ = float(np.nextafter(threshold, 1)) if calibrated else 0.5
        self._note_rates(self._oob_levels(), threshold)
        n = np.count_nonzero(~np.isnan(np.atleast_2d(levels)[0]) & (positive == (sign > 0)))
        label = self.classes_.tolist()[self._plus if sign > 0 else 1 - self._plus]
        names = {1: "tpr", -1: "tnr"}
        self.guarantee_ = state_guarantee(guarantee, names[sign], rate, confidence, int(n), label)

    def _set_costs(self: Any, costs: dict[str, float]) -> None:
        """Let costs decide, see `with_costs`: the threshold of a rate is taken back."""
        super()._set_costs(costs)  # type: ignore[misc]
        self._jackknife, self.threshold_ = None, 0.0
        if not self._is_calibrated():
            self.oob_proba_ = two_columns(self._vote_P, self._plus)
        # From the threshold on: just below it is where levels must be above.
        self._note_rates(
            self.oob_proba_[:, self._plus], float(np.nextafter(self.proba_threshold_, -np.inf))
        )
        self.guarantee_ = NO_GUARANTEE_BY_COSTS

    def _levels_of(
        self: Any, X: ArrayLike | None, y: ArrayLike | None, per_theta: bool
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Levels (n,) or (n_theta, n) and labels of the records that decide on the threshold."""
        if X is None:
            return self._oob_medians if per_theta else self._oob_levels(), self._positive
        rows, labels = self._check_new(X), column_or_1d(y)
        check_consistent_length(rows, labels)
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()!r}, got {unknown.tolist()!r} too."
            )
        positive = labels == self.pos_label_
        if self._is_calibrated():
            return self._calibrated(rows), positive
        profile = profile_records(
            self._members, rows, self.weights_, n_jobs=self.n_jobs, device=self.device
        )
        return profile.medians if per_theta else profile.median, positive

    def _oob_levels(self: Any) -> Floats:
        """Out-of-bag level of every training record: what decides its class."""
        if not self._is_calibrated():
            levels: Floats = self.oob_median_
            return levels
        calibrated: Floats = self.oob_proba_[:, self._plus]
        return calibrated

    def _note_rates(self: Any, levels: Floats, threshold: float | Floats) -> None:
        """Out-of-bag rates and accuracy at a threshold; NaN where levels alone do not tell them."""
        self.oob_tpr_ = self.oob_tnr_ = self.oob_score_ = float("nan")
        if self._jackknife is not None:
            levels, threshold = self._jackknife_levels()
        known = ~np.isnan(levels)
        if np.ndim(threshold) == 0 and known.any():
            self.oob_tpr_, self.oob_tnr_ = rates_at_threshold(
                levels, self._positive, float(threshold)
            )
            right = (levels[known] > threshold) == self._positive[known]
            self.oob_score_ = float(right.mean())

    def _own_scores(self: Any) -> Floats:
        """Score of each training record over the bags without it, as jackknife+ compares them."""
        own: Floats = (self.oob_scores_ / self.score_scales_[:, np.newaxis]).mean(axis=0)
        return own

    def _jackknife_levels(self: Any) -> tuple[Floats, float]:
        """Out-of-bag levels, and the threshold by which jackknife+ would call the training records.

        Compared with record i, a record is judged by the bags without i; a training record, by
        the bags without itself: the two differ little, and one threshold then serves all.
        """
        sign, rate = self._jackknife
        own = self._own_scores()
        of_class = np.sort(sign * own[(self._positive == (sign > 0)) & ~np.isnan(own)])
        refused_from = math.ceil(rate * (len(of_class) + 1) - 1e-9)
        if refused_from > len(of_class):
            return own, -sign * np.inf
        level = float(of_class[-refused_from])
        return own, np.nextafter(level, -np.inf) if sign > 0 else -level

    def _obey_jackknife(self: Any, rows: Rows, P: Floats) -> Floats:
        """Move probabilities that are on the wrong side of the threshold to its right side."""
        sign, rate = self._jackknife
        own = self._own_scores()
        chosen = np.flatnonzero((self._positive == (sign > 0)) & ~np.isnan(own))
        left_out = (self.counts_[:, chosen] == 0).T
        own = sign * own[chosen]

        def block_side(block: slice) -> NDArray[np.bool_]:
            new = sign * bag_scores(member_scores(self._members, rows[block]), self.score_scales_)
            return jackknife_plus(own, left_out, new, rate)

        of_class = np.concatenate(map_blocks(block_side, self._blocks(rows), self.n_jobs))
        called_positive = of_class == (sign > 0)
        below = np.nextafter(self.proba_threshold_, 0)
        return np.where(called_positive, np.maximum(P, self.proba_threshold_), np.minimum(P, below))


def check_rate(tpr: object, tnr: object, prefix: str = "") -> tuple[int, float]:
    """Sign of the class whose rate is wanted, and the rate; one of the two must be given."""
    if (tpr is None) == (tnr is None):
        raise ValueError(
            f"One of {prefix}tpr and {prefix}tnr must be given, and only one, got {tpr!r} and "
            f"{tnr!r}: a threshold has one free rate; rate_curve() tells the other one."
        )
    name, value, sign = ("tpr", tpr, 1) if tnr is None else ("tnr", tnr, -1)
    check_number(prefix + name, value, 0, 1, "a number in [0, 1]")
    return sign, float(value)  # type: ignore[arg-type]


def check_combination(
    calibrated: bool, per_theta: bool, guarantee: str | None, X: object, y: object
) -> None:
    """Refuse wishes that do not go together."""
    check_kind(guarantee)
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together, or neither.")
    if guarantee == "split" and X is None:
        raise ValueError(
            "guarantee='split' needs records that had no part in the fit: give them as X and y."
        )
    if guarantee in ("oob", "jackknife+") and X is not None:
        raise ValueError(f"guarantee={guarantee!r} uses the training records: leave out X and y.")
    if per_theta and (guarantee is not None or calibrated):
        raise ValueError(
            f"per_theta=True goes with vote shares and guarantee=None, got guarantee={guarantee!r} "
            f"and {'calibrated probabilities' if calibrated else 'vote shares'}."
        )
