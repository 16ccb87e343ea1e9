r"""What each column adds to the mean score of one sample: exact Shapley values of linear members.

The mean score :math:`s(x)=\bar w^\top x+\bar b` of linear members is linear. With :math:`m` the
mean of the columns, the Shapley value of column :math:`j` is :math:`\bar w_j(x_j-m_j)` whatever the
order in which columns become known, if columns that are not known have their mean (Štrumbelj and
Kononenko, "Explaining prediction models and individual predictions with feature contributions",
Knowledge and Information Systems 41, 2014).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmproba._types import Floats
from svmproba.bootstrap.fitting.members import Members
from svmproba.bootstrap.intervals import percentile_interval
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.summaries.spread import family_mixtures
from svmproba.solvers.kernels import Rows


class Contributions(NamedTuple):
    """Contributions of columns, or of groups of columns, to the mean score of samples.

    ``values`` sum to the score minus ``base`` along axis 1. With more than two classes they have a
    third axis, one entry for the score of each class, and so have the limits; ``base`` is an array.
    """

    values: Floats  # (n_samples, n_groups), for the class of interest where positive
    lower: Floats  # (n_samples, n_groups), limits over the bags
    upper: Floats  # (n_samples, n_groups)
    base: Any  # float, mean score of the background
    names: list[str]  # (n_groups,)


class Rule(NamedTuple):
    """A score that is linear in the columns."""

    coef: Floats  # (n_features,)
    intercept: float
    by_bag: Floats  # (n_bootstraps, n_features), coefficients in every bag


def is_linear(members: Members) -> bool:
    """Whether all scores are linear in the columns."""
    return all(feature_map.kernel == "linear" for feature_map in members.feature_maps)


def column_means(members: Members, X: Rows) -> Floats | None:
    """Means of the columns of the training samples, for linear members only."""
    if not is_linear(members):
        return None
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def mean_rule(members: Members, factors: Floats) -> Rule:
    r"""Rule of the mean score :math:`\sum_\theta a_\theta\frac1B\sum_bf_{\theta,b}`."""
    maps, mixtures = members.feature_maps, family_mixtures(members, factors)
    parts = [one.input_coef(mix.columns.T) for one, mix in zip(maps, mixtures, strict=True)]
    by_bag = np.asarray(sum(parts))
    return Rule(by_bag.mean(axis=0), float(factors @ members.intercept.mean(axis=1)), by_bag)


def contributions(
    rule: Rule,
    rows: Rows,
    centre: Floats,
    names: list[str],
    groups: list[NDArray[np.intp]] | None,
    confidence: float,
) -> Contributions:
    """Contributions of columns or groups; limits are percentiles over bags of the same sums."""
    coef, intercept, by_bag = rule
    base = float(coef @ centre) + intercept
    alone = percentile_interval(by_bag, confidence)
    if groups is None:
        values = _dense(rows) - centre
        lower, upper = _scaled(values, *alone)
        values *= coef
        return Contributions(values, lower, upper, base, names)
    values, lower, upper = np.empty((3, rows.shape[0], len(groups)))
    for g, places in enumerate(groups):
        if len(places) == 1:
            centred = _dense(rows[:, places])[:, 0] - centre[places]
            values[:, g] = coef[places] * centred
            lower[:, g], upper[:, g] = _scaled(centred, *(end[places] for end in alone))
            continue
        part, place = _distinct(_dense(rows[:, places]) - centre[places])
        values[:, g] = (part @ coef[places])[place]
        limits = np.empty((2, len(part)))
        for block in row_blocks(len(part), 2 * len(by_bag)):
            by_row = by_bag[:, places] @ part[block].T
            limits[:, block] = percentile_interval(by_row, confidence)
        lower[:, g], upper[:, g] = limits[:, place]
    return Contributions(values, lower, upper, base, names)


def _scaled(centred: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Limits of coefficients times values; a value below its mean turns them round."""
    ends = centred * lower, centred * upper
    return np.minimum(*ends), np.maximum(*ends)


def _dense(rows: Rows) -> Floats:
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.asarray(dense, dtype=np.float64)


def _distinct(table: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Distinct rows, few for the columns of one category, and the place of each row among them."""
    # Sorting one number per row is many times as fast as sorting rows.
    code = table @ np.random.default_rng(0).standard_normal(table.shape[1])
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    if not np.array_equal(table[first][place], table):
        _, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return table[first], place.ravel()
