"""The depth rule (QG-009): from one reading of a queue to its alert, incident and notices."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide import alerting
from dlqwatch.decide.alerting import Effect, Standing, Timing
from dlqwatch.decide.judging import depth_condition, depth_severity, reached_mark
from dlqwatch.decide.notifying import rearmed_mark
from dlqwatch.decide.recording import last_span
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft, open_incident
from dlqwatch.facts import DepthFacts
from dlqwatch.model import QueueRules, Resolution, Rule, Sample, SampleKind, Severity, State
from dlqwatch.rows import Alert, Incident, Queue, Transition


def sampled(draft: Draft, queue: Queue, rules: QueueRules, sample: Sample) -> None:
    """A reading moves the alert, then whatever fell due is told."""
    alert = _healed(draft, rules.name)
    condition = depth_condition(sample, rules)
    timing = Timing(rules.hold_ms, rules.keep_ms, rules.poll_ms // 2)
    standing = Standing(alert.state, alert.since, alert.clear_since)
    step = alerting.step(standing, condition, timing, draft.now)
    incident = open_incident(draft, alert)
    if step.effect is Effect.OPEN:
        incident = _open(draft, queue, rules, sample, step.opened_at or draft.now)
    elif incident is not None and step.effect is not Effect.NOTHING:
        incident = _update(draft, incident, rules, sample)
    if incident is not None and step.effect is Effect.CLOSE:
        incident = close(draft, incident, Resolution.UNKNOWN)
    _move(draft, alert, step.standing, incident, because=f"depth {sample.depth}")
    if incident is not None:
        _due(draft, incident, queue, rules)


def time_passed(draft: Draft, queue: Queue, rules: QueueRules) -> None:
    """No reading, but reminders and marks fall due by time all the same."""
    incident = open_incident(draft, _healed(draft, rules.name))
    if incident is not None:
        _due(draft, incident, queue, rules)


def close(draft: Draft, incident: Incident, resolution: Resolution) -> Incident:
    """The incident is over; its card and its last word say so."""
    facts = incident.facts
    if isinstance(facts, DepthFacts):
        facts = replace(facts, resolved_at=draft.now, resolution=resolution, rev=incident.rev + 1)
    return draft.put(
        replace(
            incident,
            resolved_at=draft.now,
            resolution=resolution,
            facts=facts,
            rev=incident.rev + 1,
        )
    )


def unwatch(draft: Draft, alert: Alert, rules: QueueRules) -> None:
    """The queue left the configuration: its incident closes, told once."""
    incident = open_incident(draft, alert)
    draft.delete(alert)
    if incident is not None and isinstance(incident.facts, DepthFacts):
        closed = close(draft, incident, Resolution.UNWATCHED)
        _tell(draft, closed, rules)


def _open(
    draft: Draft, queue: Queue, rules: QueueRules, sample: Sample, opened_at: int
) -> Incident:
    depth = sample.depth or 0
    facts = DepthFacts(
        at=sample.at,
        depth=depth,
        bytes=sample.bytes,
        oldest_at=sample.oldest_at,
        retention_ms=queue.retention_ms,
        threshold=rules.threshold,
        peak_depth=depth,
        opened_at=opened_at,
        severity=Severity.WARNING,
        qg009=rules.keeps_qg009,
        runbook_url=rules.runbook_url,
    )
    return draft.put(
        Incident(
            id=draft.next_id(Incident),
            rule=Rule.DEPTH,
            subject=rules.name,
            opened_at=opened_at,
            severity=Severity.WARNING,
            facts=facts,
            peak_depth=depth,
        )
    )


def _update(draft: Draft, incident: Incident, rules: QueueRules, sample: Sample) -> Incident:
    """Take the reading's numbers into the incident. A fall is remembered, and says nothing."""
    facts = incident.facts
    if not isinstance(facts, DepthFacts) or sample.depth is None:
        return incident
    low = incident.low
    if sample.kind is SampleKind.COMPLETE and low is not None:
        low = min(low, sample.depth)
    return _show(
        draft,
        replace(incident, low=low, peak_depth=max(incident.peak_depth or 0, sample.depth)),
        replace(
            facts,
            at=sample.at,
            depth=sample.depth,
            bytes=sample.bytes,
            oldest_at=sample.oldest_at,
            peak_depth=max(facts.peak_depth, sample.depth),
            threshold=rules.threshold,
            qg009=rules.keeps_qg009,
            runbook_url=rules.runbook_url,
        ),
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
        severity = max(incident.severity, judged, key=lambda s: s.rank)
        mark = reached_mark(rules, facts.oldest_at, queue.retention_ms, draft.now)
        facts = replace(
            facts,
            severity=severity,
            retention_ms=queue.retention_ms,
            mark_ms=mark if facts.depth else None,
        )
        rearmed = rearmed_mark(incident.told_mark_ms, facts, rules, draft.now)
        incident = _show(draft, replace(incident, severity=severity, told_mark_ms=rearmed), facts)
    _tell(draft, incident, rules)


def _tell(draft: Draft, incident: Incident, rules: QueueRules) -> None:
    facts = incident.facts
    if not isinstance(facts, DepthFacts):
        return
    queue = next((q for q in draft.all(Queue) if q.name == incident.subject), None)
    span = None if queue is None else last_span(draft, queue)
    seen_at = span.last_at if span is not None and span.kind is not SampleKind.FAILED else facts.at
    now_told = replace(
        facts, at=seen_at, told_depth=incident.told_depth, rev=incident.rev, lost=incident.lost
    )
    tell(draft, incident, now_told, rules)


def _show(draft: Draft, incident: Incident, facts: DepthFacts) -> Incident:
    """Keep new facts; a card is out of date only when what it shows has changed."""
    old = incident.facts
    if isinstance(old, DepthFacts) and replace(facts, at=old.at, rev=old.rev) == old:
        return draft.put(incident)
    rev = incident.rev + (0 if draft.is_new(incident) else 1)
    return draft.put(replace(incident, facts=replace(facts, rev=rev), rev=rev))


def _move(
    draft: Draft, alert: Alert, to: Standing, incident: Incident | None, because: str
) -> None:
    firing = to.state is State.FIRING
    number = incident.id if incident is not None else None
    if to.state is not alert.state:
        draft.put(
            Transition(
                draft.next_id(Transition),
                alert.rule,
                alert.subject,
                draft.now,
                alert.state,
                to.state,
                because,
                number,
            )
        )
    draft.put(
        replace(
            alert,
            state=to.state,
            since=to.since,
            clear_since=to.clear_since,
            incident=number if firing else None,
        )
    )


def _healed(draft: Draft, name: str) -> Alert:
    """The queue's alert, with no time of its past in the future."""
    alert = draft.get(Alert, Rule.DEPTH, name)
    if alert is None:
        return draft.put(Alert(Rule.DEPTH, name, State.UNKNOWN, draft.now))
    sane = alerting.heal(Standing(alert.state, alert.since, alert.clear_since), draft.now)
    incident = open_incident(draft, alert)
    if incident is not None:
        draft.put(
            replace(
                incident,
                opened_at=min(incident.opened_at, draft.now),
                told_at=_past(incident.told_at, draft.now),
                first_told_at=_past(incident.first_told_at, draft.now),
            )
        )
    return draft.put(replace(alert, since=sane.since, clear_since=sane.clear_since))


def _past(at: int | None, now: int) -> int | None:
    return None if at is None else min(at, now)
