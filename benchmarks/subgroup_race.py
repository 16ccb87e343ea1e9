r"""Race: a TPR of 0.9 with confidence 0.9 in every subgroup, and what it costs.

All contenders get the scores of one logistic regression, fitted to a part of the records. The other
records are the population: calibration records are drawn from it with replacement, so the true rate
of every threshold is known, and a trial is violated where the true TPR of some subgroup is below
0.9. Subgroups are sex and age, and on adult their combinations.

* *one guarantee*: `RateGuarantee` for all records together, which hides the subgroups.
* *common*, *separate*: `RateGuarantee` with ``by``, one threshold for all or one for each.
* *fairlearn*: ``ThresholdOptimizer`` with true positive rate parity and balanced accuracy. It makes
  the rates equal and takes no floor.
* *MAPIE*: one ``BinaryClassificationController`` a subgroup, its confidence 1 - 0.1 / K by hand.
* *tuned*: one ``TunedThresholdClassifierCV`` a subgroup, the best TNR where the TPR is 0.9.

    python benchmarks/subgroup_race.py --csv out/subgroups.csv  # needs fairlearn and mapie
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import machine, write_csv
from _data import Floats, Labels, data_folder
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline

from svmproba import RateGuarantee
from svmproba.evaluation import rates_by_subgroup
from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor

RATE, CONFIDENCE = 0.9, 0.9
#: Records fitted and records that set the thresholds.
SIZES = {"adult": (5000, 8000), "german": (400, 500)}


class Score(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only column is the probability of class 1."""

    def fit(self, X: Floats, y: Labels) -> Score:
        """Learn nothing."""
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 1
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of both classes."""
        score = np.asarray(X, dtype=float).ravel()
        return np.column_stack([1 - score, score])

    def predict(self, X: Any) -> Labels:
        """Labels at one half."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)


SCORE = Score().fit(np.zeros((2, 1)), np.array([0, 1]))


def subgroups_of(name: str, X: pd.DataFrame) -> dict[str, Any]:
    """Labels of subgroups, by the name of the task."""
    if name == "german":
        female = X["personal_status_sex"].astype(str).isin(["A92", "A95"])
        sex = np.where(female, "women", "men")
        age = np.where(X["age"] <= 30, "up to 30", "over 30")
        return {"german, sex": sex, "german, age": age}
    sex = X["sex"].astype(str).str.strip().to_numpy().astype(str)
    age = np.select([X["age"] <= 35, X["age"] <= 50], ["up to 35", "36 to 50"], "over 50")
    both = np.char.add(np.char.add(sex, ", "), age.astype(str))
    return {"adult, sex": sex, "adult, age": age.astype(str), "adult, sex and age": both}


# Contenders: from calibration scores, labels and subgroups to a rule of scores and subgroups


def everybody(X: Floats, by: Any = None) -> Labels:
    """Call all records positive, which keeps the rate where nothing else can be proven to."""
    return np.ones(len(X), dtype=int)


def guaranteed(common: bool | None) -> Callable[..., Any]:
    def fit(X: Floats, y: Labels, by: Any) -> Callable[[Floats, Any], Labels]:
        options = {} if common is None else {"common_threshold": common}
        model = RateGuarantee(SCORE, tpr=RATE, confidence=CONFIDENCE, cv="prefit", **options)
        try:
            model.fit(X, y, by=None if common is None else by)
        except ValueError:  # too few records in a subgroup
            return everybody
        return lambda X, by: model.predict(X, by=by)

    return fit


def fairlearn(X: Floats, y: Labels, by: Any) -> Callable[[Floats, Any], Labels]:
    from fairlearn.postprocessing import ThresholdOptimizer

    model = ThresholdOptimizer(
        estimator=SCORE,
        constraints="true_positive_rate_parity",
        objective="balanced_accuracy_score",
        prefit=True,
        predict_method="predict_proba",
    ).fit(X, y, sensitive_features=by)
    return lambda X, by: model.predict(X, sensitive_features=by, random_state=0)


