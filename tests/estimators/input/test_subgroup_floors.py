"""Floors of subgroups in `ConstrainedSVC` and `ConstrainedBootstrapSVC`."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import recall_score
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from svmproba import ConstrainedBootstrapSVC, ConstrainedSVC, load, save

SMALL = {"Cs": [0.05, 0.5], "n_bootstraps": 20, "random_state": 0, "effort": "fast"}


def table(n=90, seed=0):
    """Columns of which one is of little use for women."""
    rng = np.random.default_rng(seed)
    y, women = (np.arange(n) < n // 2).astype(int), rng.random(n) < 0.4
    shift = np.where(women, 0.5, 1.5) * y
    sex = np.where(women, "women", "men")
    return rng.normal(size=(n, 3)) + shift[:, np.newaxis] * [1.0, 0.5, 0.0], y, sex


@pytest.fixture(scope="module")
def data():
    return table()


def held(model, X, y):
    """Samples with a margin of at least 1."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    return signs * model.decision_function(X) >= 1


@pytest.mark.parametrize("pos_label", [0, 1])
def test_every_floor_holds_by_margins(data, pos_label):
    X, y, sex = data
    floors = {"women": {"min_tpr": 0.9, "min_tnr": 0.2}, "men": 0.8}
    model = ConstrainedSVC(0.1, floors=floors, pos_label=pos_label, effort="fast")
    model.fit(X, y, by=sex)
    right, counted = held(model, X, y), {}
    for name, k in (("tpr", pos_label), ("tnr", 1 - pos_label)):
        counted |= {f"{name} of {s}": right[(y == k) & (sex == s)].mean() for s in ("women", "men")}
    asked = {"min_tpr of women": 0.9, "min_tnr of women": 0.2, "min_tpr of men": 0.8}
    assert model.floors_ == asked
    for name, floor in asked.items():
        rate = name.removeprefix("min_")
        assert floor <= counted[rate] == pytest.approx(model.rates_[rate])
    assert model.rates_["tpr"] == pytest.approx(right[y == pos_label].mean())


def test_enumeration_of_all_choices():
    X, y, _ = table(16, seed=3)
    sex, C = np.where(np.arange(16) % 2, "women", "men"), 0.5
    women, men = (np.flatnonzero((y == 1) & (sex == s)) for s in ("women", "men"))
    best = np.inf
    for bits in product((False, True), repeat=8):
        chosen = np.flatnonzero(y == 1)[list(bits)]
        if np.isin(women, chosen).sum() >= 4 and np.isin(men, chosen).sum() >= 2:
            best = min(best, _hard(X, y, C, chosen))
    model = ConstrainedSVC(C, floors={"women": 1, "men": 0.5}, solver="bb").fit(X, y, by=sex)
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(best, rel=1e-3)


def _hard(X, y, C, chosen):
    """Objective where the chosen samples must have their margin, by libsvm with large prices."""
    weight = np.where(np.isin(np.arange(len(y)), chosen), 1e5, 1.0)
    model = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, sample_weight=weight)
    slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * model.decision_function(X))
    return 0.5 * np.sum(model.coef_**2) + C * np.delete(slack, chosen).sum()


def test_scip_agrees(data):
    pytest.importorskip("pyscipopt")
    X, y, sex = (column[20:65] for column in data)
    options = {"floors": {"women": 0.9, "men": {"min_tpr": 0.8, "min_tnr": 0.3}}, "effort": "fast"}
    ours = ConstrainedSVC(0.2, solver="bb", **options).fit(X, y, by=sex)
    theirs = ConstrainedSVC(0.2, solver="scip", **options).fit(X, y, by=sex)
    assert theirs.status_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-4)


def test_all_ways_to_name_subgroups(data):
    X, y, sex = data
    women = sex == "women"
    frame = pd.DataFrame({"sex": sex, "old": X[:, 2] > 0})
    ways = [
        ({"women": 0.9}, sex),
        ([("women", {"min_tpr": 0.9})], sex),
        ({True: 0.9}, women),
        ({"sex=women": 0.9}, frame),
        ([(women, 0.9)], None),
        ([(women, 0.9)], sex),
    ]
    models = [
        ConstrainedSVC(0.1, floors=floors, effort="fast", random_state=0).fit(X, y, by=by)
        for floors, by in ways
    ]
    assert {tuple(model.coef_[0]) for model in models} == {tuple(models[0].coef_[0])}
    names = [next(iter(model.floors_)) for model in models]
    assert names[:5] == [
        f"min_tpr of {x}" for x in ("women", "women", "True", "sex=women", "floors[0]")
    ]
    overlapping = {"sex=women": 0.9, "old": 0.95}
    model = ConstrainedSVC(0.1, floors=overlapping, effort="fast").fit(X, y, by=frame)
    right = held(model, X, y)
    assert right[(y == 1) & women].mean() >= 0.9
    assert right[(y == 1) & frame["old"]].mean() >= 0.95


