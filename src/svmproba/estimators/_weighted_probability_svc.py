"""Probabilities from a sequence of class-weighted SVMs (Wang et al.)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Bools, Floats
from svmproba.estimators.input.parameters import (
    as_generator,
    check_gammas,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.pairs.classifier import PairwiseSVC
from svmproba.estimators.pairs.cross_fit import deal_folds
from svmproba.estimators.pairs.samples import PairSamples, Samples, join_pairs
from svmproba.estimators.shared.doubts import warn_of_gaps
from svmproba.estimators.shared.texts import document_parameters
from svmproba.links.rivals._weight_path import (
    READOUTS,
    even_weights,
    fit_weight_paths,
    read_probability,
)
from svmproba.solvers.ensemble import Ensemble
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows

SELECTIONS = ("log_loss", "brier", "accuracy")


def check_weights(weights: Any, n: int) -> Floats:
    """Distinct class weights in increasing order; None gives an even grid for n samples."""
    if weights is None:
        return even_weights(n)
    try:
        grid = np.unique(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.size == 0 or not np.all((grid > 0) & (grid < 1)):
        raise ValueError(
            f"weights must be None or a non-empty list of numbers in (0, 1), got {weights!r}."
        )
    return grid


def measures(P: Floats, positive: Bools) -> Floats:
    """Log loss, squared error and correctness of each probability, (3, n), as SELECTIONS."""
    of_label = np.where(positive, P, 1 - P)
    right = (P >= 0.5) == positive
    return np.array([-np.log(of_label), (1 - of_label) ** 2, right])


@document_parameters
class WeightedProbabilitySVC(PairwiseSVC):
    r"""Probabilities from the signs of class-weighted support vector machines.

    One SVM is fitted for each of the weights :math:`0<\pi_1<\dots<\pi_m<1`,

    .. math::
        f_j=\arg\min\ \tfrac12\|w\|^2+2C\Big[(1-\pi_j)\sum_{y_i=+}\xi_i+\pi_j\sum_{y_i=-}\xi_i\Big],

    whose sign estimates that of :math:`P(+|x)-\pi_j`. As :math:`\pi` grows, the sign changes from
    plus to minus where it passes the probability, and that is the estimate [1]_:

    .. math::
        P(+|x)=\tfrac12\big(\max\{\pi_j:f_j(x)>0\}+\min\{\pi_j:f_j(x)<0\}\big),

    where the sign is plus at :math:`\pi=0` and minus at :math:`\pi=1`. The method assumes nothing
    about the distribution of scores. With a kernel rich enough to represent
    :math:`\mathrm{sgn}(P(+|x)-\pi_j)`, such as rbf, the estimate is consistent. With the linear
    kernel it is not: even where the log odds are linear in x, the line of least hinge loss at
    :math:`\pi_j\ne\frac12` is not the line :math:`P(+|x)=\pi_j`, and a small error remains with any
    number of samples. More than two classes have one such sequence per pair, and the pairwise
    probabilities are coupled [2]_.

    Parameters
    ----------
    weights : array-like or None, default=None
        Class weights :math:`\pi_j` in (0, 1), used in increasing order, each once. None: the
        multiples of :math:`1/m` with an even m of about :math:`\sqrt n`, at most 100. The
        probability is a half-way point between two of them. At :math:`\pi=\frac12` the SVM is the
        one without weights.
    readout : {"bracket", "count"}, default="bracket"
        Where the signs change more than once, ``"bracket"`` is the formula above and ``"count"``
        sorts the signs first: the probability then depends on how many SVMs say plus.
    {Cs}
    C_selection : {"log_loss", "brier", "accuracy"}, default="log_loss"
        Measure of the held-out probabilities of all pairs that chooses C and gamma. Of equals, the
        smallest gamma and then the smallest C.
    {cv, kernel, gammas, degree, coef0, pos_label, tol, n_components, n_jobs, random_state}

    Attributes
    ----------
    {classes_, pos_label_}
    weights_ : ndarray, shape (n_weights,)
        The class weights :math:`\pi_j`.
    cv_results_ : dict of ndarray, each of shape (n_theta,)
        ``"C"``, ``"gamma"``, and the held-out ``"log_loss"``, ``"brier"`` and ``"accuracy"``, means
        over the samples of all pairs; NaN where there is one value of C and gamma only.
    {best_index_, C_, gamma_}
    coef_ : ndarray, shape (n_pairs, n_weights, n_features_in_)
        Coefficients, for the linear kernel only. Pairs of classes are in the order (0, 1), (0, 2),
        ..., (1, 2), ...; two classes are one pair.
    intercept_ : ndarray, shape (n_pairs, n_weights)
        Intercepts.
    duality_gap_ : ndarray, shape (n_pairs, n_weights)
        Relative duality gaps, bounds on how far the SVMs are from their optima.
    {exact_}
    {proba_threshold_, costs_, n_features_in_, feature_names_in_}

    Notes
    -----
    *What is published.* The sequence of SVMs, the formula above, the grid of about :math:`\sqrt n`
    weights and tuning by the log loss (the authors' generalised Kullback–Leibler loss) are Wang,
    Shen & Liu's, given from memory of the paper. ``"count"`` is the rule in the source of the R
    package probsvm. The even m, the bound of 100, other measures to choose C and the pairs of
    classes are ours. There is no exact path in :math:`\pi` as in probsvm: each SVM is solved to the
    duality gap `tol`, along a path in C.

    *Weights.* `sample_weight` multiplies C for its sample, and its loss in cross-validation. There
    is no ``class_weight``: class weights are the method, and others would shift the probability.

    There is no ``decision_function``: no single score has the order of the probabilities.
    `member_scores` gives the scores of all SVMs.

    References
    ----------
    .. [1] J. Wang, X. Shen and Y. Liu, "Probability estimation for large-margin classifiers",
       Biometrika 95, 2008.
    .. [2] T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
       classification by pairwise coupling", Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from svmproba import WeightedProbabilitySVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), WeightedProbabilitySVC(random_state=0))
    >>> model.fit(X, y).predict_proba(X).shape
    (569, 2)
    >>> model[-1].weights_.shape
    (23,)
    """

    @stores_parameters
    def __init__(
        self,
        weights: ArrayLike | None = None,
        readout: str = "bracket",
        Cs: ArrayLike | None = None,
        *,
        C_selection: str = "log_loss",
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

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> WeightedProbabilitySVC:
        """Choose C and fit one SVM for each class weight.

        Parameters
        ----------
        {X/fit, y, sample_weight}

        Returns
        -------
        self : WeightedProbabilitySVC
            Fitted estimator.
        """
        Cs = self._check_tuning()
        check_option("readout", self.readout, READOUTS)
        check_option("C_selection", self.C_selection, SELECTIONS)
        checked, labels = check_records(self, X, y, order="C")
        samples = self._encode(checked, labels, sample_weight)
        gammas = check_gammas(self.gammas, self.kernel, samples.X)
        self.weights_ = check_weights(self.weights, len(samples.label))
        self._feature_map, rows = self._choose(samples, Cs, gammas)
        everything, C = np.ones((1, len(samples.label)), dtype=np.bool_), np.array([self.C_])
        fits = [self._fit_pair(rows, pair, everything, C)[0] for pair in samples.by_pair()]
        self._coef = np.array([fit.coef[0] for fit in fits])
        self.intercept_ = np.array([fit.intercept[0] for fit in fits])
        self.duality_gap_ = np.array([fit.gap[0] for fit in fits])
        warn_of_gaps(self.duality_gap_, self.tol)
        return self

    def _fit_pair(self, rows: Rows, pair: PairSamples, used: Bools, Cs: Floats) -> list[Ensemble]:
        """Fit the SVMs of all class weights on each part of the pair's samples."""
        parts = (rows[pair.places], pair.positive, used[:, pair.places], self.weights_, Cs)
        return fit_weight_paths(*parts, price=pair.weight, tol=self.tol, n_jobs=self.n_jobs)

    def _choose(self, samples: Samples, Cs: Floats, gammas: Floats) -> tuple[FeatureMap, Rows]:
        """Find the best hyperparameter values; gives the feature map and the rows there."""
        rng, n_theta = as_generator(self.random_state), len(Cs) * len(gammas)
        fold, n_folds = deal_folds(self.cv, samples, rng) if n_theta > 1 else (samples.label, 0)
        held_out = fold == np.arange(n_folds)[:, np.newaxis]
        found = np.empty((len(SELECTIONS), 0))
        for g, gamma in enumerate(gammas):
            mapped = self._fit_features(samples.X, gamma, rng, factored=True)
            found = np.hstack([found, self._measure(mapped[1], samples, held_out, Cs)])
            measured = dict(zip(SELECTIONS, found, strict=True))
            values = measured[self.C_selection]
            best = int(np.argmax(values) if self.C_selection == "accuracy" else np.argmin(values))
            # Only the rows of the best gamma so far are kept.
            if best // len(Cs) == g:
                chosen = mapped
        self._set_choice(Cs, gammas, best, **measured)
        return chosen

    def _measure(self, rows: Rows, samples: Samples, held_out: Bools, Cs: Floats) -> Floats:
        """Means over the held-out samples of all pairs, (n_measures, n_C); NaN without folds."""
        sums = np.zeros((len(SELECTIONS), len(Cs)))
        total = 0.0 if len(held_out) else np.nan
        for pair in samples.by_pair() if len(held_out) else ():
            weight = np.ones(len(pair.places)) if pair.weight is None else pair.weight
            fits = self._fit_pair(rows, pair, ~held_out, Cs)
            for out, fit in zip(held_out[:, pair.places], fits, strict=True):
                new = rows[pair.places[out]]
                for c in range(len(Cs)):
                    scores = new @ fit.coef[c].T + fit.intercept[c]
                    P = read_probability(scores, self.weights_, self.readout)
                    sums[:, c] += measures(P, pair.positive[out]) @ weight[out]
                total += weight[out].sum()
        return sums / total

    def _width(self) -> int:
        return 4 * self.intercept_.size

    def _block_proba(self, X: Rows, rows: Rows, scores: Floats) -> Floats:
        return join_pairs(read_probability(scores, self.weights_, self.readout), self._pairs)
