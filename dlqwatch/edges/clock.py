"""The machine's own clocks."""

from __future__ import annotations

import time


class SystemClock:
    """`dlqwatch.model.Clock` for real: what everything but a test runs on."""

    def now(self) -> int:
        """The wall clock, in ms since 1970 UTC. May step."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that only go forward. On Linux they stand still while the host sleeps."""
        return time.monotonic()
