import numpy as np

from svmproba.bootstrap.held_out import draw_held_out


def draw(y, share, **more):
    return draw_held_out(y, share, np.random.default_rng(0), **more)


def test_the_same_share_of_either_class():
    y = np.arange(100) < 20
    held_out = draw(y, 0.3)
    assert (y[held_out].sum(), len(held_out)) == (6, 30)
    assert len(np.unique(held_out)) == 30
    assert (np.diff(held_out) > 0).all()


def test_two_of_each_class_stay():
    assert len(draw(np.arange(4) < 2, 0.9)) == 0
    assert len(draw(np.arange(100) < 20, 0.0)) == 0
    assert np.bincount(draw(np.repeat([0, 1], [9, 3]), 1.0) // 9).tolist() == [7, 1]


def test_only_places_that_are_present_are_drawn():
    y, present = np.arange(60) % 2, np.arange(0, 60, 3)
    held_out = draw(y, 0.5, present=present)
    assert set(held_out) <= set(present)
    assert len(held_out) == 10
