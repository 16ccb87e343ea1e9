"""What a move from scikit-learn's calibrated SVMs costs: CPU seconds of a fit, and Brier scores.

Every method is fitted to nine of ten folds and predicts the tenth, ten times, with the paper's
preprocessing of the nine. The time is the median CPU time of a fit on one thread, preprocessing
left out; methods take turns, and every method is fitted to a few records first, so that nothing
compiles in a measured time. The slow ones are fitted to the first fold alone and have no score.
The tables are Markdown, those of docs/migrating.md and docs/choosing.md.

    python benchmarks/migrating.py --csv out/migrating.csv          # 15 minutes
    python benchmarks/migrating.py --datasets wisconsin --folds 3 --bags 50
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import machine, write_csv
from _data import Floats, Labels, data_folder
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from svmproba import (
    BootstrapSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
)
from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor

DATASETS = ("german", "churn", "wisconsin")
CS = 2.0 ** np.arange(-5, 6)
WARM_UP_ROWS, WARM_UP_BAGS = 200, 40
#: Pairs of methods: what people have, and what they can take instead.
PAIRS = (
    ("svc", "one_C"),
    ("calibrated", "one_C"),
    ("searched", "tuned"),
    ("searched", "bags_auto"),
    ("liblinear", "tuned"),
    ("svc_rbf", "one_C_rbf"),
)


class Method(NamedTuple):
    """A classifier, how the tables call it, and whether one fit is all we wait for."""

    title: str
    make: Callable[[int], Any]  # from the number of bags
    slow: bool = False
    holds_back: str = "no"


def platt(**options: Any) -> Callable[[int], Any]:
    return lambda bags: ProbabilitySVC(random_state=0, **options)


def bags_of(kind: Any, *arguments: Any, **options: Any) -> Callable[[int], Any]:
    return lambda bags: kind(*arguments, n_bootstraps=bags, random_state=0, **options)


def search(bags: int) -> Any:
    grid = GridSearchCV(SVC(kernel="linear"), {"C": CS}, cv=5)
    return CalibratedClassifierCV(grid, ensemble=False)


LINEAR = {
    "svc": Method(
        "`SVC(probability=True)`, C = 1",
        lambda bags: SVC(kernel="linear", probability=True, random_state=0),
    ),
    "calibrated": Method(
        "`CalibratedClassifierCV(SVC(), ensemble=False)`, C = 1",
        lambda bags: CalibratedClassifierCV(SVC(kernel="linear"), ensemble=False),
    ),
    "searched": Method("… around a `GridSearchCV`, 11 C", search, slow=True),
    "liblinear": Method(
        "`CalibratedClassifierCV(LinearSVC())`",
        lambda bags: CalibratedClassifierCV(LinearSVC(random_state=0)),
    ),
    "one_C": Method("`ProbabilitySVC(Cs=1.0)`", platt(Cs=1.0)),
    "tuned": Method("`ProbabilitySVC()`, 11 C", platt()),
    "bags_auto": Method(
        '`BootstrapSVC(calibration="auto")`, 11 C', bags_of(BootstrapSVC, calibration="auto")
    ),
}
RBF = {
    "svc_rbf": Method(
        "`SVC(probability=True)`, C = 1", lambda bags: SVC(probability=True, random_state=0)
    ),
    "one_C_rbf": Method('`ProbabilitySVC(Cs=1.0, kernel="rbf")`', platt(Cs=1.0, kernel="rbf")),
    "bags_rbf": Method(
        '`BootstrapSVC(kernel="rbf", calibration="auto")`, 11 C',
        bags_of(BootstrapSVC, kernel="rbf", calibration="auto"),
    ),
    "bags_kernels": Method(
        '`BootstrapSVC(kernel="auto", calibration="auto")`, 11 C',
        bags_of(BootstrapSVC, kernel="auto", calibration="auto"),
    ),
}
OURS = {
    "bags": Method("`BootstrapSVC()`", bags_of(BootstrapSVC)),
    "bags_auto": LINEAR["bags_auto"]._replace(title='`BootstrapSVC(calibration="auto")`'),
    "split": Method(
        '`ThresholdBootstrapSVC(0.9, guarantee="split")`',
        bags_of(ThresholdBootstrapSVC, 0.9, guarantee="split"),
        holds_back="a third",
    ),
    "tuned": LINEAR["tuned"]._replace(title="`ProbabilitySVC()`, eleven values of C"),
    "posterior": Method(
        "`PosteriorProbabilitySVC(5.0)`",
        lambda bags: PosteriorProbabilitySVC(5.0),
    ),
    "weighted": Method("`WeightedProbabilitySVC()`", lambda bags: WeightedProbabilitySVC()),
}


def folds(name: str, n_folds: int) -> Iterator[tuple[Floats, Labels, Floats, Labels]]:
    """Yield training records and labels, new records and labels, preprocessed as in the paper."""
    X, y = load_dataset(name, data_folder())
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        step = make_preprocessor(X.iloc[train]).fit(X.iloc[train])
        yield step.transform(X.iloc[train]), y[train], step.transform(X.iloc[test]), y[test]


def warm_up(methods: dict[str, Method], X: Floats, y: Labels) -> None:
    """Fit every method to a few records of both classes."""
    half = WARM_UP_ROWS // 2
    rows = np.concatenate([np.flatnonzero(y == label)[:half] for label in np.unique(y)])
    for method in methods.values():
        method.make(WARM_UP_BAGS).fit(X[rows], y[rows])


def measure(name: str, methods: dict[str, Method], n_folds: int, bags: int) -> dict[str, Any]:
    """Seconds, Brier scores and contradicting labels of all methods on one data set."""
    seconds: dict[str, list[float]] = {key: [] for key in methods}
    squares: dict[str, list[Floats]] = {key: [] for key in methods}
    against: dict[str, list[Any]] = {key: [] for key in methods}
    for fold, (X, y, new, labels) in enumerate(folds(name, n_folds)):
        if fold == 0:
            warm_up(methods, X, y)
        for key, method in methods.items():
            if method.slow and fold > 0:
                continue
            model = method.make(bags)
            start = time.process_time()
            model.fit(X, y)
            seconds[key].append(time.process_time() - start)
            P = model.predict_proba(new)[:, 1]
            squares[key].append((P - (labels == model.classes_[1])) ** 2)
            against[key].append(model.predict(new) != model.classes_[(P >= 0.5).astype(int)])
    return {
        key: {
            "data": name,
            "method": key,
            "fits": len(seconds[key]),
            "rows": len(y),
            "cpu_s": statistics.median(seconds[key]),
            "brier": None if method.slow else float(np.concatenate(squares[key]).mean()),
            "contradictions": None if method.slow else float(np.concatenate(against[key]).mean()),
        }
        for key, method in methods.items()
    }


def two_digits(value: float) -> str:
    """Two significant digits, without an exponent."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:.0f}" if rounded >= 10 else f"{rounded:#.2g}"


