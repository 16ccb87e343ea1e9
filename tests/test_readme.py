"""The README's example runs as printed."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_run():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(README), "exec"), names)
    proba, model = names["proba"], names["model"]
    assert list(proba.columns) == ["benign", "malignant"]
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model[-1].pos_label_ == "malignant"
    assert model[-1].duality_gap_.shape == (11, 500)
    assert model[-1].duality_gap_.max() <= 1e-3
    assert names["wary"].oob_tpr_ >= 0.99
    assert len(names["cost"]) == len(proba)
    assert names["limits"].shape == (5, 2)


def test_pictures_exist():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / picture).is_file(), picture
