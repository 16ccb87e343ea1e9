"""Preparation steps of scikit-learn as ONNX graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from svmproba._sklearn_compat import input_places
from svmproba._words import CategoryWords
from svmproba.persistence.graphs.builder import Graph
from svmproba.selection import RateFeatureSelector


class Table(NamedTuple):
    """A table in the graph: one tensor of numbers, or a tensor (n, 1) for each column."""

    whole: str | None  # name of the tensor (n, n_columns) of float64
    columns: Sequence[str] = ()  # names of the columns without such a tensor
    is_text: Sequence[bool] = ()

    def numbers(self, graph: Graph) -> str:
        """Join all columns to one tensor of numbers."""
        if self.whole is not None:
            return self.whole
        if any(self.is_text):
            name = self.columns[self.is_text.index(True)]
            raise ValueError(f"column {name!r} holds text: encode it first.")
        return graph.add("Concat", *self.columns, axis=1)

    def take(self, graph: Graph, chosen: list[int]) -> Table:
        """Take some of the columns."""
        if self.whole is not None:
            return Table(graph.columns(self.whole, chosen))
        return Table(None, [self.columns[k] for k in chosen], [self.is_text[k] for k in chosen])


def open_inputs(graph: Graph, steps: list[Any], kind: type) -> tuple[list[Any], Table]:
    """Declare the inputs of the graph; return them and the table that they form."""
    from onnx import TensorProto, helper

    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    first, n_columns = steps[0], int(steps[0].n_features_in_)
    texts = _first_texts(steps)
    if not texts:
        value = helper.make_tensor_value_info("X", number, ["n", n_columns])
        return [value], Table(_as_double(graph, "X", kind))
    names = [str(name) for name in getattr(first, "feature_names_in_", ())]
    names = names or [f"x{k}" for k in range(n_columns)]
    taken = {"label", "probabilities"} & set(names)
    if taken:
        raise ValueError(f"column {min(taken)!r} has the name of an output: rename it.")
    bad = [name for name in names if not name or name.startswith("/")]
    if bad:
        raise ValueError(f"column {bad[0]!r} has a name that ONNX cannot take: rename it.")
    used = _used_columns(first)
    inputs = [
        helper.make_tensor_value_info(
            names[k], TensorProto.STRING if k in texts else number, ["n", 1]
        )
        for k in sorted(used)
    ]
    columns = [
        name if k in texts or k not in used else _as_double(graph, name, kind)
        for k, name in enumerate(names)
    ]
    return inputs, Table(None, columns, [k in texts for k in range(n_columns)])


def _as_double(graph: Graph, name: str, kind: type) -> str:
    return name if kind is np.float64 else graph.cast(name, np.float64)


def _branches(transformer: ColumnTransformer) -> list[tuple[Any, list[int]]]:
    """Fitted parts of a ColumnTransformer and their columns, in the order of the output."""
    places = input_places(transformer)
    return [
        (part, places[name])
        for name, part, _ in transformer.transformers_
        if part != "drop" and len(places[name])
    ]


def _text_columns(first: Any) -> set[int]:
    """Columns for which a OneHotEncoder has text categories."""
    if isinstance(first, ColumnTransformer):
        branches = _branches(first)
        return {chosen[k] for part, chosen in branches for k in _text_columns(part)}
    if isinstance(first, Pipeline):
        return _first_texts([step for _, step in first.steps])
    if isinstance(first, OneHotEncoder):
        kinds = enumerate(first.categories_)
        return {k for k, known in kinds if any(isinstance(value, str) for value in known)}
    return set()


def _first_texts(steps: list[Any]) -> set[int]:
    """Columns of the input that hold text; steps that keep the columns are passed."""
    for step in steps:
        if not isinstance(step, CategoryWords | SimpleImputer):
            return _text_columns(step)
    return set()


def _used_columns(first: Any) -> set[int]:
    if isinstance(first, ColumnTransformer):
        return {k for _, chosen in _branches(first) for k in chosen}
    return set(range(first.n_features_in_))


def step_graph(graph: Graph, step: Any, table: Table) -> Table:
    """Add a fitted step."""
    if step is None or step == "passthrough":
        return table
    if type(step) in _GRAPHS:
        return _GRAPHS[type(step)](graph, step, table)
    names = ", ".join(sorted(kind.__name__ for kind in _GRAPHS))
    raise ValueError(
        f"{type(step).__name__} cannot be exported to ONNX, only {names}. Export the last step "
        f"alone, to_onnx(model[-1]), and transform the samples before."
    )


def _pipeline(graph: Graph, step: Pipeline, table: Table) -> Table:
    for _, part in step.steps:
        table = step_graph(graph, part, table)
    return table


def _column_transformer(graph: Graph, step: ColumnTransformer, table: Table) -> Table:
    if step.transformer_weights:
        raise ValueError("ColumnTransformer with transformer_weights cannot be exported to ONNX.")
    parts = [
        step_graph(graph, part, table.take(graph, chosen)).numbers(graph)
        for part, chosen in _branches(step)
    ]
    return Table(graph.add("Concat", *parts, axis=1))


def _shift(name_of_centre: str, name_of_scale: str) -> Callable[[Graph, Any, Table], Table]:
    def build(graph: Graph, step: Any, table: Table) -> Table:
        rows = table.numbers(graph)
        centre = getattr(step, name_of_centre, None)
        if centre is not None and getattr(step, "with_mean", getattr(step, "with_centering", True)):
            rows = graph.add("Sub", rows, centre)
        if getattr(step, name_of_scale, None) is not None:
            rows = graph.add("Div", rows, getattr(step, name_of_scale))
        return Table(rows)

    return build


def _max_abs(graph: Graph, step: MaxAbsScaler, table: Table) -> Table:
    rows = graph.add("Div", table.numbers(graph), step.scale_)
    if getattr(step, "clip", False):  # since scikit-learn 1.9
        rows = graph.add("Clip", rows, -1.0, 1.0)
    return Table(rows)


def _min_max(graph: Graph, step: MinMaxScaler, table: Table) -> Table:
    rows = graph.add("Add", graph.add("Mul", table.numbers(graph), step.scale_), step.min_)
    if step.clip:
        rows = graph.add("Clip", rows, *(float(end) for end in step.feature_range))
    return Table(rows)


def _selection(graph: Graph, step: Any, table: Table) -> Table:
    return table.take(graph, [int(k) for k in step.get_support(indices=True)])


def _function(graph: Graph, step: FunctionTransformer, table: Table) -> Table:
    if step.func is not None:
        raise ValueError("FunctionTransformer with a function cannot be exported to ONNX.")
    return table


def _imputer(graph: Graph, step: SimpleImputer, table: Table) -> Table:
    marker = step.missing_values
    if step.add_indicator or not (isinstance(marker, float) and np.isnan(marker)):
        raise ValueError(
            "SimpleImputer can be exported to ONNX with missing_values=nan and "
            "add_indicator=False only."
        )
    if any(table.is_text):
        columns = [
            _fill_text(graph, name, value) if text else _fill(graph, name, [value])
            for name, text, value in zip(*table[1:], step.statistics_, strict=True)
        ]
        return Table(None, columns, table.is_text)
    values = np.asarray(step.statistics_, dtype=np.float64)
    rows, known = table.numbers(graph), np.flatnonzero(~np.isnan(values))
    if len(known) < len(values):  # the imputer drops columns without any number
        rows, values = graph.columns(rows, known), values[known]
    return Table(_fill(graph, rows, values))


def _fill(graph: Graph, rows: str, values: Any) -> str:
    return graph.add("Where", graph.add("IsNaN", rows), values, rows)


def _fill_text(graph: Graph, name: str, value: Any) -> str:
    missing = graph.add("Equal", name, graph.texts([[""]]))
    return graph.add("Where", missing, graph.texts([[str(value)]]), name)


def _one_hot(graph: Graph, step: OneHotEncoder, table: Table) -> Table:
    if step.drop is not None or step.min_frequency is not None or step.max_categories is not None:
        raise ValueError(
            "OneHotEncoder can be exported to ONNX with drop=None, min_frequency=None and "
            "max_categories=None only."
        )
    parts = []
    for k, known in enumerate(step.categories_):
        column = table.take(graph, [k])
        if column.is_text and column.is_text[0]:
            if not all(isinstance(value, str) for value in known):
                raise ValueError(
                    "a OneHotEncoder with text and missing values in one column cannot be exported "
                    "to ONNX: put a SimpleImputer before it."
                )
            hits = graph.add("Equal", column.columns[0], graph.texts([list(known)]))
        else:
            values = np.asarray(known, dtype=np.float64)
            rows = column.numbers(graph)
            hits = graph.add("Equal", rows, values)
            if np.isnan(values).any():  # nothing equals it
                its_place = graph.constant(np.isnan(values), np.bool_)
                missing = graph.add("And", graph.add("IsNaN", rows), its_place)
                hits = graph.add("Or", hits, missing)
        parts.append(graph.cast(hits, np.float64))
    return Table(graph.add("Concat", *parts, axis=1))


_GRAPHS: dict[type, Callable[[Graph, Any, Table], Table]] = {
    CategoryWords: lambda graph, step, table: table,  # the inputs are words already
    ColumnTransformer: _column_transformer,
    FunctionTransformer: _function,
    MaxAbsScaler: _max_abs,
    MinMaxScaler: _min_max,
    OneHotEncoder: _one_hot,
    Pipeline: _pipeline,
    RateFeatureSelector: _selection,
    RobustScaler: _shift("center_", "scale_"),
    SelectKBest: _selection,
    SelectPercentile: _selection,
    SimpleImputer: _imputer,
    StandardScaler: _shift("mean_", "scale_"),
    VarianceThreshold: _selection,
}
