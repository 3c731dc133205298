"""`dlqwatch history --incident N`: one incident's whole story, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlqwatch.cli import quieted, tables
from dlqwatch.edges.store_reader import Reader
from dlqwatch.facts import DepthFacts
from dlqwatch.model import DAY, HOUR, NoticeStatus, Rule, Severity
from dlqwatch.rows import Delivery, Incident, Notice
from dlqwatch.words import en_status
from dlqwatch.words.units import duration, letters, tidy

if TYPE_CHECKING:
    from rich.console import Console

BARS = 60
LONG_MS = 2 * DAY  # from here on, hours say it well enough


@dataclass(frozen=True, slots=True)
class Told:
    """A notice and how it was sent, to each destination that was tried."""

    notice: Notice
    deliveries: tuple[Delivery, ...] = ()

    @property
    def attempts(self) -> int:
        return sum(d.attempts for d in self.deliveries)


def draw(out: Console, reader: Reader, incident: Incident, told: Sequence[Told], now: int) -> None:
    """Head, depth over time, and what happened in its order."""
    gate = " (QG-009)" if incident.rule is Rule.DEPTH else ""
    words, style = severity(incident.severity)
    name = tidy(incident.subject)
    tables.line(out, f"#{incident.id} {name}: {incident.rule}{gate}, {words}", style)
    opened = tables.local(incident.opened_at, now, seconds=True)
    if incident.resolved_at is None:
        tables.line(out, f"open since {opened}, for {lasted(incident, now)}")
    else:
        closed = tables.local(incident.resolved_at, now, seconds=True)
        tables.line(out, f"open from {opened} to {closed}, for {lasted(incident, now)}")
        tables.line(out, f"how it ended: {end_words(incident)}")
    if incident.peak_depth is not None:
        tables.line(out, f"at most {letters(incident.peak_depth)}" + _lost(incident))
    end = incident.resolved_at if incident.resolved_at is not None else now
    bars = depth_bars(reader, incident, end)
    if bars:
        out.print()
        tables.line(out, f"depth over that time, up to {incident.peak_depth or 0:,}:")
        tables.line(out, bars)
        facts = incident.facts
        if incident.resolved_at is None and isinstance(facts, DepthFacts):
            tables.line(out, f"now {facts.depth:,}")
    out.print()
    tables.table(
        out,
        (f"when ({tables.zone(now)})", "what", "and then"),
        _events(reader, incident, told, now),
    )


def _events(
    reader: Reader, incident: Incident, told: Sequence[Told], now: int
) -> list[tuple[str, str, str]]:
    """States and notices, in the order in which they came about."""
    found = [
        (t.at, 0, f"{en_status.STATES[t.old]} → {en_status.STATES[t.new]}", t.because)
        for t in reader.transitions(incident)
    ]
    held = quieted.of_incident(reader.silences(None), incident, now)
    given = [a for a in reader.acks() if a.incident == incident.id]
    found += quieted.events(held, given, now)
    for one in told:
        reason = en_status.REASONS[one.notice.reason]
        found.append((one.notice.created_at, 1, f"notice: {reason}", delivered_words(one, now)))
    return [
        (tables.local(at, now, seconds=True, headed=True), what, then)
        for at, _, what, then in sorted(found)
    ]


def delivered_words(one: Told, now: int) -> str:
    """When a notice was delivered and by whom, or what keeps it."""
    notice = one.notice
    tries = f", {one.attempts} attempts" if one.attempts > 1 else ""
    if notice.status is NoticeStatus.DELIVERED and notice.delivered_at is not None:
        after = notice.delivered_at - notice.created_at
        soon = "at once" if after < 2000 else f"after {duration(after)}"
        return f"delivered by {notice.delivered_by} {soon}{tries}"
    words = en_status.NOTICE_STATUSES[notice.status]
    errors = "; ".join(f"{d.destination}: {tidy(d.error, 200)}" for d in one.deliveries if d.error)
    if notice.status is NoticeStatus.PENDING:
        words += f" for {duration(now - notice.created_at)}"
    return f"{words}{tries}" + (f" ({errors})" if errors else "")


def depth_bars(reader: Reader, incident: Incident, end: int) -> str:
    """The depth over the incident's time as bars; "" where no reading of it is kept."""
    if incident.rule is not Rule.DEPTH:
        return ""
    start = incident.opened_at
    # of a long one the readings may be many, of an old one they are no longer kept
    spans = reader.spans(incident.subject, start, end) if end - start < LONG_MS else ()
    # a reading holds until the next one should come
    parts = [(s.first_at, s.last_at + s.every_ms, s.depth) for s in spans if s.depth is not None]
    if not parts:
        hours = reader.hours(incident.subject, start, end)
        parts = [(h.hour, h.hour + HOUR - 1, h.high) for h in hours if h.high is not None]
    values = bars(parts, start, end)
    return tables.sparkline(values) if any(v is not None for v in values) else ""


def bars(parts: Iterable[tuple[int, int, int]], start: int, end: int) -> list[int | None]:
    """The deepest reading in each of BARS equal shares of the time; None: nothing was read.

    `parts`: from when to when (ms) which depth was read.
    """
    found: list[int | None] = [None] * BARS
    width = max(1, end - start) / BARS
    for first, last, depth in parts:
        if last < start or first > end:
            continue
        low = min(BARS - 1, max(0, int((first - start) / width)))
        high = min(BARS - 1, max(0, int((last - start) / width)))
        for at in range(low, high + 1):
            found[at] = max(found[at] or 0, depth)
    return found


def severity(which: Severity) -> tuple[str, str]:
    """The word and its style."""
    return which.value, tables.BAD if which is Severity.CRITICAL else tables.WARN


def lasted(incident: Incident, now: int) -> str:
    """How long it was open, or is."""
    end = incident.resolved_at if incident.resolved_at is not None else now
    return duration(end - incident.opened_at)


def end_words(incident: Incident) -> str:
    """How it ended."""
    if incident.resolution is None:
        return "still open"
    return en_status.RESOLUTIONS[incident.resolution] + _lost(incident)


def _lost(incident: Incident) -> str:
    return f", at least {incident.lost:,} lost" if incident.lost else ""


def told_words(told: Sequence[Told]) -> str:
    """How many of its notices were delivered, of those that were to be."""
    wanted = [t for t in told if t.notice.status is not NoticeStatus.SUPERSEDED]
    done = [t for t in wanted if t.notice.status is NoticeStatus.DELIVERED]
    return f"{len(done)} of {len(wanted)}"
