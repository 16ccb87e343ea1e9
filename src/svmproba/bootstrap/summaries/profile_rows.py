"""The compiled part of `profile`: one pass over the scores of each sample."""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.bootstrap.summaries.votes import HALF
from svmproba.solvers.core.compiled import JIT, lean_entry

#: Standard deviations from the mean within which a median is looked for first.
_NEAR = 0.25


@njit(**JIT)
def upper_median(values, weights, size, need, spare, spare_weights):
    """Largest value that values of weight `need` reach; spares are (2, at least size)."""
    low, high = 0, 1
    while True:
        pivot = values[size // 2]
        n_above, n_below, above, below, total = 0, 0, 0.0, 0.0, 0.0
        for place in range(size):
            value, weight = values[place], weights[place]
            # Written to both sides, kept on one: a branch would be guessed wrongly half the time.
            spare[high, n_above] = value
            spare_weights[high, n_above] = weight
            spare[low, n_below] = value
            spare_weights[low, n_below] = weight
            n_above += value > pivot
            n_below += value < pivot
            total += weight
        for place in range(n_above):
            above += spare_weights[high, place]
        for place in range(n_below):
            below += spare_weights[low, place]
        if need <= above:
            size, kept = n_above, high
        elif need <= total - below or n_below == 0:
            return pivot
        else:
            need -= total - below
            size, kept = n_below, low
        for place in range(size):
            values[place] = spare[kept, place]
            weights[place] = spare_weights[kept, place]


@lean_entry
def profile_rows(
    scores, counted, rho, thresholds, first, grid, work, bags, mean, medians, median, shares
):
    """Fill mean, medians (n, n_theta), median (n,) and, from zero, shares (n, n_thresholds).

    A vote for all thresholds below a score is noted at the last of them and summed up in the end.
    The work space is (7, n_theta * n_bags) and (n_bags,).
    """
    n, n_theta, n_bags = scores.shape
    values, weights, spare, spare_weights, listed = work[0], work[1], work[2:4], work[4:6], work[6]
    low, per_width, last = grid[0], grid[1], float(first.size - 1)
    for i in range(n):
        size = 0
        for b in range(n_bags):
            bags[size] = b
            size += counted[i, b]
        if size == 0:
            continue
        above = shares[i]
        for k in range(n_theta):
            total, squares, weight = 0.0, 0.0, rho[k] / size
            for b in range(size):
                score = scores[i, k, bags[b]]
                total += score
                squares += score * score
                listed[b] = score
                weights[b] = 1.0
                cell = (score - low) * per_width
                place = first[np.int64(cell if cell < last else last)] if cell > 0.0 else 0
                while place < thresholds.size and thresholds[place] < score:
                    place += 1
                if place < thresholds.size and thresholds[place] == score:
                    above[place] += 0.5 * weight
                    if place > 0:
                        above[place - 1] += 0.5 * weight
                elif place > 0:
                    above[place - 1] += weight
            mean[i, k] = total / size
            # The median is nearly always close to the mean, where few scores are.
            reach = _NEAR * np.sqrt(max(squares / size - mean[i, k] * mean[i, k], 0.0))
            while True:
                end, need = np.int64(0), HALF * size
                for b in range(size):
                    values[end] = listed[b]
                    end += abs(listed[b] - mean[i, k]) <= reach
                    need -= listed[b] - mean[i, k] > reach
                if 0.0 < need <= end or reach == np.inf:
                    break
                reach = np.inf
            medians[i, k] = upper_median(values, weights, end, need, spare, spare_weights)
        for place in range(thresholds.size - 2, -1, -1):
            above[place] += above[place + 1]
        # The median of all lies between two thresholds, and few scores do.
        place = 0
        while place < thresholds.size and above[place] >= HALF:
            place += 1
        least = thresholds[place - 1] if place > 0 else -np.inf
        most = thresholds[place] if place < thresholds.size else np.inf
        end, need = np.int64(0), HALF
        for k in range(n_theta):
            weight = rho[k] / size
            for b in range(size):
                score = scores[i, k, bags[b]]
                values[end] = score
                weights[end] = weight
                end += (score >= least) & (score <= most)
                need -= weight * (score > most)
        median[i] = upper_median(values, weights, end, need, spare, spare_weights)
