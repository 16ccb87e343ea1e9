"""Kernel values on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from svmproba._types import Rows
from svmproba.solvers.core.tables import as_array, is_dense
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.gpu.ensemble import moved
from svmproba.solvers.gram import Gram
from svmproba.solvers.kernels import kernel_sides

#: Rows of a kernel matrix that are computed at a time.
_ROWS = 4096


def device_gram(gram: Gram, device: torch.device) -> Tensor:
    """Kernel matrix (n, n) of the training samples, computed on the device unless sparse."""
    if gram.source is None or not is_dense(gram.source[0][0]):
        gram.complete()
        return moved(gram.table, device)
    sides, kernel, degree = gram.source
    left, right = (moved(side, device) for side in sides)
    matrix = left.new_empty(gram.shape)
    for first in range(0, len(left), _ROWS):
        block = slice(first, first + _ROWS)
        matrix[block] = _values(left[block] @ right.T, kernel, degree)
    return matrix


def device_map(feature_map: FeatureMap, device: torch.device) -> Callable[[Any], Tensor]:
    """Return what `FeatureMap.transform` does; dense kernel values are computed on the device."""
    of, basis = feature_map, feature_map.basis
    if basis is None or not is_dense(basis):
        return lambda X: moved(as_array(of.transform(X)), device)
    centre = basis.mean(axis=0)
    right = moved(kernel_sides(basis, of.kernel, of.gamma, of.coef0, centre)[1], device).T
    projection = None if of.projection is None else moved(of.projection, device)

    def rows(X: Rows) -> Tensor:
        left, _ = kernel_sides(as_array(X), of.kernel, of.gamma, of.coef0, centre)
        values = _values(moved(left, device) @ right, of.kernel, of.degree)
        return values if projection is None else values @ projection

    return rows


def _values(arguments: Tensor, kernel: str, degree: int) -> Tensor:
    """Turn the arguments of a kernel into its values, in place."""
    if kernel == "rbf":
        return arguments.clamp_(max=0.0).exp_()
    return arguments.pow_(degree) if kernel == "poly" else arguments.tanh_()
