"""Support vector machine trained on soft labels from neighbours (Tao et al.)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from svmproba.estimators._costs import DecisionMixin
from svmproba.estimators._cross_fit import Pair, Places, Records, deal_folds, encode_records
from svmproba.estimators._doubts import warn_of_gaps
from svmproba.estimators._parameters import document_parameters
from svmproba.estimators._records import check_records
from svmproba.estimators._tuning import (
    PairwiseMixin,
    check_tuning_parameters,
)
from svmproba.estimators._validation import (
    KERNEL_PARAMETERS,
    Floats,
    as_generator,
    check_gammas,
    check_integer,
    check_number,
    check_option,
    explain_names_of_svc,
)
from svmproba.links._neighbours import neighbour_counts, soft_labels
from svmproba.solvers.features import FeatureMap, fit_features
from svmproba.solvers.kernels import Rows
from svmproba.solvers.soft_labels import fit_soft_paths

Bools = NDArray[np.bool_]
#: Places of the records of a pair of classes, and which of them belong to the second.
Members = tuple[Places, Bools]
#: Coefficients (n_C, n_parts, d), intercepts and duality gaps (n_C, n_parts) of one pair.
Fit = tuple[Floats, Floats, Floats]

READOUTS = ("window", "score")


def _held_out_accuracy(
    rows: Rows, members: list[Members], fits: list[Fit], held_out: Bools
) -> Floats:
    """Share of held-out records on the right side, over all pairs, for each C; NaN of no fold."""
    right = np.zeros(fits[0][1].shape[0])
    total = np.nan if len(held_out) == 0 else 0.0
    for (here, positive), (coef, intercept, _) in zip(members, fits, strict=True):
        for k, out in enumerate(held_out[:, here]):
            scores = rows[here[out]] @ coef[:, k].T + intercept[:, k]
            right += ((scores > 0) == positive[out, np.newaxis]).sum(axis=0)
            total += np.count_nonzero(out)
    return right / total


def _own_votes(scores: Floats, pairs: list[Pair], n_classes: int) -> Floats:
    """Vote of each record for the class that wins most pairs, shared by those that tie."""
    wins = np.zeros((len(scores), n_classes))
    for column, (first, second) in zip(scores.T, pairs, strict=True):
        share = np.heaviside(column, 0.5)
        wins[:, second] += share
        wins[:, first] += 1 - share
    best = wins == wins.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


@document_parameters
class PosteriorProbabilitySVC(PairwiseMixin, DecisionMixin, ClassifierMixin, BaseEstimator):
    r"""Support vector machine on soft labels that neighbours give (posterior probability SVM).

    Among the :math:`\ell_r(i)` training records within the radius :math:`r` of record i, itself
    included, :math:`\ell_r^+(i)` are positive. The soft label
    :math:`\tilde y_i=2\ell_r^+(i)/\ell_r(i)-1` replaces the label [1]_:

    .. math::
        \min\ \tfrac12\|w\|^2+C\sum_i\xi_i\quad\text{subject to}\quad
        \tilde y_i(w^\top\phi(x_i)+b)\ge\tilde y_i^2-\xi_i,\ \xi_i\ge0,

    so that record i asks for the margin :math:`|\tilde y_i|` at the price :math:`C|\tilde y_i|`,
    and a record between the classes for nothing. The score :math:`f(x)=w^\top\phi(x)+b` gives a
    probability in one of two ways:

    * ``readout="window"``: the training records near x vote with their labels, and x itself with
      the sign of its score, :math:`P(+|x)=\frac{\ell_r^+(x)+1\{f(x)>0\}}{\ell_r(x)+1}`;
    * ``readout="score"``: the fit drives :math:`f` towards :math:`2P-1`, hence
      :math:`P(+|x)=\min(1,\max(0,\frac{f(x)+1}2))`.

    More than two classes have one machine a pair. With ``"window"`` a record's own vote goes to the
    class that wins most pairs; with ``"score"`` the pairwise probabilities are coupled [3]_.

    Columns should have comparable scales, see :class:`~sklearn.preprocessing.StandardScaler`: in d
    standardised columns records are about :math:`\sqrt{2d}` apart. A radius much beyond that makes
    all soft labels equal and the machine constant; one much below finds nobody, and what is left
    is the usual SVM with probabilities 0 and 1.

    Parameters
    ----------
    radius : float, default=1.0
        Radius r of the neighbourhood, 0 or more, in the units of X. With 0 only equal samples are
        neighbours. With ``kernel="precomputed"``, distances are those of the kernel's feature
        space, within the span of the training samples.
    readout : {"window", "score"}, default="window"
        How the score becomes a probability.
    {Cs}
    neighbors : int or None, default=None
        Instead of the radius: the neighbourhood of a sample is itself and its ``neighbors - 1``
        nearest others, with all that are tied with the last one.
    cv : int, splitter or iterable, default=5
        Folds that choose among several values of C and gamma: the values whose scores have the
        right sign most often are used, the smallest of equals. A number deals the samples of every
        class evenly and at random. Otherwise as in scikit-learn; every sample must be held out
        once.
    {kernel, gammas, degree, coef0, pos_label, tol, n_components, n_jobs, random_state}

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels, sorted.
    pos_label_ : label
        The class of interest, of two classes only.
    soft_labels_ : ndarray, shape (n_pairs, n_samples)
        Soft labels of the training records for every pair of classes, in the order (0, 1), (0, 2),
        ..., (1, 2), ...; NaN for records of other classes. Two classes are one pair. Positive is
        the second class of a pair; of two classes, the class of interest.
    cv_results_ : dict of ndarray, each of shape (n_theta,)
        ``"C"``, ``"gamma"`` and ``"accuracy"``, the share of held-out records with the right sign
        of the score, over all pairs; NaN where there is one value of C and gamma only.
    best_index_ : int
        Place of the values chosen.
    C_, gamma_ : float
        The values chosen; gamma is NaN for kernels without it.
    coef_ : ndarray, shape (n_pairs, n_features_in_)
        Coefficients, for the linear kernel only.
    intercept_ : ndarray, shape (n_pairs,)
        Intercepts.
    duality_gap_ : ndarray, shape (n_pairs,)
        Relative duality gaps, bounds on how far the machines are from their optima.
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
    *What is published.* The idea of the empirical posterior is Tao et al.'s. The problem is
    theirs as Gönen et al. restate it; it is given here from memory of the papers, with a dual of
    our own derivation. How Tao et al. treat new records could not be read: ``"window"`` is
    inferred from the numbers that Benítez-Peña et al. print for the method, which it follows but
    does not reproduce exactly, and ``"score"`` is a natural guess. ``neighbors`` is in the manner
    of Gönen et al. [2]_, who count nearest neighbours in place of a window. More than two classes
    are not treated as they do: their program, which could not be read, trains one function for
    each class together, while here every pair of classes has a machine and soft labels of its own.

    *Cross-validation.* Soft labels of a training part are counted within that part. A held-out
    label therefore reaches the training part in no way, but every fold has labels of its own.

    *Weights.* There is neither ``class_weight`` nor ``sample_weight``: a price on records would
    change the soft labels' meaning or contradict it, and the method defines neither.

    The label is decided by the probability at one half, which ``"window"`` may put on the
    other side of the boundary than the score does: there is no ``decision_function``. `pair_scores`
    gives the scores. Where the neighbourhood is divided evenly between two classes, the sign of the
    score decides, and the probability is the floating-point number next to one half.

    References
    ----------
    .. [1] Q. Tao, G.-W. Wu, F.-Y. Wang and J. Wang, "Posterior probability support vector machines
       for unbalanced data", IEEE Transactions on Neural Networks 16, 2005.
    .. [2] M. Gönen, A. G. Tanuğur and E. Alpaydın, "Multiclass posterior probability support
       vector machines", IEEE Transactions on Neural Networks 19, 2008.
    .. [3] T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
       classification by pairwise coupling", Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from svmproba import PosteriorProbabilitySVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PosteriorProbabilitySVC(neighbors=10))
    >>> model.fit(X, y).predict_proba(X).shape
    (569, 2)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    @explain_names_of_svc
    def __init__(
        self,
        radius: float = 1.0,
        readout: str = "window",
        Cs: ArrayLike | None = None,
        *,
        neighbors: int | None = None,
        cv: Any = 5,
        kernel: str = "linear",
        gammas: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        pos_label: Any = None,
        tol: float = 1e-3,
        n_components: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.radius = radius
        self.readout = readout
        self.Cs = Cs
        self.neighbors = neighbors
        self.cv = cv
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.pos_label = pos_label
        self.tol = tol
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> PosteriorProbabilitySVC:
        """Count neighbours, choose C, and fit the machine.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Training records; their kernel values (n_samples, n_samples) if precomputed.
        y : array-like, shape (n_samples,)
            Labels, two classes or more.

        Returns
        -------
        self : PosteriorProbabilitySVC
            Fitted estimator.
        """
        Cs = check_tuning_parameters(self)
        check_number("radius", self.radius, 0, np.finfo(np.float64).max, "a finite number >= 0")
        check_option("readout", self.readout, READOUTS)
        if self.neighbors is not None:
            check_integer("neighbors", self.neighbors, 1)
        rows, labels = check_records(self, X, y, order="C")
        pairwise = self.kernel == "precomputed"
        data = encode_records(rows, labels, None, None, self.pos_label, pairwise=pairwise)
        gammas = check_gammas(self.gammas, self.kernel, data.X)
        self.classes_, self._pairs, self._present = data.classes, data.pairs, None
        self.proba_threshold_, self.costs_ = 0.5, None
        self._kinds = data.place[:, np.newaxis] == np.arange(len(data.classes))
        self._choose(data, Cs, gammas)
        warn_of_gaps(self.duality_gap_, self.tol)
        return self

    def _choose(self, data: Records, Cs: Floats, gammas: Floats) -> None:
        """Fit all folds and all records at all hyperparameter values; keep the best machines."""
        rng, n_theta = as_generator(self.random_state), len(Cs) * len(gammas)
        fold, n_folds = deal_folds(self.cv, data, rng) if n_theta > 1 else (data.place, 0)
        held_out = fold == np.arange(n_folds)[:, np.newaxis]
        kernel = {name: getattr(self, name) for name in KERNEL_PARAMETERS}
        members = [data.members(pair) for pair in data.pairs]
        accuracy, machines = [], list[tuple[FeatureMap, list[Floats]]]()
        for gamma in gammas:
            feature_map, rows = fit_features(data.X, self.kernel, gamma=gamma, rng=rng, **kernel)
            if not machines:
                self._points = rows if self.kernel == "precomputed" else data.X
                soft = self._soft_labels(members, ~held_out)
            fits = [
                fit_soft_paths(rows[here], labels, Cs, tol=self.tol, n_jobs=self.n_jobs)
                for (here, _), labels in zip(members, soft, strict=True)
            ]
            accuracy.append(_held_out_accuracy(rows, members, fits, held_out))
            # Of every pair and C, the machine of all records.
            whole = [np.array([part[:, -1] for part in parts]) for parts in zip(*fits, strict=True)]
            machines.append((feature_map, whole))
        self.cv_results_ = {
            "C": np.tile(Cs, len(gammas)),
            "gamma": np.repeat(gammas, len(Cs)),
            "accuracy": np.concatenate(accuracy),
        }
        self.best_index_ = int(np.argmax(self.cv_results_["accuracy"]))
        self.C_ = float(self.cv_results_["C"][self.best_index_])
        self.gamma_ = float(self.cv_results_["gamma"][self.best_index_])
        self._feature_map, (coef, intercept, gap) = machines[self.best_index_ // len(Cs)]
        place = self.best_index_ % len(Cs)
        self._coef, self.intercept_ = coef[:, place], intercept[:, place]
        self.duality_gap_ = gap[:, place]

    def _soft_labels(self, members: list[Members], used: Bools) -> list[Floats]:
        """Soft labels of every pair, within the training part of each fold and within all."""
        parts = np.concatenate([used, np.ones((1, used.shape[1]), dtype=np.bool_)])
        near = self._neighbourhood(self.neighbors)
        soft = []
        self.soft_labels_ = np.full((len(members), used.shape[1]), np.nan)
        for row, (here, positive) in zip(self.soft_labels_, members, strict=True):
            labels = soft_labels(self._points[here], positive, parts[:, here], **near)
            row[here] = labels[-1]
            soft.append(labels)
        return soft

    def _neighbourhood(self, nearest: int | None) -> dict[str, Any]:
        """Arguments that tell `neighbour_counts` whom to count."""
        if nearest is None:
            return {"radius": self.radius}
        return {"nearest": nearest} if nearest else {"radius": 0.0}

    @property
    def coef_(self) -> Floats:
        """Coefficients of the machines, for the linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'.")
        return self._feature_map.input_coef(self._coef)

    def pair_scores(self, X: ArrayLike) -> Floats:
        """Scores of the machines.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples, n_pairs)
            Scores :math:`f(x)`, positive on the side of the second class of the pair; of two
            classes, on that of the class of interest.
        """
        records = self._check_new(X)
        blocks = self._mapped(records, len(self._pairs))
        return np.concatenate([self._scores(rows) for _, rows in blocks])

    def _scores(self, rows: Rows) -> Floats:
        return np.asarray(rows @ self._coef.T + self.intercept_)

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
        records = self._check_new(X)
        P = np.empty((records.shape[0], len(self.classes_)))
        for block, rows in self._mapped(records, len(self._pairs)):
            scores = self._scores(rows)
            if self.readout == "score":
                P[block] = self._joined(np.clip((scores + 1) / 2, 0, 1))
            else:
                P[block] = self._window(
                    rows if self.kernel == "precomputed" else records[block], scores
                )
        return P

    def _window(self, points: Rows, scores: Floats) -> Floats:
        """Shares of the classes among the neighbours and the record itself."""
        nearest = None if self.neighbors is None else self.neighbors - 1
        near = self._neighbourhood(nearest)
        counts = neighbour_counts(points, self._points, self._kinds, **near)
        counts += _own_votes(scores, self._pairs, len(self.classes_))
        P = counts / counts.sum(axis=1, keepdims=True)
        if len(self.classes_) == 2:
            # The machine itself decides where its neighbourhood is divided.
            tied = np.flatnonzero(P[:, self._plus] == 0.5)
            side = np.nextafter(0.5, scores[tied, 0] >= 0)
            P[tied, self._plus], P[tied, 1 - self._plus] = side, 1 - side
        return P
