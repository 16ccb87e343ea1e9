"""The cheapest columns with which a linear rule reaches given rates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from svmproba._sklearn_compat import DocLinkMixin
from svmproba._types import Bools
from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.estimators.input.parameters import (
    as_generator,
    check_confidence,
    check_integer,
    check_number,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import check_sizes
from svmproba.estimators.input.training_set import check_binary, encode_two_classes
from svmproba.selection._bags import select_in_bags
from svmproba.selection._columns import check_costs, check_groups
from svmproba.selection._select import SOLVERS, Problem, Selection, best_rates, select
from svmproba.solvers.constrained.floors import sample_floor

FLOORS = ("min_tpr", "min_tnr")
DEFAULT_SECONDS = 60.0


class RateFeatureSelector(SelectorMixin, DocLinkMixin, BaseEstimator):
    r"""Cheapest columns with which a linear rule reaches a TPR and a TNR.

    .. math::
        \min_{z,w,b,\zeta}\ \sum_ga_gz_g\quad\text{s.t.}\quad
        y_i(w^\top x_i+b)\ge1-M(1-\zeta_i),\quad|w_k|\le M'z_{g(k)},\quad
        \sum_+\zeta_i\ge\lambda_+n_+,\quad\sum_-\zeta_i\ge\lambda_-n_-,

    with costs :math:`a` and binary :math:`z,\zeta` [1]_. The columns :math:`x` are scaled to mean 0
    and variance 1 here, and :math:`M'` is `max_weight`. Weights may be scaled freely, so the margin
    of 1 is a restriction only together with :math:`M'`: a sample whose score is 0 or close to it
    is not correct. With a single column, a correct sample is at least :math:`1/M'` standard
    deviations away from the threshold.

    The search adds, drops and swaps columns. Afterwards cheaper selections are ruled out, the
    cheapest first, by bounds on boxes of weights; ``bound_`` says how far this came.

    Parameters
    ----------
    min_tpr, min_tnr : float, default=0.5
        Floors under the recall of the class of interest and of the other class, on the training
        samples.
    costs : array-like of shape (n_features,), dict or None, default=None
        Costs of the columns, positive. A dict has names or positions of columns as keys; columns
        that it does not name cost 1. None: every column costs 1.
    groups_of_columns : list of lists, dict of lists or None, default=None
        Columns, by name or position, that are chosen together and paid once, such as the dummies
        of one category. A column that is in no group is chosen by itself.
    confidence : float or None, default=None
        None: the floors are rates of the sample. A number in (0, 1): they are rates of the
        population, and the rates of the sample must be so much higher that a binomial test at this
        confidence accepts them. The rule was chosen on the same samples, so the confidence is
        nominal.
    max_weight : float, default=100
        Largest weight :math:`M'` of a scaled column.
    solver : {"search", "bb", "scip", "highs"}, default="search"
        Search with a short proof; the same with a proof until `time_limit`; or a mixed-integer
        solver, SCIP or HiGHS, that looks for a cheaper selection.
    time_limit : float or None, default=None
        Seconds for the solvers other than ``"search"`` (None: 60).
    n_bootstraps : int, default=0
        Number of bags on which the search is repeated, for ``selection_frequency_``.
    pos_label : label or None, default=None
        The class of interest. None: the larger label.
    n_jobs : int or None, default=None
        Number of jobs for the bags, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the search and of the bags.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Chosen columns.
    cost_ : float
        Their cost.
    bound_ : float
        Proven lower bound of the cost of all selections.
    status_ : {"optimal", "feasible"}
        Whether the bound proves that no selection is cheaper.
    rates_ : dict
        Rates ``"tpr"`` and ``"tnr"`` of the rule that was found, on the training samples.
    floors_ : dict
        Floors in force on the sample, by name.
    coef_ : ndarray, shape (1, n_features_in_)
        Coefficients of that rule for the columns as they are; positive scores mean
        ``classes_[1]``.
    intercept_ : ndarray, shape (1,)
        Its bias.
    selection_frequency_ : ndarray, shape (n_features_in_,)
        Share of the bags in which a column was chosen; only with `n_bootstraps`.
    selection_limits_ : ndarray, shape (2, n_features_in_)
        Binomial limits (95 %) of these shares: where they would settle with more bags.
    n_bags_ : int
        Bags in which a selection was found. A warning says so if it was not found in all.
    classes_ : ndarray, shape (2,)
        Labels, sorted.
    pos_label_ : label
        The class of interest.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Names of the columns, where X has string names.

    See Also
    --------
    SelectedBootstrapSVC : Selection inside each bag, with honest out-of-bag figures.

    References
    ----------
    .. [1] S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo, *Cost-sensitive feature
       selection for support vector machines*, Computers & Operations Research 106 (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from svmproba import RateFeatureSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = RateFeatureSelector(0.95, 0.95, pos_label=0, random_state=0).fit(X, y)
    >>> selector.cost_, selector.bound_, selector.status_
    (2.0, 2.0, 'optimal')
    >>> selector.transform(X).shape
    (569, 2)
    """

    @stores_parameters
    def __init__(
        self,
        min_tpr: float = 0.5,
        min_tnr: float = 0.5,
        *,
        costs: ArrayLike | Mapping[Any, float] | None = None,
        groups_of_columns: Sequence[Sequence[Any]] | Mapping[Any, Sequence[Any]] | None = None,
        confidence: float | None = None,
        max_weight: float = 100.0,
        solver: str = "search",
        time_limit: float | None = None,
        n_bootstraps: int = 0,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None: ...

    def fit(self, X: ArrayLike, y: ArrayLike) -> RateFeatureSelector:
        """Choose the columns.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : RateFeatureSelector
            Fitted selector.
        """
        self._check_parameters()
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        names = getattr(self, "feature_names_in_", None)
        check_sizes(rows, names)
        check_binary(labels)
        self.classes_, plus = encode_two_classes(labels, self.pos_label, least=1)
        self.pos_label_ = self.classes_[plus]
        problem = self._problem(rows, labels == self.pos_label_, names)
        rng = as_generator(self.random_state)
        seconds = DEFAULT_SECONDS if self.time_limit is None else self.time_limit
        found = select(problem, rng, self.solver, seconds)
        if found.chosen is None:
            raise ValueError(self._refusal(problem, found, rng))
        self._keep(problem, found, 1.0 if plus == 1 else -1.0)
        if self.n_bootstraps:
            self._repeat(problem, rng)
        return self

    def _check_parameters(self) -> None:
        for name in FLOORS:
            check_number(name, getattr(self, name), 0, 1, "a number in [0, 1]")
        if self.confidence is not None:
            check_confidence(self.confidence)
        check_number("max_weight", self.max_weight, 1, 1e6, "a number from 1 to 1e6")
        check_option("solver", self.solver, SOLVERS)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, 0, np.inf, "None or a number >= 0")
        check_integer("n_bootstraps", self.n_bootstraps, 0)

    def _problem(self, rows: Any, positive: Bools, names: Any) -> Problem:
        """Check costs and groups, raise the floors where a confidence is asked for."""
        groups = check_groups(self.groups_of_columns, rows.shape[1], names)
        costs = check_costs(self.costs, groups, rows.shape[1], names)
        floors = [float(self.min_tpr), float(self.min_tnr)]
        if self.confidence is not None:
            sizes = int(positive.sum()), int((~positive).sum())
            # Two floors at once: each may fail with its half of the probability. 0 always holds.
            each = 1.0 - (1.0 - self.confidence) / max(1, sum(f > 0.0 for f in floors))
            floors = [
                sample_floor(f, n, each) if f > 0.0 else 0.0
                for f, n in zip(floors, sizes, strict=True)
            ]
        return Problem(rows, positive, (floors[0], floors[1]), groups, costs, self.max_weight)

    def _keep(self, problem: Problem, found: Selection, flip: float) -> None:
        assert found.chosen is not None
        self.support_ = np.zeros(problem.X.shape[1], dtype=bool)
        for group in found.chosen:
            self.support_[problem.groups[group]] = True
        self.cost_, self.bound_, self.status_ = found.cost, found.bound, found.status
        self.floors_ = dict(zip(FLOORS, problem.floors, strict=True))
        self.coef_ = flip * found.coef[np.newaxis]
        self.intercept_ = np.array([flip * found.intercept])
        scores = problem.X @ found.coef + found.intercept
        self.rates_ = {
            "tpr": float(np.mean(scores[problem.positive] > 0.0)),
            "tnr": float(np.mean(scores[~problem.positive] < 0.0)),
        }

    def _repeat(self, problem: Problem, rng: np.random.Generator) -> None:
        """Repeat the search on bags."""
        counts, _ = draw_bags(self.n_bootstraps, problem.positive, rng)
        support, found = select_in_bags(problem, counts, rng, self.n_jobs)
        self.n_bags_ = int(found.sum())
        if self.n_bags_ < self.n_bootstraps:
            warnings.warn(
                f"In {self.n_bootstraps - self.n_bags_} of {self.n_bootstraps} bags no rule was "
                f"found that reaches the floors. They are left out of selection_frequency_.",
                UserWarning,
                stacklevel=3,
            )
        hits = support[found].sum(axis=0)
        trials = np.full(len(hits), self.n_bags_)
        self.selection_frequency_ = hits / max(self.n_bags_, 1)
        self.selection_limits_ = np.stack(clopper_pearson(hits, trials))

    def _refusal(self, problem: Problem, found: Selection, rng: np.random.Generator) -> str:
        """Say that the floors were not reached, and what can be reached."""
        tpr, tnr = problem.floors
        best_tnr, best_tpr = best_rates(problem, rng)
        asked = f"a TPR of {tpr:.4g} and a TNR of {tnr:.4g} on the training samples"
        told = f"No linear rule was found that has {asked}."
        if found.status == "infeasible":
            told = f"No linear rule has {asked}."
        return (
            f"{told} The best that was found with all columns: a TNR of {best_tnr:.4g} at this "
            f"TPR, or a TPR of {best_tpr:.4g} at this TNR. Lower min_tpr or min_tnr."
        )

    def _get_support_mask(self) -> Bools:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        """Two classes, and labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
