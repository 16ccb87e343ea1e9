"""Small tables like those of a bank and of a telephone company, and a model of the first."""

import csv

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from svmproba import cli
from svmproba.cli.costs import Costs
from svmproba.cli.errors import Messages
from svmproba.cli.input.tables import open_table
from svmproba.cli.task import load_task
from svmproba.cli.training import Goal, train


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
    """Run ``svmproba fit`` with few bags; with kernel=None the command chooses the kernel."""

    def run(data, out, *arguments, target="default", kernel="linear", **more):
        few = ["--bootstraps", 40, "--jobs", 1, "--target", target, "--out", out]
        few += [] if kernel is None else ["--kernel", kernel]
        return invoke("fit", data, *few, *arguments, **more)

    return run


@pytest.fixture(scope="session")
def model(credit, fit, tmp_path_factory):
    """File of a model with costs."""
    path = tmp_path_factory.mktemp("model") / "credit.svmproba"
    done = fit(credit, path, "--positive", "yes", "--costs", "fn=500,fp=60")
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def predict(invoke, model):
    """Run ``svmproba predict`` with the model of the bank."""

    def run(data, *arguments, **more):
        return invoke("predict", model, data, "--jobs", 1, *arguments, **more)

    return run


@pytest.fixture(scope="session")
def load_credit(credit):
    """Read the table of the customers."""

    def load(**more):
        with open_table(str(credit)) as table:
            return load_task(table, "default", Messages(), positive="yes", **more)

    return load


@pytest.fixture(scope="session")
def task(load_credit):
    return load_credit()


@pytest.fixture(scope="session")
def priced(task):
    """Goal and model with costs, of few bags."""
    goal = Goal(costs=Costs(fn=5.0, fp=1.0))
    return goal, train(task, goal, n_bootstraps=30, n_jobs=1, seed=3)


@pytest.fixture
def edited(tmp_path):
    """Copy a table with another cell."""

    def edit(path, row, column, value):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        table.loc[row - 1, column] = value
        table.to_csv(tmp_path / "edited.csv", index=False)
        return tmp_path / "edited.csv"

    return edit
