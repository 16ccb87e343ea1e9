"""`RateGuarantee`: thresholds of any classifier."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import BootstrapSVC, RateGuarantee
from svmproba.bootstrap.guarantee import guaranteed_level, order_statistic

X, y = make_classification(900, random_state=0, flip_y=0.1)
WORDS = np.array(["healthy", "ill"])[y]
BY = np.array(["f", "m"])[np.arange(900) % 2]
GROUPS = np.arange(900) // 3


@pytest.mark.parametrize("rate", ["tpr", "tnr"])
@pytest.mark.parametrize("pos_label", [None, "healthy"])
@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(), RidgeClassifier(), RandomForestClassifier(30, random_state=0)],
)
def test_the_order_statistic_of_the_samples_held_back(classifier, pos_label, rate):
    model = RateGuarantee(classifier, **{rate: 0.8}, pos_label=pos_label, random_state=0)
    model.fit(X, WORDS)
    held = np.zeros(900, bool)
    held[model.held_out_] = True
    assert abs(held.mean() - 0.3) < 0.01
    own = clone(classifier).fit(X[~held], WORDS[~held])
    wanted = (pos_label or "ill") if rate == "tpr" else ("ill" if pos_label else "healthy")
    k = order_statistic(int((WORDS[held] == wanted).sum()), 0.8, 0.9)
    missed = np.sum(model.predict(X[held])[WORDS[held] == wanted] != wanted)
    assert missed <= k - 1
    if isinstance(classifier, LogisticRegression):  # no ties
        assert missed == k - 1
        np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
    called = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.classes_[called.astype(int)], model.predict(X))
    assert f"of class {wanted!r}" in model.guarantee_
    assert "proven" in model.guarantee_


@pytest.mark.parametrize("frozen", [True, False])
def test_a_fitted_classifier_is_left_as_it_is(frozen):
    fitted = LogisticRegression().fit(X[:300], y[:300])
    given = FrozenEstimator(fitted) if frozen else fitted
    model = RateGuarantee(given, tpr=0.9, cv=None if frozen else "prefit")
    model.fit(X[300:], y[300:])
    assert model.held_out_ is None
    scores = fitted.predict_proba(X[300:])[y[300:] == 1, 1]
    level = guaranteed_level(scores, 0.9, 0.9)
    assert level > model.threshold_ > level - 1e-9
    assert f"proven from {len(scores)} samples" in model.guarantee_
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("cv", [4, KFold(4, shuffle=True, random_state=1)])
def test_cross_fitting_says_that_it_is_approximate(cv):
    model = RateGuarantee(GaussianNB(), tpr=0.9, cv=cv, random_state=0).fit(X, y)
    said = model.guarantee_
    assert said.startswith("Approximately, with confidence 90 %")
    assert "by classifiers that were not trained on them" in said
    assert said.endswith("and not proven.")
    whole = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_cross_fitted_scores_are_those_of_the_other_folds():
    folds = list(KFold(3).split(X))
    model = RateGuarantee(GaussianNB(), tpr=0.9, cv=folds).fit(X, y)
    parts = [GaussianNB().fit(X[a], y[a]).predict_proba(X[b])[:, 1] for a, b in folds]
    scores = np.concatenate(parts)
    level = guaranteed_level(scores[y == 1], 0.9, 0.9)
    assert level > model.threshold_ > level - 1e-9


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(3)])
@pytest.mark.parametrize("subsampling", ["single", "repeated"])
def test_groups_stay_together(cv, subsampling):
    seen = []

    class Watched(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(set(X[:, -1]))
            return super().fit(X, y)

    rows = np.column_stack([X, GROUPS])
    model = RateGuarantee(Watched(), tpr=0.8, cv=cv, subsampling=subsampling, random_state=0)
    model.fit(rows, y, groups=GROUPS)
    assert "random future group" in model.guarantee_
    if cv is None:
        assert not seen[0] & set(GROUPS[model.held_out_])
        assert len(seen[0]) + len(set(GROUPS[model.held_out_])) == 300
    else:
        assert [len(part) for part in seen[1:]] == [200, 200, 200]


def test_subgroups_common_and_separate():
    options = {"tpr": 0.8, "cv": 5, "random_state": 0}
    common = RateGuarantee(LogisticRegression(), **options).fit(X, y, by=BY)
    separate = RateGuarantee(LogisticRegression(), common_threshold=False, **options)
    separate.fit(X, y, by=BY)
    rates = separate.subgroup_rates_
    assert separate.threshold_ is None
    assert common.threshold_ == rates.threshold.min()
    P = separate.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(
        separate.predict(X, by=BY), np.where(BY == "f", *rates.threshold) < P
    )
    assert "in each of 2 subgroups at the same time" in common.guarantee_
    with pytest.raises(ValueError, match="by must give the subgroup of every sample"):
        separate.predict(X)
    with pytest.raises(ValueError, match=r"have a threshold, .* got 'x' too"):
        separate.decision_function(X, by=np.full(900, "x"))


def test_frames_pipelines_and_our_own_ensembles():
    frame = pd.DataFrame(X).add_prefix("c")
    model = RateGuarantee(make_pipeline(StandardScaler(), GaussianNB()), tpr=0.8, random_state=0)
    model.fit(frame, pd.Series(WORDS), by=pd.DataFrame({"sex": BY, "old": X[:, 0] > 0}))
    assert list(model.feature_names_in_) == list(frame)
    assert model.n_features_in_ == 20
    assert set(model.predict(frame)) == {"healthy", "ill"}
    assert len(model.subgroup_rates_.subgroup) == 3
    svm = BootstrapSVC([0.1], n_bootstraps=20, random_state=0)
    assert RateGuarantee(svm, tpr=0.8, random_state=0).fit(X, y).threshold_ > 0


def test_metadata_is_routed():
    weight = np.random.default_rng(0).random(900)
    with sklearn.config_context(enable_metadata_routing=True):
        svm = LogisticRegression().set_fit_request(sample_weight=True)
        model = RateGuarantee(svm, tpr=0.8, random_state=0)
        model.fit(X, y, sample_weight=weight, by=BY)
        kept = np.setdiff1d(np.arange(900), model.held_out_)
        own = clone(svm).fit(X[kept], y[kept], sample_weight=weight[kept])
        np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
        grouped = BootstrapSVC([1.0], n_bootstraps=20, random_state=0)
        grouped.set_fit_request(groups=True)
        model = RateGuarantee(grouped, tpr=0.7, random_state=0).fit(X, y, groups=GROUPS)
        assert model.estimator_.groups_ is not None
    with pytest.raises(TypeError, match="sample_weight for the classifier only with metadata"):
        RateGuarantee(LogisticRegression(), tpr=0.8).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "One of tpr and tnr must be given"),
        ({"tpr": 0.9, "tnr": 0.9}, "One of tpr and tnr must be given"),
        ({"tpr": 1.0}, "tpr must be above 0 and below 1"),
        ({"tpr": 0.9, "cv": "fitted"}, "cv must be one of 'prefit'"),
        ({"tpr": 0.9, "response_method": "score"}, "response_method must be one of"),
        ({"tpr": 0.9, "pos_label": 7}, "pos_label must be None or one of the classes"),
        ({"tpr": 0.999}, "at least 2302 positive samples, got"),
        ({"tpr": 0.9, "common_threshold": False}, "common_threshold=False needs by"),
        ({"tpr": 0.9, "calibration_size": 0}, "calibration_size must be in"),
    ],
)
def test_bad_parameters(wish, message):
    with pytest.raises(ValueError, match=message):
        RateGuarantee(LogisticRegression(), random_state=0, **wish).fit(X, y)


def test_bad_data():
    model = RateGuarantee(LogisticRegression(), tpr=0.9)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        model.fit(X, np.arange(900) % 3)
    with pytest.raises(ValueError, match="'f' has 0"):
        model.fit(X, y, by=np.where(y == 1, "m", BY))
    fitted = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"y must hold the classes \[0, 1\], got \[5\] too"):
        RateGuarantee(fitted, tpr=0.9, cv="prefit").fit(X, np.where(y == 1, 1, 5))

    class NoScores(LogisticRegression):
        predict_proba = decision_function = property()

    with pytest.raises(TypeError, match="estimator must have predict_proba or decision_function"):
        RateGuarantee(NoScores(), tpr=0.9).fit(X, y)


def test_an_estimator_that_is_no_classifier():
    with pytest.raises(TypeError, match=r"estimator must be a classifier, .* got StandardScaler"):
        RateGuarantee(StandardScaler(), tpr=0.6).fit([[0.0], [1.0]] * 20, [0, 1] * 20)


class LogOdds(ClassifierMixin, BaseEstimator):
    """Log odds of a forest, which are infinite where all trees agree; NaN for some samples."""

    def __init__(self, nan=False):
        self.nan = nan

    def fit(self, X, y):
        self.forest_ = RandomForestClassifier(20, random_state=0).fit(X, y)
        self.classes_ = self.forest_.classes_
        return self

    def decision_function(self, X):
        P = self.forest_.predict_proba(X)
        with np.errstate(divide="ignore"):
            odds = np.log(P[:, 1] / P[:, 0])
        return np.where(X[:, 0] > 0.5, np.nan, odds) if self.nan else odds


@pytest.mark.parametrize("wish", [{"tpr": 0.9}, {"tnr": 0.9}])
def test_infinite_scores_keep_their_order(wish):
    """As probabilities do, which have the same order."""
    X, y = make_classification(400, 5, random_state=0, class_sep=1.5)
    odds = RateGuarantee(LogOdds(), random_state=0, **wish).fit(X, y)
    forest = RateGuarantee(RandomForestClassifier(20, random_state=0), random_state=0, **wish)
    assert odds.predict(X).tolist() == forest.fit(X, y).predict(X).tolist()
    assert np.isfinite(odds.threshold_)
    assert not np.isnan(odds.decision_function(X)).any()


@pytest.mark.parametrize("cv", [None, 5, "prefit"])
def test_samples_without_a_score_are_refused(cv):
    X, y = make_classification(300, 5, random_state=0)
    classifier = LogOdds(nan=True)
    classifier = classifier.fit(X, y) if cv == "prefit" else classifier
    with pytest.raises(ValueError, match="must score every sample, got NaN for"):
        RateGuarantee(classifier, tpr=0.8, cv=cv).fit(X, y)


class Given(ClassifierMixin, BaseEstimator):
    """The only column is the score."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]


def test_small_scores_have_a_threshold_among_them():
    """Probabilities of 1e-12 are told apart, whatever the largest is."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    P = 10.0 ** (-12 + rng.normal(size=400) + y)
    P[0], y[0] = 1.0, 1
    model = RateGuarantee(FrozenEstimator(Given().fit(P[:, np.newaxis], y)), tpr=0.8)
    model.fit(P[:, np.newaxis], y)
    k = order_statistic(int(y.sum()), 0.8, 0.9)
    assert model.threshold_ == np.nextafter(np.sort(P[y == 1])[k - 1], -np.inf)


def test_folds_that_take_groups_apart_are_refused():
    X, y = make_classification(200, 5, random_state=0)
    groups = np.arange(200) // 4
    for cv in (KFold(5, shuffle=True, random_state=0), list(KFold(7).split(X))):
        model = RateGuarantee(LogisticRegression(), tpr=0.7, cv=cv)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's, that groups are ignored
            with pytest.raises(ValueError, match="cv must keep the samples of a group together"):
                model.fit(X, y, groups=groups)
