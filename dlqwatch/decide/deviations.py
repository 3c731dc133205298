"""What is wired otherwise than it must be for dead letters to be seen (S6, S13). Pure.

A part that could not be read says nothing: neither that all is well nor that it isn't.
"""

from __future__ import annotations

from collections.abc import Iterator

from dlqwatch.decide.reading import Audit, Consumer, QueueSettings
from dlqwatch.durations import show_duration
from dlqwatch.facts import Deviation
from dlqwatch.model import DAY, MINUTE, SECOND, DeviationKind, QueueRules
from dlqwatch.rows import Queue

POLLS_KEPT = 4  # messages kept for less can't be kept by polling
TOKEN_DAYS = 14
CLOCK_MS = 60 * SECOND

# Messages are being deleted unseen.
CRITICAL = frozenset(
    {
        DeviationKind.NO_DEAD_LETTER_QUEUE,
        DeviationKind.OTHER_DEAD_LETTER_QUEUE,
        DeviationKind.QUEUE_MISSING,
        DeviationKind.UNEXPECTED_CONSUMER,
        DeviationKind.RETENTION_CUT,
    }
)
_OF_CONSUMERS = frozenset(
    {
        DeviationKind.NO_CONSUMER,
        DeviationKind.NO_DEAD_LETTER_QUEUE,
        DeviationKind.OTHER_DEAD_LETTER_QUEUE,
        DeviationKind.MAX_RETRIES,
    }
)
_OF_SOURCE = _OF_CONSUMERS | {
    DeviationKind.NO_SOURCE,
    DeviationKind.PAUSED,
    DeviationKind.SOURCE_OLD,
}
_OF_RETENTION = frozenset({DeviationKind.RETENTION_CUT, DeviationKind.RETENTION_SHORT})
_OF_US = frozenset({DeviationKind.TOKEN_ENDS, DeviationKind.CLOCK_OFF})


def deviations(audit: Audit, queue: Queue, rules: QueueRules, now: int) -> tuple[Deviation, ...]:
    """Everything that is otherwise than it should be."""
    found = [*_of_source(audit, rules, now), *_of_queue(audit, queue, rules), *_of_us(audit, now)]
    return tuple(found)


def judged(audit: Audit, rules: QueueRules) -> frozenset[DeviationKind]:
    """What this audit could tell of, for good or bad; what isn't asked for is never wrong."""
    found: set[DeviationKind] = set()
    if not rules.source or audit.source_missing:
        found |= _OF_SOURCE
    elif audit.source is not None:
        found.add(DeviationKind.NO_SOURCE)
        if audit.source.consumers is not None:
            found |= _OF_CONSUMERS
        if any(c.max_retries is None for c in audit.source.consumers or ()):
            found.discard(DeviationKind.MAX_RETRIES)
        if audit.source.delivery_paused is not None:
            found.add(DeviationKind.PAUSED)
    if audit.backlog_read:
        found.add(DeviationKind.SOURCE_OLD)
    if audit.queue is not None and audit.queue.consumers is not None:
        found.add(DeviationKind.UNEXPECTED_CONSUMER)
    if audit.queue is not None and audit.queue.retention_ms is not None:
        found |= _OF_RETENTION
    if audit.token_read or not audit.of_us:
        found.add(DeviationKind.TOKEN_ENDS)
    if audit.clock_off_ms is not None or not audit.of_us:
        found.add(DeviationKind.CLOCK_OFF)
    return frozenset(found)


def missing(name: str, nearest: tuple[str, ...]) -> Deviation:
    """A fully read list doesn't have the queue."""
    return _deviation(
        DeviationKind.QUEUE_MISSING,
        _no_such(nearest),
        name,
        f"npx wrangler queues create {name}",
    )


def _no_such(nearest: tuple[str, ...]) -> str:
    return f"none; like it: {', '.join(nearest)}" if nearest else "no such queue"


def _of_source(audit: Audit, rules: QueueRules, now: int) -> Iterator[Deviation]:
    source, name = audit.source, rules.source
    if audit.source_missing:
        yield _deviation(
            DeviationKind.NO_SOURCE,
            _no_such(audit.source_nearest),
            name,
            f'Correct source = "{name}" of this queue in the configuration, or create the queue',
        )
    if source is None:
        return
    yield from _of_consumers(source, rules)
    if source.delivery_paused:
        yield _deviation(
            DeviationKind.PAUSED,
            "paused",
            "delivering",
            f"npx wrangler queues resume-delivery {name}",
        )
    if audit.source_oldest_at is not None:
        age = now - audit.source_oldest_at
        if age > rules.source_max_age_ms:
            # an age that grows is no news: it is told in steps
            step = max(MINUTE, rules.source_max_age_ms)
            yield _deviation(
                DeviationKind.SOURCE_OLD,
                f"over {show_duration(age - age % step)} old",
                f"at most {show_duration(rules.source_max_age_ms)}",
                f"Look at the consumer of {name}: is it deployed, failing, or throttled?",
            )


