"""The compiled part of `calls`: one pass over the scores of each pair."""

from __future__ import annotations

from numba import njit

from svmproba.solvers.core.compiled import JIT, lean_entry


@lean_entry
def note_wins(products, intercept, wins, first, second):
    """Give pairs of scores to their classes: twice the wins (n_classes, n, n_bags)."""
    n, n_bags = products.shape
    for i in range(n):
        lost, won = wins[first, i], wins[second, i]
        for b in range(n_bags):
            score = products[i, b] + intercept[b]
            twice = int(score > 0.0) + int(score >= 0.0)
            won[b] += twice
            lost[b] += 2 - twice


@lean_entry
def add_scores(products, intercept, counted, sums):
    """Sum the scores of the bags that count for each sample."""
    n, n_bags = products.shape
    for i in range(n):
        total = 0.0
        for b in range(n_bags):
            total += counted[i, b] * (products[i, b] + intercept[b])
        sums[i] = total


@njit(**JIT)
def _parts_of_winners(wins, i, counted, best, part):
    """Fill best (n_bags,), most wins of sample i, and part, what each of its winners gets."""
    n_classes, _, n_bags = wins.shape
    for b in range(n_bags):
        best[b] = wins[0, i, b]
        part[b] = 0.0
    for k in range(1, n_classes):
        for b in range(n_bags):
            best[b] = max(best[b], wins[k, i, b])
    for k in range(n_classes):
        for b in range(n_bags):
            part[b] += 1.0 if wins[k, i, b] == best[b] else 0.0
    for b in range(n_bags):
        part[b] = counted[i, b] / part[b]


@lean_entry
def count_calls(wins, counted, label, best, part, shares, right):
    """Sum the calls of samples (n, n_classes), and those of their own classes (n_classes, n_bags).

    A label below 0 is not known.
    """
    n_classes, n, n_bags = wins.shape
    for i in range(n):
        _parts_of_winners(wins, i, counted, best, part)
        for k in range(n_classes):
            total = 0.0
            for b in range(n_bags):
                total += part[b] if wins[k, i, b] == best[b] else 0.0
            shares[i, k] = total
        own = label[i]
        if own >= 0:
            for b in range(n_bags):
                right[own, b] += part[b] if wins[own, i, b] == best[b] else 0.0


@lean_entry
def mix_calls(wins, weight, ones, best, part, mixed):
    """Add the calls of all bags, weighted, to mixed (n, n_classes, n_bags)."""
    n_classes, n, n_bags = wins.shape
    for i in range(n):
        _parts_of_winners(wins, i, ones, best, part)
        for k in range(n_classes):
            for b in range(n_bags):
                mixed[i, k, b] += weight * part[b] if wins[k, i, b] == best[b] else 0.0


@lean_entry
def find_levels(own, wins, levels, values, rivals):
    """Fill levels (n, n_bags): a bag calls the class alone at every threshold below.

    `own` (n_classes - 1, n, n_bags) are its scores against each other class, `wins` twice the wins
    of these without it. At a threshold t it has as many wins as scores are above t; a class that it
    does not beat has one win more.
    """
    n_others, n, n_bags = own.shape
    for i in range(n):
        for b in range(n_bags):
            for k in range(n_others):
                value, rival, place = own[k, i, b], int(wins[k, i, b]), k
                while place > 0 and values[place - 1] < value:
                    values[place], rivals[place] = values[place - 1], rivals[place - 1]
                    place -= 1
                values[place], rivals[place] = value, rival
            # From the most wins, that is all, down to as many as the class needs.
            unbeaten, beaten = -1, -1
            for k in range(n_others):
                beaten = max(beaten, rivals[k])
            needed = n_others
            while needed > 1:
                unbeaten = max(unbeaten, rivals[needed - 1] + 2)
                most = unbeaten
                for k in range(needed - 1):
                    most = max(most, rivals[k])
                if 2 * (needed - 1) <= most:
                    break
                needed -= 1
            levels[i, b] = values[needed - 1]
