"""The depth rule (QG-009): from one reading of a queue to its alert, incident and notices."""

from __future__ import annotations

from dataclasses import asdict, replace

from dlqwatch.decide import losses, retention
from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.incidents import (
    Judgement,
    abandon,
    judge,
    raise_severity,
    show,
    standing_alert,
)
from dlqwatch.decide.judging import depth_condition, depth_severity, reached_mark
from dlqwatch.decide.notifying import rearmed_mark
from dlqwatch.decide.quieting import notice_ack, shown
from dlqwatch.decide.recording import last_span
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft, open_incident
from dlqwatch.facts import DepthFacts, IncidentKind
from dlqwatch.model import (
    QueueRules,
    Resolution,
    Rule,
    Sample,
    SampleKind,
    Severity,
    State,
)
from dlqwatch.rows import Alert, FallRow, Incident, Queue


def sampled(draft: Draft, queue: Queue, rules: QueueRules, sample: Sample) -> None:
    """A reading moves the alert, then whatever fell due is told."""
    _remember_low(draft, rules, sample)
    _take_in(draft, queue, rules, sample)
    incident = judge(
        draft,
        Judgement(
            Rule.DEPTH,
            rules.name,
            depth_condition(sample, rules),
            Timing(rules.hold_ms, rules.keep_ms, rules.poll_ms // 2),
            because=f"depth {sample.depth}",
            resolution=Resolution.UNKNOWN,
        ),
        first=_facts(queue, rules, sample),
        update=lambda open_: _update(open_.facts, rules, sample),
    )
    if incident is None:
        return
    if incident.ledger.basis is None:
        incident = draft.put(replace(incident, ledger=losses.opened(sample)))
    if incident.resolved_at is not None:
        incident = _ended(draft, incident, queue, rules)
    _due(draft, incident, queue, rules)


def time_passed(draft: Draft, queue: Queue, rules: QueueRules) -> None:
    """No reading, but reminders and marks fall due by time all the same."""
    incident = open_incident(draft, standing_alert(draft, Rule.DEPTH, rules.name))
    if incident is not None:
        _due(draft, incident, queue, rules)


def unwatch(draft: Draft, alert: Alert) -> None:
    """The queue left the configuration: its incident (of wiring too) closes, told once."""
    abandon(draft, alert, Resolution.UNWATCHED, QueueRules(alert.subject))


def deleted(draft: Draft, queue: Queue, rules: QueueRules) -> None:
    """A fully read list doesn't have the queue: what lay in it is lost with it."""
    alert = draft.get(Alert, Rule.DEPTH, rules.name)
    incident = open_incident(draft, alert)
    if alert is None or incident is None or not isinstance(incident.facts, DepthFacts):
        return
    facts = incident.facts
    show(draft, incident, replace(facts, lost=facts.lost + facts.depth))
    abandon(draft, alert, Resolution.DELETED, rules)
    draft.put(Alert(Rule.DEPTH, queue.name, State.UNKNOWN, draft.now))


def _take_in(draft: Draft, queue: Queue, rules: QueueRules, sample: Sample) -> None:
    """What the reading says of those that left. Only a complete one says anything."""
    incident = open_incident(draft, draft.get(Alert, Rule.DEPTH, rules.name))
    if incident is None or sample.kind is not SampleKind.COMPLETE:
        return
    ledger, fall = losses.read(incident.ledger, sample, _term(queue, incident), rules.poll_ms)
    _count(draft, replace(incident, ledger=ledger), fall)


def _ended(draft: Draft, incident: Incident, queue: Queue, rules: QueueRules) -> Incident:
    """The incident just closed: its last fall is believed, and the worst of all names it."""
    ledger, fall = losses.last(incident.ledger, _term(queue, incident), rules.poll_ms)
    incident = _count(draft, replace(incident, ledger=ledger), fall)
    facts = incident.facts
    if not isinstance(facts, DepthFacts):
        return incident
    why = losses.resolution(
        lost=facts.lost,
        perhaps=(facts.lost_at_most or 0) - facts.lost,
        unknown=facts.left_unknown,
        removed=facts.removed,
        handled=facts.handled,
    )
    return draft.put(replace(incident, resolution=why, facts=replace(facts, resolution=why)))


def _term(queue: Queue, incident: Incident) -> retention.Term | None:
    basis = incident.ledger.basis
    return retention.term(queue, basis.oldest_at if basis is not None else None)


def _count(draft: Draft, incident: Incident, fall: losses.Fall | None) -> Incident:
    facts = incident.facts
    if fall is None or not isinstance(facts, DepthFacts):
        return draft.put(incident)
    draft.put(FallRow(id=draft.next_id(FallRow), incident=incident.id, **asdict(fall)))
    perhaps = (facts.lost_at_most or facts.lost) - facts.lost + fall.perhaps
    lost = facts.lost + fall.lost
    counted = replace(
        facts,
        lost=lost,
        lost_at_most=lost + perhaps if perhaps else None,
        removed=facts.removed + fall.removed,
        left_unknown=facts.left_unknown + fall.unknown,
    )
    return show(draft, incident, counted)


def _remember_low(draft: Draft, rules: QueueRules, sample: Sample) -> None:
    """A fall says nothing; what lands after it is more than what is left."""
    incident = open_incident(draft, draft.get(Alert, Rule.DEPTH, rules.name))
    depth = sample.depth
    if incident is None or depth is None or sample.kind is not SampleKind.COMPLETE:
        return
    low, told_low = incident.low, incident.told_low
    lower = replace(
        incident,
        low=low if low is None else min(low, depth),
        told_low=told_low if told_low is None else min(told_low, depth),
    )
    if lower != incident:
        draft.put(lower)


def _facts(queue: Queue, rules: QueueRules, sample: Sample) -> DepthFacts:
    depth = sample.depth or 0
    return DepthFacts(
        at=sample.at,
        depth=depth,
        bytes=sample.bytes,
        oldest_at=sample.oldest_at,
        retention_ms=retention.least_since(queue, sample.oldest_at),
        threshold=rules.threshold,
        peak_depth=depth,
        opened_at=sample.at,
        severity=Severity.WARNING,
        qg009=rules.keeps_qg009,
        runbook_url=rules.runbook_url,
    )


def _update(facts: IncidentKind, rules: QueueRules, sample: Sample) -> IncidentKind:
    """Take the reading's numbers into the incident."""
    if not isinstance(facts, DepthFacts) or sample.depth is None:
        return facts
    return replace(
        facts,
        at=sample.at,
        depth=sample.depth,
        bytes=sample.bytes,
        oldest_at=sample.oldest_at,
        peak_depth=max(facts.peak_depth, sample.depth),
        threshold=rules.threshold,
        qg009=rules.keeps_qg009,
        runbook_url=rules.runbook_url,
    )


def _due(draft: Draft, incident: Incident, queue: Queue, rules: QueueRules) -> None:
    """Severity and marks by time, then the decision to tell."""
    facts = incident.facts
    if not isinstance(facts, DepthFacts):
        return
    if incident.resolved_at is None:
        kept_ms = retention.least_since(queue, facts.oldest_at)
        judged = depth_severity(
            rules=rules,
            depth=facts.depth,
            oldest_at=facts.oldest_at,
            retention_ms=kept_ms,
            opened_at=incident.opened_at,
            now=draft.now,
        )
        incident = notice_ack(draft, raise_severity(incident, judged))
        mark = reached_mark(rules, facts.oldest_at, kept_ms, draft.now)
        facts = replace(facts, retention_ms=kept_ms, mark_ms=mark if facts.depth else None)
        rearmed = rearmed_mark(incident.told_mark_ms, facts, rules, draft.now)
        incident = replace(incident, told_mark_ms=rearmed)
        incident = show(draft, incident, shown(draft, incident, facts, draft.now))
    if isinstance(incident.facts, DepthFacts):
        tell(draft, incident, _as_told(draft, incident, incident.facts, queue), rules)


def _as_told(draft: Draft, incident: Incident, facts: DepthFacts, queue: Queue) -> DepthFacts:
    """With what only a notice says: when it was last seen, and what people know so far."""
    span = last_span(draft, queue)
    seen = span is not None and span.kind is not SampleKind.FAILED
    seen_at = span.last_at if span is not None and seen else facts.at
    return replace(facts, at=max(seen_at, facts.at), told_depth=incident.told_depth, seen=seen)
