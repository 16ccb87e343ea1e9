"""The arena (benchmarks/arena.py) on a small table, with contenders that cost nothing."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, sem
from sklearn.model_selection import StratifiedKFold

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
N, FOLDS = 30, 5
LABELS = np.arange(N) % 3 == 0
RIVALS = ("sigmoid_cv", "isotonic_ens", "logistic")


@pytest.fixture
def arena(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    known = set(sys.modules)
    module = importlib.import_module("arena")
    table = pd.DataFrame({"place": np.arange(N, dtype=float)}), LABELS.astype(int)
    monkeypatch.setattr(module, "load_table", lambda _name: table)
    yield module
    for name in set(sys.modules) - known:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(BENCHMARKS)):
            del sys.modules[name]


@pytest.fixture
def args(arena, tmp_path):
    return arena.parse(["--tables", "german", "--folds", str(FOLDS), "--store", str(tmp_path)])


class Contender:
    """States its number of calls as the probability; `stop` interrupts that call."""

    def __init__(self, stop=None):
        self.calls, self.stop = 0, stop

    def __call__(self, X, y, new, args):
        assert not np.isin(new, X).any()  # no sample is predicted by a model that has seen it
        assert len(X) == len(y) == N - len(new)
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return {"auto": np.full(len(new), self.calls / 10)}


def test_goes_on_where_it_was_stopped(arena, args, monkeypatch):
    first, second = Contender(stop=4), Contender()
    monkeypatch.setattr(arena, "KINDS", {"linear": first})
    with pytest.raises(KeyboardInterrupt):
        arena.run_table("german", args)
    assert sorted(p.name for p in args.store.iterdir()) == [
        f"german.5.{k}.linear.npz" for k in range(3)
    ]
    assert arena.read_table("german", args) is None
    monkeypatch.setattr(arena, "KINDS", {"linear": second})
    arena.run_table("german", args)
    assert second.calls == 2
    found, y = arena.read_table("german", args)
    np.testing.assert_array_equal(y, LABELS)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for (_, test), value in zip(splitter.split(y, y), (1, 2, 3, 1, 2), strict=True):
        np.testing.assert_array_equal(found["auto"][test], value / 10)


def test_finished_cells_are_not_run_again(arena, args, monkeypatch):
    linear, rbf = Contender(), Contender()
    monkeypatch.setattr(arena, "KINDS", {"linear": linear, "rbf": rbf})
    args.without = ["rbf"]
    arena.run_table("german", args)
    assert (linear.calls, rbf.calls) == (FOLDS, 0)
    args.without = []
    arena.run_table("german", args)
    assert (linear.calls, rbf.calls) == (FOLDS, FOLDS)
    arena.run_table("german", args)
    assert (linear.calls, rbf.calls) == (FOLDS, FOLDS)


def test_large_tables_have_no_kernels(arena, args, monkeypatch):
    linear, rbf = Contender(), Contender()
    monkeypatch.setattr(arena, "KINDS", {"linear": linear, "rbf": rbf})
    monkeypatch.setattr(arena, "LARGE", N - 1)
    arena.run_table("german", args)
    assert (linear.calls, rbf.calls) == (FOLDS, 0)


@pytest.fixture
def tables(arena):
    """Probabilities of all linear contenders on seven tables; ours differ in noise by table."""
    rng = np.random.default_rng(0)
    made = {}
    for k in range(7):
        y = (rng.random(60) < 0.4).astype(int)
        methods = (*arena.LINEAR_OURS, *RIVALS)
        noise = rng.uniform(0.2, 0.6, len(methods))
        P = [np.clip(y + size * rng.normal(size=60), 0, 1) for size in noise]
        made[f"table{k}"] = dict(zip(methods, P, strict=True)), y
    return made


def brier(table, method):
    found, y = table
    return sum((p - label) ** 2 for p, label in zip(found[method], y, strict=True)) / len(y)


def test_mean_ranks(arena, tables, capsys):
    methods = (*arena.LINEAR_OURS, *RIVALS)
    tables["table0"][0]["auto"] = tables["table0"][0]["ebb"]  # a tie
    arena.print_means(tables, methods)
    title, *lines = capsys.readouterr().out.strip().splitlines()
    assert title.split() == ["7", "tables", "rank", "Brier", "log", "loss", "AUC", "ECE"]
    scores = [[brier(table, method) for method in methods] for table in tables.values()]
    rank = dict(zip(methods, np.mean([rankdata(row) for row in scores], axis=0), strict=True))
    mean = dict(zip(methods, np.mean(scores, axis=0), strict=True))
    shown = [line.split() for line in lines]
    assert [float(line[1]) for line in shown] == sorted(float(line[1]) for line in shown)
    assert {line[0]: line[1:3] for line in shown} == {
        method: [f"{rank[method]:.2f}", f"{mean[method]:.4f}"] for method in methods
    }


def test_means_are_of_the_tables_where_all_methods_ran(arena, tables, capsys):
    del tables["table3"][0]["logistic"]
    arena.print_means(tables, ("auto", "logistic"))
    assert capsys.readouterr().out.startswith("\n6 tables")


def test_paired_differences(arena, tables, capsys):
    arena.print_verdicts(tables, ("auto",))
    (line,) = capsys.readouterr().out.strip().splitlines()[1:]
    parts = []
    for title, rivals in (("best SVM peer", RIVALS[:2]), ("logistic", RIVALS[2:])):
        ratios = {}
        for name, table in tables.items():
            best = min(rivals, key=lambda method: brier(table, method))
            found, y = table
            paired = (found["auto"] - y) ** 2 - (found[best] - y) ** 2
            ratios[name] = paired.mean() / sem(paired)
        within = sum(ratio <= 1 for ratio in ratios.values())
        behind = sum(ratio > 3 for ratio in ratios.values())
        worst = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items() if ratio > 1)
        parts.append(f"{title} {within} of 7 / {behind} ({worst})")
    assert line == f"{'auto':<22}" + "; ".join(parts)
    assert 0 < within < 7  # the tables tell a method that loses from one that wins


def test_choice_with_one_table_left_out(arena, tables, capsys):
    ours = arena.LINEAR_OURS
    arena.print_choice(tables, ours)
    shown = capsys.readouterr().out
    relative = {
        name: {method: brier(table, method) / brier(table, "logistic") for method in ours}
        for name, table in tables.items()
    }
    scores, counts = [], {}
    for left_out in tables:
        others = [relative[name] for name in tables if name != left_out]
        chosen = min(ours, key=lambda method: sum(row[method] for row in others))
        scores.append(relative[left_out][chosen])
        counts[chosen] = counts.get(chosen, 0) + 1
    assert len(counts) > 1  # the choice depends on the table that is left out
    told = re.search(r"left out: \{(.*)\}; its score there: (.*)", shown)
    assert dict(part.split(": ") for part in told[1].split(", ")) == {
        repr(method): str(count) for method, count in counts.items()
    }
    assert told[2] == f"{np.mean(scores):.3f}"
    for method in ours:
        mean = np.mean([row[method] for row in relative.values()])
        assert f"{method} {mean:.3f}" in shown


def test_no_choice_on_one_table(arena, tables, capsys):
    arena.print_choice({"table0": tables["table0"]}, arena.LINEAR_OURS)
    assert not capsys.readouterr().out


@pytest.mark.parametrize(("option", "value"), [("--folds", "1"), ("--bags", "0")])
def test_bad_arguments(arena, option, value, capsys):
    with pytest.raises(SystemExit):
        arena.parse([option, value])
    assert f"{option} must be at least {int(value) + 1}, got {value}" in capsys.readouterr().err
