"""Private names of scikit-learn: where they are missing, the fallback does."""

import importlib
import sys
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import svmproba
from svmproba import (
    BootstrapSVC,
    ConstrainedSVC,
    ProbabilitySVC,
    RateFeatureSelector,
    _sklearn_compat,
    save,
)
from svmproba._sklearn_compat import callback_context, encoder_state, has_callbacks, input_places
from svmproba.persistence._archive import Refused
from svmproba.persistence.rules.objects import check_object

ROOT = Path(__file__).resolve().parents[1]


def first_column(frame):
    return ["a"]


@pytest.mark.parametrize(
    "columns",
    [
        ["b", "d"],
        "c",
        slice("b", "d"),
        slice("c", None),
        slice(1, 3),
        [0, -1],
        2,
        np.array([True, False, False, True]),
        [],
        first_column,
    ],
    ids=lambda columns: getattr(columns, "__name__", str(columns)),
)
def test_places_are_found_without_the_private_name(columns):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 4)), columns=list("abcd"))
    one = isinstance(columns, str | int)
    part = "drop" if one else StandardScaler()
    fitted = ColumnTransformer([("part", part, columns)], remainder="passthrough").fit(frame)
    expected = input_places(fitted)
    del fitted._transformer_to_input_indices
    assert input_places(fitted) == expected
    assert sorted(expected["part"] + expected["remainder"]) == [0, 1, 2, 3]


def test_an_encoder_of_another_kind_is_not_trusted():
    fitted = OneHotEncoder(min_frequency=2).fit([["a"], ["a"], ["b"], ["c"]])
    assert encoder_state(fitted).widths == [2]
    check_object(OneHotEncoder, vars(fitted))
    del fitted._n_features_outs
    assert encoder_state(fitted) is None
    with pytest.raises(Refused, match="cannot be checked with this scikit-learn"):
        check_object(OneHotEncoder, vars(fitted))


def test_estimators_without_callbacks_report_nothing():
    class Plain:
        pass

    assert callback_context(Plain(), 3) is None
    assert not has_callbacks(Plain())


def test_an_old_scikit_learn_has_stand_ins(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    try:
        old = importlib.reload(_sklearn_compat)

        class Model(old.CallbackSupportMixin):
            @old.with_callbacks
            def fit(self):
                return 1

        assert old.CallbackSupportMixin.__module__ == old.__name__
        assert Model().fit() == 1
    finally:
        monkeypatch.undo()
        importlib.reload(_sklearn_compat)


def test_settings_of_fits_to_come_are_no_state(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = BootstrapSVC(1.0, n_bootstraps=20, random_state=0).fit(X, X[:, 0] > 0)
    for name in _sklearn_compat.NOT_FITTED_STATE:
        setattr(model, name, object())
    save(model, tmp_path / "model.svmproba")


def test_diagrams_link_to_the_guide(monkeypatch):
    """Where the installed package names it; classes of others have no page there."""
    models = [BootstrapSVC(), ConstrainedSVC(), ProbabilitySVC(), RateFeatureSelector()]
    monkeypatch.setattr(_sklearn_compat, "guide_address", lambda: "https://guide.example")
    for model in models:
        page = f"https://guide.example/generated/svmproba.{type(model).__name__}.html"
        assert model._get_doc_link() == page
        assert f'href="{page}"' in model._repr_html_()
    assert type("Mine", (BootstrapSVC,), {"__module__": "mine"})()._get_doc_link() == ""
    monkeypatch.setattr(_sklearn_compat, "guide_address", lambda: "")
    assert [model._get_doc_link() for model in models] == [""] * 4
    assert 'href="http' not in models[0]._repr_html_()


@pytest.mark.parametrize(
    ("urls", "address"),
    [
        (["Source, https://a.example", "Documentation, https://b.example"], "https://b.example"),
        (["Documentation, https://OWNER.example"], ""),
        (["Source, https://a.example"], ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_address_of_the_guide(urls, address, monkeypatch):
    def facts(name):
        if urls is None:
            raise PackageNotFoundError(name)
        message = Message()
        for url in urls:
            message["Project-URL"] = url
        return message

    monkeypatch.setattr(_sklearn_compat, "metadata", facts)
    _sklearn_compat.guide_address.cache_clear()
    assert _sklearn_compat.guide_address() == address
    _sklearn_compat.guide_address.cache_clear()


def test_pages_that_diagrams_link_to_are_in_the_api():
    listed = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").split()
    shown = {name for name in svmproba.__all__ if hasattr(getattr(svmproba, name), "fit")}
    assert {getattr(svmproba, name).__name__ for name in shown} <= set(listed)
