"""Fits with groups: bags, out of bag and splits by group, metadata, and rates by subgroup."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    RateFeatureSelector,
    SelectedBootstrapSVC,
    ThresholdBootstrapSVC,
    to_onnx,
)
from svmproba.evaluation import report_html
from svmproba.links import AutoLink, _choose

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 40, "random_state": 0}


def visits(n_groups=60, size=4, seed=0):
    """Visits of patients: a class for each patient, and a shift that all its visits share."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    y = (rng.random(n_groups) < 0.5)[groups].astype(int)
    X = rng.normal(size=(len(y), 3)) + 1.5 * y[:, None] * [1, 0.5, 0]
    return X + rng.normal(size=(n_groups, 3))[groups], y, groups


X, y, GROUPS = visits()
BY = np.array(["f", "m"])[np.arange(len(y)) % 2]
NAMES = np.array([f"patient {g}" for g in GROUPS])


@pytest.fixture(scope="module")
def model():
    return BootstrapSVC(**SMALL).fit(X, y, groups=NAMES)


def test_links_are_cross_fitted_by_group(monkeypatch):
    few = SMALL | {
        "n_bootstraps": 25,
        "class_weight": [None],  # links do not read the spread of so few bags
    }
    model = BootstrapSVC(**few, calibration="auto").fit(X, y, groups=NAMES)
    scores = model.oob_scores_ / model.score_scales_[:, np.newaxis]
    enough = (model.counts_ == 0).sum(axis=0) >= 5
    by_group = AutoLink().fit(scores[:, enough], y[enough] == 1, GROUPS[enough])
    by_sample = AutoLink().fit(scores[:, enough], y[enough] == 1)
    assert model.calibrator_.brier_ == pytest.approx(by_group.brier_, rel=1e-9)
    assert by_group.brier_ > by_sample.brier_  # visits of one patient are alike
    monkeypatch.setattr(_choose, "_FEW_OF_PAIR", 0)  # pairs of many samples have folds, too
    several = BootstrapSVC(**few, calibration="auto").fit(X, y + (GROUPS >= 50), groups=NAMES)
    names = several.ensemble_.groups
    assert len(set(zip(names, NAMES, strict=True))) == len(set(names)) == 60
    scores = several.oob_scores_ / several.score_scales_[:, :, np.newaxis]
    for pair, (first, second) in enumerate(several.pairs_):
        chosen = np.isin(y + (GROUPS >= 50), [first, second]) & enough
        positive = (y + (GROUPS >= 50))[chosen] == second
        alone = AutoLink().fit(scores[pair][:, chosen], positive, GROUPS[chosen])
        found = several.calibrator_.links[pair].brier_
        assert found == pytest.approx(alone.brier_, rel=1e-9)


# Bags


ENSEMBLES = {
    "bootstrap": BootstrapSVC(**SMALL),
    "threshold": ThresholdBootstrapSVC(0.8, **SMALL),
    "constrained": ConstrainedBootstrapSVC(0.5, effort="fast", **SMALL | {"n_bootstraps": 9}),
    "selected": SelectedBootstrapSVC(RateFeatureSelector(0.3, 0.3), **SMALL | {"n_bootstraps": 9}),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ENSEMBLES)
def test_bags_draw_groups_and_a_group_is_out_of_bag_as_a_whole(name):
    fitted = ENSEMBLES[name].fit(X, y, groups=NAMES)
    of_groups = fitted.counts_.reshape(len(fitted.counts_), 60, 4)
    np.testing.assert_array_equal(of_groups, of_groups[..., :1].repeat(4, axis=2))
    np.testing.assert_array_equal(of_groups[..., 0].sum(axis=1), 60)
    assert (fitted.counts_[:, y == 1].any(axis=1) & fitted.counts_[:, y == 0].any(axis=1)).all()
    plain = sklearn.base.clone(ENSEMBLES[name]).fit(X, y)
    assert plain.groups_ is None
    assert not np.array_equal(plain.counts_, fitted.counts_)


