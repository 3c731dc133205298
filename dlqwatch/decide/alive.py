"""Whether a daemon lives, as its lock and its pulse show it from outside. Pure, and light."""

from __future__ import annotations

from enum import StrEnum


class Alive(StrEnum):
    """What the lock and the pulse say of a daemon."""

    RUNS = "runs"
    NEVER_RAN = "never_ran"
    GONE = "gone"  # no process holds the lock
    SILENT = "silent"  # it holds the lock, and no tick has finished in time
    NO_PULSE = "no_pulse"  # … or its pulse is unreadable, or of another monotonic clock


def alive(*, held: bool, same_boot: bool, silent_s: float | None, limit_s: float) -> Alive:
    """`silent_s`: seconds since the tick in the pulse; None: there is no pulse."""
    if not held:
        return Alive.NEVER_RAN if silent_s is None else Alive.GONE
    if silent_s is None or not same_boot or silent_s < 0:
        return Alive.NO_PULSE
    return Alive.SILENT if silent_s > limit_s else Alive.RUNS
