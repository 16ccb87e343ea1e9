"""Sparse matrices with broken index arrays get an error: compiled code would read elsewhere."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from svmproba import (
    BootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    WeightedProbabilitySVC,
)
from svmproba.estimators.input.samples import check_sparse

pytestmark = pytest.mark.filterwarnings("ignore:.*samples are in every bag")

rng = np.random.default_rng(0)
DENSE = rng.normal(size=(12, 6)) * (rng.random((12, 6)) < 0.5)
y = np.arange(12) % 2
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")
ESTIMATORS = [
    BootstrapSVC(Cs=[1.0], n_bootstraps=3, random_state=0),
    ProbabilitySVC(Cs=[1.0], cv=2, random_state=0),
    WeightedProbabilitySVC(Cs=[1.0], cv=2, random_state=0),
    PosteriorProbabilitySVC(Cs=[1.0], cv=2, random_state=0),
    ConstrainedSVC(random_state=0),
]


def put(place, value):
    def change(part):
        part[place] = value
        return part

    return change


BROKEN = [
    ("csr", "indices", put(3, 6), "indices go from 0 to 6, allowed are 0 to 5"),
    ("csr", "indices", put(0, -1), "indices go from -1"),
    ("csr", "indices", lambda part: part[:-1], "indices is no array of"),
    ("csr", "indices", lambda part: part.astype(float), "indices is no array of"),
    ("csr", "indices", lambda part: part.astype(np.uint32), "indices is no array of"),
    ("csr", "indices", lambda part: part[None], "indices is no array of"),
    ("csr", "indices", list, "indices is no array of"),
    ("csr", "indptr", put(0, 1), "indptr does not rise from 0"),
    ("csr", "indptr", put(3, 2**30), "indptr does not rise from 0"),
    ("csr", "indptr", put(-1, 1000), "indptr does not rise from 0"),
    ("csr", "indptr", lambda part: part[::-1], "indptr does not rise from 0"),
    ("csr", "indptr", lambda part: part[:-1], "indptr is no array of 13 signed integers"),
    ("csr", "data", lambda part: part[:, None], "data have 2 axes"),
    ("csc", "indices", put(0, 12), "indices go from .* to 12, allowed are 0 to 11"),
    ("csc", "indptr", put(1, -4), "indptr does not rise from 0"),
    ("bsr", "indices", put(0, 100), "allowed are 0 to"),
    ("bsr", "data", lambda part: part.ravel(), "data have 1 axes"),
    ("bsr", "data", lambda part: np.ones((len(part), 5, 1)), "blocks of shape .* do not fill"),
    ("coo", "row", put(0, 12), "row go from 0 to 12"),
    ("coo", "col", put(0, -1), "col go from -1"),
    ("coo", "col", lambda part: part[:-1], "col is no array of"),
    ("coo", "data", lambda part: part[:, None], "data have 2 axes"),
    ("dia", "offsets", put(0, -(2**31)), "offsets go from -2147483648"),
    ("dia", "offsets", put(0, 1), "offsets are not distinct"),
    ("dia", "data", lambda part: part[0], "data have 1 axes"),
    ("lil", "rows", put(0, [77]), "rows and data differ in length|rows go from 0 to 77"),
    ("lil", "rows", put(0, None), "rows and data are not lists"),
    ("lil", "rows", lambda part: part[:-1], "rows and data are not 12 lists each"),
]


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sound_matrices_pass(form, kind):
    make = getattr(sparse, f"{form}_{kind}")
    for matrix in (DENSE, np.zeros((12, 6)), np.eye(12, 6)):
        check_sparse(make(matrix))
    shares = ESTIMATORS[0].fit(make(DENSE), y).predict_proba(make(DENSE))
    np.testing.assert_array_equal(shares, ESTIMATORS[0].predict_proba(DENSE))


@pytest.mark.parametrize(("form", "part", "change", "message"), BROKEN)
def test_broken_matrices(form, part, change, message):
    X = getattr(sparse, f"{form}_array")(DENSE)
    setattr(X, part, change(getattr(X, part).copy()))
    with pytest.raises(
        ValueError, match=f"a sound sparse matrix, got .*'{form}' whose .*{message}"
    ):
        check_sparse(X)


def test_broken_keys():
    X = sparse.dok_array(DENSE)
    X._dict[12, 0] = 1.0
    with pytest.raises(ValueError, match="keys go from 0 to 12, allowed are 0 to 11"):
        check_sparse(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_looks_in_fit_and_predict(estimator):
    broken = sparse.csr_array(DENSE)
    broken.indices[0] = 2**30
    with pytest.raises(ValueError, match="a sound sparse matrix"):
        estimator.fit(broken, y)
    fitted = estimator.fit(DENSE, y)
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(fitted, name):
            with pytest.raises(ValueError, match="a sound sparse matrix"):
                getattr(fitted, name)(broken)


def test_flags_that_lie_are_not_believed():
    X = sparse.csr_array(DENSE)
    wrong = sparse.csr_array(
        (np.append(X.data, 0.5)[::-1], np.append(X.indices, X.indices[-1])[::-1],
         np.append(0, len(X.data) + 1 - X.indptr[-2::-1])), shape=X.shape,
    )  # fmt: skip
    right = wrong.toarray()
    wrong.has_sorted_indices = wrong.has_canonical_format = True
    model = ESTIMATORS[0].fit(wrong, y)
    coef = model.member_coef_.copy()
    np.testing.assert_allclose(coef, model.fit(right, y).member_coef_, rtol=1e-6, atol=1e-9)


FUZZ = """
import sys, warnings
import numpy as np
from scipy import sparse
from svmproba import BootstrapSVC

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
dense, y = rng.normal(size=(12, 6)) * (rng.random((12, 6)) < 0.5), np.arange(12) % 2
parts = {"csr": ["data", "indices", "indptr"], "coo": ["data", "row", "col"],
         "dia": ["data", "offsets"], "lil": ["rows"]}
parts["csc"] = parts["bsr"] = parts["csr"]
numbers = [-2**31, -2**20, -1, 0, 1, 5, 6, 7, 11, 12, 13, 100, 2**20, 2**31 - 1]

def broken(part):
    how, part = rng.integers(8), part.copy()
    if part.dtype == object:
        row = list(part[how]) or [0]
        row[rng.integers(len(row))] = int(rng.choice(numbers))
        part[how] = row
    elif how < 4:
        part.flat[rng.integers(part.size)] = rng.choice(numbers)
    elif how == 4:
        part = part[: rng.integers(len(part) + 1)]
    elif how == 5:
        part = np.concatenate([part, part])
    elif how == 6:
        part = rng.choice(numbers, part.shape).astype(part.dtype)
    else:
        other = [np.float32, np.uint8, np.int64]
        part = part.astype(other[rng.integers(3)])
    return part

model = BootstrapSVC(Cs=[1.0], n_bootstraps=3, random_state=0)
fitted = BootstrapSVC(Cs=[1.0], n_bootstraps=3, random_state=0).fit(dense, y)
refused = 0
for trial in range(600):
    form = rng.choice(list(parts))
    X = getattr(sparse, f"{form}_{rng.choice(['array', 'matrix'])}")(dense)
    name = rng.choice(parts[form])
    setattr(X, name, broken(getattr(X, name)))
    for call in (lambda: fitted.predict_proba(X), lambda: model.fit(X, y)):
        try:
            call()
        except ValueError:
            refused += 1
print(refused)
"""


def test_random_faults_do_not_end_the_interpreter():
    done = subprocess.run([sys.executable, "-c", FUZZ], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 300
