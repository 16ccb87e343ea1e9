"""Numbers of landmarks and gammas found by the fit, and kernels that do not fit into memory."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    load,
    save,
)
from svmproba.bootstrap.fitting import members
from svmproba.estimators.ensemble import pilots
from svmproba.estimators.input.parameters import as_generator
from svmproba.estimators.shared.progress import listening

AUTO = {"Cs": [1.0, 10.0], "kernel": "rbf", "n_components": "auto", "n_bootstraps": 30}


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(600, noise=0.25, random_state=0)
    X *= 5.0  # narrow kernels: many landmarks
    return X, y


@pytest.fixture(scope="module")
def fitted(moons):
    return BootstrapSVC(**AUTO, gammas=1.0, random_state=0).fit(*moons)


def test_the_path_ends_where_twice_the_landmarks_gain_little(moons, fitted):
    X, y = moons
    path = fitted.components_path_
    assert path["n_components"].tolist() == [50, 100, 200, 400, 600][: len(path["brier"])]
    gains = 1 - path["brier"][1:] / path["brier"][:-1]
    assert (gains[:-1] >= 0.01).all()
    assert gains[-1] < 0.01
    assert fitted.n_components_ == path["n_components"][-2] < 600
    assert not fitted.exact_
    chosen = BootstrapSVC(**AUTO | {"n_components": fitted.n_components_}, gammas=1.0)
    chosen = chosen.set_params(random_state=0).fit(X, y)
    assert_array_equal(chosen.predict_proba(X), fitted.predict_proba(X))
    assert chosen.components_path_ is None


@pytest.mark.parametrize(
    ("scores", "n", "found"),
    [
        ([0.2, 0.199], 10**6, 50),
        ([0.2, 0.19, 0.1899], 10**6, 100),
        ([0.2, 0.19, 0.18, 0.1799], 10**6, 200),
        ([0.2, 0.19, 0.18, 0.17, 0.18], 10**6, 400),
        ([0.2, 0.19, 0.18, 0.17, 0.16, 0.15, 0.14], 10**6, 3200),
        ([0.2, 0.19, 0.18], 130, 130),
        ([0.2, 0.19, 0.1899], 130, 100),
    ],
)
def test_the_landmarks_double_while_that_gains_more_than_a_hundredth(scores, n, found):
    left = iter(scores)
    pilot = SimpleNamespace(brier=lambda n_components: next(left))
    number, path = pilots.find_components(pilot, n)
    assert number == found
    assert path["brier"].tolist() == scores
    sizes = np.minimum(50 * 2 ** np.arange(len(scores)), n)
    assert path["n_components"].tolist() == sizes.tolist()


def test_scores_of_the_path_are_those_of_few_bags_of_any_state(moons):
    X, y = moons
    model = BootstrapSVC(**AUTO, gammas=1.0, random_state=0)
    checked = model._check_input(X, y, None, None)
    seed = int(as_generator(0).integers(2**31))
    for size, brier in list(zip(*model.components_path_.values(), strict=True))[:2]:
        pilot = BootstrapSVC(**AUTO | {"n_bootstraps": 25, "n_components": size}, gammas=1.0)
        P = pilot.set_params(calibration="auto", random_state=seed).fit(X, y).oob_proba_[:, 1]
        assert_allclose(np.nanmean((P - y) ** 2), brier, rtol=1e-12)
    assert checked.n_components == model.components_path_["n_components"][-2]


def test_several_classes_and_floors(moons):
    X, y = moons
    three = y + (X[:, 0] > 8)
    model = BootstrapSVC(**AUTO, gammas=1.0, random_state=0).fit(X, three)
    P = model.oob_proba_
    assert len(model.components_path_["brier"]) > 1
    assert 0 < model.n_components_ <= 600
    assert np.nanmean(P.argmax(axis=1) == three) > 0.85
    few = {**AUTO, "Cs": 1.0, "n_bootstraps": 5}
    with pytest.warns(UserWarning, match="are in every bag"):
        floors = ConstrainedBootstrapSVC(**few, min_tpr=0.9, random_state=0).fit(X[:90], y[:90])
    assert floors.components_path_["n_components"][0] == 50


def test_small_tables_end_exact_and_linear_kernels_have_no_landmarks(moons):
    X, y = moons[0][:40], moons[1][:40]
    model = BootstrapSVC(**AUTO, random_state=0).fit(X, y)
    assert model.components_path_["n_components"].tolist() == [40]
    assert model.exact_
    assert model.n_components_ == 0
    model.set_params(kernel="linear").fit(X, y)
    assert model.components_path_ is None
    assert model.exact_


def test_bags_of_the_search_are_not_counted_but_told(moons, capsys):
    heard = []
    model = BootstrapSVC(**AUTO, gammas=1.0, random_state=np.random.RandomState(0), verbose=1)
    with listening(lambda *bags: heard.append(bags)):
        model.fit(*moons)
    assert sum(n for n, _ in heard) == 30
    assert {n_bags for _, n_bags in heard} == {30}
    told = [line for line in capsys.readouterr().err.splitlines() if "n_components" in line]
    assert len(told) == len(model.components_path_["brier"])
    assert told[0].startswith("n_components=50: Brier score 0.")


def test_the_summary_and_the_model_file_tell_the_path(fitted, tmp_path, moons):
    save(fitted, tmp_path / "m.svmproba")
    again = load(tmp_path / "m.svmproba")
    assert_array_equal(again.components_path_["brier"], fitted.components_path_["brier"])
    assert not again.exact_
    *_, before, last = fitted.components_path_["n_components"]
    told = f"approximated by {before} landmarks: from {before} to {last} the Brier score"
    assert told in " ".join(again._summary())
    plain = BootstrapSVC(1.0, kernel="rbf", n_components=9, n_bootstraps=30).fit(*moons)
    assert "Kernels are approximated by 9 landmarks." in plain._summary()
    again.components_path_ = {"n_components": np.array([50]), "brier": np.array([0.1, 0.2])}
    with pytest.raises(ValueError, match="components_path_"):
        save(again, tmp_path / "n.svmproba")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BootstrapSVC(resample="blb", **AUTO), "with resample='blb', got 'auto'"),
        (BootstrapSVC(n_components="many"), "n_components must be .*'auto'.* got 'many'"),
        (
            ProbabilitySVC(n_components="auto"),
            "n_components must be None or an integer >= 1, got .auto.",
        ),
        (ThresholdBootstrapSVC(n_components=0.5), "n_components must be .*'auto'.* got 0.5"),
    ],
)
def test_bad_numbers_of_landmarks(moons, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*moons)


def test_a_kernel_that_does_not_fit_into_memory_is_refused_before_the_fit(moons, monkeypatch):
    X, y = moons
    model = BootstrapSVC(kernel="rbf", n_bootstraps=30)
    needed = 12 * 600**2 + 16 * 600 * 330
    monkeypatch.setattr(members, "available_memory", lambda: needed - 1)
    with pytest.raises(MemoryError, match=r"330 SVMs with .* on 600 samples need 0\.0 GB"):
        model.fit(X, y)
    for free in (needed, None):
        monkeypatch.setattr(members, "available_memory", lambda free=free: free)
        assert model.fit(X, y).exact_


@pytest.fixture(scope="module")
def islands():
    """Positive samples in a fine chessboard: "scale" is much too wide a kernel."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(400, 2))
    return X, np.floor(X).sum(axis=1) % 2 == rng.binomial(1, 0.95, 400)


