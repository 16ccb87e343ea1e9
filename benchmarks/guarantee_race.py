r"""Race: a guaranteed true positive rate, and the false alarms it costs.

Every contender gets the same records of a data set, and is asked for a threshold whose TPR on new
records is at least the rate, with confidence 0.9. Half of the records fit the model and half set
the threshold, except where the method uses all of them for both. The scores are those of two
models, both with ``class_weight="balanced"``:

* *svm*: one ``LinearSVC``, C by 5-fold AUC; sigmoid calibration for those who need probabilities.
* *bags*: ``BootstrapSVC(calibration="platt")``.

The contenders are ``BinaryClassificationController`` of MAPIE as it comes (100 thresholds,
Bonferroni-Holm), with ``fwer_method="fixed_sequence"``, and the latter with 1000 thresholds;
scikit-learn's ``TunedThresholdClassifierCV``, which guarantees nothing, with the TNR as its score
where the TPR is reached; and `with_rate` of `BootstrapSVC` with ``guarantee="split"``, ``"oob"``
and ``"jackknife+"``. How the numbers are meant: see README.md beside this file.

    python benchmarks/guarantee_race.py --csv out/guarantee.csv
    python benchmarks/guarantee_race.py --datasets german churn --rates 0.95 --repeats 20
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import machine, warm_up, write_csv
from _data import Floats, Labels, data_folder
from joblib import Parallel, delayed
from scipy.stats import betabinom, binom
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from svmproba import BootstrapSVC
from svmproba.bootstrap.guarantee import order_statistic
from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor

#: Data sets with enough positives for a guarantee on half of 60 % of them.
DATASETS = (
    "absenteeism", "adult", "australian", "careval", "churn", "german", "heart", "housing",
    "productivity", "wisconsin",
)  # fmt: skip
#: Share of the records that contenders get, and the most that they get and are tested on.
FIT_SHARE, MOST_FITTED, MOST_TESTED = 0.6, 2000, 10_000
SVM_CS = 2.0 ** np.arange(-7, 2, 2)
CONFIDENCE = 0.9


class Contender(NamedTuple):
    """Who it is, whose scores it uses, on which records, and whether it guarantees the rate."""

    method: str
    short: str
    scores: str
    threshold_on: str
    guarantees: bool


CONTENDERS = {
    "mapie_svm": Contender("MAPIE", "MAPIE", "svm", "half", True),
    "mapie_fixed_svm": Contender("MAPIE fixed_sequence", "fixed", "svm", "half", True),
    "tuned_svm": Contender("TunedThresholdClassifierCV", "tuned", "svm", "all", False),
    "mapie_bags": Contender("MAPIE", "MAPIE", "bags", "half", True),
    "mapie_fixed_bags": Contender("MAPIE fixed_sequence", "fixed", "bags", "half", True),
    "mapie_fine_bags": Contender("MAPIE fixed, 1000 thresholds", "fine", "bags", "half", True),
    "split": Contender("ours, split", "split", "bags", "half", True),
    "oob": Contender("ours, oob", "oob", "bags", "all", True),
    "jackknife+": Contender("ours, jackknife+", "jack+", "bags", "all", False),
}


class Parts(NamedTuple):
    """Rows and labels of one split, twice preprocessed: as its first half says, and as both do."""

    train: tuple[Floats, Labels]
    threshold: tuple[Floats, Labels]
    test_half: tuple[Floats, Labels]
    everything: tuple[Floats, Labels]
    test_all: tuple[Floats, Labels]


class Outcome(NamedTuple):
    """What a contender did on one split; `no_threshold`: it found none."""

    tpr: float
    fpr: float
    seconds: float
    no_threshold: bool


def split(name: str, seed: int) -> Parts:
    X, y = load_dataset(name, data_folder())
    n = min(int(FIT_SHARE * len(y)), MOST_FITTED)
    n_test = min(len(y) - n, MOST_TESTED)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n, test_size=n_test, stratify=y, random_state=seed
    )
    X_train, X_threshold, y_train, y_threshold = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    half, whole = make_preprocessor(X).fit(X_train), make_preprocessor(X).fit(X)
    return Parts(
        (half.transform(X_train), y_train),
        (half.transform(X_threshold), y_threshold),
        (half.transform(X_test), y_test),
        (whole.transform(X), y),
        (whole.transform(X_test), y_test),
    )


# The contenders


def tuned_svm(X: Floats, y: Labels) -> LinearSVC:
    grid = GridSearchCV(LinearSVC(class_weight="balanced"), {"C": SVM_CS}, scoring="roc_auc", cv=5)
    return grid.fit(X, y).best_estimator_


def mapie(predict_proba: Callable[[Floats], Floats], rate: float, **options: Any) -> Any:
    from mapie.risk_control import BinaryClassificationController

    return BinaryClassificationController(
        predict_proba, risk="recall", target_level=rate, confidence_level=CONFIDENCE, **options
    )


def tnr_where_tpr(y: Labels, called: Labels, rate: float) -> float:
    tpr, tnr = called[y == 1].mean(), 1 - called[y == 0].mean()
    return tnr if tpr >= rate else tpr - 1


FIXED = {"fwer_method": "fixed_sequence"}
FINE = {**FIXED, "list_predict_params": np.linspace(0, 0.999, 1000)}
MAPIE_OPTIONS = {"mapie": {}, "mapie_fixed": FIXED, "mapie_fine": FINE}


class Clock:
    """CPU seconds of a step; other jobs on the machine do not count."""

    def __enter__(self) -> Clock:
        self.start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.start


def judge(predict: Any, test: tuple[Floats, Labels], seconds: float) -> Outcome:
    X, y = test
    called = np.ones(len(y)) if predict is None else predict(X)
    return Outcome(called[y == 1].mean(), called[y == 0].mean(), seconds, predict is None)


def run_mapie(
    base: str, model: Any, fit_s: float, parts: Parts, rate: float
) -> Iterator[tuple[str, Outcome]]:
    for kind, options in MAPIE_OPTIONS.items():
        if f"{kind}_{base}" in CONTENDERS:
            with Clock() as clock:
                controller = mapie(model.predict_proba, rate, **options).calibrate(*parts.threshold)
            # Without a valid threshold only "all are positive" keeps the rate.
            predict = None if controller.best_predict_param is None else controller.predict
            yield f"{kind}_{base}", judge(predict, parts.test_half, fit_s + clock.seconds)


def fit_ours(X: Floats, y: Labels, bags: int, seed: int) -> tuple[BootstrapSVC, float]:
    shared = {"class_weight": "balanced", "n_jobs": 1, "random_state": seed}
    model = BootstrapSVC(n_bootstraps=bags, calibration="platt", **shared)
    with Clock() as clock:
        model.fit(X, y)
    return model, clock.seconds


def moved(model: BootstrapSVC, rate: float, **options: Any) -> Any:
    """Return `predict` of the model with its guarantee, or None where the records are too few."""
    try:
        threshold = model.with_rate(tpr=rate, confidence=CONFIDENCE, exceed=False, **options)
    except ValueError:
        return None
    return threshold.predict


def run_ours(
    parts: Parts, rates: Sequence[float], bags: int, seed: int
) -> Iterator[tuple[float, str, Outcome]]:
    """Yield what MAPIE and `with_rate` make of our scores."""
    half, half_s = fit_ours(*parts.train, bags, seed)
    whole, whole_s = fit_ours(*parts.everything, bags, seed)
    X, y = parts.threshold
    for rate in rates:
        for name, outcome in run_mapie("bags", half, half_s, parts, rate):
            yield rate, name, outcome
        with Clock() as clock:
            predict = moved(half, rate, guarantee="split", X=X, y=y)
        yield rate, "split", judge(predict, parts.test_half, half_s + clock.seconds)
        for kind in ("oob", "jackknife+"):
            with Clock() as clock:
                predict = moved(whole, rate, guarantee=kind)
            yield rate, kind, judge(predict, parts.test_all, whole_s + clock.seconds)


def run_svm(parts: Parts, rates: Sequence[float]) -> Iterator[tuple[float, str, Outcome]]:
    """Yield what MAPIE and scikit-learn make of the scores of one SVM."""
    with Clock() as fit:
        model = CalibratedClassifierCV(tuned_svm(*parts.train), ensemble=False).fit(*parts.train)
    with Clock() as search:
        best = tuned_svm(*parts.everything)
    for rate in rates:
        for name, outcome in run_mapie("svm", model, fit.seconds, parts, rate):
            yield rate, name, outcome
        with Clock() as clock:
            scoring = make_scorer(tnr_where_tpr, rate=rate)
            tuned = TunedThresholdClassifierCV(best, scoring=scoring).fit(*parts.everything)
        seconds = search.seconds + clock.seconds
        yield rate, "tuned_svm", judge(tuned.predict, parts.test_all, seconds)


def run_split(
    name: str, rates: Sequence[float], bags: int, seed: int
) -> tuple[tuple[int, int, int], dict[tuple[float, str], Outcome]]:
    """Run all contenders on one split; first, its positives in half, in both and in the test."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        parts = split(name, seed)
        found = [*run_svm(parts, rates), *run_ours(parts, rates, bags, seed)]
    positives = tuple(int(y.sum()) for _, y in (parts.threshold, parts.everything, parts.test_all))
    return positives, {(rate, contender): outcome for rate, contender, outcome in found}


