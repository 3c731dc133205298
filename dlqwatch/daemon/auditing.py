"""Reads how a queue is wired, at its own pace: a poll never waits for an audit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from dlqwatch.daemon import disposable
from dlqwatch.decide.inputs import Audited
from dlqwatch.decide.reading import Audit, QueueSettings, TokenInfo
from dlqwatch.engine import Engine
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import QueueRules, Sample, SampleReason

log = logging.getLogger("dlqwatch.auditing")

T = TypeVar("T")

GRACE_S = 0.25


class Wiring(Protocol):
    """What an audit asks of Cloudflare. Each method raises CloudflareError."""

    date_seen: tuple[int, int] | None

    def find_queue(self, name: str) -> str: ...

    def metrics(self, queue_id: str) -> Sample: ...

    def queue(self, queue_id: str) -> QueueSettings: ...

    def verify_token(self) -> TokenInfo: ...


class Auditor:
    """Audits one queue. `of_us`: it also looks at what concerns dlqwatch itself."""

    def __init__(
        self,
        engine: Engine,
        cloudflare: Wiring,
        rules: QueueRules,
        timeout_s: float,
        *,
        of_us: bool = False,
    ) -> None:
        self._engine = engine
        self._cloudflare = cloudflare
        self._rules = rules
        self._timeout_s = timeout_s
        self._of_us = of_us
        self._source_id: str | None = None
        self._trouble: SampleReason | None = None

    def tick(self) -> None:
        """One audit, as complete as Cloudflare lets it be."""
        queue_id = self._engine.queue(self._rules.name).cloudflare_id
        if queue_id is None or self._engine.cloudflare_wait_ms() > 0:
            return  # not found yet, or not to be asked now
        self._failed: CloudflareError | None = None
        queue = self._try(lambda: self._cloudflare.queue(queue_id))
        audit = self._source(Audit(queue=queue))
        if self._of_us:
            token = self._try(self._cloudflare.verify_token)
            seen = self._cloudflare.date_seen
            audit = replace(
                audit,
                token_ends_at=token.expires_at if token is not None else None,
                clock_off_ms=seen[1] - seen[0] if seen is not None else None,
            )
        self._note()
        self._engine.submit(
            Audited(self._rules.name, replace(audit, complete=self._failed is None))
        )

    def _source(self, audit: Audit) -> Audit:
        name = self._rules.source
        if not name:
            return audit
        try:
            if self._source_id is None:
                self._source_id = self._bounded(lambda: self._cloudflare.find_queue(name))
            source_id = self._source_id
            source = self._bounded(lambda: self._cloudflare.queue(source_id))
            sample = self._bounded(lambda: self._cloudflare.metrics(source_id))
        except QueueNotListed as error:
            return replace(audit, source_missing=True, source_nearest=error.nearest)
        except CloudflareError as error:
            self._source_id = None
            self._failed = error
            return audit
        return replace(audit, source=source, source_oldest_at=sample.oldest_at)

    def _try(self, function: Callable[[], T]) -> T | None:
        try:
            return self._bounded(function)
        except CloudflareError as error:
            self._failed = error
            return None

    def _bounded(self, function: Callable[[], T]) -> T:
        try:
            return disposable.call(function, self._timeout_s + GRACE_S)
        except disposable.GivenUp:
            raise CloudflareError(
                SampleReason.TIMEOUT, f"no answer from Cloudflare within {self._timeout_s:g} s"
            ) from None

    def _note(self) -> None:
        """Trouble is logged when it begins or changes."""
        reason = self._failed.reason if self._failed is not None else None
        if reason is not None and reason is not self._trouble and self._failed is not None:
            what = self._failed.what
            log.warning("%s: its wiring could not be read whole: %s", self._rules.name, what)
        self._trouble = reason
