r"""Texts of parameters and attributes that several estimators share, each written once.

A line such as ``{Cs, kernel/ensemble}`` in the docstring of an estimator stands for the texts of
these parameters, see `document_parameters`. What follows a slash distinguishes texts of one
name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from textwrap import dedent, indent
from typing import TypeVar

Documented = TypeVar("Documented", bound=type)

_MARKER = re.compile(r"^\{([\w/*, ]+)\}$", re.MULTILINE)

TEXTS = {
    "Cs": r"""float, array-like or None, default=None
        Values of C, on the scale :math:`\frac12\|w\|^2+C\sum\xi`. They are used in increasing
        order, each once. None: the paper's :math:`2^{-5},2^{-4},\dots,2^5`.""",
    "kernel/ensemble": """{"linear", "rbf", "poly", "sigmoid", "precomputed", "auto"} or list, \
default="linear"
        Kernel, or a list of kernels among the first four, each of which is used with all values of
        C. ``"auto"`` is ``["linear", "rbf"]``. With ``"precomputed"``, X is the matrix of kernel
        values with the training samples.""",
    "kernel": """{"linear", "rbf", "poly", "sigmoid", "precomputed"}, default="linear"
        Kernel. With ``"precomputed"``, X is the matrix of kernel values with the training
        samples.""",
    "gammas": """{"scale", "auto"}, float or list of these, default="scale"
        Values of gamma for the kernels rbf, poly and sigmoid, in increasing order, each once.
        ``"scale"`` is ``1 / (n_features * X.var())`` and ``"auto"`` is ``1 / n_features``.""",
    "gammas/ensemble": """{"scale", "auto", "search"}, float, list of these or None, default=None
        Values of gamma for the kernels rbf, poly and sigmoid, in increasing order, each once.
        ``"scale"`` is ``1 / (n_features * X.var())`` and ``"auto"`` is ``1 / n_features``.
        ``"search"`` is ``"scale"`` and, where that takes 2 % off the Brier score out of bag of 25
        bags, the best of four and sixteen times that, or, without linear SVMs, a quarter. None:
        ``"search"`` with ``kernel="auto"``, else ``"scale"``.""",
    "degree": """int, default=3
        Degree of the kernel poly.""",
    "coef0": """float, default=0.0
        Offset of the kernels poly and sigmoid.""",
    "n_bootstraps": """int, default=500
        Number of bags B.""",
    "epsilon": r"""float, default=inf
        How far below the best reliability a value of :math:`\theta` may be and still take part.
        0 keeps the best value (and those tied with it), ``inf`` keeps all.""",
    "reliability": """{"accuracy", "balanced_accuracy", "g_mean", "auc"}, default="accuracy"
        Out-of-bag measure :math:`r` of a hyperparameter value. Accuracy rewards the constant
        classifier where one class is rare: prefer another measure beyond 80 : 20, and where rates
        have floors.""",
    "calibration": """{None, "auto", "platt", "isotonic", "beta", "quadratic", "spline", \
"venn_abers", "stack"}, default=None
        Link from out-of-bag scores to probabilities, see `svmproba.links`. None: the vote shares
        are the probabilities. ``"auto"`` is a convex combination of many links, weighted by their
        cross-fitted Brier score, see :class:`~svmproba.links.AutoLink`. Of more than two classes,
        pairs with fewer than 700 samples have a :class:`~svmproba.links.StackLink` without negative
        weights.""",
    "pos_label": r"""label or None, default=None
        The class of interest of two classes, chosen where :math:`P=\frac12`. None: the larger
        label.""",
    "class_weight/ensemble": """dict, "balanced", None, list of these or "auto", default=None
        Factor on C for each class, as in :class:`~sklearn.svm.SVC`; with a list every bag is fitted
        once for each entry. ``"auto"`` is ``[None, "balanced"]`` where the rarer class has less
        than 30 % of the samples, else None. SVMs without weights may give all samples the same
        score where a class is rare; None is therefore ``"auto"`` with ``calibration="auto"``, and
        ``[None]`` never has weights.""",
    "class_weight": """dict, "balanced" or None, default=None
        Factor on C for each class, as in :class:`~sklearn.svm.SVC`.""",
    "cv": """int, splitter or iterable, default=5
        Folds. A number deals the samples of every class evenly and at random. Otherwise as in
        scikit-learn; every sample must be held out once, and SVMs are trained on all other
        folds.""",
    "min_tpr": """float or None, default=None
        Floor under the true positive rate, the recall of the class of interest, on the training
        samples; in an ensemble, on those of every bag.""",
    "min_tnr": """float or None, default=None
        Floor under the true negative rate.""",
    "min_accuracy": """float or None, default=None
        Floor under the accuracy.""",
    "floors": """dict, list of pairs or None, default=None
        Floors in subgroups: a dict of subgroup to rate, or a list of pairs (subgroup, rate). A
        subgroup is a label of `by` as given to `fit`, or a mask of the training samples. A rate is
        a number, the floor under the true positive rate there, or a dict such as ``{"min_tpr": 0.9,
        "min_tnr": 0.5}``.""",
    "tol": """float, default=1e-3
        Relative duality gap that every SVM must reach.""",
    "n_components": """int or None, default=None
        Number of Nyström landmarks. None: kernels are exact, except for constrained SVMs and links
        that read a spread with more than 4 000 samples, and for other kernels than rbf and poly, or
        more than 15 folds, with more than 20 000 samples. These have 300 landmarks. From 400
        landmarks on another method fits the SVMs, which may miss `tol` at large C.""",
    "n_components/ensemble": """int, "auto" or None, default=None
        Number of Nyström landmarks. None: kernels are exact up to 20 000 samples (4 000 for
        constrained SVMs), and have 300 landmarks beyond. ``"auto"``: their number is doubled from
        50 to at most 3 200, until that takes less than 1 % off the Brier score out of bag of 25
        bags, see ``components_path_``. From 400 landmarks on another method fits the SVMs, which
        takes longer and may miss `tol` at large C.""",
    "device": """{"cpu", "cuda", "cuda:<number>", "torch", "auto"}, default="cpu"
        Where to fit the members and to score samples. ``"cpu"``: compiled code, `n_jobs` threads.
        ``"cuda"``: all members at once on a GPU, by torch; ``"torch"``: the same on torch's CPU,
        for tests. ``"auto"``: a GPU if torch sees one, else ``"cpu"``. Members meet `tol`
        everywhere, but are not the same to the last digit. Predictions may be made elsewhere than
        the fit, after ``set_params(device=...)``. Fitted on the CPU in any case: wide rows (400
        columns and more, unless of an exact kernel), the members of ``resample="blb"``, and those
        with floors up to 400 000 numbers a bag, which the search on the CPU fits better, or with
        floors in subgroups.""",
    "n_jobs": """int or None, default=None
        Number of jobs, as in joblib. The result does not depend on it.""",
    "random_state": """int, RandomState instance or None, default=None
        Seed of all that is drawn: bags, folds, landmarks, samples held out, starts of a search.""",
    "verbose": """int, default=0
        Positive: print the progress of `fit` to stderr.""",
}

