"""Contributions of the columns of a table, through the steps of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from svmproba.bootstrap.contributions import Contributions
from svmproba.evaluation._classifiers import last_step, rows_for_last_step
from svmproba.evaluation.explanations._original_columns import original_columns


def explain(
    model: Any, X: Any, *, background: Any = None, confidence: float = 0.95
) -> Contributions:
    """Contributions of the columns of a table to the mean score of a linear ensemble.

    As :meth:`~svmproba.BootstrapSVC.contributions`, for a pipeline too: the dummies of a category
    are added up to the column that they come from. Scalers, imputers, encoders, selections of
    columns and a ColumnTransformer of these are followed; what other steps make stays as it is.

    Parameters
    ----------
    model : fitted bootstrap ensemble
        Or a pipeline that ends with one; members linear.
    X : table of shape (n_samples, n_features)
        Samples. For a pipeline, its raw input.
    background : table of shape (n_background, n_features), default=None
        Samples whose mean replaces that of the training samples.
    confidence : float, default=0.95
        Confidence of the limits.

    Returns
    -------
    Contributions
        Named tuple of ``values``, ``lower`` and ``upper``, each of shape (n_samples, n_columns),
        ``base`` and ``names``.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from svmproba import BootstrapSVC
    >>> from svmproba.evaluation import explain
    >>> X = pd.DataFrame({"age": range(60), "job": ["a", "b", "c"] * 20})
    >>> encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))
    >>> model = make_pipeline(encode, BootstrapSVC([1.0], n_bootstraps=20, random_state=0))
    >>> explain(model.fit(X, X["age"] > 30), X).names
    ['age', 'job']
    """
    ensemble = last_step(model)
    if not hasattr(ensemble, "contributions"):
        raise TypeError(
            f"model must be a BootstrapSVC, ThresholdBootstrapSVC, ConstrainedBootstrapSVC or "
            f"SelectedBootstrapSVC, or a pipeline that ends with one, got "
            f"{type(ensemble).__name__}."
        )
    groups = original_columns(model) if isinstance(model, Pipeline) else None
    if background is not None:
        background = rows_for_last_step(model, background)
    found: Contributions = ensemble.contributions(
        rows_for_last_step(model, X), groups=groups, background=background, confidence=confidence
    )
    return found
