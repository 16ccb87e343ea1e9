"""Model files: what was saved comes back, and nothing else ever does."""

import hashlib
import io
import json
import os
import pickle
import re
import stat
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, scale

import svmproba
from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    ModelFileError,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
    load,
    read_about,
    save,
)
from svmproba.estimators._pair_links import LINKS
from svmproba.persistence import _archive

pytest.importorskip("skops")

GOLDEN = Path(__file__).parent / "files" / "format_1.skops"

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[:120, :6]), y[:120]
WORDS = np.where(y == 1, "benign", "malignant")
LEVEL = pd.Series(np.where(X[:, 5] > 0, "high", "low"), dtype=object).mask(y < X[:, 1])
SIDE = pd.Categorical(np.where(X[:, 0] > 0, "u", "v"))
FRAME = pd.DataFrame(X, columns=list("abcdef")).assign(f=LEVEL, g=SIDE)
MANY = np.random.default_rng(0).normal(size=(4100, 2))
IRIS, SPECIES = load_iris(return_X_y=True)
SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}
ONE = {"Cs": [1.0], "random_state": 0}


def table_pipeline():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    prepare = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, ["f", "g"]),
        remainder="passthrough",
    )
    return make_pipeline(prepare, BootstrapSVC(**SMALL))


CASES = {
    **{
        f"calibration {name}": (BootstrapSVC(calibration=name, **SMALL), X, y)
        for name in (None, "auto", "platt", "isotonic", "beta", "venn_abers", "stack")
    },
    "rbf": (BootstrapSVC(kernel="rbf", gammas=[0.1, "scale"], **SMALL), X, y),
    "poly": (BootstrapSVC(kernel="poly", degree=2, coef0=1.0, **SMALL), X, y),
    "nystroem": (
        BootstrapSVC(1.0, kernel="rbf", n_bootstraps=30, n_components=9, random_state=0),
        MANY,
        MANY[:, 0] > 0,
    ),
    "precomputed": (BootstrapSVC(kernel="precomputed", **SMALL), X @ X.T, y),
    "little": (BootstrapSVC(resample="blb", **SMALL), MANY, MANY[:, 0] > MANY[:, 1] ** 2),
    "sparse": (BootstrapSVC(**SMALL), sparse.csr_matrix(X), y),
    "sparse rbf": (BootstrapSVC(kernel="rbf", **SMALL), sparse.csr_array(X), y),
    "wide": (BootstrapSVC(**SMALL), X.reshape(20, -1), np.arange(20) % 2),
    "words": (BootstrapSVC(pos_label="malignant", **SMALL), X, WORDS),
    "objects": (BootstrapSVC(class_weight={"benign": 2.0}, **SMALL), X, WORDS.astype(object)),
    "truth values": (BootstrapSVC(class_weight={True: 2.0, False: 1.0}, **SMALL), X, y > 0),
    "names": (BootstrapSVC(**SMALL), FRAME[list("abcde")], y),
    "random state": (
        BootstrapSVC(Cs=np.array([1.0]), n_bootstraps=30, random_state=np.random.RandomState(3)),
        X,
        y,
    ),
    "threshold": (ThresholdBootstrapSVC(0.99, **SMALL), X, y),
    "per theta": (ThresholdBootstrapSVC(0.99, per_theta=True, **SMALL), X, y),
    "jackknife+": (ThresholdBootstrapSVC(0.9, guarantee="jackknife+", **SMALL), X, y),
    "split": (ThresholdBootstrapSVC(0.6, guarantee="split", confidence=0.6, **SMALL), X, y),
    "constrained": (ConstrainedBootstrapSVC(0.9, effort="fast", **SMALL), X, y),
    "constrained one": (ConstrainedSVC(min_tpr=0.9, effort="fast", random_state=0), X, y),
    **{f"link {name}": (ProbabilitySVC(name, **ONE), X, y) for name in sorted(LINKS)},
    "splitter": (ProbabilitySVC(cv=StratifiedKFold(3), **ONE), X, y),
    "link sampled": (
        ProbabilitySVC("sollich", link_params={"average": "sampled", "n_draws": 50}, **ONE),
        X,
        y,
    ),
    "classes": (ProbabilitySVC(kernel="rbf", **ONE), IRIS, SPECIES),
    "neighbours": (PosteriorProbabilitySVC(Cs=[0.1, 1.0], random_state=0), IRIS, SPECIES),
    "neighbours sparse": (PosteriorProbabilitySVC(**ONE), sparse.csr_matrix(X), y),
    "weights": (WeightedProbabilitySVC(Cs=[1.0], random_state=0), IRIS, SPECIES),
    "pipeline": (make_pipeline(StandardScaler(), BootstrapSVC(**SMALL)), X, y),
    "table": (table_pipeline(), FRAME, y),
    "functions": (
        make_pipeline(FunctionTransformer(np.arctan), SelectKBest(k=3), BootstrapSVC(**SMALL)),
        X,
        y,
    ),
}


