import math

import numpy as np
import pandas as pd
import pytest

from svmproba.paper.comparison import collect, compare
from svmproba.paper.methods import TARGETS, target_name
from svmproba.paper.reproduce import Plan, plan_jobs
from svmproba.paper.store import Result, Store
from svmproba.paper.tables import printed
from svmproba.preparation.performance import summarise

PLAN = Plan(n_bootstraps=500, n_folds=5)


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 3 == 0).astype(np.int64)
    return {"wisconsin": (pd.DataFrame({"a": rng.normal(size=200)}), y)}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "r.sqlite") as opened:
        yield opened


def fill(store, plan, tables, family, names, *, skip=0):
    """Put noisy probabilities into the store; returns them in the order of the records."""
    y = tables["wisconsin"][1]
    rng = np.random.default_rng(plan.n_bootstraps)
    proba = np.clip(0.5 + 0.3 * (y - 0.5) + 0.3 * rng.normal(size=len(y)), 0, 1)
    fold = np.empty(len(y), dtype=np.int64)
    for job in plan_jobs(plan, tables, [family])[skip:]:
        here = job.part.test
        fold[here] = job.part.fold
        outputs = {name: proba[here] for name in names}
        store.add(job.cell, Result(here, y[here], {**outputs, "x_score": proba[here]}, 1.0))
    return y, proba, fold


def test_entries_are_those_of_a_summary(store, tables):
    y, proba, fold = fill(store, PLAN, tables, "platt", ["platt"])
    found = collect(store, PLAN, tables, ["platt", "sollich"])
    assert list(found) == [("wisconsin", "platt")]
    summary = summarise(y, proba, fold)
    assert found["wisconsin", "platt"].summary == pytest.approx(summary)
    for number, measure in ((2, "mse"), (5, "auc")):
        table = compare(number, tables, found)
        (row,) = table.rows
        entry = row.entries["platt"]
        assert list(row.entries) == ["platt"]
        assert entry.ours == pytest.approx(getattr(summary, measure))
        assert entry.se == pytest.approx(getattr(summary, f"{measure}_se"))
        assert entry.paper == printed(number, "wisconsin", "platt")
        # The paper predicted as many records with Platt's method, so its error is like ours.
        beyond = abs(entry.ours - entry.paper) - 0.0005
        assert abs(entry.distance) == pytest.approx(beyond / (entry.se * math.sqrt(2)))
        assert table.notes == []


def test_the_paper_s_own_methods_rest_on_a_tenth(store, tables):
    fill(store, PLAN, tables, "ebb", ["ebb"])
    table = compare(2, tables, collect(store, PLAN, tables, ["ebb"]))
    entry = table.rows[0].entries["ebb"]
    spread = entry.se * math.sqrt(1 + 200 / 20)
    assert entry.distance == pytest.approx((entry.ours - entry.paper - 0.0005) / spread)


def test_the_first_column_of_cebb2_is_ebb(store, tables):
    cebb1 = [target_name("cebb1", target) for target in TARGETS]
    cebb2 = [target_name("cebb2", target) for target in TARGETS[1:]]
    y, proba, _ = fill(store, PLAN, tables, "ebb", ["ebb", *cebb1])
    table = compare(3, tables, collect(store, PLAN, tables, ["ebb"]))
    assert [row.method for row in table.rows] == ["cebb1"]
    fill(store, PLAN, tables, "cebb2", cebb2)
    found = collect(store, PLAN, tables, ["ebb", "cebb2"])
    for number, label in ((3, 1), (4, 0)):
        table = compare(number, tables, found)
        assert [row.method for row in table.rows] == ["cebb1", "cebb2"]
        for row in table.rows:
            assert list(row.entries) == table.columns
            assert row.entries["tpr_0"].ours == pytest.approx(np.mean((y - proba)[y == label] ** 2))
            paper = printed(number, "wisconsin", "tpr_1", method=row.method)
            assert row.entries["tpr_1"].paper == paper


def test_other_bags_other_effort_and_missing_folds_are_told(store, tables):
    fill(store, Plan(n_bootstraps=20, n_folds=5), tables, "ebb", ["ebb"], skip=2)
    fill(store, Plan(n_bootstraps=100, n_folds=5), tables, "ebb", ["ebb"], skip=2)
    fast = Plan(n_bootstraps=50, n_folds=5, effort="fast")
    fill(store, fast, tables, "cebb2", ["cebb2@0.5"])
    found = collect(store, PLAN, tables, ["ebb", "cebb2"])
    assert found["wisconsin", "ebb"].note == "100 bags, 3 of 5 parts"
    assert found["wisconsin", "cebb2@0.5"].note == "50 bags, effort fast"
    assert compare(2, tables, found).notes == ["wisconsin, ebb: 100 bags, 3 of 5 parts"]
    fill(store, PLAN, tables, "ebb", ["ebb"])
    assert collect(store, PLAN, tables, ["ebb"])["wisconsin", "ebb"].note == ""


def test_counts(tables):
    table = compare(1, {**tables, "heart-full": tables["wisconsin"]}, {})
    first, second = table.rows
    assert first.entries["records"][:3] == pytest.approx((200, math.nan, 569), nan_ok=True)
    assert math.isnan(second.entries["records"].paper)
    assert [note.partition(":")[0] for note in table.notes] == ["heart-full"]
