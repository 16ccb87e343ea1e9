"""Calibrated probabilities for every bootstrap ensemble, from its out-of-bag scores."""

from __future__ import annotations

import copy
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from svmproba.bootstrap.blocks import row_blocks
from svmproba.bootstrap.members import mean_scores
from svmproba.bootstrap.threshold import calibrated_curve
from svmproba.bootstrap.votes import two_columns
from svmproba.estimators._rate_control import BELOW_HALF
from svmproba.estimators._validation import Floats, check_calibration
from svmproba.links._choose import fit_link
from svmproba.solvers.kernels import Rows

Model = TypeVar("Model", bound="CalibrationMixin")

NO_GUARANTEE = "No guarantee: the threshold is where the model put it, and no rate was asked for."
#: Out-of-bag scores from fewer bags than this are too rough to calibrate on.
LEAST_BAGS = 5
#: Share of a sigmoid of the score in calibrated probabilities.
TIE_BREAK = 1e-9


def families_of(thetas: NDArray[Any]) -> NDArray[np.int64]:
    """Give values of equal kernel, gamma and class weight the same number."""
    fields = thetas[["kernel", "gamma", "class_weight"]].tolist()
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(repr(family), len(numbers)) for family in fields])


class CalibrationMixin:
    """Method `with_calibration` of a fitted bootstrap ensemble, and what `fit` needs for it."""

    calibrator_: Any
    costs_: dict[str, float] | None
    _jackknife: tuple[int, float] | None

    def with_calibration(self: Model, calibration: str | None) -> Model:
        """Copy of the model with another link to probabilities, and a threshold of one half.

        Nothing but the link is fitted again, and the arrays are shared. Ask again for a rate or
        for costs: those of the model are given up.

        Parameters
        ----------
        calibration : {None, "auto", "platt", "isotonic", "beta", "quadratic", "spline", \
                "venn_abers", "stack"}
            The link, as in the parameter of the same name.

        Returns
        -------
        estimator
            The copy.
        """
        check_is_fitted(self, "intercept_")
        check_calibration(calibration)
        other: Any = copy.copy(self)
        other.calibration = calibration
        other._calibrate(calibration)
        return cast(Model, other)

    def _calibrate(self: Any, calibration: str | None) -> None:
        """Fit the link, or take it away; the threshold goes back to one half."""
        self._jackknife, self.threshold_, self.proba_threshold_ = None, 0.0, 0.5
        self.calibrator_ = self.costs_ = None
        P, self._rate_curve = self._vote_P, self._vote_curve
        if calibration is not None:
            scaled = self.oob_scores_ / self.score_scales_[:, np.newaxis]
            enough = np.count_nonzero(self.counts_ == 0, axis=0) >= LEAST_BAGS
            usable = enough & ~np.isnan(scaled).any(axis=0)
            if not usable.any():
                raise ValueError(
                    f"calibration={calibration!r} needs records that {LEAST_BAGS} bags left out; "
                    f"there is none with n_bootstraps={len(self.counts_)}."
                )
            in_use = self.weights_ > 0
            self.calibrator_ = fit_link(
                calibration,
                scaled[np.ix_(in_use, usable)],
                (self.weights_ @ scaled)[usable],
                self._positive[usable],
                families_of(self.thetas_)[in_use],
            )
            P = self._link_proba(scaled)
            self._rate_curve = calibrated_curve(P, self._positive)
        self.oob_proba_ = two_columns(P, self._plus)
        self._note_rates(P, BELOW_HALF)
        self.guarantee_ = NO_GUARANTEE

    def _is_calibrated(self: Any) -> bool:
        return self.calibrator_ is not None

    def _calibrated(self: Any, rows: Rows) -> Floats:
        """Calibrated probability of the class of interest."""
        return self._link_proba(self._scaled_scores(rows))

    def _scaled_scores(self: Any, rows: Rows) -> Floats:
        """Mean scores over the bags in units of their scales, shape (n_theta, n_samples)."""
        blocks = row_blocks(rows.shape[0], rows.shape[1] + len(self.weights_))
        parts = [mean_scores(self._members, rows[block]) for block in blocks]
        return np.concatenate(parts).T / self.score_scales_[:, np.newaxis]

    def _link_proba(self: Any, scaled: Floats) -> Floats:
        """Probability from scaled scores; NaN where they are."""
        mixed = self.weights_ @ scaled
        scores = scaled[self.weights_ > 0] if self.calibrator_.reads == "scaled" else mixed
        known = ~np.isnan(mixed)
        P = np.full(len(mixed), np.nan)
        P[known] = self.calibrator_.predict(scores[..., known])
        # Records on one step of a link are still ordered, and may be told apart.
        return P + TIE_BREAK * (expit(mixed) - P)
