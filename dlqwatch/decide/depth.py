"""The depth rule (QG-009): from one reading of a queue to its alert, incident and notices."""

from __future__ import annotations

from dataclasses import replace

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
)
from dlqwatch.rows import Alert, Incident, Queue


def sampled(draft: Draft, queue: Queue, rules: QueueRules, sample: Sample) -> None:
    """A reading moves the alert, then whatever fell due is told."""
    _remember_low(draft, rules, sample)
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
    if incident is not None:
        _due(draft, incident, queue, rules)


def time_passed(draft: Draft, queue: Queue, rules: QueueRules) -> None:
    """No reading, but reminders and marks fall due by time all the same."""
    incident = open_incident(draft, standing_alert(draft, Rule.DEPTH, rules.name))
    if incident is not None:
        _due(draft, incident, queue, rules)


def unwatch(draft: Draft, alert: Alert) -> None:
    """The queue left the configuration: its incident closes, told once."""
    abandon(draft, alert, Resolution.UNWATCHED, QueueRules(alert.subject))


def _remember_low(draft: Draft, rules: QueueRules, sample: Sample) -> None:
    """A fall says nothing; what lands after it is more than what is left."""
    incident = open_incident(draft, draft.get(Alert, Rule.DEPTH, rules.name))
    if incident is None or incident.low is None or sample.kind is not SampleKind.COMPLETE:
        return
    if sample.depth is not None and sample.depth < incident.low:
        draft.put(replace(incident, low=sample.depth))


def _facts(queue: Queue, rules: QueueRules, sample: Sample) -> DepthFacts:
    depth = sample.depth or 0
    return DepthFacts(
        at=sample.at,
        depth=depth,
        bytes=sample.bytes,
        oldest_at=sample.oldest_at,
        retention_ms=queue.retention_ms,
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
        judged = depth_severity(
            rules=rules,
            depth=facts.depth,
            oldest_at=facts.oldest_at,
            retention_ms=queue.retention_ms,
            opened_at=incident.opened_at,
            now=draft.now,
        )
        incident = notice_ack(draft, raise_severity(incident, judged))
        mark = reached_mark(rules, facts.oldest_at, queue.retention_ms, draft.now)
        facts = replace(
            facts, retention_ms=queue.retention_ms, mark_ms=mark if facts.depth else None
        )
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
