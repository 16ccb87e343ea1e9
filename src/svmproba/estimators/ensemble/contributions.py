"""What each column adds to the score of a sample, for ensembles of linear members."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._types import Floats
from svmproba.bootstrap.classes.contributions import stack_classes
from svmproba.bootstrap.contributions import Contributions, contributions, is_linear
from svmproba.estimators.ensemble.predictions import EnsemblePredictions
from svmproba.estimators.input.parameters import check_confidence
from svmproba.estimators.shared.texts import document_parameters


@document_parameters
class EnsembleContributions(EnsemblePredictions):
    """Exact explanations of the mean score."""

    kernel: Any

    def contributions(
        self,
        X: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        background: ArrayLike | None = None,
        confidence: float = 0.95,
    ) -> Contributions:
        r"""Exact Shapley values of the mean score, for linear members.

        The mean score :math:`s(x)=\sum_\theta\rho_\theta\frac1B\sum_bf_{\theta,b}(x)/\sigma_\theta`
        has the coefficients ``mean_coef_`` :math:`=\bar w`. Column :math:`j` adds
        :math:`\bar w_j(x_j-m_j)` to it, where :math:`m` are the means of the training samples, and
        all columns add :math:`s(x)-s(m)`. For any background these are the Shapley values with
        missing columns at their mean [1]_, without an approximation.

        With more than two classes every class has a score, the mean of its scores against each of
        the other classes, and its own contributions.

        Calibrated probabilities rise with this score, or with its parts for each hyperparameter
        value. Vote shares count the signs of the members' scores: they mostly agree with it.

        Parameters
        ----------
        {X}
        groups : array-like, shape (n_features,), default=None
            Label of the group of every column, such as the original column of each dummy. The
            contributions of a group are added, and its limits are those of the sum.
        background : array-like, shape (n_background, n_features), default=None
            Samples whose mean replaces that of the training samples.
        confidence : float, default=0.95
            Confidence of the limits, percentiles over the bags with the background fixed.

        Returns
        -------
        Contributions
            Named tuple of ``values``, ``lower`` and ``upper``, each of shape (n_samples,
            n_columns), positive where a column raises the score of that class; ``base``, the
            mean score of the background; and ``names``, of the columns or groups. With more than
            two classes, arrays have a last axis for the classes in the order of ``classes_``.

        Raises
        ------
        ValueError
            For kernels other than the linear one: contributions of columns would depend on all
            other columns. `sklearn.inspection.permutation_importance` measures columns for them.

        References
        ----------
        .. [1] E. Štrumbelj and I. Kononenko, "Explaining prediction models and individual
           predictions with feature contributions", Knowledge and Information Systems 41, 2014.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import BootstrapSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BootstrapSVC([0.1], n_bootstraps=20, random_state=0).fit(scale(X), y)
        >>> found = model.contributions(scale(X))
        >>> found.values.shape
        (569, 30)
        >>> scores = scale(X) @ model.mean_coef_ + model.mean_intercept_
        >>> bool(abs(found.values.sum(axis=1) + found.base - scores).max() < 1e-9)
        True
        """
        rows = self._check_new(X)
        check_confidence(confidence)
        if not is_linear(self.ensemble_.members):
            raise ValueError(
                f"contributions are exact for kernel='linear' only, got kernel={self.kernel!r}. "
                f"For kernels, sklearn.inspection.permutation_importance(model, X, y, "
                f"scoring='neg_brier_score') measures how much each column matters."
            )
        names = getattr(self, "feature_names_in_", None)
        shown = [f"x{j}" for j in range(rows.shape[1])] if names is None else list(names)
        places = None
        if groups is not None:
            shown, places = _group_places(groups, rows.shape[1])
        centre = self._centre(background)
        found = [
            contributions(rule, rows, centre, shown, places, confidence)
            for rule in self._rules("contributions")
        ]
        return found[0] if len(found) == 1 else stack_classes(found)

    def _centre(self, background: ArrayLike | None) -> Floats:
        if background is not None:
            return np.asarray(self._check_new(background).mean(axis=0, dtype=np.float64)).ravel()
        if self._several is not None:
            return np.asarray(self._several.X.mean(axis=0, dtype=np.float64)).ravel()
        if self.ensemble_.column_means is None:
            raise ValueError(
                "background must be given: the model was saved without the means of its columns."
            )
        return self.ensemble_.column_means


def _group_places(groups: Any, n_columns: int) -> tuple[list[str], list[NDArray[np.intp]]]:
    """Names of the groups in the order of their first columns, and the columns of each."""
    labels = [str(label) for label in groups] if np.iterable(groups) else []
    if isinstance(groups, str) or len(labels) != n_columns:
        raise ValueError(
            f"groups must hold one label for each of the {n_columns} columns, got "
            f"{len(labels) if labels else repr(groups)}."
        )
    names = list(dict.fromkeys(labels))
    number = {name: k for k, name in enumerate(names)}
    owner = np.array([number[label] for label in labels])
    return names, [np.flatnonzero(owner == k) for k in range(len(names))]
