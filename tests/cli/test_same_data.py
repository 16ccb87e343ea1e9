"""The same data give the same model and the same predictions, from CSV and from Parquet."""

import datetime
import decimal
import io

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.fixes import parse_version

import svmproba

N = 80
RNG = np.random.default_rng(0)
SIGNAL = RNG.normal(size=N)
HIGH = SIGNAL > 0.2
STEPS = np.digitize(SIGNAL, [-0.5, 0.5])
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 400, N), "D")
GAPS = RNG.random(N) < 0.2


def gaps(values, dtype):
    return pd.Series(values).astype(dtype).mask(GAPS)


COLUMNS = {
    "bool": HIGH,
    "boolean": gaps(HIGH, "boolean"),
    "int": STEPS,
    "float": STEPS.astype(float),
    "float with gaps": np.where(GAPS, np.nan, STEPS),
    "float32": SIGNAL.astype(np.float32),
    "Int64": gaps(STEPS, "Int64"),
    "Float64": gaps(SIGNAL, "Float64"),
    "string": gaps(np.array(["low", "mid", "high"])[STEPS], "string"),
    "numbers as strings": gaps(STEPS, "Int64").astype("string"),
    "large int": STEPS.astype(np.int64) * 2**60 + 1,
    "tiny float": SIGNAL * 1e-9,
    "decimal": [decimal.Decimal(f"{x:.3f}") for x in SIGNAL],
    "category of int": pd.Categorical(STEPS),
    "category of float": pd.Categorical(STEPS / 2),
    "category of bool": pd.Categorical(HIGH),
    "category of str": pd.Categorical(np.array(["low", "mid", "high"])[STEPS]),
    "date": [day.date() for day in DAYS],
    "timestamp": DAYS,
    "timestamp with time": DAYS + pd.to_timedelta(RNG.integers(0, 10**6, N), "ms"),
    "timestamp with zone": DAYS.tz_localize("Europe/Madrid"),
    "time": [datetime.time(int(h), 30) for h in RNG.integers(0, 24, N)],
    "timedelta": pd.to_timedelta(RNG.integers(0, 10**6, N), "s"),
}
ASKED = [
    ("bool", "--numeric"),
    ("boolean", "--numeric"),
    ("int", "--categorical"),
    ("float", "--categorical"),
    ("float with gaps", "--categorical"),
    ("category of float", "--categorical"),
    ("Int64", "--categorical"),
    ("tiny float", "--categorical"),
    ("float32", "--categorical"),
    ("decimal", "--categorical"),
    ("date", "--categorical"),
    ("timestamp", "--categorical"),
    ("timestamp with time", "--categorical"),
    ("timestamp with zone", "--categorical"),
    ("time", "--categorical"),
    ("timedelta", "--categorical"),
]
CASES = [*((name, None) for name in COLUMNS), *ASKED]
#: What pandas reads differently from CSV (1.50 as 1.5), or as objects that are no numbers.
READ_OTHERWISE = {"numbers as strings", "decimal", "timedelta"}
if parse_version(pd.__version__) < parse_version("3"):
    READ_OTHERWISE |= {"tiny float"}  # not the number that was written, but one beside it


@pytest.fixture
def both(fit, invoke, tmp_path):
    """Fit on both files and predict both files with both models."""

    def run(table, *arguments, in_python=True):
        table.to_csv(tmp_path / "t.csv", index=False)
        table.to_parquet(tmp_path / "t.parquet")
        states, answers = [], []
        for kind in ("csv", "parquet"):
            out = tmp_path / f"{kind}.svmproba"
            few = ["--bootstraps", 10, "--force", *arguments]
            done = fit(tmp_path / f"t.{kind}", out, *few, target="y")
            assert done.exit_code == 0, done.output
            model, about = svmproba.load(out), svmproba.read_about(out)["about"]
            roles = [(column["name"], column["role"]) for column in about["columns"]]
            labels = (about["positive"], about["negative"])
            states.append((roles, labels, model["svm"].member_coef_, model["svm"].intercept_))
            for data in ("t.csv", "t.parquet"):
                done = invoke("predict", out, tmp_path / data, "--jobs", 1)
                assert done.exit_code == 0, done.output
                assert "warning" not in done.stderr
                answers.append(done.stdout)
            # Tables of Python have other types: truth values, integers, dates.
            expected = pd.read_csv(io.StringIO(done.stdout))["probability"]
            place = model.classes_.tolist().index(model["svm"].pos_label_)
            read = (pd.read_csv(tmp_path / "t.csv"), pd.read_parquet(tmp_path / "t.parquet"))
            for X in read if in_python else ():
                P = model.predict_proba(X)[:, place]
                np.testing.assert_allclose(P, expected, rtol=0, atol=1e-7)  # numbers of 32 bits
        a, b = states
        assert a[:2] == b[:2]
        for mine, other in zip(a[2:], b[2:], strict=True):
            np.testing.assert_array_equal(mine, other)
        assert len(set(answers)) == 1
        return a, pd.read_csv(io.StringIO(answers[0]), dtype=str)

    return run


