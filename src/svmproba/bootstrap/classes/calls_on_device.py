"""Votes of several classes on torch, as `svmproba.bootstrap.classes.calls` counts them.

Scores are rounded otherwise than on the CPU, so a call can differ where a score is 0 but for
rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from svmproba._types import Floats, Ints
from svmproba.bootstrap.classes.calls import NARROW
from svmproba.bootstrap.classes.members import ClassMembers
from svmproba.bootstrap.fitting.on_device import device_blocks, device_scorer
from svmproba.solvers.kernels import Rows

#: Float64 numbers that a score needs at most, beside two bytes for every class.
_PER_SCORE = 5


def device_calls(
    members: ClassMembers,
    X: Rows,
    shifts: Floats,
    counted: Callable[[slice], Floats],
    label: Ints | None,
    device: torch.device,
    with_means: bool,
) -> tuple[Floats, Floats | None, Floats | None]:
    """Fields of `Calls`; ``counted(block)`` says how often each bag counts, (samples, n_bags)."""
    n, n_pairs, n_classes = X.shape[0], len(members.of_pair), members.n_classes
    n_theta, n_bags = members.of_pair[0].intercept.shape
    scorers = [device_scorer(of_pair, device) for of_pair in members.of_pair]
    shares = np.empty((n_theta, n, n_classes))
    means = np.empty((n_pairs, n_theta, n)) if with_means else None
    right = np.zeros((n_classes, n_theta, n_bags))
    for block in device_blocks(members.of_pair[0], n, _PER_SCORE + n_classes / 4, device):
        m = block.stop - block.start
        used = torch.as_tensor(counted(block), device=device)[:, :, None]
        total = used.sum(1)
        narrow = torch.uint8 if n_classes <= NARROW else torch.int16
        wins = torch.zeros((n_classes, m, n_theta, n_bags), dtype=narrow, device=device)
        for p, (first, second) in enumerate(members.pairs):
            columns = None if members.columns is None else members.columns[p]
            scores = scorers[p](X[block] if columns is None else X[block][:, columns])
            if means is not None:
                means[p, :, block] = (torch.matmul(scores, used)[:, :, 0] / total).T.cpu().numpy()
            scores += shifts[second] - shifts[first]
            won = (scores > 0).to(narrow).add_(scores >= 0)
            wins[second] += won
            wins[first] += 2 - won
        called = wins == wins.amax(0)
        parts = used.mT / called.sum(0)  # what each winner gets
        for k in range(n_classes):
            of_class = parts * called[k]
            shares[:, block, k] = (of_class.sum(2) / total).T.cpu().numpy()
            if label is not None:
                own = torch.as_tensor(label[block] == k, device=device).to(parts.dtype)
                right[k] += (own @ of_class.flatten(1)).view(n_theta, n_bags).cpu().numpy()
    return shares, means, None if label is None else right.transpose(1, 2, 0)
