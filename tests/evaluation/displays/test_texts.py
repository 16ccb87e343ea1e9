"""Shared texts of displays: every marker is replaced, every text is used."""

import inspect

import pytest

import svmproba.evaluation as evaluation
from svmproba.evaluation.displays.texts import TEXTS, document_display

DISPLAYS = [getattr(evaluation, name) for name in evaluation.__all__ if name.endswith("Display")]


def docstrings(cls):
    methods = [method for _, method in inspect.getmembers(cls, callable)]
    return [found.__doc__ for found in (cls, *methods) if found.__doc__]


@pytest.mark.parametrize("cls", DISPLAYS)
def test_markers_are_replaced(cls):
    assert not any("\n{" in text or "    {" in text for text in docstrings(cls))
    assert "\nax : matplotlib Axes" in inspect.getdoc(cls.plot)


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_used(key):
    class Display:
        __doc__ = f"Title.\n\n{{{key}}}"

    _, _, text = document_display(Display).__doc__.partition("\n\n")
    kept = [
        line.strip()
        for found in map(docstrings, DISPLAYS)
        for doc in found
        for line in doc.splitlines()
    ]
    wanted = [line.strip() for line in text.splitlines()]
    places = range(len(kept) - len(wanted) + 1)
    assert any(kept[k : k + len(wanted)] == wanted for k in places)
