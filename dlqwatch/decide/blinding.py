"""The blind rule (S7): queues that can't be seen, all in one alert.

Blindness never touches a depth alert. A queue that a fully read list doesn't have isn't unseen:
that is wiring.
"""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.incidents import Judgement, judge, raise_severity, show
from dlqwatch.decide.quieting import notice_ack, shown
from dlqwatch.decide.recording import last_span
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft
from dlqwatch.facts import BlindFacts, IncidentKind, SeenQueue, UnseenQueue
from dlqwatch.model import HOUR, Condition, Rule, SampleKind, SampleReason, Severity
from dlqwatch.rows import Meta, Queue

SUBJECT = "dlqwatch"
LONG_MS = 6 * HOUR
REFUSALS = 2  # in a row: a flap of Cloudflare's own authorization is mostly shorter

# Only a person cures these. (HTML in their place is an outage, and has another reason.)
PERSON = frozenset({SampleReason.BAD_TOKEN, SampleReason.BAD_ACCOUNT})
GONE = frozenset({SampleReason.QUEUE_NOT_LISTED, SampleReason.QUEUE_GONE})

# What is done about it: another kind of cure is news, another word for the same isn't.
_CURES = {
    SampleReason.BAD_TOKEN: "access",
    SampleReason.BAD_ACCOUNT: "access",
    SampleReason.RATE_LIMITED: "rate",
    SampleReason.UNREACHABLE: "network",
    SampleReason.TIMEOUT: "network",
    SampleReason.REFUSED: "answer",
    SampleReason.NONSENSE: "answer",
}


def looked(draft: Draft) -> None:
    """Judge every queue's readings together, at each tick."""
    unseen = [found for queue in _queues(draft) if (found := unseen_queue(draft, queue))]
    condition = _condition(draft, unseen)
    facts = _facts(draft, unseen)
    incident = judge(
        draft,
        Judgement(
            Rule.BLIND,
            SUBJECT,
            condition,
            Timing(hold_ms=0, keep_ms=0),
            because=", ".join(f"{u.name}: {u.reason}" for u in unseen)[:200] or "all seen",
        ),
        first=facts,
        update=lambda open_: _update(draft, open_.facts, facts, condition),
    )
    if incident is None:
        return
    if incident.resolved_at is None:
        judged = facts.severity if unseen else incident.severity
        if draft.now - incident.opened_at >= LONG_MS:
            judged = Severity.CRITICAL
        incident = notice_ack(draft, raise_severity(incident, judged))
        incident = show(draft, incident, shown(draft, incident, incident.facts, draft.now))
    tell(draft, incident, incident.facts, draft.plan.alerts)


def unseen_queue(draft: Draft, queue: Queue) -> UnseenQueue | None:
    """A queue whose last reading failed, or that wasn't read since the start; None: it is seen."""
    span = last_span(draft, queue)
    started_at = _started_at(draft)
    if span is not None and span.kind is not SampleKind.FAILED:
        return None  # a reading before this start counts until one fails
    reason = span.reason if span is not None and span.reason is not None else None
    if span is None or reason is None or reason in GONE:
        return None  # not polled yet; or not blindness
    return UnseenQueue(
        name=queue.name,
        reason=reason,
        detail=span.detail,
        since=max(queue.good_at or 0, started_at),
        last_depth=queue.good_depth,
    )


def _condition(draft: Draft, unseen: list[UnseenQueue]) -> Condition:
    for found in unseen:
        rules = draft.plan.queues[found.name]
        if draft.now - found.since >= rules.blind_after_ms - rules.poll_ms // 2:
            return Condition.YES
        span = last_span(draft, next(q for q in draft.all(Queue) if q.name == found.name))
        if found.reason in PERSON and span is not None and span.polls >= REFUSALS:
            return Condition.YES
    return Condition.UNKNOWN if unseen or not _all_read(draft) else Condition.NO


def _all_read(draft: Draft) -> bool:
    return all(last_span(draft, queue) is not None for queue in _queues(draft))


def _facts(draft: Draft, unseen: list[UnseenQueue]) -> BlindFacts:
    person = any(found.reason in PERSON for found in unseen)
    return BlindFacts(
        at=draft.now,
        opened_at=min((found.since for found in unseen), default=draft.now),
        severity=Severity.CRITICAL if person else Severity.WARNING,
        runbook_url=draft.plan.alerts.runbook_url,
        unseen=tuple(unseen),
        needs_person=person,
        topics=tuple(f"{u.name} {_CURES.get(u.reason, 'cloudflare')}" for u in unseen),
    )


def _update(draft: Draft, old: IncidentKind, new: BlindFacts, condition: Condition) -> IncidentKind:
    """Another ray id is no news; the last words tell what was found."""
    if not isinstance(old, BlindFacts):
        return old
    if condition is Condition.NO:
        return replace(old, at=new.at, topics=(), found=_found(draft, old))
    known = {(u.name, u.reason): u for u in old.unseen}
    unseen = tuple(known.get((u.name, u.reason), u) for u in new.unseen)
    return replace(
        old,
        unseen=unseen or old.unseen,
        needs_person=new.needs_person,
        topics=new.topics,
    )


def _found(draft: Draft, facts: BlindFacts) -> tuple[SeenQueue, ...]:
    before = {u.name: u.last_depth for u in facts.unseen}
    found = []
    for queue in _queues(draft):
        span = last_span(draft, queue)
        if queue.name in before and span is not None and span.depth is not None:
            found.append(SeenQueue(name=queue.name, depth=span.depth, before=before[queue.name]))
    return tuple(found)


def _queues(draft: Draft) -> list[Queue]:
    return [q for q in draft.all(Queue) if q.name in draft.plan.queues]


def _started_at(draft: Draft) -> int:
    meta = draft.get(Meta, "started_at")
    return min(int(meta.value), draft.now) if meta is not None else draft.now
