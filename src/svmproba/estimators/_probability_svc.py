"""One support vector machine tuned by cross-validation, and a link to probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from svmproba._sklearn_compat import CallbackSupportMixin, with_callbacks
from svmproba.estimators._costs import DecisionMixin
from svmproba.estimators._cross_fit import (
    Machines,
    Records,
    deal_folds,
    encode_records,
    fit_members,
)
from svmproba.estimators._doubts import warn_of_gaps
from svmproba.estimators._pair_links import (
    LEAST,
    LINKS,
    SELECTIONS,
    fit_links,
    make_link,
    measure,
    warn_of_order,
)
from svmproba.estimators._parameters import document_parameters
from svmproba.estimators._progress import FitProgress
from svmproba.estimators._records import check_records
from svmproba.estimators._score_spread import (
    Machine,
    fit_spread,
    kernel_rest,
    link_proba,
)
from svmproba.estimators._tuning import (
    PairwiseMixin,
    check_tuning_parameters,
)
from svmproba.estimators._validation import (
    KERNEL_PARAMETERS,
    Floats,
    as_generator,
    check_gammas,
    check_option,
    explain_names_of_svc,
)
from svmproba.solvers.kernels import Rows


@document_parameters
class ProbabilitySVC(
    CallbackSupportMixin, PairwiseMixin, DecisionMixin, ClassifierMixin, BaseEstimator
):
    r"""Support vector machine whose scores a link turns into probabilities.

    The machine :math:`f(x)=w^\top\phi(x)+b` is fitted for every C and gamma on all records but one
    fold, for each of k folds. The best C and gamma, by the scores of the records held out, are
    kept; a link is fitted to those scores, and the machine itself to all records [1]_:

    .. math:: P(+|x)=g(f(x)) .

    ================ =================================================================== =========
    link             g                                                                   source
    ================ =================================================================== =========
    ``"platt"``      sigmoid, two coefficients by maximum likelihood                     published
    ``"wahba"``      :math:`\mathrm{expit}(f)`, nothing fitted                           published
    ``"gaussian"``   Hastie and Tibshirani: Gaussian scores, one variance                published,
                                                                                         as Platt
                                                                                         tells it
    ``"cosine"``     Vapnik's cosine series, in the score alone                          derived
    ``"cpon"``       Park and Kil's beta tails; no posterior where classes are unequal   details
                                                                                         derived
    ``"sollich"``    :math:`\mathrm{expit}(C\,h(f))`, Gaussian process; three averages   published,
                                                                                         averages
                                                                                         derived
    ``"moderated"``  Kwok: :math:`\mathrm{expit}(f/\sqrt{1+\pi v/8})`, variance v        variance
                                                                                         derived
    ``"isotonic"``   best non-decreasing function                                        published
    ``"beta"``       beta calibration                                                    published
    ``"venn_abers"`` isotonic with the new record in it                                  published
    ================ =================================================================== =========

    See `svmproba.links` for each of them. More than two classes have one machine and one link for
    every pair, and their probabilities are coupled [2]_ by an exact solution, where LIBSVM stops
    an iteration early. Columns should have comparable scales, see
    :class:`~sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    link : str, default="platt"
        One of the names above.
    {Cs}
    C_selection : {"accuracy", "log_loss", "brier"}, default="accuracy"
        Measure of the held-out scores that chooses C and gamma: accuracy of the scores' signs
        (of the votes of all pairs), or a loss of the probabilities that the link makes of them.
        Accuracy is flat in C, and Sollich's probabilities depend on C alone: choose another there.
        Of equals, the smallest gamma and then the smallest C. Links that read more than the score
        are judged by the score alone.
    {cv, kernel, gammas, degree, coef0}
    link_params : dict or None, default=None
        Parameters of the link, for example ``{"adjusted": False}`` for ``"gaussian"`` or
        ``{"average": "sampled"}`` for ``"sollich"``.
    {pos_label, class_weight, tol, n_components, n_jobs, random_state, verbose}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels, sorted.
    C_, gamma_ : float
        The values chosen; gamma is NaN for kernels without it.
    cv_results_ : dict of ndarray, each of shape (n_theta,)
        ``"C"``, ``"gamma"``, the held-out ``"accuracy"``, ``"log_loss"`` and ``"brier"`` (half
        the squared distance of the probabilities from the label), and the largest
        ``"duality_gap"`` among the machines. The link of the losses was fitted to the same scores.
    best_index_ : int
        Place of the values chosen.
    cv_scores_ : ndarray, shape (n_samples,), or (n_samples, n_pairs) with more than two classes
        Held-out scores at the values chosen; NaN for records of weight 0. They are positive for
        the class of interest, or for the second class of the pair.
    coef_ : ndarray, shape (n_pairs, n_features_in_)
        Coefficients, with the same signs, for the linear kernel only.
    intercept_ : ndarray, shape (n_pairs,)
        Intercepts.
    duality_gap_ : ndarray, shape (n_pairs,)
        Relative duality gap of the machines of all records.
    link_ : link, or list of n_pairs links with more than two classes
        The fitted links.
    proba_threshold_ : float
        Threshold of the probabilities of two classes; one half unless `with_costs` moved it.
    costs_ : dict of str to float, or None
        The costs of `with_costs` that decide, by the names of its arguments.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Names of the columns, where X has string names.

    Notes
    -----
    Pairs are (0, 1), (0, 2), ..., (1, 2), ... by the places of their classes.

    Held-out scores come from k machines, new ones from another, trained on more records; the link
    takes them for the same, as in LIBSVM. Where the training part of a fold lacks a class, scores
    are set to +1 or -1 for the other one.

    `class_weight` and `sample_weight` multiply C; neither the measures nor the link know them, so
    that probabilities keep to the frequencies of the classes as they were given. For unequal costs
    see `decide`. A record of weight 0 counts as absent.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods", in Advances in Large Margin Classifiers, MIT Press, 1999.
    .. [2] T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
       classification by pairwise coupling", Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from svmproba import ProbabilitySVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ProbabilitySVC("gaussian", random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    @explain_names_of_svc
    def __init__(
        self,
        link: str = "platt",
        *,
        Cs: ArrayLike | None = None,
        C_selection: str = "accuracy",
        cv: Any = 5,
        kernel: str = "linear",
        gammas: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        link_params: dict[str, Any] | None = None,
        pos_label: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        n_components: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.link = link
        self.Cs = Cs
        self.C_selection = C_selection
        self.cv = cv
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.link_params = link_params
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.tol = tol
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ProbabilitySVC:
        """Choose C and gamma, fit the machine and the link.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Training records; their kernel values (n_samples, n_samples) if precomputed.
        y : array-like, shape (n_samples,)
            Labels, two classes or more.
        sample_weight : array-like, shape (n_samples,), optional
            Factor on C for each record; a record of weight 0 counts as absent.

        Returns
        -------
        self : ProbabilitySVC
            Fitted estimator.
        """
        Cs = check_tuning_parameters(self)
        check_option("link", self.link, tuple(LINKS))
        check_option("C_selection", self.C_selection, SELECTIONS)
        make_link(self.link, 1.0, self.link_params)
        rows, labels = check_records(self, X, y, order="C")
        weighing = (sample_weight, self.class_weight, self.pos_label)
        records = encode_records(rows, labels, *weighing, pairwise=self.kernel == "precomputed")
        gammas = check_gammas(self.gammas, self.kernel, records.X)
        rng = as_generator(self.random_state)
        fold, n_folds = deal_folds(self.cv, records, rng)
        n_bags = len(gammas) * len(records.pairs) * (n_folds + 1)
        metadata = {"sample_weight": sample_weight}
        progress = FitProgress(self, n_bags, X=rows, y=labels, metadata=metadata)
        fits = (
            fit_members(
                records,
                fold,
                n_folds,
                Cs,
                kernel={name: getattr(self, name) for name in KERNEL_PARAMETERS}
                | {"kernel": self.kernel, "gamma": gamma, "rng": rng},
                tol=self.tol,
                n_jobs=self.n_jobs,
                report=progress,
            )
            for gamma in gammas
        )
        best = self._choose(records, fits, gammas, Cs)
        self._keep(records, best, self.best_index_ % len(Cs), rng)
        warn_of_gaps(self.cv_results_["duality_gap"], self.tol)
        progress.finish()
        return self

    def _choose(
        self, records: Records, fits: Iterable[Machines], gammas: Floats, Cs: Floats
    ) -> Machines:
        """Measure all values of C and gamma; gives the machines at the best gamma."""
        measures, gaps = [], []
        best, best_loss = None, np.inf
        for fit in fits:
            for C, scores in zip(Cs, fit.held_out, strict=True):
                links = fit_links(self.link, self.link_params, records, scores, C)
                found = measure(links, records, scores)
                measures.append(found)
                loss = found[self.C_selection] * (-1 if self.C_selection == "accuracy" else 1)
                if best is None or loss < best_loss:
                    best, best_loss, self.best_index_ = fit, loss, len(measures) - 1
            gaps.append(fit.largest_gap)
        assert best is not None  # a grid is never empty
        self.cv_results_ = {
            "C": np.tile(Cs, len(gammas)),
            "gamma": np.repeat(gammas, len(Cs)),
            **{name: np.array([found[name] for found in measures]) for name in SELECTIONS},
            "duality_gap": np.concatenate(gaps),
        }
        return best

    def _keep(self, records: Records, fit: Machines, c: int, rng: np.random.Generator) -> None:
        """Store the machines at the c-th C, their links and what those need."""
        self.classes_, self._pairs = records.classes, records.pairs
        self.proba_threshold_, self.costs_ = 0.5, None
        self._present = None if len(records.present) == records.n_given else records.present
        self.C_ = float(self.cv_results_["C"][self.best_index_])
        self.gamma_ = float(self.cv_results_["gamma"][self.best_index_])
        self._feature_map = fit.feature_map
        self._coef, self.intercept_ = fit.coef[c].copy(), fit.intercept[c].copy()
        self.duality_gap_ = fit.gap[c].copy()
        scores = np.full((records.n_given, len(records.pairs)), np.nan)
        scores[records.present] = fit.held_out[c].T
        links = fit_links(self.link, self.link_params, records, fit.held_out[c], self.C_)
        warn_of_order(records, fit.held_out[c])
        two = len(records.classes) == 2
        self.cv_scores_ = scores[:, 0] if two else scores
        self.link_ = links[0] if two else links
        self._spreads = [
            fit_spread(link, self._member(records, fit, p), rng) for p, link in enumerate(links)
        ]

    def _member(self, records: Records, fit: Machines, p: int) -> Machine:
        pair = records.pairs[p]
        here = records.members(pair)[0]
        weight = None if records.weight is None else records.weight[here]
        return Machine(
            fit.rows[here],
            records.signs(pair),
            self.C_,
            weight,
            self._coef[p],
            float(self.intercept_[p]),
        )

    @property
    def coef_(self) -> Floats:
        """Coefficients of the machines, for the linear kernel only."""
        if self._feature_map.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'.")
        return self._feature_map.input_coef(self._coef)

    @property
    def _links(self) -> list[Any]:
        return self.link_ if len(self.classes_) > 2 else [self.link_]

    def member_scores(self, X: ArrayLike) -> Floats:
        """Scores of the machines, before any link.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples,), or (n_samples, n_pairs) with more than two classes
            Positive for the class of interest, or for the second class of the pair.
        """
        rows = self._check_new(X)
        blocks = self._mapped(rows, len(self._pairs))
        scores = np.concatenate([table @ self._coef.T + self.intercept_ for _, table in blocks])
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log odds of the probabilities, in agreement with `predict` unless costs decide.

        The machine's own sign can disagree with the probabilities near the boundary; see
        `member_scores`. After `with_costs` they are still the log odds, and `predict` thresholds
        them at those of ``proba_threshold_`` instead of 0.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples,), or (n_samples, n_classes) with more than two classes
            Log odds of ``classes_[1]``, or the logarithm of the probability of every class;
            probabilities are kept away from zero. One half has the least positive number where
            ``classes_[1]`` is the class of interest, as zero would speak for the other.
        """
        logs = np.log(self.predict_proba(X).clip(LEAST))
        if len(self.classes_) > 2:
            return logs
        odds = logs[:, 1] - logs[:, 0]
        return np.where(odds == 0, np.finfo(np.float64).tiny * self._plus, odds)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Columns as `classes_`; rows sum to one.
        """
        rows = self._check_new(X)
        parts = [
            self._pair_proba(rows[block], table)
            for block, table in self._mapped(rows, self._width())
        ]
        return self._joined(np.concatenate(parts))

    def _width(self) -> int:
        """Numbers that the probabilities need at once for a record."""
        spreads = [len(spread.coef) for spread in self._spreads if spread is not None]
        return len(self._pairs) + 2 * max(spreads, default=0)

    def _pair_proba(self, rows: Rows, table: Rows) -> Floats:
        """Probability of the second class of every pair, shape (n, n_pairs)."""
        scores = table @ self._coef.T + self.intercept_
        rest = kernel_rest(self._feature_map, rows, table)
        parts = zip(self._links, scores.T, self._spreads, strict=True)
        return np.column_stack([link_proba(g, s, table, rest, spread) for g, s, spread in parts])
