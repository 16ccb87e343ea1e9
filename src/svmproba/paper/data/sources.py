"""Where the files of the paper's data sets are published, and how they became ours.

The original archive comes first; the second choice is a public copy of it, at a fixed commit. What
is fetched is used only if its content has the digest in
:data:`svmproba.paper.data.datasets.DATASETS`.

Two files have no download. ``heart.csv.gz`` was put together from UCI's 76-attribute files of
Cleveland, Hungary and Switzerland, one of them corrupt and repaired from another copy;
``SRBCT.csv.gz`` comes from an R workspace of the package plsgenomics. ``wisconsin.csv`` ships with
scikit-learn.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

_ADULT_HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,class\n"
)


class Source(NamedTuple):
    """Where a file comes from."""

    urls: tuple[str, ...]
    member: str | None = None  # file to take from the zip archive that the address serves
    recode: Callable[..., bytes] | None = None  # makes our file of the contents fetched


def content_of(source: Source, contents: list[bytes]) -> bytes:
    """Make our file, not compressed, of what the addresses served."""
    if source.member is not None:
        contents = [_member(archive, source.member) for archive in contents]
    if source.recode is None:
        return contents[0]
    return source.recode(*contents)


def _member(archive: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return opened.read(name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"the archive has no readable member {name!r}: {error}") from error


def recode_adult(raw: bytes) -> bytes:
    """Give ``adult.data`` a header, without the blank after each comma and the last empty line."""
    body = raw.decode("ascii").replace("\r\n", "\n").rstrip("\n").replace(", ", ",")
    return f"{_ADULT_HEADER}{body}\n".encode("ascii")


def recode_productivity(raw: bytes) -> bytes:
    """Remove the blank that follows some entries of ``department``."""
    return raw.replace(b",finishing ,", b",finishing,")


def recode_leukemia(train: bytes, independent: bytes, actual: bytes) -> bytes:
    """Turn genes into columns and samples into rows, 1 to 72, with their class."""
    classes = {int(row[0]): row[1] for row in list(_lines(actual))[1:]}
    genes: list[str] = []
    samples: dict[int, list[str]] = {}
    for part in (train, independent):
        head, *rows = _lines(part)
        genes = [row[1] for row in rows]
        for column in range(2, len(head), 2):
            samples[int(head[column])] = [row[column] for row in rows]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["sample", "class", *genes])
    for sample in sorted(samples):
        writer.writerow([sample, classes[sample], *samples[sample]])
    return out.getvalue().encode("utf-8")


def _lines(content: bytes) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(content.decode("utf-8"))) if row]


def _uci(number: int, name: str, member: str, recode: Callable[..., bytes] | None = None) -> Source:
    return Source(
        (f"https://archive.ics.uci.edu/static/public/{number}/{name}.zip",), member, recode
    )


def _github(repository: str, commit: str, *paths: str, **more: Any) -> Source:
    root = f"https://raw.githubusercontent.com/{repository}/{commit}"
    return Source(tuple(f"{root}/{quote(path)}" for path in paths), **more)


#: Sources of every file, in the order in which they are tried.
SOURCES: dict[str, tuple[Source, ...]] = {
    "absenteeism.csv": (_uci(445, "absenteeism+at+work", "Absenteeism_at_work.csv"),),
    "adult.csv.gz": (_uci(2, "adult", "adult.data", recode_adult),),
    "australian.dat": (
        _uci(143, "statlog+australian+credit+approval", "australian.dat"),
        _github(
            "foxwy/QELM-VQELM", "c33f60639bd414cf64578eecbafadf6eae95e25b", "dataset/australian.dat"
        ),
    ),
    "banknote.csv": (
        _uci(267, "banknote+authentication", "data_banknote_authentication.txt"),
        _github("rfmoreno/ia", "65a0923be84df6cfbbc5625c71e72fa27b7cd725", "data_banknote.csv"),
    ),
    "careval.data": (_uci(19, "car+evaluation", "car.data"),),
    "cervical-cancer.csv": (
        _uci(383, "cervical+cancer+risk+factors", "risk_factors_cervical_cancer.csv"),
        _github(
            "christophM/interpretable-ml-book",
            "29b28599038c39d3ac0f700788b19d649ee8fa08",
            "data/risk_factors_cervical_cancer.csv",
        ),
    ),
    "churn.csv": (
        _uci(563, "iranian+churn+dataset", "Customer Churn.csv"),
        _github(
            "MumtaazM/Iranian-Churn",
            "3ac1b53446da369633be67e40ff35ea29bdd624c",
            "Customer Churn.csv",
        ),
    ),
    "german.data": (_uci(144, "statlog+german+credit+data", "german.data"),),
    "housing.csv": (
        _github(
            "scikit-learn/scikit-learn", "1.1.3", "sklearn/datasets/data/boston_house_prices.csv"
        ),
    ),
    "leukemia.csv.gz": (
        _github(
            "jhcui18/Leukemia_classifier",
            "c1adb976376075b2c5e38407e0f58529e7be8924",
            *("data_set_ALL_AML_train.csv", "data_set_ALL_AML_independent.csv", "actual.csv"),
            recode=recode_leukemia,
        ),
    ),
    "productivity.csv": (
        _uci(
            597,
            "productivity+prediction+of+garment+employees",
            "garments_worker_productivity.csv",
            recode_productivity,
        ),
        _github(
            "marcovirgolin/robust-counterfactuals",
            "bd1a62e3d991890c87c49df9869f2b0bef660da9",
            "datasets/garments_worker_productivity.csv",
        ),
    ),
}
