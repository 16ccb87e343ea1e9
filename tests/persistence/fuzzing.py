"""Random changes to model files. Run with a number of changes to look for more than the tests do.

python tests/persistence/fuzzing.py 10000
"""

import copy
import io
import json
import random
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import svmproba
from svmproba.persistence import _archive

VALUES = [None, True, 0, -1, 1, 7, 2**31, 2**63, -(10**12), 0.5, 1e300, "", "rbf", "x", [], [1]]
VALUES += [{"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": []}, {"array": 0}]
VALUES += [{"array": 1}, {"objects": [[0], []]}, {"slice": [0, None, 2]}, {"function": "add"}]
NUMBERS = [0, 1, -1, 7, 10**6, -(2**31), 2**31 - 1, np.nan, np.inf, 1e308]


def models():
    """Fitted models with their records."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=40) > 0
    words = np.round(X).astype(int).astype(str).astype(object)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [0, 1]), remainder=KBinsDiscretizer(3)
    )
    small = {"Cs": [0.1, 1.0], "n_bootstraps": 8, "random_state": 0}
    one = {"Cs": [1.0], "random_state": 0}
    return [
        (svmproba.BootstrapSVC(kernel="rbf", gammas=[0.1, 1], calibration="auto", **small), X, y),
        (svmproba.BootstrapSVC(kernel="poly", **small), sparse.csr_array(X), y),
        (svmproba.ThresholdBootstrapSVC(0.9, guarantee="jackknife+", **small), X, y),
        (svmproba.ProbabilitySVC("venn_abers", kernel="precomputed", **one), X @ X.T, y),
        (svmproba.PosteriorProbabilitySVC(**one), sparse.csr_matrix(X), y),
        (svmproba.WeightedProbabilitySVC(**one), X, y),
        (make_pipeline(StandardScaler(), svmproba.ConstrainedSVC(effort="fast")), X, y),
        (make_pipeline(encode, svmproba.BootstrapSVC(**small)), words, y),
    ]


def places(node, place=()):
    """All places of a tree."""
    yield place
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield from places(node[key], (*place, key))


def change_tree(tree, rng):
    """Replace, remove, or repeat a node."""
    found = [place for place in places(tree) if place]
    if not found:  # a change before this one left nothing
        return
    place, parent = rng.choice(found), tree
    for part in place[:-1]:
        parent = parent[part]
    kind = rng.randrange(4)
    if kind == 0:
        del parent[place[-1]]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(place[-1], copy.deepcopy(parent[place[-1]]))
    else:
        parent[place[-1]] = copy.deepcopy(rng.choice(VALUES))


def change_array(arrays, rng):
    """Change an array's values, shape or type."""
    number = rng.choice([*arrays])
    array = arrays[number]
    kind = rng.randrange(5)
    if kind == 0 and array.size and not array.dtype.names and array.dtype.kind in "fiub":
        array = array.copy()
        value = np.array(rng.choice(NUMBERS), float)
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = value.astype(array.dtype)
    elif kind == 1 and array.ndim:
        array = np.repeat(array, rng.choice([0, 2, 3]), axis=rng.randrange(array.ndim))
    elif kind == 2 and array.ndim:
        array = array[: rng.randrange(len(array) + 1)]
    elif kind == 3:
        array = array.reshape(rng.choice([(-1,), (1, *array.shape), array.shape[::-1]]))
    elif not array.dtype.names:
        array = array.astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "?", "U4", ">f8"]))
    arrays[number] = array


def fuzz(path, seed, n):
    """Change model files n times; print how many were refused and how many predicted."""
    rng, path = random.Random(seed), Path(path)
    found = {"refused": 0, "loaded": 0, "failed": 0}
    fitted = []
    for model, X, y in models():
        svmproba.save(model.fit(X, y), path)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        arrays = {
            int(name[:-4]): np.load(io.BytesIO(members.pop(name)))
            for name in [*members]
            if name.endswith(".npy")
        }
        fitted.append((members, json.loads(members["model.json"]), arrays, X))
    for _ in range(n):
        members, tree, arrays, X = rng.choice(fitted)
        tree, arrays = copy.deepcopy(tree), dict(arrays)
        for _ in range(rng.choice([1, 1, 1, 2])):
            if rng.random() < 0.5:
                change_tree(tree, rng)
            else:
                change_array(arrays, rng)
        written = dict(members, **{"model.json": json.dumps(tree).encode()})
        for number, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array)
            written[f"{number}.npy"] = stream.getvalue()
        path.write_bytes(_archive.pack(written))
        try:
            model = svmproba.load(path)
        except svmproba.ModelFileError:
            found["refused"] += 1
            continue
        try:
            model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
            found["loaded"] += 1
        except Exception:
            found["failed"] += 1
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    fuzz("/tmp/fuzz.svmproba", 0, int(sys.argv[1]))
