import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from svmproba import BootstrapSVC, RateFeatureSelector, SelectedBootstrapSVC


def test_noise_stays_at_chance_out_of_bag():
    """A selection on all samples makes noise look like signal; one inside each bag does not."""
    n, honest, dishonest = 150, [], []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(n, 100))
        y = np.arange(n) % 2
        selector = RateFeatureSelector(0.75, 0.75, random_state=0)
        settings = {"Cs": [1.0], "n_bootstraps": 25, "random_state": 0}
        two_steps = make_pipeline(selector, BootstrapSVC(**settings)).fit(X, y)
        dishonest.append(two_steps[-1].oob_score_)
        inside = SelectedBootstrapSVC(selector, **settings).fit(X, y)
        honest.append(inside.oob_score_)
        assert inside.selection_frequency_.max() < 0.5  # no column stands out
    # Three standard errors above one half.
    chance = 0.5 + 3 * 0.5 / np.sqrt(3 * n)
    assert np.mean(honest) < chance < np.mean(dishonest)


def test_members_are_those_of_their_columns(table):
    X, y = scale(table[0]), table[1]
    selector = RateFeatureSelector(0.9, 0.85)
    model = SelectedBootstrapSVC(selector, Cs=[0.1, 1.0], n_bootstraps=12, random_state=0).fit(X, y)
    assert model.member_coef_.shape == (2, 12, 8)
    np.testing.assert_array_equal(model.member_coef_.any(axis=0), model.bag_support_)
    np.testing.assert_allclose(model.selection_frequency_, model.bag_support_.mean(axis=0))
    assert (model.duality_gap_ <= model.tol).all()
    # The same bags without a selection, fitted on the columns of one of them.
    columns = model.bag_support_[0]
    plain = BootstrapSVC([0.1, 1.0], n_bootstraps=12, random_state=0).fit(X[:, columns], y)
    np.testing.assert_array_equal(plain.counts_, model.counts_)
    same = (model.bag_support_ == columns).all(axis=1)
    np.testing.assert_allclose(
        model.member_coef_[:, same][:, :, columns],
        plain.member_coef_[:, same],
        rtol=0.02,
        atol=0.02,
    )
    assert model.oob_score_ > 0.85
    assert model.predict_proba(X).shape == (120, 2)


def test_the_votes_are_those_of_the_members(table):
    X, y = table
    X = scale(X)
    selector = RateFeatureSelector(0.8, 0.8)
    model = SelectedBootstrapSVC(
        selector, Cs=[1.0], n_bootstraps=30, class_weight=[None, "balanced"], random_state=0
    ).fit(X, y)
    scores = np.einsum("tbp,np->tbn", model.member_coef_, X) + model.intercept_[:, :, np.newaxis]
    np.testing.assert_allclose(model.vote_shares(X), (scores > 0).mean(axis=1), atol=1e-12)
    out = model.counts_ == 0
    votes = ((scores > 0) & out).sum(axis=1) / out.sum(axis=0)
    shares = (model.weights_[:, np.newaxis] * votes).sum(axis=0)
    np.testing.assert_allclose(model.oob_proba_[:, 1], shares, atol=1e-12)


def test_calibration_and_rates_work(table):
    X, y = table
    model = SelectedBootstrapSVC(
        RateFeatureSelector(0.8, 0.8), Cs=[1.0], n_bootstraps=30, calibration="platt",
        random_state=0,
    ).fit(scale(X), y)  # fmt: skip
    assert model.with_rate(tpr=0.95).oob_tpr_ >= 0.95


def test_floors_out_of_reach_use_all_columns():
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = SelectedBootstrapSVC(
        RateFeatureSelector(0.95, 0.95), Cs=[1.0], n_bootstraps=20, random_state=0
    )
    with pytest.warns(UserWarning, match="In 20 of 20 bags no rule .* use all columns"):
        model.fit(X, np.arange(80) % 2)
    assert model.bag_support_.all()


def test_bad_selectors_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="must be above 0"):
        SelectedBootstrapSVC(RateFeatureSelector(0.0, 0.9), n_bootstraps=5).fit(X, y)
    with pytest.raises(ValueError, match="min_tpr must be a number"):
        SelectedBootstrapSVC(RateFeatureSelector(2.0), n_bootstraps=5).fit(X, y)


def test_a_selector_of_another_kind():
    with pytest.raises(TypeError, match="must be None or a RateFeatureSelector, got SelectKBest"):
        SelectedBootstrapSVC(SelectKBest(k=1)).fit([[0.0], [1.0]] * 20, [0, 1] * 20)
