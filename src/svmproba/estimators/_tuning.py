"""What estimators that tune SVMs by cross-validation, one for each pair of classes, share."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from svmproba.bootstrap.blocks import row_blocks
from svmproba.bootstrap.votes import two_columns
from svmproba.estimators._records import check_records
from svmproba.estimators._validation import (
    Floats,
    check_grid_parameters,
    check_integer,
)
from svmproba.links._coupling import couple
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows


def check_tuning_parameters(estimator: Any) -> Floats:
    """Check the parameters of the grid and the kernel; gives the values of C."""
    if isinstance(estimator.cv, Integral):
        check_integer("cv", estimator.cv, 2)
    return check_grid_parameters(estimator)


class PairwiseMixin:
    """Rows of new records, labels and tags of an estimator with machines for pairs of classes."""

    kernel: str
    classes_: NDArray[Any]
    _feature_map: FeatureMap
    _pairs: list[tuple[int, int]]
    _present: NDArray[np.intp] | None

    @property
    def _plus(self) -> int:
        """Place of the class of interest, of two classes."""
        if len(self.classes_) > 2:
            raise ValueError(
                f"There is no class of interest among {len(self.classes_)} classes, and no cost "
                f"of a false positive: decide needs two classes."
            )
        return self._pairs[0][1]

    @property
    def pos_label_(self) -> Any:
        """The class of interest, of two classes."""
        if len(self.classes_) > 2:
            raise AttributeError("pos_label_ is only available with two classes.")
        return self.classes_[self._plus]

    def _check_new(self: Any, X: ArrayLike) -> Rows:
        check_is_fitted(self, "intercept_")
        rows: Rows = check_records(self, X, reset=False)
        present = self._present
        return rows[:, present] if present is not None and self.kernel == "precomputed" else rows

    def _mapped(self, X: Rows, width: int) -> Iterator[tuple[slice, Rows]]:
        """Rows of the feature map, in blocks, where `width` numbers more are needed a record."""
        projection = self._feature_map.projection
        own = 0 if projection is None else projection.shape[1]
        for block in row_blocks(X.shape[0], X.shape[1] + own + width):
            yield block, self._feature_map.transform(X[block])

    def _joined(self, P: Floats) -> Floats:
        """Probabilities of the classes from those of the second class of every pair."""
        return couple(1 - P) if len(self.classes_) > 2 else two_columns(P[:, 0], self._plus)

    def predict(self: Any, X: ArrayLike) -> NDArray[Any]:
        """Labels of largest probability.

        Of two classes, the class of interest where its probability is at least
        ``proba_threshold_``, one half unless `with_costs` moved it.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels.
        """
        P = self.predict_proba(X)
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[P.argmax(axis=1)])
        chosen = P[:, self._plus] >= self.proba_threshold_
        return np.asarray(self.classes_[np.where(chosen, self._plus, 1 - self._plus)])

    def _is_calibrated(self) -> bool:
        """Whether the probabilities are meant as estimates of P(y=+|x): they are no vote shares."""
        return True

    def __sklearn_tags__(self) -> Tags:
        """Sparse rows; pairwise with a precomputed kernel."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
