r"""First steps towards the members of a kernel: alternating directions (ADMM) on the dual.

Signed multipliers :math:`\beta` minimise :math:`\tfrac12\beta^\top K\beta - \sum_iy_it_i\beta_i`
over boxes with :math:`\sum_i\beta_i=0`. A copy z takes the boxes [1]_: with a penalty
:math:`\rho`, one step solves :math:`(K+\rho I)\beta = yt + \rho(z - w) - b`, clips
:math:`\beta + w` to z and keeps what was clipped in w. Only the boxes differ between the bags of
one C, so one inverse serves all of them, and a step is one product of matrices. At a solution
:math:`\rho w_i = y_it_i - f_i`, which starts the next C.

References
----------
.. [1] S. Boyd, N. Parikh, E. Chu, B. Peleato and J. Eckstein, *Distributed optimization and
   statistical learning via the alternating direction method of multipliers*, Foundations and
   Trends in Machine Learning 3, 2011, section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

#: Over-relaxation.
_RELAX = 1.6


class Splitting(NamedTuple):
    """The shared inverse of one penalty."""

    rho: float
    inverse: Tensor  # (n, n), of K + rho I
    sums: Tensor  # (n,), of its rows
    total: Tensor  # (), of its entries


def make_splitting(kernel: Tensor, rho: float) -> Splitting:
    """Invert K + rho I."""
    shifted = kernel.clone()
    shifted.diagonal().add_(rho)
    factor = torch.linalg.cholesky_ex(shifted)[0]
    del shifted
    inverse = torch.cholesky_inverse(factor)
    sums = inverse.sum(1)
    return Splitting(rho, inverse, sums, sums.sum())


def split_steps(
    shared: Splitting, wanted: Tensor, low: Tensor, high: Tensor, z: Tensor, w: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    """Take some steps; all tensors are (p, n) but ``wanted`` (n,), the signs times the targets."""
    for _ in range(steps):
        product = torch.sub(z, w).mul_(shared.rho).add_(wanted) @ shared.inverse
        bias = product.sum(1, keepdim=True) / shared.total
        point = product.addcmul_(bias, shared.sums, value=-1.0)
        point.mul_(_RELAX).add_(z, alpha=1.0 - _RELAX).add_(w)
        z = point.clamp(low, high)
        w = point.sub_(z)
    return z, w
