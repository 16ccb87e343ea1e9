"""Race: the probabilities of `BootstrapSVC` against those that users get from an SVM today.

Every record of a data set is predicted by models that have not seen it, in repeated stratified
folds. One line a data set tells the Brier score (the paper's MSE) of each method and whether
``calibration="auto"`` is as good as the best peer, by the paired difference and its standard error.
How the peers are built: see README.md beside this file.

    python benchmarks/quality_race.py --csv out/quality.csv
    python benchmarks/quality_race.py --datasets german churn --repeats 3 --rbf
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import machine, warm_up, write_csv
from _data import Floats, Labels, data_folder
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from svmproba import BootstrapSVC
from svmproba.bootstrap.summaries.reliability import weights
from svmproba.bootstrap.summaries.votes import mix_shares
from svmproba.evaluation import calibration_error, class_mse
from svmproba.paper.data.datasets import PAPER_DATASETS, load_dataset
from svmproba.preparation.preprocessing import make_preprocessor
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features

CS = np.exp2(np.arange(-5.0, 6.0))
LINKS = ("auto", "platt", "isotonic", "beta", "venn_abers", "stack")
OURS = ("ebb", "best_theta", *LINKS)
SINGLE = ("sigmoid", "isotonic", "temperature")
PEERS = (*(f"{m}_cv" for m in SINGLE), *(f"{m}_ens" for m in SINGLE), "venn_pkg", "bagged")
RBF_OURS = ("rbf", "kernels")
RBF_PEERS = ("rbf_sigmoid_cv", "rbf_sigmoid_ens", "rbf_isotonic_cv", "rbf_isotonic_ens")
#: Gammas of tuned rbf SVMs, in units of scikit-learn's "scale".
FACTORS = (0.25, 1.0, 4.0)
INNER_FOLDS = 5
#: Repeats of the folds, fewer where a fit takes seconds.
LARGE = 10_000


class Score(ClassifierMixin, BaseEstimator):
    """A classifier whose only column is its score: scikit-learn calibrates scores with it."""

    def fit(self, X: Floats, y: Labels) -> Score:
        """Note the classes."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the column."""
        return X[:, 0]

    def predict(self, X: Floats) -> Labels:
        """Return the side of zero."""
        return self.classes_[(X[:, 0] > 0).astype(int)]


def calibrated(method: str, held_out: Floats, y: Labels, new: Floats) -> Floats:
    """Probabilities of new scores, by scikit-learn's calibration on held-out scores."""
    frozen = FrozenEstimator(Score().fit(held_out[:, None], y))
    everything = np.arange(len(y))
    model = CalibratedClassifierCV(frozen, method=method, cv=[(everything, everything)])
    model.fit(held_out[:, None], y)
    return model.predict_proba(new[:, None])[:, 1]


def venn_abers(held_out: Floats, y: Labels, new: Floats) -> Floats:
    """Probabilities of the package venn-abers; a monotone map makes its input probabilities."""
    from venn_abers import VennAbers

    def two_columns(scores: Floats) -> Floats:
        p = 0.5 + 0.5 * scores / (1 + np.abs(scores))
        return np.column_stack([1 - p, p])

    model = VennAbers()
    model.fit(two_columns(held_out), y)
    return model.predict_proba(two_columns(new))[0][:, 1]


