"""Links as ONNX graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmproba.links import (
    AutoLink,
    BetaLink,
    IsotonicLink,
    PlattLink,
    QuadraticLink,
    SplineLink,
    StackLink,
    VennAbersLink,
    WahbaLink,
)
from svmproba.links._beta import _LEAST
from svmproba.persistence.graphs.builder import Graph


def link_graph(graph: Graph, link: Any, scores: str) -> str:
    """Add a link; `scores` are (n, 1), or (n, n_theta) for links that read scaled ones."""
    if type(link) not in _GRAPHS:
        names = ", ".join(sorted(kind.__name__ for kind in _GRAPHS))
        raise ValueError(f"{type(link).__name__} cannot be exported to ONNX, only {names}.")
    return _GRAPHS[type(link)](graph, link, scores)


def _platt(graph: Graph, link: PlattLink, s: str) -> str:
    return graph.add("Sigmoid", graph.add("Sub", graph.add("Mul", s, -link.A_), link.B_))


def _wahba(graph: Graph, link: WahbaLink, s: str) -> str:
    return graph.add("Sigmoid", s)


def _beta(graph: Graph, link: BetaLink, s: str) -> str:
    q = graph.add("Clip", graph.add("Sigmoid", s), _LEAST, 1 - _LEAST)
    ln_q, ln_1q = graph.add("Log", q), graph.add("Log", graph.add("Sub", 1.0, q))
    left, right = graph.add("Mul", ln_q, link.a_), graph.add("Mul", ln_1q, link.b_)
    return graph.add("Sigmoid", graph.add("Add", graph.add("Sub", left, right), link.c_))


def _isotonic(graph: Graph, link: IsotonicLink, s: str) -> str:
    return graph.interpolate(s, link.scores_, link.values_)


def _stack(graph: Graph, link: StackLink, s: str) -> str:
    logit = graph.add("MatMul", s, link.coef_[:, np.newaxis])
    return graph.add("Sigmoid", graph.add("Add", logit, link.intercept_))


def _venn_abers(graph: Graph, link: VennAbersLink, s: str) -> str:
    p0 = graph.steps(s, "GreaterOrEqual", link.scores_, link.p0_)
    p1 = graph.steps(s, "Greater", link.scores_, link.p1_)
    if link.loss == "log":
        return graph.add("Div", p1, graph.add("Add", graph.add("Sub", 1.0, p0), p1))
    squares = graph.add("Sub", graph.add("Mul", p1, p1), graph.add("Mul", p0, p0))
    return graph.add("Sub", p1, graph.add("Mul", squares, 0.5))


def _spline(graph: Graph, link: SplineLink, s: str) -> str:
    """Add the exponent piece by piece: quadratic between the knots, straight beyond them."""
    knots, slopes = link.knots_, link.slopes_
    terms = [graph.add("Add", graph.add("Mul", s, 0.0), link.intercept_)]
    if len(knots) > 1:
        below = graph.add("Min", graph.add("Sub", s, knots[0]), 0.0)
        above = graph.add("Max", graph.add("Sub", s, knots[-1]), 0.0)
        terms += [graph.add("Mul", below, slopes[0]), graph.add("Mul", above, slopes[-1])]
        for k, width in enumerate(np.diff(knots)):
            inside = graph.add("Clip", graph.add("Sub", s, knots[k]), 0.0, width)
            bend = graph.add("Mul", inside, (slopes[k + 1] - slopes[k]) / (2 * width))
            terms.append(graph.add("Mul", inside, graph.add("Add", bend, slopes[k])))
    return graph.add("Sigmoid", graph.add("Sum", *terms))


def _auto(graph: Graph, link: AutoLink, s: str) -> str:
    scaled = graph.add("Div", graph.add("Sub", s, link.centre_), link.scale_)
    parts = []
    for part, places in zip(link.links_, link.places_, strict=True):
        chosen = graph.columns(scaled, places.tolist())
        read = chosen if part.reads == "scaled" else graph.mean(chosen)
        parts.append(link_graph(graph, part, read))
    return graph.add("MatMul", graph.add("Concat", *parts, axis=1), link.weights_[:, np.newaxis])


_GRAPHS: dict[type, Callable[[Graph, Any, str], str]] = {
    AutoLink: _auto,
    BetaLink: _beta,
    IsotonicLink: _isotonic,
    PlattLink: _platt,
    QuadraticLink: _spline,
    SplineLink: _spline,
    StackLink: _stack,
    VennAbersLink: _venn_abers,
    WahbaLink: _wahba,
}
