"""Every parameter is documented, and in the same words wherever it means the same."""

import inspect
import re

import pytest

import svmproba.estimators as estimators
from svmproba.estimators.shared.texts import TEXTS, document_parameters

CLASSES = sorted({getattr(estimators, name) for name in estimators.__all__}, key=repr)
#: Parameters with several texts, and why.
DIFFERENT = {
    "kernel": "ensembles take lists of kernels",
    "class_weight": "ensembles take lists of weights",
    "gammas": "ensembles can search them",
    "n_components": "ensembles can search it",
    "cv": "PosteriorProbabilitySVC has no C_selection, which tells the rule elsewhere",
    "C_selection": "the defaults and the measured scores differ",
    "readout": "two methods with their own ways to read a probability",
    "effort": "ConstrainedSVC tells the times of one SVM",
    "calibration_size": "RateGuarantee fits no bags",
    "confidence": "of a guarantee, or of a floor on the population",
    "random_state": "RateGuarantee draws no bags",
    "tol": "members with floors have no tolerance, the SVMs they start from do",
}


def documented(cls):
    """Texts of the parameters in the docstring of a class, by name."""
    section = re.search(r"\nParameters\n-+\n(.*?)\n\n(?=\w+\n-+\n)", cls.__doc__, re.DOTALL)[1]
    entries = re.findall(r"^(\w+) : (.*(?:\n    .*)*)", section, re.MULTILINE)
    assert "\n".join(f"{name} : {text}" for name, text in entries) == section
    return dict(entries)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_is_documented_in_order(cls):
    assert list(documented(cls)) == list(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", CLASSES)
def test_documented_defaults_are_those_of_the_signature(cls):
    for name, text in documented(cls).items():
        default = inspect.signature(cls).parameters[name].default
        if default is inspect.Parameter.empty:
            assert "default=" not in text
            continue
        said = re.search(r"default=(\S+)$", text.partition("\n")[0])[1]
        assert eval(said, {"inf": float("inf")}) == default, name


def test_a_name_has_one_text_unless_there_is_a_reason():
    texts = {}
    for cls in CLASSES:
        for name, text in documented(cls).items():
            texts.setdefault(name, set()).add(text)
    assert {name for name, found in texts.items() if len(found) > 1} == DIFFERENT.keys()


def test_every_shared_text_is_used():
    found = {text for cls in CLASSES for text in documented(cls).values()}
    assert len(found & {expanded(key) for key in TEXTS}) == len(TEXTS)


def expanded(key):
    class Estimator:
        __doc__ = f"Title.\n\nParameters\n----------\n{{{key}}}\n\nNotes\n-----\nNone."

    return documented(document_parameters(Estimator))[key.partition("/")[0]]


def test_a_marker_that_names_nothing_is_an_error():
    with pytest.raises(KeyError, match="unknown"):
        expanded("unknown")


def test_a_class_without_a_docstring_is_left_alone():
    class Bare:
        pass

    assert document_parameters(Bare).__doc__ is None
