"""Models in files: saved without code, loaded without running any; exported to ONNX."""

from __future__ import annotations

import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from svmproba._files import write_whole
from svmproba.persistence._archive import (
    ABOUT,
    FORMAT,
    MODEL,
    ModelFileError,
    check_depth,
    open_archive,
    pack,
    parse_about,
    refusing,
)
from svmproba.persistence._codec import decode, encode
from svmproba.persistence._names import MODELS
from svmproba.persistence._onnx_export import to_onnx

__all__ = ["ModelFileError", "load", "read_about", "save", "to_onnx"]

FilePath = str | os.PathLike[str]


def save(model: Any, path: FilePath, *, about: Any = None, overwrite: bool = True) -> None:
    """Save a fitted model to a file that can be loaded without running code.

    The file is a zip archive of arrays in NumPy's format and of a plain tree in JSON, with a
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
        The file; by custom its name ends in ``.svmproba``.
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

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import svmproba
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), svmproba.BootstrapSVC(n_bootstraps=50))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.svmproba"
    >>> svmproba.save(model.fit(X, y), path, about={"data": "wisconsin"})
    >>> again = svmproba.load(path)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    >>> svmproba.read_about(path)["about"]
    {'data': 'wisconsin'}
    """
    _check_model(model)
    path = Path(path)
    head = _head(model, about)
    with refusing(path, "this model cannot be saved"):
        check_depth(head)
        tree, arrays = encode(model)
    files = {f"{number}.npy": _npy(array) for number, array in enumerate(arrays)}
    write_whole(path, pack({ABOUT: head, MODEL: tree, **files}), overwrite=overwrite)


def load(path: FilePath) -> Any:
    """Load a model that `save` wrote.

    No code is run and none is imported that the file could choose: everything it names must be on
    a fixed list of svmproba's own classes, plain data and scikit-learn's preparation steps. Every
    array is compared with all others before it is used, and a file that would take more memory
    than 64 MiB and 64 times its own size is refused before that memory is taken. The loaded model
    does all that the saved one did, with equal results to the last bit on the same machine and
    versions.

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
        If the file is incomplete, altered, of another kind, of a newer format, or too large when
        unpacked, if it names anything that is not on the list, or if its arrays do not go together.
    """
    path = Path(path)
    with open_archive(path) as archive:
        head = parse_about(path, archive)
        with refusing(path, "its content does not make a model"):
            model = decode(archive.json(MODEL), archive.array)
            archive.check_all_read()
            _check_model(model)
    if head["class"] != type(model).__name__:
        raise ModelFileError(path, f"holds a {type(model).__name__}, not a {head['class']}.")
    if isinstance(model, Pipeline) and head["scikit-learn"] != sklearn.__version__:
        versions = {"original": head["scikit-learn"], "current": sklearn.__version__}
        named = {f"{which}_sklearn_version": version for which, version in versions.items()}
        warnings.warn(InconsistentVersionWarning(estimator_name="Pipeline", **named), stacklevel=2)
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
    with open_archive(path) as archive:
        return parse_about(path, archive)


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


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _check_model(model: Any) -> None:
    """Refuse what is not a fitted model of this package, alone or at the end of a pipeline."""
    final = model
    while isinstance(final, Pipeline):
        final = final.steps[-1][1]
    if type(final) not in MODELS.values():
        raise TypeError(
            f"model must be an estimator of svmproba or a Pipeline that ends in one, got "
            f"{type(model).__name__}"
            + (f" that ends in {type(final).__name__}." if final is not model else ".")
            + (" Save its best_estimator_." if hasattr(model, "best_estimator_") else "")
        )
    check_is_fitted(final, "intercept_")