#: Fitted attributes, and arguments of methods.
OTHER_TEXTS = {
    "classes_": """ndarray, shape (n_classes,)
        Labels, sorted.""",
    "pos_label_": """label
        The class of interest, of two classes.""",
    "best_index_": """int
        Place of the values chosen.""",
    "exact_": """bool
        Whether the kernel is exact. False: it is approximated by landmarks, see `n_components`.""",
    "C_": """float
        The C chosen.""",
    "gamma_": """float
        The gamma chosen; NaN for kernels without it.""",
    "proba_threshold_": """float
        Threshold of the probabilities of two classes; one half unless `with_costs` moved it.""",
    "costs_": """dict of str to float, ndarray of shape (n_classes, n_classes), or None
        The costs of `with_costs` that decide, by the names of its arguments; a matrix with more
        than two classes.""",
    "n_features_in_": """int
        Number of columns of X.""",
    "feature_names_in_": """ndarray of str, shape (n_features_in_,)
        Names of the columns, where X has string names.""",
    "X": """array-like or sparse, shape (n_samples, n_features)
        Samples.""",
    "X/fit": """array-like or sparse, shape (n_samples, n_features)
        Training samples; their kernel values (n_samples, n_samples) if precomputed.""",
    "y/two": """array-like, shape (n_samples,)
        Labels, two classes with at least two samples each.""",
    "y": """array-like, shape (n_samples,)
        Labels, two classes or more.""",
    "sample_weight": """array-like, shape (n_samples,), optional
        Factor on C for each sample; a sample of weight 0 counts as absent.""",
    "groups": """array-like, shape (n_samples,), optional
        Label of the group of each sample, such as a patient with several visits. Bags draw groups,
        and a sample is out of bag where its group is.""",
    "by/floors": """array-like, shape (n_samples,), dict or DataFrame, optional
        Subgroup of each sample, which `floors` names. A dict or data frame of several columns names
        subgroups that may overlap: a column of True and False by its name, the others by name and
        label, such as ``"sex=women"``.""",
    "by": """array-like, shape (n_samples,), optional
        Subgroup of each sample, for a model with a threshold for each; not used by others.""",
}


def document_parameters(cls: Documented, texts: Mapping[str, str] | None = None) -> Documented:
    """Put the shared texts into the docstrings of a class and its methods, in place of markers."""
    table = TEXTS | OTHER_TEXTS if texts is None else texts

    def expand(marker: re.Match[str]) -> str:
        found = []
        for key in marker[1].replace(" ", "").split(","):
            kind, _, body = table[key].partition("\n")
            found.append(f"{key.partition('/')[0]} : {kind}\n{indent(dedent(body), '    ')}")
        return "\n".join(found)

    methods = (getattr(value, "__func__", value) for value in vars(cls).values())
    for documented in (cls, *filter(inspect.isfunction, methods)):
        if documented.__doc__ is not None:  # python -OO leaves no docstrings
            documented.__doc__ = _MARKER.sub(expand, inspect.cleandoc(documented.__doc__))
    return cls