class TunedSVM:
    """The SVMs behind a calibrated and tuned `SVC`: five folds and the whole, all C and gammas.

    They are fitted by our solver to a relative gap of 1e-5, where `SVC` would need hours on the
    largest table; C and gamma have the best accuracy on the held-out folds, the first of equals.
    """

    def __init__(
        self,
        X: Floats,
        y: Labels,
        seed: int,
        n_jobs: int,
        kernel: str = "linear",
        factors: tuple[float, ...] = (1.0,),
    ) -> None:
        self.y = y
        self.fold = np.empty(len(y), dtype=int)
        splitter = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
        for k, (_, test) in enumerate(splitter.split(X, y)):
            self.fold[test] = k
        used = np.array([self.fold != k for k in range(INNER_FOLDS)] + [np.ones(len(y), bool)])
        signs, best = np.where(y == 1, 1.0, -1.0), -1.0
        for factor in factors:
            gamma, rng = factor / (X.shape[1] * X.var()), np.random.default_rng(0)
            self.map, rows = fit_features(X, gamma=gamma, kernel=kernel, rng=rng)
            fit = fit_ensemble(rows, signs, used.astype(np.uint8), CS, tol=1e-5, n_jobs=n_jobs)
            scores = self._scores(X, fit.coef, fit.intercept)
            held_out = scores[:, self.fold, np.arange(len(y))]
            accuracy = ((held_out > 0) == (y == 1)).mean(axis=1)
            if accuracy.max() > best:
                self.best, best = int(np.argmax(accuracy)), accuracy.max()
                self.held_out, feature_map = held_out[self.best], self.map
                self.coef, self.intercept = fit.coef[self.best], fit.intercept[self.best]
        self.map = feature_map

    def _scores(self, X: Floats, coef: Floats, intercept: Floats) -> Floats:
        """Scores (..., n) of models (..., d), some rows at a time: a kernel's are long."""
        blocks = [slice(first, first + 1000) for first in range(0, len(X), 1000)]
        parts = [coef @ self.map.transform(X[block]).T for block in blocks]
        return np.concatenate(parts, axis=-1) + intercept[..., None]

    def scores(self, X: Floats) -> Floats:
        """Scores (6, n) of the five fold models and the model of all records."""
        return self._scores(X, self.coef, self.intercept)

    def pooled(self, by: Callable[[Floats, Labels, Floats], Floats], X: Floats) -> Floats:
        """One link on the pooled held-out scores: ``ensemble=False``."""
        return by(self.held_out, self.y, self.scores(X)[-1])

    def averaged(self, by: Callable[[Floats, Labels, Floats], Floats], X: Floats) -> Floats:
        """One link a fold, probabilities averaged: ``ensemble=True``, scikit-learn's default."""
        parts = [
            by(self.held_out[self.fold == k], self.y[self.fold == k], scores)
            for k, scores in enumerate(self.scores(X)[:INNER_FOLDS])
            if len(np.unique(self.y[self.fold == k])) == 2
        ]
        return np.mean(parts, axis=0)


def linear_probabilities(
    X: Floats, y: Labels, new: Floats, bags: int, seed: int, n_jobs: int
) -> dict[str, Floats]:
    """Probability of class 1 of new records, by every method with linear SVMs."""
    model = BootstrapSVC(CS, n_bootstraps=bags, random_state=seed, n_jobs=n_jobs).fit(X, y)
    shares = model.vote_shares(new)
    found = {"ebb": mix_shares(shares, model.weights_)}
    found["best_theta"] = mix_shares(shares, weights(model.reliability_, 0.0))
    for link in LINKS:
        found[link] = model.with_calibration(link).predict_proba(new)[:, 1]
    svm = TunedSVM(X, y, seed, n_jobs)
    for method in SINGLE:
        found[f"{method}_cv"] = svm.pooled(partial(calibrated, method), new)
        found[f"{method}_ens"] = svm.averaged(partial(calibrated, method), new)
    found["venn_pkg"] = svm.pooled(venn_abers, new)
    found["bagged"] = shares[svm.best]
    return found


def rbf_probabilities(
    X: Floats, y: Labels, new: Floats, bags: int, seed: int, n_jobs: int
) -> dict[str, Floats]:
    """Probability of class 1 of new records, by every method with rbf SVMs."""
    fixed = {"n_bootstraps": bags, "random_state": seed, "n_jobs": n_jobs, "calibration": "auto"}
    found = {
        name: BootstrapSVC(CS, kernel=kernel, **fixed).fit(X, y).predict_proba(new)[:, 1]
        for name, kernel in zip(RBF_OURS, ("rbf", "auto"), strict=True)
    }
    svm = TunedSVM(X, y, seed, n_jobs, "rbf", FACTORS)
    for method in ("sigmoid", "isotonic"):
        found[f"rbf_{method}_cv"] = svm.pooled(partial(calibrated, method), new)
        found[f"rbf_{method}_ens"] = svm.averaged(partial(calibrated, method), new)
    return found