def allowed_share(n: int, n_test: int, rate: float) -> float:
    r"""Share of splits whose test TPR may be below the rate when the guarantee is just kept.

    The TPR of the threshold at the k-th smallest of n levels is Beta(n - k + 1, k). Ranks k and k +
    1 are mixed so that it is below the rate with probability 1 - confidence exactly; then the count
    of the n_test test records above the threshold is a mixture of beta-binomials.
    """
    k = order_statistic(n, rate, CONFIDENCE)
    below = binom.cdf([k - 1, k], n, 1 - rate)  # of either rank
    bold = (1 - CONFIDENCE - below[0]) / (below[1] - below[0])
    fewest = np.ceil(rate * n_test - 1e-9) - 1
    tests = [betabinom.cdf(fewest, n_test, n - j + 1, j) if j else 0.0 for j in (k, k + 1)]
    return float((1 - bold) * tests[0] + bold * tests[1])


def run_dataset(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run all splits of a data set and return one record a rate and contender."""
    splits = Parallel(n_jobs=options.jobs)(
        delayed(run_split)(name, options.rates, options.bags, seed)
        for seed in range(options.repeats)
    )
    n_half, n_all, n_test = splits[0][0]
    records = []
    for rate in options.rates:
        fprs = {c: np.array([found[rate, c].fpr for _, found in splits]) for c in CONTENDERS}
        for key, contender in CONTENDERS.items():
            outcomes = [found[rate, key] for _, found in splits]
            tpr = np.array([outcome.tpr for outcome in outcomes])
            n = n_half if contender.threshold_on == "half" else n_all
            more = fprs[key] - fprs["split"]
            records.append(
                {
                    "data": name,
                    "rate": rate,
                    "confidence": CONFIDENCE,
                    "contender": key,
                    "repeats": options.repeats,
                    "bags": options.bags,
                    "positives_half": n_half,
                    "positives_all": n_all,
                    "positives_test": n_test,
                    "tpr": tpr.mean(),
                    "violated": np.mean(tpr < rate - 1e-9),
                    "allowed": allowed_share(n, n_test, rate) if contender.guarantees else None,
                    "no_threshold": np.mean([outcome.no_threshold for outcome in outcomes]),
                    "fpr": fprs[key].mean(),
                    "above_split": more.mean(),
                    "above_split_error": more.std() / np.sqrt(len(more)),
                    "seconds": float(np.median([outcome.seconds for outcome in outcomes])),
                }
            )
    return records


# The tables

NOTE = """\
half, all: positives in half of the records and in all of them; test: positives tested on.
threshold on: records that set the threshold; TPR, FPR: test means over splits and data sets, each
data set the same weight. violated: share of splits with a test TPR below the rate; allowed: the
same share for a guarantee just kept, noise of the test part included. no threshold: none was found,
and all records count as called positive. - split: FPR less that of split, and the standard error
over splits.
s: CPU seconds for fit and threshold, median over splits, mean over data sets."""


def fpr_lines(records: list[dict[str, Any]], rate: float) -> Iterator[str]:
    """Yield the test FPR of each contender for each data set."""
    yield f"FPR at TPR >= {rate:g} with confidence {CONFIDENCE:g}"
    titles = "".join(f"{f'{c.scores} {c.short}':>12}" for c in CONTENDERS.values())
    yield f"{'data':<14}{'half':>6}{'all':>6}{'test':>6}{titles}"
    chosen = [record for record in records if record["rate"] == rate]
    for first in range(0, len(chosen), len(CONTENDERS)):
        row = chosen[first : first + len(CONTENDERS)]
        counts = "".join(f"{row[0][f'positives_{part}']:>6}" for part in ("half", "all", "test"))
        yield f"{row[0]['data']:<14}{counts}" + "".join(f"{r['fpr']:>12.3f}" for r in row)


def summary_lines(records: list[dict[str, Any]], rate: float) -> Iterator[str]:
    """Yield the means over data sets of each contender."""
    yield (
        f"{'contender':<28}{'scores':>7}{'threshold on':>8}{'TPR':>8}{'violated':>10}{'allowed':>9}"
        f"{'no threshold':>8}{'FPR':>8}{'- split':>17}{'s':>7}"
    )
    for key, contender in CONTENDERS.items():
        rows = [r for r in records if r["rate"] == rate and r["contender"] == key]
        mean = {
            k: np.mean([r[k] for r in rows]) for k in ("tpr", "violated", "no_threshold", "fpr")
        }
        allowed = f"{np.mean([r['allowed'] for r in rows]):.3f}" if contender.guarantees else "-"
        error = np.sqrt(np.sum([r["above_split_error"] ** 2 for r in rows])) / len(rows)
        more = f"{np.mean([r['above_split'] for r in rows]):+.3f} ± {error:.3f}"
        yield (
            f"{contender.method:<28}{contender.scores:>7}{contender.threshold_on:>8}{mean['tpr']:>8.3f}"
            f"{mean['violated']:>10.3f}{allowed:>9}{mean['no_threshold']:>8.2f}{mean['fpr']:>8.3f}"
            f"{more if key != 'split' else '-':>17}{np.mean([r['seconds'] for r in rows]):>7.2f}"
        )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A guaranteed TPR against MAPIE and scikit-learn.")
    add = parser.add_argument
    add("--bags", type=int, default=100, help="bags B (default: 100)")
    add("--datasets", nargs="+", default=DATASETS, choices=DATASETS, metavar="NAME",
        help=f"data sets (default: {' '.join(DATASETS)})")  # fmt: skip
    add("--rates", nargs="+", type=float, default=(0.9, 0.8), help="rates (default: 0.9 0.8)")
    add("--repeats", type=int, default=60, help="random splits of each data set (default: 60)")
    add("--jobs", type=int, default=2, help="splits run at once (default: 2)")
    add("--csv", type=Path, help="write all numbers here, renewed after each data set")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("mapie") is None:
        parser.error("this race needs MAPIE: pip install mapie")
    for name in ("bags", "repeats", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(options, name)}")
    for rate in options.rates:
        if not 0 < rate < 1:
            parser.error(f"--rates must lie between 0 and 1, both excluded, got {rate:g}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    print(machine())
    print(f"{options.repeats} splits a data set, {options.bags} bags, {options.jobs} jobs\n")
    warm_up(options.jobs)
    records: list[dict[str, Any]] = []
    start = time.perf_counter()
    for i, name in enumerate(options.datasets):
        where = f"[{i + 1}/{len(options.datasets)}] {name}"
        print(f"{time.perf_counter() - start:5.0f} s {where}", file=sys.stderr)
        records += run_dataset(name, options)
        if options.csv:
            write_csv(options.csv, records)
    for rate in options.rates:
        print(*fpr_lines(records, rate), "", *summary_lines(records, rate), "", sep="\n")
    print(NOTE)


if __name__ == "__main__":
    main()
