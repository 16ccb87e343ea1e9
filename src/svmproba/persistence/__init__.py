"""Model files that are loaded without running code, and export to ONNX."""

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
from svmproba.persistence.graphs.export import to_onnx

__all__ = ["ModelFileError", "load", "read_about", "save", "to_onnx"]

FilePath = str | os.PathLike[str]
#: What to do with estimators that no file may hold alone.
_INSTEAD = {
    "RateFeatureSelector": " Save a Pipeline of it and a classifier.",
    "RateGuarantee": " Its classifier may be of any package: use joblib.dump, or with_rate of an "
    "ensemble of svmproba, whose file keeps the guarantee.",
}


def save(model: Any, path: FilePath, *, about: Any = None, overwrite: bool = True) -> None:
    """Save a fitted model to a file that can be loaded without running code.

    The file is a zip archive of arrays in NumPy's format and a tree in JSON, with a digest at its
    end. An existing file stays until the new one is complete and on disk. Equal models give equal
    bytes.

    Parameters
    ----------
    model : estimator of svmproba or Pipeline
        Fitted. A :class:`~sklearn.pipeline.Pipeline` must end in an estimator of svmproba. Its
        other steps may be a :class:`RateFeatureSelector` or come from scikit-learn's modules
        compose, decomposition, feature_selection, impute, kernel_approximation, preprocessing and
        random_projection, as long as they hold no trees and no functions other than numpy's
        element-wise ones. A :class:`RateGuarantee` is refused, since its classifier may be any.
    path : str or path-like
        The file; its name usually ends in ``.svmproba``.
    about : JSON-serialisable, optional
        Notes about the model, see `read_about`.
    overwrite : bool, default=True
        Whether an existing file may be replaced.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is false.
    ModelFileError
        If the model holds something that a file may not hold, such as a function of your own. The
        message names the place. Nothing is written.

    Notes
    -----
    Callbacks and metadata requests matter for fitting only and are left out.

    The digest detects accidental changes. An attacker can compute a new one, but `load` runs no
    code of the file: a forged model can give wrong predictions, and do nothing else. Sign the file
    if that matters.

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

    The file cannot choose code to run or import: everything it names must be on a fixed list of
    svmproba's classes, plain data types and scikit-learn's preparation steps. The shapes and values
    of all arrays are checked against each other. A file that would take more memory than 64 MiB
    plus 64 times its own size is refused before the memory is allocated. On the same machine and
    with the same versions, the loaded model gives the same results to the last bit.

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
        If the file is incomplete, altered, not a model file, of a newer format or too large when
        unpacked, if it names anything that is not on the list, or if its arrays are inconsistent.
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
    """Read the notes and versions in a model file, without loading the model.

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
        return json.dumps(head, ensure_ascii=False, indent=1).encode()
    except (TypeError, ValueError) as error:  # letters that UTF-8 lacks, too
        raise TypeError(f"about must be JSON-serialisable: {error}.") from error


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _check_model(model: Any) -> None:
    """Raise unless it is a fitted model of this package, alone or at the end of a pipeline."""
    final = model
    while isinstance(final, Pipeline):
        final = final.steps[-1][1]
    if type(final) not in MODELS.values():
        ending = "" if final is model else f" that ends in {type(final).__name__}"
        advice = " Save its best_estimator_." if hasattr(model, "best_estimator_") else ""
        raise TypeError(
            f"model must be one of {', '.join(MODELS)}, or a Pipeline that ends in one, got "
            f"{type(model).__name__}{ending}.{_INSTEAD.get(type(final).__name__, advice)}"
        )
    check_is_fitted(final, "intercept_")
