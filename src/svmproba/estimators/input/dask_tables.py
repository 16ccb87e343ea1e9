"""Tables of dask, partition by partition: what a fit reads of them, and predictions on them.

Dask is imported where such a table was given, so where it is installed.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba.bootstrap.fitted import FittedEnsemble

#: Partitions of which the drawn samples are in memory twice, before they are put in their places.
AT_ONCE = 16


def is_lazy(X: Any) -> bool:
    """Whether X is a table of dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_lazy(X: Any, advice: str) -> None:
    """Refuse a table of dask, which NumPy would collect without a word."""
    if is_lazy(X):
        raise TypeError(f"X is a dask {type(X).__name__}, which is not read as a whole: {advice}.")


class LazyLabels(NamedTuple):
    """What is known of the labels: lengths of the partitions, labels, samples of each."""

    lengths: NDArray[np.int64]
    classes: NDArray[Any]
    sizes: NDArray[np.int64]


def partitions(table: Any) -> list[Any]:
    """Give the partitions as delayed objects, all columns together."""
    if hasattr(table, "rechunk"):
        table = table.rechunk({1: -1}) if table.ndim == 2 else table
        return list(np.ravel(np.asarray(table.to_delayed(), dtype=object)))
    # Optimised, small files of which few columns are read become one partition: X and y of the
    # same files would fall apart. As it is, they share the reading of a file.
    return list(table.to_delayed(optimize_graph=False))


def _labels_of(part: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return np.unique(np.ravel(np.asarray(part)), return_counts=True)


def read_labels(X: Any, y: Any) -> LazyLabels:
    """Count the labels, one partition of y at a time; y is partitioned as X is."""
    import dask

    if not is_lazy(y):
        raise TypeError(f"y must be a dask Series or array as X is, got {type(y).__name__}.")
    if len(partitions(y)) != len(partitions(X)):
        raise ValueError(
            f"X and y must have the same partitions, got {len(partitions(X))} and "
            f"{len(partitions(y))}."
        )
    found = dask.compute(*[dask.delayed(_labels_of)(part) for part in partitions(y)])
    classes = np.unique(np.concatenate([labels for labels, _ in found]))
    sizes = np.zeros(len(classes), np.int64)
    for labels, n_each in found:
        sizes[np.searchsorted(classes, labels)] += n_each
    return LazyLabels(np.array([n_each.sum() for _, n_each in found]), classes, sizes)


def _pick(part: Any, labels: Any, rows: NDArray[np.int64], n: int) -> tuple[Any, NDArray[Any]]:
    if len(part) != n or len(labels) != n:
        raise ValueError(
            f"X and y must have the same partitions: one has {len(part)} samples of X and "
            f"{len(labels)} labels."
        )
    taken = part.iloc[rows] if hasattr(part, "iloc") else part[rows]
    return taken, np.ravel(np.asarray(labels))[rows]


def read_rows(
    X: Any, y: Any, lengths: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Read the rows at some places, a few partitions at a time; gives them with their labels.

    The third value are a few samples as they come, with the names of the columns.
    """
    import dask

    order, ends = np.argsort(places, kind="stable"), np.cumsum(lengths)
    cuts = np.searchsorted(places[order], np.append(0, ends))
    pairs = list(zip(partitions(X), partitions(y), strict=True))
    rows: Any = None
    labels: Any = None
    sample: Any = None
    for first in range(0, len(pairs), AT_ONCE):
        tasks, targets = [], []
        for k in range(first, min(first + AT_ONCE, len(pairs))):
            target = order[cuts[k] : cuts[k + 1]]
            if len(target):
                local = places[target] - (ends[k] - lengths[k])
                tasks.append(dask.delayed(_pick, nout=2)(*pairs[k], local, int(lengths[k])))
                targets.append(target)
        for target, (taken, names) in zip(targets, dask.compute(*tasks), strict=True):
            if rows is None:
                sample = taken[:5]
                found = np.asarray(sample).dtype
                if found.kind not in "fiub":
                    raise ValueError(f"X must have numeric columns, got columns of type {found}.")
                dtype = np.float32 if found == np.float32 else np.float64
                rows = np.empty((len(places), taken.shape[1]), dtype)
                labels = np.empty(len(places), names.dtype)
            rows[target], labels[target] = taken, names
    return rows, labels, sample


def map_partitions(model: Any, method: str, X: Any, columns: int | None, dtype: Any) -> Any:
    """Apply a method, whose arrays have so many columns or one axis, to every partition, lazily."""
    import dask
    import dask.array

    slim = copy.copy(model)
    slim.ensemble_ = for_prediction(model.ensemble_)
    inner = () if columns is None else (columns,)
    samples = partitions(X)
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(samples)
    apply = dask.delayed(_apply, pure=False)
    slim = dask.delayed(slim, traverse=False)
    parts = [
        dask.array.from_delayed(apply(slim, method, part, inner, dtype), (n, *inner), dtype=dtype)
        for part, n in zip(samples, lengths, strict=True)
    ]
    return dask.array.concatenate(parts, allow_unknown_chunksizes=True)


def for_prediction(ensemble: FittedEnsemble) -> FittedEnsemble:
    """Leave out what a prediction does not read: 40 MB that need not travel to every worker."""
    if ensemble.jackknife is not None:
        return ensemble
    nothing = np.empty((0, 0))
    return replace(
        ensemble,
        counts=np.empty((0, 0), np.uint8),
        oob_scores=nothing,
        oob_medians=nothing,
        oob_spreads=ensemble.oob_spreads[:, :0],
        oob_median=nothing.ravel(),
        vote_proba=nothing.ravel(),
        oob_proba=None,
        groups=None,
    )


def _apply(model: Any, method: str, part: Any, inner: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    if not len(part):
        return np.empty((0, *inner), dtype)
    result: NDArray[Any] = getattr(model, method)(part)
    return result
