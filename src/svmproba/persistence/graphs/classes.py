"""Votes and coupled probabilities of more than two classes as ONNX graphs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.summaries.votes import DECIMALS
from svmproba.estimators import ProbabilitySVC
from svmproba.links import ClassScaling
from svmproba.links._class_scaling import _LEAST as LEAST_SCALED
from svmproba.links._coupling import _LEAST as LEAST_COUPLED
from svmproba.persistence.graphs.builder import Graph
from svmproba.persistence.graphs.links import link_graph
from svmproba.persistence.graphs.scores import (
    family_rows,
    mixture_graph,
    score_graph,
    single_scores,
)


def class_graph(graph: Graph, final: Any, rows: str, votes: bool) -> str:
    """Add the probabilities, and give the places (n,) of the classes that are called."""
    if isinstance(final, ProbabilitySVC):
        scores, factors = single_scores(graph, final, rows), np.ones(len(final.classes_))
        parts = [
            link_graph(graph, link, graph.columns(scores, [p]))
            for p, link in enumerate(final.link_)
        ]
        P = couple_graph(graph, graph.add("Concat", *parts, axis=1), len(final.classes_))
    else:
        ensemble = final.ensemble_
        if final._present is not None and ensemble.members.columns is not None:
            rows = graph.columns(rows, final._present)
        tables = _tables(graph, ensemble, rows)
        make, factors = (_vote_graph if votes else _calibrated_graph), ensemble.factors
        P = make(graph, ensemble, tables)
    P = graph.add("Identity", P, name="probabilities")
    if final.costs_ is not None:
        return graph.add("ArgMin", graph.add("MatMul", P, final.costs_), axis=1, keepdims=0)
    return graph.add("ArgMax", graph.add("Mul", P, factors), axis=1, keepdims=0)


def _tables(graph: Graph, ensemble: FittedClasses, rows: str) -> list[str]:
    """Rows that the members of every pair read."""
    columns = ensemble.members.columns
    n_pairs = len(ensemble.members.of_pair)
    return [rows] * n_pairs if columns is None else [graph.columns(rows, own) for own in columns]


def _vote_graph(graph: Graph, ensemble: FittedClasses, tables: list[str]) -> str:
    """Mixture (n, n_classes) of the shares of the bags that call each class."""
    pairs = zip(ensemble.members.of_pair, tables, strict=True)
    mapped = [family_rows(graph, members, table) for members, table in pairs]
    terms = [
        graph.add("Mul", _call_shares(graph, ensemble, mapped, int(theta)), ensemble.weights[theta])
        for theta in np.flatnonzero(ensemble.weights)
    ]
    mixture = graph.add("Mul", graph.add("Sum", *terms), 10.0**DECIMALS)
    return _normalised(graph, graph.add("Round", mixture))


def _call_shares(graph: Graph, ensemble: FittedClasses, mapped: list[list[str]], theta: int) -> str:
    """Shares (n, n_classes) of the bags that call each class at one hyperparameter value."""
    members, shifts = ensemble.members, ensemble.shifts
    n_classes, (n_theta, n_bags) = members.n_classes, members.of_pair[0].intercept.shape
    balance: list[list[str]] = [[] for _ in range(n_classes)]  # pairs won less pairs lost
    for p, (first, second) in enumerate(members.pairs):
        of_pair = members.of_pair[p]
        family, place = divmod(theta, n_theta // len(of_pair.columns))
        columns = of_pair.columns[family][:, place * n_bags : (place + 1) * n_bags]
        scores = score_graph(graph, of_pair.feature_maps[family], mapped[p][family], columns)
        moved = of_pair.intercept[theta] + (shifts[second] - shifts[first])
        sign = graph.add("Sign", graph.add("Add", scores, moved))
        balance[second].append(sign)
        balance[first].append(graph.add("Neg", sign))
    wins = [graph.add("Sum", *signs) for signs in balance]
    best = graph.add("Max", *wins)
    hits = [graph.cast(graph.add("Equal", own, best), np.float64) for own in wins]
    n_best = graph.cast(graph.add("Sum", *hits), np.int64)
    # Looked up, because runtimes divide with an error of 1e-7.
    part = graph.add("Gather", 1 / np.maximum(np.arange(n_classes + 1), 1), n_best, axis=0)
    shares = [graph.mean(graph.add("Mul", own, part)) for own in hits]
    return graph.add("Concat", *shares, axis=1)


def _calibrated_graph(graph: Graph, ensemble: FittedClasses, tables: list[str]) -> str:
    """Probabilities (n, n_classes) by the links of all pairs, coupled and scaled."""
    calibrator, parts = ensemble.calibrator, []
    for p, (members, table) in enumerate(zip(ensemble.members.of_pair, tables, strict=True)):
        fixed = (ensemble.weights, ensemble.score_scales[p], calibrator.links[p])
        with_spreads = bool(len(ensemble.oob_spreads[p]))
        parts.append(mixture_graph(graph, members, *fixed, table, with_spreads))
    coupled = couple_graph(graph, graph.add("Concat", *parts, axis=1), ensemble.members.n_classes)
    return _scaling_graph(graph, calibrator.scaling, coupled)


def couple_graph(graph: Graph, of_pairs: str, n_classes: int) -> str:
    r"""Couple the probabilities (n, n_pairs) of the second class of every pair.

    With Q of `svmproba.links.couple`, :math:`(Q+ee^\top)x=e` is positive definite: no pivoting.
    """
    i, j = np.array(list(combinations(range(n_classes), 2))).T
    first = graph.add("Clip", graph.add("Sub", 1.0, of_pairs), LEAST_COUPLED, 1 - LEAST_COUPLED)
    second = graph.add("Sub", 1.0, first)
    table = graph.add("Concat", first, second, axis=1)
    # Entries (i, j) of R are those of the pair; the diagonal is set below.
    place = np.zeros((n_classes, n_classes), dtype=np.int64)
    place[i, j], place[j, i] = np.arange(len(i)), np.arange(len(i)) + len(i)
    R = graph.columns(table, place.ravel())
    turned = graph.columns(table, place.T.ravel())
    off = 1 - np.eye(n_classes)
    products = graph.add("Mul", graph.add("Mul", R, turned), -off.ravel())
    squares = graph.add("Mul", graph.add("Mul", R, R), off.ravel())
    # Sums over the rows of R, put on the diagonal.
    to_diagonal = np.zeros((n_classes**2, n_classes**2))
    for k in range(n_classes):
        to_diagonal[k::n_classes, k * n_classes + k] = 1
    Q = graph.add("Add", products, graph.add("MatMul", squares, to_diagonal))
    shape = graph.constant([-1, n_classes, n_classes], np.int64)
    M = graph.add("Add", graph.add("Reshape", Q, shape), 1.0)
    ones = graph.add("Add", graph.add("Mul", graph.columns3(M, [0]), 0.0), 1.0)
    system = graph.add("Concat", M, ones, axis=2)
    for k in range(n_classes):
        system = _eliminate(graph, system, k, n_classes)
    solution = graph.add("Gather", system, graph.constant(n_classes, np.int64), axis=2)
    return _normalised(graph, graph.add("Max", solution, 0.0))


def _eliminate(graph: Graph, system: str, k: int, n_classes: int) -> str:
    """Eliminate the unknown k from all rows but its own, which is divided by its pivot."""
    row = graph.add("Gather", system, graph.constant([k], np.int64), axis=1)  # (n, 1, m)
    scaled = graph.add("Div", row, graph.columns3(row, [k]))
    column = graph.columns3(system, [k])  # (n, n_classes, 1)
    own = np.eye(n_classes)[:, [k]]
    return graph.add("Sub", system, graph.add("Mul", graph.add("Sub", column, own), scaled))


def _scaling_graph(graph: Graph, scaling: ClassScaling, P: str) -> str:
    """Temperature or vector scaling of probabilities."""
    if scaling.kind_ == "none":
        return P
    logs = graph.add("Log", graph.add("Max", P, LEAST_SCALED))
    logits = graph.add("Add", graph.add("Mul", logs, scaling.slope_), scaling.offset_)
    return graph.add("Softmax", logits, axis=1)


def _normalised(graph: Graph, P: str) -> str:
    total = graph.add("ReduceSum", P, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Div", P, total)
