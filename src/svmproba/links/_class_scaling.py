"""Scaling of the probabilities of several classes: temperature and vector scaling."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from svmproba._types import Floats
from svmproba.links._super_learner import deal_groups

KINDS = ("none", "temperature", "vector")
_FOLDS = 5
#: Least probability of which a logarithm is taken.
_LEAST = 1e-7
#: Keeps the slopes near 1 and the offsets near 0, in units of one sample.
_RIDGE = 1.0


class ClassScaling:
    r"""Scaled class probabilities, with as few coefficients as cross-validation asks for.

    .. math:: \tilde p_k\propto e^{a_k\log p_k+b_k},

    where ``"none"`` has :math:`a_k=1,\,b_k=0`, ``"temperature"`` one slope for all classes and no
    offsets [1]_, and ``"vector"`` a slope and an offset for every class. The coefficients minimise
    the log loss plus :math:`\frac12\sum_k(a_k-1)^2+b_k^2`. The kind with the least log loss of the
    samples held out, five folds, is fitted to all of them; the simpler kind where the other is not
    better by one standard error of the difference.

    Attributes
    ----------
    kind_ : {"none", "temperature", "vector"}
        The kind in use.
    slope_, offset_ : ndarray, shape (n_classes,)
        Coefficients :math:`a` and :math:`b`.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural
       networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import ClassScaling
    >>> P = np.tile([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], (40, 1))
    >>> label = np.tile([0, 1, 2, 1, 2, 0], 20)
    >>> scaling = ClassScaling().fit(P, label)
    >>> scaling.kind_, bool(scaling.slope_[0] < 1)
    ('temperature', True)
    """

    def fit(self, P: ArrayLike, label: ArrayLike, groups: ArrayLike | None = None) -> ClassScaling:
        """Choose and fit the scaling.

        Parameters
        ----------
        P : array-like, shape (n, n_classes)
            Probabilities of samples that had no part in their making.
        label : array-like of int, shape (n,)
            Column of the class of each sample.
        groups : array-like of int, shape (n,), optional
            Group of each sample; a group is in one fold.

        Returns
        -------
        self
            The fitted scaling.
        """
        logs, own = _logs(P), np.asarray(label, dtype=np.intp)
        # Sorted, because rounding of sums and the folds depend on the order of the samples; the
        # order within a class does not depend on the names of the others.
        order = np.lexsort((*np.sort(logs, axis=1).T, logs[np.arange(len(own)), own], own))
        logs, own = logs[order], own[order]
        if groups is None:
            fold = _deal(own)
        else:
            some = np.zeros(len(own), dtype=np.bool_)
            fold = deal_groups(np.asarray(groups)[order], some, _FOLDS)
        held_out = []
        for kind in KINDS:
            loss = np.empty(len(own))
            for k in range(_FOLDS):
                out = fold == k
                loss[out] = _losses(*_fit(kind, logs[~out], own[~out]), logs[out], own[out])
            held_out.append(loss)
        chosen = 0
        for k in range(1, len(KINDS)):
            gain = held_out[chosen] - held_out[k]
            if gain.mean() > gain.std() / np.sqrt(len(gain)):
                chosen = k
        self.kind_ = KINDS[chosen]
        self.slope_, self.offset_ = _fit(self.kind_, logs, own)
        return self

    def predict(self, P: ArrayLike) -> Floats:
        """Scaled probabilities.

        Parameters
        ----------
        P : array-like, shape (n, n_classes)
            Probabilities.

        Returns
        -------
        ndarray, shape (n, n_classes)
            Probabilities; rows sum to one.
        """
        if self.kind_ == "none":
            return np.asarray(P, dtype=np.float64)
        return np.asarray(softmax(self.slope_ * _logs(P) + self.offset_, axis=1))


def _logs(P: ArrayLike) -> Floats:
    return np.log(np.clip(np.asarray(P, dtype=np.float64), _LEAST, None))


def _deal(label: NDArray[np.intp]) -> NDArray[np.intp]:
    """Fold (n,) of every sample, even in all classes; labels are sorted."""
    fold = np.empty(len(label), dtype=np.intp)
    for k in np.unique(label):
        places = np.flatnonzero(label == k)
        fold[places] = np.random.default_rng(0).permutation(np.arange(len(places)) % _FOLDS)
    return fold


def _losses(slope: Floats, offset: Floats, logs: Floats, label: NDArray[np.intp]) -> Floats:
    log_p = log_softmax(slope * logs + offset, axis=1)
    return -np.asarray(log_p)[np.arange(len(label)), label]


def _fit(kind: str, logs: Floats, label: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Slopes and offsets of a kind of scaling."""
    n, n_classes = logs.shape
    if kind == "none" or n == 0:
        return np.ones(n_classes), np.zeros(n_classes)
    # A temperature is one slope for all classes: its gradient is the sum of theirs.
    spread = np.ones((n_classes, 1)) if kind == "temperature" else np.eye(n_classes)
    n_slopes, own = spread.shape[1], np.eye(n_classes)[label]

    def objective(z: Floats) -> tuple[float, Floats]:
        slope, offset = spread @ z[:n_slopes], z[n_slopes:]
        u = slope * logs + (offset if len(offset) else 0.0)
        log_p = np.asarray(log_softmax(u, axis=1))
        errors = np.exp(log_p) - own
        pull = z - start
        value = -log_p[own > 0].sum() + _RIDGE / 2 * (pull @ pull)
        parts = [spread.T @ (errors * logs).sum(axis=0)]
        parts += [errors.sum(axis=0)] if len(offset) else []
        return float(value), np.concatenate(parts) + _RIDGE * pull

    start = np.ones(1) if kind == "temperature" else np.repeat([1.0, 0.0], n_classes)
    z = minimize(objective, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-6}).x
    return spread @ z[:n_slopes], z[n_slopes:] if len(z) > n_slopes else np.zeros(n_classes)