def race(name: str, args: argparse.Namespace) -> tuple[dict[str, Floats], Labels]:
    """Out-of-fold probabilities (n_repeats, n) of every method on a data set, and its labels."""
    X, y = load_dataset(name, data_folder())
    repeats = 1 if len(y) > LARGE else args.repeats
    names = (*OURS, *PEERS) + (RBF_OURS + RBF_PEERS if args.rbf else ())
    found = {method: np.empty((repeats, len(y))) for method in names}
    start = time.monotonic()
    for r in range(repeats):
        splitter = StratifiedKFold(args.folds, shuffle=True, random_state=r)
        for k, (train, test) in enumerate(splitter.split(X, y)):
            preprocessor = make_preprocessor(X)
            rows = preprocessor.fit_transform(X.iloc[train])
            new = preprocessor.transform(X.iloc[test])
            fixed = (rows, y[train], new, args.bags, r, args.jobs)
            folds = linear_probabilities(*fixed) | (rbf_probabilities(*fixed) if args.rbf else {})
            for method, p in folds.items():
                found[method][r, test] = p
            done = r * args.folds + k + 1
            print(
                f"\r{name}: fold {done}/{repeats * args.folds}, {time.monotonic() - start:.0f} s ",
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    return found, y


def measure(name: str, method: str, P: Floats, y: Labels) -> dict[str, Any]:
    """All measures of one method on one data set, means over the repeats."""
    clipped = np.clip(P, 1e-6, 1 - 1e-6)
    by_class = np.array([class_mse(y, p, pos_label=1) for p in P]).mean(axis=0)
    ece = calibration_error(y, P.mean(axis=0), pos_label=1)
    return {
        "data": name,
        "method": method,
        "repeats": len(P),
        "brier": float(((P - y) ** 2).mean()),
        "auc": float(np.mean([roc_auc_score(y, p) for p in P])),
        "log_loss": float(np.mean([log_loss(y, p) for p in clipped])),
        "mse_plus": float(by_class[0]),
        "mse_minus": float(by_class[1]),
        "ece": ece.error,
        "ece_lower": ece.lower,
        "ece_upper": ece.upper,
    }


def verdict(found: dict[str, Floats], y: Labels) -> dict[str, Any]:
    """Best peer in Brier score, and the paired difference of our recommendation to it.

    That is ``kernels`` where rbf SVMs take part, else ``auto``.
    """
    errors = {method: ((P - y) ** 2).mean(axis=0) for method, P in found.items()}
    best = min(set(found) & {*PEERS, *RBF_PEERS}, key=lambda method: errors[method].mean())
    ours = "kernels" if "kernels" in found else "auto"
    difference = errors[ours] - errors[best]
    return {
        "ours": ours,
        "best": best,
        "difference": float(difference.mean()),
        "error": float(difference.std(ddof=1) / np.sqrt(len(y))),
    }


def ranks(brier: Floats) -> Floats:
    """Rank of each method (columns) on each data set (rows), ties shared."""
    smaller = (brier[:, None, :] < brier[:, :, None]).sum(axis=2)
    equal = (brier[:, None, :] == brier[:, :, None]).sum(axis=2)
    return smaller + (equal + 1) / 2


def print_table(table: dict[str, tuple[dict[str, float], dict[str, Any]]]) -> None:
    """Brier scores, one line a data set, then mean ranks and the count of wins."""
    brier, found = next(iter(table.values()))
    ours, titles = found["ours"], list(brier)
    peers = [t for t in titles if t in (*PEERS, *RBF_PEERS)]
    contenders = ("auto", *(t for t in titles if t in RBF_OURS), *peers)
    print(f"{'data':<18}" + "".join(f"{t:>17}" for t in titles) + f"{f'{ours} - best peer':>34}")
    for name, (brier, found) in table.items():
        cells = "".join(f"{brier[t]:>17.4f}" for t in titles)
        difference = f"{found['difference']:+.4f} ± {found['error']:.4f} {found['best']}"
        print(f"{name:<18}{cells}  {difference:>32}")
    scores = np.array([[brier[t] for t in contenders] for brier, _ in table.values()])
    mean = dict(zip(contenders, ranks(scores).mean(axis=0), strict=True))
    print(f"\n{'mean rank':<18}" + "".join(f"{t} {mean[t]:.2f}  " for t in contenders))
    strict = sum(found["difference"] < 0 for _, found in table.values())
    within = sum(found["difference"] <= found["error"] for _, found in table.values())
    print(f"{ours} is strictly best on {strict} of {len(table)}, within one s.e. on {within}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(PAPER_DATASETS))
    parser.add_argument("--bags", type=int, default=500)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3, help="1 beyond 10 000 records")
    parser.add_argument("--rbf", action="store_true", help="rbf SVMs too, ours and tuned ones")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", type=Path, help="all measures, one line a method and data set")
    args = parser.parse_args(arguments)
    for option in ("bags", "folds", "repeats"):
        least = 2 if option == "folds" else 1
        if getattr(args, option) < least:
            parser.error(f"--{option} must be at least {least}, got {getattr(args, option)}")
    return args


def main(arguments: list[str] | None = None) -> None:
    args = parse(arguments)
    warnings.filterwarnings("ignore", category=UserWarning)
    print(machine())
    print(f"{args.bags} bags x {len(CS)} C, {args.folds} stratified folds, Brier scores\n")
    warm_up(args.jobs)
    table, records = {}, []
    for name in args.datasets:
        found, y = race(name, args)
        lines = [measure(name, method, P, y) for method, P in found.items()]
        records += lines
        table[name] = {line["method"]: line["brier"] for line in lines}, verdict(found, y)
        if args.csv:
            write_csv(args.csv, records)
    print_table(table)


if __name__ == "__main__":
    main()