def test_bags_of_more_than_two_classes_draw_groups():
    fitted = BootstrapSVC(**SMALL).fit(X, GROUPS % 3, groups=NAMES)
    of_groups = fitted.counts_.reshape(len(fitted.counts_), 60, 4)
    np.testing.assert_array_equal(of_groups, of_groups[..., :1].repeat(4, axis=2))
    with pytest.raises(ValueError, match="samples of class 0 are in one"):
        BootstrapSVC(**SMALL).fit(X, np.minimum(GROUPS // 3, 2), groups=np.maximum(GROUPS, 3))


def test_groups_of_one_sample_are_no_groups():
    plain = BootstrapSVC(**SMALL).fit(X, y)
    alone = BootstrapSVC(**SMALL).fit(X, y, groups=np.arange(len(y)))
    np.testing.assert_array_equal(plain.counts_, alone.counts_)
    np.testing.assert_array_equal(plain.oob_proba_, alone.oob_proba_)
    for kind in ("oob", "jackknife+"):
        same = [m.with_rate(tpr=0.7, guarantee=kind).predict(X) for m in (plain, alone)]
        np.testing.assert_array_equal(*same)
    same = [m.predict_proba_interval(X[:20], kind="simulation") for m in (plain, alone)]
    np.testing.assert_array_equal(*same)


def test_out_of_bag_is_too_good_without_groups():
    shares = []
    for seed in range(5):
        X, y, groups = visits(n_groups=60, size=10, seed=seed)
        new_X, new_y, new_groups = visits(n_groups=300, size=2, seed=100 + seed)
        rng = np.random.default_rng(seed)
        X = np.column_stack([X, rng.normal(size=(60, 30))[groups]])
        new_X = np.column_stack([new_X, rng.normal(size=(300, 30))[new_groups]])
        plain = BootstrapSVC(**SMALL).fit(X, y)
        honest = BootstrapSVC(**SMALL).fit(X, y, groups=groups)
        reached = honest.score(new_X, new_y)
        shares.append((plain.oob_score_, plain.score(new_X, new_y), honest.oob_score_, reached))
    plain_oob, plain_new, honest_oob, honest_new = np.mean(shares, axis=0)
    assert plain_oob > 0.85
    assert plain_new < 0.65
    assert abs(honest_oob - honest_new) < 0.07


def test_weight_zero_leaves_a_group_out():
    weight = np.where(GROUPS == 7, 0.0, 1.0)
    fitted = BootstrapSVC(**SMALL).fit(X, y, sample_weight=weight, groups=NAMES)
    assert (fitted.groups_[GROUPS == 7] == -1).all()
    assert len(np.unique(fitted.groups_)) == 60
    assert (fitted.counts_[:, GROUPS == 7] == 0).all()
    assert fitted.with_rate(tpr=0.7, guarantee="oob").guarantee_.count("random future group") == 1


@pytest.mark.filterwarnings("ignore:The sampling variance of . of 6 samples.*60 training groups")
def test_sampling_intervals_count_groups():
    model = BootstrapSVC([1.0], n_bootstraps=600, random_state=0).fit(X, y, groups=GROUPS)
    limits = model.predict_proba_interval(X[::40], kind="sampling")
    # The same as if a group were one sample: its count is that of any of its samples.
    from svmproba.bootstrap.intervals import sampling_interval

    votes = np.concatenate([s[0] > 0 for _, s in model.member_scores(X[::40])], axis=-1)
    found = sampling_interval(votes.astype(float), model.counts_[:, ::4])
    np.testing.assert_allclose(limits, np.column_stack(found[:2]), rtol=1e-12)


@pytest.mark.parametrize("subsampling", ["single", "repeated"])
def test_split_holds_groups_back(subsampling):
    model = ThresholdBootstrapSVC(
        0.7, guarantee="split", calibration_size=0.5, subsampling=subsampling, **SMALL
    ).fit(pd.DataFrame(X), y, groups=NAMES)
    held = np.zeros(len(y), bool)
    held[model.held_out_] = True
    assert not set(NAMES[held]) & set(NAMES[~held])
    n_ill = len(set(GROUPS[held & (y == 1)]))
    assert n_ill == round(0.5 * len(set(GROUPS[y == 1])))
    assert f"proven from {n_ill} groups" in model.guarantee_
    given = BootstrapSVC(**SMALL).fit(X[~held], y[~held], groups=NAMES[~held])
    again = given.with_rate(
        tpr=0.7,
        guarantee="split",
        subsampling=subsampling,
        X=X[held],
        y=y[held],
        groups=NAMES[held],
    )
    assert model.guarantee_ == again.guarantee_


def test_calibrated_models_with_groups():
    model = BootstrapSVC(calibration="platt", **SMALL).fit(X, y, groups=NAMES)
    kept = model.with_rate(tpr=0.7, by=BY, common_threshold=False)
    np.testing.assert_array_equal(kept.predict_proba(X, by=BY), model.predict_proba(X))
    limit = np.where(BY == "f", *kept.subgroup_rates_.threshold)
    np.testing.assert_array_equal(kept.predict(X, BY), model.predict_proba(X)[:, 1] > limit)


# Metadata


def test_metadata_routing_carries_groups():
    with sklearn.config_context(enable_metadata_routing=True):
        svm = BootstrapSVC(**SMALL).set_fit_request(groups=True)
        model = make_pipeline(StandardScaler(), svm).fit(X, y, groups=NAMES)
        assert len(np.unique(model[-1].groups_)) == 60
        found = cross_validate(
            model, X, y, cv=GroupKFold(3), params={"groups": NAMES}, return_estimator=True
        )
        assert all(one[-1].groups_ is not None for one in found["estimator"])


# Subgroups


def test_separate_thresholds_decide_by_subgroup(model):
    common = model.with_rate(tpr=0.9, by=BY)
    separate = model.with_rate(tpr=0.9, by=BY, common_threshold=False)
    assert common.threshold_ == separate.subgroup_rates_.threshold.min()
    np.testing.assert_array_equal(common.predict(X), common.predict(X, by=BY))
    for name, threshold in zip(*separate.subgroup_rates_[:2], strict=True):
        alone = model.with_rate(tpr=0.9)
        alone.ensemble_ = sklearn.base.copy.copy(alone.ensemble_)
        object.__setattr__(alone.ensemble_, "threshold", threshold)
        mine = name == BY
        np.testing.assert_array_equal(
            separate.predict_proba(X, by=BY)[mine], alone.predict_proba(X[mine])
        )
        np.testing.assert_array_equal(separate.predict(X, by=BY)[mine], alone.predict(X[mine]))
    assert np.isnan(separate.oob_tpr_)


def test_exceed_moves_every_threshold_in_favour_of_the_class_only(model):
    low = model.with_rate(tpr=0.1, by=BY, common_threshold=False)
    np.testing.assert_array_equal(low.subgroup_rates_.threshold, 0.0)
    free = model.with_rate(tpr=0.1, by=BY, common_threshold=False, exceed=False)
    assert free.subgroup_rates_.threshold.min() > 0


def test_overlapping_subgroups_from_a_frame(model):
    frame = pd.DataFrame({"sex": BY, "old": np.arange(len(y)) % 3 == 0})
    kept = model.with_rate(tpr=0.8, by=frame)
    assert kept.subgroup_rates_.subgroup.tolist() == ["sex=f", "sex=m", "old"]
    assert kept.subgroup_rates_.tpr.min() >= 0.8
    columns = {name: frame[name].to_numpy() for name in frame}
    assert model.with_rate(tpr=0.8, by=columns).threshold_ == kept.threshold_
    with pytest.raises(ValueError, match="common_threshold=False needs one label"):
        model.with_rate(tpr=0.8, by=frame, common_threshold=False)


@pytest.mark.parametrize("rate", ["tpr", "tnr"])
def test_held_out_samples_and_tnr(rate):
    model = BootstrapSVC(**SMALL).fit(X, y)
    new_X, new_y, groups = visits(n_groups=200, seed=1)
    by = np.arange(len(new_y)) % 2 == 0
    kept = model.with_rate(
        **{rate: 0.7}, guarantee="split", X=new_X, y=new_y, by=by, groups=groups, confidence=0.95
    )
    assert "in each of 2 subgroups at the same time" in kept.guarantee_
    assert "random future group" in kept.guarantee_
    assert kept.subgroup_rates_.subgroup.tolist() == [False, True]
    rates = kept.subgroup_rates_
    assert (rates.tpr if rate == "tpr" else 1 - rates.fpr).min() > 0.7


def test_costs_and_links_give_subgroups_up(model):
    kept = model.with_rate(tpr=0.9, by=BY, common_threshold=False)
    with pytest.warns(UserWarning, match="vote shares"):
        assert kept.with_costs(fn_cost=2, fp_cost=1).predict(X).shape == y.shape
    assert kept.with_calibration("platt").subgroup_rates_ is None
    assert kept.with_rate(tpr=0.9).predict(X).shape == y.shape


# Bad input


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(len(y)), "groups must name two groups or more"),
        (GROUPS[:-1], "groups must hold one label for each of the 240 samples, got shape"),
        (np.where(GROUPS == 0, np.nan, GROUPS), "no missing labels, got 4, the first at place 0"),
        ([None, *NAMES[1:]], "no missing labels, got 1"),
        (pd.array([pd.NA, *GROUPS[1:]], dtype="Int64"), "no missing labels, got 1"),
        ([1, *NAMES[1:]], "labels of one type, got int, str"),
        (np.where(y == 1, 0, GROUPS + 1), "samples of class 1 are in one"),
    ],
)
def test_bad_groups(groups, message):
    groups = np.array(groups, dtype=object) if isinstance(groups, list) else groups
    for model in (BootstrapSVC(**SMALL), ThresholdBootstrapSVC(0.5, guarantee="oob", **SMALL)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, groups=groups)


