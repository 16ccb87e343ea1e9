"""Steps of pairs of multipliers."""

import numpy as np

from svmproba.solvers import methods
from svmproba.solvers.ensemble import fit_ensemble

from ..twins import CASES


def test_pairs_need_no_help(monkeypatch):
    """Models that they leave unsolved are solved by Newton's method: there must be none here."""

    def fail(*args):
        raise AssertionError("Newton's method was asked for help")

    monkeypatch.setattr(methods, "solve_path", fail)
    fixed, named = CASES["very wide"]().arguments()
    fit = fit_ensemble(*fixed, **named, tol=1e-3, n_jobs=1)
    assert np.all(fit.gap <= 1e-3)
