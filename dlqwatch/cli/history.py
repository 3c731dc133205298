"""`dlqwatch history`: what was, from the database."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from dlqwatch.cli import quieted, tables
from dlqwatch.cli.incident import (
    Told,
    delivered_words,
    draw,
    end_words,
    lasted,
    severity,
    told_words,
)
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.settings import find_config, load
from dlqwatch.durations import parse_duration
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.store_reader import Reader
from dlqwatch.errors import EXIT_BAD
from dlqwatch.facts import StartedFacts
from dlqwatch.model import Rule
from dlqwatch.rows import Ack, Delivery, Incident, Notice, Silence
from dlqwatch.words import en_status
from dlqwatch.words.units import tidy

EXITS = (
    "0 fine (also with nothing to show), 1 no such incident, 2 usage or configuration, "
    "3 the database can't be read now"
)
OF_QUEUES = (Rule.DEPTH, Rule.WIRING)
KEYS = (
    "id", "rule", "queue", "severity", "opened_at", "resolved_at", "peak_depth", "lost",
    "resolution",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="only what was open since then: 7d, 12h, or a date such as 2026-11-29 (local)",
    )
    parser.add_argument("--queue", metavar="NAME", help="only this queue's")
    parser.add_argument("--rule", choices=[r.value for r in Rule], help="only this rule's")
    parser.add_argument("--incident", metavar="N", type=int, help="the whole story of one")
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument("--csv", action="store_true", help="for spreadsheets: times in UTC")


def main(options: argparse.Namespace) -> int:
    now = SystemClock().now()
    try:
        since = None if options.since is None else since_when(options.since, now)
    except ValueError as error:
        sys.stderr.write(f"dlqwatch history: --since: {error}\n")
        return 2
    settings = load(find_config(options.config, os.environ))
    with Reader(Path(settings.database.path)) as reader:
        incidents = reader.incidents(
            number=options.incident,
            since=since,
            subject=options.queue,
            rule=None if options.rule is None else Rule(options.rule),
        )
        told = _by_incident(*reader.notices([i.id for i in incidents]))
        silences, acks = reader.silences(None), reader.acks()
        if options.incident is not None and not incidents:
            return _no_such(reader, options)
        if options.json:
            tables.print_json(
                [
                    {**as_json(i, told.get(i.id, ())), **_quieted(i, silences, acks, now)}
                    for i in incidents
                ]
            )
        elif options.csv:
            _write_csv(incidents, told)
        elif options.incident is not None:
            draw(tables.console(), reader, incidents[0], told.get(options.incident, ()), now)
        else:
            filtered = options.queue is not None or options.rule is not None
            _draw(reader, incidents, told, since, now, only_incidents=filtered)
    return 0


def since_when(text: str, now: int) -> int:
    """`7d` ago, or an ISO date or time (local where it names no zone), in ms.

    Raises ValueError in words.
    """
    if text[:1].isdigit() and "-" not in text:
        return now - parse_duration(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            'expected a duration such as "7d" or "12h", or a date such as "2026-11-29"'
        ) from None


def _by_incident(
    notices: Sequence[Notice], deliveries: Sequence[Delivery]
) -> dict[int, tuple[Told, ...]]:
    sent: dict[int, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        sent[delivery.notice].append(delivery)
    found: dict[int, tuple[Told, ...]] = defaultdict(tuple)
    for notice in notices:
        found[notice.incident or 0] += (Told(notice, tuple(sent[notice.id])),)
    return found


def as_json(incident: Incident, told: Sequence[Told]) -> dict[str, Any]:
    """The documented shape of one incident."""
    return {
        "id": incident.id,
        "rule": incident.rule,
        "queue": incident.subject if incident.rule in OF_QUEUES else None,
        "severity": incident.severity,
        "opened_at": tables.utc(incident.opened_at),
        "resolved_at": tables.utc(incident.resolved_at),
        "peak_depth": incident.peak_depth,
        "lost": incident.lost,
        "resolution": incident.resolution,
        "notifications": [
            {
                "reason": one.notice.reason,
                "status": one.notice.status,
                "created_at": tables.utc(one.notice.created_at),
                "delivered_at": tables.utc(one.notice.delivered_at),
                "delivered_by": one.notice.delivered_by,
                "attempts": one.attempts,
            }
            for one in told
        ],
    }


def _quieted(
    incident: Incident, silences: Sequence[Silence], acks: Sequence[Ack], now: int
) -> dict[str, Any]:
    held = quieted.of_incident(silences, incident, now)
    return {
        "silences": [quieted.silence_json(s) for s in held],
        "acks": [quieted.ack_json(a) for a in acks if a.incident == incident.id],
    }


def _write_csv(incidents: Sequence[Incident], told: Mapping[int, Sequence[Told]]) -> None:
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow([*KEYS, "notices", "delivered", "first_delivered_at"])
    for incident in incidents:
        fields = as_json(incident, ())
        notices = told.get(incident.id, ())
        at = [t.notice.delivered_at for t in notices if t.notice.delivered_at is not None]
        first = tables.utc(min(at, default=None))
        rows.writerow([*(fields[key] for key in KEYS), len(notices), len(at), first])


def _no_such(reader: Reader, options: argparse.Namespace) -> int:
    newest = next(iter(reader.incidents()), None)
    known = "there are none yet" if newest is None else f"the newest is #{newest.id}"
    narrowed = options.queue or options.rule or options.since
    others = " among those asked for" if narrowed else ""
    sys.stderr.write(f"dlqwatch history: no incident #{options.incident}{others}; {known}\n")
    return EXIT_BAD


# ---- for people


def _draw(
    reader: Reader,
    incidents: Sequence[Incident],
    told: Mapping[int, Sequence[Told]],
    since: int | None,
    now: int,
    *,
    only_incidents: bool,
) -> None:
    out = tables.console()
    starts = [] if only_incidents else _starts(reader, since)
    if not incidents:
        that = " that match" if only_incidents or since is not None else " so far"
        tables.line(out, f"No incidents{that}.")
    else:
        rows = [
            (
                f"{i.id}",
                tidy(i.subject),
                severity(i.severity),
                tables.local(i.opened_at, now, headed=True),
                lasted(i, now),
                "–" if i.peak_depth is None else f"{i.peak_depth:,}",
                end_words(i),
                told_words(told.get(i.id, ())),
            )
            for i in incidents
        ]
        opened = f"opened ({tables.zone(now)})"
        names = ("#", "queue", "severity", opened, "lasted", "most", "end", "told")
        tables.table(out, names, rows, right="# most")
        out.print()
        tables.line(out, f"The story of one: dlqwatch history --incident {incidents[0].id}")
    if starts:
        out.print()
        said = [_start_row(t, now) for t in reversed(starts)]
        tables.table(out, ("dlqwatch itself", "what", "told"), said)


def _starts(reader: Reader, since: int | None) -> list[Told]:
    found = _by_incident(*reader.notices(None)).get(0, ())
    return [t for t in found if since is None or t.notice.created_at >= since]


def _start_row(one: Told, now: int) -> tuple[str, str, str]:
    facts = one.notice.facts
    version = f", version {facts.version}" if isinstance(facts, StartedFacts) else ""
    what = en_status.REASONS[one.notice.reason] + version
    return tables.local(one.notice.created_at, now), what, delivered_words(one, now)
