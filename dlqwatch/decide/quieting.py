"""Silences and acks: what is held back, and what shows that somebody knows."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.world import View
from dlqwatch.facts import DepthFacts, IncidentKind
from dlqwatch.model import Reason, Rule
from dlqwatch.rows import Ack, Incident, Silence

# These end an ack: what was taken in hand is worse than when it was.
ENDS_ACK = frozenset({Reason.LOST, Reason.EXPIRY_NEAR, Reason.SEVERITY_RAISED})


def active_silence(view: View, rule: Rule, subject: str, now: int) -> Silence | None:
    """The silence that holds now, the longest of several. The loss of history is never silenced."""
    if rule is Rule.STORE:
        return None
    return max(_holding(view, rule, subject, now), key=lambda s: s.ends_at, default=None)


def silenced_since(view: View, rule: Rule, subject: str, now: int) -> int:
    """When the silence that holds now began, the oldest of several; `now` without one."""
    return min((s.starts_at for s in _holding(view, rule, subject, now)), default=now)


def _holding(view: View, rule: Rule, subject: str, now: int) -> list[Silence]:
    return [
        s
        for s in view.all(Silence)
        if s.subject == subject
        and s.rule in ("", rule)
        and s.starts_at <= now < s.ends_at
        and s.lifted_at is None
    ]


def acked(incident: Incident) -> bool:
    """Has somebody the incident in hand, so that nobody need be reminded?"""
    return incident.acked_depth is not None


def notice_ack(view: View, incident: Incident) -> Incident:
    """Take note of a new ack, with the depth it was given at; a doubled depth ends one."""
    newest = newest_ack(view, incident.id)
    depth = incident.facts.depth if isinstance(incident.facts, DepthFacts) else 0
    if newest is not None and newest.at > (incident.acked_at or 0):
        return replace(incident, acked_at=newest.at, acked_depth=max(1, depth))
    if incident.acked_depth and depth >= 2 * incident.acked_depth:
        return replace(incident, acked_depth=None)
    return incident


def newest_ack(view: View, incident: int) -> Ack | None:
    return max(
        (a for a in view.all(Ack) if a.incident == incident), key=lambda a: a.at, default=None
    )


def shown(view: View, incident: Incident, facts: IncidentKind, now: int) -> IncidentKind:
    """The facts with what a card says of silence and ack."""
    silence = active_silence(view, incident.rule, incident.subject, now)
    ack = newest_ack(view, incident.id) if acked(incident) else None
    return replace(
        facts,
        silenced_until=silence.ends_at if silence is not None else None,
        silenced_by=silence.by if silence is not None else "",
        acked_by=ack.by if ack is not None else "",
        ack_note=ack.note if ack is not None else "",
    )
