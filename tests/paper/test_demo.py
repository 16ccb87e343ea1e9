import io

import numpy as np
import pytest
from PIL import Image

from svmproba.paper.demo import fold_progress, main
from svmproba.paper.figures import example_records, overview


def test_demo_end_to_end(tmp_path, capsys):
    main(["--bootstraps", "40", "--jobs", "1", "--out", str(tmp_path / "new" / "out")])
    said = capsys.readouterr().out
    assert "569 records, 30 attributes, 212 malignant" in said
    assert said.count("fold ") == 10
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


def test_progress_on_a_terminal_and_in_a_file():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        show = fold_progress(stream)
        for done in range(3):
            show(done, 2)
    assert terminal.getvalue().count("\r") == 3
    assert terminal.getvalue().count("\n") == 1
    assert "#" * 15 + " " in terminal.getvalue()
    assert file.getvalue().count("\n") == 2
    assert "fold  2 of 2" in file.getvalue()


def test_example_records():
    scores = np.array([[-3, -2], [-1, -2], [-1, 1], [1, 2], [-0.1, -0.2]])
    assert example_records(scores) == (1, 2, 3)
    assert example_records(np.array([[-1, 1], [-2, 3]])) == (0, 0, 1)


def test_a_score_of_zero_is_a_vote_for_the_negative_class():
    """As in `predict`: the two shares over the picture add up to one."""
    y = np.arange(8) % 2
    scores = np.where(y[:, np.newaxis] == 1, 1.0, -1.0) * np.ones(4)
    scores[3] = [-1.0, 0.0, 1.0, 2.0]
    left = overview(y, scores, (scores > 0).mean(axis=1), ("well", "ill")).axes[0]
    assert {text.get_text() for text in left.texts} >= {"50%\nwell", "50%\nill"}


def test_bad_arguments(capsys):
    with pytest.raises(SystemExit):
        main(["--bootstraps", "0"])
    assert "--bootstraps must be at least 1, got 0" in capsys.readouterr().err
