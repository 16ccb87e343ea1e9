import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from svmproba import BootstrapSVC
from svmproba.paper.data.datasets import load_dataset
from svmproba.paper.methods import (
    FAMILIES,
    INNER_FOLDS,
    TARGETS,
    best_theta_proba,
    choose_families,
    recipe_of,
    target_name,
)
from svmproba.preparation.preprocessing import make_preprocessor


@pytest.fixture(scope="module")
def wisconsin():
    X, y = load_dataset("wisconsin")
    rows = make_preprocessor(X).fit_transform(X)
    return rows[::2], y[::2], rows[1::2], y[1::2]


def test_best_theta_is_the_refit_with_epsilon_zero(wisconsin):
    X, y, new, _ = wisconsin
    options = {"Cs": [0.05, 1.0, 20.0], "n_bootstraps": 40, "random_state": 0}
    kept_all = BootstrapSVC(**options).fit(X, y)
    refit = BootstrapSVC(**options, epsilon=0.0).fit(X, y)
    proba = best_theta_proba(kept_all, new)
    np.testing.assert_array_equal(proba, refit.predict_proba(new)[:, 1])
    assert not np.array_equal(proba, kept_all.predict_proba(new)[:, 1])


def test_one_fit_gives_ebb_its_best_theta_and_cebb1(wisconsin):
    X, y, new, _ = wisconsin
    family = FAMILIES["ebb"]
    model = family.fit(family.make(n_bootstraps=30, random_state=1, n_jobs=None), X, y)
    outputs = family.read(model, new)
    np.testing.assert_array_equal(outputs["ebb"], model.predict_proba(new)[:, 1])
    np.testing.assert_array_equal(outputs["cebb1@0"], outputs["ebb"])
    assert {len(values) for values in outputs.values()} == {len(new)}
    previous = outputs["ebb"]
    for target in TARGETS:
        now = outputs[target_name("cebb1", target)]
        assert np.all(now >= previous)
        previous = now
    assert np.any(outputs["cebb1@1"] > outputs["ebb"])


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("ebb", "cebb2")])
def test_rivals(wisconsin, name):
    X, y, new, truth = wisconsin
    family = FAMILIES[name]
    estimator = family.make(n_bootstraps=30, random_state=1, n_jobs=None)
    proba = family.read(family.fit(estimator, X, y), new)[name]
    # By rank: the widest neighbourhoods are good at the order of the records, not at one half.
    assert roc_auc_score(truth, proba) > 0.93
    assert estimator.cv == 10


def test_methods_and_families():
    tao = ["tao_r0", "tao_r10", "tao_r20", "tao_r30"]
    assert choose_families(["tao", "cebb2", "cebb1"]) == ["ebb", *tao, "cebb2"]
    with pytest.raises(ValueError, match=r"methods must be of ebb, .*; got svm"):
        choose_families(["ebb", "svm"])


def test_cebb2_is_fitted_for_all_targets_at_once(wisconsin):
    X, y, new, _ = wisconsin
    family = FAMILIES["cebb2"]
    estimator = family.make(n_bootstraps=40, random_state=0, effort="fast", n_jobs=None)
    assert estimator.n_bootstraps == 40
    outputs = family.read(family.fit(estimator, X, y), new)
    assert list(outputs) == [target_name("cebb2", target) for target in TARGETS[1:]]
    # Each floor calls at least as many positive as the one before.
    means = [outputs[target_name("cebb2", target)].mean() for target in TARGETS[1:]]
    assert means == sorted(means)


def test_recipes_tell_what_changes_results():
    recipe = json.loads(recipe_of("tao_r10"))
    assert recipe["class"] == "PosteriorProbabilitySVC"
    assert recipe["radius"] == pytest.approx(np.sqrt(10))
    assert recipe["cv"] == INNER_FOLDS
    assert "readout" not in recipe  # a default
    assert not {"n_jobs", "random_state", "verbose"} & set(recipe)
    assert len({recipe_of(name) for name in FAMILIES}) == len(FAMILIES)
