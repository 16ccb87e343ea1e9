"""Super learner: a convex combination of links, weighted by cross-fitted Brier score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from svmproba._types import Bools, Floats
from svmproba.links._beta import BetaLink
from svmproba.links._isotonic import IsotonicLink
from svmproba.links._link import Link, Places, check_pairs
from svmproba.links._platt import PlattLink
from svmproba.links._spline import QuadraticLink, SplineLink
from svmproba.links._stack import StackLink

_FOLDS = 5
#: Ridges of the stacks, on standardised scores.
_RIDGES = (1.0, 10.0, 100.0)
#: Shrinks the weights towards equal ones. On logistic truths of 600 samples, 0 loses .0009 of
#: Brier score to Platt's link, 3 loses .0005; beyond 10 the development tables get worse.
_SHRINKAGE = 3.0
#: Scores that vary by less than this share of their size are constant up to rounding.
_CONSTANT = 1e-9
#: Links of smaller weight are dropped: they cost time and hardly change the probability.
_LEAST_WEIGHT = 1e-3


class Candidate(NamedTuple):
    """A link and the rows of scores that it reads."""

    link: Link
    places: Places

    def read(self, scores: Floats) -> Floats:
        """Scores (n_places, n) for a stack, their mean (n,) for any other link."""
        chosen = scores[self.places]
        return chosen if self.link.reads == "scaled" else chosen.mean(axis=0)

    def fit(self, read: Floats, positive: Bools) -> Link:
        """Fit the link to the scores it reads; a probability that falls becomes constant."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scores that disagree with the labels
            self.link.fit(read, positive)
            if isinstance(self.link, PlattLink) and self.link.A_ > 0:  # no other link can fall
                self.link.fit(np.zeros(len(positive)), positive)
        return self.link


