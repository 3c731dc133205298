"""When a poll falls due."""

from __future__ import annotations

from datetime import datetime, timedelta

from apscheduler.triggers.interval import IntervalTrigger


class Steadily(IntervalTrigger):  # type: ignore[misc]
    """Each interval; what was missed is made up for once, not counted.

    APScheduler's own lists every missed run before it drops all but one: after a clock that
    leapt by ten years that takes all memory.
    """

    def get_next_fire_time(
        self, previous_fire_time: datetime | None, now: datetime
    ) -> datetime | None:
        due: datetime | None = super().get_next_fire_time(previous_fire_time, now)
        if due is None or due > now:
            return due
        return now + timedelta(seconds=self.interval_length)
