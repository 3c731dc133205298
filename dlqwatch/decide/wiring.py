"""The wiring rule (S6, S13): is what must be true for dead letters to be seen, true?

An audit reads how things are; `deviations` compares that with how they should be. A part that
could not be read says nothing: neither that all is well nor that it isn't.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.incidents import Judgement, judge, raise_severity, show
from dlqwatch.decide.quieting import notice_ack, shown
from dlqwatch.decide.reading import Audit, QueueSettings
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft, open_incident
from dlqwatch.durations import show_duration
from dlqwatch.facts import Deviation, IncidentKind, WiringFacts
from dlqwatch.model import DAY, SECOND, Condition, DeviationKind, QueueRules, Rule, Severity
from dlqwatch.rows import Alert, Queue

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
AT_ONCE = frozenset({DeviationKind.QUEUE_MISSING})


def deviations(audit: Audit, queue: Queue, rules: QueueRules, now: int) -> tuple[Deviation, ...]:
    """Everything that is otherwise than it should be."""
    found = [*_of_source(audit, rules, now), *_of_queue(audit, queue, rules), *_of_us(audit, now)]
    return tuple(found)


def audited(draft: Draft, queue: Queue, rules: QueueRules, audit: Audit) -> None:
    """Judge an audit. A deviation counts when two audits in a row have it."""
    found = deviations(audit, queue, rules, draft.now)
    kinds = tuple(d.kind for d in found)
    confirmed = tuple(d for d in found if d.kind in queue.deviations or d.kind in AT_ONCE)
    draft.put(replace(queue, deviations=kinds))
    if confirmed:
        condition = Condition.YES
    else:
        condition = Condition.NO if audit.complete and not found else Condition.UNKNOWN
    _judge(draft, rules, condition, confirmed)


def missing(draft: Draft, queue: Queue, rules: QueueRules, nearest: tuple[str, ...]) -> None:
    """A fully read list doesn't have the queue: told at once."""
    like = f"none; like it: {', '.join(nearest)}" if nearest else "no such queue"
    found = _deviation(
        DeviationKind.QUEUE_MISSING,
        like,
        rules.name,
        f"npx wrangler queues create {rules.name}",
    )
    draft.put(replace(queue, deviations=(found.kind,)))
    _judge(draft, rules, Condition.YES, (found,))


def time_passed(draft: Draft, rules: QueueRules) -> None:
    """Reminders fall due by time."""
    if open_incident(draft, draft.get(Alert, Rule.WIRING, rules.name)) is not None:
        _judge(draft, rules, Condition.UNKNOWN, ())


def _judge(
    draft: Draft, rules: QueueRules, condition: Condition, found: tuple[Deviation, ...]
) -> None:
    critical = any(d.critical for d in found)
    facts = WiringFacts(
        at=draft.now,
        opened_at=draft.now,
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        runbook_url=rules.runbook_url,
        source=rules.source,
        deviations=found,
        topics=tuple(d.kind.value for d in found),
    )
    incident = judge(
        draft,
        Judgement(
            Rule.WIRING,
            rules.name,
            condition,
            Timing(hold_ms=0, keep_ms=0),
            because=", ".join(d.kind for d in found) or "as it should be",
        ),
        first=facts,
        update=lambda open_: _update(open_.facts, facts),
    )
    if incident is None:
        incident = open_incident(draft, draft.get(Alert, Rule.WIRING, rules.name))
    if incident is None:
        return
    if incident.resolved_at is None:
        judged = facts.severity if found else incident.severity
        incident = notice_ack(draft, raise_severity(incident, judged))
        incident = show(draft, incident, shown(draft, incident, incident.facts, draft.now))
    tell(draft, incident, incident.facts, rules)


def _update(old: IncidentKind, new: WiringFacts) -> IncidentKind:
    """The last words still name what was wrong."""
    if not isinstance(old, WiringFacts) or not new.deviations:
        return old
    # an age that grows at each audit is no news
    same = {d.kind: d for d in old.deviations}
    kept = tuple(
        same.get(d.kind, d) if d.kind is DeviationKind.SOURCE_OLD else d for d in new.deviations
    )
    return replace(old, at=new.at, deviations=kept, topics=new.topics, source=new.source)


def _of_source(audit: Audit, rules: QueueRules, now: int) -> Iterator[Deviation]:
    source, name = audit.source, rules.source
    if audit.source_missing:
        like = f"none; like it: {', '.join(audit.source_nearest)}" if audit.source_nearest else ""
        yield _deviation(
            DeviationKind.NO_SOURCE,
            like or "no such queue",
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
            yield _deviation(
                DeviationKind.SOURCE_OLD,
                f"{show_duration(age - age % 60_000)} old",
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
        script = consumer.script or "the Worker"
        add = f"npx wrangler queues consumer add {rules.source} {consumer.script or 'SCRIPT'}"
        line = f"{add} --dead-letter-queue {rules.name} --message-retries {rules.max_retries}"
        if consumer.dead_letter_queue == "":
            yield _deviation(DeviationKind.NO_DEAD_LETTER_QUEUE, "none", rules.name, line)
        elif consumer.dead_letter_queue not in (None, rules.name):
            yield _deviation(
                DeviationKind.OTHER_DEAD_LETTER_QUEUE,
                consumer.dead_letter_queue or "",
                rules.name,
                f'Set dead_letter_queue = "{rules.name}" for {script} in wrangler.jsonc and deploy',
            )
        if consumer.max_retries is not None and consumer.max_retries != rules.max_retries:
            yield _deviation(
                DeviationKind.MAX_RETRIES,
                str(consumer.max_retries),
                str(rules.max_retries),
                f"Set max_retries of {script} in wrangler.jsonc and deploy, or max_retries here",
            )


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
        left = max(0, audit.token_ends_at - now)
        yield _deviation(
            DeviationKind.TOKEN_ENDS,
            f"in {left // DAY} d" if left else "it has ended",
            f"at least {TOKEN_DAYS} d left",
            "Make a new token with Queues Read and put it into cloudflare.api_token (or its file)",
        )
    if audit.clock_off_ms is not None and abs(audit.clock_off_ms) >= CLOCK_MS:
        off = abs(audit.clock_off_ms)
        yield _deviation(
            DeviationKind.CLOCK_OFF,
            f"{show_duration(off - off % 1000)} {'ahead' if audit.clock_off_ms > 0 else 'behind'}",
            "within 1 min",
            "Let the host set its clock (NTP)",
        )


def _deviation(kind: DeviationKind, is_: str, expected: str, cure: str) -> Deviation:
    return Deviation(
        kind=kind, is_=is_, expected=expected, cure=cure[:300], critical=kind in CRITICAL
    )
