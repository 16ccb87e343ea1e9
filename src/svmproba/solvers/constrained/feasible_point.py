"""Floors as masses, and the best strictly feasible point with given weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba._types import Bools, Floats

#: Points are scaled up by this share, so that margins of 1 survive rounding.
_STRICT = 1e-9
#: Scores beyond this lose the margins, which are about 1.
_LARGEST = 1e10
#: Share of a mass that rounding may take from its sum.
_SUMS = 1e-12


def class_sets(signs: Floats) -> Bools:
    """Return the sets of the three floors of classes, (3, n): the positives, the negatives, all."""
    return np.array([signs > 0.0, signs < 0.0, signs != 0.0])


def mass_in_sets(sets: Bools, weight: Floats, floors: Floats) -> Floats:
    """Return the mass that must have its margin in each of many sets.

    With whole multiplicities it is rounded up; with others it is less by 1e-12 of the set's mass,
    for the rounding of sums. Nothing else needs a tolerance.

    Parameters
    ----------
    sets : boolean array of shape (n_sets, n)
    weight : array of shape (n,)
        Multiplicities.
    floors : array of shape (n_sets,)
        Shares in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> sets = np.array([[True, True, True], [False, True, True]])
    >>> mass_in_sets(sets, np.ones(3), np.array([0.5, 1.0]))
    array([2., 2.])
    """
    need = np.zeros(len(sets))
    whole = np.all(weight == np.rint(weight))
    for k in np.flatnonzero(floors):
        total = weight[sets[k]].sum()
        mass = max(floors[k] * total - _SUMS * total, 0.0)
        need[k] = np.ceil(mass) if whole else mass
    return need


def polish(
    rows: Any, signs: Floats, weight: Floats, C: float, need: Floats, coef: Floats,
    sets: Bools | None = None,
) -> tuple[Floats, float, float] | None:  # fmt: skip
    r"""Return the best strictly feasible point with these weights.

    For a given :math:`w` the loss is piecewise linear in :math:`b` and convex, and the
    satisfied records change only where a margin passes 1, so the best :math:`b` is one of the
    :math:`y_i - w^\top x_i`. All are looked at, in :math:`O(n\log n)`. The point is then scaled
    up by 1e-9, so that margins of 1 survive rounding; where floors under both classes fail by a
    little, by up to 1e-4.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    signs, weight : arrays of shape (n,)
        Labels in {-1, +1} and multiplicities.
    C : float
    need : array of shape (n_sets,)
        See :func:`mass_in_sets`.
    coef : array of shape (d,)
    sets : boolean array of shape (n_sets, n), optional
        Records of each floor; by default those of :func:`class_sets`.

    Returns
    -------
    coef, intercept, objective
        None where no bias satisfies the floors, or where scores are so large that rounding would
        decide.

    Examples
    --------
    Two positives at 0 and 1, a negative at 0.5; both positives must have their margin.

    >>> import numpy as np
    >>> rows, signs = np.array([[0.0], [1.0], [0.5]]), np.array([1.0, 1.0, -1.0])
    >>> w, b, value = polish(rows, signs, np.ones(3), 1.0, np.array([2.0, 0.0, 0.0]), np.ones(1))
    >>> round(b, 6), round(value, 6)
    (1.0, 3.0)
    """
    here, raw = weight > 0.0, rows @ coef
    y, c = signs[here], weight[here]
    if np.abs(raw).max(initial=0.0) > _LARGEST:
        return None
    asked = need > 0.0
    some = (class_sets(signs) if sets is None else sets)[asked][:, here]
    for share in (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        bias = _best_bias((1.0 + share) * raw[here], y, c, some, need[asked])
        if bias is not None:
            strict = 1.0 + _STRICT + 8.0 * np.finfo(float).eps * np.abs(raw).max()
            coef, bias = strict * (1.0 + share) * coef, float(strict * bias)
            slack = np.maximum(1.0 - signs * (strict * (1.0 + share) * raw + bias), 0.0)
            return coef, bias, float(0.5 * coef @ coef + C * (weight @ slack))
    return None


def confirm(
    raw: Floats, signs: Floats, weight: Floats, C: Floats, need: Floats, coef: Floats, bias: Floats
) -> tuple[Floats, Floats, Floats]:
    """Scale many points up by 1e-9, as `polish` does, and tell what they are worth.

    Parameters
    ----------
    raw : array of shape (m, n)
        Scores without the bias, ``coef @ rows.T``. Overwritten.
    signs, weight : arrays of shape (n,)
    C : array of shape (m,)
    need : array of shape (m, 3)
    coef, bias : arrays of shape (m, d) and (m,)

    Returns
    -------
    coef, intercept, objective : arrays of shape (m, d), (m,) and (m,)
        The objective is infinite where the floors do not hold, the bias is infinite, or scores
        are so large that rounding would decide.

    Examples
    --------
    >>> import numpy as np
    >>> signs, need = np.array([1.0, -1.0]), np.array([[1.0, 0.0, 0.0]] * 2)
    >>> raw, coef, bias = np.array([[0.0, 1.0]] * 2), np.ones((2, 1)), np.array([1.0, 0.5])
    >>> confirm(raw, signs, np.ones(2), np.ones(2), need, coef, bias)[2].round(6)
    array([3.5, inf])
    """
    largest = np.maximum(raw.max(axis=1), -raw.min(axis=1))
    strict = (1.0 + _STRICT + 8.0 * np.finfo(float).eps * largest)[:, None]
    known = np.isfinite(bias) & (largest <= _LARGEST)
    coef, bias = strict * coef, strict[:, 0] * np.where(known, bias, 0.0)
    raw *= strict
    raw += bias[:, None]
    margins = np.multiply(raw, signs, out=raw)
    groups = np.stack([weight * (signs > 0.0), weight * (signs < 0.0), weight], 1)
    held = (margins >= 1.0).astype(np.float64) @ groups
    slack = np.maximum(np.subtract(1.0, margins, out=margins), 0.0, out=margins)
    value = 0.5 * np.einsum("mj,mj->m", coef, coef) + C * (slack @ weight)
    fits = known & (held >= need).all(axis=1)
    return coef, bias, np.where(fits, value, np.inf)


def _best_bias(
    scores: Floats, signs: Floats, weight: Floats, sets: Bools, need: Floats
) -> float | None:
    """Return the bias of least loss among those that satisfy the floors."""
    edge = signs - scores
    order = np.argsort(edge, kind="stable")
    edge, plus = edge[order], np.where(signs > 0.0, weight, 0.0)[order]
    minus = weight[order] - plus
    # Ties hold together: the masses at or below an edge, and at or above it.
    low, high = np.searchsorted(edge, edge, "right"), np.searchsorted(edge, edge, "left")
    held_plus, held_minus = _held(plus, low), minus.sum() - _held(minus, high)
    fits = np.ones(len(edge), np.bool_)
    for members, mass in zip(sets[:, order], need, strict=True):
        inside = np.where(members, minus, 0.0)
        held = _held(np.where(members, plus, 0.0), low)
        fits &= held + (inside.sum() - _held(inside, high)) >= mass
    if not fits.any():
        return None
    above = np.concatenate([[0.0], np.cumsum(plus * edge)])
    below = np.concatenate([[0.0], np.cumsum(minus * edge)])
    loss = above[-1] - above[low] - (plus.sum() - held_plus) * edge
    loss += (minus.sum() - held_minus) * edge - below[high]
    return float(edge[np.flatnonzero(fits)[np.argmin(loss[fits])]])


def _held(mass: Floats, place: Any) -> Floats:
    """Return the mass before each place."""
    return np.concatenate([[0.0], np.cumsum(mass)])[place]
