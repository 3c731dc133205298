"""The life of an incident, the same for every rule: open, update, close, tell.

A rule says what it judges (`Judgement`) and what is known now (facts); the rest is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dlqwatch.decide import alerting
from dlqwatch.decide.alerting import Effect, Standing, Timing
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft, open_incident
from dlqwatch.facts import BlindFacts, DepthFacts, IncidentKind
from dlqwatch.model import Condition, QueueRules, Resolution, Rule, Severity, State
from dlqwatch.rows import Alert, Incident, Transition


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a rule says of its subject now."""

    rule: Rule
    subject: str
    condition: Condition
    timing: Timing
    because: str
    resolution: Resolution = Resolution.CLEARED  # if this closes the incident


FactsNow = Callable[[Incident], IncidentKind]


def judge(
    draft: Draft, judgement: Judgement, first: IncidentKind, update: FactsNow
) -> Incident | None:
    """Move the alert. The incident it concerns, also one that just closed; None: all is calm.

    `first` is what an incident opens with, `update` what is known of one that is open.
    """
    alert = standing_alert(draft, judgement.rule, judgement.subject)
    before = Standing(alert.state, alert.since, alert.clear_since)
    step = alerting.step(before, judgement.condition, judgement.timing, draft.now)
    incident = open_incident(draft, alert)
    if step.effect is Effect.OPEN:
        opened_at = draft.now if step.opened_at is None else step.opened_at
        incident = _open(draft, judgement, replace(first, opened_at=opened_at))
    elif incident is not None and step.effect is not Effect.NOTHING:
        incident = show(draft, incident, update(incident))
    if incident is not None and step.effect is Effect.CLOSE:
        incident = close(draft, incident, judgement.resolution)
    _move(draft, alert, step.standing, incident, judgement.because)
    return incident


def show(draft: Draft, incident: Incident, facts: IncidentKind) -> Incident:
    """Keep new facts; a card is out of date only when what it shows has changed."""
    facts = replace(facts, severity=incident.severity)
    old = incident.facts
    if replace(facts, at=old.at, rev=old.rev) == old:
        return draft.put(incident)
    rev = incident.rev + (0 if draft.is_new(incident) else 1)
    return draft.put(_with(incident, facts, rev))


def _with(incident: Incident, facts: IncidentKind, rev: int) -> Incident:
    changed = replace(incident, facts=replace(facts, rev=rev), rev=rev)
    if not isinstance(facts, DepthFacts):
        return changed
    return replace(changed, peak_depth=facts.peak_depth, lost=facts.lost)


def raise_severity(incident: Incident, judged: Severity) -> Incident:
    """It never falls inside an incident."""
    return replace(incident, severity=max(incident.severity, judged, key=lambda s: s.rank))


def close(draft: Draft, incident: Incident, resolution: Resolution) -> Incident:
    """The incident is over; its card and its last word say so."""
    rev = incident.rev + 1
    facts = replace(incident.facts, resolved_at=draft.now, resolution=resolution, rev=rev)
    return draft.put(
        replace(incident, resolved_at=draft.now, resolution=resolution, facts=facts, rev=rev)
    )


def abandon(draft: Draft, alert: Alert, resolution: Resolution, rules: QueueRules) -> None:
    """The subject is no longer there to be watched: its incident closes, told once."""
    incident = open_incident(draft, alert)
    draft.delete(alert)
    if incident is not None:
        closed = close(draft, incident, resolution)
        tell(draft, closed, closed.facts, rules)


def standing_alert(draft: Draft, rule: Rule, subject: str) -> Alert:
    """The alert as it stands, with no time of its past in the future (the clock went back)."""
    alert = draft.get(Alert, rule, subject)
    if alert is None:
        return draft.put(Alert(rule, subject, State.UNKNOWN, draft.now))
    sane = alerting.heal(Standing(alert.state, alert.since, alert.clear_since), draft.now)
    incident = open_incident(draft, alert)
    if incident is not None:
        draft.put(
            replace(
                incident,
                opened_at=min(incident.opened_at, draft.now),
                told_at=_past(incident.told_at, draft.now),
                first_told_at=_past(incident.first_told_at, draft.now),
                facts=past_facts(incident.facts, draft.now),
            )
        )
    return draft.put(replace(alert, since=sane.since, clear_since=sane.clear_since))


def _past(at: int | None, now: int) -> int | None:
    return None if at is None else min(at, now)


def past_facts(facts: IncidentKind, now: int) -> IncidentKind:
    """The facts with no time of the past in the future: an age is never negative."""
    sane = replace(facts, at=min(facts.at, now), opened_at=min(facts.opened_at, now))
    if isinstance(sane, DepthFacts):
        return replace(sane, oldest_at=_past(sane.oldest_at, sane.at))
    if isinstance(sane, BlindFacts):
        unseen = tuple(replace(u, since=min(u.since, now)) for u in sane.unseen)
        return replace(sane, unseen=unseen)
    return sane


def _open(draft: Draft, judgement: Judgement, facts: IncidentKind) -> Incident:
    incident = Incident(
        id=draft.next_id(Incident),
        rule=judgement.rule,
        subject=judgement.subject,
        opened_at=facts.opened_at,
        severity=facts.severity,
        facts=facts,
    )
    return draft.put(_with(incident, facts, incident.rev))


def _move(draft: Draft, alert: Alert, to: Standing, incident: Incident | None, why: str) -> None:
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
                why,
                number,
            )
        )
    draft.put(
        replace(
            alert,
            state=to.state,
            since=to.since,
            clear_since=to.clear_since,
            incident=number if to.state is State.FIRING else None,
        )
    )