def test_a_floor_of_a_subgroup_of_all_is_that_of_the_class(data):
    X, y, _ = data
    everybody = np.full(len(y), "all")
    one = ConstrainedSVC(0.1, min_tpr=0.9, effort="fast", random_state=0).fit(X, y)
    two = ConstrainedSVC(0.1, floors={"all": 0.9}, effort="fast", random_state=0)
    assert np.array_equal(one.coef_, two.fit(X, y, by=everybody).coef_)


def test_samples_of_weight_0_do_not_count(data):
    X, y, sex = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    floors = {"women": 0.9, "men": {"min_tnr": 0.5}}
    options = {"solver": "bb", "effort": "fast", "random_state": 0}
    weighted = ConstrainedSVC(0.1, floors=floors, **options).fit(X, y, sample_weight=weight, by=sex)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = ConstrainedSVC(0.1, floors=floors, **options).fit(X[rows], y[rows], by=sex[rows])
    assert weighted.rates_["tpr of women"] >= 0.9
    assert repeated.rates_["tnr of men"] >= 0.5
    assert weighted.bound_ <= repeated.objective_ * (1 + 1e-6)
    assert repeated.bound_ <= weighted.objective_ * (1 + 1e-6)
    mask = sex == "women"
    masked = ConstrainedSVC(0.1, floors=[(mask, 0.9), (~mask, {"min_tnr": 0.5})], **options)
    masked.fit(X, y, sample_weight=weight)
    assert np.array_equal(masked.coef_, weighted.coef_)


def test_confidence_counts_the_samples_of_the_subgroup(data):
    X, y, sex = data
    options = {"min_tpr": 0.3, "floors": {"women": 0.4}, "confidence": 0.9, "effort": "fast"}
    model = ConstrainedSVC(0.1, **options).fit(X, y, by=sex)
    assert 0.4 < model.floors_["min_tpr of women"] <= model.rates_["tpr of women"]
    assert 0.3 < model.floors_["min_tpr"] < model.floors_["min_tpr of women"]
    model.set_params(floors={"women": 0.99})
    with pytest.raises(ValueError, match=r"min_tpr of women=0.99: A rate .* needs at least"):
        model.fit(X, y, by=sex)


def test_clashing_floors_are_named(data):
    """Floors that have no part in the clash are not named."""
    X, y, sex = data
    floors = {"women": {"min_tpr": 1, "min_tnr": 0.99}, "men": 0.1}
    model = ConstrainedSVC(1.0, min_tpr=0.2, floors=floors, effort="fast", random_state=0)
    with pytest.raises(ValueError, match="clash") as caught:
        model.fit(X, y, by=sex)
    told = str(caught.value)
    assert "has min_tpr of women=1 and min_tnr of women=0.99" in told
    assert "With min_tpr of women=1 the best min_tnr of women that was found is 0" in told
    assert "of men" not in told


@pytest.mark.parametrize(
    ("floors", "by", "message"),
    [
        ({"women": 0.9}, None, "names the subgroup 'women', which needs by"),
        ({"boys": 0.9}, "sex", r"must name subgroups of by, \['men', 'women'\], got 'boys'"),
        ({"women": 1.2}, "sex", r"min_tpr of women must be a number in \[0, 1\], got 1.2"),
        ({"women": {"tpr": 0.9}}, "sex", "a dict with keys among .'min_tpr', 'min_tnr'"),
        ({"women": {}}, "sex", "The floor of women must be a number"),
        ({"women": "all"}, "sex", "The floor of women must be a number"),
        ({}, "sex", r"floors must be None, a dict .* at least one, got \{\}"),
        (0.9, "sex", "floors must be None, a dict"),
        ("women", "sex", "floors must be None, a dict"),
        ([("women", 0.9, 1)], "sex", "floors must be None, a dict"),
        ([("women", 0.9), ("women", 0.8)], "sex", "once, got min_tpr of women twice"),
        ([([True, False], 0.9)], None, r"mask of floors\[0\] must hold .* 90 samples, .* \(2,\)"),
        ([(np.ones(90), 0.9)], None, "True or False .* of float64"),
        (None, "sex", "by names subgroups and has no use without their floors"),
        ({"women": 0.9}, "short", r"by must hold one label for each of the 90 samples"),
        ({"women": 0.9}, "missing", "by must have no missing labels, got 1, the first at place 3"),
        ({"ill": {"min_tnr": 0.9}}, "healthy", "min_tnr of ill, which has no negative samples"),
        ({"well": 0.9}, "healthy", "min_tpr of well, which has no positive samples"),
    ],
)
@pytest.mark.parametrize("estimator", [ConstrainedSVC, ConstrainedBootstrapSVC])
def test_bad_input(data, estimator, floors, by, message):
    X, y, sex = data
    missing = sex.astype(object)
    missing[3] = None
    ways = {"sex": sex, "short": sex[:5], "missing": missing}
    ways["healthy"] = np.where(y == 1, "ill", "well")
    with pytest.raises(ValueError, match=message):
        estimator(floors=floors).fit(X, y, by=ways.get(by))


