"""The main thread: looks once a second whether the daemon still lives, and acts on it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from dlqwatch.decide.liveness import Act, Look, Ticking, health_limit_s, slowest, verdict
from dlqwatch.model import Clock

log = logging.getLogger("dlqwatch.watchdog")

WAIT_S = 1.0


class Ticks:
    """When each queue's last tick finished. Plain numbers, read without a lock."""

    def __init__(self, polls_s: dict[str, float], monotonic: float) -> None:
        self._polls_s = polls_s
        self._finished = dict.fromkeys(polls_s, monotonic)

    def queues(self) -> tuple[str, ...]:
        return tuple(self._polls_s)

    def finished(self, queue: str, monotonic: float) -> None:
        self._finished[queue] = monotonic

    def start_over(self, monotonic: float) -> None:
        """The process stood still: nothing that was measured counts."""
        for queue in self._finished:
            self._finished[queue] = monotonic

    def ticking(self) -> tuple[Ticking, ...]:
        return tuple(Ticking(q, at, self._polls_s[q]) for q, at in self._finished.items())

    def slowest(self) -> tuple[float, float]:
        """The stamp and the limit (s) that `health` goes by."""
        nearest = slowest(self.ticking())
        return nearest.finished, health_limit_s(nearest.poll_s)


def watch(
    stop: threading.Event,
    clock: Clock,
    ticks: Ticks,
    scheduler_alive: Callable[[], bool],
    reanchor: Callable[[], None],
) -> str | None:
    """Until told to stop: None. Or why the process must end so that it is brought back."""
    wall, mono = clock.now(), clock.monotonic()
    while not stop.wait(WAIT_S):
        now_wall, now_mono = clock.now(), clock.monotonic()
        waited = now_mono - mono
        stepped = (now_wall - wall) / 1000 - waited
        wall, mono = now_wall, now_mono
        judged = verdict(Look(now_mono, waited, stepped, scheduler_alive(), ticks.ticking()))
        if judged.act is Act.REANCHOR:
            log.warning("%s: polling at once", judged.why)
            ticks.start_over(now_mono)
            reanchor()
        elif judged.act is Act.DIE:
            log.critical("%s: ending, to be started again", judged.why)
            return judged.why
    return None
