"""Model files: what was saved comes back, to the last bit."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
    scale,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    RateFeatureSelector,
    SelectedBootstrapSVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
    load,
    read_about,
    save,
)
from svmproba.estimators.pairs.links import LINKS
from svmproba.persistence import _names

GOLDEN = Path(__file__).parents[1] / "files" / "format_1.svmproba"
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
    "selected": (
        SelectedBootstrapSVC(RateFeatureSelector(0.9, 0.9, costs={0: 2.0}), **SMALL),
        X,
        y,
    ),
    "selector": (
        make_pipeline(
            RateFeatureSelector(0.9, 0.9, costs={"b": 2.0}, n_bootstraps=5, random_state=0),
            BootstrapSVC(**SMALL),
        ),
        FRAME[list("abcde")],
        y,
    ),
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
    "three": (BootstrapSVC(**SMALL), IRIS, SPECIES),
    "three calibrated": (BootstrapSVC(kernel="rbf", calibration="auto", **SMALL), IRIS, SPECIES),
    "three precomputed": (BootstrapSVC(kernel="precomputed", **SMALL), IRIS @ IRIS.T, SPECIES),
    "three rates": (
        ThresholdBootstrapSVC(target_recall={SPECIES[0]: 0.9, SPECIES[-1]: 0.8}, **SMALL),
        IRIS,
        SPECIES,
    ),
    "three constrained": (
        ConstrainedBootstrapSVC(min_recall={SPECIES[-1]: 0.9}, effort="fast", **SMALL),
        IRIS,
        SPECIES,
    ),
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


def assert_same(a, b, where=""):
    """Both hold the same down to the last bit, private attributes too."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        if a.dtype == object:
            assert_same(list(a.flat), list(b.flat), where)
        elif a.dtype == np.longdouble:  # its padding bytes are whatever was in memory
            np.testing.assert_array_equal(a, b, err_msg=where)
        else:
            assert a.tobytes() == b.tobytes(), where
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
@pytest.mark.filterwarnings("ignore:.*samples are in every bag")
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
        lambda m: (
            m.with_rate(tpr=0.5, guarantee="split", confidence=0.5, X=X, y=y).proba_threshold_
        ),
        lambda m: m.predict_proba_interval(X[:9], kind="simulation"),
        lambda m: m.predict_proba_interval(X[:9], kind="venn_abers"),
        lambda m: m.score_interval(X[:9]),
        lambda m: m.decide(X, fn_cost=9.0),
        lambda m: m.vote_shares(X),
        lambda m: m.member_coef_,
        lambda m: np.array(m.rate_curve()),
        lambda m: clone(m).fit(X, y).predict_proba(X),
    ):
        np.testing.assert_array_equal(ask(model), ask(again))


def test_groups_and_thresholds_of_subgroups_come_back(path):
    by = np.array(["f", "m"])[np.arange(len(y)) % 2]
    model = BootstrapSVC(**SMALL).fit(X, y, groups=np.arange(len(y)) // 2)
    for common in (True, False):
        kept = model.with_rate(tpr=0.6, by=by, common_threshold=common)
        save(kept, path)
        again = load(path)
        assert_same(kept, again)
        np.testing.assert_array_equal(kept.predict(X, by=by), again.predict(X, by=by))
        for ask in (
            lambda m: m.with_rate(tpr=0.5, guarantee="oob", confidence=0.5).threshold_,
            lambda m: m.with_rate(tpr=0.5, guarantee="jackknife+").predict(X),
            lambda m: m.groups_,
        ):
            np.testing.assert_array_equal(ask(model), ask(again.with_calibration(None)))


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
        save(other, tmp_path / "other.svmproba")
        assert (tmp_path / "other.svmproba").read_bytes() == path.read_bytes()


def test_shared_arrays_are_stored_once(model, saved):
    again = load(saved)
    assert again.ensemble_.members.intercept is again.intercept_
    parts = vars(model.ensemble_).values()
    raw = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
    raw += sum(part.nbytes for part in model.ensemble_.members.columns)
    overhead = saved.stat().st_size - raw
    assert overhead < 20_000


def test_golden_file_of_format_1():
    again = load(GOLDEN)
    found = read_about(GOLDEN)
    expected = np.array(found["about"]["probabilities"])
    np.testing.assert_allclose(again.predict_proba(X[:5])[:, 1], expected, atol=1e-12)
    assert again.with_rate(tpr=0.99).oob_tpr_ >= 0.99


def test_parameters_younger_than_the_file_have_their_defaults(saved, forge):
    def age(tree, arrays):
        del tree["BootstrapSVC"]["tol"]

    forge(saved, age)
    assert load(saved).get_params()["tol"] == 1e-3


STEPS = {
    "FeatureUnion": FeatureUnion([("a", StandardScaler()), ("b", PCA(2))]),
    "FunctionTransformer": FunctionTransformer(np.log1p, kw_args={"dtype": np.dtype("f8")}),
    "KBinsDiscretizer": KBinsDiscretizer(3, strategy="uniform"),
    "OneHotEncoder": OneHotEncoder(
        drop="first", min_frequency=20, handle_unknown="infrequent_if_exist", sparse_output=False
    ),
    "OrdinalEncoder": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "SparseRandomProjection": SparseRandomProjection(4, random_state=0),
    "GaussianRandomProjection": GaussianRandomProjection(4, random_state=0),
    "TruncatedSVD": TruncatedSVD(2, random_state=0),
    "KernelPCA": KernelPCA(3, kernel="rbf"),
    "QuantileTransformer": QuantileTransformer(n_quantiles=10),
    "SelectKBest": SelectKBest(chi2, k=2),
    "ColumnTransformer": make_column_transformer(
        (OneHotEncoder(dtype=np.float32), slice(0, 1)), remainder="passthrough"
    ),
}
NO_STEPS = {"KernelCenterer", "LabelBinarizer", "LabelEncoder", "MissingIndicator", "Pipeline"}
NO_STEPS |= {"make_column_selector", "GroupKFold", "KFold", "LeaveOneOut"}
NO_STEPS |= {"PredefinedSplit", "StratifiedKFold"}


@pytest.mark.parametrize("name", sorted(_names._sklearn(_names._STEPS).keys() - NO_STEPS))
def test_every_step_comes_back(name, path):
    step = STEPS.get(name) or _names.classes()[name]()
    rows = np.round(np.abs(X))
    model = make_pipeline(step, ProbabilitySVC("wahba", **ONE)).fit(rows, y)
    save(model, path)
    again = load(path)
    assert_same(model, again)
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(rows))


def test_rare_values_come_back(path):
    """Text with lone surrogates, whole numbers beyond 64 bits, keys of several types."""
    step = FunctionTransformer(kw_args=None, inv_kw_args={"\ud800": 2**80, 1.5: None, True: "x"})
    step.note_ = (np.float32(0.1), np.datetime64("2024-01-01"), np.longdouble(1) / 3, -np.inf)
    model = make_pipeline(step, ProbabilitySVC("wahba", **ONE)).fit(X, y)
    save(model, path)
    assert_same(model, load(path))


def test_another_scikit_learn_is_warned_of(path, rewrite):
    save(make_pipeline(StandardScaler(), BootstrapSVC(**SMALL)).fit(X, y), path)

    def of_another(members):
        about = json.loads(members["svmproba.json"])
        members["svmproba.json"] = json.dumps(about | {"scikit-learn": "1.5.2"}).encode()

    rewrite(path, of_another)
    with pytest.warns(InconsistentVersionWarning, match="1.5.2"):
        load(path)
