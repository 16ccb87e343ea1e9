"""Arena: our probabilities against SVM peers, logistic regression and boosting, on 43 tables.

Every record is predicted by models that have not seen it. Each table and fold is kept in a file of
its own as soon as it is done, so that a run that was stopped goes on where it was.

    python benchmarks/arena.py                          # all tables; hours with the rbf contenders
    python benchmarks/arena.py --without rbf            # linear contenders and boosting only
    python benchmarks/arena.py --tables german titanic --folds 5 --bags 100
    python benchmarks/arena.py --report                 # tables of what is done
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _arena_tables import TABLES, load_table
from _common import machine, warm_up
from _data import Floats, Labels
from quality_race import PEERS, TunedSVM, calibrated, ranks, venn_abers
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from svmproba import BootstrapSVC
from svmproba.evaluation import calibration_error
from svmproba.preparation.preprocessing import make_preprocessor

CS = np.exp2(np.arange(-5.0, 6.0))
INNER = 5
#: Records of a table beyond which its rbf contenders are left out.
LARGE = 8_000
LINEAR_OURS = ("ebb", "auto", "auto_weighted")
RBF_OURS = ("auto_kernels", "auto_kernels_weighted", "auto_rbf")
SVM_PEERS = (*PEERS, "linear_svc", "svc_rbf")
OTHERS = ("logistic", "boosting", "boosting_calibrated")


def bootstrap(X: Floats, y: Labels, new: Floats, args: Any, **params: Any) -> dict[str, Floats]:
    """Probabilities of a calibrated ensemble and of its votes."""
    model = BootstrapSVC(
        n_bootstraps=args.bags, calibration="auto", random_state=0, n_jobs=args.jobs, **params
    ).fit(X, y)
    votes = model.with_calibration(None)
    return {name: m.predict_proba(new)[:, 1] for name, m in (("auto", model), ("ebb", votes))}


def linear_contenders(X: Floats, y: Labels, new: Floats, args: Any) -> dict[str, Floats]:
    found = bootstrap(X, y, new, args, class_weight=[None])
    found["auto_weighted"] = bootstrap(X, y, new, args, class_weight="auto")["auto"]
    svm = TunedSVM(X, y, 0, args.jobs)
    for method in ("sigmoid", "isotonic", "temperature"):
        found[f"{method}_cv"] = svm.pooled(partial(calibrated, method), new)
        found[f"{method}_ens"] = svm.averaged(partial(calibrated, method), new)
    found["venn_pkg"] = svm.pooled(venn_abers, new)
    bag = BootstrapSVC(CS[svm.best], n_bootstraps=args.bags, random_state=0, n_jobs=args.jobs).fit(
        X, y
    )
    found["bagged"] = bag.predict_proba(new)[:, 1]
    squared = GridSearchCV(LinearSVC(dual=False), {"C": CS}, cv=INNER, n_jobs=args.jobs).fit(X, y)
    found["linear_svc"] = _calibrated(squared.best_estimator_, X, y, new)
    logistic = LogisticRegressionCV(
        Cs=np.exp2(np.arange(-8.0, 8.0)), cv=INNER, scoring="neg_log_loss", max_iter=1000
    )
    found["logistic"] = logistic.fit(X, y).predict_proba(new)[:, 1]
    boosting = HistGradientBoostingClassifier(early_stopping=True, random_state=0)
    found["boosting"] = boosting.fit(X, y).predict_proba(new)[:, 1]
    found["boosting_calibrated"] = _calibrated(boosting, X, y, new)
    return found


def rbf_contenders(X: Floats, y: Labels, new: Floats, args: Any) -> dict[str, Floats]:
    options: dict[str, Any] = {"kernel": "auto", "class_weight": [None]}
    found = {"auto_kernels": bootstrap(X, y, new, args, **options)["auto"]}
    options["class_weight"] = "auto"
    found["auto_kernels_weighted"] = bootstrap(X, y, new, args, **options)["auto"]
    found["auto_rbf"] = bootstrap(X, y, new, args, kernel="rbf")["auto"]
    scale = 1 / (X.shape[1] * X.var())
    grid = {"C": CS[::2], "gamma": [scale / 4, scale, 4 * scale]}
    tuned = GridSearchCV(SVC(), grid, cv=INNER, n_jobs=args.jobs).fit(X, y)
    found["svc_rbf"] = _calibrated(tuned.best_estimator_, X, y, new)
    return found


def _calibrated(estimator: Any, X: Floats, y: Labels, new: Floats) -> Floats:
    """By scikit-learn's replacement of ``SVC(probability=True)``: one model, pooled sigmoid."""
    model = CalibratedClassifierCV(estimator, cv=INNER, ensemble=False)
    return model.fit(X, y).predict_proba(new)[:, 1]


