"""Makes, refreshes and supersedes the notices of an incident."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.notifying import Situation, mentions, passes_silence, stronger, why_tell
from dlqwatch.decide.quieting import ENDS_ACK, active_silence
from dlqwatch.decide.world import Draft, pending_notices, perhaps_posted
from dlqwatch.facts import DepthFacts, Facts, IncidentKind, PublishFacts, StartedFacts
from dlqwatch.model import NoticeStatus, QueueRules, Reason, Severity
from dlqwatch.rows import Alert, Delivery, Incident, Meta, Notice


def tell(draft: Draft, incident: Incident, facts: IncidentKind, rules: QueueRules) -> None:
    """Decide whether people must notice something of this incident now, and note it down."""
    pending = pending_notices(draft, incident.id)
    unsettled = [n for n in pending if perhaps_posted(draft, n)]
    waiting = [n for n in pending if n not in unsettled]
    situation = Situation(
        incident,
        facts,
        rules,
        draft.now,
        waiting=_incident_facts(waiting[-1]) if waiting else None,
        unsettled=bool(unsettled),
        silenced=active_silence(draft, incident.rule, incident.subject, draft.now) is not None,
    )
    reason = why_tell(situation)
    if reason is None:
        _keep_count(draft, situation, waiting)
        return
    facts = replace(facts, held=_held(draft, incident))
    if situation.silenced and not passes_silence(reason, situation):
        _hold_back(draft, incident, waiting, reason, facts)
        return
    if incident.resolved_at is None and waiting:
        _refresh(draft, waiting[-1], reason, facts)
    else:
        _supersede(draft, waiting)  # the last word tells these too
        for destination in _where(draft, incident, reason):
            mention = mentions(reason, facts)
            make_notice(draft, reason, facts, facts.severity, incident.id, destination, mention)
    _forget_held(draft, incident)
    draft.put(
        replace(
            incident,
            low=_amount(facts),
            noted_topics=tuple(sorted({*incident.noted_topics, *facts.topics})),
            held=False,
            acked_depth=None if reason in ENDS_ACK else incident.acked_depth,
        )
    )


def make_notice(
    draft: Draft,
    reason: Reason,
    facts: Facts,
    severity: Severity,
    incident: int | None,
    destination: str,
    mention: bool = False,
) -> Notice:
    """A new notice, due at once at a destination."""
    number = draft.next_id(Notice)
    database = draft.get(Meta, "id")
    key = f"{number}-{database.value if database else ''}"
    draft.put(Delivery(number, destination, next_at=draft.now))
    return draft.put(
        Notice(number, key, incident, reason, severity, facts, draft.now, mention=mention)
    )


def first_destination(draft: Draft) -> str:
    return draft.plan.destinations[0].name


def _where(draft: Draft, incident: Incident, reason: Reason) -> tuple[str, ...]:
    """A last word goes wherever a word of the incident was confirmed; all else to the first."""
    names = [d.name for d in draft.plan.destinations]
    told_by = tuple(name for name in incident.told_by if name in names)
    if reason is Reason.RESOLVED and told_by:
        return told_by
    return (first_destination(draft),)


def _refresh(draft: Draft, notice: Notice, reason: Reason, facts: IncidentKind) -> None:
    strongest = stronger(notice.reason, reason)
    draft.put(
        replace(
            notice,
            reason=strongest,
            facts=facts,
            severity=facts.severity,
            mention=notice.mention or mentions(reason, facts) or mentions(strongest, facts),
        )
    )


def _supersede(draft: Draft, notices: list[Notice]) -> None:
    for notice in notices:
        draft.put(replace(notice, status=NoticeStatus.SUPERSEDED))


def _hold_back(
    draft: Draft, incident: Incident, waiting: list[Notice], reason: Reason, facts: IncidentKind
) -> None:
    """A silence suppresses and records: one row in the history, told when the silence ends."""
    for notice in waiting:  # made before the silence began, not posted yet
        draft.put(replace(notice, status=NoticeStatus.SILENCED))
    if not waiting:
        notice = make_notice(
            draft, reason, facts, facts.severity, incident.id, first_destination(draft)
        )
        draft.put(replace(notice, status=NoticeStatus.SILENCED))
    draft.put(replace(incident, held=True))


def _amount(facts: IncidentKind) -> int | None:
    """The number that must rise to be news."""
    match facts:
        case DepthFacts():
            return facts.depth
        case PublishFacts():
            return facts.total
    return None


def _keep_count(draft: Draft, situation: Situation, waiting: list[Notice]) -> None:
    """An incident that opened and closed unsaid in a silence is counted for the next word."""
    incident = situation.incident
    if not (situation.over and incident.held):
        return
    for notice in waiting:
        draft.put(replace(notice, status=NoticeStatus.SILENCED))
    alert = draft.get(Alert, incident.rule, incident.subject)
    if alert is not None:
        draft.put(replace(alert, hushed=alert.hushed + 1))


def _held(draft: Draft, incident: Incident) -> int:
    alert = draft.get(Alert, incident.rule, incident.subject)
    return alert.hushed if alert is not None else 0


def _forget_held(draft: Draft, incident: Incident) -> None:
    alert = draft.get(Alert, incident.rule, incident.subject)
    if alert is not None and alert.hushed:
        draft.put(replace(alert, hushed=0))


def _incident_facts(notice: Notice) -> IncidentKind | None:
    return None if isinstance(notice.facts, StartedFacts) else notice.facts
