"""What users import: one public class per file."""

from __future__ import annotations

from svmproba.estimators._bootstrap_svc import BootstrapSVC

EBB = BootstrapSVC
"""The paper's name of `BootstrapSVC`."""

__all__ = ["EBB", "BootstrapSVC"]