@pytest.mark.parametrize(("name", "option"), CASES)
def test_columns(both, name, option):
    noise = RNG.normal(size=N)
    y = np.where(SIGNAL + noise > 0, "yes", "no")
    table = pd.DataFrame({"x": noise.round(2), "c": COLUMNS[name], "y": y})
    asked = [] if option is None else [option, "c"]
    (roles, *_), _ = both(table, *asked, in_python=name not in READ_OTHERWISE)
    role = dict(roles)["c"]
    if option is not None:
        assert role == option.removeprefix("--")
    else:
        assert (role == "dropped") == (name.startswith(("date", "time")))


Y = (SIGNAL + RNG.normal(size=N) > 0).astype(int)
LABELS = {
    "bool": (Y == 1, "True"),
    "boolean": (pd.array(Y == 1, dtype="boolean"), "True"),
    "int": (Y, 1),
    "Int64": (pd.array(Y, dtype="Int64"), 1),
    "float": (Y.astype(float), 1),
    "halves": (Y / 2, 0.5),
    "category": (pd.Categorical(Y), 1),
    "text": (np.array(["no", "yes"])[Y], "yes"),
    "codes": (np.array(["01", "02"])[Y], "02"),
    "dashes": (np.array(["--5", "3"])[Y], "3"),
    "digits": (np.array(["9" * 5000, "1"])[Y], "9" * 5000),
    "large": (np.array(["99999999999999999999", "1"])[Y], "99999999999999999999"),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels(both, name):
    y, label = LABELS[name]
    table = pd.DataFrame({"x": SIGNAL.round(3), "y": y})
    (_, (positive, _), *_), scored = both(table)
    assert str(positive) == str(label)
    known = pd.Series(y).astype(str).str.replace(r"\.0$", "", regex=True)
    assert set(scored["decision"]) == set(known)
    both(table, "--positive", f"{label}.0" if label == 1 else label)


@pytest.mark.parametrize("name", ["bool", "int"])
@pytest.mark.parametrize("positive", ["1", "True", "true", "0", "FALSE"])
def test_truth_values_by_any_name(both, name, positive):
    table = pd.DataFrame({"x": SIGNAL.round(3), "y": LABELS[name][0]})
    (_, (chosen, _), *_), _ = both(table, "--positive", positive)
    expected = ("1", "True") if positive in ("1", "True", "true") else ("0", "False")
    assert str(chosen) in expected


@pytest.mark.parametrize(("first", "second"), [("csv", "parquet"), ("parquet", "csv")])
def test_true_of_another_writer(fit, invoke, tmp_path, first, second):
    table = pd.DataFrame({"x": SIGNAL.round(3), "flag": HIGH, "y": Y})
    table.to_parquet(tmp_path / "t.parquet")
    table["flag"] = np.where(HIGH, "true", "false")  # as R and polars write them
    table.to_csv(tmp_path / "t.csv", index=False)
    fit(tmp_path / f"t.{first}", tmp_path / "m.svmproba", "--bootstraps", 10, target="y")
    scored = [
        invoke("predict", tmp_path / "m.svmproba", tmp_path / f"t.{k}") for k in (first, second)
    ]
    assert scored[0].stdout == scored[1].stdout
    assert "unknown" not in scored[0].stderr + scored[1].stderr
