"""Bootstrap ensemble whose members choose their columns, each in its own bag."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import Tags

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitting.members import Members, Training, fit_members, input_coef
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.estimators import BootstrapSVC
from svmproba.estimators.ensemble.setting import Setting, set_up
from svmproba.estimators.input.parameters import stores_parameters
from svmproba.estimators.shared.doubts import warn_of_bags, warn_of_gaps
from svmproba.estimators.shared.texts import document_parameters
from svmproba.selection._bags import select_in_bags
from svmproba.selection._selector import FLOORS, RateFeatureSelector
from svmproba.solvers.features import FeatureMap


@document_parameters
class SelectedBootstrapSVC(BootstrapSVC):
    """Bootstrap ensemble of linear SVMs with a selection of columns inside each bag.

    As :class:`BootstrapSVC`, with the columns of every bag chosen by
    :class:`RateFeatureSelector` on the samples of the bag alone. Samples left out of a bag have no
    part in its selection, so out-of-bag figures are honest. After a selection on all samples they
    are not: the columns were chosen with the labels that judge them.

    Parameters
    ----------
    selector : RateFeatureSelector or None, default=None
        Floors, costs and groups; None: ``RateFeatureSelector()``. Its search runs in every bag.
        The solver, the number of bags, the class of interest, the jobs and the seed of the
        selector are not used.
    {Cs}
    n_bootstraps : int, default=100
        Number of bags. Every one is searched, which takes about a second each on 1000 samples of
        60 columns.
    {epsilon, reliability, calibration, pos_label, class_weight/ensemble, tol, n_jobs}
    {random_state, verbose}

    Attributes
    ----------
    bag_support_ : ndarray of bool, shape (n_bootstraps, n_features_in_)
        Chosen columns of every bag; all where none were found that reach the floors.
    selection_frequency_ : ndarray, shape (n_features_in_,)
        Share of the bags in which a column was chosen.
    selection_limits_ : ndarray, shape (2, n_features_in_)
        Binomial limits (95 %) of these shares.

    See Also
    --------
    BootstrapSVC : The same without selection; lists all other attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from svmproba import RateFeatureSelector, SelectedBootstrapSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = RateFeatureSelector(0.9, 0.9)
    >>> model = SelectedBootstrapSVC(selector, Cs=[1.0], n_bootstraps=20, random_state=0)
    >>> model.fit(X, y).bag_support_.shape
    (20, 30)
    """

    # What else the ensemble has as parameters is fixed.
    kernel, gammas, degree, coef0 = "linear", "scale", 3, 0.0
    resample, subset_exponent, n_components, device = "bootstrap", 0.7, None, "cpu"

    @stores_parameters
    def __init__(
        self,
        selector: RateFeatureSelector | None = None,
        *,
        Cs: ArrayLike | None = None,
        n_bootstraps: int = 100,
        epsilon: float = np.inf,
        reliability: str = "accuracy",
        calibration: str | None = None,
        pos_label: Any = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        little: bool = False,
    ) -> None:
        setting = set_up(self, self._check_input(X, y, sample_weight, groups))
        self._choose(setting)
        members, training = _fit_chosen(setting, self.bag_support_)
        self._settle(setting, members, training)
        warn_of_gaps(self.duality_gap_, self.tol, stacklevel=4)
        warn_of_bags(self.ensemble_, self.reliability)
        setting.progress.finish()

    def _choose(self, setting: Setting) -> None:
        """Choose the columns of every bag."""
        selector = RateFeatureSelector() if self.selector is None else self.selector
        if not isinstance(selector, RateFeatureSelector):
            raise TypeError(
                f"selector must be None or a RateFeatureSelector, got {type(selector).__name__}."
            )
        selector._check_parameters()
        if not all(getattr(selector, name) > 0 for name in FLOORS):
            raise ValueError(
                "min_tpr and min_tnr of the selector must be above 0, or no column is needed."
            )
        if sparse.issparse(setting.data.X):
            raise TypeError("SelectedBootstrapSVC takes no sparse matrix: X.toarray() is dense.")
        names = getattr(self, "feature_names_in_", None)
        problem = selector._problem(setting.data.X, setting.data.positive, names)
        rng = setting.options["kernel"]["rng"].spawn(1)[0]
        support, found = select_in_bags(problem, setting.counts, rng, self.n_jobs)
        if not found.all():
            warnings.warn(
                f"In {np.sum(~found)} of {len(found)} bags no rule was found that reaches the "
                f"floors. Their SVMs use all columns.",
                UserWarning,
                stacklevel=6,
            )
        support[~found] = True
        hits = support.sum(axis=0)
        self.bag_support_ = support
        self.selection_frequency_ = hits / len(support)
        self.selection_limits_ = np.stack(clopper_pearson(hits, np.full(len(hits), len(support))))

    def __sklearn_tags__(self) -> Tags:
        """Dense samples of two classes alone."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = False
        return tags


def _fit_chosen(setting: Setting, support: Bools) -> tuple[Members, Training]:
    """Fit the members of all bags, those with the same columns at once; other weights are 0."""
    data, options = setting.data, setting.options
    n_bags, p = support.shape
    n_families, n_C = len(options["families"]), len(options["Cs"])
    coef = np.zeros((n_families * n_C, n_bags, p))
    intercept, gap, reliability = np.empty((3, n_families * n_C, n_bags))
    votes: Floats = np.zeros((n_families * n_C, len(data.positive)))
    distinct, kind = np.unique(support, axis=0, return_inverse=True)
    for k, columns in enumerate(distinct):
        bags = np.flatnonzero(kind.ravel() == k)
        X = np.ascontiguousarray(data.X[:, columns])
        members, training = fit_members(X, data.positive, setting.counts[bags], **options)
        coef[:, bags[:, np.newaxis], np.flatnonzero(columns)] = input_coef(members)
        intercept[:, bags], gap[:, bags] = members.intercept, training.gap
        reliability[:, bags] = training.reliability
        votes += training.twice_votes
    plain = FeatureMap("linear", 0.0, 1, 0.0, p, None, None, None, True)
    parts = np.split(coef, n_families)
    flat = [np.ascontiguousarray(part.reshape(-1, p).T) for part in parts]
    means = [part.mean(axis=1).T.copy() for part in parts]
    all_members = Members([plain] * n_families, flat, intercept, means)
    return all_members, Training(gap, votes, reliability)
