"""How a report writes numbers, the same as its script does."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from svmproba.evaluation._drawing import shortened

#: Between thousands, and before a percent sign: spaces that do not break.
NARROW, HARD = "\u202f", "\u00a0"


def _rounded(value: float, digits: int) -> Decimal:
    # As toFixed of JavaScript: halves go up.
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _told(write: Callable[..., str]) -> Callable[..., str]:
    """Write a dash for what is not defined."""

    def format_(value: Any, *arguments: Any) -> str:
        return "–" if value is None else write(value, *arguments)

    return format_


def _percent(share: float, digits: int = 1) -> str:
    return f"{_rounded(100 * share, digits)}{HARD}%"


def _limits(pair: list[float | None]) -> str:
    lower, upper = pair
    if lower is None or upper is None:
        return "no record is called"
    return f"{_rounded(100 * lower, 0)} to {_rounded(100 * upper, 0)}{HARD}%"


def _count(n: int) -> str:
    return f"{n:,}".replace(",", NARROW)


def _money(amount: float) -> str:
    digits = 2 if abs(amount) < 10 else 0
    return f"{_rounded(amount, digits):,}".replace(",", NARROW)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


FORMATS: dict[str, Callable[..., str]] = {
    "percent": _told(_percent),
    "limits": _told(_limits),
    "count": _told(_count),
    "money": _told(_money),
    "signed": _told(_signed),
    "points": _told(lambda share: f"{_rounded(100 * share, 1)} percentage points"),
    "tick": _told(lambda value: f"{value:.2g}".replace("-", "−")),
    "shortened": shortened,
    "span": _told(lambda pair: f"{' to '.join(f'{_rounded(100 * p, 1)}' for p in pair)} points"),
    "fixed": _told(lambda value: f"{value:.3f}"),
    "plain": _told(lambda value: f"{value:.10g}"),
    "significant": _told(lambda value: f"{value:.4g}" if math.isfinite(value) else "–"),
}
