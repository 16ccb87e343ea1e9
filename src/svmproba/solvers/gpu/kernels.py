"""Kernel values on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from svmproba._types import Rows
from svmproba.solvers.core.tables import as_array
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.gpu.ensemble import moved
from svmproba.solvers.gram import Gram
from svmproba.solvers.kernels import as_rows, kernel_sides

#: Rows of a kernel matrix that are computed at a time.
_ROWS = 4096


def device_gram(gram: Gram, device: torch.device) -> Tensor:
    """Kernel matrix (n, n) of the training samples, computed on the device where it can be."""
    if gram.source is None:
        gram.complete()
        return moved(gram.table, device)
    sides, kernel, degree = gram.source
    left, right = (moved(as_array(side), device) for side in sides)
    matrix = left.new_empty(gram.shape)
    for first in range(0, len(left), _ROWS):
        block = slice(first, first + _ROWS)
        matrix[block] = _values(left[block] @ right.T, kernel, degree)
    return matrix


def device_map(feature_map: FeatureMap, device: torch.device) -> Callable[[Any], Tensor]:
    """Return what `FeatureMap.transform` does, on a device."""
    of, basis = feature_map, feature_map.basis
    projection = None if of.projection is None else moved(of.projection, device)
    right = None
    if basis is not None:
        _, sides = kernel_sides(basis, of.kernel, of.gamma, of.coef0, centre_of=basis)
        right = moved(as_array(sides), device).T

    def rows(X: Rows) -> Tensor:
        if right is None:
            values = moved(as_array(X if of.pivots is None else X[:, of.pivots]), device)
        else:
            left, _ = kernel_sides(as_rows(X), of.kernel, of.gamma, of.coef0, centre_of=basis)
            values = _values(moved(as_array(left), device) @ right, of.kernel, of.degree)
        return values if projection is None else values @ projection

    return rows


def _values(arguments: Tensor, kernel: str, degree: int) -> Tensor:
    """Turn the arguments of a kernel into its values, in place."""
    if kernel == "rbf":
        return arguments.clamp_(max=0.0).exp_()
    return arguments.pow_(degree) if kernel == "poly" else arguments.tanh_()
