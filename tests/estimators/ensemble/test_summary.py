"""What notebooks show of a fitted ensemble."""

import numpy as np
import pytest
from sklearn import config_context

from svmproba import BootstrapSVC, ConstrainedBootstrapSVC, ThresholdBootstrapSVC

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 20, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, np.where(X[:, 0] + rng.normal(size=80) > 0, "<b>bad</b>", "good")


@pytest.mark.parametrize(
    "model",
    [BootstrapSVC(**SMALL), ThresholdBootstrapSVC(target_tnr=0.9, guarantee="oob", **SMALL)],
    ids=["plain", "threshold"],
)
def test_a_fitted_model_tells_what_it_came_to(model, data):
    assert "<li>" not in model._repr_html_()
    html = model.fit(*data)._repr_html_()
    assert "20 bags × 2 hyperparameter values = 40 SVMs on 80 samples" in html
    assert f"TPR {model.oob_tpr_:.1%}, TNR {model.oob_tnr_:.1%}" in html
    assert f"largest certified gap {model.duality_gap_.max():.1e}" in html
    assert html.count("<li>") == 3
    # Ids of the diagram are counted up: only the end is the same.
    assert model._repr_mimebundle_()["text/html"].endswith(html[html.rindex("<ul>") :])


def test_labels_are_escaped_and_the_display_can_be_text(data):
    model = BootstrapSVC(**SMALL).fit(*data).with_rate(tpr=0.9)
    assert "<b>bad" not in model._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_rates_that_are_not_known_are_not_told(data):
    X, y = data
    model = (
        ThresholdBootstrapSVC(0.8, per_theta=True, **SMALL)
        .fit(X, y)
        .with_rate(tpr=0.8, per_theta=True)
    )
    assert "rates not known" in model._repr_html_()


def test_constrained_members_have_a_sentence_of_their_own(data):
    model = ConstrainedBootstrapSVC(0.8, effort="fast", **SMALL).fit(*data)
    assert model.summary_ in model._repr_html_()
    assert model._repr_html_().count("<li>") == 4