def test_a_second_gamma_where_it_is_better(islands):
    X, y = islands
    model = BootstrapSVC([1.0, 10.0], kernel="auto", n_bootstraps=30, random_state=0).fit(X, y)
    path, scale = model.gammas_path_, 1 / (2 * X.var())
    assert_allclose(path["gamma"], scale * np.array([1, 4, 16]))
    best = path["gamma"][path["brier"].argmin()]
    assert best > scale
    rbf = model.thetas_["gamma"][model.thetas_["kernel"] == "rbf"]
    assert_allclose(np.unique(rbf), [scale, best])
    listed = BootstrapSVC([1.0, 10.0], kernel=["linear", "rbf"], gammas=["scale", best])
    listed = listed.set_params(n_bootstraps=30, random_state=0).fit(X, y)
    assert_array_equal(listed.predict_proba(X), model.predict_proba(X))
    assert listed.gammas_path_ is None
    pilot = BootstrapSVC([1.0, 10.0], kernel="rbf", gammas=best, n_bootstraps=25)
    seed = int(as_generator(0).integers(2**31))
    P = pilot.set_params(calibration="auto", random_state=seed).fit(X, y).oob_proba_[:, 1]
    assert_allclose(np.nanmean((P - y) ** 2), path["brier"].min(), rtol=1e-12)