def fit(name):
    model, rows, labels = CASES[name]
    return clone(model).fit(rows, labels), rows


@pytest.fixture(scope="module")
def model():
    return BootstrapSVC(calibration="auto", **SMALL).fit(X, y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


@pytest.fixture
def saved(model, path):
    save(model, path, about={"data": "wisconsin"})
    return path


def assert_same(a, b, where=""):
    """Both hold the same down to the last bit, private attributes too."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), where
    elif sparse.issparse(a):
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(a, part), getattr(b, part), where)
    elif isinstance(a, np.random.RandomState):
        assert a.randint(2**31) == b.randint(2**31)
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_same(left, right, f"{where}[{i}]")
    elif type(a).__module__.startswith(("svmproba", "sklearn")):
        left, right = ({**vars(part)} for part in (a, b))
        for state in (left, right):
            state.pop("_sklearn_version", None)
            state.pop("_metadata_request", None)
        assert_same(left, right, where)
    else:
        assert a == b or a != a, where


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*records are in every bag")
@pytest.mark.parametrize("name", CASES)
def test_what_was_saved_comes_back(name, path):
    model, rows = fit(name)
    save(model, path)
    again = load(path)
    assert_same(model, again)
    methods = ["predict"] if name == "constrained one" else ["predict", "predict_proba"]
    for method in methods:
        np.testing.assert_array_equal(getattr(model, method)(rows), getattr(again, method)(rows))
    assert_same(clone(model).get_params(), clone(again).get_params())
    assert read_about(path)["class"] == type(model).__name__


def test_everything_after_the_fit(model, saved):
    again = load(saved)
    for ask in (
        lambda m: m.with_rate(tpr=0.95).predict(X),
        lambda m: m.with_calibration(None).with_rate(tnr=0.9, per_theta=True).predict_proba(X),
        lambda m: m.with_calibration("platt").predict_proba(X),
        lambda m: m.with_rate(tpr=0.8, guarantee="jackknife+").predict_proba(X),
        lambda m: m.with_rate(tpr=0.5, guarantee="split", confidence=0.5, X=X, y=y).cut_,
        lambda m: m.predict_proba_interval(X[:9], kind="simulation"),
        lambda m: m.predict_proba_interval(X[:9], kind="venn_abers"),
        lambda m: m.score_interval(X[:9]),
        lambda m: m.decide(X, fn_cost=9.0),
        lambda m: m.vote_shares(X),
        lambda m: m.coef_,
        lambda m: np.array(m.rate_curve()),
        lambda m: clone(m).fit(X, y).predict_proba(X),
    ):
        np.testing.assert_array_equal(ask(model), ask(again))


def test_sampling_intervals_come_back(path):
    model = BootstrapSVC(Cs=[1.0], n_bootstraps=200, random_state=0).fit(X[:40], y[:40])
    save(model.with_rate(tpr=0.9), path)
    with pytest.warns(UserWarning, match="sampling variance"):
        expected = model.with_rate(tpr=0.9).predict_proba_interval(X)
    with pytest.warns(UserWarning, match="sampling variance"):
        np.testing.assert_array_equal(load(path).predict_proba_interval(X), expected)


@pytest.mark.parametrize("name", ["calibration auto", "table"])
def test_equal_models_give_equal_bytes(name, path, tmp_path):
    save(fit(name)[0], path)
    for other in (fit(name)[0], load(path)):
        save(other, tmp_path / "other.skops")
        assert (tmp_path / "other.skops").read_bytes() == path.read_bytes()


def test_shared_arrays_are_stored_once(model, saved):
    again = load(saved)
    assert again._members.intercept is again.intercept_
    raw = sum(part.nbytes for part in vars(model).values() if isinstance(part, np.ndarray))
    raw += sum(part.nbytes for part in model._members.columns)
    overhead = saved.stat().st_size - raw
    assert overhead < 20_000


def test_size_is_that_of_the_arrays(path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 30))
    model = BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=200, random_state=0)
    model.fit(rows, rows[:, 0] + rng.normal(size=400) > 0)
    save(model, path)
    coef = model._members.columns[0].nbytes
    assert path.stat().st_size < 1.05 * (coef + model.counts_.nbytes)


def test_callbacks_and_requests_are_left_out(path):
    callback = pytest.importorskip("sklearn.callback")
    with config_context(enable_metadata_routing=True):
        model = BootstrapSVC(**SMALL).set_fit_request(sample_weight=True)
    model.set_callbacks(callback.ProgressBar()).fit(X, y)
    save(model, path)
    again = load(path)
    assert hasattr(model, "_skl_callbacks")
    assert not {"_skl_callbacks", "_metadata_request"} & set(vars(again))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_about(model, saved, path):
    found = read_about(saved)
    assert found["about"] == {"data": "wisconsin"}
    assert found["format"] == 1
    assert found["svmproba"] == svmproba.__version__
    with pytest.raises(TypeError, match="about must be made of what JSON knows"):
        save(model, path, about={"model": model})


def test_golden_file_of_format_1():
    again = load(GOLDEN)
    found = read_about(GOLDEN)
    expected = np.array(found["about"]["probabilities"])
    np.testing.assert_allclose(again.predict_proba(X[:5])[:, 1], expected, atol=1e-12)
    assert again.with_rate(tpr=0.99).oob_tpr_ >= 0.99


def test_parameters_younger_than_the_file_have_their_defaults(saved):
    def age(members):
        schema = json.loads(members["schema.json"])
        attributes = schema["content"]
        place = list(attributes["content"]).index("tol")
        del attributes["content"]["tol"], attributes["key_types"]["content"][place]
        members["schema.json"] = json.dumps(schema).encode()

    rewrite(saved, age)
    assert load(saved).get_params()["tol"] == 1e-3


# What cannot be saved.


class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (BootstrapSVC(), NotFittedError, "not fitted"),
        (LogisticRegression(), TypeError, "estimator of svmproba"),
        (
            Pipeline([("one", StandardScaler()), ("two", LogisticRegression())]),
            TypeError,
            "Pipeline that ends in LogisticRegression",
        ),
    ],
)
def test_no_model(model, error, message, path):
    with pytest.raises(error, match=message):
        save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(Doubler(), BootstrapSVC(**SMALL)), r"steps\[0\]\[1\] is .*Doubler"),
        (
            make_pipeline(FunctionTransformer(abs), BootstrapSVC(**SMALL)),
            r"steps\[0\]\[1\].func is builtins.abs",
        ),
        (BootstrapSVC(pd.Series([0.1, 1.0]), n_bootstraps=30), "Cs is pandas"),
        (
            make_pipeline(StandardScaler(), BootstrapSVC(**SMALL), memory="cache"),
            "Pipeline with memory",
        ),
        (
            make_pipeline(FunctionTransformer(lambda x: x), BootstrapSVC(**SMALL)),
            "func is .*lambda",
        ),
    ],
)
def test_what_no_file_may_hold(model, message, path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path.write_text("what was there before")
    with pytest.raises(ModelFileError, match=message) as caught:
        save(model.fit(X, y), path)
    assert str(path) in str(caught.value)
    assert path.read_text() == "what was there before"


def test_search_is_told_what_to_save(path):
    search = GridSearchCV(BootstrapSVC(**SMALL), {"epsilon": [0.0, np.inf]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match="best_estimator_"):
        save(search, path)
    save(search.best_estimator_, path)


# Written whole or not at all.


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_mishap_leaves_the_old_file(step, model, path, monkeypatch):
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        save(model, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="rights and links of POSIX")
def test_rights_and_links(model, tmp_path):
    link, target = tmp_path / "link.skops", tmp_path / "target.skops"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        save(model, link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    load(link)


# Files that are refused.


def refused(path, message):
    for read in (load, read_about):
        with pytest.raises(ModelFileError, match=message) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert isinstance(caught.value, ValueError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_missing(tmp_path):
    for read in (load, read_about):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nowhere.skops")
    refused(tmp_path, "not a file")


def test_every_flipped_byte_is_noticed(path):
    content, rng = GOLDEN.read_bytes(), np.random.default_rng(0)
    ends = [*range(40), *range(-120, 0)]
    for place in [*ends, *rng.integers(len(content), size=100)]:
        altered = bytearray(content)
        altered[place] ^= rng.integers(1, 256)
        path.write_bytes(altered)
        with pytest.raises(ModelFileError, match=r"altered|incomplete|not a model file"):
            load(path)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    refused(saved, "incomplete|altered|not a model file")


def test_something_added_at_the_end(saved):
    saved.write_bytes(saved.read_bytes() + b"more")
    refused(saved, "incomplete|altered")


class Bomb:
    """What a pickle could do: it touches a file as soon as it is read."""

    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return os.system, (f"touch {self.canary}",)


def test_foreign(path, tmp_path, model):
    import skops.io

    canary = tmp_path / "canary"
    for content, message in [
        (b"", "empty"),
        (b"age,income\n1,2\n", "looks like text"),
        (pickle.dumps(Bomb(canary)), "looks like a pickle"),
        (pickle.dumps(Bomb(canary), protocol=0), "looks like a pickle|looks like text"),
        (bytes(range(256)), "unknown"),
        (skops.io.dumps(LogisticRegression()), "skops file, but not one that svmproba.save wrote"),
        (skops.io.dumps(model), "skops file, but not one that svmproba.save wrote"),
    ]:
        path.write_bytes(content)
        refused(path, message)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    refused(path, "zip file, but not one")
    assert not canary.exists()


def rewrite(path, change):
    """Change the members of a file and seal it again, as an attacker can."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    path.write_bytes(_archive.pack(members))


def sealed(body):
    return body + _archive._MARK + hashlib.sha256(body).hexdigest().encode()


def test_newer_format(saved):
    def newer(members):
        about = json.loads(members["svmproba.json"])
        members["svmproba.json"] = json.dumps(about | {"format": 2, "svmproba": "7.1"}).encode()

    rewrite(saved, newer)
    refused(saved, re.escape("pip install 'svmproba>=7.1'"))


@pytest.mark.parametrize("about", [b"", b"[]", b"{}", b'{"format": true, "svmproba": ""}', b"\xff"])
def test_bad_about(saved, about):
    rewrite(saved, lambda members: members.update({"svmproba.json": about}))
    refused(saved, "svmproba.json|format")


@pytest.mark.parametrize("name", ["../evil.npy", "/etc/passwd", "a/1.npy", "evil.py", "1.npy/"])
def test_path_traversal(saved, name):
    rewrite(saved, lambda members: members.update({name: b"evil"}))
    refused(saved, "which no model file has")


def test_two_members_of_one_name(saved):
    with zipfile.ZipFile(saved, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("0.npy", b"")
    saved.write_bytes(sealed(saved.read_bytes()[: -_archive._TRAILER]))
    refused(saved, "two members of one name")


def npy_header(shape, descr):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy_header((10**12,), "<f8"), "claims 8,000,000,000,000 bytes and has 0"),
        (npy_header((2,), "<f8") + bytes(24), "claims 16 bytes and has 24"),
        (b"\x93NUMPY\x03\x00" + bytes(20), "unknown version"),
        (b"", "damaged archive"),
    ],
)
def test_arrays_that_lie(saved, content, message):
    rewrite(saved, lambda members: members.update({"0.npy": content}))
    refused(saved, message)


