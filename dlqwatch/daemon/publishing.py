"""A job of its own: count failures to publish, hand the number to the engine.

Nothing of it concerns the polls: it has its own thread, and what Cloudflare says of this API,
"too many calls" included, holds back this API alone.
"""

from __future__ import annotations

import logging
from typing import Protocol

from dlqwatch.daemon import disposable
from dlqwatch.decide.counting import Window
from dlqwatch.decide.inputs import PublishCounted
from dlqwatch.decide.publishing import next_window
from dlqwatch.engine import Engine
from dlqwatch.errors import CloudflareError
from dlqwatch.model import HOUR, MINUTE, Clock, PublishWatch, SampleReason
from dlqwatch.rows import Meta

log = logging.getLogger("dlqwatch.publishing")

TICK_MS = MINUTE  # how often it is looked whether a window is over
FIRST_MS = 2_000  # the first polls come first


class Logs(Protocol):
    """What is needed of the Workers' logs. `count` raises CloudflareError."""

    def log_time(self) -> int: ...

    def count(self, worker: str, needle: str, window: Window) -> int | None: ...


class Counter:
    """Counts for one Worker. One tick at a time."""

    def __init__(
        self, engine: Engine, logs: Logs, watch: PublishWatch, clock: Clock, timeout_s: float
    ) -> None:
        self._engine = engine
        self._logs = logs
        self._watch = watch
        self._clock = clock
        self._timeout_s = timeout_s
        self._trouble: SampleReason | None = None
        self._not_before = clock.monotonic()

    def tick(self) -> None:
        """One count, if a window is over; time passes in any case."""
        self._engine.submit(self._counted())

    def _counted(self) -> PublishCounted:
        held = self._clock.monotonic() < self._not_before
        if held or self._engine.cloudflare_wait_ms() > 0:
            return PublishCounted()
        window = next_window(self._watch, self._engine.rows(Meta), self._logs.log_time())
        if window is None:
            return PublishCounted()
        try:
            count = disposable.ask_cloudflare(
                lambda: self._logs.count(self._watch.worker, self._watch.needle, window),
                self._timeout_s,
            )
        except CloudflareError as error:
            self._later(error)
            return PublishCounted()
        if self._trouble is not None:
            self._trouble = None
            log.info("failures of %s to publish are counted again", self._watch.worker)
        return PublishCounted(window, count) if count is not None else PublishCounted()

    def _later(self, error: CloudflareError) -> None:
        """Ask again after an interval, or when told; say so when a trouble begins or changes."""
        wait_ms = self._watch.interval_ms
        if error.retry_at is not None:
            wait_ms = max(wait_ms, min(error.retry_at - self._clock.now(), HOUR))
        self._not_before = self._clock.monotonic() + wait_ms / 1000
        if error.reason is not self._trouble:
            worker = self._watch.worker
            log.warning("failures of %s to publish aren't counted: %s", worker, error)
        self._trouble = error.reason
