"""Silences and acks as status and history show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlqwatch.cli import tables
from dlqwatch.rows import Ack, Incident, Silence
from dlqwatch.words.units import tidy

COLUMNS = ("silenced", "rule", "until", "by", "reason")


def in_force(silences: Iterable[Silence], now: int) -> list[Silence]:
    """Those that hold at `now` (ms)."""
    return [s for s in silences if s.starts_at <= now < s.ends_at and s.lifted_at is None]


def in_hand(incidents: Iterable[Incident], acks: Iterable[Ack]) -> Mapping[int, Ack]:
    """The ack that holds for each open incident; one just given holds from the next poll on."""
    newest: dict[int, Ack] = {}
    for ack in sorted(acks, key=lambda a: a.at):
        newest[ack.incident] = ack
    return {
        i.id: newest[i.id]
        for i in incidents
        if i.id in newest and (i.acked_depth is not None or newest[i.id].at > (i.acked_at or 0))
    }


def of_incident(silences: Iterable[Silence], incident: Incident, now: int) -> list[Silence]:
    """The silences that held while the incident was open, the oldest first."""
    end = incident.resolved_at if incident.resolved_at is not None else now
    found = [
        s
        for s in silences
        if s.subject == incident.subject
        and s.rule in ("", incident.rule)
        and s.starts_at <= end
        and (s.ends_at if s.lifted_at is None else s.lifted_at) >= incident.opened_at
    ]
    return sorted(found, key=lambda s: s.starts_at)


def row(silence: Silence, now: int) -> tuple[str, ...]:
    """A line of COLUMNS."""
    until = tables.local(silence.ends_at, now)
    rule = silence.rule or "every"
    return (tidy(silence.subject), rule, until, tidy(silence.by), tidy(silence.reason, 200))


def hand_words(ack: Ack | None) -> str:
    """Who has an incident in hand."""
    if ack is None:
        return ""
    return tidy(ack.by) + (f": {tidy(ack.note, 200)}" if ack.note else "")


def events(
    silences: Sequence[Silence], acks: Sequence[Ack], now: int
) -> list[tuple[int, int, str, str]]:
    """What an incident's story has of them: when, its place among equals, what, and then."""
    found = [(a.at, 2, "acknowledged", f"by {hand_words(a)}") for a in acks]
    for s in silences:
        until = tables.local(s.ends_at, now)
        by = f"by {tidy(s.by)}: {tidy(s.reason, 200)}"
        found.append((s.starts_at, 2, f"silenced until {until}", by))
        if s.lifted_at is not None:
            found.append((s.lifted_at, 2, "silence lifted", f"by {tidy(s.lifted_by or '')}"))
    return found


def silence_json(silence: Silence) -> dict[str, Any]:
    return {
        "id": silence.id,
        "rule": silence.rule or None,
        "queue": silence.subject,
        "starts_at": tables.utc(silence.starts_at),
        "ends_at": tables.utc(silence.ends_at),
        "by": silence.by,
        "reason": silence.reason,
        "lifted_at": tables.utc(silence.lifted_at),
        "lifted_by": silence.lifted_by,
    }


def ack_json(ack: Ack) -> dict[str, Any]:
    return {
        "incident": ack.incident,
        "at": tables.utc(ack.at),
        "by": ack.by,
        "note": ack.note or None,
    }