def test_little_bootstraps_draw_no_groups():
    with pytest.raises(ValueError, match="groups must be None with resample='blb'"):
        BootstrapSVC(resample="blb", **SMALL).fit(X, y, groups=GROUPS)


def test_groups_and_subgroups_where_they_do_not_belong(model):
    for wish, message in [
        ({"groups": GROUPS}, "groups must be those of X"),
        ({"by": BY, "guarantee": "jackknife+"}, "by goes with guarantee=None, 'oob' or 'split'"),
        ({"by": BY, "per_theta": True}, "by goes with"),
        ({"common_threshold": False}, "common_threshold=False needs by"),
        ({"by": BY[1:]}, "by must hold one label for each of the 240 samples"),
        ({"by": {}}, "by must name one subgroup or more"),
        ({"by": {"sex": [None, *BY[1:]]}}, r"by\['sex'\] must have no missing labels"),
        ({"subsampling": "twice"}, "subsampling must be one of 'single', 'repeated'"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.with_rate(tpr=0.8, **wish)


def test_a_subgroup_of_one_class(model):
    by = np.where(y == 1, "ill", "healthy")
    with pytest.raises(ValueError, match="at least 1 positive samples in each, and 'healthy' has"):
        model.with_rate(tpr=0.8, by=by)
    with pytest.raises(ValueError, match=r"'f' has .*'ill' has"):
        model.with_rate(tnr=0.8, by=np.where(y == 1, "ill", BY), guarantee="oob", confidence=0.999)
    only = model.with_rate(tpr=0.8, by=np.where(y == 1, BY, "f"))
    assert np.isnan(only.subgroup_rates_.fpr[1])


def test_calibrated_probabilities_and_costs_know_no_subgroups(model):
    calibrated = model.with_calibration("platt")
    separate = calibrated.with_rate(tpr=0.9, by=BY, common_threshold=False)
    P = calibrated.predict_proba(X)
    np.testing.assert_array_equal(separate.predict_proba(X), P)
    np.testing.assert_array_equal(separate.predict_proba(X, by=BY), P)
    expected = calibrated.decide(X, fn_cost=3.0, fp_cost=1.0)
    np.testing.assert_array_equal(separate.decide(X, fn_cost=3.0, fp_cost=1.0), expected)


def test_labels_unseen_when_predicting(model):
    separate = model.with_rate(tpr=0.9, by=BY, common_threshold=False)
    with pytest.raises(ValueError, match=r"have a threshold, \['f', 'm'\], got 'x' too"):
        separate.predict(X, by=np.where(GROUPS == 3, "x", BY))
    with pytest.raises(ValueError, match="by must have no missing labels"):
        separate.predict(X, by=np.where(GROUPS == 3, None, BY))
    for ask in (separate.predict, separate.predict_proba):
        with pytest.raises(ValueError, match="by must give the subgroup of every sample"):
            ask(X)
    with pytest.raises(ValueError, match="one for each subgroup"):
        separate.vote_shares(X)
    with pytest.raises(ValueError, match="one for each subgroup"):
        report_html(separate, X, y, by=BY)
    with pytest.raises(ValueError, match="separate thresholds for subgroups cannot be exported"):
        to_onnx(separate)
