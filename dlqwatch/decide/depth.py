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
from dlqwatch.decide.world import Draft, asked_to_wait, open_incident
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
    if alert is not None and alert.state is State.PENDING:  # its hold is not the next queue's
        draft.put(replace(alert, state=State.UNKNOWN, since=draft.now))
    if alert is None or incident is None or not isinstance(incident.facts, DepthFacts):
        return
    facts = incident.facts
    most = None if facts.lost_at_most is None else facts.lost_at_most + facts.depth
    lost = facts.lost + facts.depth
    show(draft, incident, replace(facts, lost=lost, lost_at_most=most))
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
    """How long what lies there is kept; None where it isn't known to hold since it last did."""
    basis = incident.ledger.basis
    if basis is None or queue.audited_at is None or queue.audited_at < basis.at:
        return None
    return retention.term(queue, basis.oldest_at)


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
    # a reading that doesn't say how old the oldest is takes no known deadline away
    stays = sample.oldest_at is None and sample.depth >= facts.depth
    return replace(
        facts,
        at=sample.at,
        depth=sample.depth,
        bytes=sample.bytes,
        oldest_at=facts.oldest_at if stays else sample.oldest_at,
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
        tell(draft, incident, _as_told(draft, incident, incident.facts, rules), rules)


def _as_told(draft: Draft, incident: Incident, facts: DepthFacts, rules: QueueRules) -> DepthFacts:
    """With what only a notice says: when it was last seen, and what people know so far."""
    queue = next(q for q in draft.all(Queue) if q.name == rules.name)
    span = last_span(draft, queue)
    seen_at = None
    if span is not None:
        seen_at = queue.good_at if span.kind is SampleKind.FAILED else span.last_at
    seen = span is not None and span.kind is not SampleKind.FAILED
    if asked_to_wait(draft, draft.now) and draft.now - (seen_at or 0) > rules.poll_ms:
        seen = False  # another queue met the block: nobody asks after this one either
    at = facts.at if seen_at is None else max(facts.at, min(seen_at, draft.now))
    return replace(facts, at=at, told_depth=incident.told_depth, seen=seen)
