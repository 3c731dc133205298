"""Makes, refreshes and supersedes the notices of an incident."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dlqwatch.decide.notifying import (
    PASS_SILENCE,
    Situation,
    became_critical_unsaid,
    lost_of,
    mentions,
    passes_silence,
    stronger,
    why_tell,
)
from dlqwatch.decide.quieting import ENDS_ACK, active_silence, silenced_since
from dlqwatch.decide.world import UNSURE_AT, Draft, pending_notices, perhaps_posted
from dlqwatch.facts import DepthFacts, Facts, IncidentKind, PublishFacts, StartedFacts
from dlqwatch.model import SECOND, NoticeStatus, QueueRules, Reason, Severity
from dlqwatch.rows import Alert, Delivery, Incident, Meta, Notice

UNSURE_MS = 60 * SECOND  # the first readings of a start


def tell(draft: Draft, incident: Incident, facts: IncidentKind, rules: QueueRules) -> None:
    """Decide whether people must notice something of this incident now, and note it down."""
    pending = pending_notices(draft, incident.id)
    # what only catches the first destination up must not keep news from the second
    catching_up = [n for n in pending if n.reason is Reason.RECONNECTED]
    unsettled = [n for n in pending if n not in catching_up and perhaps_posted(draft, n)]
    waiting = [n for n in pending if n not in (*catching_up, *unsettled)]
    silenced = active_silence(draft, incident.rule, incident.subject, draft.now) is not None
    if silenced:
        hushed = [n for n in waiting if not _goes_on(n, rules)]
        waiting = [n for n in waiting if n not in hushed]
        if hushed:  # made before the silence began
            _set(draft, hushed, NoticeStatus.SILENCED)
            incident = draft.put(replace(incident, held=True))
    unposted = [n for n in catching_up if not perhaps_posted(draft, n)]
    for notice in unposted:
        status = NoticeStatus.SILENCED if silenced else notice.status
        same = notice.facts if _same_card(notice, facts) else facts
        draft.put(replace(notice, status=status, facts=same, severity=facts.severity))
    situation = Situation(
        incident,
        facts,
        rules,
        draft.now,
        waiting=_incident_facts(waiting[-1]) if waiting else None,
        unsettled=bool(unsettled),
        posted_lost=max((lost_of(n.facts) for n in unsettled), default=0),
        silenced=silenced,
        silenced_since=silenced_since(draft, incident.rule, incident.subject, draft.now),
    )
    reason = why_tell(situation)
    if reason is None:
        _keep_count(draft, situation, waiting)
        return
    unsure = _perhaps_heard(incident, reason, facts)
    unsure = unsure or (not situation.told and _unsure(draft, incident))
    facts = replace(facts, held=_held(draft, incident), perhaps_told=unsure)
    if situation.silenced and not passes_silence(reason, situation):
        _hold_back(draft, incident, reason, facts)
        return
    if incident.resolved_at is None and waiting:
        _refresh(draft, waiting[-1], reason, facts)
    else:
        # the new word tells these too
        _set(draft, [*waiting, *unposted], NoticeStatus.SUPERSEDED)
        mention = mentions(reason, facts)
        if reason is Reason.SILENCE_ENDED:
            mention = became_critical_unsaid(incident)
        for destination in _where(draft, incident, reason):
            make_notice(draft, reason, facts, facts.severity, incident.id, destination, mention)
    if not situation.silenced:
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


def forget(draft: Draft, incident: Incident, gone: Callable[[str], bool]) -> Incident:
    """Topics that are over: what comes back is news again."""
    noted = tuple(t for t in incident.noted_topics if not gone(t))
    told = tuple(t for t in incident.told_topics if not gone(t))
    if (noted, told) == (incident.noted_topics, incident.told_topics):
        return incident
    return draft.put(replace(incident, noted_topics=noted, told_topics=told))


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
    last = reason is Reason.RESOLVED or incident.resolved_at is not None
    if last and told_by:
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


def _set(draft: Draft, notices: list[Notice], status: NoticeStatus) -> None:
    for notice in notices:
        draft.put(replace(notice, status=status))


def _goes_on(notice: Notice, rules: QueueRules) -> bool:
    """Is this notice, made already, sent although a silence holds now?"""
    facts = _incident_facts(notice)
    last = min(rules.expiry_warnings_ms, default=None)
    marked = notice.reason is Reason.EXPIRY_NEAR and facts is not None and facts.mark_ms == last
    return marked or notice.reason in PASS_SILENCE


def _same_card(notice: Notice, facts: IncidentKind) -> bool:
    mine = _incident_facts(notice)
    return mine is not None and mine.rev == facts.rev


def _hold_back(draft: Draft, incident: Incident, reason: Reason, facts: IncidentKind) -> None:
    """A silence suppresses and records: one row in the history, told when the silence ends."""
    where = first_destination(draft)
    notice = make_notice(draft, reason, facts, facts.severity, incident.id, where)
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
    if not situation.over:
        return
    _set(draft, waiting, NoticeStatus.SILENCED)
    alert = draft.get(Alert, incident.rule, incident.subject)
    if alert is not None:
        draft.put(replace(alert, hushed=alert.hushed + 1))


def _unsure(draft: Draft, incident: Incident) -> bool:
    """Did it open right after a start that doesn't know what had been told before?"""
    start = draft.get(Meta, UNSURE_AT)
    return start is not None and 0 <= incident.opened_at - int(start.value) <= UNSURE_MS


def _perhaps_heard(incident: Incident, reason: Reason, facts: IncidentKind) -> bool:
    """Was this growth put in a notice before, whose answer was lost?"""
    risen, low = _amount(facts), incident.low
    if reason is not Reason.GROWN or (risen is not None and low is not None and risen > low):
        return False
    return set(facts.topics) <= set(incident.noted_topics)


def _held(draft: Draft, incident: Incident) -> int:
    alert = draft.get(Alert, incident.rule, incident.subject)
    return alert.hushed if alert is not None else 0


def _forget_held(draft: Draft, incident: Incident) -> None:
    alert = draft.get(Alert, incident.rule, incident.subject)
    if alert is not None and alert.hushed:
        draft.put(replace(alert, hushed=0))


def _incident_facts(notice: Notice) -> IncidentKind | None:
    return None if isinstance(notice.facts, StartedFacts) else notice.facts
