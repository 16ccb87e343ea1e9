"""A small builder of ONNX graphs, and the pieces that links are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Floats

#: The first version that compares texts; onnxruntime supports it since 1.17.
OPSET = 19


class Graph:
    """Nodes and constants of a graph; its names begin with a slash, unlike those of columns."""

    def __init__(self) -> None:
        import onnx.helper
        import onnx.numpy_helper

        self._helper, self._numpy_helper = onnx.helper, onnx.numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: str | ArrayLike, name: str = "", **attributes: Any) -> str:
        """Add a node with one output; inputs that are not names become constants of float64."""
        names = [part if isinstance(part, str) else self.constant(part) for part in inputs]
        name = name or f"/{kind}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, names, [name], name=name, **attributes))
        return name

    def constant(self, value: ArrayLike, dtype: Any = np.float64) -> str:
        """Add a constant tensor."""
        name = f"/constant_{len(self.constants)}"
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype)).reshape(np.shape(value))
        self.constants.append(self._numpy_helper.from_array(array, name))
        return name

    def texts(self, values: ArrayLike) -> str:
        """Add a constant tensor of texts."""
        return self.constant(np.asarray(values, dtype=object), dtype=object)

    def cast(self, value: str, kind: Any) -> str:
        """Change the type of a tensor."""
        return self.add("Cast", value, to=self._helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def columns(self, table: str, chosen: ArrayLike) -> str:
        """Take columns of a table."""
        return self.add("Gather", table, self.constant(chosen, np.int64), axis=1)

    def columns3(self, tensor: str, chosen: ArrayLike) -> str:
        """Take places of the last axis of a tensor of three."""
        return self.add("Gather", tensor, self.constant(chosen, np.int64), axis=2)

    def mean(self, table: str) -> str:
        """Mean of every row, (n, 1)."""
        return self.add("ReduceMean", table, self.constant([1], np.int64), keepdims=1)

    def count(self, comparison: str, value: str, numbers: Floats) -> str:
        """Count the numbers for which the comparison with each value holds, int64 (n, 1)."""
        hits = self.cast(self.add(comparison, value, numbers), np.int32)
        total = self.add("ReduceSum", hits, self.constant([1], np.int64), keepdims=1)
        return self.cast(total, np.int64)

    def look_up(self, numbers: Floats, place: str) -> str:
        """Take the numbers at the places, (n, 1)."""
        return self.add("Gather", numbers, place, axis=0)

    def steps(self, value: str, comparison: str, edges: Floats, heights: Floats) -> str:
        """Step function: the height after all edges for which the comparison holds, (n, 1)."""
        rises = np.flatnonzero(np.diff(heights))
        if len(rises) == 0:
            return self.add("Add", self.add("Mul", value, 0.0), heights[0])
        place = self.count(comparison, value, edges[rises])
        return self.look_up(np.append(heights[rises], heights[-1]), place)

    def interpolate(self, value: str, knots: Floats, heights: Floats) -> str:
        """Linear interpolation, constant outside the knots, as `numpy.interp`; (n, 1)."""
        if len(knots) == 1:
            return self.steps(value, "GreaterOrEqual", knots[:0], heights)
        inside = self.add("Clip", value, knots[0], knots[-1])
        pieces = self.count("GreaterOrEqual", inside, knots[:-1])
        place = self.add("Sub", pieces, self.constant(1, np.int64))
        distance = self.add("Sub", inside, self.look_up(knots[:-1], place))
        rise = self.add("Mul", distance, self.look_up(np.diff(heights) / np.diff(knots), place))
        return self.add("Add", rise, self.look_up(heights[:-1], place))
