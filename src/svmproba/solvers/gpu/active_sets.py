r"""Newton steps on the augmented Lagrangians of thousands of members of a kernel, on torch.

The mathematics is that of :mod:`~svmproba.solvers.gpu.newton`, with the weights held as
coefficients :math:`\gamma` of the samples, :math:`f = K\gamma + b`. With shares :math:`x` and
:math:`u_i = c_ix_iy_i`, a Newton step goes to :math:`\gamma = u + v`, where v is 0 but on the
samples :math:`J = \{0 < x_i < 1\}` and solves

.. math::

    (K_{JJ} + (sD_J)^{-1})\,v + \delta b = (K(\gamma - u))_J, \qquad \sum_iv_i = -\sum_iu_i,

with penalty s and bounds :math:`D = \mathrm{diag}(c)`. The sum of :math:`\gamma` stays 0. These
systems are small (some hundred to some thousand samples) and are factored in batches of similar
size; everything else is a product with K for all members at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from svmproba.solvers.gpu.newton import operations
from svmproba.solvers.gpu.torch_ops import Samples, clipped
from svmproba.solvers.problem import certify_gram_tensors

#: Newton steps for one member at most.
MAX_STEPS = 100
#: Penalty at the start, shares of the bounds for each unit of a margin.
_PENALTY = 3.0
#: Growth of the penalty when one Newton step was enough for a multiplier step.
_GROWTH = 2.0
#: Systems of a batch have at least this share of its largest order, unless that is small.
_SIMILAR, _SMALL = 0.85, 128
#: Columns that are factored at once. The rest of a factor is products of matrices: with batches of
#: large systems, these are several times as fast as the library's factors.
_COLUMNS = 256
#: Least ridge as a share of the kernel's diagonal: samples may be equal.
_RIDGE = 1e-11
#: Stands for the number of Newton steps where none leads anywhere.
_STUCK = 1000


class Gram(NamedTuple):
    """What all members share, on the device."""

    kernel: Tensor  # (n, n)
    largest: float  # size of its entries
    signs: Tensor  # (n,)
    targets: Tensor  # (n,)
    batch_bytes: int  # for the systems of one batch


class Members(NamedTuple):
    """State of the members in the batch; the first axis is theirs."""

    samples: Samples
    place: Tensor  # (p,), where the result goes
    C: Tensor  # (p,)
    gamma: Tensor  # (p, n), coefficients
    bias: Tensor  # (p,)
    penalty: Tensor  # (p,)
    inner_steps: Tensor  # (p,), Newton steps since the multipliers moved

    def take(self, index: Tensor) -> Members:
        """Return some of the members."""
        samples, *others = self
        parts = (part.index_select(0, index) for part in others)
        return Members(Samples(*(part.index_select(0, index) for part in samples)), *parts)


class Settled(NamedTuple):
    """Certified members; the first axis is theirs."""

    beta: Tensor  # (p, n)
    gap: Tensor  # (p,)
    intercept: Tensor  # (p,)
    scores: Tensor  # (p, n)

    def write(self, place: Tensor, other: Settled) -> None:
        """Put others in their places."""
        for mine, theirs in zip(self, other, strict=True):
            mine[place] = theirs


def settle(gram: Gram, bounds: Tensor, beta: Tensor) -> Settled:
    """Certify members; their multipliers are clipped and balanced in place."""
    gap, *others = certify_gram_tensors(*gram[:4], bounds, beta)
    return Settled(beta, gap, *others)


def newton_steps(gram: Gram, found: Settled, base: Tensor, C: Tensor, tol: float, stop: Any) -> int:
    """Improve the members that were found above ``tol``, in place; return the number of steps.

    The members are those of all bags, one C after the other: ``base`` (bags, n) are their
    bounds at C = 1, and ``C`` (p,) the values of C.
    """
    place = torch.nonzero(found.gap > tol)[:, 0]
    # Triton launches on the current device, torch where its tensors are.
    with torch.cuda.device_of(gram.kernel):
        members = _start(gram, found, base[place % len(base)], C[place], place)
        for step in range(MAX_STEPS):
            if len(members.place) == 0 or stop[0]:
                return step
            members = _step(gram, members)
            bounds = members.samples.base * members.C[:, None]
            now = settle(gram, bounds, members.gamma.clone())
            better = now.gap < found.gap[members.place]
            found.write(members.place[better], Settled(*(part[better] for part in now)))
            left = torch.nonzero(now.gap > tol)[:, 0]
            if len(left) < len(members.place):
                members = members.take(left)
    return MAX_STEPS


def _start(gram: Gram, found: Settled, base: Tensor, C: Tensor, place: Tensor) -> Members:
    gamma, bias = found.beta[place], found.intercept[place]
    lack = gram.targets - gram.signs * found.scores[place]
    share = (gamma * gram.signs / (C[:, None] * base)).nan_to_num_(nan=0.0)
    penalty, zero = torch.full_like(bias, _PENALTY), torch.zeros_like(place)
    return Members(Samples(base, share, lack), place, C, gamma, bias, penalty, zero)


def _step(gram: Gram, members: Members) -> Members:
    """Move the multipliers of members that are ready, then every member along its direction."""
    kernel, _, signs, targets, _ = gram
    samples, _, C, gamma, bias, penalty, inner_steps = members
    ops = operations(kernel.device.type)
    product = (targets - samples.lack).mul_(signs).sub_(bias[:, None])  # K gamma
    ready, primal = _judge(gram, members, product)
    new_penalty = torch.where(ready & (inner_steps == 1), _GROWTH * penalty, penalty)
    weighted, inner = ops.move(samples, ready, penalty, new_penalty)
    u = weighted.mul_(C[:, None]).mul_(signs)
    rest, total = gamma - u, u.sum(1)
    image = rest @ kernel
    v, shift, empty = _solve_systems(gram, inner, new_penalty * C, image, total)
    # Without inner samples nothing curves in the bias: move it by one margin, if off balance.
    balanced = total.abs() <= 1e-10 * u.abs().sum(1)
    shift = torch.where(empty, torch.where(balanced, 0.0, total.sign()), shift)
    change = (v @ kernel).sub_(image)
    direction = v.sub_(rest)
    first = (rest * change).sum(1) - total * shift
    # At a minimum up to rounding, or NaN: stay here, move the multipliers next.
    moves = first < -1e-13 * primal
    for part in (direction, change, shift):
        part[~moves] = 0.0
    a0, a1 = (gamma * change).sum(1), (direction * change).sum(1)
    change = change.add_(shift[:, None]).mul_(-signs)
    first = torch.where(moves, first, 0.0)
    tau = ops.line_search(samples, change, new_penalty, C, first, a0, a1)
    return members._replace(
        gamma=gamma.addcmul_(direction, tau[:, None]),
        bias=torch.addcmul(bias, shift, tau),
        penalty=new_penalty,
        inner_steps=torch.where(moves, torch.where(ready, 1, inner_steps + 1), _STUCK),
    )


def _judge(gram: Gram, members: Members, product: Tensor) -> tuple[Tensor, Tensor]:
    """Tell whose multipliers should move, and P at the penalty's minimum so far."""
    samples, _, C, gamma, _, penalty, inner_steps = members
    hinge = samples.lack.clamp(min=0.0).mul_(samples.base).sum(1) * C
    primal = 0.5 * (gamma * product).sum(1) + hinge
    alpha = clipped(samples, penalty).mul_(samples.base).mul_(C[:, None])
    unsettled = (hinge - (alpha * samples.lack).sum(1)).clamp_(min=0.0)  # only multipliers help
    rest = gamma - alpha.mul_(gram.signs)
    gradient = 0.5 * (rest * (rest @ gram.kernel)).sum(1)
    off = alpha.sum(1).abs()  # by how much the multipliers miss the balance
    settled = (gradient <= unsettled) & (gradient + off <= 2.0 * unsettled) & (inner_steps > 0)
    return settled | (inner_steps >= _STUCK), primal


