"""The second destination: when it is used, and what the first hears when it works again."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.ending import is_last
from dlqwatch.decide.quieting import active_silence
from dlqwatch.decide.telling import make_notice
from dlqwatch.decide.world import Draft, pending_notices
from dlqwatch.model import (
    MINUTE,
    DestinationState,
    NoticeStatus,
    Reason,
    Severity,
)
from dlqwatch.rows import Delivery, DestinationRow, Incident, Notice

OVERDUE_MS = 5 * MINUTE

# What may not wait for a first destination that fails for whatever reason.
URGENT = frozenset({Reason.FIRST, Reason.FIRST_AND_RESOLVED, Reason.RESOLVED, Reason.LOST})


def route(draft: Draft) -> None:
    """Plan the way through the second destination, and what the first missed meanwhile."""
    if not draft.plan.destinations:
        return
    first = draft.plan.destinations[0].name
    row = draft.get(DestinationRow, first)
    if row is None:
        return
    if row.state is DestinationState.OK:
        _reconnected(draft, first)
    if len(draft.plan.destinations) > 1:
        second = draft.plan.destinations[1].name
        broken = row.state is DestinationState.NEEDS_PERSON
        for notice in list(draft.all(Notice)):
            if _may_go(draft, notice, first, second):
                _plan_way(draft, notice, second, broken=broken)


def _may_go(draft: Draft, notice: Notice, first: str, second: str) -> bool:
    if notice.status is not NoticeStatus.PENDING or notice.reason is Reason.RECONNECTED:
        return False
    if draft.get(Delivery, notice.id, first) is None:
        return False  # the second's own
    return not (is_last(notice) and _has_own_end(draft, notice, first, second))


def _has_own_end(draft: Draft, notice: Notice, first: str, second: str) -> bool:
    """Is the second destination told the end by a notice of its own?"""
    incident = draft.get(Incident, notice.incident) if notice.incident else None
    if incident is None:
        return False
    return second in incident.told_by or any(
        is_last(n)
        and draft.get(Delivery, n.id, second) is not None
        and draft.get(Delivery, n.id, first) is None
        for n in pending_notices(draft, incident.id)
    )


def _plan_way(draft: Draft, notice: Notice, second: str, *, broken: bool) -> None:
    """At once where the first is broken; else what is urgent, when it has waited too long."""
    urgent = notice.reason in URGENT or notice.severity is Severity.CRITICAL
    if not (broken or urgent):
        return
    due = draft.now if broken else notice.created_at + OVERDUE_MS
    planned = draft.get(Delivery, notice.id, second)
    if planned is None:
        draft.put(Delivery(notice.id, second, next_at=due))
    elif planned.attempts == 0 and due < planned.next_at:
        draft.put(replace(planned, next_at=due))


def _reconnected(draft: Draft, first: str) -> None:
    """It works: one message for each incident still open of which only others heard."""
    for incident in list(draft.all(Incident)):
        if incident.resolved_at is not None or not incident.told_by or first in incident.told_by:
            continue
        if any(draft.get(Delivery, n.id, first) for n in pending_notices(draft, incident.id)):
            continue
        if active_silence(draft, incident.rule, incident.subject, draft.now) is None:
            make_notice(
                draft, Reason.RECONNECTED, incident.facts, incident.severity, incident.id, first
            )
