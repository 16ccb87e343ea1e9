"""Rates of one or several of many classes under control (CEBB1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from svmproba._types import Floats
from svmproba.bootstrap.classes.calls import calls_of, mix_call_shares
from svmproba.bootstrap.classes.fitted import FittedClasses, called_classes
from svmproba.bootstrap.classes.levels import profile_class
from svmproba.bootstrap.groups import one_of_each
from svmproba.bootstrap.guarantee import HOW_OF_GROUPS, samples_needed, state_guarantee
from svmproba.bootstrap.summaries.profile import N_PILOTS, thresholds_among
from svmproba.bootstrap.threshold import (
    CLEARANCE,
    RateCurve,
    calibrated_curve,
    rate_curve,
    threshold_for_rate,
)
from svmproba.estimators.classes.calibration import class_proba
from svmproba.estimators.classes.targets import ClassTarget
from svmproba.estimators.ensemble.rates import BELOW_HALF
from svmproba.solvers.kernels import Rows

#: Rounds of the search for the thresholds of several classes.
_ROUNDS = 50
#: How much of what is left to 1 the rates are raised by, from strict to lax, for a guarantee.
_MARGINS = (0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.0)


class Judges(NamedTuple):
    """Samples that decide on thresholds."""

    rows: Rows
    label: NDArray[np.int64]  # (n,)
    counts: NDArray[np.uint8] | None  # (n_bootstraps, n); None: all bags count
    proba: Floats  # (n, n_classes), where calibrated
    groups: NDArray[np.int64] | None = None  # (n,), of samples that belong together


def training_judges(ensemble: FittedClasses) -> Judges:
    """Let the training samples decide, out of bag."""
    chosen: Any = slice(None) if ensemble.present is None else ensemble.present
    counts, P = ensemble.counts[:, chosen], ensemble.oob_proba[chosen]
    groups = None if ensemble.groups is None else ensemble.groups[chosen]
    return Judges(ensemble.X, ensemble.label[chosen], counts, P, groups)


def new_judges(
    ensemble: FittedClasses,
    rows: Rows,
    label: NDArray[np.int64],
    n_jobs: int | None,
    groups: NDArray[np.int64] | None = None,
) -> Judges:
    """Let new samples decide."""
    unused = np.empty((rows.shape[0], 0))  # votes are counted where they are needed
    P = class_proba(ensemble, rows, n_jobs) if ensemble.is_calibrated else unused
    return Judges(rows, label, None, P, groups)


def with_recalls(
    ensemble: FittedClasses,
    target: ClassTarget,
    judges: Judges,
    classes: NDArray[Any],
    n_jobs: int | None,
) -> FittedClasses:
    """Move shifts or factors to where the classes named reach their recalls."""
    labels = classes.tolist()
    absent = [repr(labels[k]) for k in target.rates if not np.any(judges.label == k)]
    if absent:
        raise ValueError(
            f"The samples that decide on recalls must have every class that is named; there is "
            f"none of class {', '.join(absent)}."
        )
    grouped = target.guarantee is not None and judges.groups is not None
    if grouped:
        judges = _one_of_each_group(judges, target.rates)
    if len(target.rates) == 1:
        ((place, rate),) = target.rates.items()
        found = _neutral(ensemble)
        confidence = None if target.guarantee is None else target.confidence
        options: dict[str, Any] = {"exceed": target.exceed, "confidence": confidence}
        if judges.groups is not None:
            options["groups"] = judges.groups[judges.label == place]
        name = f"of class {labels[place]!r}"
        found[place] = _needed(ensemble, judges, place, rate, found, n_jobs, name=name, **options)
    elif target.guarantee is None:
        found = _search(ensemble, target.rates, judges, labels, n_jobs)
    else:
        found = _tested(ensemble, target, judges, labels, n_jobs)
    sizes = {labels[place]: int(np.sum(judges.label == place)) for place in target.rates}
    rates = {labels[k]: rate for k, rate in target.rates.items()}
    stated = _state(target, rates, sizes, "single" if grouped else None)
    decided = replace(ensemble, costs=None, guarantee=stated)
    if ensemble.is_calibrated:
        return replace(decided, factors=found)
    oob = np.full(ensemble.oob_proba.shape, np.nan)
    chosen: Any = slice(None) if ensemble.present is None else ensemble.present
    oob[chosen] = _probabilities(ensemble, training_judges(ensemble), found, n_jobs)
    return replace(decided, shifts=found, oob_proba=oob)


def _neutral(ensemble: FittedClasses) -> Floats:
    """Factors or shifts that change nothing."""
    n_classes = len(ensemble.factors)
    return np.ones(n_classes) if ensemble.is_calibrated else np.zeros(n_classes)


def _needed(
    ensemble: FittedClasses,
    judges: Judges,
    place: int,
    rate: float,
    moved: Floats,
    n_jobs: int | None,
    **how: Any,
) -> float:
    """Factor or shift with which a class reaches a rate, given those of the others."""
    levels = levels_of(ensemble, _some(judges, judges.label == place), place, moved, n_jobs)
    everybody = np.ones(len(levels), dtype=bool)
    neutral = BELOW_HALF if ensemble.is_calibrated else 0.0
    threshold = threshold_for_rate(
        levels, everybody, sign=1, rate=rate, neutral=neutral, clearance=CLEARANCE, **how
    )
    if not ensemble.is_calibrated:
        return -threshold
    return (1 - threshold) / max(threshold, np.finfo(np.float64).tiny)


def levels_of(
    ensemble: FittedClasses, judges: Judges, place: int, moved: Floats, n_jobs: int | None
) -> Floats:
    r"""Levels (n,) of a class, given the shifts or factors :math:`a` of the others.

    Of calibrated probabilities :math:`P_c/(P_c+\max_{l\ne c}a_lP_l)`, above one half where c is
    chosen.
    """
    if ensemble.is_calibrated:
        others = judges.proba * moved
        others[:, place] = 0.0
        own = judges.proba[:, place]
        return own / (own + others.max(axis=1))
    fixed = (ensemble.members, judges.rows, ensemble.weights, place, moved)
    return -profile_class(*fixed, counts=judges.counts, negative=True, n_jobs=n_jobs).median


def _some(judges: Judges, chosen: NDArray[np.bool_]) -> Judges:
    counts = None if judges.counts is None else judges.counts[:, chosen]
    groups = None if judges.groups is None else judges.groups[chosen]
    return Judges(judges.rows[chosen], judges.label[chosen], counts, judges.proba[chosen], groups)


def _one_of_each_group(judges: Judges, places: Iterable[int]) -> Judges:
    """Keep one sample of each class named from each group: these are independent."""
    assert judges.groups is not None
    kept = np.zeros(len(judges.label), dtype=bool)
    for place in places:
        of_class = np.flatnonzero(judges.label == place)
        kept[of_class[one_of_each(judges.groups[of_class])]] = True
    return _some(judges, kept)


def _search(
    ensemble: FittedClasses,
    rates: dict[int, float],
    judges: Judges,
    labels: list[Any],
    n_jobs: int | None,
    start: Floats | None = None,
) -> Floats:
    """Least shifts or factors with which all classes reach their rates.

    What a class takes only lowers the levels of the others: the values rise to the least solution.
    """
    moved = _neutral(ensemble) if start is None else start.copy()
    for _ in range(_ROUNDS):
        before = moved.copy()
        for place, rate in rates.items():
            name = f"of class {labels[place]!r}"
            fixed = (ensemble, judges, place, rate, moved, n_jobs)
            moved[place] = max(moved[place], _needed(*fixed, exceed=True, name=name))
        if np.array_equal(before, moved):
            return moved
    hits, sizes = _hits(ensemble, judges, rates, moved, n_jobs)
    reached = [
        f"{hits[place] / sizes[place]:.4g} for class {labels[place]!r} ({rate:.4g} asked for)"
        for place, rate in rates.items()
    ]
    raise FloorsClash(
        f"The recalls clash: no thresholds were found that give all of them. The search ended with "
        f"recalls of {', '.join(reached)}."
    )


class FloorsClash(ValueError):
    """No thresholds give all classes the recalls asked for."""


def _tested(
    ensemble: FittedClasses,
    target: ClassTarget,
    judges: Judges,
    labels: list[Any],
    n_jobs: int | None,
) -> Floats:
    r"""Lax thresholds for which judges prove all recalls together.

    Candidates from the training samples are tested from the strictest to the laxest until one
    fails, by the largest p-value :math:`P(\mathrm{Bin}(n_c,\tau_c)\ge k_c)` of the classes: a fixed
    sequence of tests (Angelopoulos et al., "Learn then test", Annals of Applied Statistics 19,
    2025).
    """
    training, start = training_judges(ensemble), _neutral(ensemble)
    candidates: list[Floats] = []
    for margin in reversed(_MARGINS):
        raised = {k: rate + margin * (1 - rate) for k, rate in target.rates.items()}
        try:
            start = _search(ensemble, raised, training, labels, n_jobs, start)
        except FloorsClash:
            if not candidates:
                raise
            break
        candidates.append(start)
    proven = None
    for moved in reversed(candidates):
        hits, sizes = _hits(ensemble, judges, target.rates, moved, n_jobs)
        p_values = {
            k: float(bdtrc(hits[k] - 1, sizes[k], rate)) if hits[k] else 1.0
            for k, rate in target.rates.items()
        }
        if max(p_values.values()) > 1 - target.confidence:
            break
        proven = moved
    if proven is None:
        worst = max(p_values, key=lambda k: p_values[k])
        needed = samples_needed(target.rates[worst], target.confidence)
        each = "" if judges.groups is None else ", one of each group,"
        raise ValueError(
            f"The recalls of {len(p_values)} classes cannot be guaranteed together with confidence "
            f"{target.confidence:g}: {hits[worst]} of {sizes[worst]} samples of class "
            f"{labels[worst]!r}{each} are called rightly at the strictest thresholds that were "
            f"found, for a recall of {target.rates[worst]:g} (at least {needed} are needed)."
        )
    return proven


def _hits(
    ensemble: FittedClasses,
    judges: Judges,
    rates: dict[int, float],
    moved: Floats,
    n_jobs: int | None,
) -> tuple[dict[int, int], dict[int, int]]:
    """Count the samples of the classes named that are called rightly, and all of them."""
    named = _some(judges, np.isin(judges.label, list(rates)))
    P = _probabilities(ensemble, named, moved, n_jobs)
    factors = moved if ensemble.is_calibrated else ensemble.factors
    called = called_classes(replace(ensemble, costs=None, factors=factors), P)
    known = called >= 0
    hits = {k: int(np.sum(known & (called == k) & (named.label == k))) for k in rates}
    return hits, {k: int(np.sum(known & (named.label == k))) for k in rates}


def _probabilities(
    ensemble: FittedClasses, judges: Judges, moved: Floats, n_jobs: int | None
) -> Floats:
    """Probabilities (n, n_classes) of judges; vote shares with these shifts."""
    if ensemble.is_calibrated:
        return judges.proba
    fixed = (ensemble.members, judges.rows, moved)
    shares = calls_of(*fixed, counts=judges.counts, n_jobs=n_jobs).shares
    return mix_call_shares(shares, ensemble.weights)


def _state(
    target: ClassTarget, rates: dict[Any, float], sizes: dict[Any, int], subsampling: str | None
) -> str:
    """Say in one sentence what is guaranteed; with `subsampling`, the sizes are those of groups."""
    kind, confidence = target.guarantee, target.confidence
    if len(rates) == 1:
        ((label, rate),) = rates.items()
        known = (kind, "tpr", rate, confidence, sizes[label], label)
        return state_guarantee(*known, subsampling=subsampling)
    judged, future, how = "samples", "all future samples", ""
    if subsampling is not None:
        judged, future = "groups", "random samples of random future groups"
        how = HOW_OF_GROUPS[subsampling]
    named = ", ".join(
        f"{100 * rate:.6g} % of class {label!r} ({sizes[label]} {judged})"
        for label, rate in rates.items()
    )
    if kind is None:
        return (
            f"No guarantee: at the thresholds at least {named} of those at hand are recognised; "
            f"the rates among future samples may be higher or lower."
        )
    sure = f"with confidence {100 * confidence:.6g} %, at least these shares of {future}"
    source = "held out" if kind == "split" else "judged by the members not trained on them"
    proof = "this is proven from" if kind == "split" else "this is estimated and not proven, from"
    sure = sure if kind == "oob" else sure.capitalize().replace("with", "With", 1)
    start = f"Approximately, {sure}" if kind == "oob" else sure
    return (
        f"{start} will be recognised, all at once: {named}; {proof} the samples of these classes "
        f"that were {source}{how}, provided that these and future {judged} are drawn independently "
        f"from the same population."
    )


def class_rate_curve(
    ensemble: FittedClasses, place: int, judges: Judges, n_jobs: int | None
) -> RateCurve:
    """Rates of one class against the others at many thresholds, on the samples that judge."""
    positive = judges.label == place
    moved = ensemble.factors if ensemble.is_calibrated else ensemble.shifts
    if ensemble.is_calibrated:
        levels = levels_of(ensemble, judges, place, moved, n_jobs)
        curve = calibrated_curve(levels, positive, 1 / (1 + float(moved[place])))
        squares = (judges.proba[:, place] - positive) ** 2
        errors = [np.nanmean(squares[positive == side]) for side in (True, False)]
        constant = [np.full(len(curve.threshold), error) for error in errors]
        return RateCurve(*curve[:3], *constant)
    n = len(positive)
    pilots = np.unique(np.linspace(0, n - 1, min(n, N_PILOTS)).astype(np.intp))
    some = np.zeros(n, dtype=bool)
    some[pilots] = True
    typical = levels_of(ensemble, _some(judges, some), place, moved, n_jobs)
    typical = typical[~np.isnan(typical)]
    thresholds = thresholds_among(typical, float(np.abs(typical).max(initial=0.0)))
    thresholds = np.union1d(thresholds, -moved[place])
    fixed = (ensemble.members, judges.rows, ensemble.weights, place, moved)
    options: dict[str, Any] = {"counts": judges.counts, "positive": positive, "n_jobs": n_jobs}
    return rate_curve(thresholds, profile_class(*fixed, thresholds=thresholds, **options), positive)
