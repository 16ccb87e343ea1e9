"""Modules of the GPU engine have no doctests to collect where torch or triton is missing."""

from importlib.util import find_spec

_NEEDS = {
    "torch": (
        "bootstrap/on_device.py",
        "solvers/batched.py",
        "solvers/batched_newton.py",
        "solvers/batched_ops.py",
        "solvers/batched_penalties.py",
    ),
    "triton": ("solvers/batched_kernels.py",),
}
collect_ignore = [
    f"src/svmproba/{path}"
    for package, paths in _NEEDS.items()
    if find_spec(package) is None
    for path in paths
]
