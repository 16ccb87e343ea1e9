"""Finished cells of the experiment in a SQLite file, each written at once and whole."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = 1
#: The letters "svmp", so that the file can be told from others.
APPLICATION = 0x73766D70

_SCHEMA = """
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    protocol TEXT NOT NULL,
    dataset TEXT NOT NULL,
    family TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    fold INTEGER NOT NULL,
    n_folds INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    bags INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    record BLOB NOT NULL,
    y BLOB NOT NULL,
    seconds REAL NOT NULL,
    warnings TEXT NOT NULL,
    finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (protocol, dataset, family, repeat, fold, n_folds, seed, bags, recipe)
);
CREATE TABLE output (
    cell INTEGER NOT NULL REFERENCES cell (id),
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (cell, name)
) WITHOUT ROWID;
"""


class Cell(NamedTuple):
    """What decides a result; two cells with the same values have the same one."""

    protocol: str
    dataset: str
    family: str
    repeat: int
    fold: int
    n_folds: int  # 1 for a single tenth held out
    seed: int
    bags: int  # 0 for methods without bags
    recipe: str  # the estimator's parameters and the digest of the data


class Result(NamedTuple):
    """Result of a cell."""

    record: NDArray[np.int64]  # (n,), places of the predicted records
    y: NDArray[np.int64]  # (n,), their labels, 1 for the class of interest
    outputs: dict[str, NDArray[np.float64]]  # (n,) each
    seconds: float
    warnings: str = ""  # of the fit, one per line


_KEY = ", ".join(Cell._fields)
_SAME = " AND ".join(f"{name} = ?" for name in Cell._fields)


class Store:
    """Results in a SQLite file; whatever happens to the process, it holds whole cells."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            self._open()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        try:
            # A rollback journal synced to the disk: no second file is needed to read the results.
            self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                (version,) = self._connection.execute("PRAGMA user_version").fetchone()
                (kind,) = self._connection.execute("PRAGMA application_id").fetchone()
                (n_tables,) = self._connection.execute(
                    "SELECT count(*) FROM sqlite_master"
                ).fetchone()
                if n_tables == 0:
                    for statement in _SCHEMA.split(";"):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {VERSION}")
                    self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                elif (version, kind) != (VERSION, APPLICATION):
                    raise ValueError(
                        f"{self.path} is not a file of results of version {VERSION}: move it or "
                        "choose another folder"
                    )
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} cannot be used for results: {error}") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def __contains__(self, cell: Cell) -> bool:
        return self._id(cell) is not None

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM cell").fetchone()[0])

    def _id(self, cell: Cell) -> int | None:
        found = self._connection.execute(f"SELECT id FROM cell WHERE {_SAME}", cell).fetchone()
        return None if found is None else int(found[0])

    def add(self, cell: Cell, result: Result) -> None:
        """Keep a result; one that is stored already stays."""
        facts = (
            _packed(result.record, "<i4"),
            _packed(result.y, "u1"),
            result.seconds,
            result.warnings,
        )
        places = ", ".join("?" * (len(cell) + len(facts)))
        with self._transaction():
            if self._id(cell) is not None:
                return
            row = self._connection.execute(
                f"INSERT INTO cell ({_KEY}, record, y, seconds, warnings) VALUES ({places})",
                (*cell, *facts),
            ).lastrowid
            self._connection.executemany(
                "INSERT INTO output (cell, name, value) VALUES (?, ?, ?)",
                [(row, name, _packed(value, "<f8")) for name, value in result.outputs.items()],
            )

    def get(self, cell: Cell) -> Result:
        """Read a result; KeyError where it is missing."""
        found = self._connection.execute(
            f"SELECT id, record, y, seconds, warnings FROM cell WHERE {_SAME}", cell
        ).fetchone()
        if found is None:
            raise KeyError(cell)
        row, record, y, seconds, warned = found
        outputs = self._connection.execute("SELECT name, value FROM output WHERE cell = ?", (row,))
        return Result(
            np.frombuffer(record, "<i4").astype(np.int64),
            np.frombuffer(y, "u1").astype(np.int64),
            {name: np.frombuffer(value, "<f8").copy() for name, value in outputs},
            seconds,
            warned,
        )

    def bags_used(self, cell: Cell) -> list[int]:
        """Numbers of bags, in increasing order, with which a cell was computed."""
        others = [name for name in Cell._fields if name != "bags"]
        same = " AND ".join(f"{name} = ?" for name in others)
        found = self._connection.execute(
            f"SELECT bags FROM cell WHERE {same} ORDER BY bags",
            [getattr(cell, name) for name in others],
        )
        return [int(bags) for (bags,) in found]


def _packed(values: NDArray[np.generic], kind: str) -> bytes:
    return np.ascontiguousarray(values, dtype=kind).tobytes()
