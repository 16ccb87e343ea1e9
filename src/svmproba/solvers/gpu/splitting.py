r"""First steps towards the members of a kernel: operator splitting on the dual.

Signed multipliers :math:`\beta` minimise :math:`\tfrac12\beta^\top K\beta - \sum_iy_it_i\beta_i`
over boxes with :math:`\sum_i\beta_i=0`. A step of Douglas-Rachford splitting [1]_ with penalty
:math:`\rho` clips a point p to the box, :math:`z`, solves
:math:`(K+\rho I)\beta = yt + \rho(2z - p) - b` with :math:`\sum_i\beta_i=0`, and adds
:math:`\beta - z`, relaxed, to p. Only the boxes differ between the bags of one C, so one inverse
serves all of them, and a step is one product of matrices. At a solution
:math:`\rho(p_i - z_i) = y_it_i - f_i`, which starts the next C.

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
    """What all members share at one penalty."""

    rho: float
    matrix: Tensor  # (n, n), maps rho (2z - p) to multipliers that sum to 0
    fixed: Tensor  # (n,), the multipliers of yt


def make_splitting(kernel: Tensor, wanted: Tensor, rho: float) -> Splitting:
    """Invert K + rho I; ``wanted`` (n,) are the signs times the targets."""
    matrix = kernel.clone()
    matrix.diagonal().add_(rho)
    matrix = torch.cholesky_inverse(torch.linalg.cholesky_ex(matrix)[0])
    sums = matrix.sum(1)
    matrix.addr_(sums, sums / sums.sum(), alpha=-1.0)
    fixed = matrix @ wanted
    return Splitting(rho, matrix.mul_(rho), fixed)


def split_steps(shared: Splitting, low: Tensor, high: Tensor, point: Tensor, steps: int) -> Tensor:
    """Take some steps in place; all tensors are (p, n). Returns the point, clipped."""
    z = point.clamp(low, high)
    for _ in range(steps):
        beta = torch.addmm(shared.fixed, torch.lerp(point, z, 2.0), shared.matrix)
        point.add_(beta.sub_(z), alpha=_RELAX)
        z = point.clamp(low, high)
    return z
