"""How long the rest of some work will take."""

from __future__ import annotations

import time

#: Seconds that must have passed since the first report: the first blocks of several jobs end at
#: nearly the same time, and the time between them says nothing.
LEAST_SECONDS = 1.0


class Pace:
    """Counts units of work and estimates the time left from the time after the first report."""

    def __init__(self, total: int | None, done: int = 0) -> None:
        self.total, self.done = total, done
        self._first: tuple[float, int] | None = None

    def note(self, n: int) -> None:
        """Note that n more units are done."""
        self.done += n
        if self._first is None:
            self._first = time.monotonic(), self.done

    def left(self) -> float | None:
        """Estimate the seconds left; None where it is too early, or nothing is left."""
        if self.total is None or self._first is None or not self._first[1] < self.done < self.total:
            return None
        spent = time.monotonic() - self._first[0]
        if spent < LEAST_SECONDS:
            return None
        return spent * (self.total - self.done) / (self.done - self._first[1])