def four_decimals(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}".removeprefix("0")


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def cost_table(heading: str, methods: dict[str, Method], results: dict[str, Any]) -> str:
    """Seconds and Brier score by method and data set; the best score in bold."""
    lines = [row(heading, *(cell for name in results for cell in (f"{name}, s", "Brier")))]
    lines.append(row(*["---"] * (1 + 2 * len(results))))
    scores = {
        n: {k: four_decimals(found[k]["brier"]) for k in methods} for n, found in results.items()
    }
    for key, method in methods.items():
        cells = []
        for name, found in results.items():
            score, best = scores[name][key], min(filter(None, scores[name].values()))
            cells += [two_digits(found[key]["cpu_s"]), f"**{score}**" if score == best else score]
        lines.append(row(method.title, *cells))
    return "\n".join(lines)


def ratio_table(results: dict[str, Any]) -> str:
    """How many times as long the fit takes that people move from."""
    titles = {key: method.title for key, method in (LINEAR | RBF).items()}
    titles["searched"] = "`CalibratedClassifierCV(GridSearchCV(SVC()))`, 11 C"
    titles["svc_rbf"] = '`SVC(kernel="rbf", probability=True)`, C = 1'
    lines = [row("before", "after", *(f"{name}: before s / after s" for name in results))]
    lines.append(row(*["---"] * (2 + len(results))))
    for before, after in PAIRS:
        cells = []
        for found in results.values():
            theirs, ours = found[before]["cpu_s"], found[after]["cpu_s"]
            times = f"{two_digits(theirs)} / {two_digits(ours)}"
            cells.append(f"{times} = {two_digits(theirs / ours)}")
        lines.append(row(titles[before], titles[after], *cells))
    return "\n".join(lines)


def choosing_table(name: str, found: dict[str, Any]) -> str:
    """Seconds of our methods on one data set, and what they can do."""
    what = f"CPU seconds to fit {name} ({found['bags']['rows']} records)"
    lines = [row("", what, "holds records back"), row(*["---"] * 3)]
    for key, method in OURS.items():
        seconds = two_digits(found[key]["cpu_s"])
        lines.append(row(method.title, seconds, method.holds_back))
    return "\n".join(lines)


def contradictions(results: dict[str, Any]) -> str:
    """How often the labels of `SVC` are not those of its probabilities."""
    shares = (
        f"{name} {found[key]['contradictions']:.1%} ({kernel})"
        for name, found in results.items()
        for key, kernel in (("svc", "linear"), ("svc_rbf", "rbf"))
    )
    what = "Labels of `SVC(probability=True)` that contradict its probabilities"
    return f"{what}: {', '.join(shares)}"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), metavar="NAME")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--bags", type=int, default=500)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args(arguments)
    if options.folds < 2:
        parser.error(f"--folds must be at least 2, got {options.folds}")
    if options.bags < 2:
        parser.error(f"--bags must be at least 2, got {options.bags}")
    return options


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    message = "The `probability` parameter was deprecated"
    warnings.filterwarnings("ignore", message=message, category=FutureWarning)
    warnings.filterwarnings("ignore", message="Liblinear", category=ConvergenceWarning)
    results = {}
    with threadpool_limits(1):
        for place, name in enumerate(options.datasets):
            methods = LINEAR | RBF | (OURS if place == 0 else {})
            results[name] = measure(name, methods, options.folds, options.bags)
    print(f"{machine()}; CPU seconds of one thread, {options.bags} bags\n")
    print(cost_table("linear kernel", LINEAR, results), end="\n\n")
    print(cost_table("rbf kernel", RBF, results), end="\n\n")
    print(ratio_table(results), end="\n\n")
    print(choosing_table(options.datasets[0], results[options.datasets[0]]), end="\n\n")
    print(contradictions(results))
    if options.csv:
        write_csv(options.csv, [record for found in results.values() for record in found.values()])
        print(f"written: {options.csv}", file=sys.stderr)


if __name__ == "__main__":
    main()
