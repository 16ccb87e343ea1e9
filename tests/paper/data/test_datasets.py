import numpy as np
import pandas as pd
import pytest

from svmproba.paper.data.datasets import DATASETS, DISCREPANCIES, PAPER_DATASETS, load_dataset
from svmproba.paper.tables import printed
from svmproba.preparation.preprocessing import make_preprocessor

# name: rows, attributes, positives, columns after encoding all rows
COUNTS = {
    "absenteeism": (740, 20, 272, 66),
    "adult": (32561, 14, 7841, 105),
    "australian": (690, 14, 307, 42),
    "banknote": (1372, 4, 610, 4),
    "careval": (1728, 6, 518, 21),
    "cervical-cancer-1": (858, 32, 35, 32),
    "cervical-cancer-2": (858, 32, 74, 32),
    "churn": (3150, 13, 495, 13),
    "german": (1000, 20, 300, 61),
    "heart": (720, 13, 360, 24),
    "heart-full": (720, 75, 360, 86),
    "housing": (506, 13, 256, 13),
    "leukemia": (72, 7129, 25, 7129),
    "productivity": (1197, 14, 474, 34),
    "SRBCT": (83, 2308, 29, 2308),
    "wisconsin": (569, 30, 212, 30),
}
# Missing cells among the attributes.
MISSING = {"adult": 4262, "cervical-cancer-1": 3622, "heart-full": 17551, "productivity": 506}


@pytest.mark.parametrize("name", DATASETS)
def test_counts(name, data_dir):
    X, y = load_dataset(name, data_dir)
    rows, attributes, positives, columns = COUNTS[name]
    assert X.shape == (rows, attributes)
    assert (y.dtype, y.sum(), set(y)) == (np.int64, positives, {0, 1})
    if name in MISSING:
        assert X.isna().sum().sum() == MISSING[name]
    assert make_preprocessor(X).fit_transform(X).shape == (rows, columns)


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_positives_are_those_of_the_paper(name):
    assert COUNTS[name][2] == printed(1, name, "positives") - (2 if name == "heart" else 0)


def test_types(data_dir):
    X, _ = load_dataset("heart", data_dir)
    assert list(X.columns[X.dtypes == "category"]) == ["cp", "restecg", "slope", "thal"]
    assert list(X["cp"].cat.categories) == ["1", "2", "3", "4"]
    X, _ = load_dataset("productivity", data_dir)
    assert pd.api.types.is_datetime64_any_dtype(X["date"])
    assert X["date"].min() == pd.Timestamp("2015-01-01")


def test_wisconsin_of_scikit_learn_is_the_same(data_dir, monkeypatch):
    monkeypatch.delenv("SVMPROBA_DATA", raising=False)
    X, y = load_dataset("wisconsin")
    X_file, y_file = load_dataset("wisconsin", data_dir)
    pd.testing.assert_frame_equal(X, X_file)
    np.testing.assert_array_equal(y, y_file)


def test_folder_from_the_environment(data_dir, monkeypatch):
    monkeypatch.setenv("SVMPROBA_DATA", str(data_dir))
    assert load_dataset("banknote")[0].shape == (1372, 4)


def test_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of absenteeism.*got 'iris'"):
        load_dataset("iris")


def test_missing_file(tmp_path, monkeypatch):
    monkeypatch.delenv("SVMPROBA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"churn\.csv is in none of.*SVMPROBA_DATA"):
        load_dataset("churn", tmp_path / "empty", download=False)


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_discrepancies_with_the_paper_are_told(name):
    ours, columns = COUNTS[name], ("records", "attributes", "positives")
    differ = any(ours[k] != printed(1, name, column) for k, column in enumerate(columns))
    assert differ == (name in DISCREPANCIES)


def test_changed_file(tmp_path):
    (tmp_path / "churn.csv").write_text("Churn,Age\n1,2\n")
    with pytest.raises(ValueError, match="its sha256 is"):
        load_dataset("churn", tmp_path)
