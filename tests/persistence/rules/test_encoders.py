"""Forged encoders: SciPy would write beyond its table."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from svmproba import ModelFileError, ProbabilitySVC, load, save


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


ENCODER = {
    "narrow": ("_n_features_outs", [2, 1], "_n_features_outs"),
    "one column": ("_n_features_outs", [3], "different lengths"),
    "text": ("_n_features_outs", ["3", 3], "_n_features_outs"),
    "dropped beyond": ("_drop_idx_after_grouping", {"objects": [[2], [99, None]]}, "_drop_idx"),
    "dropped before": ("_drop_idx_after_grouping", {"objects": [[2], [-5, None]]}, "_drop_idx"),
    "dropped just before": (
        "_drop_idx_after_grouping",
        {"objects": [[2], [-1, None]]},
        "_drop_idx",
    ),
    "dropped just beyond": (
        "_drop_idx_after_grouping",
        {"objects": [[2], [3, None]]},
        "_drop_idx",
    ),
    "dropped text": ("_drop_idx_after_grouping", {"objects": [[2], ["x", None]]}, "_drop_idx"),
    "no categories": ("categories_", [], "different lengths"),
    "categories of text": ("categories_", ["abc", "abc"], "not arrays"),
    "rare": ("_infrequent_enabled", True, "cannot be checked"),
}


def forge_encoder(path, forge, data, encoder, change, words=True):
    values = np.where(data[0][:, :2] > 0.5, 2.0, np.where(data[0][:, :2] < -0.5, 0.0, 1.0))
    values = np.array(["low", "middle", "high"])[values.astype(int)] if words else values
    model = make_pipeline(encoder, ProbabilitySVC("wahba", Cs=[1.0])).fit(values, data[1])
    save(model, path)
    load(path)
    forge(path, lambda tree, arrays: change(steps_of(tree)[0]["OneHotEncoder"], arrays))


def steps_of(tree):
    return [step["tuple"][1] for step in tree["Pipeline"]["steps"]]


@pytest.mark.parametrize("name", ENCODER)
@pytest.mark.parametrize("drop", [None, "first"])
def test_encoders_that_write_outside(name, drop, data, path, forge):
    """SciPy would write categories beyond the columns of its table."""
    attribute, value, message = ENCODER[name]

    def change(encoder, arrays):
        encoder[attribute] = value

    forge_encoder(path, forge, data, OneHotEncoder(drop=drop, sparse_output=False), change)
    refused(path, message)


def test_categories_that_fall(data, path, forge):
    """Bisection gives a place after the last of them."""

    def change(encoder, arrays):
        number = encoder["categories_"][1]["array"]
        arrays[number] = arrays[number][::-1]

    forge_encoder(path, forge, data, OneHotEncoder(sparse_output=False), change, words=False)
    refused(path, "do not increase")


def test_a_dropped_place_among_the_rare(data, path):
    """The last place before the rare categories, which are one, and a column less."""
    values = np.repeat([["a"], ["b"], ["c"], ["d"]], [len(data[1]) - 42, 30, 6, 6], axis=0)
    encoder = OneHotEncoder(drop=["b"], min_frequency=10, sparse_output=False)
    model = make_pipeline(encoder, ProbabilitySVC("wahba", Cs=[1.0])).fit(values, data[1])
    assert encoder._drop_idx_after_grouping.tolist() == [1]
    save(model, path)
    np.testing.assert_array_equal(load(path).predict_proba(values), model.predict_proba(values))


@pytest.mark.parametrize("name", ["mapping", "shift", "group", "enabled"])
def test_rare_categories_that_lead_outside(name, data, path, forge):
    def change(encoder, arrays):
        mappings = encoder["_default_to_infrequent_mappings"]
        number = mappings[0]["array"]
        if name == "mapping":
            arrays[number] = arrays[number][1:]
        elif name == "shift":
            arrays[number] = arrays[number] + 5
        elif name == "group":
            mappings[0] = None
        else:
            encoder["_infrequent_enabled"] = False

    encoder = OneHotEncoder(min_frequency=40, sparse_output=False)
    forge_encoder(path, forge, data, encoder, change)
    refused(path, "_n_features_outs|has shape|mappings that differ")


def test_a_parameter_without_a_default(data, path, forge):
    def change(tree, arrays):
        del tree["Pipeline"]["steps"]

    save(make_pipeline(ProbabilitySVC("wahba", Cs=[1.0])).fit(*data), path)
    forge(path, change)
    refused(path, "is Pipeline without all its parameters")
