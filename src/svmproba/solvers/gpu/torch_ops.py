r"""What the batched Newton steps do with every sample of every member, in plain torch.

Three operations read and write arrays of shape (models, samples); everything else is small or a
matrix product. :mod:`~svmproba.solvers.gpu.triton_ops` has the same three, each in one pass.
All write :math:`x = \mathrm{clip}(\beta + s\,l, 0, 1)` for shares :math:`\beta`, penalties
:math:`s` and lacks :math:`l`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Trials of one line search, the share of the first slope that is small enough, and the share of
#: a step that is.
TRIALS, FLAT, NARROW = 24, 0.3, 0.1


class Samples(NamedTuple):
    """State of the samples in every member, (p, n) each; share and lack are written in place."""

    base: Tensor  # bounds at C = 1
    share: Tensor  # multipliers as shares of their bounds
    lack: Tensor  # target - margin


def clipped(samples: Samples, penalty: Tensor) -> Tensor:
    """Return x, (p, n)."""
    return torch.addcmul(samples.share, samples.lack, penalty[:, None]).clamp_(0.0, 1.0)


def evaluate(samples: Samples, penalty: Tensor) -> tuple[Tensor, Tensor]:
    """Return the multipliers at C = 1, (p, n), and the hinge sums at C = 1, (p,)."""
    hinge = samples.lack.clamp(min=0.0).mul_(samples.base).sum(1)
    return clipped(samples, penalty).mul_(samples.base), hinge


def move(
    samples: Samples, ready: Tensor, penalty: Tensor, new_penalty: Tensor
) -> tuple[Tensor, Tensor]:
    """Make x the shares of the models that are ready; clip again, with the new penalties.

    Returns the multipliers at C = 1 and the bounds at C = 1 of the samples between their bounds
    (0 for the others), both (p, n).
    """
    x = clipped(samples, penalty)
    torch.where(ready[:, None], x, samples.share, out=samples.share)
    x = clipped(samples, new_penalty)
    inner = torch.mul((x > 0.0) & (x < 1.0), samples.base).to(x.dtype)
    return x.mul_(samples.base), inner


def line_search(
    samples: Samples,
    change: Tensor,
    penalty: Tensor,
    C: Tensor,
    first: Tensor,
    a0: Tensor,
    a1: Tensor,
) -> Tensor:
    """Find step lengths in (0, 1] with slopes well below the first ones (Illinois), and go there.

    ``change`` (p, n) is that of the lacks along the direction. All others are (p,): the first
    slopes, where 0 means a step of 1, and the slopes ``a0 + step * a1`` of the quadratic term.
    """
    start = torch.addcmul(samples.share, samples.lack, penalty[:, None])
    speed = change * penalty[:, None]
    weighted = (change * samples.base).mul_(C[:, None])
    left, right = torch.zeros_like(first), torch.ones_like(first)
    low, high, tau = first.clone(), torch.zeros_like(first), torch.ones_like(first)
    flat, going = FLAT * first.abs(), first < 0.0
    x = torch.empty_like(start)
    for trial in range(TRIALS):
        torch.addcmul(start, speed, tau[:, None], out=x).clamp_(0.0, 1.0)
        slope = x.mul_(weighted).sum(1).addcmul_(tau, a1).add_(a0)
        going = going & ((slope > flat) if trial == 0 else (slope.abs() > flat))
        beyond, short = going & (slope > 0.0), going & (slope <= 0.0)
        right, left = torch.where(beyond, tau, right), torch.where(short, tau, left)
        high = torch.where(beyond, slope, torch.where(short, 0.5 * high, high))
        low = torch.where(short, slope, torch.where(beyond, (0.5 if trial else 1.0) * low, low))
        inside = left - low * (right - left) / (high - low)
        if trial % 4 == 3:  # secants crawl where one end is far steeper than the other
            inside = (left.maximum(0.01 * right) * right).sqrt()
        # The slope jumps in a narrow bracket: its left end is as good as any point in it.
        narrow = going & (right - left <= NARROW * right)
        going = going & ~narrow
        tau = torch.where(going, inside, torch.where(narrow, left, tau))
        if not bool(going.any()):
            break
    samples.lack.addcmul_(change, tau[:, None])
    return tau
