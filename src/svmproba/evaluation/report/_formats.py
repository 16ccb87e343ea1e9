"""How a report writes numbers, the same as its script does."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from svmproba.evaluation.displays.drawing import shortened

#: Between thousands, and before a percent sign: spaces that do not break.
NARROW, HARD = "\u202f", "\u00a0"


def _rounded(value: float, digits: int) -> Decimal:
    # As toFixed of JavaScript: halves go up.
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _or_dash(write: Callable[..., str]) -> Callable[..., str]:
    """Write a dash for None."""
    return lambda value, *arguments: "–" if value is None else write(value, *arguments)


def _percent(share: float, digits: int = 1) -> str:
    return f"{_rounded(100 * share, digits)}{HARD}%"


def _limits(pair: list[float | None]) -> str:
    lower, upper = pair
    if lower is None or upper is None:
        return "no such record"
    return f"{_rounded(100 * lower, 0)} to {_rounded(100 * upper, 0)}{HARD}%"


def _money(amount: float) -> str:
    digits = 2 if abs(amount) < 10 else 0
    return f"{_rounded(amount, digits):,}".replace(",", NARROW)


def _span(pair: list[float]) -> str:
    return f"{' to '.join(str(_rounded(100 * p, 1)) for p in pair)} percentage points"


FORMATS: dict[str, Callable[..., Any]] = {
    "percent": _or_dash(_percent),
    "limits": _or_dash(_limits),
    "count": _or_dash(lambda n: f"{n:,}".replace(",", NARROW)),
    "money": _or_dash(_money),
    "signed": _or_dash(lambda value: f"{value:+.2f}".replace("-", "−")),
    "points": _or_dash(lambda share: f"{_rounded(100 * share, 1)} percentage points"),
    "span": _or_dash(_span),
    "tick": _or_dash(lambda value: f"{value:.2g}".replace("-", "−")),
    "shortened": shortened,
    "fixed": _or_dash(lambda value: f"{value:.3f}"),
    "plain": _or_dash(lambda value: f"{value:.10g}"),
    "significant": _or_dash(lambda value: f"{value:.4g}" if math.isfinite(value) else "–"),
}
