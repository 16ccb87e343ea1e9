"""Kernel values, scores and calibrated probabilities as ONNX graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from svmproba._types import Floats
from svmproba.bootstrap.fitting.members import Members, same_map
from svmproba.bootstrap.summaries.spread import LARGEST_RATIO, LEAST_SPREAD, family_mixtures
from svmproba.estimators.ensemble.calibration import TIE_BREAK
from svmproba.persistence.graphs.builder import Graph
from svmproba.persistence.graphs.links import link_graph
from svmproba.solvers.features import FeatureMap


def _kernel_graph(graph: Graph, feature_map: FeatureMap, rows: str) -> str:
    """Rows of a feature map, see `svmproba.solvers.kernels.kernel_matrix`."""
    if feature_map.kernel == "linear":
        return rows
    if feature_map.kernel == "precomputed":
        K = graph.columns(rows, np.asarray(feature_map.pivots))
    else:
        basis: Any = feature_map.basis
        basis = basis if isinstance(basis, np.ndarray) else basis.toarray()
        if feature_map.kernel == "rbf":
            centre = basis.mean(axis=0)
            rows, basis = graph.add("Sub", rows, centre), basis - centre
        K = _value_graph(graph, feature_map, rows, basis)
    return K if feature_map.projection is None else graph.add("MatMul", K, feature_map.projection)


def _value_graph(graph: Graph, feature_map: FeatureMap, rows: str, basis: Floats) -> str:
    """Kernel values (n, m) of samples with the rows of a basis."""
    gamma, K = feature_map.gamma, graph.add("MatMul", rows, basis.T)
    if feature_map.kernel == "rbf":
        squares = graph.add("ReduceSumSquare", rows, graph.constant([1], np.int64), keepdims=1)
        distances = graph.add("Sub", squares, graph.add("Mul", K, 2.0))
        distances = graph.add("Add", distances, np.square(basis).sum(axis=1))
        return graph.add("Exp", graph.add("Min", graph.add("Mul", distances, -gamma), 0.0))
    K = graph.add("Add", graph.add("Mul", K, gamma), feature_map.coef0)
    if feature_map.kernel == "poly":
        power = K
        for _ in range(feature_map.degree - 1):  # runtimes compute Pow in single precision
            power = graph.add("Mul", power, K)
        return power
    return graph.add("Tanh", K)


def family_rows(graph: Graph, members: Members, rows: str) -> list[str]:
    """Rows of the feature map of every family; neighbours share them."""
    found: list[str] = []
    maps = members.feature_maps
    for f, feature_map in enumerate(maps):
        shared = f > 0 and same_map(feature_map, maps[f - 1])
        found.append(found[-1] if shared else _kernel_graph(graph, feature_map, rows))
    return found


def score_graph(graph: Graph, feature_map: FeatureMap, rows: str, columns: Floats) -> str:
    """Products of rows and columns (d, k) of coefficients."""
    if feature_map.kernel == "linear":
        columns = feature_map.input_coef(columns.T).T
    return graph.add("MatMul", rows, columns)


def single_scores(graph: Graph, final: Any, rows: str) -> str:
    """Scores (n, n_pairs) of single SVMs."""
    feature_map = final._feature_map
    mapped = _kernel_graph(graph, feature_map, rows)
    scores = score_graph(graph, feature_map, mapped, final._coef.T)
    return graph.add("Add", scores, final.intercept_)


def mixture_graph(
    graph: Graph,
    members: Members,
    weights: Floats,
    scales: Floats,
    link: Any,
    rows: str,
    with_spreads: bool,
) -> str:
    """Calibrated probability (n, 1) of an ensemble; `with_spreads`: its spreads are known."""
    tables, used = family_rows(graph, members, rows), weights > 0
    # Folded into the coefficients: runtimes divide with an error of 1e-7.
    columns = [
        part / scale
        for part, scale in zip(members.mean_columns, np.split(scales, len(tables)), strict=True)
    ]
    parts = zip(members.feature_maps, tables, columns, np.split(used, len(tables)), strict=True)
    means = [
        score_graph(graph, feature_map, table, part[:, some])
        for feature_map, table, part, some in parts
        if some.any()
    ]
    joined = graph.add("Concat", *means, axis=1) if len(means) > 1 else means[0]
    scaled = graph.add("Add", joined, (members.intercept.mean(axis=1) / scales)[used])
    mixed = graph.add("MatMul", scaled, weights[used][:, np.newaxis])
    read = mixed if link.reads == "mixed" else scaled
    if link.reads == "ratios" and with_spreads:
        read = graph.add(
            "Concat", scaled, *_ratio_graphs(graph, members, weights / scales, tables), axis=1
        )
    P = link_graph(graph, link, read)
    slack = graph.add("Mul", graph.add("Sub", graph.add("Sigmoid", mixed), P), TIE_BREAK)
    return graph.add("Add", P, slack)


def _ratio_graphs(
    graph: Graph, members: Members, weights: Floats, tables: list[str]
) -> Iterator[str]:
    """Scores of each family in units of their spread, (n, 1); as `score_ratios`."""
    n_bags = members.intercept.shape[1]
    mixtures = family_mixtures(members, weights)
    parts = zip(members.feature_maps, tables, mixtures, strict=True)
    for feature_map, table, mixture in parts:
        scores = score_graph(graph, feature_map, table, mixture.columns)
        scores = graph.add("Add", scores, mixture.intercept)
        mean = graph.mean(scores)
        centred = graph.add("Sub", scores, mean)
        variance = graph.mean(graph.add("Mul", centred, centred))
        spread = graph.add("Sqrt", graph.add("Mul", variance, n_bags / (n_bags - 1)))
        ratio = graph.add("Div", mean, graph.add("Max", spread, LEAST_SPREAD))
        yield graph.add("Clip", ratio, -LARGEST_RATIO, LARGEST_RATIO)
