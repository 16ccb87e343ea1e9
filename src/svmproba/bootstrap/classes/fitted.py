"""A fitted bootstrap ensemble of more than two classes as arrays, and what it says out of bag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats, Ints
from svmproba.bootstrap.classes.calls import calls_of, mix_call_shares
from svmproba.bootstrap.classes.members import ClassMembers, PairSamples
from svmproba.bootstrap.fitted import NO_GUARANTEE
from svmproba.bootstrap.fitting.members import Training
from svmproba.bootstrap.summaries.blocks import map_blocks
from svmproba.bootstrap.summaries.profile import scales_and_thresholds, scales_of_varying
from svmproba.bootstrap.summaries.reliability import mean_reliability, weights
from svmproba.bootstrap.summaries.spread import out_of_bag_spreads
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device


@dataclass(frozen=True, eq=False, repr=False)
class FittedClasses:
    """Members of all pairs of classes, what they say out of bag, and how they decide.

    The classes are those with the largest probability times factor, or of least expected cost.
    """

    members: ClassMembers
    thetas: NDArray[Any]  # (n_theta,), structured: hyperparameter values
    duality_gap: Floats  # (n_pairs, n_theta, n_bootstraps), relative
    counts: NDArray[np.uint8]  # (n_bootstraps, n_samples), the bags, which all pairs share
    n_redraws: int  # bags that were drawn again because they lacked a class
    X: Rows  # (n_present, n_features), samples of positive weight: rates need their scores again
    present: Ints | None  # (n_present,), their places; None: all
    label: NDArray[np.int64]  # (n_samples,), places among the classes; -1 for weight 0
    reliability: Floats  # (n_theta,), mean out-of-bag measure
    weights: Floats  # (n_theta,), made of it
    score_scales: Floats  # (n_pairs, n_theta); infinite where all samples have about one score
    oob_scores: Floats  # (n_pairs, n_theta, n_samples), mean over the bags that left a sample out
    oob_spreads: Floats  # (n_pairs, n_families or 0, n_samples), standard deviation of mixtures
    vote_proba: Floats  # (n_samples, n_classes), out-of-bag mixture of vote shares without shifts
    oob_proba: Floats  # (n_samples, n_classes), in force
    shifts: Floats  # (n_classes,), of the scores: where votes are counted
    factors: Floats  # (n_classes,), of the probabilities: the largest product is chosen
    calibrator: Any = None  # `ClassCalibrator`; None: vote shares
    costs: Floats | None = None  # (n_classes, n_classes), true by called: least cost is chosen
    guarantee: str = NO_GUARANTEE
    groups: NDArray[np.int64] | None = None  # (n_samples,), that bags drew; -1 for weight 0
    places: None = None  # of the samples in the table: all

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are estimates of P(y=k|x) rather than vote shares."""
        return self.calibrator is not None


def without_targets(ensemble: FittedClasses) -> FittedClasses:
    """Call the most probable class: neither recalls nor costs decide."""
    return replace(
        ensemble,
        oob_proba=ensemble.oob_proba if ensemble.is_calibrated else ensemble.vote_proba,
        shifts=np.zeros_like(ensemble.shifts),
        factors=np.ones_like(ensemble.factors),
        costs=None,
        guarantee=NO_GUARANTEE,
    )


