"""A start: the journal's memory meets today's configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dlqwatch.decide import depth, publishing, unclean
from dlqwatch.decide.delivering import lost
from dlqwatch.decide.inputs import Started
from dlqwatch.decide.quieting import active_silence
from dlqwatch.decide.sending import PROBE_MS
from dlqwatch.decide.telling import first_destination, make_notice
from dlqwatch.decide.world import RETRY_AT, UNSURE_AT, Draft, Plan, pending_notices, perhaps_posted
from dlqwatch.facts import StartedFacts
from dlqwatch.model import (
    HOUR,
    SECOND,
    DestinationKind,
    DestinationState,
    NoticeStatus,
    Reason,
    Rule,
    Severity,
    State,
)
from dlqwatch.rows import (
    Alert,
    Card,
    Delivery,
    DestinationRow,
    Incident,
    Meta,
    Notice,
    Queue,
)

YIELD_MS = 2 * SECOND  # how long the message about a start waits for the first polls


def started(draft: Draft, event: Started) -> None:
    """Reconcile queues, destinations and what was on its way; say once what is watched now."""
    if draft.get(Meta, "id") is None:
        draft.put(Meta("id", event.database_id))
        draft.put(Meta("born_at", str(draft.now)))
    _clamp(draft)
    draft.put(Meta("started_at", str(draft.now)))
    _queues(draft)
    publishing.started(draft)
    _destinations(draft)
    under_way(draft, list(draft.all(Delivery)))
    _note_unsure(draft, event.journal_behind)
    if event.journal_behind:
        _tell_again(draft)
    _say_started(draft, event)


def _clamp(draft: Draft) -> None:
    """The clock may have been wrong when these were planned."""
    retry_at = draft.get(Meta, RETRY_AT)
    if retry_at is not None:
        draft.put(replace(retry_at, value=str(_due(int(retry_at.value), draft.now))))
    for card in list(draft.all(Card)):
        draft.put(replace(card, next_at=_due(card.next_at, draft.now)))
    for notice in list(draft.all(Notice)):
        draft.put(replace(notice, created_at=min(notice.created_at, draft.now)))


def _due(at: int, now: int) -> int:
    """A due time; now, if it lies further away than any is planned: the clock went back."""
    return at if at <= now + HOUR else now


def _queues(draft: Draft) -> None:
    known = {q.name: q for q in draft.all(Queue)}
    for rules in draft.plan.queues.values():
        if rules.name not in known:
            draft.put(Queue(draft.next_id(Queue), rules.name, draft.now))
        if draft.get(Alert, Rule.DEPTH, rules.name) is None:
            draft.put(Alert(Rule.DEPTH, rules.name, State.UNKNOWN, draft.now))
    for alert in list(draft.all(Alert)):
        of_queue = alert.rule in (Rule.DEPTH, Rule.WIRING)
        if of_queue and alert.subject not in draft.plan.queues:
            depth.unwatch(draft, alert)


def _destinations(draft: Draft) -> None:
    for destination in draft.plan.destinations:
        row = draft.get(DestinationRow, destination.name)
        if row is None or row.fingerprint != destination.fingerprint:
            draft.put(
                DestinationRow(
                    destination.name,
                    destination.fingerprint,
                    DestinationState.OK,
                    draft.now,
                    probe_at=draft.now + PROBE_MS,
                )
            )
            if row is not None:  # another channel: what was there can't be edited or looked up
                _moved(draft, destination.name)
        else:  # a person may have put it right: try at once
            broken = row.state is not DestinationState.OK
            draft.put(
                replace(
                    row,
                    free_at=_due(row.free_at, draft.now),
                    failures=0,
                    probe_at=draft.now if broken else min(row.probe_at, draft.now + PROBE_MS),
                )
            )
    names = {d.name for d in draft.plan.destinations}
    for row in list(draft.all(DestinationRow)):
        if row.name not in names:
            draft.delete(row)


def _moved(draft: Draft, name: str) -> None:
    for card in list(draft.all(Card)):
        if card.destination == name:
            draft.put(replace(card, gone=True))
    for delivery in list(draft.all(Delivery)):
        if delivery.destination != name:
            continue
        begun = delivery.posting_since is not None
        draft.put(
            replace(
                delivery,
                posting_since=None,
                lost_answers=delivery.lost_answers + begun,
                next_at=draft.now,
                blind=False,
            )
        )


def under_way(draft: Draft, deliveries: Iterable[Delivery]) -> None:
    """What was being posted when the last process ended may be in Slack."""
    names = {d.name for d in draft.plan.destinations}
    for delivery in deliveries:
        notice = draft.get(Notice, delivery.notice)
        if notice is None:
            continue
        if delivery.destination not in names:
            draft.delete(delivery)
            first = draft.plan.destinations[0].name
            if draft.get(Delivery, notice.id, first) is None:
                draft.put(Delivery(notice.id, first, next_at=draft.now))
            continue
        sane = replace(delivery, next_at=_due(delivery.next_at, draft.now))
        if delivery.posting_since is not None:
            sane = replace(sane, posting_since=min(delivery.posting_since, draft.now))
            webhook = draft.plan.destination(delivery.destination).kind is DestinationKind.WEBHOOK
            if webhook or delivery.blind:
                lost(draft, notice, sane)
                continue
        draft.put(sane)


def _note_unsure(draft: Draft, unsure: bool) -> None:
    """What opens right after this start may have been told before it."""
    before = draft.get(Meta, UNSURE_AT)
    if unsure:
        draft.put(Meta(UNSURE_AT, str(draft.now)))
    elif before is not None:
        draft.delete(before)


def _tell_again(draft: Draft) -> None:
    """The journal was behind: what people were told of open incidents is not certain."""
    for incident in list(draft.all(Incident)):
        if incident.resolved_at is not None or pending_notices(draft, incident.id):
            continue
        if active_silence(draft, incident.rule, incident.subject, draft.now) is not None:
            draft.put(replace(incident, held=True))
            continue
        make_notice(
            draft,
            Reason.RESTARTED,
            incident.facts,
            incident.severity,
            incident.id,
            first_destination(draft),
        )


def _say_started(draft: Draft, event: Started) -> None:
    """A new database, a new version, an unclean end: one message for all that is new of these."""
    plan = draft.plan
    before = draft.get(Meta, "version")
    ends = unclean.count(draft, event.last_seen_at)
    changed = before is None or before.value != plan.version
    draft.put(Meta("version", plan.version))
    if before is None:
        _say(draft, Reason.STARTED, started_facts(plan, event.host))
    elif ends and (changed or unclean.may_be_told(draft)):
        facts = started_facts(plan, event.host, before.value if changed else "")
        seen_at = None if event.last_seen_at is None else min(event.last_seen_at, draft.now)
        unclean.is_told(draft)
        _say(draft, Reason.UNCLEAN_END, replace(facts, last_seen_at=seen_at, unclean_ends=ends))
    elif changed:
        _say(draft, Reason.STARTED, started_facts(plan, event.host, before.value))


def _say(draft: Draft, reason: Reason, facts: StartedFacts) -> None:
    for notice in list(draft.all(Notice)):  # one that never got out says less than this one
        same = notice.reason is reason and notice.status is NoticeStatus.PENDING
        if same and not perhaps_posted(draft, notice):
            draft.put(replace(notice, status=NoticeStatus.SUPERSEDED))
    name = first_destination(draft)
    notice = make_notice(draft, reason, facts, Severity.WARNING, None, name)
    # the first polls come first: Slack takes one message a second, and an alert may be among them
    draft.put(Delivery(notice.id, name, next_at=draft.now + YIELD_MS))


def started_facts(plan: Plan, host: str, version_before: str | None = None) -> StartedFacts:
    """What is watched from now on. `version_before`: None for a new database, "" for the same."""
    return StartedFacts(
        version=plan.version,
        queues=tuple(plan.queues),
        poll_ms=min((q.poll_ms for q in plan.queues.values()), default=0),
        host=host,
        database_new=version_before is None,
        version_before=version_before or "",
        not_kept=tuple(q.name for q in plan.queues.values() if not q.keeps_qg009),
        not_acted_on=plan.not_acted_on,
    )