def _solve_systems(
    gram: Gram, inner: Tensor, scale: Tensor, right: Tensor, total: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return v (p, n), the changes of the biases (p,), and which members have no inner samples.

    ``inner`` (p, n) holds the bounds at C = 1 of the samples in J, 0 elsewhere.
    """
    size = (inner > 0.0).sum(1)
    v, shift = torch.zeros_like(inner), torch.zeros_like(total)
    by_size = size.argsort(descending=True)
    sizes = size[by_size].tolist()
    order = (inner > 0.0).to(torch.int8).sort(dim=1, descending=True, stable=True).indices
    for first, last in _batches(sizes, gram.batch_bytes):
        rows, width = by_size[first:last], sizes[first]
        at = order[rows, :width]
        live = torch.arange(width, device=at.device) < size[rows, None]
        matrix = gram.kernel[at[:, :, None], at[:, None, :]]
        if sizes[last - 1] < width:
            matrix.mul_(live[:, :, None]).mul_(live[:, None, :])
        ridge = 1.0 / (inner[rows[:, None], at] * scale[rows, None])
        ridge.clamp_(min=_RIDGE * gram.largest)
        matrix.diagonal(dim1=1, dim2=2).add_(torch.where(live, ridge, 1.0))
        sides = torch.stack([right[rows[:, None], at] * live, live.to(right.dtype)], 2)
        plain, ones = _solve_positive(matrix, sides).unbind(2)
        shift[rows] = (plain.sum(1) + total[rows]) / ones.sum(1)
        v[rows[:, None], at] = plain - shift[rows, None] * ones
    return v, shift, size == 0


def _solve_positive(matrix: Tensor, sides: Tensor) -> Tensor:
    """Solve systems (g, m, m) with sides (g, m, 2) by Cholesky factors, which overwrite them."""
    m, inverses = matrix.shape[1], []
    columns = [slice(j, min(j + _COLUMNS, m)) for j in range(0, m, _COLUMNS)]
    for block in columns:
        part = matrix[:, block.start :, block]
        if block.start:
            done = matrix[:, block.start :, : block.start]
            part.baddbmm_(done, done[:, : block.stop - block.start].mT, alpha=-1.0)
        corner = torch.linalg.cholesky_ex(part[:, : block.stop - block.start])[0]
        one = torch.eye(corner.shape[1], dtype=corner.dtype, device=corner.device)
        inverse = torch.linalg.solve_triangular(corner, one, upper=False)
        inverses.append(inverse)
        if block.stop < m:
            matrix[:, block.stop :, block] = matrix[:, block.stop :, block] @ inverse.mT
    for block, inverse in zip(columns, inverses, strict=True):
        known = matrix[:, block, : block.start] @ sides[:, : block.start]
        sides[:, block] = inverse @ (sides[:, block] - known)
    for block, inverse in zip(columns[::-1], inverses[::-1], strict=True):
        known = matrix[:, block.stop :, block].mT @ sides[:, block.stop :]
        sides[:, block] = inverse.mT @ (sides[:, block] - known)
    return sides


def _batches(sizes: list[int], batch_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of systems of similar orders; the orders decrease."""
    first = 0
    while first < len(sizes) and sizes[first] > 0:
        width = sizes[first]
        least = 1 if width <= _SMALL else _SIMILAR * width
        most = max(1, batch_bytes // (16 * width**2))
        last = first + 1
        while last < min(len(sizes), first + most) and sizes[last] >= least:
            last += 1
        yield first, last
        first = last