def _of_consumers(source: QueueSettings, rules: QueueRules) -> Iterator[Deviation]:
    if source.consumers is None:
        return
    if not source.consumers:
        yield _deviation(
            DeviationKind.NO_CONSUMER,
            "none",
            "a consumer",
            f"Deploy the Worker that consumes {rules.source} (npx wrangler deploy)",
        )
    for consumer in source.consumers:
        leads_to = consumer.dead_letter_queue
        if not leads_to:  # Cloudflare leaves the key out, or says "", where none is set
            cure = _set_for(consumer, rules, f'"dead_letter_queue": "{rules.name}"')
            yield _deviation(DeviationKind.NO_DEAD_LETTER_QUEUE, "none", rules.name, cure)
        elif leads_to != rules.name:
            cure = _set_for(consumer, rules, f'"dead_letter_queue": "{rules.name}"')
            yield _deviation(DeviationKind.OTHER_DEAD_LETTER_QUEUE, leads_to, rules.name, cure)
        if consumer.max_retries is not None and consumer.max_retries != rules.max_retries:
            cure = _set_for(consumer, rules, f'"max_retries": {rules.max_retries}')
            yield _deviation(
                DeviationKind.MAX_RETRIES,
                str(consumer.max_retries),
                str(rules.max_retries),
                f"{cure}. Or set max_retries of this queue in the configuration",
            )


def _set_for(consumer: Consumer, rules: QueueRules, line: str) -> str:
    """What to put right where the consumer is configured: a change by hand lasts for one deploy."""
    where = f"the consumer of {rules.source}"
    if consumer.script:
        return f"Set {line} for {where} in wrangler.jsonc of {consumer.script}; npx wrangler deploy"
    return f"Set {line} for {where}"


def _of_queue(audit: Audit, queue: Queue, rules: QueueRules) -> Iterator[Deviation]:
    settings = audit.queue
    if settings is None:
        return
    if settings.consumers and not rules.may_have_consumer:
        who = ", ".join(c.script or c.type or "a consumer" for c in settings.consumers)
        yield _deviation(
            DeviationKind.UNEXPECTED_CONSUMER,
            who,
            "no consumer",
            f"npx wrangler queues consumer remove {rules.name} {settings.consumers[0].script or ''}"
            if settings.consumers[0].script
            else f"Remove its consumer, or set consumer = true for {rules.name}",
        )
    kept = settings.retention_ms
    if kept is None:
        return
    expected = rules.retention_ms or max((k.ms for k in queue.retentions), default=kept)
    if kept < expected:
        seconds = expected // 1000
        yield _deviation(
            DeviationKind.RETENTION_CUT,
            show_duration(kept),
            show_duration(expected),
            f"npx wrangler queues update {rules.name} --message-retention-period-secs {seconds}",
        )
    if kept < POLLS_KEPT * rules.poll_ms:
        yield _deviation(
            DeviationKind.RETENTION_SHORT,
            show_duration(kept),
            f"at least {show_duration(POLLS_KEPT * rules.poll_ms)}",
            "Keep messages longer, or poll more often (poll_interval)",
        )


def _of_us(audit: Audit, now: int) -> Iterator[Deviation]:
    if audit.token_ends_at is not None and audit.token_ends_at - now < TOKEN_DAYS * DAY:
        days = max(0, audit.token_ends_at - now) // DAY
        yield _deviation(
            DeviationKind.TOKEN_ENDS,
            f"{days} d" if days else "less than 1 d",
            f"at least {TOKEN_DAYS} d",
            "Make a new token with Queues Read and put it into cloudflare.api_token (or its file)",
        )
    if audit.clock_off_ms is not None and abs(audit.clock_off_ms) >= CLOCK_MS:
        off = show_duration(abs(audit.clock_off_ms) // MINUTE * MINUTE)
        yield _deviation(
            DeviationKind.CLOCK_OFF,
            f"over {off} {'ahead' if audit.clock_off_ms > 0 else 'behind'}",
            "within 1 min",
            "Let the host set its clock (NTP)",
        )


def _deviation(kind: DeviationKind, is_: str, expected: str, cure: str) -> Deviation:
    return Deviation(
        kind=kind, is_=is_, expected=expected, cure=cure[:300], critical=kind in CRITICAL
    )
