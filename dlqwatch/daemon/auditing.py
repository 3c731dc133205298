"""Reads how a queue is wired, at its own pace: a poll never waits for an audit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from dlqwatch.daemon import disposable
from dlqwatch.decide.inputs import Audited, RateLimited
from dlqwatch.decide.reading import Audit, QueueSettings, TokenInfo
from dlqwatch.engine import Engine
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import QueueRules, Sample, SampleKind, SampleReason

log = logging.getLogger("dlqwatch.auditing")

T = TypeVar("T")

# After these the rest isn't asked: it would only wait as long, or must not be.
HOPELESS = frozenset({SampleReason.UNREACHABLE, SampleReason.TIMEOUT, SampleReason.RATE_LIMITED})


class Wiring(Protocol):
    """What an audit asks of Cloudflare. Each method raises CloudflareError."""

    date_seen: tuple[int, int] | None

    def find_queue(self, name: str) -> str: ...

    def metrics(self, queue_id: str) -> Sample: ...

    def queue(self, queue_id: str) -> QueueSettings: ...

    def verify_token(self) -> TokenInfo: ...


class Look:
    """One look at how a queue is wired, as complete as Cloudflare lets it be.

    `source_id`: the source's, if it is known; afterwards, what it was found to be. `trouble` is
    what kept it from being read whole.
    """

    def __init__(
        self,
        cloudflare: Wiring,
        rules: QueueRules,
        timeout_s: float,
        *,
        source_id: str | None = None,
        may_ask: Callable[[], bool] = lambda: True,
    ) -> None:
        self._cloudflare = cloudflare
        self._rules = rules
        self._timeout_s = timeout_s
        self._may_ask = may_ask
        self.source_id = source_id
        self.trouble: CloudflareError | None = None

    def read(self, queue_id: str | None, *, of_us: bool = False) -> Audit:
        """`queue_id` None: the queue isn't there, or not found yet. `of_us`: token and clock too.

        Never raises CloudflareError.
        """
        audit = Audit(of_us=of_us)
        before = self._cloudflare.date_seen
        if queue_id is not None:
            audit = replace(audit, queue=self._try(lambda: self._cloudflare.queue(queue_id)))
        if self._rules.source:
            audit = self._source(audit, self._rules.source)
        if not of_us:
            return audit
        token = self._try(self._cloudflare.verify_token)
        if token is not None:
            audit = replace(audit, token_read=True, token_ends_at=token.expires_at)
        seen = self._cloudflare.date_seen
        if seen is not None and seen is not before:
            audit = replace(audit, clock_off_ms=seen[1] - seen[0])
        return audit

    def _source(self, audit: Audit, name: str) -> Audit:
        try:
            source_id, source = self._settings(name)
        except QueueNotListed as error:
            self.source_id = None
            return replace(audit, source_missing=True, source_nearest=error.nearest)
        except CloudflareError as error:
            self.trouble = error
            return audit
        sample = self._try(lambda: self._cloudflare.metrics(source_id))
        read = sample is not None and sample.kind is SampleKind.COMPLETE
        return replace(
            audit,
            source=source,
            backlog_read=read,
            source_oldest_at=sample.oldest_at if sample is not None and read else None,
        )

    def _settings(self, name: str) -> tuple[str, QueueSettings]:
        """The source's id and settings; made anew under the same name, it has another id."""
        if self.source_id is not None:
            known = self.source_id
            try:
                return known, self._bounded(lambda: self._cloudflare.queue(known))
            except CloudflareError as error:
                if error.reason is not SampleReason.QUEUE_GONE:
                    raise
        found = self._bounded(lambda: self._cloudflare.find_queue(name))
        self.source_id = found
        return found, self._bounded(lambda: self._cloudflare.queue(found))

    def _try(self, function: Callable[[], T]) -> T | None:
        try:
            return self._bounded(function)
        except CloudflareError as error:
            self.trouble = error
            return None

    def _bounded(self, function: Callable[[], T]) -> T:
        if self.trouble is not None and self.trouble.reason in HOPELESS:
            raise self.trouble
        if not self._may_ask():
            raise CloudflareError(SampleReason.RATE_LIMITED, "Cloudflare asked to wait meanwhile")
        return disposable.ask_cloudflare(function, self._timeout_s)


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
        """One audit; none while Cloudflare asked us to wait."""
        if not self._may_ask():
            return
        look = Look(
            self._cloudflare,
            self._rules,
            self._timeout_s,
            source_id=self._source_id,
            may_ask=self._may_ask,
        )
        queue_id = self._engine.queue(self._rules.name).cloudflare_id
        audit = look.read(queue_id, of_us=self._of_us)
        self._source_id = look.source_id
        if look.trouble is not None and look.trouble.retry_at is not None:
            self._engine.submit(RateLimited(look.trouble.retry_at))
        self._note(look.trouble)
        self._engine.submit(Audited(self._rules.name, audit))

    def _may_ask(self) -> bool:
        return self._engine.cloudflare_wait_ms() <= 0

    def _note(self, trouble: CloudflareError | None) -> None:
        """Trouble is logged when it begins or changes."""
        reason = trouble.reason if trouble is not None else None
        if trouble is not None and reason is not self._trouble:
            what = trouble.what
            log.warning("%s: its wiring could not be read whole: %s", self._rules.name, what)
        self._trouble = reason
