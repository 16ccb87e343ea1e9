"""Hooks that prepare docstrings before numpydoc reads them."""

from __future__ import annotations

import re
from typing import Any

FITTED_SIZE = re.compile(r"(?<=n_features_in)_(?=[),])")


def skip_what_others_define(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip members that scikit-learn's base classes define; its own pages describe them."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None) or "svmproba"
    return None if module.startswith("svmproba") else True


def keep_underscores(
    app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Keep the `n_features_in_` of a shape from being read as a link."""
    lines[:] = [FITTED_SIZE.sub(r"\\_", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Connect the hooks."""
    app.connect("autodoc-skip-member", skip_what_others_define)
    app.connect("autodoc-process-docstring", keep_underscores, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
