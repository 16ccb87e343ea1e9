"""Selections by enumeration, with nothing of the package."""

from itertools import chain, combinations

import numpy as np
from scipy import optimize

#: A margin of 1 with weights of 100 at most.
DELTA = 0.01


def can_reach(Z, positive, need):
    """Whether a linear rule with weights of at most 1 has so many samples right, by HiGHS alone."""
    n, m = Z.shape
    signs = np.where(positive, 1.0, -1.0)
    big = 2 * np.abs(Z).sum(axis=1).max() + 1
    # Variables: w, b, one binary for each sample.
    margins = np.column_stack([signs[:, None] * Z, signs, -big * np.eye(n)])
    counts = np.zeros((2, m + 1 + n))
    counts[0, m + 1 :], counts[1, m + 1 :] = positive, ~positive
    found = optimize.milp(
        np.zeros(m + 1 + n),
        integrality=np.r_[np.zeros(m + 1), np.ones(n)],
        bounds=optimize.Bounds(
            np.r_[-np.ones(m), -big, np.zeros(n)], np.r_[np.ones(m), big, np.ones(n)]
        ),
        constraints=optimize.LinearConstraint(
            np.vstack([margins, counts]), np.r_[np.full(n, DELTA - big), need], np.inf
        ),
    )
    assert found.status in (0, 2)
    return found.status == 0


def cheapest(X, positive, floors, groups=None, costs=None):
    """Least cost of groups that reach the floors, by enumeration; infinite where none do."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    groups = [[k] for k in range(X.shape[1])] if groups is None else groups
    costs = np.ones(len(groups)) if costs is None else np.asarray(costs)
    sizes = positive.sum(), (~positive).sum()
    need = [np.ceil(f * n - 1e-9) for f, n in zip(floors, sizes, strict=True)]
    every = range(len(groups))
    sets = chain.from_iterable(combinations(every, m + 1) for m in every)
    for chosen in sorted(sets, key=lambda s: costs[list(s)].sum()):
        if can_reach(Z[:, [k for g in chosen for k in groups[g]]], positive, need):
            return costs[list(chosen)].sum()
    return np.inf


def noisy(seed, n, p, informative=3, noise=0.6):
    """Labels by some of the columns and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 100, p) + rng.normal(size=p)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    score = scaled[:, :informative].sum(axis=1) + noise * rng.normal(size=n)
    return X, score > np.median(score)
