"""Modules of the GPU engine have no doctests to collect where torch or triton is missing."""

from importlib.util import find_spec

collect_ignore, collect_ignore_glob = [], []
if find_spec("torch") is None:
    collect_ignore += [
        "src/svmproba/bootstrap/classes/calls_on_device.py",
        "src/svmproba/bootstrap/fitting/on_device.py",
    ]
    collect_ignore_glob += ["src/svmproba/solvers/gpu/[!_]*.py"]
if find_spec("triton") is None:
    collect_ignore += ["src/svmproba/solvers/gpu/triton_ops.py"]
