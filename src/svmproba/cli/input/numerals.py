"""Numbers as people write them: decimal commas, thousands, currencies, percentages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_SPACE, _QUOTE = "[ \u00a0\u2009\u202f]", "['\u2019]"
#: Signs between thousands, and the characters that stand for them.
THOUSANDS = {"": "", ",": ",", ".": r"\.", " ": _SPACE, "'": _QUOTE}
#: Units that a number may carry; the sign % it must carry in every cell.
UNITS = (
    *("%", "€", "$", "£", "¥", "₹", "₽", "₩", "₺", "₪", "zł", "kr", "Kč"),
    *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "BRL", "CAD", "AUD", "SEK", "NOK", "DKK"),
)
_UNIT = "|".join(map(re.escape, UNITS))
_LOOKS = rf"^[-+]?(?:(?:{_UNIT}){_SPACE}*)?[-+]?[.,]?\d(?:[\d.,]|{_QUOTE}|{_SPACE})*(?:{_UNIT})?$"


class NumberFormat(NamedTuple):
    """How the numbers of a column are written: signs, and a percent sign or a currency."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __str__(self) -> str:
        """Return the options that name it."""
        named = [f"--decimal {self.decimal}"] if self.decimal == "," else []
        if self.thousands:
            named.append(f"--thousands {self.thousands.replace(' ', 'space')}")
        return " ".join(named)

    def plain(self, strings: Any) -> Any:
        """Write numbers as Python does; null where a cell is not written in this format.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from svmproba.cli.input.numerals import NumberFormat
        >>> NumberFormat(",", ".", "€").plain(pa.array(["€ 2.434,65", "7", "1,2,3"])).to_pylist()
        ['2434.65', '7', None]
        """
        strings = pc.replace_substring(strings, "\u2212", "-")
        if self.unit == "%":
            strings = pc.if_else(pc.ends_with(strings, "%"), strings, "")
        if self.unit:
            unit = re.escape(self.unit)
            ends = rf"^([-+]?){unit}{_SPACE}*|{_SPACE}*{unit}$"
            strings = pc.replace_substring_regex(strings, ends, r"\1")
        strings = pc.replace_substring_regex(strings, r"^\+", "")  # which Arrow may not know
        decimal, thousands = re.escape(self.decimal), THOUSANDS[self.thousands]
        digits = rf"(?:\d+|[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+)" if thousands else r"\d+"
        number = rf"^-?(?:{digits}(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][-+]?\d+)?$"
        fits = pc.match_substring_regex(strings, number)
        if thousands:
            strings = pc.replace_substring_regex(strings, thousands, "")
        strings = pc.replace_substring(strings, self.decimal, ".")
        return pc.if_else(fits, strings, pa.scalar(None, strings.type))


def look_like_numbers(words: Any) -> NDArray[np.bool_]:
    """Which words are digits with signs of numbers among them, in any order."""
    return np.asarray(pc.match_substring_regex(words, _LOOKS).to_numpy(zero_copy_only=False))


def best_formats(
    words: Any, counts: NDArray[Any], decimal: str | None = None, thousands: str | None = None
) -> list[NumberFormat]:
    """Find the format in which the most cells are numbers.

    `words` are different cells without spaces around them, `counts` how often each occurs;
    `decimal` and `thousands` are given where known. Returns one format, or two that read the same
    cells as different numbers; the plain one where no other reads more cells.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from svmproba.cli.input.numerals import best_formats
    >>> [str(f) for f in best_formats(pa.array(["2.434,65", "12"]), np.ones(2))]
    ['--decimal , --thousands .']
    >>> [str(f) for f in best_formats(pa.array(["1,234", "12"]), np.ones(2))]
    ['--decimal ,', '--thousands ,']
    """
    base = NumberFormat(decimal or ".", thousands or "")
    if not look_like_numbers(words).any():
        return [base]
    best, values, n_best = [base], *_read(words, counts, base)
    for candidate in _candidates(words, decimal, thousands):
        others, n = _read(words, counts, candidate)
        if n > n_best:
            best, values, n_best = [candidate], others, n
        elif n == n_best and base not in best and not np.array_equal(values, others, True):
            best = [best[0], candidate]
    return best


def _read(words: Any, counts: NDArray[Any], written: NumberFormat) -> tuple[NDArray[Any], int]:
    """Numbers in some words, and how many cells are numbers."""
    values = written.plain(words).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values, int(counts[~np.isnan(values)].sum())


def _candidates(words: Any, decimal: str | None, thousands: str | None) -> Iterator[NumberFormat]:
    """List the formats that are possible, the simplest first."""
    units = [unit for unit in UNITS if pc.any(pc.match_substring(words, unit)).as_py()]
    for unit in ("", *units):
        for between in THOUSANDS if thousands is None else (thousands,):
            for point in (".", ",") if decimal is None else (decimal,):
                if point != between:
                    yield NumberFormat(point, between, unit)
