"""Known truth: how far probabilities are from the true ones, by share of positives and size.

Five normal columns, P(+|x) = 1 / (1 + exp(b - x1 - x2 / 2 + 0.8 x3)). The excess Brier score is the
mean square of the distance between stated and true probabilities of new records: no noise of labels
is in it. A tenth disagrees where the true mean of ten equal parts of the new records lies outside
the limits that as many labels as training records would give, 99 % for all ten at once.

    python benchmarks/known_truth.py                     # an hour on two cores
    python benchmarks/known_truth.py --n 1000 5000 --shares 0.09 --repeats 20
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from _common import machine, warm_up, write_csv
from _data import Floats, Labels
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from svmproba import BootstrapSVC

SLOPES = np.array([1.0, 0.5, -0.8, 0.0, 0.0])
N_NEW, TENTHS = 50_000, 10
METHODS = ("auto", "platt", "logistic")


def intercept_of(share: float) -> float:
    """Find the intercept with this share of positives in the long run."""
    z = norm.ppf((np.arange(10_000) + 0.5) / 10_000) * np.linalg.norm(SLOPES)
    return float(brentq(lambda b: expit(z + b).mean() - share, -20, 20))


def draw(n: int, intercept: float, rng: np.random.Generator) -> tuple[Floats, Labels, Floats]:
    """Draw records, labels and true probabilities."""
    X = rng.normal(size=(n, len(SLOPES)))
    truth = expit(X @ SLOPES + intercept)
    return X, (rng.random(n) < truth).astype(int), truth


def tenths_apart(P: Floats, truth: Floats, n: int) -> int:
    """Count tenths whose stated and true means differ by more than labels could tell."""
    parts = np.array_split(np.argsort(P, kind="stable"), TENTHS)
    stated, true = (np.array([values[part].mean() for part in parts]) for values in (P, truth))
    limit = norm.ppf(1 - 0.005 / TENTHS) * np.sqrt(true * (1 - true) * TENTHS / n)
    return int(np.sum(np.abs(stated - true) > limit))


def cell(n: int, share: float, seed: int, bags: int) -> dict[str, Any]:
    """Excess of all methods on one training set."""
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng([seed, n])
    b = intercept_of(share)
    X, y, _ = draw(n, b, rng)
    new, _, truth = draw(N_NEW, b, rng)
    found: dict[str, Any] = {"n": n, "share": share, "seed": seed}
    start = time.process_time()
    model = BootstrapSVC(calibration="auto", n_bootstraps=bags, random_state=seed).fit(X, y)
    found["seconds"] = time.process_time() - start
    models = (model, model.with_calibration("platt"), LogisticRegression(C=np.inf).fit(X, y))
    for method, fitted in zip(METHODS, models, strict=True):
        P = fitted.predict_proba(new)[:, 1]
        found[method] = float(((P - truth) ** 2).mean())
        found[f"{method}_apart"] = tenths_apart(P, truth, n)
    return found


def repeats_of(n: int, repeats: int) -> int:
    """Fewer where a fit takes long."""
    return 1 if n >= 200_000 else max(1, repeats // 5) if n >= 20_000 else repeats


def report(cells: list[dict[str, Any]]) -> None:
    """Mean excess and its standard error, and the mean number of tenths that disagree."""
    print(f"{'n':>7} {'share':>5} {'sets':>4}" + "".join(f"{m:>20}{'apart':>7}" for m in METHODS))
    for n, share in sorted({(c["n"], c["share"]) for c in cells}):
        rows = [c for c in cells if (c["n"], c["share"]) == (n, share)]
        line = f"{n:>7} {share:>5.0%} {len(rows):>4}"
        for method in METHODS:
            excess = np.array([c[method] for c in rows])
            error = excess.std(ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
            apart = np.mean([c[f"{method}_apart"] for c in rows])
            line += f"{excess.mean():>10.5f} ± {error:.5f}{apart:>7.1f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 5_000, 20_000, 200_000])
    parser.add_argument(
        "--shares", type=float, nargs="+", default=[0.02, 0.05, 0.09, 0.18, 0.5], metavar="SHARE"
    )
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--bags", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", type=Path)
    args = parser.parse_args()
    print(f"{machine()}\n{args.bags} bags, {N_NEW} new records")
    warm_up(1)
    cells = joblib.Parallel(n_jobs=args.jobs)(
        joblib.delayed(cell)(n, share, seed, args.bags)
        for n in sorted(args.n, reverse=True)
        for share in args.shares
        for seed in range(repeats_of(n, args.repeats))
    )
    if args.csv:
        write_csv(args.csv, cells)
    report(cells)


if __name__ == "__main__":
    main()