KINDS = {"linear": linear_contenders, "rbf": rbf_contenders}


def run_table(name: str, args: argparse.Namespace) -> None:
    """Predict the folds of a table that are not in the store."""
    X, y = load_table(name)
    splitter = StratifiedKFold(args.folds, shuffle=True, random_state=0)
    for k, (train, test) in enumerate(splitter.split(X, y)):
        for kind, contenders in KINDS.items():
            path = args.store / f"{name}.{args.folds}.{k}.{kind}.npz"
            if path.exists() or kind in args.without or (kind == "rbf" and len(y) > LARGE):
                continue
            preprocessor = make_preprocessor(X)
            rows = preprocessor.fit_transform(X.iloc[train])
            new = preprocessor.transform(X.iloc[test])
            start = time.monotonic()
            found = contenders(rows, y[train], new, args)
            part = path.with_suffix(".part.npz")
            np.savez_compressed(part, test=test, **found)
            part.replace(path)
            seconds = time.monotonic() - start
            print(f"{name}: fold {k + 1}/{args.folds}, {kind}, {seconds:.0f} s", file=sys.stderr)


def read_table(name: str, args: argparse.Namespace) -> tuple[dict[str, Floats], Labels] | None:
    """Out-of-fold probabilities (n,) of every contender that is complete; None if none is."""
    y = load_table(name)[1]
    found: dict[str, Floats] = {}
    for path in sorted(args.store.glob(f"{name}.{args.folds}.*.npz")):
        with np.load(path) as part:
            for method in part.files:
                if method != "test":
                    whole = found.setdefault(method, np.full(len(y), np.nan))
                    whole[part["test"]] = part[method]
    complete = {method: P for method, P in found.items() if not np.isnan(P).any()}
    return (complete, y) if complete else None


def errors_of(P: Floats, y: Labels) -> Floats:
    return (P - y) ** 2


def lead(mine: Floats, other: Floats) -> tuple[float, float]:
    """Mean of a paired difference and its standard error."""
    difference = mine - other
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def print_scores(tables: dict[str, Any]) -> None:
    """Brier scores, one line a table."""
    methods = (*LINEAR_OURS, *RBF_OURS, *SVM_PEERS, *OTHERS)
    print(f"{'Brier':<18}{'n':>7}{'share':>7}" + "".join(f"{m[:12]:>13}" for m in methods))
    for name, (found, y) in tables.items():
        cells = (
            f"{errors_of(found[m], y).mean():13.4f}" if m in found else " " * 13 for m in methods
        )
        print(f"{name:<18}{len(y):>7}{y.mean():>7.2f}" + "".join(cells))


def print_means(tables: dict[str, Any], methods: tuple[str, ...]) -> None:
    """Mean ranks and means of all measures over the tables where all these methods ran."""
    common = [(f, y) for f, y in tables.values() if all(m in f for m in methods)]
    if not common:
        return
    brier = np.array([[errors_of(f[m], y).mean() for m in methods] for f, y in common])
    rank = ranks(brier).mean(axis=0)
    title = f"{len(common)} tables"
    print(f"\n{title:<22}{'rank':>6}{'Brier':>8}{'log loss':>10}{'AUC':>7}{'ECE':>7}")
    for k in np.argsort(rank):
        name = methods[k]
        loss = np.mean([log_loss(y, np.clip(f[name], 1e-6, 1 - 1e-6)) for f, y in common])
        auc = np.mean([roc_auc_score(y, f[name]) for f, y in common])
        ece = np.mean([calibration_error(y, f[name], pos_label=1).error for f, y in common])
        mean = brier[:, k].mean()
        print(f"{name:<22}{rank[k]:>6.2f}{mean:>8.4f}{loss:>10.4f}{auc:>7.3f}{ece:>7.3f}")


