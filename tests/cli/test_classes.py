"""More than two classes on the command line."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

import svmproba
from svmproba.cli.comparison import compare_methods, to_text
from svmproba.cli.costs import parse_costs
from svmproba.cli.errors import InputError, Messages
from svmproba.cli.input.tables import open_table
from svmproba.cli.task import load_task
from svmproba.cli.training import Goal, parse_floors, train
from svmproba.preparation.preprocessing import make_preprocessor

from .test_comparison import TWINS
from .test_one_decision import graph_labels

COSTS = """,low,high,medium
low,0,4,1
medium,3,1,0
high,0,20,-1
"""


def ratings(n, seed=0):
    """Customers with one of three ratings, which overlap."""
    rng = np.random.default_rng(seed)
    income, debt = rng.normal(size=(2, n))
    home = rng.choice(["rent", "own"], n)
    score = income - debt + 0.5 * (home == "own") + 0.6 * rng.normal(size=n)
    rating = np.select([score < -0.8, score < 1.0], ["high", "low"], "medium")
    columns = {"income": income, "debt": debt, "home": home, "rating": rating}
    return pd.DataFrame(columns).round(4)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    ratings(240).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    path = tmp_path_factory.mktemp("later") / "later.csv"
    ratings(70, seed=1).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    path = tmp_path_factory.mktemp("costs") / "costs.csv"
    path.write_text(COSTS)
    return path


RULES = {
    "none": (),
    "costs": ("--costs",),
    "floor": ("--floor", "high=0.95"),
    "two floors and costs": ("--floor", "high=0.8", "--floor", "medium=0.7", "--costs"),
    "split": ("--floor", "low=0.6", "--guarantee", "split", "--confidence", "0.8"),
    "oob": ("--floor", "low=0.6", "--floor", "high=0.6", "--guarantee", "oob"),
}


@pytest.fixture(scope="module", params=["auto", "none"])
def calibration(request):
    return request.param


@pytest.fixture(scope="module", params=RULES)
def fitted(request, calibration, fit, table, costs, tmp_path_factory):
    """File of a model, its rule, and what the command printed."""
    path, rule = tmp_path_factory.mktemp("rule") / "model.svmproba", list(RULES[request.param])
    options = rule + [costs] * (rule[-1:] == ["--costs"])
    done = fit(table, path, "--calibration", calibration, *options, target="rating")
    assert done.exit_code == 0, done.output
    return path, request.param, done.stdout


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_predict_decides_as_the_model_does(fitted, later, invoke):
    path, rule, _ = fitted
    done = invoke("predict", path, later, "--keep", "rating")
    assert done.exit_code == 0, done.output
    written, records = pd.read_csv(io.StringIO(done.stdout)), pd.read_csv(later)
    model = svmproba.load(path)
    names = [f"probability_{label}" for label in ("high", "low", "medium")]
    priced = ["expected_cost"] * ("costs" in rule)
    assert written.columns.tolist() == ["rating", *names, "decision", *priced]
    assert written["decision"].tolist() == model.predict(records).tolist()
    # A small probability has the rounding of the others, which are near 1.
    P = model.predict_proba(records)
    np.testing.assert_allclose(written[names], P, rtol=1e-12, atol=1e-15)
    assert written["decision"].nunique() > 1
    if rule == "costs":
        rows = model[:-1].transform(records)
        labels, cost = model[-1].decide(rows, return_cost=True)
        assert labels.tolist() == written["decision"].tolist()
        np.testing.assert_allclose(written["expected_cost"], cost, rtol=1e-9)


def test_the_graph_decides_as_the_model_does(fitted, later):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    model, records = svmproba.load(fitted[0]), pd.read_csv(later).drop(columns="rating")
    assert graph_labels(model, records) == model.predict(records).tolist()


def test_the_summary_is_about_the_decisions_out_of_bag(fitted, table):
    path, rule, said = fitted
    svm, about = svmproba.load(path)["svm"], svmproba.read_about(path)["about"]
    recalls = [row["recall"] for row in about["recalls"]]
    np.testing.assert_allclose(recalls, svm.oob_recalls_)
    assert about["figures"]["accuracy"] == pytest.approx(svm.oob_score_)
    assert sum(map(sum, about["confusion"])) == about["figures"]["n_records"]
    assert (about["figures"]["n_held_out"] > 0) == (rule == "split")
    worst = about["recalls"][0]
    assert re.search(rf"recall of 'high' +{100 * worst['recall']:.1f} %", said)
    assert "Guaranteed: " in said
    if "floor" in rule:
        assert worst["recall"] >= 0.8
        assert "for recalls of at least" in said
    if rule in ("split", "oob"):
        assert "confidence" in about["guarantee"]


def test_figures_by_their_definitions(fit, table, costs, tmp_path):
    options = ["--costs", costs, "--json"]
    done = fit(table, tmp_path / "m.svmproba", *options, target="rating")
    told, svm = json.loads(done.stdout), svmproba.load(tmp_path / "m.svmproba")["svm"]
    y, labels = pd.read_csv(table)["rating"].to_numpy(), ["high", "low", "medium"]
    matrix = pd.read_csv(costs, index_col=0).loc[labels, labels].to_numpy()
    called = svm.classes_[np.argmin(svm.oob_proba_ @ matrix, axis=1)]
    assert told["confusion"] == confusion_matrix(y, called, labels=labels).tolist()
    figures = told["figures"]
    assert figures["brier"] == pytest.approx(brier_score_loss(y, svm.oob_proba_, labels=labels))
    assert figures["log_loss"] == pytest.approx(log_loss(y, svm.oob_proba_, labels=labels))
    places = [np.searchsorted(labels, names) for names in (y, called)]
    assert figures["mean_cost"] == pytest.approx(matrix[places[0], places[1]].mean())
    constant = [matrix[places[0], k].mean() for k in range(3)]
    assert figures["mean_cost_constant"] == pytest.approx(min(constant))
    assert labels[figures["constant"]] == labels[int(np.argmin(constant))]
    assert (told["positive"], told["classes"]) == (None, labels)


def test_whole_numbers_limits_and_reasons(fit, invoke, table, later, tmp_path):
    records, new = pd.read_csv(table), pd.read_csv(later)
    numbers = {"low": 10, "medium": 9, "high": -1}
    for frame, name in ((records, "a.csv"), (new, "b.csv")):
        frame["rating"] = frame["rating"].map(numbers)
        frame.to_csv(tmp_path / name, index=False)
    done = fit(tmp_path / "a.csv", tmp_path / "m.svmproba", target="rating")
    assert done.exit_code == 0, done.output
    options = ["--interval", "simulation", "--explain", 1, "--out", tmp_path / "scored.parquet"]
    done = invoke("predict", tmp_path / "m.svmproba", tmp_path / "b.csv", *options)
    assert done.exit_code == 0, done.output
    written = pd.read_parquet(tmp_path / "scored.parquet")
    model = svmproba.load(tmp_path / "m.svmproba")
    rows = model[:-1].transform(new)
    limits = model[-1].predict_proba_interval(rows, kind="simulation")
    for place, label in enumerate((-1, 9, 10)):
        for side, kind in enumerate(("low", "high")):
            np.testing.assert_array_equal(written[f"{kind}_{label}"], limits[:, place, side])
    assert written["decision"].dtype == np.int64
    assert written["decision"].tolist() == model.predict(new).tolist()
    groups = ["income", "debt", "home", "home"]
    found = model[-1].contributions(rows, groups=groups)
    for k in (0, 30, 69):
        own = found.values[k, :, [-1, 9, 10].index(written["decision"][k])]
        strongest = int(np.abs(own).argmax())
        assert written["reason_1"][k] == found.names[strongest]
        assert written["contribution_1"][k] == pytest.approx(own[strongest])


def test_one_floor_of_two_classes_is_a_rate(fit, credit, tmp_path):
    options = {"a": ["--tnr", 0.8], "b": ["--floor", "no=0.8"]}
    for name, option in options.items():
        fit(credit, tmp_path / name, "--positive", "yes", *option)
    a, b = (svmproba.load(tmp_path / name)["svm"] for name in "ab")
    assert a.proba_threshold_ == b.proba_threshold_ != 0.5
    done = fit(credit, tmp_path / "c", "--floor", "no=0.8", "--floor", "yes=0.7")
    assert "--floor no=0.8 and yes=0.7: a threshold has one free rate" in done.stderr


def test_a_matrix_of_two_classes(task, tmp_path):
    (tmp_path / "costs.csv").write_text("true;yes;no\nno;60;-1\nyes;2;500\n")
    goal = Goal(costs=parse_costs(str(tmp_path / "costs.csv"))).for_classes(task)
    assert goal.costs == parse_costs("fn=500,fp=60,tp=2,tn=-1")
    (tmp_path / "costs.csv").write_text(",yes,no\nno,0,5\nyes,9,0\n")
    with pytest.raises(InputError, match="wrong calls must cost more than right ones"):
        Goal(costs=parse_costs(str(tmp_path / "costs.csv"))).for_classes(task)


@pytest.fixture(scope="module")
def several(table):
    with open_table(str(table)) as opened:
        return load_task(opened, "rating", Messages())


@pytest.mark.parametrize("method", TWINS)
def test_compare_equals_cross_val_predict(several, method):
    (result,) = compare_methods(several, [method], n_folds=3, n_bootstraps=40, n_jobs=1, seed=3)
    y = np.searchsorted(["high", "low", "medium"], several.y)
    model = make_pipeline(make_preprocessor(several.X), TWINS[method])
    folds = StratifiedKFold(3, shuffle=True, random_state=3)
    P = cross_val_predict(model, several.X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(result.proba, P, atol=1e-12)
    assert result.log_loss == pytest.approx(log_loss(y, P))
    head = to_text([result]).splitlines()[0].split("  ")
    assert [name.strip() for name in head if name.strip()] == [
        *("method", "Brier", "± s.e.", "accuracy", "AUC", "log loss", "seconds")
    ]


def test_compare_prints_a_table_and_draws_a_picture(invoke, table, tmp_path):
    few = ["--target", "rating", "--bootstraps", 20, "--folds", 3, "--jobs", 1]
    done = invoke("compare", table, *few, "--methods", "ebb,platt", "--out", tmp_path / "a.png")
    assert done.exit_code == 0, done.output
    assert "Brier: squared error of the probabilities, summed over the classes" in done.stdout
    assert (tmp_path / "a.png").stat().st_size > 0
    done = invoke("compare", table, *few, "--positive", "low")
    assert "--positive low needs two classes" in done.stderr


def test_the_work_is_counted(several):
    done = []
    few = {"n_bootstraps": 20, "n_jobs": 1}
    train(several, Goal(class_weight=None), **few, advance=lambda *bags: done.append(bags))
    assert sum(n for n, _ in done) == 60
    assert {total for _, total in done} == {60}


def test_rates_of_groups_are_held_out_with_them(table):
    def judged(labels):
        return labels.y == "high"

    frame = pd.read_csv(table)
    frame["patient"] = [f"p{k // 3}" for k in range(len(frame))]
    path = table.parent / "groups.csv"
    frame.to_csv(path, index=False)
    with open_table(str(path)) as opened:
        options = {"groups": "patient", "held_out_share": 0.3, "judges": judged}
        task = load_task(opened, "rating", Messages(), **options)
    held = set(frame["patient"].iloc[task.held_out])
    assert not held & set(frame["patient"].iloc[task.kept])
    has_high = set(frame["patient"][frame["rating"] == "high"])
    assert len(held & has_high) == round(0.3 * len(has_high))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--positive", "low"],
            "--positive low needs two classes, column 'rating' has 3: 'high' (",
        ),
        (["--tpr", "0.9"], "--tpr needs two classes, the target has 3: 'high', 'low', 'medium'; "),
        (["--tnr", "0.9"], "give --floor high=0.9 for a recall of a class"),
        (
            ["--costs", "fn=5,fp=1"],
            "needs two classes, the target has 3: 'high', 'low', 'medium'; ",
        ),
        (["--floor", "huge=0.9"], "--floor must name one of 'high', 'low', 'medium'; got 'huge'"),
        (["--floor", "low=1.2"], "--floor low must be from 0 to 1; got 1.2"),
        (["--floor", "low"], "--floor must be like CLASS=0.9; got 'low'"),
        (["--floor", "=0.9"], "--floor must be like CLASS=0.9; got '=0.9'"),
        (["--floor", "low=.9", "--floor", "low=.8"], "--floor names class 'low' more than once"),
        (["--floor", "low=.9", "--tpr", "0.8"], "--floor takes the place of --tpr"),
        (
            ["--floor", "low=0.9", "--guarantee", "jackknife+"],
            "--guarantee jackknife+ needs two classes, the target has 3: 'high', 'low', 'medium'",
        ),
        (["--guarantee", "oob"], "--guarantee needs the rate to guarantee: give --tpr, --tnr or "),
        (["--by", "home"], "--by needs two classes, column 'rating' has 3: 'high' ("),
        (
            ["--floor", "high=1", "--floor", "low=1", "--floor", "medium=1"],
            "The recalls clash: no thresholds were found that give all of them. The search ended "
            "with recalls of ",
        ),
    ],
)
def test_wrong_use(fit, table, tmp_path, arguments, message):
    done = fit(table, tmp_path / "m.svmproba", *arguments, target="rating")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (",low,high\nlow,0,1\nhigh,1,0\n", "got ['low', 'high']; missing: 'medium'"),
        (
            ",low,high,medium\nlow,0,1,1\nhigh,1,0,1\n",
            "once among its rows, got ['low', 'high']; missing: 'medium'",
        ),
        (
            ",low,high,huge\nlow,0,1,2\n",
            "a column must name one of 'high', 'low', 'medium'; got 'huge'",
        ),
        (
            ",low,high,medium\nlow,0,1,1\nmidle,1,0,1\n",
            "a row must name one of 'high', 'low', 'medium'; got 'midle'",
        ),
        (
            ",low,high,low,medium\nlow,0,1,1,1\nhigh,1,0,1,1\nmedium,1,1,1,0\n",
            "more than once: 'low'",
        ),
        (
            ",low,high,medium\nlow,0,1\nhigh,1,0,1\nmedium,1,1,0\n",
            "the row of class 'low' (line 2) must have 3 costs, one for each class of the first "
            "row; got 2",
        ),
        (
            ",low,high,medium\nlow,0,x,1\nhigh,1,0,1\nmedium,1,1,0\n",
            "the cost of class 'low' called 'high' must be a number; got 'x'",
        ),
        (
            ",low,high,medium\nlow,0,nan,1\nhigh,1,0,1\nmedium,1,1,0\n",
            "the matrix must hold finite numbers, got nan for class 'low' called 'high'",
        ),
        ("low,high,medium\n", "must have a row of called classes and rows of costs"),
    ],
)
def test_matrices_that_cannot_be_used(fit, table, tmp_path, content, message):
    path = tmp_path / "costs.csv"
    path.write_text(content)
    done = fit(table, tmp_path / "m.svmproba", "--costs", path, target="rating")
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert f"error: --costs: {path}" in said
    assert message in said


def test_a_matrix_that_cannot_be_read(fit, table, tmp_path):
    done = fit(table, tmp_path / "m", "--costs", tmp_path / "no.csv", target="rating")
    assert f"--costs: '{tmp_path / 'no.csv'}' cannot be read" in done.stderr
    path = tmp_path / "costs.csv"
    path.write_text(COSTS)
    done = fit(table, path, "--costs", path, "--force", target="rating")
    assert done.exit_code == 2
    assert path.read_text() == COSTS


def of_sizes(path, high, low, medium):
    """Write a table with so many records of the classes."""
    frame = ratings(2000, seed=3)
    sizes = {"high": high, "low": low, "medium": medium}
    parts = [frame[frame["rating"] == label].head(n) for label, n in sizes.items()]
    pd.concat(parts).sample(frac=1, random_state=0).to_csv(path, index=False)
    return path


def test_small_classes_are_named_with_their_sizes(fit, tmp_path):
    done = fit(of_sizes(tmp_path / "a.csv", 40, 1, 40), tmp_path / "a", target="rating")
    assert done.exit_code == 2
    assert "y has 1 of class 'low'" in done.stderr
    done = fit(of_sizes(tmp_path / "b.csv", 40, 4, 40), tmp_path / "b", target="rating")
    assert done.exit_code == 0, done.output
    assert "warning: Classes with fewer than 5 samples: 'low' (4)" in done.stderr
    assert "Classes with few records: 'low' (4)" in " ".join(done.stdout.split())
    done = fit(of_sizes(tmp_path / "c.csv", 300, 2, 300), tmp_path / "c", target="rating")
    assert done.exit_code == 0, done.output  # bags without the class are drawn again


def test_the_report_counts_the_same_decisions(fitted, table, later, invoke, tmp_path):
    out = tmp_path / "page.html"
    done = invoke("report", fitted[0], later, "--out", out)
    assert done.exit_code == 0, done.output
    body = re.search(r'id="confusion">(.*?)</table>', out.read_text(), re.DOTALL)[1]
    counts = [int(cell) for cell in re.findall(r'<td class="n">(?:<strong>)?(\d+)', body)]
    records = pd.read_csv(later)
    called = svmproba.load(fitted[0]).predict(records)
    assert counts == confusion_matrix(records["rating"], called).ravel().tolist()
    done = invoke("report", fitted[0], later, "--out", out, "--force", "--by", "home")
    assert "--by needs two classes" in done.stderr


def test_floors_from_text():
    assert parse_floors(["a=b=0.5", " c = .25 "]) == {"a=b": 0.5, "c": 0.25}
    assert parse_floors(None) == {}
