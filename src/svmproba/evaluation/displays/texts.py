"""Texts of parameters that several displays share, each written once."""

from __future__ import annotations

from svmproba.estimators.shared.texts import Documented, document_parameters

#: By the markers of `document_parameters`.
TEXTS = {
    "estimator": """fitted classifier
        Or a pipeline that ends with one.""",
    "estimator/proba": """fitted classifier with ``predict_proba``
        Or a pipeline that ends with one.""",
    "estimator/ensemble": """fitted bootstrap ensemble
        Or a pipeline that ends with one.""",
    "estimator/linear": """fitted bootstrap ensemble with linear members
        Or a pipeline that ends with one.""",
    "X": """table of shape (n, n_features)
        Samples, which the estimator should not have seen.""",
    "X/one": """table of shape (1, n_features)
        The sample.""",
    "X/several": """table of shape (n, n_features)
        The samples.""",
    "y": """array-like of shape (n,)
        Their labels.""",
    "y_true": """array-like of shape (n,)
        Labels.""",
    "scores": """array-like of shape (n,) or (..., n)
        One score for each sample, or one for each member and sample.""",
    "background": """table of shape (n_background, n_features), default=None
        Samples whose mean replaces that of the training samples.""",
    "pos_label": """label, default=None
        Class of interest, by default the estimator's ``pos_label`` or larger class. Of more than
        two classes, the one that is shown against the rest.""",
    "pos_label/labels": """label, default=None
        Class of interest, by default the larger label. Of more than two classes, the one that is
        shown against the rest.""",
    "pos_label/explained": """label, default=None
        Class whose score is explained, by default the class of interest of two classes.""",
    "class_names": """tuple of two str, default=None
        Names of the negative and the positive class, by default the labels.""",
    "class_names/stored": """tuple of two str
        Names of the negative and the positive class.""",
    "name": """str, default=None
        Name in the legend.""",
    "color": """str
        Any matplotlib colour.""",
    "ax": """matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a figure. Several displays can share axes.""",
    "**kwargs": """dict
        Passed to :meth:`plot`.""",
    "**kwargs/predictions": """dict
        Passed to :meth:`from_predictions`.""",
}


def document_display(cls: Documented) -> Documented:
    """Put these texts into the docstrings of a display, in place of markers."""
    return document_parameters(cls, TEXTS)
