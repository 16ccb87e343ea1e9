"""Held-out scores of one SVM for every pair of classes and every C."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from svmproba._types import Floats
from svmproba.estimators.pairs.samples import PairSamples, Places, Samples
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.gram import Gram


def deal_folds(cv: Any, samples: Samples, rng: np.random.Generator) -> tuple[Places, int]:
    """Fold (n,) of every sample, and the number of folds.

    An integer deals the samples of every class evenly, with at least one sample per fold. Anything
    else is split by scikit-learn's conventions; its test parts must hold every sample once.
    """
    n = len(samples.label)
    if isinstance(cv, Integral):
        n_folds = min(int(cv), n)
        order = rng.permutation(n)
        fold = np.empty(n, dtype=np.intp)
        fold[order[np.argsort(samples.label[order], kind="stable")]] = np.arange(n) % n_folds
        return fold, n_folds
    labels = np.zeros(samples.n_given, dtype=np.intp)
    labels[samples.present] = samples.label
    of_given = np.zeros(samples.n_given, dtype=np.intp)
    seen = np.zeros(samples.n_given, dtype=np.intp)
    splits = list(check_cv(cv, labels, classifier=True).split(labels[:, np.newaxis], labels))
    for k, (_, test) in enumerate(splits):
        of_given[test] = k
        np.add.at(seen, test, 1)
    if not np.all(seen[samples.present] == 1):
        raise ValueError("cv must hold out every sample exactly once, as k-fold splitters do.")
    return of_given[samples.present], len(splits)


class CrossFit(NamedTuple):
    """SVMs of all pairs for every C, trained on all samples, and the held-out scores."""

    coef: Floats  # (n_C, n_pairs, d)
    intercept: Floats  # (n_C, n_pairs)
    gap: Floats  # (n_C, n_pairs), relative duality gap
    largest_gap: Floats  # (n_C,), among these SVMs and those of the folds
    held_out: Floats  # (n_C, n_pairs, n), by SVMs trained without the sample's fold


def cross_fit(
    samples: Samples,
    rows: Any,
    fold: Places,
    n_folds: int,
    Cs: Floats,
    *,
    tol: float,
    n_jobs: int | None,
    report: Callable[[int], None],
) -> CrossFit:
    """Fit the SVMs of all pairs, for every C, on every fold's complement and on all samples.

    `rows` (n, d), or their kernel matrix, are those of the samples, `fold` (n,) their folds. All
    SVMs of one pair are one call of the engine: a fold is a vector of counts 0 and 1, and with a
    kernel matrix so is a pair. Folds are shared by the pairs, and samples of other classes are
    scored too. Where the training part of a fold holds one class of
    the pair only, scores are +1 or -1 for that class, and 0 where it holds neither, as in LIBSVM.
    ``report(m)`` is called when m more folds of a pair are done.
    """
    shape = (len(Cs), len(samples.pairs))
    coef, intercept, gap = np.empty((*shape, rows.shape[1])), np.empty(shape), np.empty(shape)
    largest_gap, held_out = np.zeros(len(Cs)), np.empty((*shape, len(fold)))
    for p, pair in enumerate(samples.by_pair()):
        used = fold[pair.places] != np.arange(n_folds)[:, np.newaxis]
        both = (used & pair.positive).any(axis=1) & (used & ~pair.positive).any(axis=1)
        bags = np.vstack([used[both], np.ones((1, len(pair.places)))]).astype(np.uint8)
        options: dict[str, Any] = {"tol": tol, "n_jobs": n_jobs, "report": report}
        if isinstance(rows, Gram):
            signs, counts, weight = _spread(pair, bags, len(fold))
            options |= {"weight": weight, "tally": _keep_scores}
            fit = fit_ensemble(rows, signs, counts, Cs, **options)
        else:
            some = rows if len(pair.places) == len(fold) else rows[pair.places]
            fit = fit_ensemble(some, pair.signs, bags, Cs, weight=pair.weight, **options)
        coef[:, p], intercept[:, p] = fit.coef[:, -1], fit.intercept[:, -1]
        gap[:, p] = fit.gap[:, -1]
        largest_gap = np.maximum(largest_gap, fit.gap.max(axis=1))
        for b, k in enumerate(np.flatnonzero(both)):
            out = np.flatnonzero(fold == k)
            if fit.stacked is not None:
                held_out[:, p, out] = fit.stacked[:, out, b]
            else:
                held_out[:, p, out] = (rows[out] @ fit.coef[:, b].T + fit.intercept[:, b]).T
        for k in np.flatnonzero(~both):
            held_out[:, p, fold == k] = np.sign(used[k] @ np.where(pair.positive, 1, -1))
    return CrossFit(coef, intercept, gap, largest_gap, held_out)


def _spread(pair: PairSamples, bags: Any, n: int) -> tuple[Floats, Any, Floats | None]:
    """Signs (n,), bags (·, n) and weights (n,) of a pair among all samples, which are in no bag."""
    signs, counts = np.ones(n), np.zeros((len(bags), n), bags.dtype)
    signs[pair.places], counts[:, pair.places] = pair.signs, bags
    if pair.weight is None:
        return signs, counts, None
    weight = np.ones(n)
    weight[pair.places] = pair.weight
    return signs, counts, weight


def _keep_scores(scores: Floats, counts: Any) -> tuple[Floats, Floats]:
    """Tally that keeps the scores of all samples, (n_C, n, bags), and sums nothing."""
    return np.zeros(1), scores.transpose(1, 2, 0).copy()
