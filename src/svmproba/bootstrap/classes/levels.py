r"""The level of a class: at which threshold bags call it (CEBB1 for several classes).

With the threshold t for class c, :math:`-t` is added to the score on its side in each of its pairs.
A bag calls c alone at every threshold below its level

.. math:: v_b(x)=\sup\{t: W_b(x)=\{c\}\text{ with }f_{c\cdot}-t\},

which is one of the scores of c against the other classes, because c wins one pair more at each of
them. For two classes the level is the score itself, and all that is done with scores is done with
levels: upper weighted medians over the bags, thresholds in closed form, rates at many thresholds.
A sample whose lower median level is above the threshold has :math:`P_t(c|x)>\frac12` and is called
c, whatever the other classes have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.classes.calls import Space, own_maps, pair_products, rows_of_pairs
from svmproba.bootstrap.classes.calls_rows import find_levels, note_wins
from svmproba.bootstrap.classes.members import ClassMembers
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.summaries.profile import N_BLOCKS, Profile, profile_scores
from svmproba.solvers.kernels import Rows


def profile_class(
    members: ClassMembers,
    X: Rows,
    rho: Floats,
    place: int,
    shifts: Floats,
    *,
    counts: NDArray[np.unsignedinteger[Any]] | None = None,
    positive: Bools | None = None,
    thresholds: Floats | None = None,
    negative: bool = False,
    n_jobs: int | None = None,
) -> Profile:
    """Summarise the levels of the class at a place, as `profile_records` does with scores.

    Upper medians of negative levels are lower medians of levels, negated.
    """
    n_theta, n_bags = members.of_pair[0].intercept.shape
    others = shifts.copy()
    others[place] = 0.0

    def block_levels(block: slice) -> Floats:
        levels = class_levels(members, X[block], place, others)
        return np.negative(levels, out=levels) if negative else levels

    widths = [m.width for of_pair in members.of_pair for m in own_maps(of_pair)]
    width = X.shape[1] + sum(widths) + n_bags * (2 * n_theta + 2 * members.n_classes)
    return profile_scores(
        block_levels,
        row_blocks(X.shape[0], width, N_BLOCKS),
        rho,
        n_bags,
        counts=counts,
        positive=positive,
        thresholds=thresholds,
        n_jobs=n_jobs,
    )


def class_levels(members: ClassMembers, X: Rows, place: int, shifts: Floats) -> Floats:
    """Levels (n, n_theta, n_bags) of a class in every bag."""
    n, n_classes = X.shape[0], members.n_classes
    n_theta, n_bags = members.of_pair[0].intercept.shape
    space, rows = Space(n, n_classes, n_bags), rows_of_pairs(members, X)
    own, levels = np.empty((n_classes, n, n_bags)), np.empty((n, n_theta, n_bags))
    others = np.flatnonzero(np.arange(n_classes) != place)
    work = np.empty(len(others)), np.empty(len(others), np.int64)
    of_theta = np.empty((n, n_bags))
    for theta in range(n_theta):
        space.wins[...] = 0
        for p, (first, second) in enumerate(members.pairs):
            products = pair_products(members, rows, p, theta, space)
            intercept = members.of_pair[p].intercept[theta] + (shifts[second] - shifts[first])
            if place == second:
                np.add(products, intercept, out=own[first])
            elif place == first:
                np.negative(np.add(products, intercept, out=own[second]), out=own[second])
            else:
                note_wins(products, intercept, space.wins, first, second)
        find_levels(own[others], space.wins[others], of_theta, *work)
        levels[:, theta] = of_theta
    return levels
