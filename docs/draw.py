"""Draw the pictures of the guide: german credit, half of the records held out.

python docs/draw.py    # looks for the data files in SVMPROBA_DATA
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from svmproba import BootstrapSVC
from svmproba.evaluation import CostCurveDisplay, RateDisplay
from svmproba.paper.datasets import load_dataset
from svmproba.paper.preprocessing import make_preprocessor

IMAGES = Path(__file__).parent / "images"
COST_OF_A_DEFAULT = 5


def main() -> None:
    """Draw both pictures."""
    matplotlib.use("Agg")
    X, y = load_dataset("german", Path(os.environ["SVMPROBA_DATA"]))
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    votes = make_pipeline(make_preprocessor(X), BootstrapSVC(random_state=0)).fit(X, y)
    calibrated = make_pipeline(votes[0], votes[-1].with_calibration("auto"))
    costs = {"fn_cost": COST_OF_A_DEFAULT}
    display = CostCurveDisplay.from_estimator(
        calibrated, X_new, y_new, name='calibration="auto"', **costs
    )
    CostCurveDisplay.from_estimator(
        votes, X_new, y_new, name="vote shares", ax=display.ax_, color="#d1495b", **costs
    )
    display.figure_.savefig(IMAGES / "cost.png", dpi=110)
    wary = make_pipeline(votes[0], votes[-1].with_rate(tpr=0.9))
    display = RateDisplay.from_estimator(wary, X_new, y_new, against="tpr")
    display.figure_.savefig(IMAGES / "rates.png", dpi=110)


if __name__ == "__main__":
    main()
