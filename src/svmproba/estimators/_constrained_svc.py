"""One SVM whose rates on the training samples have a floor under them (CSVM)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from svmproba._sklearn_compat import DocLinkMixin
from svmproba._types import Floats
from svmproba.estimators.input.parameters import (
    as_generator,
    check_confidence,
    check_gammas,
    check_number,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.input.subgroup_floors import (
    FLOORS,
    Floor,
    members_of,
    read_floors,
    refuse_unused,
)
from svmproba.estimators.input.training_set import TrainingSet, training_set
from svmproba.estimators.shared.floors import (
    check_floor,
    clash_message,
    margin_rates,
    scale_advice,
)
from svmproba.estimators.shared.texts import document_parameters
from svmproba.solvers.constrained.feasible_point import mass_in_sets
from svmproba.solvers.constrained.floors import RULES, sample_floor
from svmproba.solvers.constrained.mip import solve_exact
from svmproba.solvers.constrained.single import (
    BOUNDS,
    EFFORT,
    Constrained,
    solve_constrained,
)
from svmproba.solvers.features import dense_if_wide, fit_features
from svmproba.solvers.kernels import Rows, check_kernel

SOLVERS = ("search", "bb", "scip", "gurobi", "cplex")
DEFAULT_SECONDS = 60.0


@document_parameters
class ConstrainedSVC(ClassifierMixin, DocLinkMixin, BaseEstimator):
    r"""Support vector machine with floors under its rates on the training samples.

    .. math::
        \min_{w,b,\xi,\zeta}\ \tfrac12\|w\|^2+C\sum_i\xi_i\quad\text{s.t.}\quad
        y_i(w^\top x_i+b)\ge1-\xi_i,\quad \zeta_i=1\Rightarrow\xi_i=0,\quad
        \frac{\sum_{i\in G}\zeta_i}{|G|}\ge\lambda_G,

    with a floor :math:`\lambda` under the true positive rate, the true negative rate or the
    accuracy [1]_. As in the paper a sample counts as right only where its margin is at least 1,
    so the rate of right signs is at least as high. The paper's objective has no
    :math:`\frac12`: its C is twice this one.

    The problem is a mixed-integer one. A search gives a strictly feasible solution in
    milliseconds and says how far it can be from the optimum; ``solver="bb"`` and the solvers of
    others go on until they have a proof or no time. A floor under one class can always be met; two
    floors may clash, which is an error that names the best second rate that was found.

    Parameters
    ----------
    C : float, default=1.0
        Price of slack, on the scale :math:`\frac12\|w\|^2+C\sum\xi`.
    {min_tpr, min_tnr, min_accuracy, floors}
    confidence : float or None, default=None
        None: the floors are rates of the sample. A number in (0, 1): they are rates of the
        population, and the rates of the sample must be so much higher that a test at this
        confidence accepts them. The test presumes a classifier fixed before it saw the samples,
        which this one is not: the confidence is nominal.
    confidence_rule : {"exact", "hoeffding"}, default="exact"
        That test: by the binomial distribution, or by Hoeffding's inequality.
    solver : {"search", "bb", "scip", "gurobi", "cplex"}, default="search"
        Search alone, our branch and bound, or a mixed-integer solver started from our solution.
    effort : {"fast", "default", "thorough"}, default="default"
        Convex problems that the search may solve, 20, 10 000 or 40 000: with 900 samples of 61
        columns some 0.02, 3 and 12 s. The result does not depend on the speed of the computer.
    bound : {"svm", "quantile", "bb"}, default="svm"
        Lower bound of the optimum with ``solver="search"``: the plain SVM, which costs nothing, the
        first node of the branch and bound, or all of it.
    time_limit : float or None, default=None
        Seconds for the branch and bound, or for the other solvers (None: 60).
    {kernel}
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the kernels rbf, poly and sigmoid.
    {degree, coef0, n_components, pos_label, random_state}

    Attributes
    ----------
    coef_ : ndarray, shape (1, n_features_in_)
        Coefficients, for the linear kernel only; positive scores mean ``classes_[1]``.
    intercept_ : ndarray, shape (1,)
        Bias.
    objective_ : float
        Objective of the solution.
    bound_ : float
        Proven lower bound of the optimum.
    optimality_gap_ : float
        :math:`(\text{objective}-\text{bound})/\text{objective}`.
    status_ : {"optimal", "feasible"}
        Whether the solution is proven to be optimal: ``optimality_gap_`` is at most 1e-6, or 1e-4
        where another solver than ours has proven it, within its own tolerances.
    satisfied_ : ndarray of bool, shape (n_samples,)
        Samples with a margin of at least 1; False for samples of weight 0.
    rates_ : dict
        Rates ``"tpr"``, ``"tnr"`` and ``"accuracy"`` of the training samples, counted by margins,
        and those that have a floor in a subgroup, such as ``"tpr of women"``.
    floors_ : dict
        The floors in force on the sample, such as ``"min_tpr"`` and ``"min_tpr of women"``.
    n_solves_ : int
        Convex problems that were solved.
    {classes_, pos_label_, n_features_in_, feature_names_in_}

    References
    ----------
    .. [1] S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo (2019). *On support
       vector machines under a multiple-cost scenario*. Advances in Data Analysis and
       Classification 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from svmproba import ConstrainedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ConstrainedSVC(C=0.01, min_tpr=0.95, pos_label=0, effort="fast", random_state=0)
    >>> bool(model.fit(scale(X), y).rates_["tpr"] >= 0.95)
    True
    """

    @stores_parameters
    def __init__(
        self,
        C: float = 1.0,
        *,
        min_tpr: float | None = None,
        min_tnr: float | None = None,
        min_accuracy: float | None = None,
        floors: Any = None,
        confidence: float | None = None,
        confidence_rule: str = "exact",
        solver: str = "search",
        effort: str = "default",
        bound: str = "svm",
        time_limit: float | None = None,
        kernel: str = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        pos_label: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None: ...

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        by: Any = None,
    ) -> ConstrainedSVC:
        """Find the SVM.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Training samples; their kernel values (n_samples, n_samples) if precomputed. Sparse
            ones are stored densely by the search.
        y : array-like, shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like, shape (n_samples,), optional
            Multiplicities: a sample of weight 2 counts as two, in the price and in the rates.
        {by/floors}

        Returns
        -------
        self : ConstrainedSVC
            Fitted estimator.
        """
        self._check_parameters()
        rows, labels = check_records(self, X, y, order="C")
        weighing = (sample_weight, None, self.pos_label)
        data = training_set(rows, labels, *weighing, pairwise=self.kernel == "precomputed", least=1)
        (gamma,) = check_gammas(self.gamma, self.kernel, data.X, data.weight)
        rng = as_generator(self.random_state)
        kernel = {name: getattr(self, name) for name in ("kernel", "degree", "coef0")}
        samples = dense_if_wide(data.X) if self.kernel == "linear" else data.X
        self._feature_map, table = fit_features(
            samples, gamma=gamma, rng=rng, n_components=self.n_components, factored=True, **kernel
        )
        signs = np.where(data.positive, 1.0, -1.0)
        weight = np.ones(len(signs)) if data.weight is None else data.weight
        floors = self._sample_floors(data, weight, by)
        self.floors_ = {floor.name: floor.share for floor in floors}
        seed = int(rng.integers(2**31))
        found = self._solve(table, signs, weight, floors, seed)
        advice = scale_advice(data.X) if self.kernel == "linear" else ""
        if found.coef is None:
            fixed = (table, signs, self.C, weight, floors, seed)
            raise ValueError(clash_message(*fixed, found.status) + advice)
        if advice and found.status != "optimal":
            message = f"The solution is not proven: its optimality gap is {found.gap:.2g}.{advice}"
            warnings.warn(message, UserWarning, stacklevel=2)
        self._present, self._plus = data.present, data.plus
        self.classes_, self.pos_label_ = data.classes, data.classes[data.plus]
        flip = 1.0 if data.plus == 1 else -1.0
        self._coef, self.intercept_ = flip * found.coef, np.array([flip * found.intercept])
        self.objective_, self.bound_, self.status_ = found.objective, found.bound, found.status
        self.optimality_gap_, self.n_solves_ = found.gap, found.solves
        self.satisfied_ = data.spread(np.asarray(found.satisfied), False)
        self.rates_ = margin_rates(found.satisfied, data.positive, weight, floors)
        return self

    def _check_parameters(self) -> None:
        check_number("C", self.C, np.finfo(np.float64).tiny, np.finfo(np.float64).max, "positive")
        check_kernel(self.kernel, self.degree, self.coef0)
        for name in FLOORS:
            check_floor(name, getattr(self, name))
        check_option("solver", self.solver, SOLVERS)
        check_option("effort", self.effort, tuple(EFFORT))
        check_option("bound", self.bound, BOUNDS)
        check_option("confidence_rule", self.confidence_rule, RULES)
        if self.confidence is not None:
            check_confidence(self.confidence)
            for name in FLOORS:
                if getattr(self, name) == 1:
                    raise ValueError(
                        f"{name}=1 cannot be combined with confidence={self.confidence:g}: no "
                        f"finite sample supports a population rate of 1. {name} must be below 1, "
                        f"or confidence None."
                    )
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, 0, np.inf, "None or a number >= 0")

    def _sample_floors(self, data: TrainingSet, weight: Floats, by: Any) -> list[Floor]:
        """Floors under the rates of the sample."""
        named = {name: check_floor(name, getattr(self, name)) for name in FLOORS}
        floors = [
            Floor(name, share, members_of(name, data.positive))
            for name, share in named.items()
            if getattr(self, name) is not None
        ]
        refuse_unused(by, [self.floors])
        floors += read_floors(self.floors, by, data.positive, data.present, data.n_given)
        if self.confidence is None:
            return floors
        # Several floors at once: each may fail with its share of the probability. 0 always holds.
        n_tested = sum(floor.share > 0.0 for floor in floors)
        confidence = 1 - (1 - self.confidence) / max(1, n_tested)
        raised = []
        for floor in floors:
            if floor.share == 0.0:
                raised.append(floor)
                continue
            n = round(float(weight[floor.members].sum()))
            try:
                share = sample_floor(floor.share, n, confidence, self.confidence_rule)
            except ValueError as error:
                raise ValueError(f"{floor.name}={floor.share:g}: {error}") from error
            raised.append(floor._replace(share=share))
        return raised

    def _solve(
        self, table: Rows, signs: Floats, weight: Floats, floors: list[Floor], seed: int
    ) -> Constrained:
        sets = np.array([floor.members for floor in floors], dtype=np.bool_)
        sets = sets.reshape(len(floors), len(signs))  # also without floors
        need = mass_in_sets(sets, weight, np.array([floor.share for floor in floors]))
        shared: dict[str, Any] = {
            "need": need,
            "sets": sets,
            "weight": weight,
            "seed": seed,
            "effort": self.effort,
        }
        if self.solver in ("search", "bb"):
            bound = "bb" if self.solver == "bb" else self.bound
            return solve_constrained(
                table, signs, self.C, bound=bound, time_limit=self.time_limit, **shared
            )
        seconds = DEFAULT_SECONDS if self.time_limit is None else self.time_limit
        return solve_exact(table, signs, self.C, solver=self.solver, time_limit=seconds, **shared)

    @property
    def coef_(self) -> Floats:
        """Coefficients, for the linear kernel only."""
        if self._feature_map.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'.")
        coef: Floats = self._feature_map.input_coef(self._coef[np.newaxis])
        return coef

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of every sample, positive for ``classes_[1]``.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples,)
            Scores.
        """
        check_is_fitted(self, "intercept_")
        rows = check_records(self, X, reset=False)
        if self._present is not None and self.kernel == "precomputed":
            rows = rows[:, self._present]
        scores: Floats = self._feature_map.transform(rows) @ self._coef + self.intercept_[0]
        return scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels by the sign of the score; 0 means the smaller label, as in scikit-learn.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def __sklearn_tags__(self) -> Tags:
        """Two classes; sparse rows; pairwise with a precomputed kernel."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
