"""Bootstrap ensemble whose threshold gives a class the rate asked for (CEBB1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from svmproba._sklearn_compat import with_callbacks
from svmproba.bootstrap.blocks import map_blocks
from svmproba.bootstrap.members import member_scores
from svmproba.bootstrap.votes import left_out_shares, mix_shares, two_columns
from svmproba.estimators._bootstrap_svc import BootstrapSVC
from svmproba.estimators._parameters import document_parameters
from svmproba.estimators._rate_control import BELOW_HALF, check_combination, check_rate
from svmproba.estimators._records import take_rows
from svmproba.estimators._validation import (
    Floats,
    as_generator,
    check_confidence,
    check_number,
    check_option,
    explain_names_of_svc,
)
from svmproba.solvers.kernels import Rows


@document_parameters
class ThresholdBootstrapSVC(BootstrapSVC):
    r"""Bootstrap ensemble of SVMs with the threshold at which a class reaches a rate (CEBB1).

    The members, bags and weights are those of :class:`BootstrapSVC`. A vote is counted at the
    threshold :math:`-a` instead of 0,

    .. math::
        P_a(+|x)=\sum_{\theta\in J}\rho_\theta\frac1B\#\{b: f_{\theta,b}(x)\ge-a\},

    and :math:`a\ge0` is the smallest value at which the wanted share of the records of the class
    has :math:`P_a\ge\frac12` [1]_. With :math:`m_i` the upper weighted median of the out-of-bag
    scores of record i and :math:`m_{[1]}\ge m_{[2]}\ge\dots` those of the n records of the class,
    :math:`a=\max(0,-m_{[\lceil\tau n\rceil]})`: no search. Probabilities of the class only rise
    with :math:`a`; those of the other class pay for it.

    A fitted :class:`BootstrapSVC` can get another threshold without a fit, see its ``with_rate``.

    Parameters
    ----------
    target_tpr : float or None, default=None
        Rate of the class of interest to reach, in [0, 1].
    target_tnr : float or None, default=None
        Rate of the other class to reach. At most one of the two; with neither, the threshold stays
        where :class:`BootstrapSVC` has it.
    tune_on : {"oob", "train"}, default="oob"
        Scores that set the threshold: of the bags that left a sample out, or of all bags. The
        latter are optimistic and here for comparison.
    per_theta : bool, default=False
        Whether every hyperparameter value gets its own threshold.
    exceed : bool, default=True
        Whether a rate above the target may stay, as in the paper. False moves the threshold against
        the class where its rate is above the target.
    guarantee : {None, "split", "oob", "jackknife+"}, default=None
        What is guaranteed on new samples, see ``guarantee_``. ``"split"`` holds a part of the
        samples back from the fit and guarantees the rate with `confidence`, exactly. ``"oob"``
        guarantees the same approximately and uses all samples. ``"jackknife+"`` guarantees it on
        average over training sets.
    confidence : float, default=0.9
        Confidence of ``"split"`` and ``"oob"``.
    calibration_size : float, default=0.3
        Share of either class held back with ``guarantee="split"``.
    {Cs, kernel/ensemble, gammas, degree, coef0, n_bootstraps, epsilon, reliability, calibration}
    {pos_label, class_weight/ensemble, tol, n_components, device, n_jobs, random_state, verbose}

    Attributes
    ----------
    threshold_ : float, or ndarray of shape (n_theta,)
        Threshold of the scores, :math:`-a`.
    proba_threshold_ : float
        Threshold of the probabilities: one half for vote shares.
    guarantee_ : str
        What is guaranteed on new records, in one sentence.
    held_out_ : ndarray of int or None
        Records that ``guarantee="split"`` held back. Attributes with one entry a record leave
        them out.
    oob_tpr_, oob_tnr_, oob_score_, oob_proba_
        Out-of-bag rates, accuracy and probabilities at the threshold; rates are NaN with
        ``guarantee="jackknife+"``, whose threshold differs from record to record.

    See Also
    --------
    BootstrapSVC : The same without a rate; lists all other attributes.

    References
    ----------
    .. [1] S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo, *Cost-sensitive
       probabilistic predictions for support vector machines*.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from svmproba import ThresholdBootstrapSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ThresholdBootstrapSVC(0.99, pos_label=0, n_bootstraps=50, random_state=0)
    >>> bool(model.fit(scale(X), y).oob_tpr_ >= 0.99)
    True
    """

    @explain_names_of_svc
    def __init__(
        self,
        target_tpr: float | None = None,
        *,
        target_tnr: float | None = None,
        tune_on: str = "oob",
        per_theta: bool = False,
        exceed: bool = True,
        guarantee: str | None = None,
        confidence: float = 0.9,
        calibration_size: float = 0.3,
        Cs: ArrayLike | None = None,
        kernel: str = "linear",
        gammas: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_bootstraps: int = 500,
        epsilon: float = np.inf,
        reliability: str = "accuracy",
        calibration: str | None = None,
        pos_label: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        n_components: int | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            Cs,
            kernel=kernel,
            gammas=gammas,
            degree=degree,
            coef0=coef0,
            n_bootstraps=n_bootstraps,
            epsilon=epsilon,
            reliability=reliability,
            calibration=calibration,
            pos_label=pos_label,
            class_weight=class_weight,
            tol=tol,
            n_components=n_components,
            device=device,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.target_tpr = target_tpr
        self.target_tnr = target_tnr
        self.tune_on = tune_on
        self.per_theta = per_theta
        self.exceed = exceed
        self.guarantee = guarantee
        self.confidence = confidence
        self.calibration_size = calibration_size

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ThresholdBootstrapSVC:
        """Fit all members, then set the threshold.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Training records; their kernel values (n_samples, n_samples) if precomputed.
        y : array-like, shape (n_samples,)
            Labels, two classes with at least two records each.
        sample_weight : array-like, shape (n_samples,), optional
            Factor on C for each record; a record of weight 0 counts as absent. The threshold treats
            all others alike.

        Returns
        -------
        self : ThresholdBootstrapSVC
            Fitted estimator.
        """
        wish = self._check_wish()
        self.held_out_ = None
        if wish is None:
            self._fit(X, y, sample_weight)
            return self
        kept_X, kept_y, kept_weight, judges = X, y, sample_weight, (None, None)
        if self.guarantee == "split":
            check_consistent_length(X, y)
            self.held_out_, kept = self._draw_held_out(np.asarray(y), sample_weight)
            judges = take_rows(X, self.held_out_), take_rows(y, self.held_out_)
            kept_X, kept_y = take_rows(X, kept), take_rows(y, kept)
            if sample_weight is not None:
                kept_weight = take_rows(sample_weight, kept)
        elif self.tune_on == "train":
            present = present_records(len(np.asarray(y)), sample_weight)
            judges = take_rows(X, present), take_rows(y, present)
        self._fit(kept_X, kept_y, kept_weight)
        self._move_threshold(*judges, **wish)
        if not self._is_calibrated():
            self._renew_oob_proba(self._check_new(kept_X))
        return self

    def _check_wish(self) -> dict[str, Any] | None:
        """Refuse bad parameters; gives the arguments of `with_rate`, or None without a target."""
        if self.target_tpr is None and self.target_tnr is None and self.guarantee is None:
            return None
        check_rate(self.target_tpr, self.target_tnr, prefix="target_")
        check_option("tune_on", self.tune_on, ("oob", "train"))
        if self.guarantee is not None and self.tune_on == "train":
            raise ValueError(
                f"tune_on='train' goes with guarantee=None, got guarantee={self.guarantee!r}: "
                f"scores of the bags that a record was in guarantee nothing."
            )
        if self.guarantee == "split" and self.kernel == "precomputed":
            raise ValueError(
                "guarantee='split' cannot take kernel='precomputed' apart: hold records back "
                "yourself and give them to with_rate(guarantee='split', X=..., y=...)."
            )
        check_confidence(self.confidence)
        check_number("calibration_size", self.calibration_size, 0.01, 0.99, "in [0.01, 0.99]")
        given = () if self.guarantee == "split" else None
        check_combination(
            self.calibration is not None, self.per_theta, self.guarantee, given, given
        )
        return {
            "tpr": self.target_tpr,
            "tnr": self.target_tnr,
            "per_theta": self.per_theta,
            "exceed": self.exceed,
            "guarantee": self.guarantee,
            "confidence": self.confidence,
        }

    def _draw_held_out(
        self, y: NDArray[Any], sample_weight: ArrayLike | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw the same share of either class; at least two records of it stay."""
        rng = as_generator(self.random_state)
        present, chosen = present_records(len(y), sample_weight), []
        for label in np.unique(y):
            records = rng.permutation(present[y[present] == label])
            n_held = min(round(self.calibration_size * len(records)), len(records) - 2)
            chosen.append(records[: max(0, n_held)])
        held = np.sort(np.concatenate(chosen))
        return held, np.setdiff1d(np.arange(len(y)), held)

    def _renew_oob_proba(self, rows: Rows) -> None:
        """Out-of-bag vote shares at the threshold, for the training records."""
        threshold = np.reshape(self.threshold_, (-1, 1))

        def block_shares(block: slice) -> Floats:
            scores, counts = member_scores(self._members, rows[block]), self.counts_[:, block]
            return left_out_shares(scores, counts.T == 0, threshold)

        shares = np.concatenate(map_blocks(block_shares, self._blocks(rows), self.n_jobs))
        P = mix_shares(shares.T, self.weights_)
        P[np.isnan(self.oob_median_)] = np.nan
        self.oob_proba_ = two_columns(P, self._plus)
        self._note_rates(P, BELOW_HALF)


def present_records(n: int, sample_weight: ArrayLike | None) -> NDArray[np.intp]:
    """Places of the records whose weight is not 0."""
    return np.arange(n) if sample_weight is None else np.flatnonzero(np.asarray(sample_weight))
