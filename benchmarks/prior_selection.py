"""EBB with and without a selection of columns before it: the first question the paper leaves open.

The columns are chosen in every training part anew, from its records alone; all else is the paper's
protocol ``fair``: its folds, preprocessing, 500 bags and 11 values of C. Contenders:

* ``all``: EBB on all columns.
* ``rates FLOOR``: EBB on the columns of ``RateFeatureSelector`` with this floor under both rates;
  the dummies of one attribute are chosen together.
* ``F as many``: EBB on as many columns as the higher floor chose, those of largest F statistic.
* ``F 50``: the same with 50 columns.
* ``in bags FLOOR``: ``SelectedBootstrapSVC``, which selects in each of 100 bags (not for adult).

    python benchmarks/prior_selection.py --csv out/selection.csv   # goes on where it was stopped
    python benchmarks/prior_selection.py --data german --folds 3 --bags 50

How the numbers are meant: see README.md beside this file.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _common import machine
from _data import Floats, Labels, data_folder
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import roc_auc_score

from svmproba import BootstrapSVC, RateFeatureSelector, SelectedBootstrapSVC
from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.folds import Part, split_parts
from svmproba.preparation.preprocessing import make_preprocessor

#: Floors under both rates; the higher one comes last.
FLOORS = {
    "leukemia": (0.95, 1.0),
    "SRBCT": (0.95, 1.0),
    "absenteeism": (0.65, 0.7),
    "german": (0.65, 0.7),
    "adult": (0.75, 0.8),
}
MANY, IN_BAGS = 50, 100
KINDS = ["all", "rates", "F", "in bags"]
FIELDS = ("data", "contender", "fold", "n", "squares", "auc", "attributes", "columns", "select_s",
          "fit_s", "bags")  # fmt: skip


def contenders(name: str) -> list[str]:
    """Name what is compared on a data set; `F as many` follows the selection it copies."""
    floors = [f"rates {floor:g}" for floor in FLOORS[name]]
    in_bags = [] if name == "adult" else [f"in bags {FLOORS[name][-1]:g}"]
    return ["all", *floors, "F as many", f"F {MANY}", *in_bags]


def attributes_of(preprocessor: Any) -> Labels:
    """Tell the attribute of each encoded column, by number."""
    owners: list[int] = []
    for name, step, attributes in preprocessor.transformers_:
        for attribute in attributes if name in ("numbers", "categories") else ():
            place = list(attributes).index(attribute)
            width = 1 if name == "numbers" else len(step[-1].categories_[place])
            owners += [owners[-1] + 1 if owners else 0] * width
    return np.array(owners)


def choose(contender: str, rows: Floats, y: Labels, owner: Labels, n_before: int, seed: int) -> Any:
    """Choose columns by the records of a training part, as booleans."""
    if contender.startswith("rates"):
        groups = [np.flatnonzero(owner == k).tolist() for k in np.unique(owner)]
        floor = float(contender.split()[1])
        selector = RateFeatureSelector(floor, floor, groups_of_columns=groups, random_state=seed)
        return selector.fit(rows, y).get_support()
    if contender.startswith("F"):
        k = n_before if contender == "F as many" else min(MANY, rows.shape[1])
        with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
            warnings.simplefilter("ignore", UserWarning)  # constant columns
            return SelectKBest(f_classif, k=k).fit(rows, y).get_support()
    return np.ones(rows.shape[1], dtype=bool)


def run_part(
    contender: str, table: tuple[Any, Labels], part: Part, n_before: int, bags: int
) -> tuple[Floats, dict[str, Any]]:
    """Predict the records left out of a training part; gives what this cost, too."""
    X, y = table
    seed = int(np.random.SeedSequence([0, part.repeat, part.fold]).generate_state(1)[0] >> 1)
    preprocessor = make_preprocessor(X)
    rows = preprocessor.fit_transform(X.iloc[part.train])
    owner = attributes_of(preprocessor)
    start = time.process_time()
    kept = choose(contender, rows, y[part.train], owner, n_before, seed)
    chosen = time.process_time()
    if contender.startswith("in bags"):
        floor = float(contender.split()[2])
        groups = [np.flatnonzero(owner == k).tolist() for k in np.unique(owner)]
        selector = RateFeatureSelector(floor, floor, groups_of_columns=groups)
        model: Any = SelectedBootstrapSVC(
            selector, n_bootstraps=min(bags, IN_BAGS), random_state=seed
        )
    else:
        model = BootstrapSVC(n_bootstraps=bags, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # bags in which the floors are not reached
        model.fit(rows[:, kept], y[part.train])
    spent = time.process_time()
    proba = model.predict_proba(preprocessor.transform(X.iloc[part.test])[:, kept])[:, 1]
    if contender.startswith("in bags"):
        kept = model.bag_support_.any(axis=0)
    return proba, {
        "attributes": len(np.unique(owner[kept])),
        "columns": int(kept.sum()),
        "select_s": chosen - start,
        "fit_s": spent - chosen,
        "bags": model.n_bootstraps,
    }


def run(name: str, table: tuple[Any, Labels], part: Part, done: Any, options: Any) -> Any:
    """Yield a record of every contender that is not done, and keep it in `done`."""
    y = table[1]
    for contender in contenders(name):
        if not contender.startswith(tuple(options.only)):
            continue
        key = name, contender, str(part.fold)
        if key in done:
            continue
        before = done.get((name, f"rates {FLOORS[name][-1]:g}", str(part.fold)), {"columns": 0})
        proba, told = run_part(contender, table, part, int(before["columns"]), options.bags)
        truth = y[part.test]
        done[key] = {
            "data": name, "contender": contender, "fold": part.fold, "n": len(truth),
            "squares": float(np.sum((truth - proba) ** 2)),
            "auc": float(roc_auc_score(truth, proba)), **told,
        }  # fmt: skip
        yield done[key]


def tell(name: str, done: Any) -> None:
    """Print the line of every contender: differences are paired by fold."""
    by = {
        contender: [r for (data, other, _), r in done.items() if (data, other) == (name, contender)]
        for contender in contenders(name)
    }

    def column(contender: str, key: str) -> Floats:
        return np.array([float(record[key]) for record in by[contender]])

    base = column("all", "squares") / column("all", "n"), column("all", "auc")
    for contender, records in by.items():
        if not records or len(records) < len(by["all"]):
            continue
        squares, n = column(contender, "squares"), column(contender, "n")
        cells = [name if contender == "all" else "", contender]
        for values, own, overall in (
            (squares / n, base[0], squares.sum() / n.sum()),
            (column(contender, "auc"), base[1], column(contender, "auc").mean()),
        ):
            change = values - own
            error = change.std(ddof=1) / np.sqrt(len(change))
            more = "" if contender == "all" else f" ({change.mean():+.3f} ± {error:.3f})"
            cells.append(f"{overall:.3f}{more}")
        for key in ("attributes", "columns"):
            cells.append(f"{column(contender, key).mean():.4g}")
        cells += [f"{column(contender, key).mean():.2f}" for key in ("select_s", "fit_s")]
        print("| " + " | ".join(cells) + " |", flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="EBB with and without a prior selection.")
    add = parser.add_argument
    add("--data", nargs="+", default=list(FLOORS), choices=FLOORS, metavar="NAME",
        help=f"tables (default: {' '.join(FLOORS)})")  # fmt: skip
    add("--only", nargs="+", default=KINDS, help="run only contenders that begin so")
    add("--folds", type=int, default=10)
    add("--part", type=int, help="run this fold alone, from 0, without a summary: for many cores")
    add("--bags", type=int, default=500)
    add("--csv", type=Path, help="keep the results of every fold here")
    options = parser.parse_args(arguments)
    for name, least in (("folds", 2), ("bags", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} must be at least {least}, got {getattr(options, name)}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    done: dict[tuple[str, str, str], Any] = {}
    if options.csv and options.csv.exists():
        with options.csv.open(newline="") as file:
            done = {(r["data"], r["contender"], r["fold"]): r for r in csv.DictReader(file)}
    print(machine(), "\n", flush=True)
    print("| data | columns of | MSE | AUC | attributes | columns | selection s | fit s |")
    print("|" + " --- |" * 8, flush=True)
    for name in options.data:
        table = load_dataset(name, data_folder())
        parts = split_parts("fair", table[1], bootstrap=True, n_folds=options.folds)
        for part in parts if options.part is None else parts[options.part : options.part + 1]:
            for record in run(name, table, part, done, options):
                if options.csv:
                    keep(options.csv, record)
        if options.part is None:
            tell(name, done)


def keep(path: Path, record: dict[str, Any]) -> None:
    """Add a record to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in record.items()})


if __name__ == "__main__":
    main()
