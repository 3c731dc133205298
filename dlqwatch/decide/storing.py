"""The store rule (S11): history isn't being written. Notices go out all the same."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.incidents import Judgement, judge, raise_severity, show
from dlqwatch.decide.inputs import StoreLooked
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft
from dlqwatch.facts import IncidentKind, StoreFacts
from dlqwatch.model import SECOND, Condition, Rule, Severity, StoreTrouble

SUBJECT = "dlqwatch"
PATIENCE_MS = 30 * SECOND  # a lock or a hiccup passes
PROVEN_MS = 60 * SECOND
AT_ONCE = frozenset(
    {
        StoreTrouble.FULL,
        StoreTrouble.READ_ONLY,
        StoreTrouble.DELETED,
        StoreTrouble.CORRUPT,
    }
)
FOR_A_PERSON = AT_ONCE | {StoreTrouble.IO}  # nothing of these passes by itself


def looked(draft: Draft, event: StoreLooked) -> None:
    """Judge the journal by its last commits."""
    if event.renewed_at is not None and not _fresh(event, draft.now):  # told, and over
        known = event.trouble if event.failing_since is not None else None
        event = replace(event, renewed_at=None, kept_aside="", trouble=known)
    rules = draft.plan.alerts
    facts = _facts(event, draft.now)
    incident = judge(
        draft,
        Judgement(
            Rule.STORE,
            SUBJECT,
            _condition(event, draft.now),
            Timing(hold_ms=0, keep_ms=0),
            because=event.detail or "commits succeed",
        ),
        first=facts,
        update=lambda open_: _update(open_.facts, facts, event),
    )
    if incident is not None:
        if incident.resolved_at is None:
            incident = raise_severity(incident, facts.severity)
            incident = show(draft, incident, incident.facts)
        tell(draft, incident, incident.facts, rules)


def _facts(event: StoreLooked, now: int) -> StoreFacts:
    trouble = event.trouble or StoreTrouble.OTHER
    return StoreFacts(
        at=now,
        opened_at=event.failing_since or now,
        severity=Severity.CRITICAL if trouble in FOR_A_PERSON else Severity.WARNING,
        path=event.path,
        trouble=trouble,
        detail=event.detail,
        waiting=event.waiting,
        kept_aside=event.kept_aside,
        topics=(trouble.value,),
    )


def _update(old: IncidentKind, new: StoreFacts, event: StoreLooked) -> IncidentKind:
    """Only another trouble is news: how many rows wait changes at each tick."""
    if not isinstance(old, StoreFacts):
        return new
    kept_aside = new.kept_aside or old.kept_aside  # a later trouble doesn't bring that file back
    if event.trouble is None or (old.trouble, old.kept_aside) == (new.trouble, kept_aside):
        return old
    return replace(new, opened_at=old.opened_at, kept_aside=kept_aside)


def _fresh(event: StoreLooked, now: int) -> bool:
    """Was a new file begun just now?"""
    return event.renewed_at is not None and 0 <= now - event.renewed_at < PROVEN_MS


def _condition(event: StoreLooked, now: int) -> Condition:
    if event.failing_since is not None:
        at_once = event.trouble in AT_ONCE or now - event.failing_since >= PATIENCE_MS
        return Condition.YES if at_once else Condition.UNKNOWN
    if _fresh(event, now):
        return Condition.YES
    proven = event.ok_since is not None and now - event.ok_since >= PROVEN_MS
    return Condition.NO if proven else Condition.UNKNOWN
