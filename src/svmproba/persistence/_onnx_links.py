"""Links as ONNX graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmproba.links import (
    AutoLink,
    BetaLink,
    IsotonicLink,
    IsotonicMixtureLink,
    PlattLink,
    StackLink,
    VennAbersLink,
    WahbaLink,
)
from svmproba.links.beta import _LEAST
from svmproba.persistence._onnx_graph import Graph


def link_graph(graph: Graph, link: Any, scores: str) -> str:
    """Add a link; `scores` are (n, 1), or (n, n_theta) for links that read scaled ones."""
    if type(link) not in _GRAPHS:
        names = ", ".join(sorted(kind.__name__ for kind in _GRAPHS))
        raise ValueError(f"{type(link).__name__} cannot be exported to ONNX, only {names}.")
    return _GRAPHS[type(link)](graph, link, scores)


def _platt(graph: Graph, link: PlattLink, s: str) -> str:
    return graph.expit(graph.add("Sub", graph.add("Mul", s, -link.A_), link.B_))


def _wahba(graph: Graph, link: WahbaLink, s: str) -> str:
    return graph.expit(s)


def _beta(graph: Graph, link: BetaLink, s: str) -> str:
    q = graph.add("Clip", graph.expit(s), _LEAST, 1 - _LEAST)
    ln_q, ln_1q = graph.add("Log", q), graph.add("Log", graph.add("Sub", 1.0, q))
    left, right = graph.add("Mul", ln_q, link.a_), graph.add("Mul", ln_1q, link.b_)
    return graph.expit(graph.add("Add", graph.add("Sub", left, right), link.c_))


def _isotonic(graph: Graph, link: IsotonicLink, s: str) -> str:
    return graph.interpolate(s, link.scores_, link.values_)


def _isotonic_mixture(graph: Graph, link: IsotonicMixtureLink, s: str) -> str:
    pieces = zip(link.starts_[:-1], link.starts_[1:], strict=True)
    parts = [
        graph.interpolate(graph.columns(s, [k]), link.scores_[first:last], link.values_[first:last])
        for k, (first, last) in enumerate(pieces)
    ]
    return graph.mean(graph.add("Concat", *parts, axis=1))


def _stack(graph: Graph, link: StackLink, s: str) -> str:
    logit = graph.add("MatMul", s, link.coef_[:, np.newaxis])
    return graph.expit(graph.add("Add", logit, link.intercept_))


def _venn_abers(graph: Graph, link: VennAbersLink, s: str) -> str:
    p0 = graph.steps(s, "GreaterOrEqual", link.scores_, link.p0_)
    p1 = graph.steps(s, "Greater", link.scores_, link.p1_)
    if link.loss == "log":
        return graph.add("Div", p1, graph.add("Add", graph.add("Sub", 1.0, p0), p1))
    squares = graph.add("Sub", graph.add("Mul", p1, p1), graph.add("Mul", p0, p0))
    return graph.add("Sub", p1, graph.add("Mul", squares, 0.5))


def _auto(graph: Graph, link: AutoLink, s: str) -> str:
    parts = [link_graph(graph, part, s) for part in link.links_]
    return graph.mean(graph.add("Concat", *parts, axis=1))


_GRAPHS: dict[type, Callable[[Graph, Any, str], str]] = {
    AutoLink: _auto,
    BetaLink: _beta,
    IsotonicLink: _isotonic,
    IsotonicMixtureLink: _isotonic_mixture,
    PlattLink: _platt,
    StackLink: _stack,
    VennAbersLink: _venn_abers,
    WahbaLink: _wahba,
}
