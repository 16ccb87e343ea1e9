"""The data of the benchmarks: the paper's tables, text-like sparse rows, two Gaussians."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


def data_folder() -> Path | None:
    """Return SVMPROBA_DATA, or shared/data beside the repository, or None (wisconsin only)."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SVMPROBA_DATA", beside))
    return folder if folder.is_dir() else None


def paper_table(name: str) -> tuple[Floats, Labels]:
    """Return 90 % of a data set of the paper, always the same, preprocessed as in the paper."""
    X, y = load_dataset(name, data_folder())
    X, _, y, _ = train_test_split(X, y, train_size=0.9, stratify=y, random_state=0)
    return make_preprocessor(X).fit_transform(X), y


def two_gaussians(n: int, d: int) -> tuple[Floats, Labels]:
    """Return two classes, means 2 standard deviations apart along 5 columns; the rest is noise.

    The best rule errs on 16 % of the records, whatever n and d >= 5 are.
    """
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d))
    X[:, :5] += (2 * y[:, None] - 1) / np.sqrt(5)
    return X, y


def text_like(
    n: int = 20_000, d: int = 50_000, words: int = 108, tilt: float = 0.15
) -> tuple[sparse.csr_matrix, Labels]:
    """Return documents as tf-idf rows: word frequencies as 1 / rank, tilted by the class.

    The defaults give about 100 entries a row, and a linear SVM is right on 88 % of new rows.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    length = rng.poisson(words, n)
    log_tilt = tilt * rng.standard_normal(d)
    draws, document_class = rng.random(length.sum()), np.repeat(y, length)
    token = np.empty(len(draws), np.int32)
    for label, sign in ((0, -1.0), (1, 1.0)):
        share = np.cumsum(np.exp(sign * log_tilt) / (np.arange(d) + 10.0))
        here = document_class == label
        token[here] = np.searchsorted(share / share[-1], draws[here])
    starts = np.concatenate([[0], np.cumsum(length)])
    X = sparse.csr_matrix((np.ones(len(token)), token, starts), shape=(n, d))
    X.sum_duplicates()
    documents = np.bincount(X.indices, minlength=d)
    X.data = np.log1p(X.data) * np.log((1 + n) / (1 + documents[X.indices]))
    return normalize(X), y
