"""Probabilities of more than two classes: vote shares, or links of pairs, coupled and scaled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.bootstrap.classes.calls import calls_of, mix_call_shares
from svmproba.bootstrap.classes.fitted import FittedClasses, without_targets
from svmproba.bootstrap.classes.members import ClassMembers, samples_of_pairs
from svmproba.bootstrap.fitting.members import member_scores, scores_width
from svmproba.bootstrap.summaries.blocks import map_blocks, row_blocks
from svmproba.estimators.ensemble.calibration import (
    OutOfBag,
    families_of,
    fit_oob_link,
    link_proba,
    reads_spreads,
    scaled_scores,
)
from svmproba.links import ClassScaling, couple
from svmproba.solvers.kernels import Rows

#: Samples whose pairwise probabilities are made at once.
_BLOCK = 4096


class ClassCalibrator(NamedTuple):
    """From the scores of all pairs to the probabilities of all classes."""

    links: list[Any]  # (n_pairs,), each gives the probability of the second class of its pair
    scaling: ClassScaling  # of the coupled probabilities

    def predict(self, of_pairs: Floats) -> Floats:
        """Probabilities (n, n_classes) from those of the second class of each pair (n, n_pairs)."""
        return self.scaling.predict(couple(1 - of_pairs))


def with_class_calibration(
    ensemble: FittedClasses, calibration: str | None, classes: NDArray[Any]
) -> FittedClasses:
    """Fit links, or take them away; rates and costs are given up. Errors name the `classes`."""
    plain = without_targets(replace(ensemble, calibrator=None))
    if calibration is None:
        return plain
    n_bags, labels = len(ensemble.counts), classes.tolist()
    n_left_out = np.count_nonzero(ensemble.counts == 0, axis=0)
    families = families_of(ensemble.members.of_pair[0])
    pairs, groups = samples_of_pairs(ensemble.label, len(classes)), ensemble.groups

    def fit_link(p: int) -> tuple[Any, Floats]:
        chosen, positive = pairs[p]
        scaled = ensemble.oob_scores[p] / ensemble.score_scales[p][:, np.newaxis]
        spreads = ensemble.oob_spreads[p]
        left_out = n_left_out[chosen], None if groups is None else groups[chosen]
        own = OutOfBag(scaled[:, chosen], spreads[:, chosen], positive, *left_out)
        first, second = (labels[k] for k in ensemble.members.pairs[p])
        between = f" of the classes {first!r} and {second!r}"
        link = fit_oob_link(calibration, own, ensemble.weights, families, n_bags, between)
        return link, link_proba(link, ensemble.weights, scaled, spreads)

    links, of_pairs = zip(*map(fit_link, range(len(pairs))), strict=True)
    calibrator = ClassCalibrator(list(links), ClassScaling())
    table = np.column_stack(of_pairs)
    known = ~np.isnan(table).any(axis=1)
    P = np.full((len(table), len(classes)), np.nan)
    coupled = couple(1 - table[known])
    codes = None if groups is None else groups[known]
    calibrator.scaling.fit(coupled, ensemble.label[known], codes)
    P[known] = calibrator.scaling.predict(coupled)
    return replace(plain, calibrator=calibrator, oob_proba=P)


def class_proba(
    ensemble: FittedClasses, rows: Rows, n_jobs: int | None, device: str = "cpu"
) -> Floats:
    """Probabilities (n, n_classes) of new samples."""
    if ensemble.is_calibrated:
        return calibrated_class_proba(ensemble, rows, n_jobs)
    return mix_call_shares(class_vote_shares(ensemble, rows, n_jobs, device), ensemble.weights)


def class_vote_shares(
    ensemble: FittedClasses, rows: Rows, n_jobs: int | None, device: str = "cpu"
) -> Floats:
    r"""Share of the bags that call each class, (n_theta, n, n_classes)."""
    fixed = (ensemble.members, rows, ensemble.shifts)
    return calls_of(*fixed, n_jobs=n_jobs, device=device).shares


def calibrated_class_proba(ensemble: FittedClasses, rows: Rows, n_jobs: int | None) -> Floats:
    """Calibrated probabilities (n, n_classes) of samples."""
    members, links = ensemble.members, ensemble.calibrator.links

    def block_proba(block: slice) -> Floats:
        some = rows[block]
        of_pairs = np.empty((some.shape[0], len(links)))
        for p, (of_pair, link) in enumerate(zip(members.of_pair, links, strict=True)):
            wanted = reads_spreads(link, ensemble.oob_spreads[p])
            columns = some if members.columns is None else some[:, members.columns[p]]
            fixed = (of_pair, ensemble.weights, ensemble.score_scales[p], columns, wanted)
            of_pairs[:, p] = link_proba(link, ensemble.weights, *scaled_scores(*fixed))
        return ensemble.calibrator.predict(of_pairs)

    starts = range(0, rows.shape[0], _BLOCK)
    blocks = [slice(start, min(start + _BLOCK, rows.shape[0])) for start in starts]
    return np.concatenate(map_blocks(block_proba, blocks, n_jobs))


def bag_class_proba(ensemble: FittedClasses, rows: Rows) -> Floats:
    """Probabilities (n, n_classes, n_bags) that every bag gives by itself, through the links."""
    members, calibrator = ensemble.members, ensemble.calibrator
    n, n_bags = rows.shape[0], len(ensemble.counts)
    of_pairs = np.empty((n * n_bags, len(members.of_pair)))
    for p, (of_pair, link) in enumerate(zip(members.of_pair, calibrator.links, strict=True)):
        some = rows if members.columns is None else rows[:, members.columns[p]]
        scores, scales = member_scores(of_pair, some), ensemble.score_scales[p]
        wanted = reads_spreads(link, ensemble.oob_spreads[p])
        spreads = scaled_scores(of_pair, ensemble.weights, scales, some, wanted)[1]
        flat = np.moveaxis(scores, 1, 0).reshape(len(scales), -1) / scales[:, np.newaxis]
        spreads = np.repeat(spreads, n_bags, axis=1)
        of_pairs[:, p] = link_proba(link, ensemble.weights, flat, spreads)
    return np.moveaxis(calibrator.predict(of_pairs).reshape(n, n_bags, -1), 1, 2)


def pair_scores(members: ClassMembers, rows: Rows) -> Iterator[tuple[slice, Floats]]:
    """Yield scores (n_pairs, n_theta, n_bootstraps, n) of samples, block by block."""
    width = sum(scores_width(of_pair) for of_pair in members.of_pair)
    for block in row_blocks(rows.shape[0], rows.shape[1] + width):
        tables = [
            rows[block] if members.columns is None else rows[block][:, columns]
            for columns in members.columns or members.of_pair
        ]
        parts = map(member_scores, members.of_pair, tables)
        yield block, np.stack([np.moveaxis(part, 0, -1) for part in parts])
