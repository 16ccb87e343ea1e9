"""The tables of the guide."""

import csv
import itertools
import json

import pytest

from svmproba.cli.commands.example import FILES, HEADER, customers


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tables_of_different_customers(invoke, tmp_path):
    done = invoke("example", "--folder", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["files"] == [str(tmp_path / name) for name in FILES]
    tables = {name: read(tmp_path / name) for name in FILES}
    assert {name: len(table) for name, table in tables.items()} == {
        name: n for name, (n, _) in FILES.items()
    }
    assert tuple(tables["credit.csv"][0]) == tuple(tables["later.csv"][0]) == HEADER
    assert tuple(tables["new.csv"][0]) == HEADER[:-1]
    names = [row["customer"] for table in tables.values() for row in table]
    assert len(set(names)) == len(names)
    for name in ("credit.csv", "later.csv"):
        share = sum(row["default"] == "yes" for row in tables[name]) / len(tables[name])
        assert 0.2 < share < 0.4


def test_the_same_every_time_and_nothing_is_overwritten(invoke, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        assert invoke("example", "--folder", folder).exit_code == 0
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes()
    (one / "credit.csv").unlink()
    (one / "later.csv").write_text("mine")
    done = invoke("example", "--folder", one)
    assert done.exit_code == 2
    assert "later.csv exists" in done.stderr
    assert (one / "later.csv").read_text() == "mine"
    assert not (one / "credit.csv").exists()
    assert invoke("example", "--folder", tmp_path / "nowhere").exit_code == 2


def test_customers_are_people():
    rows = [dict(zip(HEADER, row, strict=True)) for row in itertools.islice(customers(), 2000)]
    assert [row["customer"] for row in rows[:2]] == ["C1001", "C1002"]
    assert {row["age"] for row in rows} == set(range(20, 75))
    assert {row["duration"] for row in rows} == {12, 24, 36, 48, 60}
    amounts = [row["amount"] for row in rows]
    assert (min(amounts), max(amounts)) == (1000, 19900)
    assert all(amount % 100 == 0 for amount in amounts)
    incomes = [row["income"] for row in rows if row["income"] != ""]
    assert all(income % 10 == 0 and 500 < income < 12_000 for income in incomes)
    assert 0.03 < 1 - len(incomes) / 2000 < 0.07
    homes = [sum(row["home"] == home for row in rows) / 2000 for home in ("own", "rent", "free")]
    assert homes == pytest.approx([0.5, 0.4, 0.1], abs=0.04)

    def share(chosen):
        found = [row["default"] == "yes" for row in rows if chosen(row)]
        return sum(found) / len(found)

    # Who asks for more, earns less, rents, has no job or is young pays back less often.
    assert share(lambda r: r["amount"] > 12_000) > 1.5 * share(lambda r: r["amount"] < 8000)
    assert share(lambda r: r["home"] == "rent") > 1.2 * share(lambda r: r["home"] == "own")
    assert share(lambda r: r["job"] == "none") > 1.2 * share(lambda r: r["job"] == "clerk")
    assert share(lambda r: r["age"] < 40) > 1.2 * share(lambda r: r["age"] > 55)
    assert share(lambda r: r["duration"] < 30) > 1.1 * share(lambda r: r["duration"] > 40)
    earns = [row for row in rows if row["income"] != ""]
    poor = [row["default"] == "yes" for row in earns if row["income"] < 2000]
    rich = [row["default"] == "yes" for row in earns if row["income"] > 3000]
    assert sum(poor) / len(poor) > 1.5 * sum(rich) / len(rich)
