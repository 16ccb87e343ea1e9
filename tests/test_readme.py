"""The README's examples run and print what it shows."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_run_and_print_what_is_shown(capsys):
    text = README.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python")
    for code, shown in blocks:
        exec(compile(code, str(README), "exec"), names)
        assert capsys.readouterr().out == shown
    proba, svm = names["proba"], names["svm"]
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert svm.calibrator_ is not None
    assert svm.pos_label_ == 0
    assert svm.duality_gap_.shape == (11, 500)
    assert svm.duality_gap_.max() <= 1e-3
    assert names["careful"].oob_tpr_ >= 0.99
    assert len(names["cost"]) == len(proba)
    assert names["pairs"].shape == (5, 2)


def test_pictures_exist():
    # Badges are on other pages.
    for picture in re.findall(
        r"!\[.*?\]\(((?!https|\.\./).*?)\)", README.read_text(encoding="utf-8")
    ):
        assert (README.parent / picture).is_file(), picture
