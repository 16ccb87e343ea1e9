"""Memory that a fit can still get."""

from __future__ import annotations

from pathlib import Path

#: What the kernel says, and the limit of a container and what it uses.
_SYSTEM, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping, within the limit of a container; None: unknown.

    Known on Linux only.
    """
    try:
        fields = dict(line.split(":") for line in _SYSTEM.read_text().splitlines())
        free = 1024 * int(fields["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return None
    try:
        limit, used = ((_GROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        return min(free, max(0, int(limit) - int(used)))
    except (OSError, ValueError):  # no container, or no limit
        return free
