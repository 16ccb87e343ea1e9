"""One model, one decision: every path from a table to a label gives the same labels."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

import svmproba
from svmproba.evaluation.report._figures import report_figures

from .conftest import CREDIT, credit_rows, write_csv

COSTS = ("--costs", "fn=500,fp=60")
RULES = {
    "none": (),
    "costs": COSTS,
    "gains": ("--costs", "fn=2,fp=3,tp=-2,tn=0.5"),
    "tpr": ("--tpr", "0.9"),
    "tnr": ("--tnr", "0.95"),
    "rate and costs": ("--tpr", "0.8", *COSTS),
    "split": ("--tpr", "0.8", "--guarantee", "split", "--confidence", "0.8"),
    "oob": ("--tnr", "0.8", "--guarantee", "oob"),
    "jackknife+": ("--tpr", "0.8", "--guarantee", "jackknife+", *COSTS),
}


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """CSV of 80 other customers with their labels."""
    rows = credit_rows(80, seed=2)
    return write_csv(tmp_path_factory.mktemp("later") / "later.csv", CREDIT, rows)


@pytest.fixture(scope="module", params=["auto", "none"])
def calibration(request):
    return request.param


@pytest.fixture(scope="module", params=RULES)
def fitted(request, calibration, fit, credit, tmp_path_factory):
    """File of a model, and its rule."""
    path = tmp_path_factory.mktemp("rule") / "model.svmproba"
    options = ["--positive", "yes", "--calibration", calibration, *RULES[request.param]]
    done = fit(credit, path, *options, kernel=None)
    assert done.exit_code == 0, done.output
    return path, request.param


def decisions(invoke, path, table):
    done = invoke("predict", path, table)
    assert done.exit_code == 0, done.output
    return [row["decision"] for row in csv.DictReader(io.StringIO(done.stdout))]


def graph_labels(model, table):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    proto = svmproba.to_onnx(model)
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    columns = {value.name: table[[value.name]].to_numpy() for value in session.get_inputs()}
    feed = {
        name: cells.astype(np.float64) if cells.dtype != object else cells
        for name, cells in columns.items()
    }
    return session.run(["label"], feed)[0].tolist()


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_the_command_line_and_python_decide_alike(fitted, later, invoke):
    path, rule = fitted
    table, model = pd.read_csv(later), svmproba.load(path)
    expected = decisions(invoke, path, later)
    assert 0 < expected.count("yes") < len(expected)
    assert model.predict(table).tolist() == expected
    if rule in ("costs", "gains"):
        rows = model[:-1].transform(table)
        assert model[-1].decide(rows, **model[-1].costs_).tolist() == expected


def test_the_graph_decides_alike(fitted, later, invoke):
    path, rule = fitted
    model = svmproba.load(path)
    if rule == "jackknife+":
        with pytest.raises(ValueError, match="cannot be exported"):
            svmproba.to_onnx(model)
        return
    table = pd.read_csv(later)
    assert graph_labels(model, table) == decisions(invoke, path, later)


def test_the_report_counts_the_same_decisions(fitted, later, invoke):
    path, rule = fitted
    table = pd.read_csv(later)
    about = svmproba.read_about(path)["about"]
    figures = report_figures(svmproba.load(path), table, table["default"], about)
    called = np.array(decisions(invoke, path, later)) == "yes"
    positive = (table["default"] == "yes").to_numpy()
    found = (figures["present"]["tp"], figures["present"]["fp"])
    assert found == (np.sum(called & positive), np.sum(called & ~positive))
    assert figures["by_cost"] == (rule in ("costs", "gains"))


def test_the_summary_speaks_of_the_same_decisions(fitted):
    path, rule = fitted
    svm, about = svmproba.load(path)[-1], svmproba.read_about(path)["about"]
    told = about["figures"]
    assert (told["tpr"], told["tnr"]) == (svm.oob_tpr_, svm.oob_tnr_)
    # The labels of jackknife+ are not those of a threshold on the probabilities out of bag.
    if hasattr(svm, "oob_proba_") and rule != "jackknife+":
        P = svm.oob_proba_[:, 1]
        called, known = svm.proba_threshold_ <= P, ~np.isnan(P)
        assert told["tpr"] == np.mean(called[known & svm.ensemble_.positive])
