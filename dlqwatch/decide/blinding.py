"""The blind rule (S7): queues that can't be seen, all in one alert.

Blindness never touches a depth alert. A queue that a fully read list doesn't have isn't unseen:
that is wiring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.incidents import Judgement, judge, raise_severity, show
from dlqwatch.decide.quieting import notice_ack, shown
from dlqwatch.decide.recording import PERSON
from dlqwatch.decide.telling import forget, tell
from dlqwatch.decide.world import Draft, asked_to_wait, open_incident
from dlqwatch.facts import BlindFacts, IncidentKind, SeenQueue, UnseenQueue
from dlqwatch.model import HOUR, Condition, Rule, SampleKind, SampleReason, Severity
from dlqwatch.rows import Alert, Meta, Queue, Span

SUBJECT = "dlqwatch"
LONG_MS = 6 * HOUR
REFUSALS = 2  # in a row: a flap of Cloudflare's own authorization is mostly shorter

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


@dataclass(frozen=True, slots=True)
class Sight:
    """A queue and its newest reading, if it was ever read."""

    queue: Queue
    span: Span | None

    @property
    def refused(self) -> bool:
        """So often in a row that only a person can help."""
        span = self.span
        return span is not None and span.reason in PERSON and span.polls >= REFUSALS


def looked(draft: Draft) -> None:
    """Judge every queue's readings together, at each tick."""
    sights = _sights(draft)
    unseen = _unseen(draft, sights)
    refused = {s.queue.name for s in sights if s.refused}
    condition = _condition(draft, sights, unseen, refused)
    facts = _facts(draft, unseen, refused)
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
        update=lambda open_: _update(open_.facts, facts, condition, sights),
    )
    if incident is None:
        return
    if incident.resolved_at is None:
        if condition is Condition.UNKNOWN and unseen:  # others may be seen again
            facts_now = _update(incident.facts, facts, condition, sights)
            incident = show(draft, incident, facts_now)
        judged = facts.severity if unseen else incident.severity
        if draft.now - incident.opened_at >= LONG_MS:
            judged = Severity.CRITICAL
        told_of = {queue_of(topic) for topic in incident.facts.topics}
        incident = forget(draft, incident, lambda topic: queue_of(topic) not in told_of)
        incident = notice_ack(draft, raise_severity(incident, judged))
        incident = show(draft, incident, shown(draft, incident, incident.facts, draft.now))
    tell(draft, incident, incident.facts, draft.plan.alerts)


def _sights(draft: Draft) -> list[Sight]:
    newest: dict[int, Span] = {}
    for span in draft.all(Span):
        if span.queue not in newest or span.id > newest[span.queue].id:
            newest[span.queue] = span
    watched = (q for q in draft.all(Queue) if q.name in draft.plan.queues)
    return [Sight(queue, newest.get(queue.id)) for queue in watched]


def _unseen(draft: Draft, sights: list[Sight]) -> tuple[UnseenQueue, ...]:
    """Queues whose last reading failed, or that can't be read now.

    A reading before this start counts until one fails.
    """
    block = _block(draft, sights)
    since = _started_at(draft)
    found = []
    for sight in sights:
        queue, span = sight.queue, sight.span
        seen_at, depth = (span.last_at, span.depth) if span is not None else (None, None)
        reason, detail = SampleReason.RATE_LIMITED, block
        if span is not None and span.kind is SampleKind.FAILED and span.reason is not None:
            if span.reason is SampleReason.QUEUE_NOT_LISTED:
                continue  # that is seen
            reason, detail = span.reason, span.detail
            seen_at, depth = queue.good_at, queue.good_depth
        elif block is None:
            continue
        found.append(
            UnseenQueue(
                name=queue.name,
                reason=reason,
                detail=detail or "",
                since=min(since if seen_at is None else seen_at, draft.now),
                last_depth=depth,
            )
        )
    return tuple(found)


def _block(draft: Draft, sights: list[Sight]) -> str | None:
    """Cloudflare's own words, if it asks to wait now. A block is the account's: it holds for
    queues that never met it themselves."""
    if not asked_to_wait(draft, draft.now):
        return None
    spans = (s.span for s in sights if s.span is not None)
    return next((s.detail for s in spans if s.reason is SampleReason.RATE_LIMITED), "")


def _condition(
    draft: Draft, sights: list[Sight], unseen: tuple[UnseenQueue, ...], refused: set[str]
) -> Condition:
    for found in unseen:
        rules = draft.plan.queues[found.name]
        since = max(found.since, _started_at(draft))
        long = draft.now - since >= rules.blind_after_ms - rules.poll_ms // 2
        if long or found.name in refused:
            return Condition.YES
    if unseen or any(sight.span is None for sight in sights) or _unread(draft, sights):
        return Condition.UNKNOWN
    return Condition.NO


def _unread(draft: Draft, sights: list[Sight]) -> bool:
    """Is one that is told as unseen not read anew yet? A block that is over is no reading."""
    incident = open_incident(draft, draft.get(Alert, Rule.BLIND, SUBJECT))
    told = incident.facts.unseen if incident and isinstance(incident.facts, BlindFacts) else ()
    since = {u.name: u.since for u in told}
    return any(s.span and s.span.last_at <= since.get(s.queue.name, -1) for s in sights)


def _facts(draft: Draft, unseen: tuple[UnseenQueue, ...], refused: set[str]) -> BlindFacts:
    return BlindFacts(
        at=draft.now,
        opened_at=min((found.since for found in unseen), default=draft.now),
        severity=Severity.CRITICAL if refused else Severity.WARNING,
        runbook_url=draft.plan.alerts.runbook_url,
        unseen=unseen,
        needs_person=bool(refused),
        topics=tuple(f"{u.name} {_CURES.get(u.reason, 'cloudflare')}" for u in unseen),
    )


def queue_of(topic: str) -> str:
    """The queue that a topic of this rule is about: what precedes its cure, which is one word."""
    return topic.rpartition(" ")[0]


def _update(
    old: IncidentKind, new: BlindFacts, condition: Condition, sights: list[Sight]
) -> IncidentKind:
    """Another ray id is no news; the last words tell what was found."""
    if not isinstance(old, BlindFacts):
        return old
    if condition is Condition.NO:
        return replace(old, at=new.at, topics=(), found=_found(old, (), {}, sights))
    known = {(u.name, u.reason): u for u in old.unseen}
    unseen = tuple(known.get((u.name, u.reason), u) for u in new.unseen)
    return replace(
        old,
        unseen=unseen,
        needs_person=new.needs_person,
        topics=new.topics,
        found=_found(old, unseen, {f.name: f for f in old.found}, sights),
    )


def _found(
    facts: BlindFacts,
    unseen: tuple[UnseenQueue, ...],
    known: Mapping[str, SeenQueue],
    sights: list[Sight],
) -> tuple[SeenQueue, ...]:
    """The queues that are seen again, and what they hold: `known`, if that was noted already."""
    before = {f.name: f.before for f in facts.found}
    before |= {u.name: u.last_depth for u in facts.unseen}
    still = {u.name for u in unseen}
    found = []
    for sight in sights:
        name, span = sight.queue.name, sight.span
        if name in before and name not in still and span is not None and span.depth is not None:
            seen = SeenQueue(name=name, depth=span.depth, before=before[name])
            found.append(known.get(name, seen))
    return tuple(found)


def _started_at(draft: Draft) -> int:
    meta = draft.get(Meta, "started_at")
    return min(int(meta.value), draft.now) if meta is not None else draft.now
