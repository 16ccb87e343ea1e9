import numpy as np
import pytest
from PIL import Image

from svmproba.paper.demo import main


def test_demo_end_to_end(tmp_path, capsys):
    main(["--bootstraps", "40", "--jobs", "1", "--out", str(tmp_path / "new" / "out")])
    said = capsys.readouterr().out
    assert "569 records, 30 attributes, 212 malignant" in said
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
