from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import svmproba.links.rivals._neighbours as neighbours
from svmproba.links.rivals._neighbours import neighbour_counts, soft_labels

#: Points on a lattice: distances are whole numbers, ties and duplicates are everywhere.
LATTICE = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=25)


def brute_force(new, points, kinds, radius_squared=None, nearest=None):
    """Counts in whole numbers."""
    counts = []
    for x in new:
        d = ((points - x) ** 2).sum(axis=1)
        limit = radius_squared if nearest is None else np.sort(d)[min(nearest, len(d)) - 1]
        counts.append(kinds[d <= limit].sum(axis=0))
    return np.array(counts)


@settings(deadline=None, max_examples=60)
@given(
    points=LATTICE,
    new=LATTICE,
    radius_squared=st.integers(0, 30),
    nearest=st.integers(1, 30),
    shift=st.sampled_from([0.0, 1e4, -3e6]),
    as_sparse=st.booleans(),
)
def test_counts_by_brute_force(points, new, radius_squared, nearest, shift, as_sparse):
    """A shift far from the origin costs the digits of a matrix product, and nothing here."""
    points, new = np.array(points, dtype=float), np.array(new, dtype=float)
    kinds = np.random.default_rng(0).integers(0, 2, (len(points), 2))
    make = sparse.csr_array if as_sparse else np.asarray
    given_points, given_new = make(points + shift), make(new + shift)
    found = neighbour_counts(given_new, given_points, kinds, radius=np.sqrt(radius_squared))
    assert np.array_equal(found, brute_force(new, points, kinds, radius_squared))
    found = neighbour_counts(given_new, given_points, kinds, nearest=nearest)
    assert np.array_equal(found, brute_force(new, points, kinds, nearest=nearest))


def test_counts_do_not_depend_on_blocks(monkeypatch):
    X = np.round(np.random.default_rng(0).normal(size=(50, 4)), 1)
    kinds = np.ones((50, 1))
    whole = [neighbour_counts(X, X, kinds, radius=1.0), neighbour_counts(X, X, kinds, nearest=7)]
    monkeypatch.setattr(neighbours, "BLOCK_BYTES", 8 * 50 * 3)
    assert np.array_equal(neighbour_counts(X, X, kinds, radius=1.0), whole[0])
    assert np.array_equal(neighbour_counts(X, X, kinds, nearest=7), whole[1])


def test_the_tolerance_is_on_squared_distances():
    points, kinds = np.array([[0.0]]), np.ones((1, 1))
    for square, inside in ((1 + 5e-13, 1), (1 + 2e-12, 0)):
        assert neighbour_counts(np.array([[np.sqrt(square)]]), points, kinds, radius=1) == inside


@pytest.mark.parametrize("near", [{"radius": 0.9}, {"nearest": 5}])
def test_soft_labels_of_a_part_do_not_see_the_rest(near):
    rng = np.random.default_rng(1)
    X, positive = rng.normal(size=(40, 2)), rng.random(40) < 0.5
    used = rng.random((3, 40)) < 0.7
    used[1] = False
    found = soft_labels(X, positive, used, **near)
    assert np.all(found[~used] == 0)
    for row, part in zip(found, used, strict=True):
        if part.any():
            alone = soft_labels(X[part], positive[part], np.ones((1, part.sum()), bool), **near)
            assert np.allclose(row[part], alone[0], atol=1e-15)


def test_soft_labels_by_hand():
    X = np.array([[0.0], [0.0], [1.0], [5.0]])
    positive, used = np.array([True, False, True, False]), np.ones((1, 4), dtype=bool)
    assert soft_labels(X, positive, used, radius=0)[0].tolist() == [0, 0, 1, -1]
    assert soft_labels(X, positive, used, radius=1)[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, -1])
    assert soft_labels(X, positive, used, radius=9)[0].tolist() == [0, 0, 0, 0]
    # The second nearest of the third sample is tied: both samples at distance 1 count.
    assert soft_labels(X, positive, used, nearest=2)[0] == pytest.approx([0, 0, 1 / 3, 0])