def test_array_of_pickled_objects(saved, tmp_path):
    canary = tmp_path / "canary"
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb(canary)], dtype=object), allow_pickle=True)
    rewrite(saved, lambda members: members.update({"0.npy": stream.getvalue()}))
    refused(saved, "array of Python objects")
    assert not canary.exists()


def test_zip_bomb(saved, monkeypatch):
    zeros = npy_header((2**19,), "<f8") + bytes(2**22)
    rewrite(saved, lambda members: members.update({"999.npy": zeros}))
    load(saved)
    monkeypatch.setattr(_archive, "_FREE_BYTES", 2**20)
    monkeypatch.setattr(_archive, "_GROWTH", 8)
    refused(saved, "too many to believe")


def test_honest_zeros_are_no_bomb(monkeypatch):
    members = {"0.npy": npy_header((2**19,), "<f8") + bytes(2**22)}
    assert len(_archive.pack(members)) < 2**17
    monkeypatch.setattr(_archive, "_FREE_BYTES", 2**20)
    assert len(_archive.pack(members)) > 2**22


def node(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def plain(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def sequence(loader, *items):
    kind = "tuple" if loader == "TupleNode" else "list"
    return node(loader, "builtins", kind, content=list(items))


def hostile(command):
    """Descriptions that would run the command if anything were built from them."""
    system = node("FunctionNode", "os", "system")
    text = sequence("TupleNode", plain(command))
    nothing = node("DictNode", "builtins", "dict", content={}, key_types=sequence("ListNode"))
    generator = node("DictNode", "builtins", "dict", content={"bit_generator": plain("seed")})
    return {
        "function": system,
        "eval": node("FunctionNode", "builtins", "eval"),
        "type": node("TypeNode", "posix", "system"),
        "constructor": node("ConstructorFromReduceNode", "os", "system", content=text),
        "popen": node("ConstructorFromReduceNode", "subprocess", "Popen", content=text),
        "object": node("ObjectNode", "subprocess", "Popen", content=nothing),
        "list": node("ListNode", "os", "system", content=[plain(command)]),
        "set": node("SetNode", "builtins", "set", content=[system]),
        "array": node("NdArrayNode", "os", "system", type="numpy", file="0.npy"),
        "objects": node(
            "NdArrayNode", "numpy", "ndarray", type="json", content=[system], shape=text
        ),
        "keys": node(
            "DictNode",
            "builtins",
            "dict",
            content={command: plain(1)},
            key_types=sequence("ListNode", system),
        ),
        "dict": node("DictNode", "os", "system", content={}, key_types=sequence("ListNode")),
        "partial": node(
            "PartialNode",
            "functools",
            "partial",
            content={"func": system, "args": text, "kwds": nothing, "namespace": plain(None)},
        ),
        "methodcaller": node("OperatorFuncNode", "operator", "methodcaller", attrs=text),
        "method": node(
            "MethodNode", "builtins", "str", content={"func": "format", "obj": plain("")}
        ),
        "loss": node("LossNode", "os", "system", content=nothing, __reduce__={"args": text}),
        "tree": node(
            "TreeNode", "sklearn.tree._tree", "Tree", content=nothing, __reduce__={"args": text}
        ),
        "generator": node(
            "RandomGeneratorNode",
            "numpy.random._generator",
            "Generator",
            content={"bit_generator": generator, "seed_seq": nothing},
        ),
        "default": node(
            "DefaultDictNode",
            "collections",
            "defaultdict",
            content={"main": nothing, "default_factory": system},
        ),
        "bytes": node("BytesNode", "builtins", "bytes", file="0.npy"),
        "unknown": node("NoSuchNode", "os", "system"),
        "transformer": node(
            "ObjectNode",
            "sklearn.preprocessing._function_transformer",
            "FunctionTransformer",
            content=node(
                "DictNode",
                "builtins",
                "dict",
                content={"func": system},
                key_types=sequence("ListNode", node("TypeNode", "builtins", "str")),
            ),
        ),
        "module of the tests": node("ObjectNode", "test_persistence", "Bomb", content=nothing),
    }


@pytest.mark.parametrize("place", ["root", "attribute", "content"])
@pytest.mark.parametrize("name", hostile(""))
def test_hostile(name, place, saved, tmp_path):
    canary = tmp_path / "canary"
    evil = hostile(f"touch {canary}")[name]

    def poison(members):
        schema = json.loads(members["schema.json"])
        attributes = schema["content"]["content"]
        if place == "root":
            schema = evil | {"protocol": schema["protocol"]}
        elif place == "attribute":
            attributes["_jackknife"] = evil
        else:
            attributes["_present"] = sequence("ListNode", sequence("TupleNode", evil))
        members["schema.json"] = json.dumps(schema).encode()

    rewrite(saved, poison)
    with pytest.raises(
        ModelFileError, match=r"which a model file may not hold|is a dict with keys"
    ):
        load(saved)
    assert not canary.exists()


def test_the_canary_sings(tmp_path):
    canary = tmp_path / "canary"
    pickle.loads(pickle.dumps(Bomb(canary)))
    assert canary.exists()


@pytest.mark.parametrize("protocol", [0, 1, -1, True, "2", None, 10**6])
def test_other_protocols(saved, protocol):
    def change(members):
        schema = json.loads(members["schema.json"])
        members["schema.json"] = json.dumps(schema | {"protocol": protocol}).encode()

    rewrite(saved, change)
    with pytest.raises(ModelFileError, match="protocol"):
        load(saved)


@pytest.mark.parametrize(
    "schema",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"protocol": 2}',
        b'{"protocol": 2, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        json.dumps(plain(1) | {"protocol": 2}).encode(),
        json.dumps(sequence("ListNode") | {"protocol": 2}).encode(),
    ],
)
def test_schema_that_makes_no_model(saved, schema):
    rewrite(saved, lambda members: members.update({"schema.json": schema}))
    with pytest.raises(ModelFileError, match=r"schema.json cannot be read|does not make a model"):
        load(saved)


