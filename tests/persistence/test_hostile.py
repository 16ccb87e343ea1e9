"""Forged files: they run no code, and the interpreter goes on."""

import json
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from svmproba import BootstrapSVC, ModelFileError, ProbabilitySVC, load, save

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def ensemble_of(tree):
    return tree["BootstrapSVC"]["ensemble_"]["FittedEnsemble"]


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


HOSTILE = {
    "class": ({"Popen": {"args": "touch canary"}}, "may not hold"),
    "class by full name": ({"subprocess.Popen": {"args": "touch canary"}}, "may not hold"),
    "class of scikit-learn": ({"GridSearchCV": {"estimator": None}}, "may not hold"),
    "function": ({"function": "os.system"}, "may not hold"),
    "function of numpy": ({"function": "load"}, "may not hold"),
    "builtin": ({"function": "eval"}, "may not hold"),
    "no function": ({"function": ["add"]}, "may not hold"),
    "type": ({"type": "os.system"}, "may not hold"),
    "types": ({"type": "ModelFileError"}, "may not hold"),
    "dtype": ({"dtype": "f8,O"}, "not a dtype"),
    "no dtype": ({"dtype": 3}, "not a dtype"),
    "reference": ({"__id__": 3, "content": None}, "without a kind"),
    "no kind": ({}, "without a kind"),
    "two kinds": ({"tuple": [], "list": []}, "without a kind"),
    "kind of a list": ({"list": []}, "may not hold"),
    "dict of attributes": ({"dict": {"a": 1}}, "not a dict"),
    "half a pair": ({"dict": [["a"]]}, "not a dict"),
    "key that is a list": ({"dict": [[[], 1]]}, "with keys of list"),
    "keys twice": ({"dict": [["a", 1], ["a", 2]]}, "repeated key"),
    "slice": ({"slice": [0, 1, "x"]}, "slice of whole numbers"),
    "short slice": ({"slice": [0, 1]}, "list of 3"),
    "number": ({"float": "1_0"}, "not a number"),
    "scalar": ({"scalar": 0}, "not a single number"),
    "tuple": ({"tuple": "abc"}, "not a list"),
    "array of other kinds": ({"objects": [[1], [{"tuple": []}]]}, "an array of tuple"),
    "array of arrays": ({"objects": [[1], [{"objects": [[1], [{"dict": []}]]}]]}, "array of dict"),
    "shape": ({"objects": [[2, -1], ["a", "b"]]}, "whole numbers"),
    "short shape": ({"objects": [[3], ["a", "b"]]}, "does not make a model"),
    "array that is missing": ({"array": 999}, "missing from the file"),
    "array by name": ({"array": "0"}, "missing from the file"),
    "array by truth value": ({"array": True}, "missing from the file"),
    "step inside": ({"StandardScaler": {}}, "not allowed there"),
    "model inside": ({"BootstrapSVC": {}}, "not allowed there"),
    "object without attributes": ({"PlattLink": [1]}, "without attributes"),
    "link by its constructor": ({"SollichLink": {"C": -1}}, "C must be a positive|not allowed"),
    "twister": ({"RandomState": [0, 0, 0, 0.0]}, "Mersenne twister"),
}


