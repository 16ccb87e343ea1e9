"""What classifiers share that tune SVMs for pairs of classes by cross-validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from svmproba._sklearn_compat import DocLinkMixin
from svmproba._types import Floats
from svmproba.estimators.input.parameters import check_grid_parameters, check_integer
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.pairs.samples import Pair, PairMembers, Places, Samples, encode_samples
from svmproba.estimators.shared.costs import DecisionMixin
from svmproba.estimators.shared.doubts import warn_of_small_classes
from svmproba.estimators.shared.texts import document_parameters
from svmproba.solvers.features import FeatureMap, fit_features
from svmproba.solvers.kernels import Rows


@document_parameters
class PairwiseSVC(DecisionMixin, ClassifierMixin, DocLinkMixin, BaseEstimator, ABC):
    """Classifier with one SVM, or one for each class weight, for every pair of classes."""

    cv: Any
    kernel: str
    degree: int
    coef0: float
    n_components: int | None
    pos_label: Any

    classes_: NDArray[Any]
    intercept_: Floats
    _coef: Floats
    _feature_map: FeatureMap
    _pairs: list[Pair]
    _present: Places | None

    def _check_tuning(self) -> Floats:
        """Check the parameters of the grid, the folds and the kernel; gives the values of C."""
        if isinstance(self.cv, Integral):
            check_integer("cv", self.cv, 2)
        return check_grid_parameters(self)

    def _encode(
        self,
        X: Rows,
        y: NDArray[Any],
        sample_weight: ArrayLike | None = None,
        class_weight: Any = None,
    ) -> Samples:
        """Encode checked training data, and start the fitted state."""
        pairwise = self.kernel == "precomputed"
        samples = encode_samples(
            X, y, sample_weight, class_weight, self.pos_label, pairwise=pairwise
        )
        if len(samples.classes) > 2:
            warn_of_small_classes(samples.classes, np.bincount(samples.label), stacklevel=3)
        self.classes_, self._pairs = samples.classes, samples.pairs
        self._present = None if len(samples.present) == samples.n_given else samples.present
        self.proba_threshold_, self.costs_ = 0.5, None
        return samples

    def _fit_features(
        self, X: Rows, gamma: float, rng: np.random.Generator, **options: bool
    ) -> tuple[FeatureMap, Any]:
        return fit_features(
            X,
            self.kernel,
            gamma=gamma,
            degree=self.degree,
            coef0=self.coef0,
            n_components=self.n_components,
            rng=rng,
            **options,
        )

    def _set_choice(self, Cs: Floats, gammas: Floats, best: int, **measures: Floats) -> None:
        """Store the results of cross-validation (n_theta,) and the values of C and gamma chosen."""
        grid = {"C": np.tile(Cs, len(gammas)), "gamma": np.repeat(gammas, len(Cs))}
        self.cv_results_, self.best_index_ = grid | measures, best
        self.C_, self.gamma_ = (float(values[best]) for values in grid.values())

    @property
    def _pair_members(self) -> PairMembers:
        return PairMembers(self._feature_map, self._coef, self.intercept_)

    @property
    def _plus(self) -> int:
        """Place of the class of interest, of two classes."""
        if len(self.classes_) > 2:
            # scikit-learn asks for every attribute, and takes this error alone for "not there".
            raise AttributeError(
                f"A class of interest needs two classes, got {len(self.classes_)}."
            )
        return self._pairs[0][1]

    @property
    def pos_label_(self) -> Any:
        """The class of interest, of two classes."""
        if len(self.classes_) > 2:
            raise AttributeError("pos_label_ is only available with two classes.")
        return self.classes_[self._plus]

    @property
    def exact_(self) -> bool:
        """Whether the kernel is exact, and not approximated by landmarks."""
        return self._feature_map.exact

    @property
    def coef_(self) -> Floats:
        """Coefficients of the SVMs, for the linear kernel only."""
        if self._feature_map.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'.")
        return self._feature_map.input_coef(self._coef)

    def _check_new(self, X: ArrayLike) -> Rows:
        """Check new samples; kernel values with samples of weight 0 are left out."""
        check_is_fitted(self, "intercept_")
        rows: Rows = check_records(self, X, reset=False)
        present = self._present
        return rows[:, present] if present is not None and self.kernel == "precomputed" else rows

    def member_scores(self, X: ArrayLike) -> Floats:
        r"""Scores of the SVMs, from which the probabilities are made.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples, n_pairs, n_weights)
            Positive for the second class of the pair; of two classes, for the class of interest.
            Two classes have no axis of pairs, and only
            :class:`~svmproba.WeightedProbabilitySVC` has one of weights.
        """
        new, members = self._check_new(X), self._pair_members
        blocks = members.blocks(new, self.intercept_.size)
        scores = np.concatenate([members.scores(rows) for _, rows in blocks])
        return scores if len(self.classes_) > 2 else scores[:, 0]

    @abstractmethod
    def _width(self) -> int:
        """Return how many floats the probabilities of one sample need at once."""

    @abstractmethod
    def _block_proba(self, X: Rows, rows: Rows, scores: Floats) -> Floats:
        """Probabilities (n, n_classes) of samples, given their rows and scores."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Columns as `classes_`; rows sum to one.
        """
        new, members = self._check_new(X), self._pair_members
        P = np.empty((new.shape[0], len(self.classes_)))
        for block, rows in members.blocks(new, self._width()):
            P[block] = self._block_proba(new[block], rows, members.scores(rows))
        return P

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of largest probability, or of least expected cost after `with_costs`.

        Of two classes, the class of interest where its probability is at least
        ``proba_threshold_``, one half unless `with_costs` moved it.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels.
        """
        P = self.predict_proba(X)
        if len(self.classes_) > 2:
            called = P.argmax(axis=1) if self.costs_ is None else (P @ self.costs_).argmin(axis=1)
            return np.asarray(self.classes_[called])
        chosen = P[:, self._plus] >= self.proba_threshold_
        return np.asarray(self.classes_[np.where(chosen, self._plus, 1 - self._plus)])

    def _is_calibrated(self) -> bool:
        """Tell that the probabilities estimate P(y=+|x); they are no vote shares."""
        return True

    def __sklearn_tags__(self) -> Tags:
        """Sparse rows; pairwise with a precomputed kernel."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
