"""``--groups`` and ``--by``: groups of records, and rates of subgroups."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import svmproba


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """CSV of 80 patients with 4 visits each."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(80), 4)
    ill = (rng.random(80) < 0.5)[patient]
    frame = pd.DataFrame(
        {
            "patient": [f"P{k}" for k in patient],
            "sex": np.array(["f", "m"])[(rng.random(80) < 0.4).astype(int)][patient],
            "a": rng.normal(size=320) + 1.5 * ill + rng.normal(size=80)[patient],
            "b": rng.normal(size=320) + rng.normal(size=80)[patient],
            "ill": np.where(ill, "yes", "no"),
        }
    )
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame.to_csv(path, index=False)
    return path


def fitted(fit, visits, path, *arguments):
    done = fit(visits, path, "--positive", "yes", *arguments, "--json", target="ill")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), svmproba.load(path)[-1]


def test_groups_are_no_attribute_and_stay_together(visits, fit, tmp_path):
    about, svm = fitted(fit, visits, tmp_path / "m.svmproba", "--groups", "patient")
    assert "patient" not in [column["name"] for column in about["columns"]]
    assert about["groups"] == "patient"
    bags = svm.counts_.reshape(len(svm.counts_), 80, 4)
    np.testing.assert_array_equal(bags, bags[..., :1].repeat(4, axis=2))


def test_split_by_group(visits, fit, tmp_path):
    options = ["--groups", "patient", "--tpr", 0.7, "--guarantee", "split", "--confidence", 0.8]
    about, svm = fitted(fit, visits, tmp_path / "m.svmproba", *options)
    frame = pd.read_csv(visits)
    n_ill = frame[frame.ill == "yes"].patient.nunique()
    assert f"proven from {round(0.3 * n_ill)} groups" in about["guarantee"]
    assert "random record" in about["guarantee"]
    assert about["figures"]["n_held_out"] % 4 == 0
    assert svm.groups_.max() + 1 == (320 - about["figures"]["n_held_out"]) / 4


@pytest.mark.parametrize("guarantee", ["none", "oob", "split"])
def test_every_subgroup_has_the_rate_and_its_price_is_shown(visits, fit, tmp_path, guarantee):
    options = ["--by", "sex", "--tpr", 0.8, "--guarantee", guarantee, "--confidence", 0.7]
    about, svm = fitted(fit, visits, tmp_path / "m.svmproba", *options)
    assert svm.subgroup_rates_.subgroup.tolist() == ["f", "m"]
    assert "in each of 2 subgroups at the same time" in about["guarantee"]
    assert "sex" in [column["name"] for column in about["columns"]]
    rows = about["subgroups"]
    assert [row["subgroup"] for row in rows] == ["f", "m"]
    if guarantee != "split":
        assert sum(row["n_samples"] for row in rows) == 320
        assert min(row["tpr"] for row in rows) >= 0.8
    assert all(row["called"] >= row["called_without"] for row in rows)


def test_in_words(visits, fit, tmp_path):
    done = fit(visits, tmp_path / "m.svmproba", "--by", "sex", "--tpr", 0.8, target="ill")
    assert "In each subgroup of 'sex', out of bag, with 95 % limits:" in done.stdout
    assert "% without its own rate)" in done.stdout
    done = fit(visits, tmp_path / "n.svmproba", "--by", "sex", target="ill")
    assert "  f  recall of 'yes' " in done.stdout
    assert "without its own rate" not in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "patients"], "--groups: .* has no column 'patients', did you mean 'patient'"),
        (["--by", "ill"], "--target, --by must be different columns"),
        (["--groups", "patient", "--drop", "patient"], "'patient' is that of --groups"),
    ],
)
def test_bad_columns(visits, fit, tmp_path, options, message):
    done = fit(visits, tmp_path / "m.svmproba", *options, target="ill")
    assert done.exit_code == 2

    assert re.search(message, done.stderr)


def test_a_few_groups_are_told_of_subgroups(visits, fit, tmp_path):
    told = "column 'sex' has 2 groups only, and bags draw whole groups; --by is for the rates of"
    done = fit(visits, tmp_path / "m.svmproba", "--groups", "sex", target="ill")
    assert told in done.stderr
    assert (
        "groups only"
        not in fit(visits, tmp_path / "n.svmproba", "--groups", "patient", target="ill").stderr
    )


def test_empty_cells(visits, fit, tmp_path):
    frame = pd.read_csv(visits)
    frame.loc[3, "patient"] = None
    path = tmp_path / "holes.csv"
    frame.to_csv(path, index=False)
    done = fit(path, tmp_path / "m.svmproba", "--groups", "patient", target="ill")
    assert done.exit_code == 2
    assert "--groups: column 'patient' must have no empty cells, got 1, the first in" in done.stderr


def test_report_by(visits, fit, invoke, tmp_path):
    model = tmp_path / "m.svmproba"
    fitted(fit, visits, model, "--tpr", 0.8)
    done = invoke("report", model, visits, "--by", "sex", "--out", tmp_path / "r.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "What are the rates in each subgroup?" in page
    assert '<th scope="row">f</th>' in page
    assert re.search(r"detects at least 80.0.% of the .* records in every subgroup", page)
    done = invoke("report", model, visits, "--by", "six", "--out", tmp_path / "r2.html")
    assert done.exit_code == 2
    assert "--by: " in done.stderr