@pytest.mark.parametrize("place", ["root", "attribute", "parameter", "content"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name, place, saved, forge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil, message = HOSTILE[name]
    if place == "root" and name in ("step inside", "model inside", "scalar"):
        pytest.skip("there it is no more than another model")

    def poison(tree, arrays):
        attributes = tree["BootstrapSVC"]
        if place == "root":
            return evil
        if place == "attribute":
            ensemble_of(tree)["jackknife"] = evil
        elif place == "parameter":
            attributes["class_weight"] = {"dict": [["a", {"tuple": [evil]}]]}
        else:
            attributes["_present"] = [{"tuple": [evil]}]
        return tree

    forge(saved, poison)
    refused(saved, message)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    "text", [b"", b"null", b"[]", b"{}", b"1", b'"BootstrapSVC"', b'{"BootstrapSVC": {}}', b"{]"]
)
def test_trees_that_are_no_model(saved, rewrite, text):
    rewrite(saved, lambda members: members.update({"model.json": text}))
    refused(saved, "does not make a model|without|has no|not used|does not use")


def test_missing_tree(saved, rewrite):
    rewrite(saved, lambda members: members.pop("model.json"))
    refused(saved, "model.json is missing")


@pytest.fixture
def piped(data, path):
    """Pipeline with all that a file could abuse."""
    X, y = data
    steps = (StandardScaler(), FunctionTransformer(np.arctan))
    save(make_pipeline(*steps, ProbabilitySVC("wahba", Cs=[1.0])).fit(X, y), path)
    return path


def test_a_forged_cache_is_never_read(piped, forge, data, tmp_path):
    """Where memory is a folder of the attacker, the next fit reads pickles from there."""
    for memory in ("cache", {"Memory": {"location": "cache"}}, {"Pipeline": {}}, 0, [], False):

        def add_cache(tree, arrays, memory=memory):
            tree["Pipeline"]["memory"] = memory

        forge(piped, add_cache)
        refused(piped, "memory")


@pytest.mark.filterwarnings("ignore:Persisting input arguments took:UserWarning")  # a slow disk
def test_memory_of_joblib_is_not_saved_either(data, tmp_path):
    memory = joblib.Memory(tmp_path / "cache", verbose=0)
    model = make_pipeline(StandardScaler(), ProbabilitySVC("wahba", Cs=[1.0]), memory=memory)
    with pytest.raises(ModelFileError, match="with memory"):
        save(model.fit(*data), tmp_path / "model.svmproba")


@pytest.mark.parametrize("name", ["transform", "fit", "_validate_params", "__class__", "a b", ""])
def test_attributes_that_would_replace_methods(name, piped, forge):
    def add(tree, arrays):
        scaler = tree["Pipeline"]["steps"][0]["tuple"][1]["StandardScaler"]
        scaler[name] = {"function": "add"}

    forge(piped, add)
    refused(piped, "which is not an attribute of StandardScaler")


def test_replaced_methods_are_not_saved(data, path):
    scaler = StandardScaler()
    scaler.inverse_transform = np.add
    model = make_pipeline(scaler, ProbabilitySVC("wahba", Cs=[1.0])).fit(*data)
    with pytest.raises(ModelFileError, match="'inverse_transform', which is not an attribute"):
        save(model, path)


@pytest.mark.parametrize("n_jobs", [10**6, -(10**6), 1.5, "all"])
def test_jobs_without_end(n_jobs, saved, forge):
    def hire(tree, arrays):
        tree["BootstrapSVC"]["n_jobs"] = n_jobs

    forge(saved, hire)
    refused(saved, "n_jobs")


@pytest.mark.parametrize(
    ("name", "value"),
    [("kernel", "evil"), ("tol", 0.0), ("Cs", [-1.0]), ("reliability", {"function": "add"})],
)
def test_parameters_are_checked_as_by_fit(name, value, saved, forge):
    def change(tree, arrays):
        tree["BootstrapSVC"][name] = value

    forge(saved, change)
    refused(saved, name)


def test_attributes_that_the_class_does_not_have(saved, forge):
    def add(tree, arrays):
        tree["BootstrapSVC"]["extra_"] = 1

    forge(saved, add)
    refused(saved, "extra_")


def test_blocks_of_unequal_size(data, path, forge):
    """Three values of C for one gamma and one for the other: as many members as two and two."""
    X, y = data
    save(BootstrapSVC(kernel="rbf", gammas=[0.1, 0.5], **SMALL).fit(X, y), path)

    def move(tree, arrays):
        _maps, columns, _, means = ensemble_of(tree)["members"]["Members"]
        for blocks, width in ((columns, 30), (means, 1)):
            first, second = (block["array"] for block in blocks)
            moved = np.resize(arrays[second], (len(arrays[first]), width))
            arrays[first] = np.hstack([arrays[first], moved])
            arrays[second] = arrays[second][:, width:]

    forge(path, move)
    refused(path, r"columns\[0\] has shape")


FUZZ = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
sys.path.insert(0, {folder!r})
from fuzzing import fuzz
fuzz({path!r}, {seed}, {n})
"""


@pytest.mark.parametrize("seed", range(3))
def test_no_file_ends_the_interpreter(seed, tmp_path):
    """Random changes to the tree and the arrays of real models, in another process."""
    folder = str(Path(__file__).parent)
    code = FUZZ.format(folder=folder, path=str(tmp_path / "fuzz.svmproba"), seed=seed, n=150)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["refused"] > 50
    assert found["loaded"] > 0
