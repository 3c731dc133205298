"""The outside heartbeat, in a thread of its own: a receiver that hangs delays nobody else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Protocol

from dlqwatch.config.sections import Heartbeat
from dlqwatch.daemon import disposable
from dlqwatch.decide.beating import Beat, Pulse, Watched, pulse
from dlqwatch.decide.world import View
from dlqwatch.engine import Engine
from dlqwatch.model import Clock, SampleKind
from dlqwatch.rows import Queue, Span

log = logging.getLogger("dlqwatch.heart")

LOOK_S = 1.0
AGAIN_S = 15.0  # what wasn't heard is said again before the receiver calls people


class Receiving(Protocol):
    """What is needed of a receiver."""

    timeout_s: float

    def call(self, url: str) -> str: ...


class Heart:
    """Tells the receiver each interval that dlqwatch lives, or at once that it can't tell."""

    def __init__(
        self, engine: Engine, settings: Heartbeat, receiver: Receiving, clock: Clock
    ) -> None:
        self._engine = engine
        self._urls = {Beat.ALIVE: settings.url, Beat.FAILING: settings.fail_url}
        self._interval_s = settings.interval / 1000
        self._receiver = receiver
        self._clock = clock
        self._ticked: dict[str, float] = {}
        self._read: dict[str, float] = dict.fromkeys(engine.plan.queues, clock.monotonic())
        self._marks: dict[str, tuple[int, int]] = dict.fromkeys(engine.plan.queues, (0, 0))
        self._told = Beat.ALIVE
        self._sent = Beat.NOTHING
        self._next = 0.0
        self._trouble = ""

    @property
    def wanted(self) -> bool:
        """Is there anybody to tell?"""
        return any(self._urls.values())

    def ticked(self, queue: str) -> None:
        """A tick of this queue has finished, whatever it found."""
        now = self._clock.monotonic()
        span = self._engine.ask(lambda view: _newest(view, queue))
        if span is not None and (mark := (span.id, span.polls)) != self._marks[queue]:
            self._marks[queue] = mark  # a poll, not only time
            if span.kind is not SampleKind.FAILED:
                self._read[queue] = now
        self._ticked[queue] = now

    def run(self, stop: threading.Event) -> None:
        """Beat until told to stop."""
        while not stop.wait(LOOK_S):
            try:
                self.step()
            except Exception:
                log.exception("the heartbeat stumbled; it goes on")

    def step(self) -> None:
        """Say what is due now. A change is said at once, the same thing each interval."""
        watched = tuple(self._watched())
        now = self._clock.now()
        judged = self._engine.ask(lambda view: pulse(view, watched, now))
        self._note_judged(judged)
        url = self._urls.get(judged.beat, "")
        if not url:
            return
        monotonic = self._clock.monotonic()
        if judged.beat is self._sent and monotonic < self._next:
            return
        trouble = self._call(url)
        self._note_trouble(trouble)
        self._sent = judged.beat
        wait_s = min(self._interval_s, AGAIN_S) if trouble else self._interval_s
        self._next = monotonic + wait_s

    def _watched(self) -> Iterator[Watched]:
        now = self._clock.monotonic()
        for queue, read in self._read.items():
            ticked = self._ticked.get(queue)
            yield Watched(queue, None if ticked is None else now - ticked, now - read)

    def _call(self, url: str) -> str:
        try:
            return disposable.call(
                lambda: self._receiver.call(url), self._receiver.timeout_s + disposable.GRACE_S
            )
        except disposable.GivenUp:
            return f"no answer within {self._receiver.timeout_s:g} s; its name may not resolve"
        except Exception as error:  # its text may hold the address
            return f"it could not be asked ({type(error).__name__})"

    def _note_judged(self, judged: Pulse) -> None:
        """What is wrong is logged when it begins or ends, not each second."""
        if judged.beat is self._told or not self._ticked:  # a start has nothing to say yet
            return
        self._told = judged.beat
        if judged.beat is Beat.ALIVE:
            log.info("heartbeat: all is well again")
        else:
            does = "fail_url is called" if self._urls.get(judged.beat) else "withheld"
            log.warning("heartbeat: %s: %s", does, judged.why)

    def _note_trouble(self, trouble: str) -> None:
        if trouble and not self._trouble:
            log.warning("heartbeat: the receiver doesn't hear: %s", trouble)
        elif self._trouble and not trouble:
            log.info("heartbeat: the receiver hears again")
        self._trouble = trouble


def _newest(view: View, queue: str) -> Span | None:
    number = next((q.id for q in view.all(Queue) if q.name == queue), None)
    spans = (s for s in view.all(Span) if s.queue == number)
    return max(spans, key=lambda s: s.id, default=None)
