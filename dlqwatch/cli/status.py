"""`dlqwatch status`: what is, from the database and the pulse. Asks no service."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlqwatch.cli import health, quieted, tables
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.settings import Settings, find_config, load
from dlqwatch.decide import retention
from dlqwatch.decide.alive import Alive
from dlqwatch.decide.healthy import Daemon, Present, Trouble, troubles
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.store_reader import NoDatabase, Reader
from dlqwatch.errors import EXIT_BAD
from dlqwatch.facts import DepthFacts, WiringFacts
from dlqwatch.model import DestinationState, QueueRules, Rule, SampleKind, Severity, State
from dlqwatch.rows import Alert, Queue, Span
from dlqwatch.words import en_health, en_status
from dlqwatch.words.units import duration, letters, tidy

if TYPE_CHECKING:
    from rich.console import Console

EXITS = "0 healthy, 1 not healthy, 2 usage or configuration, 3 the database can't be read now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_json(parser)


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    path = Path(settings.database.path)
    daemon = look(path)
    present = read(path)
    now = SystemClock().now()
    found = troubles(present, daemon, settings.rules(), now)
    why = [en_health.trouble(t, daemon, str(path), now) for t in found]
    if options.json:
        tables.print_json(as_json(present, settings.rules(), why, now))
    else:
        _draw(tables.console(), settings, present, daemon, found, why, now)
    return EXIT_BAD if found else 0


def look(database: Path) -> Daemon:
    """What the lock and the pulse beside the database show."""
    monotonic = time.monotonic()
    alive, pulse = health.look(database, monotonic)
    return Daemon(
        alive,
        started_at=pulse.started_at,
        behind=pulse.behind,
        pid=pulse.pid,
        host=pulse.host,
        silent_s=monotonic - pulse.tick,
        limit_s=pulse.limit_s,
        ended=pulse.ended,
    )


def read(database: Path) -> Present:
    """What the database holds; empty where none has been written yet. Raises StoreError."""
    try:
        with Reader(database) as reader:
            return reader.present()
    except NoDatabase:
        return Present(exists=False)


def as_json(
    present: Present, rules: Sequence[QueueRules], why: Sequence[tuple[str, str]], now: int
) -> dict[str, Any]:
    """The documented shape, and `why`: a sentence for each reason why it isn't healthy."""
    severities = {i.id: i.severity for i in present.incidents}
    return {
        "healthy": not why,
        "why": [what for what, _ in why],
        "queues": [_queue_json(present, one.name) for one in rules],
        "alerts": [
            {
                "rule": alert.rule,
                "queue": _subject(alert.rule, alert.subject),
                "state": alert.state,
                "severity": None if alert.incident is None else severities.get(alert.incident),
                "since": tables.utc(min(alert.since, now)),
            }
            for alert in active(present)
        ],
        "outbox": {
            "pending": len(present.waiting),
            "oldest_at": tables.utc(min((n.created_at for n in present.waiting), default=None)),
        },
        "destinations": [
            {
                "name": row.name,
                "state": row.state,
                "since": tables.utc(row.since),
                "reason": row.reason or None,
            }
            for row in present.destinations
        ],
        "silences": [quieted.silence_json(s) for s in quieted.in_force(present.silences, now)],
        "acks": [
            quieted.ack_json(ack)
            for ack in quieted.in_hand(present.incidents, present.acks).values()
        ],
    }


def _queue_json(present: Present, name: str) -> dict[str, Any]:
    queue, span, alert = _of(present, name)
    return {
        "name": name,
        "state": alert.state if alert is not None else State.UNKNOWN,
        "depth": span.depth if span is not None else None,  # None when it failed: never 0
        "bytes": span.bytes if span is not None else None,
        "oldest_at": tables.utc(span.oldest_at) if span is not None else None,
        "expires_at": tables.utc(_expires_at(present, queue, span)),
        "polled_at": tables.utc(span.last_at) if span is not None else None,
        "sample": span.kind if span is not None else None,
    }


def _subject(rule: Rule, subject: str) -> str | None:
    """The queue an alert is about; None for those about dlqwatch or a Worker."""
    return subject if rule in (Rule.DEPTH, Rule.WIRING) else None


def active(present: Present) -> list[Alert]:
    """The alerts that have something to say."""
    return [a for a in present.alerts if a.state in (State.PENDING, State.FIRING)]


def _of(present: Present, name: str) -> tuple[Queue | None, Span | None, Alert | None]:
    queue = present.queue(name)
    span = present.spans.get(queue.id) if queue is not None else None
    alert = next((a for a in present.alerts if (a.rule, a.subject) == (Rule.DEPTH, name)), None)
    return queue, span, alert


def _last_seen(present: Present, queue: Queue | None, span: Span | None) -> DepthFacts | None:
    """Of a queue that can't be read now: what its open incident knows of it."""
    if queue is None or span is None or span.kind is not SampleKind.FAILED:
        return None
    facts = (i.facts for i in present.incidents if i.subject == queue.name)
    return next((f for f in facts if isinstance(f, DepthFacts)), None)