class AutoLink(Link):
    r"""Super learner: the convex combination of links with the least cross-fitted Brier score.

    .. math:: P(+|x)=\sum_k w_k\,g_k(s(x)),\qquad w_k\ge0,\quad\sum_kw_k=1,

    where :math:`s(x)` are the mean scores at all hyperparameter values and, in a bootstrap ensemble
    of several values, the ratio of each family's mean score to its standard deviation over the
    bags, all standardised. A family has one kernel, gamma and class weight. Where bags disagree the
    ratio is small, so that the probability need not be constant along a hyperplane. The candidates
    :math:`g_k` are

    * an :class:`IsotonicLink` for each hyperparameter value,
    * isotonic, Platt's, beta, quadratic and spline links of the mean score of each family, of all
      values and of each ratio,
    * a :class:`StackLink` of each family and of all values without negative weights, for three
      ridges.

    No candidate falls with a score. A falling one could look good out of bag for a wrong reason:
    bags that leave a sample out contain more of the other class.

    Each candidate predicts every sample from a fit without the sample's fold, and the weights
    minimise :math:`\sum_i(\sum_kw_kg_k^{(-i)}(s_i)-y_i)^2+3\sum_kw_k^2` [1]_. The last term shrinks
    the weights towards equal ones. Links of weight below 0.001 are dropped and the others are
    fitted to all samples. Rows of constant score are ignored. With a class of one
    sample there is no cross-fitting, and all candidates have the same weight.

    The link does not depend on the order of the samples. With one row of scores the probability is
    a non-decreasing function of the score.

    Parameters
    ----------
    families : array-like of int, shape (n_rows,), optional
        Family of each row of scores, negative for a row that belongs to none, such as a ratio;
        None: all are of one family.

    Attributes
    ----------
    links_ : list of links
        The fitted links in use.
    places_ : list of ndarray of int
        Rows of scores that each link reads.
    weights_ : ndarray, shape (n_links,)
        Weights :math:`w_k`.
    centre_, scale_ : ndarray, shape (n_rows,)
        Mean and standard deviation of the scores; the scale is infinite where they are constant.
    brier_ : float
        Cross-fitted Brier score of the combination, slightly optimistic because the weights were
        fitted to the same samples; NaN without cross-fitting.

    References
    ----------
    .. [1] M. J. van der Laan, E. C. Polley and A. E. Hubbard, "Super learner", Statistical
       Applications in Genetics and Molecular Biology 6, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import AutoLink
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> scores = truth + 0.3 * rng.normal(size=(3, 200))
    >>> link = AutoLink().fit(scores, rng.random(200) < 1 / (1 + np.exp(-2 * truth)))
    >>> bool(np.isclose(link.weights_.sum(), 1)), bool(link.brier_ < 0.2)
    (True, True)
    """

    def __init__(self, families: ArrayLike | None = None) -> None:
        self.families = families

    @property
    def reads(self) -> str:
        """Scores of all hyperparameter values, and ratios to their spread."""
        return "ratios"

    def fit(
        self, scores: ArrayLike, positive: ArrayLike, groups: ArrayLike | None = None
    ) -> AutoLink:
        """Fit the link to scores and labels.

        Parameters
        ----------
        scores : array-like, shape (n_rows, n)
            Finite scores of samples that the SVMs were not trained on.
        positive : array-like of bool, shape (n,)
            Which samples belong to the class of interest.
        groups : array-like of int, shape (n,), optional
            Group of each sample; a group is in one fold.

        Returns
        -------
        self
            The fitted link.
        """
        s, plus = check_pairs(scores, positive, ndim=2)
        codes = np.arange(len(plus)) if groups is None else np.asarray(groups)
        if codes.shape != plus.shape:
            raise ValueError(f"groups must have shape {plus.shape}, got {codes.shape}")
        # Sorted, because rounding of sums depends on the order of their terms.
        order = np.lexsort((*s[::-1], plus))
        self._fit_sorted(s[:, order], plus[order], None if groups is None else codes[order])
        return self

    def _fit_sorted(self, s: Floats, plus: Bools, groups: NDArray[Any] | None) -> None:
        self.centre_, spread = s.mean(axis=1), s.std(axis=1)
        varies = spread > _CONSTANT * np.abs(s).max(axis=1)
        self.scale_ = np.where(varies, spread, np.inf)
        s = self._standardised(s)
        candidates = list(_candidates(self._families(len(s)), varies))
        weights, self.brier_ = np.full(len(candidates), 1 / len(candidates)), np.nan
        fold = folds_for(s, plus, groups)
        if fold is not None:
            P = _cross_fitted(candidates, s, plus, fold)
            weights = convex_weights(P, plus, _SHRINKAGE)
            self.brier_ = float(((weights @ P - plus) ** 2).mean())
        used = np.flatnonzero(weights >= min(_LEAST_WEIGHT, weights.max()))
        self.places_ = [candidates[k].places for k in used]
        self.weights_ = weights[used] / weights[used].sum()
        self.links_ = [candidates[k].fit(candidates[k].read(s), plus) for k in used]

    def _predict(self, s: Floats) -> Floats:
        s = self._standardised(s)
        P = np.zeros(s.shape[1])
        for link, places, weight in zip(self.links_, self.places_, self.weights_, strict=True):
            P += weight * link.predict(Candidate(link, places).read(s))
        return P

    def _standardised(self, scores: Floats) -> Floats:
        return (scores - self.centre_[:, np.newaxis]) / self.scale_[:, np.newaxis]

    def _families(self, n_theta: int) -> NDArray[np.int64]:
        if self.families is None:
            return np.zeros(n_theta, dtype=np.int64)
        families = np.asarray(self.families, dtype=np.int64)
        if families.shape != (n_theta,):
            raise ValueError(f"families must have shape ({n_theta},), got {families.shape}")
        return families


