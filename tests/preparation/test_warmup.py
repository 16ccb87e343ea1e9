"""What fits compile is what `warmup` has compiled."""

import json
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import svmproba
from svmproba.preparation.warmup import PARTS
from svmproba.solvers.core.compiled import compiled_functions

DISABLED = numba.config.DISABLE_JIT


def signatures():
    return {(f.__module__, f.__name__, s) for f in compiled_functions() for s in f.signatures}


def draw(n, d, noise):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + noise * rng.normal(size=n) > 0.2).astype(int)


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_fits_after_it_compile_nothing():
    done = svmproba.warmup()
    assert done.seconds > 0
    assert len(PARTS) == 5
    before = signatures()
    assert len(before) > 10
    fixed = {"n_jobs": 1, "random_state": 3}
    for d, noise in ((3, 0.0), (10, 1.0)):
        X, y = draw(90, d, noise)
        with pytest.warns(UserWarning, match="in every bag"):
            svmproba.BootstrapSVC(n_bootstraps=3, **fixed).fit(X, y).predict_proba(X)
        svm = svmproba.BootstrapSVC(n_bootstraps=40, calibration="auto", **fixed).fit(X, y)
        svm.decide(X, fn_cost=3.0, fp_cost=1.0)
        svm.with_rate(tpr=0.9).predict(X)
    svmproba.BootstrapSVC(n_bootstraps=30, **fixed).fit(sp.csr_array(np.round(X)), y)
    wide = sp.csr_array(sp.random(50, 450, 0.05, random_state=1))
    with pytest.warns(UserWarning, match="in every bag|are alike"):
        svmproba.BootstrapSVC(n_bootstraps=3, **fixed).fit(wide, y[:50])
    svmproba.ThresholdBootstrapSVC(0.8, n_bootstraps=30, **fixed).fit(X, y).predict(X)
    svmproba.BootstrapSVC(n_bootstraps=30, kernel="rbf", **fixed).fit(X, y).predict(X)
    svmproba.ConstrainedSVC(min_tpr=0.8, effort="fast").fit(X, y).predict(X)
    assert signatures() == before


def test_parts_are_named():
    for wrong in ("linear", ["linaer"]):
        with pytest.raises(
            ValueError, match=r"parts must be a list of names among \('linear', .*'lin"
        ):
            svmproba.warmup(wrong)


def test_the_command_says_where_and_how_long(tmp_path):
    testing = pytest.importorskip("typer.testing")
    from svmproba.cli import make_app

    done = testing.CliRunner().invoke(make_app(), ["warmup", "linear", "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert {*result} >= {"folder", "compiled", "loaded", "seconds"}
    assert "linear: " in done.stderr
    assert DISABLED or [*Path(result["folder"]).rglob("*.nbi")]
    wrong = testing.CliRunner().invoke(make_app(), ["warmup", "lineal"])
    assert wrong.exit_code == 2
    assert "'lineal'" in wrong.stderr


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("part", PARTS)
def test_random_numbers_stay_as_they_were(part):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    svmproba.warmup([part])
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
