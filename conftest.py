"""Modules of the GPU engine have no doctests to collect where torch or triton is missing."""

from importlib.util import find_spec

_NEEDS = {
    "torch": (
        "bootstrap/on_device.py",
        "solvers/gpu/ensemble.py",
        "solvers/gpu/newton.py",
        "solvers/gpu/torch_ops.py",
        "solvers/gpu/penalty_path.py",
    ),
    "triton": ("solvers/gpu/triton_ops.py",),
}
collect_ignore = [
    f"src/svmproba/{path}"
    for package, paths in _NEEDS.items()
    if find_spec(package) is None
    for path in paths
]
