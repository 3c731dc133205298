"""The second destination: when it is used, and what the first hears when it works again."""

from __future__ import annotations

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
    """Send through the second destination what the first can't deliver."""
    if len(draft.plan.destinations) < 2:
        return
    first, second = (d.name for d in draft.plan.destinations[:2])
    row = draft.get(DestinationRow, first)
    broken = row is not None and row.state is DestinationState.NEEDS_PERSON
    for notice in list(draft.all(Notice)):
        if notice.status is not NoticeStatus.PENDING or notice.reason is Reason.RECONNECTED:
            continue
        if draft.get(Delivery, notice.id, second) is not None:
            continue
        urgent = notice.reason in URGENT or notice.severity is Severity.CRITICAL
        overdue = urgent and draft.now - notice.created_at >= OVERDUE_MS
        if broken or overdue:
            draft.put(Delivery(notice.id, second, next_at=draft.now))


def reconnected(draft: Draft, name: str) -> None:
    """It works again: one message for each incident still open that it never heard of."""
    for incident in list(draft.all(Incident)):
        if incident.resolved_at is not None or not incident.told_by or name in incident.told_by:
            continue
        if pending_notices(draft, incident.id):
            continue
        if active_silence(draft, incident.rule, incident.subject, draft.now) is not None:
            continue
        make_notice(
            draft,
            Reason.RECONNECTED,
            incident.facts,
            incident.severity,
            incident.id,
            name,
        )