def _candidates(families: NDArray[np.int64], varies: Bools) -> Iterator[Candidate]:
    """Candidates of single rows, of families and of all rows that belong to one."""
    usable = np.flatnonzero(varies) if varies.any() else np.arange(len(varies))
    for place in usable:
        yield Candidate(IsotonicLink(), np.array([place]))
    alone, values = (usable[(families[usable] < 0) == wanted] for wanted in (True, False))
    groups = [values[families[values] == family] for family in np.unique(families[values])]
    groups += [values] if len(groups) > 1 else []
    for group in [*groups, *alone[:, np.newaxis]]:
        links: list[Link] = [PlattLink(), BetaLink(), QuadraticLink(), SplineLink()]
        if len(group) > 1:
            links += [IsotonicLink(), *(StackLink(ridge, non_negative=True) for ridge in _RIDGES)]
        for link in links:
            yield Candidate(link, group)


def _cross_fitted(
    candidates: list[Candidate], scores: Floats, positive: Bools, fold: NDArray[np.int64]
) -> Floats:
    """Probability (n_candidates, n) of every sample from a fit without its fold."""
    P = np.empty((len(candidates), len(positive)))
    for row, candidate in zip(P, candidates, strict=True):
        read = candidate.read(scores)
        for k in np.unique(fold):
            out = fold == k
            link = candidate.fit(read[..., ~out], positive[~out])
            row[out] = link.predict(read[..., out])
    return P


def convex_weights(P: Floats, positive: Bools, shrinkage: float) -> Floats:
    r"""Weights of the convex combination of P (n_candidates, n) with the least squared error.

    Minimises :math:`\|R^\top w\|^2+\lambda\|w\|^2` over :math:`w\ge0,\ \sum_kw_k=1`, where the rows
    of :math:`R` are the errors :math:`P_k-y` and :math:`\lambda` is the shrinkage. The solution is
    proportional to that of
    :math:`\min_{w\ge0}\|R^\top w\|^2+\lambda\|w\|^2+(\sum_kw_k-1)^2`, a problem of non-negative
    least squares.
    """
    m = len(P)
    errors = P - positive
    gram = errors @ errors.T + shrinkage * np.eye(m)
    scale = np.trace(gram) / m
    if scale == 0:
        return np.full(m, 1 / m)
    values, vectors = np.linalg.eigh(gram / scale)
    root = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T
    w, _ = nnls(np.vstack([root, np.ones(m)]), np.append(np.zeros(m), 1.0), maxiter=100 * m)
    return np.asarray(w / w.sum())


def folds_for(s: Floats, plus: Bools, groups: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """Fold (n,) of every sample; None if the samples outside some fold would lack a class."""
    samples = np.arange(len(plus)) if groups is None else groups
    n_folds = min(_FOLDS, *(len(np.unique(samples[label])) for label in (plus, ~plus)))
    if n_folds < 2:
        return None
    if groups is None:
        return deal(s.mean(axis=0), plus, n_folds)
    fold = deal_groups(groups, plus, n_folds)
    both = all(len(np.unique(plus[fold != k])) == 2 for k in range(n_folds))
    return fold if both else None


def deal_groups(groups: NDArray[Any], positive: Bools, n_folds: int) -> NDArray[np.int64]:
    """Fold (n,) of every sample, that of its group.

    Folds have as many groups with a positive sample as each other, and as many others. They do not
    depend on the names of the groups, which are taken in the order of their first samples.
    """
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    has_positive = np.bincount(codes, positive) > 0
    fold, rng = np.empty(len(first), dtype=np.int64), np.random.default_rng(0)
    for kind in (has_positive, ~has_positive):
        places = np.flatnonzero(kind)
        in_order = places[np.argsort(first[places])]
        fold[in_order] = rng.permutation(np.arange(len(places)) % n_folds)
    return fold[codes]


def deal(scores: Floats, positive: Bools, n_folds: int) -> NDArray[np.int64]:
    """Fold (n,) of every sample, even in both classes and independent of the samples' order."""
    fold = np.empty(len(scores), dtype=np.int64)
    rng = np.random.default_rng(0)
    for places in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        in_order = places[np.argsort(scores[places], kind="stable")]
        # At random: dealt in turn, every sample would have close neighbours in all other folds,
        # and a rough isotonic fit would look better than it is.
        fold[in_order] = rng.permutation(np.arange(len(places)) % n_folds)
    return fold