def print_verdicts(tables: dict[str, Any], methods: tuple[str, ...]) -> None:
    """How often ours are as good as the best SVM peer in hindsight, and as logistic regression."""
    print("\nwithin one standard error of / behind by more than three:")
    for method in methods:
        told = []
        for title, rivals in (("best SVM peer", SVM_PEERS), ("logistic", ("logistic",))):
            n = within = behind = 0
            worst = []
            for name, (found, y) in tables.items():
                errors = {m: errors_of(found[m], y) for m in rivals if m in found}
                if method not in found or not errors:
                    continue
                best = min(errors, key=lambda m: errors[m].mean())
                mean, error = lead(errors_of(found[method], y), errors[best])
                n, within, behind = n + 1, within + (mean <= error), behind + (mean > 3 * error)
                if mean > error:
                    worst.append(f"{name} {mean / error:.1f}")
            told.append(f"{title} {within} of {n} / {behind} ({', '.join(worst)})")
        print(f"{method:<22}" + "; ".join(told))


def print_choice(tables: dict[str, Any], methods: tuple[str, ...]) -> None:
    """Leave one table out: ours of least mean relative Brier score on the others, judged on it."""
    common = {k: v for k, v in tables.items() if all(m in v[0] for m in (*methods, "logistic"))}
    if len(common) < 2:
        return
    relative = np.array(
        [
            [errors_of(f[m], y).mean() / errors_of(f["logistic"], y).mean() for m in methods]
            for f, y in common.values()
        ]
    )
    others = (relative.sum(axis=0) - relative) / (len(relative) - 1)
    chosen = others.argmin(axis=1)
    score = relative[np.arange(len(relative)), chosen].mean()
    counts = {methods[k]: int(np.sum(chosen == k)) for k in np.unique(chosen)}
    fixed = ", ".join(f"{m} {v:.3f}" for m, v in zip(methods, relative.mean(axis=0), strict=True))
    print(f"\nBrier score over that of logistic regression, mean: {fixed}")
    print(f"chosen with one table left out: {counts}; its score there: {score:.3f}")


def report(args: argparse.Namespace) -> None:
    tables = {name: read for name in args.tables if (read := read_table(name, args)) is not None}
    print_scores(tables)
    linear = (*LINEAR_OURS, *PEERS, "linear_svc", *OTHERS)
    print_means(tables, linear)
    print_means(tables, (*linear, *RBF_OURS, "svc_rbf"))
    print_verdicts(tables, (*LINEAR_OURS, *RBF_OURS))
    print_choice(tables, LINEAR_OURS)
    print_choice(tables, (*LINEAR_OURS, *RBF_OURS))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES, metavar="NAME")
    parser.add_argument("--bags", type=int, default=500)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--without", nargs="+", default=[], choices=KINDS, metavar="KIND")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--store", type=Path, default=Path("out/arena"))
    parser.add_argument("--report", action="store_true", help="only print what is in the store")
    args = parser.parse_args(arguments)
    for option, least in (("bags", 1), ("folds", 2)):
        if getattr(args, option) < least:
            parser.error(f"--{option} must be at least {least}, got {getattr(args, option)}")
    return args


def main(arguments: list[str] | None = None) -> None:
    args = parse(arguments)
    warnings.filterwarnings("ignore")
    if not args.report:
        print(f"{machine()}\n{args.bags} bags, {args.folds} folds", file=sys.stderr)
        args.store.mkdir(parents=True, exist_ok=True)
        warm_up(args.jobs)
        for name in args.tables:
            run_table(name, args)
    report(args)


if __name__ == "__main__":
    main()
