"""The records of a report: what the model says of each, and at which demand it is called."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from svmproba.bootstrap.fitted import oob_levels
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.bootstrap.votes import mix_shares, vote_shares
from svmproba.estimators import BootstrapSVC
from svmproba.estimators._records import take_rows
from svmproba.evaluation._classifiers import is_calibrated, last_step, rows_for_last_step

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: The demands a report offers: 0, 0.1 %, ..., 100 % of the class of interest.
DEMANDS = np.arange(1001) / 1000
#: Pairs of a given and a training record up to which all are compared; beyond, this many pilots.
MAX_PAIRS, N_PILOTS = 10**8, 50
#: Columns up to which each is looked at by itself.
MAX_COLUMNS = 1000


class Records(NamedTuple):
    """Records that can be judged, and what the model says of them.

    Attributes
    ----------
    rows : table of shape (n, n_columns)
        As the ensemble sees them.
    positive : ndarray of bool of shape (n,)
        Which belong to the class of interest.
    proba, level : ndarray of shape (n,)
        Probability of that class, and the number that decides the class at every threshold.
    called : ndarray of bool of shape (n,)
        Which are called positive at the present threshold.
    place : ndarray of int of shape (n,)
        Their rows in the given table.
    n_trained_on : int
        How many of them are training records.
    out_of_bag : bool
        Whether only the bags that left a training record out speak of it; False where that was
        not possible, or where training records cannot be told from others.
    """

    rows: Any
    positive: Bools
    proba: Floats
    level: Floats
    called: Bools
    place: NDArray[np.intp]
    n_trained_on: int
    out_of_bag: bool


class Steps(NamedTuple):
    """What every demand in `DEMANDS` gives, each an array of shape (n_demands,).

    Attributes
    ----------
    threshold : ndarray
        Threshold by ``with_rate(tpr=demand, exceed=False)``: of the probabilities if they are
        calibrated, else of the scores.
    oob_tpr, oob_tnr : ndarray
        Rates out of bag.
    tp, fp : ndarray of int
        Records of the class of interest, and others, that are called positive.
    """

    threshold: Floats
    oob_tpr: Floats
    oob_tnr: Floats
    tp: NDArray[np.int64]
    fp: NDArray[np.int64]


def ensemble_of(model: Any) -> Any:
    """Return the fitted bootstrap ensemble: the model, or the end of a pipeline."""
    ensemble = last_step(model)
    if not isinstance(ensemble, BootstrapSVC):
        raise TypeError(
            "model must be a BootstrapSVC, ThresholdBootstrapSVC or ConstrainedBootstrapSVC, or a "
            f"pipeline that ends with one, got {type(ensemble).__name__}."
        )
    check_is_fitted(ensemble, "intercept_")
    return ensemble


def read_records(model: Any, X: Any, y: ArrayLike) -> Records:
    """Judge records; training records are recognised and judged out of bag.

    Parameters
    ----------
    model : fitted bootstrap ensemble, or a pipeline that ends with one
    X : table of shape (n, n_features)
    y : array-like of shape (n,)
        Labels, both classes present.

    Returns
    -------
    Records
        Without those that were in every bag.
    """
    ensemble = ensemble_of(model)
    labels, rows = column_or_1d(y), rows_for_last_step(model, X)
    check_consistent_length(rows, labels)
    classes = ensemble.classes_.tolist()
    unknown = set(labels.tolist()) - set(classes)
    if unknown:
        shown = ", ".join(sorted(map(repr, unknown))[:5])
        raise ValueError(f"y must hold the classes {classes!r} and nothing else, got {shown} too.")
    level, positive = ensemble._levels_of(rows, labels)
    if positive.all() or not positive.any():
        raise ValueError(f"y must hold both classes {classes!r}, got {labels.tolist()[0]!r} only.")
    proba = ensemble.predict_proba(rows)[:, ensemble._plus]
    given, trained, recognised = training_records(ensemble, rows, positive)
    # The threshold of jackknife+ differs from record to record: levels do not tell the call.
    out_of_bag = recognised and (ensemble.ensemble_.jackknife is None or not len(given))
    if out_of_bag and len(given):
        level[given] = oob_levels(ensemble.ensemble_)[trained]
        kept = take_rows(rows, given)
        proba[given] = _left_out_proba(ensemble, kept, trained)
    known = np.flatnonzero(~np.isnan(proba) & ~np.isnan(level))
    proba = proba[known]
    called = proba >= ensemble.proba_threshold_
    rows = rows if len(known) == len(labels) else take_rows(rows, known)
    return Records(
        rows, positive[known], proba, level[known], called, known, len(given), out_of_bag
    )


def training_records(
    ensemble: Any, rows: Any, positive: Bools
) -> tuple[NDArray[np.intp], NDArray[np.intp], bool]:
    """Find the training records among given records, in whatever order they are.

    A record is recognised by its label and by its mean score over the bags that left it out,
    which no other record has to ten digits.

    Parameters
    ----------
    ensemble : fitted bootstrap ensemble
    rows : table of shape (n, n_columns)
    positive : ndarray of bool of shape (n,)

    Returns
    -------
    given, trained : ndarray of int of one shape
        Places of the same records among the given and among the training records.
    complete : bool
        Whether all were looked for; of very many only some pilots are, and of little bootstraps
        none.
    """
    if getattr(ensemble, "oob_records_", None) is not None:
        # Little bootstraps keep nothing of the records that they were fitted on.
        nowhere = np.empty(0, dtype=np.intp)
        return nowhere, nowhere, False
    mixed = ensemble.weights_ @ ensemble.oob_scores_
    every = known = np.flatnonzero(~np.isnan(mixed))
    complete = len(known) * len(positive) <= MAX_PAIRS
    if not complete:
        known = known[np.unique(np.linspace(0, len(known) - 1, N_PILOTS).astype(np.intp))]
    left_out = (ensemble.counts_[:, known] == 0).astype(np.float64)
    left_out /= left_out.sum(axis=0)
    mixed, label = mixed[known, np.newaxis], ensemble.ensemble_.positive[known, np.newaxis]
    slack = 1e-10 * np.abs(mixed).max(initial=0.0)
    free, pairs = np.ones(len(known), dtype=bool), []
    for block, scores in ensemble.member_scores(rows):
        means = left_out.T @ np.tensordot(ensemble.weights_, scores, axes=1)
        same = (np.abs(means - mixed) <= slack) & (label == positive[block])
        for j in np.flatnonzero(same.any(axis=0)):
            candidates = np.flatnonzero(same[:, j] & free)
            if len(candidates):
                free[candidates[0]] = False
                pairs.append((block.start + j, known[candidates[0]]))
    given, trained = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    if np.array_equal(given, known) and np.array_equal(trained, known):
        # All are in their places: so are those not looked for, and those in every bag.
        every = np.union1d(every, np.flatnonzero(ensemble.counts_.all(axis=0)))
        if every[-1] < len(positive) and np.array_equal(
            positive[every], ensemble.ensemble_.positive[every]
        ):
            return every, every, True
    return given, trained, complete or not len(given)


def _left_out_proba(ensemble: Any, rows: Any, trained: NDArray[np.intp]) -> Floats:
    """Probability of training records from the bags that left them out."""
    if hasattr(ensemble, "oob_proba_"):
        stored: Floats = ensemble.oob_proba_[trained, ensemble._plus]
        return stored
    threshold = np.reshape(ensemble.threshold_, (-1, 1))
    left_out = ensemble.counts_[:, trained].T == 0
    parts = [
        vote_shares(np.moveaxis(scores, -1, 0), threshold, left_out[block])
        for block, scores in ensemble.member_scores(rows)
    ]
    return mix_shares(np.concatenate(parts).T, ensemble.weights_)


def take_steps(ensemble: Any, records: Records) -> Steps:
    """Threshold the ensemble at every demand and count the records that are called positive.

    Parameters
    ----------
    ensemble : fitted bootstrap ensemble
    records : Records

    Returns
    -------
    Steps
    """
    calibrated = is_calibrated(ensemble)
    moved = [ensemble.with_rate(tpr=float(demand), exceed=False) for demand in DEMANDS]
    threshold = np.array([one.proba_threshold_ if calibrated else one.threshold_ for one in moved])
    # A record at the threshold of the probabilities is called positive, one at that of the scores
    # not.
    side: Literal["left", "right"] = "left" if calibrated else "right"
    tp, fp = (
        len(levels) - np.searchsorted(np.sort(levels), threshold, side=side)
        for levels in (records.level[records.positive], records.level[~records.positive])
    )
    tpr, tnr = np.array([(one.oob_tpr_, one.oob_tnr_) for one in moved]).T
    return Steps(threshold, tpr, tnr, tp, fp)


def first_demand(steps: Steps, levels: Floats, calibrated: bool) -> NDArray[np.intp]:
    """Place in `DEMANDS` from which on records are called positive, `len(DEMANDS)` for never."""
    # Thresholds fall with the demand; -threshold is increasing, as searchsorted wants it.
    return np.searchsorted(-steps.threshold, -levels, side="left" if calibrated else "right")


def named_columns(X: Any, place: NDArray[np.intp]) -> dict[str, Any]:
    """Columns of a table by name, of these rows; none of a sparse table or of very many."""
    if np.ndim(X) != 2 or hasattr(X, "multiply") or np.shape(X)[1] > MAX_COLUMNS:
        return {}
    if hasattr(X, "columns"):
        return {str(name): np.asarray(X[name])[place] for name in X.columns}
    return {f"column {j + 1}": column for j, column in enumerate(np.asarray(X)[place].T)}


def shares_with_limits(hits: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Shares and their 95 % Clopper–Pearson limits, NaN for shares of no records."""
    k, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    lower, upper = clopper_pearson(k, np.maximum(n, 1))
    some = n > 0
    with np.errstate(invalid="ignore"):
        return k / n, np.where(some, lower, np.nan), np.where(some, upper, np.nan)
