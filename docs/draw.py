"""Draw the figures of the user guide.

python docs/draw.py    # german's file: in SVMPROBA_DATA, in the cache, or downloaded
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from scipy.special import expit
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from svmproba import BootstrapSVC
from svmproba.evaluation import CostCurveDisplay, RateDisplay
from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor

IMAGES = Path(__file__).parent / "images"
COST_OF_A_DEFAULT = 5
#: Weights of two features in log odds that are known.
LOG_ODDS = np.array([1.2, -0.9])
SIZES = {100: "#9ecae1", 1_000: "#4292c6", 10_000: "#08306b"}


def main() -> None:
    """Draw all figures."""
    matplotlib.use("Agg")
    draw_costs_and_rates()
    draw_meaning()


def draw_costs_and_rates() -> None:
    """Costs against the threshold, and rates, on the half of german credit that is held out."""
    X, y = load_dataset("german")
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
    careful = make_pipeline(votes[0], votes[-1].with_rate(tpr=0.9))
    display = RateDisplay.from_estimator(careful, X_new, y_new, against="tpr")
    display.figure_.savefig(IMAGES / "rates.png", dpi=110)


def draw_meaning() -> None:
    """Vote shares and calibrated probabilities against a known P(y|x), for growing samples."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    truth = np.linspace(-4, 4, 401)
    along = np.outer(truth, LOG_ODDS / (LOG_ODDS @ LOG_ODDS))
    rng = np.random.default_rng(0)
    X_new = rng.normal(size=(20_000, 2))
    print("samples  mean squared distance from P(y|x): vote shares, calibrated")
    for n, color in SIZES.items():
        X = rng.normal(size=(n, 2))
        y = rng.random(n) < expit(X @ LOG_ODDS)
        votes = BootstrapSVC(random_state=0).fit(X, y)
        distances = []
        for ax, model in zip(axes, (votes, votes.with_calibration("auto")), strict=True):
            label = f"{n:,} samples".replace(",", " ")
            ax.plot(expit(truth), model.predict_proba(along)[:, 1], color=color, label=label)
            error = model.predict_proba(X_new)[:, 1] - expit(X_new @ LOG_ODDS)
            distances.append(np.mean(error**2))
        print(f"{n:7}  {distances[0]:.5f}  {distances[1]:.5f}")
    for ax, title in zip(axes, ("vote shares", 'calibration="auto"'), strict=True):
        ax.plot([0, 1], [0, 1], "--", color="#d1495b", lw=1.2, label="the truth")
        ax.set(title=title, xlabel="P(y | x)", xlim=(0, 1), ylim=(-0.02, 1.02))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("predict_proba")
    axes[0].legend(frameon=False, loc="upper left")
    figure.savefig(IMAGES / "meaning.png", dpi=110)


if __name__ == "__main__":
    main()
