"""The records of a report: predictions, and counts at every target rate."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitted import oob_levels
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.bootstrap.summaries.votes import mix_shares, vote_shares
from svmproba.estimators import BootstrapSVC
from svmproba.estimators.input.samples import take_rows
from svmproba.evaluation._checks import Calls
from svmproba.evaluation._classifiers import is_calibrated, last_step, rows_for_last_step

#: Target rates that a report offers: 0, 0.1 %, ..., 100 % of the class of interest.
DEMANDS = np.arange(1001) / 1000
#: Up to so many pairs of a given and a training record all are compared; beyond, these few are.
MAX_PAIRS, N_PILOTS = 10**8, 50
#: Tables with more columns are not checked column by column.
MAX_COLUMNS = 1000


class Records(NamedTuple):
    """Records that can be evaluated, and their predictions; arrays of shape (n,)."""

    rows: Any  # as the ensemble sees them
    positive: Bools
    proba: Floats  # of the class of interest
    level: Floats  # the number that decides the class at every threshold
    called: Bools  # called positive at the current threshold
    place: NDArray[np.intp]  # row in the given table
    n_trained_on: int
    #: Whether training records are predicted only by the bags that left them out. False if that is
    #: not possible, or if training records cannot be recognised.
    out_of_bag: bool

    @property
    def calls(self) -> Calls:
        """Counts at the current threshold."""
        n_plus, tp = int(self.positive.sum()), int(np.sum(self.called & self.positive))
        return Calls(tp, int(self.called.sum()) - tp, n_plus, len(self.positive) - n_plus)


class Steps(NamedTuple):
    """Results at every target rate of `DEMANDS`, arrays of shape (n_demands,)."""

    #: By ``with_rate(tpr=demand, exceed=False)``, of calibrated probabilities or else of scores.
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
    """Predict records, training records out of bag; those that are in every bag are left out."""
    ensemble = ensemble_of(model)
    if ensemble.ensemble_.separate:
        raise ValueError(
            "A report shows one threshold, and this model has one for each subgroup: see "
            "subgroup_rates_, and rates_by_subgroup for the labels of predict(X, by=...)."
        )
    rows = rows_for_last_step(model, X)
    level, positive = ensemble._levels_of(rows, y)
    if positive.all() or not positive.any():
        classes = ensemble.classes_.tolist()
        raise ValueError(
            f"y must hold both classes {classes!r}, got {np.unique(y).tolist()[0]!r} only."
        )
    proba = ensemble.predict_proba(rows)[:, ensemble._plus]
    given, trained, recognised = training_records(ensemble, rows, positive)
    # The threshold of jackknife+ differs from record to record: levels do not decide.
    out_of_bag = recognised and (ensemble.ensemble_.jackknife is None or not len(given))
    if out_of_bag and len(given):
        level[given] = oob_levels(ensemble.ensemble_)[trained]
        kept = take_rows(rows, given)
        proba[given] = _left_out_proba(ensemble, kept, trained)
    known = np.flatnonzero(~np.isnan(proba) & ~np.isnan(level))
    proba = proba[known]
    called = proba >= ensemble.proba_threshold_
    rows = rows if len(known) == len(positive) else take_rows(rows, known)
    return Records(
        rows, positive[known], proba, level[known], called, known, len(given), out_of_bag
    )


def training_records(
    ensemble: Any, rows: Any, positive: Bools
) -> tuple[NDArray[np.intp], NDArray[np.intp], bool]:
    """Find training records: places among those given and in training, and if all were compared.

    A record is recognised by its label and by its mean score over the bags that left it out, which
    no other record shares to ten digits.
    """
    if getattr(ensemble, "oob_records_", None) is not None:
        # Little bootstraps do not store which records they were fitted on.
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
        # The tables are in the same order, so the records that were not compared match as well.
        every = np.union1d(every, np.flatnonzero(ensemble.counts_.all(axis=0)))
        trained_on = ensemble.ensemble_.positive
        if every[-1] < len(positive) and np.array_equal(positive[every], trained_on[every]):
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
    """Move the threshold to every target rate and count the records called positive."""
    calibrated = is_calibrated(ensemble)
    moved = [ensemble.with_rate(tpr=float(demand), exceed=False) for demand in DEMANDS]
    threshold = np.array([one.proba_threshold_ if calibrated else one.threshold_ for one in moved])
    # A probability at its threshold is called positive, a score at its threshold is not.
    side: Literal["left", "right"] = "left" if calibrated else "right"
    tp, fp = (
        len(levels) - np.searchsorted(np.sort(levels), threshold, side=side)
        for levels in (records.level[records.positive], records.level[~records.positive])
    )
    tpr, tnr = np.array([(one.oob_tpr_, one.oob_tnr_) for one in moved]).T
    return Steps(threshold, tpr, tnr, tp, fp)


def first_demand(steps: Steps, levels: Floats, calibrated: bool) -> NDArray[np.intp]:
    """Place in `DEMANDS` from which on records are called positive, `len(DEMANDS)` for never."""
    # Thresholds decrease with the target rate; searchsorted needs an increasing array.
    return np.searchsorted(-steps.threshold, -levels, side="left" if calibrated else "right")


def named_columns(X: Any, place: NDArray[np.intp]) -> dict[str, Any]:
    """Columns of these rows by name; empty for sparse tables and for very many columns."""
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
