"""SVM trained on soft labels from neighbours (Tao et al.)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Bools, Floats
from svmproba.estimators.input.parameters import (
    as_generator,
    check_gammas,
    check_integer,
    check_number,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.pairs.classifier import PairwiseSVC
from svmproba.estimators.pairs.cross_fit import deal_folds
from svmproba.estimators.pairs.samples import Pair, PairSamples, Samples, join_pairs
from svmproba.estimators.shared.doubts import warn_of_gaps
from svmproba.estimators.shared.texts import document_parameters
from svmproba.links.rivals._neighbours import neighbour_counts, soft_labels
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows
from svmproba.solvers.soft_labels import fit_soft_paths

#: Coefficients (n_C, n_parts, d), intercepts and duality gaps (n_C, n_parts) of one pair.
Fit = tuple[Floats, Floats, Floats]

READOUTS = ("window", "score")


def _held_out_accuracy(
    rows: Rows, pairs: list[PairSamples], fits: list[Fit], held_out: Bools
) -> Floats:
    """Share of correct signs of held-out scores, over all pairs, for each C; NaN without folds."""
    right = np.zeros(fits[0][1].shape[0])
    total = np.nan if len(held_out) == 0 else 0.0
    for pair, (coef, intercept, _) in zip(pairs, fits, strict=True):
        for k, out in enumerate(held_out[:, pair.places]):
            scores = rows[pair.places[out]] @ coef[:, k].T + intercept[:, k]
            right += ((scores > 0) == pair.positive[out, np.newaxis]).sum(axis=0)
            total += np.count_nonzero(out)
    return right / total


def _own_votes(scores: Floats, pairs: list[Pair], n_classes: int) -> Floats:
    """Vote of each sample for the class that wins most pairs, shared by those that tie."""
    wins = np.zeros((len(scores), n_classes))
    for column, (first, second) in zip(scores.T, pairs, strict=True):
        share = np.heaviside(column, 0.5)
        wins[:, second] += share
        wins[:, first] += 1 - share
    best = wins == wins.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


@document_parameters
class PosteriorProbabilitySVC(PairwiseSVC):
    r"""Support vector machine on soft labels from neighbours (posterior probability SVM).

    Among the :math:`\ell_r(i)` training samples within the radius :math:`r` of sample i, itself
    included, :math:`\ell_r^+(i)` are positive. The soft label
    :math:`\tilde y_i=2\ell_r^+(i)/\ell_r(i)-1` replaces the label [1]_:

    .. math::
        \min\ \tfrac12\|w\|^2+C\sum_i\xi_i\quad\text{subject to}\quad
        \tilde y_i(w^\top\phi(x_i)+b)\ge\tilde y_i^2-\xi_i,\ \xi_i\ge0,

    so that sample i has the margin :math:`|\tilde y_i|` and the cost :math:`C|\tilde y_i|`, and a
    sample with :math:`\tilde y_i=0` does not count. The score :math:`f(x)=w^\top\phi(x)+b` gives a
    probability in one of two ways:

    * ``readout="window"``: the training samples near x vote with their labels, and x itself with
      the sign of its score, :math:`P(+|x)=\frac{\ell_r^+(x)+1\{f(x)>0\}}{\ell_r(x)+1}`;
    * ``readout="score"``: the fit drives :math:`f` towards :math:`2P-1`, hence
      :math:`P(+|x)=\min(1,\max(0,\frac{f(x)+1}2))`.

    More than two classes have one SVM per pair. With ``"window"`` a sample's own vote goes to the
    class that wins most pairs; with ``"score"`` the pairwise probabilities are coupled [3]_.

    Columns should have comparable scales, see :class:`~sklearn.preprocessing.StandardScaler`: in d
    standardised columns, samples are about :math:`\sqrt{2d}` apart. With a much larger radius all
    soft labels are equal and the SVM is constant; with a much smaller one no sample has neighbours,
    which gives the usual SVM with probabilities 0 and 1.

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
    {classes_, pos_label_}
    soft_labels_ : ndarray, shape (n_pairs, n_samples)
        Soft labels of the training samples for every pair of classes, in the order (0, 1), (0, 2),
        ..., (1, 2), ...; NaN for samples of other classes. Two classes are one pair. Positive is
        the second class of a pair; of two classes, the class of interest.
    cv_results_ : dict of ndarray, each of shape (n_theta,)
        ``"C"``, ``"gamma"`` and ``"accuracy"``, the share of held-out samples with the right sign
        of the score, over all pairs; NaN where there is one value of C and gamma only.
    {best_index_, C_, gamma_}
    coef_ : ndarray, shape (n_pairs, n_features_in_)
        Coefficients, for the linear kernel only.
    intercept_ : ndarray, shape (n_pairs,)
        Intercepts.
    duality_gap_ : ndarray, shape (n_pairs,)
        Relative duality gaps, bounds on how far the SVMs are from their optima.
    {exact_}
    {proba_threshold_, costs_, n_features_in_, feature_names_in_}

    Notes
    -----
    *What is published.* The empirical posterior is Tao et al.'s. The problem is theirs as Gönen et
    al. restate it, given here from memory of the papers, with a dual of our own derivation. We
    could not read how Tao et al. treat new samples: ``"window"`` is inferred from the numbers that
    Benítez-Peña et al. print for the method, which it follows but does not reproduce exactly, and
    ``"score"`` is a guess. ``neighbors`` follows Gönen et al. [2]_, who count nearest neighbours
    instead of a window. They train one function per class jointly for more than two classes; we
    could not read their program, and here every pair of classes has its own SVM and soft labels.

    *Cross-validation.* Soft labels of a training part are counted within that part, so that no
    held-out label reaches it.

    *Weights.* There is neither ``class_weight`` nor ``sample_weight``: the method defines neither,
    and a weight would change the meaning of the soft labels.

    There is no ``decision_function``: with ``"window"`` the probability and the score may fall on
    different sides of the boundary. `member_scores` gives the scores. Where the neighbourhood is
    divided evenly between two classes, the sign of the score decides, and the probability is the
    floating-point number next to one half.

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

    @stores_parameters
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
    ) -> None: ...

    def fit(self, X: ArrayLike, y: ArrayLike) -> PosteriorProbabilitySVC:
        """Count neighbours, choose C, and fit the SVM.

        Parameters
        ----------
        {X/fit, y}

        Returns
        -------
        self : PosteriorProbabilitySVC
            Fitted estimator.
        """
        Cs = self._check_tuning()
        check_number("radius", self.radius, 0, np.finfo(np.float64).max, "a finite number >= 0")
        check_option("readout", self.readout, READOUTS)
        if self.neighbors is not None:
            check_integer("neighbors", self.neighbors, 1)
        samples = self._encode(*check_records(self, X, y, order="C"))
        gammas = check_gammas(self.gammas, self.kernel, samples.X)
        self._kinds = samples.label[:, np.newaxis] == np.arange(len(samples.classes))
        self._fit_grid(samples, Cs, gammas)
        warn_of_gaps(self.duality_gap_, self.tol)
        return self

    def _fit_grid(self, samples: Samples, Cs: Floats, gammas: Floats) -> None:
        """Fit all folds and all samples at all hyperparameter values; keep the best SVMs."""
        rng, n_theta = as_generator(self.random_state), len(Cs) * len(gammas)
        fold, n_folds = deal_folds(self.cv, samples, rng) if n_theta > 1 else (samples.label, 0)
        held_out = fold == np.arange(n_folds)[:, np.newaxis]
        pairs = samples.by_pair()
        accuracy, svms = list[Floats](), list[tuple[FeatureMap, list[Floats]]]()
        for gamma in gammas:
            feature_map, rows = self._fit_features(samples.X, gamma, rng, factored=True)
            if not svms:
                self._points = rows if self.kernel == "precomputed" else samples.X
                soft = self._soft_labels(pairs, ~held_out)
            fits = [
                fit_soft_paths(rows[pair.places], labels, Cs, tol=self.tol, n_jobs=self.n_jobs)
                for pair, labels in zip(pairs, soft, strict=True)
            ]
            accuracy.append(_held_out_accuracy(rows, pairs, fits, held_out))
            # Of every pair and C, the SVM of all samples.
            whole = [np.array([part[:, -1] for part in parts]) for parts in zip(*fits, strict=True)]
            svms.append((feature_map, whole))
        measured = np.concatenate(accuracy)
        best = int(np.argmax(measured))
        self._set_choice(Cs, gammas, best, accuracy=measured)
        g, c = divmod(best, len(Cs))
        self._feature_map, (coef, intercept, gap) = svms[g]
        self._coef, self.intercept_, self.duality_gap_ = coef[:, c], intercept[:, c], gap[:, c]

    def _soft_labels(self, pairs: list[PairSamples], used: Bools) -> list[Floats]:
        """Soft labels of every pair, within the training part of each fold and within all."""
        parts = np.concatenate([used, np.ones((1, used.shape[1]), dtype=np.bool_)])
        near = self._neighbourhood(self.neighbors)
        soft = [
            soft_labels(self._points[pair.places], pair.positive, parts[:, pair.places], **near)
            for pair in pairs
        ]
        self.soft_labels_ = np.full((len(pairs), used.shape[1]), np.nan)
        for row, pair, labels in zip(self.soft_labels_, pairs, soft, strict=True):
            row[pair.places] = labels[-1]
        return soft

    def _neighbourhood(self, nearest: int | None) -> dict[str, Any]:
        """Arguments of `neighbour_counts` that define a neighbourhood."""
        if nearest is None:
            return {"radius": self.radius}
        return {"nearest": nearest} if nearest else {"radius": 0.0}

    def _width(self) -> int:
        return len(self._pairs)

    def _block_proba(self, X: Rows, rows: Rows, scores: Floats) -> Floats:
        if self.readout == "score":
            return join_pairs(np.clip((scores + 1) / 2, 0, 1), self._pairs)
        # Shares of the classes among the neighbours and the sample itself.
        near = self._neighbourhood(None if self.neighbors is None else self.neighbors - 1)
        points = rows if self.kernel == "precomputed" else X
        counts = neighbour_counts(points, self._points, self._kinds, **near)
        counts += _own_votes(scores, self._pairs, len(self.classes_))
        P = counts / counts.sum(axis=1, keepdims=True)
        if len(self.classes_) == 2:
            # The SVM decides where the neighbourhood is divided evenly.
            tied = np.flatnonzero(P[:, self._plus] == 0.5)
            side = np.nextafter(0.5, scores[tied, 0] >= 0)
            P[tied, self._plus], P[tied, 1 - self._plus] = side, 1 - side
        return P
