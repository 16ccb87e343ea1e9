"""The operations of :mod:`~svmproba.solvers.gpu.torch_ops`, each one pass over memory (Triton).

One program works on one member. A line search reads the samples once for each of its own trials,
not for those of the slowest model, and nothing goes through the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from svmproba.solvers.gpu.torch_ops import FLAT, NARROW, TRIALS, Samples

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1024


@triton.jit
def _evaluate(base, share, lack, penalty, weighted, hinge, n, BLOCK: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    s = tl.load(penalty + p)
    total = tl.zeros((BLOCK,), tl.float64)
    for first in range(0, n, BLOCK):
        place = first + tl.arange(0, BLOCK)
        here, at = place < n, p * n + place
        c = tl.load(base + at, mask=here, other=0).to(tl.float64)
        r = tl.load(lack + at, mask=here, other=0.0)
        x = tl.load(share + at, mask=here, other=0.0) + s * r
        x = tl.minimum(tl.maximum(x, 0.0), 1.0)
        tl.store(weighted + at, c * x, mask=here)
        total += c * tl.maximum(r, 0.0)
    tl.store(hinge + p, tl.sum(total))


@triton.jit
def _move(base, share, lack, ready, penalty, new_penalty, weighted, inner, n, BLOCK: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    s, t, moves = tl.load(penalty + p), tl.load(new_penalty + p), tl.load(ready + p)
    for first in range(0, n, BLOCK):
        place = first + tl.arange(0, BLOCK)
        here, at = place < n, p * n + place
        c = tl.load(base + at, mask=here, other=0).to(tl.float64)
        r = tl.load(lack + at, mask=here, other=0.0)
        x = tl.load(share + at, mask=here, other=0.0)
        if moves:
            x = tl.minimum(tl.maximum(x + s * r, 0.0), 1.0)
            tl.store(share + at, x, mask=here)
        x = tl.minimum(tl.maximum(x + t * r, 0.0), 1.0)
        tl.store(weighted + at, c * x, mask=here)
        tl.store(inner + at, tl.where((x > 0.0) & (x < 1.0), c, 0.0), mask=here)


@triton.jit
def _line_search(
    base, share, lack, change, penalty, C, firsts, a0s, a1s, taus, n,
    TRIALS: tl.constexpr, FLAT: tl.constexpr, NARROW: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0).to(tl.int64)
    s, c, slope_0 = tl.load(penalty + p), tl.load(C + p), tl.load(firsts + p)
    a0, a1 = tl.load(a0s + p), tl.load(a1s + p)
    left, right, low, high = slope_0 * 0.0, slope_0 * 0.0 + 1.0, slope_0, slope_0 * 0.0
    tau, flat = right, -FLAT * slope_0
    left_to_do = tl.where(slope_0 < 0.0, TRIALS, 0)
    while left_to_do > 0:
        total = tl.zeros((BLOCK,), tl.float64)
        for first in range(0, n, BLOCK):
            place = first + tl.arange(0, BLOCK)
            here, at = place < n, p * n + place
            z = tl.load(change + at, mask=here, other=0.0)
            x = tl.load(share + at, mask=here, other=0.0)
            x += s * (tl.load(lack + at, mask=here, other=0.0) + tau * z)
            x = tl.minimum(tl.maximum(x, 0.0), 1.0)
            total += x * z * tl.load(base + at, mask=here, other=0).to(tl.float64)
        slope = a0 + tau * a1 + c * tl.sum(total)
        trial = TRIALS - left_to_do
        going = (slope > flat) | ((slope < -flat) & (trial > 0))
        beyond, short = going & (slope > 0.0), going & (slope <= 0.0)
        right, left = tl.where(beyond, tau, right), tl.where(short, tau, left)
        low = tl.where(beyond & (trial > 0), 0.5 * low, tl.where(short, slope, low))
        high = tl.where(beyond, slope, tl.where(short, 0.5 * high, high))
        inside = left - low * (right - left) / (high - low)
        middle = tl.sqrt(tl.maximum(left, 0.01 * right) * right)
        inside = tl.where(trial % 4 == 3, middle, inside)
        narrow = right - left <= NARROW * right
        tau = tl.where(going, tl.where(narrow, left, inside), tau)
        left_to_do = tl.where(going & (right - left > NARROW * right), left_to_do - 1, 0)
    tl.store(taus + p, tau)
    for first in range(0, n, BLOCK):
        place = first + tl.arange(0, BLOCK)
        here, at = place < n, p * n + place
        z = tl.load(change + at, mask=here, other=0.0)
        r = tl.load(lack + at, mask=here, other=0.0)
        tl.store(lack + at, r + tau * z, mask=here)


def _block(n: int) -> int:
    return min(_BLOCK, triton.next_power_of_2(n))


def evaluate(samples: Samples, penalty: Tensor) -> tuple[Tensor, Tensor]:
    """See :func:`svmproba.solvers.gpu.torch_ops.evaluate`."""
    p, n = samples.lack.shape
    weighted, hinge = torch.empty_like(samples.lack), torch.empty_like(penalty)
    _evaluate[(p,)](*samples, penalty, weighted, hinge, n, BLOCK=_block(n))
    return weighted, hinge


def move(
    samples: Samples, ready: Tensor, penalty: Tensor, new_penalty: Tensor
) -> tuple[Tensor, Tensor]:
    """See :func:`svmproba.solvers.gpu.torch_ops.move`."""
    p, n = samples.lack.shape
    weighted, inner = torch.empty_like(samples.lack), torch.empty_like(samples.lack)
    moves = ready.to(torch.int8)
    _move[(p,)](*samples, moves, penalty, new_penalty, weighted, inner, n, BLOCK=_block(n))
    return weighted, inner


def line_search(
    samples: Samples,
    change: Tensor,
    penalty: Tensor,
    C: Tensor,
    first: Tensor,
    a0: Tensor,
    a1: Tensor,
) -> Tensor:
    """See :func:`svmproba.solvers.gpu.torch_ops.line_search`."""
    p, n = samples.lack.shape
    tau = torch.empty_like(first)
    _line_search[(p,)](
        *samples, change, penalty, C, first, a0, a1, tau, n,
        TRIALS=TRIALS, FLAT=FLAT, NARROW=NARROW, BLOCK=_block(n),
    )  # fmt: skip
    return tau
