"""Small tables like those of a bank and of a telephone company, and a model of the first."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from svmproba import cli


def credit_rows(n, seed=0):
    """Rows of a bank: an identifier, numbers with gaps, categories, and who did not pay."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        age, income = int(rng.integers(18, 80)), round(float(rng.lognormal(10, 0.5)), 2)
        amount = int(rng.integers(500, 20000))
        home = ("rent", "own", "free")[rng.integers(3)]
        score = 4 * amount / income - 1.2 + 0.8 * (home == "rent") + 0.7 * rng.normal()
        shown = "" if rng.random() < 0.05 else income
        yield [f"C{seed}-{k:04}", age, shown, amount, home, "yes" if score > 0 else "no"]


CREDIT = ["customer", "age", "income", "amount", "home", "default"]


def write_csv(path, header, rows, **dialect):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", **dialect)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture(scope="session")
def credit(tmp_path_factory):
    """CSV of 240 customers."""
    return write_csv(tmp_path_factory.mktemp("credit") / "credit.csv", CREDIT, credit_rows(240))


@pytest.fixture(scope="session")
def new_customers(tmp_path_factory):
    """CSV of 60 other customers, without the label."""
    rows = [row[:-1] for row in credit_rows(60, seed=1)]
    return write_csv(tmp_path_factory.mktemp("new") / "new.csv", CREDIT[:-1], rows)


@pytest.fixture(scope="session")
def invoke():
    """Run a command in this process."""
    app = cli.make_app()

    def run(*arguments, **more):
        env = {"COLUMNS": "200", "TERM": "dumb"}
        return CliRunner().invoke(app, [str(a) for a in arguments], env=env, **more)

    return run


@pytest.fixture(scope="session")
def fit(invoke):
    """Run ``svmproba fit`` with few bags."""

    def run(data, out, *arguments, target="default", **more):
        few = ["--bootstraps", 40, "--jobs", 1, "--target", target, "--out", out]
        return invoke("fit", data, *few, *arguments, **more)

    return run


@pytest.fixture(scope="session")
def model(credit, fit, tmp_path_factory):
    """File of a model with costs."""
    path = tmp_path_factory.mktemp("model") / "credit.svmproba"
    done = fit(credit, path, "--positive", "yes", "--costs", "fn=500,fp=60")
    assert done.exit_code == 0, done.output
    return path
