"""Numbers as people write them."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import svmproba
from svmproba.cli.errors import InputError
from svmproba.cli.input.cells import formats_of, to_numbers
from svmproba.cli.input.columns import plan_columns
from svmproba.cli.input.numerals import NumberFormat
from svmproba.cli.input.roles import ColumnChoices
from svmproba.cli.input.tables import Reading

N = 60
RNG = np.random.default_rng(0)
VALUES = RNG.lognormal(7, 1.5, N).round(2)
POSITIVE = RNG.random(N) < 0.4


def swapped(text, old=",.", new=".,"):
    return text.translate(str.maketrans(old, new))


#: The same amounts in many dresses, and the options that name the dress.
WRITTEN = {
    "2434,65": ([f"{x:.2f}".replace(".", ",") for x in VALUES], "--decimal ,"),
    "2,434.65": ([f"{x:,.2f}" for x in VALUES], "--thousands ,"),
    "2.434,65": ([swapped(f"{x:,.2f}") for x in VALUES], "--decimal , --thousands ."),
    "2 434.65": ([f"{x:,.2f}".replace(",", " ") for x in VALUES], "--thousands space"),
    "2\u00a0434,65": (
        [swapped(f"{x:,.2f}", ",.", "\u00a0,") for x in VALUES],
        "--decimal , --thousands space",
    ),
    "2\u202f434.65": ([f"{x:,.2f}".replace(",", "\u202f") for x in VALUES], "--thousands space"),
    "2'434.65": ([f"{x:,.2f}".replace(",", "'") for x in VALUES], "--thousands '"),
    "€ 2434.65": ([f"€ {x:.2f}" for x in VALUES], ""),
    "2.434,65 €": ([swapped(f"{x:,.2f}") + "\u00a0€" for x in VALUES], "--decimal , --thousands ."),
    "$2,434.65": ([f"${x:,.2f}" for x in VALUES], "--thousands ,"),
    "2434.65 USD": ([f"{x:.2f} USD" for x in VALUES], ""),
    "12.3%": ([f"{x:.2f}%" for x in VALUES], ""),
    "12,3 %": ([f"{x:.2f} %".replace(".", ",") for x in VALUES], "--decimal ,"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_one_format_is_read_and_said(name):
    cells, options = WRITTEN[name]
    (column,) = plan_columns(pa.table({"c": cells}), POSITIVE)
    assert column.role == "numeric"
    assert str(column.format) == options
    np.testing.assert_allclose(
        to_numbers(pa.array(cells), column.format).values, VALUES, rtol=1e-15
    )
    if options:
        (doubt,) = column.warnings
        assert " is read as " in doubt
        assert f"({options})" in doubt
    else:
        assert column.warnings == []
        assert column.reason == f"numbers in {column.format.unit}"


@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_is_doubted_with_the_right_options(name):
    cells, options = WRITTEN[name]
    words = dict(zip(options.split()[::2], options.split()[1::2], strict=True))
    thousands = words.get("--thousands", "").replace("space", " ") or None
    reading = Reading(decimal=words.get("--decimal"), thousands=thousands)
    (column,) = plan_columns(pa.table({"c": cells}), POSITIVE, reading=reading)
    assert (column.role, column.warnings) == ("numeric", [])


def test_thousands_or_decimals():
    cells = [f"{RNG.integers(1, 1000)},{RNG.integers(100, 1000)}" for _ in range(N)]
    (column,) = plan_columns(pa.table({"c": cells}), POSITIVE)
    assert (column.role, column.reason) == ("dropped", "ambiguous numbers")
    first = cells[0].replace(",", "")
    said = (
        f"{cells[0]!r} may be {cells[0].replace(',', '.')} (--decimal ,) or {first} (--thousands ,)"
    )
    assert said in column.warnings[0]
    with pytest.raises(InputError, match=r"--numeric: column 'c': .* may be"):
        plan_columns(pa.table({"c": cells}), POSITIVE, choices=ColumnChoices(numeric=("c",)))
    for reading, factor in ((Reading(thousands=","), 1000), (Reading(decimal=","), 1)):
        (column,) = plan_columns(pa.table({"c": cells}), POSITIVE, reading=reading)
        assert (column.role, column.warnings) == ("numeric", [])
        values = to_numbers(pa.array(cells), column.format).values
        np.testing.assert_allclose(values, factor * np.array([swapped(c) for c in cells], float))


def test_a_few_large_numbers_with_thousands_are_not_lost():
    cells = [*(f"{x:.2f}" for x in RNG.uniform(1, 999, N - 2)), "1,234.50", "12,000.00"]
    (column,) = plan_columns(pa.table({"c": cells}), POSITIVE)
    assert to_numbers(pa.array(cells), column.format).values[-2:].tolist() == [1234.5, 12000]


@pytest.mark.parametrize(
    "cells",
    [
        [f"€ {x:.2f}" if k % 2 else f"$ {x:.2f}" for k, x in enumerate(VALUES)],
        [f"{x:,.2f}" if k % 2 else swapped(f"{x:,.2f}") for k, x in enumerate(VALUES + 1000)],
    ],
)
def test_numbers_of_several_formats_are_no_identifiers(cells):
    (column,) = plan_columns(pa.table({"c": cells}), POSITIVE)
    assert column.role == "dropped"
    assert column.reason in ("ambiguous numbers", "numbers and words")
    assert "--" in column.warnings[0]


def test_points_where_commas_were_said():
    cells = [f"{x:.2f}" for x in VALUES]
    (column,) = plan_columns(pa.table({"c": cells}), POSITIVE, reading=Reading(decimal=","))
    assert (column.role, column.reason) == ("dropped", "ambiguous numbers")
    assert "--decimal" in column.warnings[0]


@pytest.mark.parametrize(
    "cells",
    [
        [f"C{k}" for k in range(N)],
        [f"{k}.{k}.{k}" for k in range(N)],
        [f"{k:02} {k:02} {k:02}" for k in range(N)],
        ["1,2,3", "1,2", "2,3"] * 20,
        ["0", "1", "2", "3+"] * 15,
    ],
)
def test_what_is_no_number_stays_none(cells):
    assert [tuple(f) for f in formats_of(pa.array(cells), Reading())] == [(".", "", "")] or (
        plan_columns(pa.table({"c": cells}), POSITIVE)[0].role != "numeric"
    )


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1),
    st.sampled_from([(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", "'")]),
    st.sampled_from(["", "%", "€", "CHF"]),
)
def test_what_is_written_is_read(cents, signs, unit):
    decimal, thousands = signs
    texts = [f"{x / 100:,.2f}{unit}" for x in cents]
    texts = [swapped(text, ",.", (thousands or "_") + decimal).replace("_", "") for text in texts]
    found = to_numbers(pa.array(texts), NumberFormat(decimal, thousands, unit))
    np.testing.assert_array_equal(found.values, [float(f"{x / 100:.2f}") for x in cents])
    assert not found.bad.any()


def test_percent_and_plain_numbers_do_not_mix():
    percent = NumberFormat(unit="%")
    assert to_numbers(pa.array(["12.3%", "0.123", "?"]), percent).bad.tolist() == [
        False,
        True,
        False,
    ]
    assert to_numbers(pa.array([12.3, None]), percent).bad.tolist() == [True, False]
    assert to_numbers(pa.array(["12.3%"])).bad.tolist() == [True]


@pytest.fixture(scope="module")
def priced(tmp_path_factory, credit, fit):
    """Model of the bank, whose income is written 23.456,70 € and its amount 12,3%."""
    folder = tmp_path_factory.mktemp("priced")
    table = dressed(pd.read_csv(credit))
    table.to_csv(folder / "credit.csv", index=False)
    done = fit(folder / "credit.csv", folder / "m.svmproba", "--positive", "yes")
    assert done.exit_code == 0, done.output
    assert "column 'income': " in done.stderr
    assert "(--decimal , --thousands .)" in done.stderr
    return folder / "m.svmproba"


def dressed(table):
    income = table["income"].map(lambda x: swapped(f"{x:,.2f} €"), na_action="ignore")
    return table.assign(income=income, amount=table["amount"].map(lambda x: f"{x},5%"))


def test_what_was_decided_at_the_fit_holds_at_predict(
    priced, credit, new_customers, fit, invoke, tmp_path
):
    table = pd.read_csv(credit)
    table["amount"] += 0.5
    table.to_csv(tmp_path / "plain.csv", index=False)
    fit(tmp_path / "plain.csv", tmp_path / "plain.svmproba", "--positive", "yes")
    new = pd.read_csv(new_customers)
    dressed(new).to_csv(tmp_path / "dressed.csv", index=False)
    new.assign(amount=new["amount"] + 0.5).to_csv(tmp_path / "new.csv", index=False)
    twin = svmproba.load(tmp_path / "plain.svmproba")["svm"].member_coef_
    np.testing.assert_array_equal(svmproba.load(priced)["svm"].member_coef_, twin)
    mine = invoke("predict", priced, tmp_path / "dressed.csv")
    other = invoke("predict", tmp_path / "plain.svmproba", tmp_path / "new.csv")
    assert mine.exit_code == 0, mine.output
    assert mine.stdout == other.stdout


def test_another_format_at_predict(model, new_customers, invoke, tmp_path):
    new = pd.read_csv(new_customers)
    new["income"] = new["income"].map(lambda x: swapped(f"{x:,.2f}"), na_action="ignore")
    new.to_csv(tmp_path / "dressed.csv", index=False)
    refused = invoke("predict", model, tmp_path / "dressed.csv")
    assert refused.exit_code == 2
    assert "column 'income': " in refused.stderr
    assert "(--decimal , --thousands . reads such numbers; --lenient" in refused.stderr
    done = invoke("predict", model, tmp_path / "dressed.csv", "--thousands", ".")
    a, b = (io.StringIO(d.stdout) for d in (done, invoke("predict", model, new_customers)))
    pd.testing.assert_frame_equal(pd.read_csv(a), pd.read_csv(b))
    new["income"] = "12,345"
    new.to_csv(tmp_path / "dressed.csv", index=False)
    refused = invoke("predict", model, tmp_path / "dressed.csv")
    assert "(--decimal , or --thousands , reads such numbers; --lenient" in refused.stderr
    new["income"] = "12.345 %"  # no option says whether the point is that of the thousands
    new.to_csv(tmp_path / "dressed.csv", index=False)
    refused = invoke("predict", model, tmp_path / "dressed.csv")
    assert "'12.345 %' is not a number (--lenient counts" in refused.stderr
