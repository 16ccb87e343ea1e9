"""Links in ONNX graphs, at their knots."""

import numpy as np
import pytest

from svmproba.links import IsotonicLink, VennAbersLink
from svmproba.persistence.graphs.builder import Graph
from svmproba.persistence.graphs.links import link_graph

onnx = pytest.importorskip("onnx")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_links_at_their_knots(n, session, run):
    """Steps and corners are where a link is easily off by one."""
    scores = np.sort(RNG.normal(size=n))
    positive = RNG.random(n) < 0.5
    positive[0], positive[-1] = False, n > 1
    ends = np.concatenate([scores, np.nextafter(scores, 9), np.nextafter(scores, -9), [-99, 99]])
    for link in (IsotonicLink(), VennAbersLink(), VennAbersLink("log")):
        if n == 1:
            link.scores_, link.values_ = scores, np.array([0.3])
            link.p0_, link.p1_ = np.array([0.2, 0.3]), np.array([0.6, 0.6])
        else:
            link.fit(scores, positive)
        graph = Graph()
        graph.add("Identity", link_graph(graph, link, "s"), name="P")
        helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
        values = [helper.make_tensor_value_info(name, kind, ["n", 1]) for name in ("s", "P")]
        parts = helper.make_graph(graph.nodes, "g", values[:1], values[1:], graph.constants)
        opset = [helper.make_opsetid("", 19)]
        proto = helper.make_model(parts, opset_imports=opset, ir_version=9)
        (P,) = session(proto).run(None, {"s": ends[:, np.newaxis]})
        np.testing.assert_allclose(P[:, 0], link.predict(ends), rtol=0, atol=1e-12)
