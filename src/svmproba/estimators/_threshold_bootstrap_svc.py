"""Bootstrap ensemble whose threshold gives a class the rate asked for (CEBB1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._sklearn_compat import with_callbacks
from svmproba._types import Floats
from svmproba.bootstrap.fitted import with_oob_votes
from svmproba.bootstrap.fitting.bags import draw_held_out, draw_held_out_groups
from svmproba.estimators._bootstrap_svc import BootstrapSVC
from svmproba.estimators.classes.targets import (
    ClassTarget,
    check_class_target,
    rates_of_two,
    refuse_rates_of_two,
)
from svmproba.estimators.ensemble.rates import Target, check_target
from svmproba.estimators.ensemble.setting import check_input
from svmproba.estimators.input.parameters import (
    as_generator,
    check_number,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import take_rows
from svmproba.estimators.input.training_set import check_sample_weight, place_of_interest
from svmproba.estimators.shared.texts import document_parameters


@document_parameters
class ThresholdBootstrapSVC(BootstrapSVC):
    r"""Bootstrap ensemble of SVMs with the threshold at which a class reaches a rate (CEBB1).

    The members, bags and weights are those of :class:`BootstrapSVC`. A vote is counted at the
    threshold :math:`-a` instead of 0,

    .. math::
        P_a(+|x)=\sum_{\theta\in J}\rho_\theta\frac1B\#\{b: f_{\theta,b}(x)\ge-a\},

    and :math:`a\ge0` is the smallest value at which the share asked for of the samples of the class
    has :math:`P_a\ge\frac12` [1]_. With :math:`m_i` the upper weighted median of the out-of-bag
    scores of sample i and :math:`m_{[1]}\ge m_{[2]}\ge\dots` those of the n samples of the class,
    :math:`a=\max(0,-m_{[\lceil\tau n\rceil]})`: no search. Probabilities of the class only rise
    with :math:`a`; those of the other class pay for it.

    Calibrated probabilities do not move with the threshold: `predict` compares them with
    ``proba_threshold_``. A fitted :class:`BootstrapSVC` can get another threshold without a fit,
    see its ``with_rate``.

    Parameters
    ----------
    target_tpr : float or None, default=None
        Rate of the class of interest to reach, in [0, 1].
    target_tnr : float or None, default=None
        Rate of the other class to reach. At most one of the two; with neither, the threshold stays
        where :class:`BootstrapSVC` has it.
    target_recall : dict of label to float, or None, default=None
        Recalls of classes by their names, instead of the two; of more than two classes several may
        be named, see ``with_rate``.
    tune_on : {"oob", "train"}, default="oob"
        Scores that set the threshold: of the bags that left a sample out, or of all bags. The
        latter are optimistic and here for comparison.
    per_theta : bool, default=False
        Whether every hyperparameter value gets its own threshold.
    exceed : bool, default=True
        Whether a rate above the target may stay, as in the paper. False moves the threshold against
        the class where its rate is above the target; it takes one class.
    guarantee : {None, "split", "oob", "jackknife+"}, default=None
        What is guaranteed on new samples, see ``guarantee_``. ``"split"`` holds a part of the
        samples back from the fit and guarantees the rate with `confidence`, exactly. ``"oob"``
        guarantees the same approximately and uses all samples. ``"jackknife+"`` guarantees it on
        average over training sets.
    confidence : float, default=0.9
        Confidence of ``"split"`` and ``"oob"``.
    subsampling : {"single", "repeated"}, default="single"
        How groups guarantee a rate: by one sample drawn from each, or by the averaged p-values of
        all such draws, which are more cautious and take two classes.
    calibration_size : float, default=0.3
        Share of either class held back with ``guarantee="split"``; with groups, of the groups.
    {Cs, kernel/ensemble, gammas/ensemble, degree, coef0, n_bootstraps, epsilon, reliability}
    {calibration, pos_label, class_weight/ensemble, tol, n_components/ensemble, device, n_jobs}
    {random_state, verbose}

    Attributes
    ----------
    threshold_ : float, or ndarray of shape (n_theta,)
        Threshold of the scores, :math:`-a`.
    proba_threshold_ : float
        Threshold of the probabilities: one half for vote shares.
    guarantee_ : str
        What is guaranteed on new samples, in one sentence.
    held_out_ : ndarray of int or None
        Samples that ``guarantee="split"`` held back. Attributes with one entry a sample leave
        them out.
    oob_tpr_, oob_tnr_, oob_score_, oob_proba_
        Out-of-bag rates, accuracy and probabilities at the threshold; rates are NaN with
        ``guarantee="jackknife+"``, whose threshold differs from sample to sample.

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

    @stores_parameters
    def __init__(
        self,
        target_tpr: float | None = None,
        *,
        target_tnr: float | None = None,
        target_recall: dict[Any, float] | None = None,
        tune_on: str = "oob",
        per_theta: bool = False,
        exceed: bool = True,
        guarantee: str | None = None,
        confidence: float = 0.9,
        subsampling: str = "single",
        calibration_size: float = 0.3,
        Cs: ArrayLike | None = None,
        kernel: str = "linear",
        gammas: Any = None,
        degree: int = 3,
        coef0: float = 0.0,
        n_bootstraps: int = 500,
        epsilon: float = np.inf,
        reliability: str = "accuracy",
        calibration: str | None = None,
        pos_label: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        n_components: int | str | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> ThresholdBootstrapSVC:
        """Fit all members, then set the threshold.

        Parameters
        ----------
        {X/fit, y}
        sample_weight : array-like, shape (n_samples,), optional
            Factor on C for each sample; a sample of weight 0 counts as absent. The threshold treats
            all others alike.
        groups : array-like, shape (n_samples,), optional
            Label of the group of each sample, such as a patient with several visits. Bags draw
            groups, ``guarantee="split"`` holds groups back, and what is guaranteed is the rate of a
            random sample of a random new group.

        Returns
        -------
        self : ThresholdBootstrapSVC
            Fitted estimator.
        """
        self._check_wishes()
        self.held_out_ = None
        if self._has_no_target():
            self._fit(X, y, sample_weight, groups)
            return self
        given: tuple[Any, ...] = X, y, sample_weight, groups
        judges: tuple[Any, ...] = None, None, None
        if self.guarantee == "split" or self.tune_on == "train":
            checked = check_input(self, X, y, sample_weight, groups)
            labels, codes = checked.y, checked.groups
            weight = check_sample_weight(sample_weight, checked.X)
            del checked  # it holds a copy of X
            if self.guarantee == "split":
                self.held_out_, kept = self._split(labels, weight, codes)
                judges = _part(self.held_out_, X, labels, codes)
                given = _part(kept, X, labels, weight, codes)
            else:
                present = present_places(len(labels), weight)
                judges = *_part(present, X, labels), None
                given = X, labels, weight, codes
        self._fit(*given)
        if self._several is not None:
            self.ensemble_ = self._at_recalls(self._class_target(), *judges)
            return self
        self.ensemble_ = self._at_rate(self._target_of_two(), *judges)
        if not self._is_calibrated():
            self.ensemble_ = with_oob_votes(self.ensemble_, self._check_new(given[0]), self.n_jobs)
        return self

    def _has_no_target(self) -> bool:
        wishes = (self.target_tpr, self.target_tnr, self.target_recall, self.guarantee)
        return all(wish is None for wish in wishes)

    def _check_wishes(self) -> None:
        """Refuse bad parameters before the fit, as far as they can be judged without classes."""
        if self._has_no_target():
            return
        check_option("tune_on", self.tune_on, ("oob", "train"))
        if self.guarantee is not None and self.tune_on == "train":
            raise ValueError(
                f"tune_on='train' goes with guarantee=None, got guarantee={self.guarantee!r}: "
                f"scores of the bags that a sample was in guarantee nothing."
            )
        if self.guarantee == "split" and self.kernel == "precomputed":
            raise ValueError(
                "guarantee='split' cannot take kernel='precomputed' apart: hold samples back "
                "yourself and give them to with_rate(guarantee='split', X=..., y=...)."
            )
        check_number("calibration_size", self.calibration_size, 0.01, 0.99, "in [0.01, 0.99]")
        if self.target_recall is None:
            self._check_target(self.target_tpr, self.target_tnr)

    def _check_target(self, tpr: float | None, tnr: float | None) -> Target:
        return check_target(
            tpr,
            tnr,
            per_theta=self.per_theta,
            exceed=self.exceed,
            guarantee=self.guarantee,
            confidence=self.confidence,
            subsampling=self.subsampling,
            calibrated=self.calibration is not None,
            new_samples=self.guarantee == "split",
            prefix="target_",
        )

    def _target_of_two(self) -> Target:
        """Rate of one of two classes."""
        wishes = (self.target_tpr, self.target_tnr, self.target_recall)
        rates = rates_of_two(*wishes, self.classes_, self._plus, prefix="target_")
        return self._check_target(*rates)

    def _class_target(self) -> ClassTarget:
        """Recalls of more than two classes."""
        fixed = (self.target_tpr, self.target_tnr, self.per_theta)
        refuse_rates_of_two(*fixed, prefix="target_")
        return check_class_target(
            {} if self.target_recall is None else self.target_recall,
            self.classes_,
            exceed=self.exceed,
            guarantee=self.guarantee,
            confidence=self.confidence,
            new_samples=self.guarantee == "split",
            subsampling=self.subsampling,
            name="target_recall",
        )

    def _split(
        self,
        y: NDArray[Any],
        sample_weight: Floats | None,
        groups: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places of the samples that are held out, and of the others."""
        present, rng = present_places(len(y), sample_weight), as_generator(self.random_state)
        if groups is None:
            held = present[draw_held_out(y[present], self.calibration_size, rng)]
        else:
            classes = np.unique(y[present])
            plus = place_of_interest(classes, self.pos_label) if len(classes) == 2 else 0
            judged = (y[present] == classes[plus]) == (self.target_tnr is None)
            if self.target_recall is not None:
                judged = np.isin(y[present], list(self.target_recall))
            codes = np.unique(groups[present], return_inverse=True)[1]
            held = present[draw_held_out_groups(codes, judged, self.calibration_size, rng)]
        return held, np.setdiff1d(np.arange(len(y)), held)


def _part(places: NDArray[np.intp], *arrays: Any) -> tuple[Any, ...]:
    """Rows of tables and arrays at these places; None stays None."""
    return tuple(None if array is None else take_rows(array, places) for array in arrays)


def present_places(n: int, sample_weight: Floats | None) -> NDArray[np.intp]:
    """Places of the samples whose weight is not 0."""
    return np.arange(n) if sample_weight is None else np.flatnonzero(sample_weight)