def test_a_subgroup_without_weight_is_refused(data):
    X, y, sex = data
    weight = np.where((y == 1) & (sex == "women"), 0.0, 1.0)
    with pytest.raises(ValueError, match="min_tpr of women, which has no positive samples"):
        ConstrainedSVC(floors={"women": 0.9}).fit(X, y, sample_weight=weight, by=sex)


# The ensemble


def test_every_member_keeps_the_floors_in_its_bag(data):
    X, y, sex = data
    floors = {"women": 0.9, "men": {"min_tpr": 0.7}}
    model = ConstrainedBootstrapSVC(0.75, floors=floors, **SMALL).fit(X, y, by=sex)
    assert not model.replaced_.any()
    sets = {"all": y == 1} | {s: (y == 1) & (sex == s) for s in ("women", "men")}
    shares = {"all": 0.75, "women": 0.9, "men": 0.7}
    for k, row in enumerate(model.member_coef_):
        for b, w in enumerate(row):
            right = X @ w + model.intercept_[k, b] >= 1
            for name, members in sets.items():
                count = model.counts_[b] * members
                assert (count * right).sum() >= np.ceil(shares[name] * count.sum() - 1e-9)
    plain = ConstrainedBootstrapSVC(0.75, **SMALL).fit(X, y)
    women = (y == 1) & (sex == "women")
    assert model.oob_proba_[women, 1].mean() > plain.oob_proba_[women, 1].mean()


def test_floors_at_once_equal_their_order(data):
    X, y, sex = data
    wishes = [{"min_tpr": 0.5}, {"min_tpr": 0.5, "floors": {"women": 1}}, {"floors": {"men": 1}}]
    found = ConstrainedBootstrapSVC(**SMALL).fit_floors(X, y, wishes, by=sex)
    assert [model.floors for model in found] == [None, {"women": 1}, {"men": 1}]
    own = ConstrainedBootstrapSVC(floors={"men": 1}, **SMALL).fit(X, y, by=sex)
    assert found[2].proven_.all()  # one convex problem each
    assert own.member_coef_ == pytest.approx(found[2].member_coef_, abs=1e-3)


def test_replaced_members_are_told_with_all_floors(data):
    X, y, sex = data
    floors = {"women": {"min_tpr": 1, "min_tnr": 1}}
    model = ConstrainedBootstrapSVC(0.1, floors=floors, **SMALL)
    asked = "with min_tpr=0.1 and min_tpr of women=1 and min_tnr of women=1: the floors clash"
    with pytest.warns(UserWarning, match=asked):
        model.fit(X, y, by=sex)
    assert model.replaced_.any()


def test_two_classes_only(data):
    X, _, sex = data
    y = np.arange(len(X)) % 3
    for floors, by in (({"women": 0.9}, sex), (None, sex)):
        name = "by" if floors is None else "floors"
        with pytest.raises(ValueError, match=f"{name} needs two classes, got 3"):
            ConstrainedBootstrapSVC(floors=floors, **SMALL).fit(X, y, by=by)


# In scikit-learn


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedSVC(0.1, floors={"women": 0.9}, effort="fast"),
        ConstrainedSVC(0.1, floors=[("women", {"min_tpr": 0.9})], effort="fast"),
        ConstrainedBootstrapSVC(floors={"women": 0.9, "men": {"min_tnr": 0.2}}, **SMALL),
    ],
)
def test_models_can_be_cloned_and_saved(data, model, tmp_path):
    X, y, sex = data
    fitted = clone(model).fit(X, y, by=sex)
    save(fitted, tmp_path / "model")
    same = load(tmp_path / "model")
    assert np.array_equal(same.predict(X), fitted.predict(X))
    assert same.floors == model.floors


def test_by_is_routed(data):
    X, y, sex = data
    model = ConstrainedSVC(0.1, floors={"women": 0.95}, effort="fast")
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model.set_fit_request(by=True)
        scores = cross_val_score(routed, X, y, cv=3, scoring="recall", params={"by": sex})
    assert scores.mean() > 0.5
    fitted = clone(model).fit(X[::2], y[::2], by=sex[::2])
    assert recall_score(y, fitted.predict(X)) > 0.5


def test_masks_are_saved(data, tmp_path):
    X, y, sex = data
    women = sex == "women"
    model = ConstrainedSVC(0.1, floors=[(women, 0.9)], effort="fast").fit(X, y)
    save(model, tmp_path / "model")
    ((mask, share),) = load(tmp_path / "model").floors
    assert np.array_equal(mask, women)
    assert share == 0.9
