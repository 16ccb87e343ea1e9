"""The parameter `device` of the bootstrap ensembles, on torch's CPU."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from svmproba import BootstrapSVC, ConstrainedBootstrapSVC, ThresholdBootstrapSVC
from svmproba.solvers.constrained import penalties

torch = pytest.importorskip("torch", reason="device='torch' needs torch")

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 25, "random_state": 0}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data():
    return make_classification(120, 6, flip_y=0.2, random_state=0)


ATTRIBUTES = (
    "member_coef_",
    "intercept_",
    "duality_gap_",
    "counts_",
    "thetas_",
    "reliability_",
    "weights_",
    "oob_proba_",
    "oob_scores_",
    "oob_median_",
    "score_scales_",
)


@pytest.mark.parametrize("reliability", ["accuracy", "g_mean", "auc"])
@pytest.mark.parametrize("calibration", [None, "platt"])
def test_attributes_are_those_of_the_cpu(data, reliability, calibration):
    options = {**SMALL, "reliability": reliability, "calibration": calibration}
    model = BootstrapSVC(**options).fit(*data)
    other = BootstrapSVC(**options, device="torch").fit(*data)
    for name in ATTRIBUTES:
        expected, found = getattr(model, name), getattr(other, name)
        assert isinstance(found, np.ndarray), name
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), name
    np.testing.assert_array_equal(other.counts_, model.counts_)
    assert other.duality_gap_.max() <= 1e-3
    np.testing.assert_allclose(other.reliability_, model.reliability_, atol=0.01)
    np.testing.assert_allclose(other.predict_proba(data[0]), model.predict_proba(data[0]), atol=0.1)


def test_fitted_on_one_device_used_on_another(data):
    X, y = data
    model = BootstrapSVC(**SMALL, device="torch").fit(X, y)
    shares, threshold = model.vote_shares(X), model.with_rate(tpr=0.9, X=X, y=y).threshold_
    again = pickle.loads(pickle.dumps(model)).set_params(device="cpu")
    np.testing.assert_allclose(again.vote_shares(X), shares, atol=1e-12)
    np.testing.assert_allclose(again.with_rate(tpr=0.9, X=X, y=y).threshold_, threshold, atol=1e-12)


def test_weights_labels_and_sparse_rows(data):
    X, y = data
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.5)
    labels = np.where(y == 1, "yes", "no")
    options = {**SMALL, "class_weight": "balanced", "pos_label": "no"}
    model = BootstrapSVC(**options).fit(X, labels, weight)
    for rows in (X, sparse.csr_array(X)):
        other = BootstrapSVC(**options, device="torch").fit(rows, labels, weight)
        assert other.duality_gap_.max() <= 1e-3
        assert np.isnan(other.oob_proba_[weight == 0]).all()
        np.testing.assert_allclose(other.oob_proba_, model.oob_proba_, atol=0.15)
        assert other.predict(rows).dtype == labels.dtype


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_kernels(data, kernel):
    X, y = data
    X = X @ X.T if kernel == "precomputed" else X
    options = {"kernel": kernel, **SMALL, "tol": 1e-6}
    model = BootstrapSVC(**options).fit(X, y)
    other = BootstrapSVC(**options, device="torch").fit(X, y)
    assert max(model.duality_gap_.max(), other.duality_gap_.max()) <= 1e-6
    np.testing.assert_allclose(other.oob_scores_, model.oob_scores_, atol=0.02)
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=0.05)


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
@pytest.mark.parametrize(
    "model",
    [
        ThresholdBootstrapSVC(0.9, **SMALL, device="torch"),
        ConstrainedBootstrapSVC(
            min_tpr=0.8, **{**SMALL, "n_bootstraps": 3}, effort="fast", device="torch"
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_relatives(data, model):
    X, y = data
    P = model.fit(X, y).predict_proba(X)
    assert ((P[:, 1] >= model.proba_threshold_) == (model.predict(X) == 1)).all()


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_constrained_members_of_large_tables(data, monkeypatch):
    """They are fitted on the device: as good as those of the CPU, which go the same way."""
    monkeypatch.setattr(penalties, "_LARGE", 0)
    X, y = data
    options = {**SMALL, "n_bootstraps": 5, "effort": "fast"}
    floors = [{"min_tpr": 0.8}, {"min_tpr": 1.0}]
    here = ConstrainedBootstrapSVC(**options).fit_floors(X, y, floors)
    there = ConstrainedBootstrapSVC(**options, device="torch").fit_floors(X, y, floors)
    for model, other in zip(here, there, strict=True):
        assert not other.replaced_.any()
        np.testing.assert_array_equal(other.counts_, model.counts_)
        assert other.duality_gap_.mean() <= model.duality_gap_.mean() + 0.03
        P, Q = model.predict_proba(X)[:, 1], other.predict_proba(X)[:, 1]
        assert np.abs(P - Q).mean() <= 0.05
    # Strictly: every positive record of every bag has its margin.
    scores = there[1].member_coef_ @ X[y == 1].T + there[1].intercept_[:, :, None]
    assert np.all(scores[:, there[1].counts_[:, y == 1] > 0] >= 1.0)


def test_messages(data):
    with pytest.raises(ValueError, match=r"device must be 'cpu', 'torch', .* got 'gpu'"):
        BootstrapSVC(device="gpu").fit(*data)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"device='cuda': torch .* sees no CUDA device"):
            BootstrapSVC(device="cuda").fit(*data)
        model = BootstrapSVC(**SMALL).fit(*data).set_params(device="cuda:1")
        with pytest.raises(RuntimeError, match="device='cuda:1'"):
            model.predict_proba(data[0])
        assert BootstrapSVC(**SMALL, device="auto").fit(*data).duality_gap_.max() <= 1e-3