def each(make: Callable[[Floats, Labels, float], Any]) -> Callable[..., Any]:
    """One rule for each subgroup."""

    def fit(X: Floats, y: Labels, by: Any) -> Callable[[Floats, Any], Labels]:
        names = np.unique(by)
        rules = {name: make(X[by == name], y[by == name], len(names)) for name in names}

        def predict(X: Floats, by: Any) -> Labels:
            called = np.empty(len(X), dtype=int)
            for name, rule in rules.items():
                called[by == name] = rule(X[by == name])
            return called

        return predict

    return fit


def mapie(X: Floats, y: Labels, K: float) -> Any:
    from mapie.risk_control import BinaryClassificationController

    controller = BinaryClassificationController(
        SCORE.predict_proba, risk="recall", target_level=RATE, confidence_level=1 - 0.1 / K
    ).calibrate(X, y)
    if controller.best_predict_param is None:
        return everybody
    return controller.predict


def tnr_where_tpr(y: Labels, called: Labels) -> float:
    tpr, tnr = called[y == 1].mean(), 1 - called[y == 0].mean()
    return tnr if tpr >= RATE else tpr - 1


def tuned(X: Floats, y: Labels, K: float) -> Any:
    scoring = make_scorer(tnr_where_tpr)
    model = TunedThresholdClassifierCV(
        SCORE, scoring=scoring, cv="prefit", refit=False, thresholds=200
    )
    return model.fit(X, y).predict


CONTENDERS = {
    "one guarantee": guaranteed(None),
    "common": guaranteed(True),
    "separate": guaranteed(False),
    "fairlearn": fairlearn,
    "MAPIE": each(mapie),
    "tuned": each(tuned),
}


def race(name: str, repeats: int) -> Iterator[list[dict[str, Any]]]:
    """Run all trials of a data set, one task after the other."""
    X, y = load_dataset(name, data_folder())
    n_fitted, n_drawn = SIZES[name]
    rest, fitted = train_test_split(
        np.arange(len(y)), test_size=n_fitted, stratify=y, random_state=0
    )
    model = make_pipeline(make_preprocessor(X), LogisticRegression(max_iter=1000))
    model.fit(X.iloc[fitted], y[fitted])
    scores = model.predict_proba(X.iloc[rest])[:, [1]]
    labels = y[rest].astype(int)
    for task, by in subgroups_of(name, X.iloc[rest]).items():
        rng, records = np.random.default_rng(0), []
        for r in range(repeats):
            drawn = rng.integers(len(rest), size=n_drawn)
            for contender, fit in CONTENDERS.items():
                called = fit(scores[drawn], labels[drawn], by[drawn])(scores, by)
                table = rates_by_subgroup(labels, called, by)
                for k, subgroup in enumerate(table.subgroup):
                    records.append(
                        {
                            "task": task,
                            "trial": r,
                            "contender": contender,
                            "subgroup": subgroup,
                            "n": table.n_samples[k],
                            "n_positive": table.n_positive[k],
                            "tpr": table.tpr[k],
                            "fpr": table.fpr[k],
                            "called": table.called[k],
                        }
                    )
        yield records


def show(frame: pd.DataFrame) -> None:
    """Print a table for each task."""
    for task, of_task in frame.groupby("task", sort=False):
        sizes = of_task.drop_duplicates("subgroup").set_index("subgroup")
        listed = ", ".join(f"{k} {v.n} ({v.n_positive})" for k, v in sizes.iterrows())
        print(f"\n{task}: records (positives) of the population: {listed}")
        print(f"{'contender':<14} violated  lowest TPR  called  FPR by subgroup")
        for contender, rows in of_task.groupby("contender", sort=False):
            lowest = rows.groupby("trial").tpr.min()
            weights = rows.n / rows.groupby("trial").n.transform("sum")
            called = (rows.called * weights).groupby(rows.trial).sum().mean()
            fpr = rows.groupby("subgroup").fpr.mean().round(3).to_dict()
            print(
                f"{contender:<14} {np.mean(lowest < RATE):>8.3f} {lowest.mean():>11.3f} "
                f"{called:>7.3f}  {', '.join(f'{k} {v:.3f}' for k, v in fpr.items())}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine())
    records = []
    for name in options.datasets:
        for of_task in race(name, options.repeats):
            show(pd.DataFrame(of_task))
            records += of_task
    if options.csv is not None:
        write_csv(options.csv, records)


if __name__ == "__main__":
    main()
