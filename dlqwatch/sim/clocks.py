"""Where the scripted services take the time from."""

from __future__ import annotations

import time


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = 1_794_000_000_000) -> None:
        self._now = now
        self._monotonic = 1_000.0

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def move(self, seconds: float) -> None:
        """Time passes."""
        self._now += round(seconds * 1000)
        self._monotonic += seconds

    def step(self, seconds: float) -> None:
        """The wall clock is set forward or back; no time passes."""
        self._now += round(seconds * 1000)
