"""Support vector machines with probabilities people can act on."""

from __future__ import annotations

from svmproba.estimators import EBB, BootstrapSVC

__all__ = ["EBB", "BootstrapSVC"]
__version__ = "0.1.0"
