"""One tick of one queue: ask Cloudflare, hand what it said to the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from dlqwatch.daemon import disposable
from dlqwatch.decide.inputs import (
    QueueFound,
    QueueMissing,
    RateLimited,
    Reading,
    RetentionRead,
    TimePassed,
)
from dlqwatch.decide.reading import QueueSettings, failed
from dlqwatch.engine import Engine
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import Clock, QueueRules, Sample, SampleKind, SampleReason

log = logging.getLogger("dlqwatch.polling")

T = TypeVar("T")

AUDIT_AGAIN = 10  # a failed audit is tried again after this part of its interval


class Queues(Protocol):
    """What a poller needs of Cloudflare. Each method raises CloudflareError."""

    def find_queue(self, name: str) -> str: ...

    def metrics(self, queue_id: str) -> Sample: ...

    def queue(self, queue_id: str) -> QueueSettings: ...


class Poller:
    """Polls one queue. Several run side by side; none waits for another."""

    def __init__(
        self,
        engine: Engine,
        cloudflare: Queues,
        rules: QueueRules,
        clock: Clock,
        timeout_s: float,
    ) -> None:
        self._engine = engine
        self._cloudflare = cloudflare
        self._rules = rules
        self._clock = clock
        self._timeout_s = timeout_s
        self._trouble: SampleReason | None = None
        self._unread: SampleReason | None = None
        self._audit_at = clock.monotonic()
        self._last: Sample | None = None

    def tick(self) -> None:
        """One reading, good or bad; or only time, while Cloudflare asked us to wait."""
        name = self._rules.name
        if self._engine.cloudflare_wait_ms() > 0:
            self._engine.submit(TimePassed(name))
            return
        sample = self._sample()
        self._note(sample)
        if self._fell(sample):
            self._ask_retention()
        self._engine.submit(Reading(name, sample))

    def _fell(self, sample: Sample) -> bool:
        """Did messages leave since the last complete reading?"""
        before = self._last
        if sample.kind is SampleKind.COMPLETE:
            self._last = sample
        if before is None or before.depth is None or sample.depth is None:
            return False
        later = (sample.oldest_at or 0) > (before.oldest_at or 0) > 0
        return sample.depth < before.depth or later

    def _ask_retention(self) -> None:
        """What a fall means depends on it: it is read anew before that is decided."""
        self._audit_at = self._clock.monotonic()
        queue_id = self._engine.queue(self._rules.name).cloudflare_id
        if queue_id is None:
            return
        try:
            self._audit_if_due(queue_id)
        except CloudflareError as error:
            self._audit_at = self._clock.monotonic()  # before the reading that confirms the fall
            if error.retry_at is not None:
                self._engine.submit(RateLimited(error.retry_at))

    def _sample(self) -> Sample:
        try:
            known = self._engine.queue(self._rules.name).cloudflare_id
            if known is None:
                return self._read(self._find())
            try:
                return self._read(known)
            except CloudflareError as error:
                if error.reason is not SampleReason.QUEUE_GONE:
                    raise
                return self._read(self._find())  # made anew under the same name?
        except QueueNotListed as error:
            self._engine.submit(QueueMissing(self._rules.name, error.nearest))
            return failed(error, self._clock.now())
        except CloudflareError as error:
            if error.retry_at is not None:
                self._engine.submit(RateLimited(error.retry_at))
            return failed(error, self._clock.now())

    def _read(self, queue_id: str) -> Sample:
        self._audit_if_due(queue_id)
        return self._bounded(lambda: self._cloudflare.metrics(queue_id))

    def _find(self) -> str:
        name = self._rules.name
        queue_id = self._bounded(lambda: self._cloudflare.find_queue(name))
        self._engine.submit(QueueFound(name, queue_id))
        self._audit_at = self._clock.monotonic()
        return queue_id

    def _audit_if_due(self, queue_id: str) -> None:
        """Read the retention before the first reading, so that the first word has a deadline."""
        now = self._clock.monotonic()
        if now < self._audit_at:
            return
        self._audit_at = now + self._rules.audit_ms / 1000
        try:
            settings = self._bounded(lambda: self._cloudflare.queue(queue_id))
        except CloudflareError as error:
            if error.reason in (SampleReason.QUEUE_GONE, SampleReason.RATE_LIMITED):
                raise
            self._audit_at = now + self._rules.audit_ms / 1000 / AUDIT_AGAIN
            if error.reason is not self._unread:  # said when it begins or changes
                log.warning("%s: its retention can't be read: %s", self._rules.name, error.what)
            self._unread = error.reason
            return
        self._unread = None
        self._engine.submit(RetentionRead(self._rules.name, settings.retention_ms))

    def _bounded(self, function: Callable[[], T]) -> T:
        return disposable.ask_cloudflare(function, self._timeout_s)

    def _note(self, sample: Sample) -> None:
        """Trouble is logged when it begins, changes or ends, not at each poll."""
        name, before, self._trouble = self._rules.name, self._trouble, sample.reason
        if sample.reason is before:
            return
        if sample.reason is not None:
            log.warning("%s: %s reading, %s: %s", name, sample.kind, sample.reason, sample.detail)
        else:
            log.info("%s: read again: %s", name, sample.depth)
