"""What columns are taken for."""

import datetime
import re

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

from svmproba.cli.input import columns
from svmproba.cli.input.columns import is_running_number, leak_of, plan_columns
from svmproba.cli.input.roles import ColumnChoices

N = 60
RNG = np.random.default_rng(0)
POSITIVE = RNG.random(N) < 0.4
SHUFFLED = RNG.permutation(N)


def plan_of(cells, **options):
    (column,) = plan_columns(pa.table({"c": pa.array(cells)}), POSITIVE, **options)
    return column


NUMBERS = RNG.normal(size=N).round(3).astype(str).tolist()
WORDS = RNG.choice(["a", "b", "c"], N).tolist()


@pytest.mark.parametrize(
    ("cells", "role", "reason", "doubt"),
    [
        (NUMBERS, "numeric", "numbers", None),
        ([*NUMBERS[:-2], "?", ""], "numeric", "numbers", None),
        (
            [*NUMBERS[:-1], "many"],
            "numeric",
            "numbers",
            "1 cell is not a number, .* row 60: 'many'",
        ),
        ([*NUMBERS[:50], *["x"] * 10], "dropped", "numbers and words", "row 51: 'x'; give --num"),
        (["0", "1", "2", "3+", "?"] * 12, "categorical", "4 categories", None),
        (WORDS, "categorical", "3 categories", None),
        (POSITIVE.tolist(), "categorical", "2 categories", "almost alone separates"),
        (["7"] * N, "dropped", "constant: always 7", None),
        (["x"] * N, "dropped", "constant: always 'x'", None),
        ([None] * N, "dropped", "empty", None),
        (["?"] * N, "dropped", "empty", None),
        ([str(k) for k in range(N)], "dropped", "identifier", "running number"),
        ((SHUFFLED + 1000).tolist(), "dropped", "identifier", "running number"),
        (np.cumsum(RNG.integers(1, 9, N)).tolist(), "dropped", "identifier", "running number"),
        (RNG.permutation(200)[:N].tolist(), "numeric", "numbers", "is it an identifier"),
        (RNG.permutation(20_000)[:N].tolist(), "numeric", "numbers", None),
        ([f"C{k}" for k in range(N)], "dropped", "identifier", "every record has its own"),
        ([f"C{k // 2 * 2 if k < 20 else k}" for k in range(N)], "dropped", "identifier", "few"),
        ([f"the customer called at {k} today" for k in range(N)], "dropped", "free text", "text"),
        ([f"2024-03-{k % 28 + 1:02}" for k in range(N)], "dropped", "dates", "dates"),
        ([f"{k % 28 + 1}.3.2024" for k in range(N)], "dropped", "dates", "dates"),
        ([datetime.date(2024, 1, k % 28 + 1) for k in range(N)], "dropped", "dates", "dates"),
        (
            [f"{k % 9},5" for k in range(N)],
            "numeric",
            "numbers",
            "'0,5' is read as 0.5 .--decimal ,",
        ),
        ([f"10:{k:02}" for k in range(N)], "dropped", "dates", "dates"),
        ([f"{k} days 00:00:00" for k in range(N)], "dropped", "dates", "dates"),
        ([[1]] * N, "dropped", "cells of type list", None),
    ],
)
def test_guesses(cells, role, reason, doubt):
    column = plan_of(cells)
    assert column.role == role
    assert column.reason.startswith(reason)
    if doubt is None:
        assert column.warnings == [] or role == "categorical"
    else:
        assert re.search(doubt, " ".join(column.warnings))


def test_an_identifier_by_its_name():
    cells = pa.array(SHUFFLED * 7919 % 100_003)
    for name in ("customer_id", "CustomerId", "account no", "id"):
        (column,) = plan_columns(pa.table({name: cells}), POSITIVE)
        assert (column.role, column.reason) == ("dropped", "identifier"), name
    (paid,) = plan_columns(pa.table({"paid": cells}), POSITIVE)
    assert paid.role == "numeric"


