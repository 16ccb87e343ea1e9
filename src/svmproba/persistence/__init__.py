"""Models in files: saved without code, loaded without running any; exported to ONNX."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from svmproba._files import write_whole
from svmproba.persistence._archive import (
    ABOUT,
    FORMAT,
    SCHEMA,
    ModelFileError,
    pack,
    parse_about,
    read_members,
    read_whole,
    refusing,
)
from svmproba.persistence._audit import audit, trusted
from svmproba.persistence._onnx_export import to_onnx
from svmproba.persistence._state import add_parameters, bare_state, check_loaded, check_saveable

__all__ = ["ModelFileError", "load", "read_about", "save", "to_onnx"]

FilePath = str | os.PathLike[str]
#: Loaders of what stays one thing if it was one: it depends on chance whether two texts do.
_SHARED = ("NdArrayNode", "ObjectNode", "SparseMatrixNode")


def save(model: Any, path: FilePath, *, about: Any = None, overwrite: bool = True) -> None:
    """Save a fitted model to a file that can be loaded without running code.

    The file is a skops file [1]_, a zip archive of arrays and of a description in JSON, with a
    digest at its end. It is written whole or not at all: what was at `path` stays until the new
    file is complete and on disk. Equal models give equal bytes.

    Parameters
    ----------
    model : estimator of svmproba or Pipeline
        Fitted. A :class:`~sklearn.pipeline.Pipeline` must end in an estimator of svmproba; its
        other steps may be those of scikit-learn's modules compose, decomposition,
        feature_selection, impute, kernel_approximation, preprocessing and random_projection, as
        long as they hold no functions (but numpy's element-wise ones) and no trees.
    path : str or path-like
        The file; by custom its name ends in ``.skops``.
    about : JSON-able, optional
        Anything worth knowing about the model, see `read_about`.
    overwrite : bool, default=True
        Whether a file that exists may be replaced.

    Raises
    ------
    FileExistsError
        If there is a file and `overwrite` is false.
    ModelFileError
        If the model holds something that a file may not name, such as a function of yours. The
        message tells where. Nothing is written then.

    Notes
    -----
    Callbacks and metadata requests concern fits only and are left out.

    The digest protects against accidents, not against an attacker, who can compute another one.
    What protects against an attacker is that `load` runs no code: a forged model can predict
    nonsense, and nothing else. Where that matters, sign the file.

    References
    ----------
    .. [1] https://skops.readthedocs.io

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import svmproba
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), svmproba.BootstrapSVC(n_bootstraps=50))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.skops"
    >>> svmproba.save(model.fit(X, y), path, about={"data": "wisconsin"})
    >>> again = svmproba.load(path)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    >>> svmproba.read_about(path)["about"]
    {'data': 'wisconsin'}
    """
    check_saveable(model)
    path = Path(path)
    head = _head(model, about)
    with refusing(path, "this model cannot be saved"):
        members = _skops_members(bare_state(model))
    audit(path, members)
    write_whole(path, pack({ABOUT: head, **members}), overwrite=overwrite)


def load(path: FilePath) -> Any:
    """Load a model that `save` wrote.

    No code is run and none is imported that the file could choose: everything it names must be on
    a fixed list of svmproba's own classes, plain data and scikit-learn's preparation steps. The
    loaded model does all that the saved one did, with equal results to the last bit on the same
    machine and versions.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The model.

    Raises
    ------
    ModelFileError
        If the file is incomplete, altered, of another kind, of a newer format, or names anything
        that is not on the list.
    """
    skops_io = _skops()
    path = Path(path)
    data = read_whole(path)
    members = read_members(path, data)
    head = parse_about(path, members)
    audit(path, members)
    with refusing(path, "its content does not make a model"):
        model = skops_io.load(io.BytesIO(data), trusted=trusted())
        check_loaded(model)
        add_parameters(model)
    if head["class"] != type(model).__name__:
        raise ModelFileError(path, f"holds a {type(model).__name__}, not a {head['class']}.")
    return model


def read_about(path: FilePath) -> dict[str, Any]:
    """Read what a model file says of itself, without loading the model.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        ``"format"``, the number of the file format; ``"class"``; the versions ``"svmproba"``,
        ``"scikit-learn"`` and ``"numpy"`` that wrote it; and ``"about"`` as it was given to `save`.
    """
    path = Path(path)
    return parse_about(path, read_members(path, read_whole(path)))


def _head(model: Any, about: Any) -> bytes:
    from svmproba import __version__

    head = {
        "format": FORMAT,
        "class": type(model).__name__,
        "svmproba": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "about": about,
    }
    try:
        text = json.dumps(head, ensure_ascii=False, indent=1)
    except (TypeError, ValueError) as error:
        raise TypeError(f"about must be made of what JSON knows: {error}.") from error
    return text.encode()


def _skops_members(model: Any) -> dict[str, bytes]:
    """Members of the skops file of a model, numbered in the order they are named."""
    with zipfile.ZipFile(io.BytesIO(_skops().dumps(model))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members.pop(SCHEMA))
    numbers: dict[int, int] = {}
    names: dict[str, str] = {}
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += reversed(value)
        elif isinstance(value, dict):
            if "__loader__" in value:
                _renumber(value, numbers, names)
            pending += reversed(value.values())
    schema_text = json.dumps(schema, separators=(",", ":")).encode()
    return {SCHEMA: schema_text, **{new: members[old] for old, new in names.items()}}


def _renumber(node: dict[str, Any], numbers: dict[int, int], names: dict[str, str]) -> None:
    """Replace addresses in memory, which differ from run to run, by running numbers."""
    identity = node.pop("__id__", None)
    if node["__loader__"] in _SHARED:
        node["__id__"] = numbers.setdefault(identity, len(numbers) + 1)
    if "file" in node:
        suffix = node["file"].rpartition(".")[2]
        node["file"] = names.setdefault(node["file"], f"{len(names)}.{suffix}")


def _skops() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the modules that skops looks through
            import skops.io
    except ImportError as error:
        raise ImportError("Model files need skops: pip install 'svmproba[persist]'") from error
    return skops.io
