"""Makes, refreshes and supersedes the notices of an incident."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.notifying import Situation, mentions, stronger, why_tell
from dlqwatch.decide.world import Draft, pending_notices, perhaps_posted
from dlqwatch.facts import DepthFacts, Facts
from dlqwatch.model import NoticeStatus, QueueRules, Reason, Severity
from dlqwatch.rows import Delivery, Incident, Meta, Notice


def tell(draft: Draft, incident: Incident, facts: DepthFacts, rules: QueueRules) -> None:
    """Decide whether people must notice something of this incident now, and note it down."""
    pending = pending_notices(draft, incident.id)
    unsettled = [n for n in pending if perhaps_posted(draft, n)]
    waiting = [n for n in pending if n not in unsettled]
    noted = waiting[-1].facts if waiting else None
    reason = why_tell(
        Situation(
            incident,
            facts,
            rules,
            draft.now,
            waiting=noted if isinstance(noted, DepthFacts) else None,
            unsettled=bool(unsettled),
        )
    )
    if reason is None:
        return
    if incident.resolved_at is None and waiting:
        _refresh(draft, waiting[-1], reason, facts)
    else:
        for notice in waiting:  # the last word tells these too
            draft.put(replace(notice, status=NoticeStatus.SUPERSEDED))
        make_notice(draft, reason, facts, facts.severity, incident.id, mentions(reason, facts))
    draft.put(replace(incident, low=facts.depth))


def _refresh(draft: Draft, notice: Notice, reason: Reason, facts: DepthFacts) -> None:
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


def make_notice(
    draft: Draft,
    reason: Reason,
    facts: Facts,
    severity: Severity,
    incident: int | None,
    mention: bool = False,
) -> Notice:
    """A new notice, due at once at the first destination."""
    number = draft.next_id(Notice)
    database = draft.get(Meta, "id")
    key = f"{number}-{database.value if database else ''}"
    notice = draft.put(
        Notice(number, key, incident, reason, severity, facts, draft.now, mention=mention)
    )
    for destination in draft.plan.destinations[:1]:
        draft.put(Delivery(number, destination.name, next_at=draft.now))
    return notice