def test_arrays_that_do_not_go_together(saved):
    """Compiled code would read beyond the end of the weights."""

    def shorten(members):
        schema = json.loads(members["schema.json"])
        file = schema["content"]["content"]["weights_"]["file"]
        stream = io.BytesIO()
        np.save(stream, np.ones(1))
        members[file] = stream.getvalue()

    rewrite(saved, shorten)
    with pytest.raises(ModelFileError, match="weights_ has shape"):
        load(saved)


def test_sparse_indices_that_lead_outside(path):
    model = BootstrapSVC(kernel="rbf", **SMALL).fit(sparse.csr_matrix(X), y)
    save(model, path)

    def spoil(members):
        (name,) = (name for name in members if name.endswith(".npz"))
        table = sparse.load_npz(io.BytesIO(members[name]))
        table.indices[0] = 10**9
        stream = io.BytesIO()
        sparse.save_npz(stream, table)
        members[name] = stream.getvalue()

    rewrite(path, spoil)
    with pytest.raises(ModelFileError, match="no sparse table"):
        load(path)


def test_pipeline_with_a_cache_is_refused(path):
    """A cache is read with pickle as soon as the pipeline is fitted again."""
    save(make_pipeline(StandardScaler(), BootstrapSVC(**SMALL)).fit(X, y), path)

    def add_cache(members):
        schema = json.loads(members["schema.json"])
        schema["content"]["content"]["memory"] = plain("//somewhere/else")
        members["schema.json"] = json.dumps(schema).encode()

    rewrite(path, add_cache)
    with pytest.raises(ModelFileError, match="memory"):
        load(path)


def test_class_must_be_the_one_announced(saved):
    def rename(members):
        about = json.loads(members["svmproba.json"])
        members["svmproba.json"] = json.dumps(about | {"class": "Pipeline"}).encode()

    rewrite(saved, rename)
    with pytest.raises(ModelFileError, match="holds a BootstrapSVC, not a Pipeline"):
        load(saved)
