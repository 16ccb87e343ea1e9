"""The tables of the guide."""

import csv
import json

from svmproba.cli.commands.example import FILES, HEADER


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
