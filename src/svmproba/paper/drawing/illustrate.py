"""What each of the paper's figures needs, and drawing those that can be drawn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from svmproba import BootstrapSVC
from svmproba._types import Floats
from svmproba.evaluation.displays.scores import best_theta_scores
from svmproba.paper.comparison import ComparedTable, compare, stored_results
from svmproba.paper.drawing import paper_figures
from svmproba.paper.kfold_votes import kfold_scores
from svmproba.paper.reproduce import Plan, Table
from svmproba.paper.store import Store
from svmproba.preparation.folds import split_parts
from svmproba.preparation.preprocessing import make_preprocessor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from svmproba.paper.comparison import Found


#: Numbers of folds and of bags in figures 2 and 3.
SIZES = (20, 100, 500)
#: Rate that moves the threshold in figure 6.
RATE = 0.9


class NotAtHand(Exception):
    """What a figure needs is missing; the message names it."""


@dataclass
class Material:
    """What figures are made of."""

    store: Store
    plan: Plan
    tables: dict[str, Table]
    found: Found
    families: Sequence[str]
    n_jobs: int | None = None
    _fits: dict[str, tuple[BootstrapSVC, Floats, NDArray[np.int64]]] = field(default_factory=dict)

    def table(self, dataset: str) -> Table:
        """Return a data set of the request."""
        if dataset not in self.tables:
            raise NotAtHand(f"the data set {dataset}")
        return self.tables[dataset]

    def outputs(self, dataset: str, family: str, *names: str) -> list[Floats]:
        """Return stored outputs, labels and folds of the first repeat, in order of the records."""
        table = self.table(dataset)
        if family not in self.families:
            raise NotAtHand(f"{family} on {dataset}")
        results, _ = stored_results(self.store, self.plan, dataset, table, family)
        first = [result for repeat, _, result in results if repeat == 0]
        folds = [fold for repeat, fold, _ in results if repeat == 0]
        if not first:
            raise NotAtHand(f"{family} on {dataset}")
        order = np.argsort(np.concatenate([result.record for result in first]))
        columns = [[result.outputs[name] for result in first] for name in names]
        columns.append([result.y.astype(np.float64) for result in first])
        pairs = zip(folds, first, strict=True)
        columns.append([np.full(len(result.y), float(fold)) for fold, result in pairs])
        return [np.concatenate(column)[order] for column in columns]

    def held_out(self, dataset: str) -> tuple[BootstrapSVC, Floats, NDArray[np.int64]]:
        """Return EBB fitted on nine tenths, and rows and labels of the other tenth."""
        X, y = self.table(dataset)
        if dataset not in self._fits:
            (part,) = split_parts("paper", y, bootstrap=True, seed=self.plan.seed)
            preprocessor = make_preprocessor(X)
            rows = preprocessor.fit_transform(X.iloc[part.train])
            model = BootstrapSVC(
                n_bootstraps=self.plan.n_bootstraps,
                random_state=self.plan.seed,
                n_jobs=self.n_jobs,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of few bags: the cells of the plan have them
                model.fit(rows, y[part.train])
            self._fits[dataset] = model, preprocessor.transform(X.iloc[part.test]), y[part.test]
        return self._fits[dataset]

    def training(self, dataset: str) -> tuple[Floats, NDArray[np.int64]]:
        """Return the nine tenths of `held_out`."""
        X, y = self.table(dataset)
        (part,) = split_parts("paper", y, bootstrap=True, seed=self.plan.seed)
        return make_preprocessor(X).fit_transform(X.iloc[part.train]), y[part.train]

    def compared(self, number: int) -> ComparedTable:
        """Return a table that has rows."""
        table = compare(number, self.tables, self.found)
        if not table.rows:
            raise NotAtHand("CEBB1 or CEBB2 on some data set")
        return table


def _figure1(material: Material) -> Figure:
    scored: dict[str, paper_figures.Scored] = {}
    for name in ("adult", "wisconsin"):
        try:
            score, proba, y, fold = material.outputs(name, "platt", "platt_score", "platt")
        except NotAtHand:
            continue
        scored[name] = score, proba, y.astype(np.int64), fold.astype(np.int64)
    if not scored:
        raise NotAtHand("platt on adult or wisconsin")
    return paper_figures.platt_fits(scored)


def _sizes(material: Material) -> list[int]:
    most = material.plan.n_bootstraps
    return [size for size in SIZES if size <= most] or [most]


def _doubtful_record(material: Material) -> tuple[Floats, Floats]:
    """Row of the wisconsin record with the most divided votes, and the scores of the members."""
    model, rows, _ = material.held_out("wisconsin")
    scores = best_theta_scores(model, rows)
    record = int(np.argmin(np.abs((scores > 0).mean(axis=0) - 0.5)))
    return rows[record : record + 1], scores[:, record]


def _figure2(material: Material) -> Figure:
    row, _ = _doubtful_record(material)
    model = material.held_out("wisconsin")[0]
    X, y = material.training("wisconsin")
    C = float(model.thetas_["C"][np.argmax(model.reliability_)])
    scores = {
        f"{k} folds": kfold_scores(X, y, row, n_folds=k, C=C, random_state=material.plan.seed)[0]
        for k in _sizes(material)
    }
    return paper_figures.vote_histograms(scores, "One wisconsin record, SVMs of k folds")


def _figure3(material: Material) -> Figure:
    _, scores = _doubtful_record(material)
    panels = {f"{size} bags": scores[:size] for size in _sizes(material)}
    return paper_figures.vote_histograms(panels, "The same record, SVMs of bootstrap bags")


def _figure5(material: Material) -> Figure:
    score, proba, y, _ = material.outputs("wisconsin", "ebb", "ebb_score", "ebb")
    return paper_figures.ebb_fit("wisconsin", score, proba, y.astype(np.int64))


def _figure6(material: Material) -> Figure:
    model, rows, y = material.held_out("churn")
    moved = model.with_rate(tpr=RATE)
    scores = best_theta_scores(model, rows)
    # Churned customers whom the moved threshold alone detects; on most of churn the members agree,
    # so those on whom they agree least.
    before, after = ((scores > threshold).mean(axis=0) for threshold in (0.0, moved.threshold_))
    won = np.flatnonzero((y == 1) & (before < 0.5) & (after > 0.5))
    if len(won) < 2:
        raise NotAtHand("two churned customers whom the moved threshold alone detects")
    chosen = won[np.argsort(-scores[:, won].std(axis=0), kind="stable")[:2]]
    names = ("One churned customer", "Another")
    panels = {name: scores[:, k] for name, k in zip(names, chosen, strict=True)}
    return paper_figures.moved_thresholds(panels, float(moved.threshold_))


def _errors(material: Material, table: int, of: str) -> Figure:
    title = f"Mean squared error of {of}"
    return paper_figures.errors_by_target(material.compared(table), title)


def _ten_of_churn(material: Material, family: str, name: str) -> Figure:
    proba, y, _ = material.outputs("churn", family, family)
    chosen = np.random.default_rng(material.plan.seed).choice(len(y), 10, replace=False)
    title = f"Ten records of churn, {name}"
    return paper_figures.instances(y[chosen].astype(np.int64), proba[chosen], title)


FIGURES: dict[int, Callable[[Material], Figure]] = {
    1: _figure1,
    2: _figure2,
    3: _figure3,
    5: _figure5,
    6: _figure6,
    7: partial(_errors, table=3, of="positives"),
    8: partial(_errors, table=4, of="negatives"),
    9: partial(_ten_of_churn, family="sollich", name="Sollich"),
    10: partial(_ten_of_churn, family="ebb", name="EBB"),
}


def draw_figures(material: Material, folder: Path) -> tuple[list[Path], dict[int, str]]:
    """Draw what can be drawn; gives the files and, by number, what the other figures need."""
    folder.mkdir(parents=True, exist_ok=True)
    written, lacking = [], {}
    for number, draw in FIGURES.items():
        try:
            figure = draw(material)
        except NotAtHand as error:
            lacking[number] = str(error)
            continue
        path = folder / f"figure{number}.png"
        figure.savefig(path)
        written.append(path)
    return written, lacking