def _expires_at(present: Present, queue: Queue | None, span: Span | None) -> int | None:
    """The deadline of the oldest; it comes no later because nobody can look."""
    if queue is None or span is None:
        return None
    seen = _last_seen(present, queue, span)
    oldest_at = span.oldest_at if seen is None else seen.oldest_at
    kept_ms = retention.least_since(queue, oldest_at)
    return None if oldest_at is None or kept_ms is None else oldest_at + kept_ms


# ---- for people


def _draw(
    out: Console,
    settings: Settings,
    present: Present,
    daemon: Daemon,
    found: Sequence[Trouble],
    why: Sequence[tuple[str, str]],
    now: int,
) -> None:
    for what, do in why:
        tables.line(out, f"✗ {what}", tables.BAD)
        tables.line(out, do, indent=2)
    if not found:
        tables.line(out, f"✓ dlqwatch works: {_firing_words(present)}", tables.GOOD)
    out.print()
    rows = [_queue_row(present, rules, now) for rules in settings.rules()]
    before = f"handle before ({tables.zone(now)})"
    names = ("queue", "state", "depth", "oldest", before, "read")
    tables.table(out, names, rows, right="depth")
    firing = [i for i in present.incidents if i.resolved_at is None]
    if firing:
        out.print()
        hands = quieted.in_hand(firing, present.acks)
        drawn: list[Sequence[tables.Cell]] = [
            (
                f"#{i.id}",
                tidy(i.subject),
                i.rule,
                (i.severity, tables.BAD if i.severity is Severity.CRITICAL else tables.WARN),
                f"{tables.local(i.opened_at, now)} ({tables.ago(i.opened_at, now)})",
                *((quieted.hand_words(hands.get(i.id)),) if hands else ()),
            )
            for i in firing
        ]
        heads = ("incident", "queue", "rule", "severity", "open since")
        tables.table(out, (*heads, *(("in hand",) if hands else ())), drawn)
    for incident in firing:
        if isinstance(incident.facts, WiringFacts):
            _draw_steps(out, incident.id, en_health.miswired(incident.facts))
    silenced = quieted.in_force(present.silences, now)
    if silenced:
        out.print()
        tables.table(out, quieted.COLUMNS, [quieted.row(s, now) for s in silenced])
    out.print()
    places = [
        (
            row.name,
            (en_status.DESTINATION_STATES[row.state], _style(row.state)),
            tables.ago(row.last_ok_at, now),
            tidy(row.reason, 200) if row.reason else "",
        )
        for row in present.destinations
    ]
    if places:
        tables.table(out, ("destination", "state", "last told", "reason"), places)
    tables.line(out, f"outbox: {_outbox_words(present, now)}")
    if daemon.alive not in (Alive.NEVER_RAN, Alive.GONE):
        since = tables.local(daemon.started_at, now)
        tables.line(out, f"daemon: pid {daemon.pid} on {tidy(daemon.host)}, started {since}")


def _draw_steps(out: Console, number: int, steps: Sequence[tuple[str, str]]) -> None:
    """What an alert is about, and what to do."""
    out.print()
    for what, do in steps:
        tables.line(out, f"#{number} {what}", tables.WARN)
        tables.line(out, do, indent=2)


def _queue_row(present: Present, rules: QueueRules, now: int) -> Sequence[tables.Cell]:
    queue, span, alert = _of(present, rules.name)
    state = alert.state if alert is not None else State.UNKNOWN
    if queue is not None and queue.nearest:
        words: tables.Cell = ("not in the account", tables.BAD)
    else:
        words = (en_status.STATES[state], tables.WARN if state is State.FIRING else "")
    depth, oldest = "?", "?"
    if (seen := _last_seen(present, queue, span)) is not None:
        depth, oldest = f"was {seen.depth:,}", tables.ago(seen.oldest_at, now)
    elif span is not None and span.depth is not None:
        depth, oldest = f"{span.depth:,}", tables.ago(span.oldest_at, now)
    return (
        tidy(rules.name),
        words,
        depth,
        oldest,
        _deadline(_expires_at(present, queue, span), now),
        _read_words(span, now),
    )


def _read_words(span: Span | None, now: int) -> tables.Cell:
    if span is None:
        return "never"
    if span.kind is SampleKind.FAILED:
        return f"failed {tables.ago(span.last_at, now)}", tables.WARN
    return tables.ago(span.last_at, now)


def _deadline(at: int | None, now: int) -> str:
    if at is None:
        return "–"
    left = duration(at - now) if at > now else "past"
    return f"{tables.local(at, now, headed=True)} ({left})"


def _firing_words(present: Present) -> str:
    firing = [i for i in present.incidents if i.resolved_at is None]
    if not firing:
        return "no alert fires"
    depths = [i.facts.depth for i in firing if isinstance(i.facts, DepthFacts)]
    alerts = "1 alert fires" if len(firing) == 1 else f"{len(firing)} alerts fire"
    return f"{alerts}, for {letters(sum(depths))}" if depths else alerts


def _style(state: DestinationState) -> str:
    return {DestinationState.OK: tables.GOOD, DestinationState.FAILING: tables.WARN}.get(
        state, tables.BAD
    )


def _outbox_words(present: Present, now: int) -> str:
    if not present.waiting:
        return "nothing waits to be sent"
    many = len(present.waiting)
    oldest = tables.ago(min(n.created_at for n in present.waiting), now)
    return f"{many} notice{'s' if many != 1 else ''} to be sent, the oldest made {oldest}"