def test_no_second_gamma_where_it_gains_little(moons):
    X, y = make_moons(200, noise=0.3, random_state=1)
    model = BootstrapSVC(1.0, kernel="rbf", gammas="search", n_bootstraps=30, random_state=0)
    path = model.fit(X, y).gammas_path_
    assert_allclose(path["gamma"] * X.var() * 2, [0.25, 1, 4, 16])
    assert path["brier"].min() > 0.98 * path["brier"][1]
    assert len(np.unique(model.thetas_["gamma"])) == 1
    plain = BootstrapSVC(1.0, kernel="rbf", n_bootstraps=30, random_state=0).fit(X, y)
    assert plain.gammas_path_ is None
    assert_array_equal(plain.predict_proba(X), model.predict_proba(X))


def test_search_of_gammas_and_landmarks(islands, tmp_path):
    X, y = islands
    model = BootstrapSVC(**AUTO, gammas="search", random_state=0).fit(X, y)
    assert len(model.gammas_path_["brier"]) == 4
    save(model, tmp_path / "m.svmproba")
    again = load(tmp_path / "m.svmproba")
    assert_array_equal(again.gammas_path_["gamma"], model.gammas_path_["gamma"])
    three = y + 1 * (X[:, 0] > 4)
    several = BootstrapSVC(1.0, kernel="auto", n_bootstraps=30, random_state=0).fit(X, three)
    assert len(np.unique(several.thetas_["gamma"][several.thetas_["kernel"] == "rbf"])) == 2


def test_little_bootstraps_do_not_search_gammas(islands):
    X, y = islands
    model = BootstrapSVC(1.0, kernel="auto", resample="blb", n_bootstraps=30).fit(X, y)
    assert model.gammas_path_ is None
    assert np.unique(model.thetas_["kernel"]).tolist() == ["linear", "rbf"]


def test_the_number_of_landmarks_has_an_end(moons, monkeypatch):
    monkeypatch.setattr(pilots, "_MOST", 70)
    monkeypatch.setattr(pilots, "_GAIN", -1.0)
    model = BootstrapSVC(**AUTO, gammas=1.0, random_state=0).fit(*moons)
    assert model.components_path_["n_components"].tolist() == [50, 70]
    assert model.n_components_ == 70


@pytest.mark.parametrize("grouped", [False, True])
def test_samples_of_weight_0_have_no_part_in_the_search(moons, grouped):
    X, y = moons[0][::3], moons[1][::3]
    weight = np.r_[np.ones(len(y)), 0.0, 0.0]
    groups = np.arange(len(weight)) // 2 if grouped else None
    made = [BootstrapSVC(1.0, n_bootstraps=30, kernel="auto", random_state=0) for _ in range(2)]
    made[0].fit(np.r_[X, [[1e3, 0], [0, -1e3]]], np.r_[y, 0, 1], weight, groups=groups)
    made[1].fit(X, y, groups=None if groups is None else groups[:-2])
    for name in ("gamma", "brier"):
        assert_array_equal(made[0].gammas_path_[name], made[1].gammas_path_[name])
    assert_array_equal(made[0].predict_proba(X), made[1].predict_proba(X))
