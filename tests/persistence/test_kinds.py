"""Forged arrays of sparse tables and random numbers: compiled code would read beyond them."""

import numpy as np
import pytest
from scipy import sparse

from svmproba import BootstrapSVC, ModelFileError, load, save

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def ensemble_of(tree):
    return tree["BootstrapSVC"]["ensemble_"]["FittedEnsemble"]


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_place_beyond_the_twister(data, path, forge):
    """NumPy would draw random numbers from memory that is not the generator's."""
    X, y = data
    model = BootstrapSVC(**SMALL | {"random_state": np.random.RandomState(3)})
    save(model.fit(X, y), path)

    def change(tree, arrays):
        assert 0 <= tree["BootstrapSVC"]["random_state"]["RandomState"][1] <= 624
        tree["BootstrapSVC"]["random_state"]["RandomState"][1] = 625

    forge(path, change)
    refused(path, "random_state is not the state of a Mersenne twister")


SPOILED = {
    "outside": (lambda data, indices, indptr: indices.put(0, 10**6), "allowed are 0 to"),
    "negative": (lambda data, indices, indptr: indices.put(0, -1), "indices go from -1"),
    "falling": (lambda data, indices, indptr: indptr.put(1, 10**6), "indptr does not rise"),
    "begins late": (lambda data, indices, indptr: indptr.put(0, 1), "indptr does not rise"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_sparse_tables_that_lead_outside(name, data, path, forge):
    X, y = data
    save(BootstrapSVC(kernel="rbf", **SMALL).fit(sparse.csr_matrix(X), y), path)

    def spoil(tree, arrays):
        basis = ensemble_of(tree)["members"]["Members"][0][0]["FeatureMap"]["basis"]
        SPOILED[name][0](*(arrays[number] for number in basis["csr_array"][1:]))

    forge(path, spoil)
    refused(path, SPOILED[name][1])


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (1, lambda data: data[:-1], "indptr does not rise"),
        (1, lambda data: data.astype(complex), "wrong type"),
        (1, lambda data: data[:, np.newaxis], "data have 2 axes"),
        (2, lambda indices: indices.astype(np.int16), "wrong type"),
        (2, lambda indices: indices.astype(np.int64), "wrong type"),
        (2, lambda indices: indices[:-1], "indices is no array of"),
        (3, lambda indptr: indptr[:-1], "indptr is no array of"),
    ],
)
def test_sparse_tables_of_wrong_arrays(part, change, message, data, path, forge):
    X, y = data
    save(BootstrapSVC(kernel="rbf", **SMALL).fit(sparse.csr_matrix(X), y), path)

    def spoil(tree, arrays):
        basis = ensemble_of(tree)["members"]["Members"][0][0]["FeatureMap"]["basis"]
        number = basis["csr_array"][part]
        arrays[number] = change(arrays[number])

    forge(path, spoil)
    refused(path, message)
