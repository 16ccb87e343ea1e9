import numpy as np
import pytest
from PIL import Image

from svmproba.paper import demo
from svmproba.paper.demo import comparison, main
from svmproba.preparation.performance import Summary


def test_demo_end_to_end(tmp_path, capsys):
    main(["--bootstraps", "40", "--jobs", "1", "--out", str(tmp_path / "new" / "out")])
    said = capsys.readouterr().out
    assert "569 records, 30 attributes, 212 malignant" in said
    assert "\n10 stratified folds, 40 bags x 11 values of C = 440 SVMs each\n" in said
    row = next(line for line in said.splitlines() if line.startswith("EBB, all values of C"))
    _, mse, mse_se, mse_paper, auc, _, auc_paper = (
        row.replace("(", "").replace(")", "").rsplit(maxsplit=6)
    )
    assert (mse_paper, auc_paper) == ("0.018", "0.996")
    assert 0.005 < float(mse) < 0.035
    assert 0 < float(mse_se) < 0.02
    assert float(auc) > 0.97
    assert "one hold-out of 57 records" in said
    for name in ("score_histograms", "reliability", "overview"):
        with Image.open(tmp_path / "new" / "out" / f"{name}.png") as image:
            assert min(image.size) > 600
            assert len(np.unique(np.asarray(image.convert("L")))) > 20
    page = (tmp_path / "new" / "out" / "report.html").read_text(encoding="utf-8")
    assert "569 tumours: 212" in page


def test_bad_arguments(capsys):
    with pytest.raises(SystemExit):
        main(["--bootstraps", "0"])
    assert "--bootstraps must be at least 1, got 0" in capsys.readouterr().err


def test_one_bag_is_allowed(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(demo, "run", lambda *args: asked.append(args))
    main(["--bootstraps", "1", "--out", str(tmp_path), "--jobs", "2"])
    assert asked == [(1, tmp_path, 2)]


def test_the_table_word_for_word():
    ebb = Summary(0.0312, 0.001, 0.05, 0, 0.02, 0, 0.99, 0.002)
    best = ebb._replace(mse=0.04)
    head, rule, *rows = comparison({"ebb": ebb, "ebb_best": best}).splitlines()
    assert head.split() == ["MSE", "(s.e.)", "paper", "AUC", "(s.e.)", "paper"]
    assert rule == "-" * len(head)
    assert rows[0] == (
        "EBB, all values of C       0.0312 (0.0010)   0.018     0.9900 (0.0020)   0.996"
    )
    assert [row[:42].split("0.")[0].strip() for row in rows] == [
        "EBB, all values of C",
        "EBB, best C only",
        "EBB, malignant only",
        "EBB, benign only",
    ]
    assert "0.0400 (0.0010)" in rows[1]
    assert [row.split()[-2] for row in rows[2:]] == ["0.0500", "0.0200"]
    assert [row.split()[-1] for row in rows[2:]] == ["0.036", "0.006"]