def settle_classes(
    members: ClassMembers,
    training: list[Training],
    X: Rows,
    label: NDArray[np.int64],
    pairs: list[PairSamples],
    counts: NDArray[np.uint8],
    *,
    measure: str,
    epsilon: float,
    thetas: NDArray[Any],
    n_redraws: int,
    present: Ints | None,
    groups: NDArray[np.int64] | None,
    spread: Callable[[NDArray[Any], float], NDArray[Any]],
    n_jobs: int | None,
    device: str,
) -> FittedClasses:
    """Weigh the hyperparameter values and summarise the samples X; see `settle_ensemble`."""
    n_classes = members.n_classes
    fixed = (members, X, np.zeros(n_classes))
    calls = calls_of(*fixed, counts=counts, label=label, n_jobs=n_jobs, device=device)
    assert calls.right is not None
    assert calls.means is not None
    means = calls.means
    if measure == "auc":
        of_bags = np.mean([of_pair.reliability for of_pair in training], axis=0)
    else:
        n_out = np.stack([(counts[:, label == k] == 0).sum(axis=1) for k in range(n_classes)], -1)
        of_bags = reliability_of_calls(measure, calls.right, n_out)
    reliability = mean_reliability(of_bags)
    rho = weights(reliability, epsilon)
    scales = np.empty((len(pairs), len(rho)))

    def summarise(place: slice) -> Floats:
        p = place.start
        of_pair, chosen = members.of_pair[p], pairs[p].places
        rows = X if members.columns is None else X[:, members.columns[p]]
        kept = training[p].scores
        own = counts[:, chosen]
        found, _ = scales_and_thresholds(of_pair, rows[chosen], own, device=device, kept=kept)
        scales[p] = scales_of_varying(found, means[p][:, chosen])
        return out_of_bag_spreads(of_pair, rho, scales[p], rows, counts, None, device=device)

    each = [slice(p, p + 1) for p in range(len(pairs))]
    n_jobs = n_jobs if resolve_device(device) is None else 1  # a device is for one thread
    spreads = np.stack(map_blocks(summarise, each, n_jobs))
    P = spread(mix_call_shares(calls.shares, rho).T, np.nan).T
    return FittedClasses(
        members=members,
        thetas=thetas,
        duality_gap=np.stack([of_pair.gap for of_pair in training]),
        counts=spread(counts, 0),
        n_redraws=n_redraws,
        X=X,
        present=present,
        label=spread(label, -1),
        reliability=reliability,
        weights=rho,
        score_scales=scales,
        oob_scores=spread(means, np.nan),
        oob_spreads=spread(spreads, np.nan),
        vote_proba=P,
        oob_proba=P,
        shifts=np.zeros(n_classes),
        factors=np.ones(n_classes),
        groups=None if groups is None else spread(groups, -1),
    )


def reliability_of_calls(measure: str, right: Floats, n_out: NDArray[np.integer[Any]]) -> Floats:
    """Measure bags (n_theta, n_bags) by the calls of the samples that they left out.

    From calls of the own class (n_theta, n_bags, n_classes) and class sizes (n_bags, n_classes).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure == "accuracy":
            return right.sum(axis=2) / n_out.sum(axis=1)
        recalls = right / n_out
        if measure == "balanced_accuracy":
            return recalls.mean(axis=2)
        return np.prod(recalls, axis=2) ** (1 / right.shape[2])


def oob_recalls(ensemble: FittedClasses) -> Floats:
    """Share of every class that is called rightly out of bag; NaN where it is not known."""
    n_classes = len(ensemble.factors)
    label, called = _oob_calls(ensemble)
    with np.errstate(invalid="ignore"):
        right = np.bincount(label[called == label], minlength=n_classes)
        return right / np.bincount(label, minlength=n_classes)


def oob_accuracy(ensemble: FittedClasses) -> float:
    """Share of the samples that are called rightly out of bag; NaN where it is not known."""
    label, called = _oob_calls(ensemble)
    return float(np.mean(called == label)) if len(label) else float("nan")


def _oob_calls(ensemble: FittedClasses) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels and out-of-bag calls of the samples that have both."""
    called = called_classes(ensemble, ensemble.oob_proba)
    known = called >= 0  # not where there is no probability, as of samples of weight 0
    return ensemble.label[known], called[known]


def called_classes(ensemble: FittedClasses, P: Floats) -> NDArray[np.int64]:
    """Places of the classes that probabilities (n, n_classes) are called; -1 for NaN."""
    if ensemble.costs is not None:
        called = np.argmin(P @ ensemble.costs, axis=1)
    else:
        called = np.argmax(P * ensemble.factors, axis=1)
    return np.where(np.isnan(P).any(axis=1), -1, called)