def test_missing_and_distinct_cells_are_counted():
    column = plan_of(["1", "2", "?", ""] * (N // 4))
    assert (column.n_missing, column.n_distinct) == (N // 2, 2)


def test_choices_are_obeyed():
    chosen = plan_of([str(k) for k in range(N)], choices=ColumnChoices(numeric=("c",)))
    assert (chosen.role, chosen.reason) == ("numeric", "as requested")
    codes = [str(k % 3) for k in range(N)]
    assert plan_of(codes).role == "numeric"
    assert plan_of(codes, choices=ColumnChoices(categorical=("c",))).role == "categorical"
    assert plan_of(codes, choices=ColumnChoices(drop=("c",))).role == "dropped"


def test_a_leak_is_seen_by_a_limit_for_the_number_of_records():
    rng = np.random.default_rng(0)
    positive = np.arange(1000) < 300
    values = rng.normal(size=1000) + 3.15 * positive
    area = roc_auc_score(positive, values)
    assert 0.985 < area < 0.99
    assert leak_of(values, positive)
    many = np.tile(values, 100), np.tile(positive, 100)
    assert leak_of(*many) == []


def test_leaks_of_numbers_of_categories_and_of_gaps():
    noise = RNG.normal(size=N)
    table = pa.table(
        {
            "number": POSITIVE * 10 + noise,
            "turned": -10 * POSITIVE + noise,
            "category": np.where(POSITIVE, "in default", np.where(noise > 0, "fine", "good")),
            "gap": pa.array(np.where(POSITIVE, noise, np.nan), from_pandas=True),
            "honest": POSITIVE + noise,
        }
    )
    leaks = [c.name for c in plan_columns(table, POSITIVE) if "almost alone" in str(c.warnings)]
    assert leaks == ["number", "turned", "category", "gap"]


def test_a_leak_separates_every_pair_of_classes():
    label = np.arange(300) % 3
    noise = np.random.default_rng(0).normal(size=300)
    table = pa.table(
        {
            "number": 10 * label + noise,
            "category": np.array(["late", "early", "never"])[label],
            "one class": np.where(label == 1, 10.0, 0.0) + noise,
            "honest": label + noise,
        }
    )
    plan = plan_columns(table, label)
    leaks = [column.name for column in plan if "almost alone" in str(column.warnings)]
    assert leaks == ["number", "category"]
    assert leak_of(10 * label[:18] + noise[:18], label[:18]) == []  # too few records
    assert leak_of(noise, np.zeros(300)) == []


def test_rows_are_named_by_their_number_in_the_file():
    rows = np.arange(101, 101 + N)
    assert "row 160: 'many'" in plan_of([*NUMBERS[:-1], "many"], rows=rows).warnings[0]


def test_running_numbers():
    assert is_running_number(np.arange(20.0))
    assert is_running_number(-(np.arange(50.0) ** 2))
    assert not is_running_number(np.arange(19.0))
    assert not is_running_number(np.arange(20.0) / 2)
    assert not is_running_number(np.repeat(np.arange(20.0), 2))


def role_of(cells):
    """Plan a column of any length, every second record positive."""
    positive = np.arange(len(cells)) % 2 == 0
    (column,) = plan_columns(pa.table({"c": pa.array(cells)}), positive)
    return column


def spread(n, n_distinct, prefix=""):
    """Cells of which `n_distinct` differ."""
    return [f"{prefix}{k % n_distinct}" for k in range(n)]


@pytest.mark.parametrize(
    ("inside", "outside", "roles"),
    [
        # One cell in ten may be no number.
        ([*NUMBERS[:54], *"uvwxyz"], [*NUMBERS[:53], *"tuvwxyz"], ["numeric", "dropped"]),
        # Twenty different cells are categories where some are not numbers.
        ([*spread(58, 19), "x", "x"], [*spread(58, 20), "x", "x"], ["categorical", "numeric"]),
        # Half of the cells may be no numbers before they are words.
        ([*NUMBERS[:30], *["x"] * 30], [*NUMBERS[:29], *["x"] * 31], ["dropped", "categorical"]),
        # Half as many words as records are categories, more are identifiers.
        (spread(60, 30, "w"), spread(60, 31, "w"), ["categorical", "dropped"]),
        # Nineteen records say nothing of identifiers.
        (spread(19, 19, "w"), spread(20, 20, "w"), ["categorical", "dropped"]),
        # 500 categories are used, more are not.
        (spread(1100, 500, "w"), spread(1100, 501, "w"), ["categorical", "dropped"]),
    ],
)
def test_limits_of_the_roles(inside, outside, roles):
    assert [role_of(cells).role for cells in (inside, outside)] == roles


def test_fifty_categories_are_not_many():
    few, many = (str(role_of(spread(303, n, "w")).warnings) for n in (50, 51))
    assert "each of which becomes a column" not in few
    assert "it has 51 categories, each of which becomes a column" in many


def test_texts_of_four_words_are_free_text():
    three, four = ([f"w{k} b c{more}" for k in range(40)] for more in ("", " d"))
    assert role_of(three).reason == "identifier"
    assert role_of(four).reason == "free text"


@pytest.mark.parametrize(("largest", "doubted"), [(359, True), (360, False)])
def test_whole_numbers_without_a_pair_alike(largest, doubted):
    """60 draws from 360 values would have had five pairs alike."""
    cells = np.append(RNG.permutation(np.arange(1, 300))[:58], [0, largest])
    warned = "is it an identifier" in " ".join(role_of(RNG.permutation(cells).tolist()).warnings)
    assert warned == doubted


def test_rare_categories_take_the_share_of_all_records(monkeypatch):
    """Or categories of one record each would separate any classes."""
    seen = []
    monkeypatch.setattr(columns, "column_auc", lambda values, _: seen.append(values) or 0.5)
    positive = np.arange(60) < 20
    cells = [f"w{min(k, 40)}" for k in range(60)]
    choices = ColumnChoices(categorical=("c",))
    plan_columns(pa.table({"c": pa.array(cells)}), positive, choices=choices)
    (shares,) = seen
    assert shares[:20] == pytest.approx((1 + 3 / 3) / 4)
    assert shares[20:40] == pytest.approx((0 + 3 / 3) / 4)
    assert shares[40:] == pytest.approx((0 + 3 / 3) / 23)
