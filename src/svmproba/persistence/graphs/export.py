"""Models as ONNX graphs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from svmproba._files import write_whole
from svmproba.bootstrap.summaries.votes import DECIMALS
from svmproba.estimators import BootstrapSVC, ProbabilitySVC
from svmproba.persistence.graphs.builder import OPSET, Graph
from svmproba.persistence.graphs.classes import class_graph
from svmproba.persistence.graphs.links import link_graph
from svmproba.persistence.graphs.scores import (
    family_rows,
    mixture_graph,
    score_graph,
    single_scores,
)

INPUT_TYPES = {"float64": np.float64, "float32": np.float32}
_IR_VERSION = 9


def to_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, input_type: str = "float64"
) -> Any:
    r"""Export a fitted model to ONNX.

    The graph computes the kernel values of the samples with the training samples or landmarks that
    the members use, the scores of all members (MatMul), counts their votes at the threshold or
    applies the calibration, and has two outputs: ``label``, shape (n,), and ``probabilities``,
    shape (n, n_classes), columns as ``classes_``. Votes of more than two classes are counted over
    all pairs, and calibrated probabilities of pairs are coupled and scaled in the graph. It
    computes in float64: near the threshold, rounding to
    float32 would change votes.

    Parameters
    ----------
    model : estimator or Pipeline
        A :class:`BootstrapSVC`, :class:`ThresholdBootstrapSVC`, :class:`ConstrainedBootstrapSVC`,
        :class:`SelectedBootstrapSVC` or :class:`ProbabilitySVC`, any number of classes, kernel,
        threshold (of rates or of costs) and calibration; not ``guarantee="jackknife+"``, which
        needs the bags. Links of ProbabilitySVC: beta, isotonic, platt, venn_abers and wahba. A
        :class:`~sklearn.pipeline.Pipeline` may begin with scalers, a SimpleImputer, a
        OneHotEncoder, a selection of columns or a ColumnTransformer of these; with other steps,
        export ``model[-1]`` alone.
    path : str or path-like, optional
        File to write the graph to; its name usually ends in ``.onnx``.
    input_type : {"float64", "float32"}, default="float64"
        Type of the input numbers. float32 is converted to float64 first.

    Returns
    -------
    onnx.ModelProto
        The graph. Its input is one table ``X`` of shape (n, n_features). If a column holds text,
        there is one input of shape (n, 1) for every column, with the column's name. Missing numbers
        are NaN, missing texts are empty.

    Raises
    ------
    ValueError
        If the model cannot be exported; the message says why.

    Notes
    -----
    The graph computes one hyperparameter value after the other, so that the runtime needs about
    :math:`18B` bytes per sample, 9 kB for 500 bags. Pass batches of about a thousand samples.

    The order of summation differs from numpy's. A score that equals the threshold up to its last
    digits can therefore fall on the other side. In practice this concerns only the sample from
    which a threshold was computed.

    Examples
    --------
    >>> import pytest; onnx = pytest.importorskip("onnx")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import svmproba
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), svmproba.BootstrapSVC(n_bootstraps=50)).fit(X, y)
    >>> [output.name for output in svmproba.to_onnx(model).graph.output]
    ['label', 'probabilities']
    """
    if input_type not in INPUT_TYPES:
        raise ValueError(f"input_type must be 'float64' or 'float32', got {input_type!r}.")
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX export needs onnx: pip install 'svmproba[persist]'") from error
    # Imported here: the steps of scikit-learn are slow to import.
    from svmproba.persistence.graphs.steps import open_inputs, step_graph

    *steps, final = _flat_steps(model)
    check_exportable(final)
    graph = Graph()
    inputs, table = open_inputs(graph, [*steps, final], INPUT_TYPES[input_type])
    for step in steps:
        table = step_graph(graph, step, table)
    rows = table.numbers(graph)
    votes = isinstance(final, BootstrapSVC) and final.calibrator_ is None
    if len(final.classes_) > 2:
        place = class_graph(graph, final, rows, votes)
    else:
        P = (_vote_graph if votes else _link_graph)(graph, final, rows)
        place = _close(graph, final, P)
    graph.add("Gather", _class_constant(graph, final.classes_), place, axis=0, name="label")
    proto = _proto(graph, inputs, final)
    onnx.checker.check_model(proto)
    if path is not None:
        write_whole(Path(path), proto.SerializeToString())
    return proto


def _flat_steps(model: Any) -> list[Any]:
    if not isinstance(model, Pipeline):
        return [model]
    flat = (_flat_steps(step) for _, step in model.steps if step not in (None, "passthrough"))
    return [step for steps in flat for step in steps]


def check_exportable(final: Any) -> None:
    """Refuse models that have no graph."""
    name = type(final).__name__
    if not isinstance(final, BootstrapSVC | ProbabilitySVC):
        raise ValueError(
            f"{name} cannot be exported to ONNX: only the bootstrap ensembles and ProbabilitySVC."
        )
    check_is_fitted(final, "intercept_")
    if len(final.classes_) > 2:  # which have neither
        return
    if isinstance(final, BootstrapSVC) and final.ensemble_.separate:
        raise ValueError(
            "A model with separate thresholds for subgroups cannot be exported to ONNX; one with "
            "common_threshold=True can."
        )
    if isinstance(final, BootstrapSVC) and final.ensemble_.jackknife is not None:
        raise ValueError(
            "guarantee='jackknife+' compares every sample with all training samples and cannot be "
            "exported to ONNX; 'split' and 'oob' can."
        )


def _vote_graph(graph: Graph, final: Any, rows: str) -> str:
    """Mixture of the vote shares, (n, 1); the mean of signs is twice a share minus one."""
    members, (n_theta, n_bags) = final.ensemble_.members, final.intercept_.shape
    thresholds = np.broadcast_to(final.threshold_, n_theta)
    tables, n_C = family_rows(graph, final.ensemble_.members, rows), n_theta // len(members.columns)
    signs = []
    for k in np.flatnonzero(final.weights_):
        f, c = divmod(int(k), n_C)
        columns = members.columns[f][:, c * n_bags : (c + 1) * n_bags]
        scores = score_graph(graph, members.feature_maps[f], tables[f], columns)
        scores = graph.add("Add", scores, final.intercept_[k])
        if thresholds[k]:
            # A difference from the threshold has the exact sign; a changed intercept has not.
            scores = graph.add("Sub", scores, thresholds[k])
        signs.append(graph.mean(graph.add("Sign", scores)))
    rho = final.weights_[final.weights_ > 0]
    mixture = graph.add("MatMul", graph.add("Concat", *signs, axis=1), rho[:, np.newaxis] / 2)
    shifted = graph.add("Mul", graph.add("Add", mixture, rho.sum() / 2), 10.0**DECIMALS)
    return graph.add("Div", graph.add("Round", shifted), 10.0**DECIMALS)


def _link_graph(graph: Graph, final: Any, rows: str) -> str:
    """Calibrated probability, (n, 1)."""
    if isinstance(final, ProbabilitySVC):
        return link_graph(graph, final.link_, single_scores(graph, final, rows))
    ensemble = final.ensemble_
    fixed = (ensemble.weights, ensemble.score_scales, ensemble.calibrator)
    with_spreads = bool(len(ensemble.oob_spreads))
    return mixture_graph(graph, ensemble.members, *fixed, rows, with_spreads)


def _close(graph: Graph, final: Any, P: str) -> str:
    """Add the probabilities, and give the places (n,) of the classes that are called."""
    other, plus = graph.add("Sub", 1.0, P), final._plus
    graph.add("Concat", *((other, P) if plus else (P, other)), axis=1, name="probabilities")
    chosen = graph.add("GreaterOrEqual", P, final.proba_threshold_)
    places = (graph.constant([place], np.int64) for place in (plus, 1 - plus))
    place = graph.add("Where", chosen, *places)
    return graph.add("Reshape", place, graph.constant([-1], np.int64))


def _class_constant(graph: Graph, classes: NDArray[Any]) -> str:
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        return graph.texts(classes)
    if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
        raise ValueError(f"the label {classes.max()} has more than 63 bits, too many for ONNX.")
    if classes.dtype.kind in "iu":
        return graph.constant(classes, np.int64)
    if classes.dtype.kind in "bf":
        return graph.constant(classes, classes.dtype)
    raise ValueError(f"labels of type {classes.dtype} cannot be exported to ONNX.")


def _proto(graph: Graph, inputs: list[Any], final: Any) -> Any:
    import onnx
    from onnx import TensorProto, helper

    from svmproba import __version__

    (label,) = (c for c in graph.constants if c.name == graph.nodes[-1].input[0])
    outputs = [
        helper.make_tensor_value_info("label", label.data_type, ["n"]),
        helper.make_tensor_value_info(
            "probabilities", TensorProto.DOUBLE, ["n", len(final.classes_)]
        ),
    ]
    name = type(final).__name__
    parts = helper.make_graph(graph.nodes, name, inputs, outputs, graph.constants)
    proto: onnx.ModelProto = helper.make_model(
        parts,
        producer_name="svmproba",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        doc_string=str(getattr(final, "guarantee_", "")),
    )
    return proto
