"""Whether dlqwatch does its work, and if not, why not: pure, from what is remembered and seen.

An alert that fires is no trouble of dlqwatch's: it is what it is for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dlqwatch.decide.alive import Alive
from dlqwatch.facts import BlindFacts
from dlqwatch.model import MINUTE, DestinationState, QueueRules, SampleReason
from dlqwatch.rows import (
    Ack,
    Alert,
    Delivery,
    DestinationRow,
    Incident,
    Notice,
    Queue,
    Silence,
    Span,
)

UNTOLD_MS = 5 * MINUTE  # a notice that waits longer is trouble


@dataclass(frozen=True, slots=True)
class Present:
    """What the database holds of the present. Empty where there is no database yet."""

    queues: tuple[Queue, ...] = ()
    spans: Mapping[int, Span] = field(default_factory=dict)  # a queue's id: its newest span
    good_at: Mapping[int, int] = field(default_factory=dict)  # … its last good reading
    alerts: tuple[Alert, ...] = ()
    incidents: tuple[Incident, ...] = ()  # the open ones
    waiting: tuple[Notice, ...] = ()  # the pending notices, the oldest first
    deliveries: tuple[Delivery, ...] = ()  # … and where they stand
    destinations: tuple[DestinationRow, ...] = ()
    silences: tuple[Silence, ...] = ()  # that nobody lifted
    acks: tuple[Ack, ...] = ()  # of the open incidents
    exists: bool = True

    def queue(self, name: str) -> Queue | None:
        return next((q for q in self.queues if q.name == name), None)


@dataclass(frozen=True, slots=True)
class Daemon:
    """What the lock and the pulse show of the daemon. Times in ms, `silent_s` in seconds."""

    alive: Alive
    started_at: int = 0
    behind: bool = False
    pid: int = 0
    host: str = ""
    silent_s: float = 0.0
    limit_s: float = 0.0
    ended: bool = False  # it ended as it should


class Cause(StrEnum):
    """Why it isn't healthy: a closed set, the gravest first."""

    NO_DAEMON = "no_daemon"
    SILENT = "silent"
    NO_DATABASE = "no_database"
    IN_MEMORY = "in_memory"
    NOT_LISTED = "not_listed"
    UNWATCHED = "unwatched"
    UNREAD = "unread"
    DESTINATION = "destination"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason. What the fields hold depends on the cause; the words are made elsewhere."""

    cause: Cause
    subject: str = ""  # a queue or a destination
    since: int | None = None
    detail: str = ""  # Slack's or Cloudflare's own words
    nearest: tuple[str, ...] = ()
    reason: SampleReason | None = None
    count: int = 0


def troubles(
    present: Present, daemon: Daemon, queues: Iterable[QueueRules], now: int
) -> tuple[Trouble, ...]:
    """Every reason for which it isn't healthy, the gravest first; () means it is."""
    return tuple(_troubles(present, daemon, queues, now))


def _troubles(
    present: Present, daemon: Daemon, queues: Iterable[QueueRules], now: int
) -> Iterator[Trouble]:
    if daemon.alive in (Alive.NEVER_RAN, Alive.GONE):
        yield Trouble(Cause.NO_DAEMON)
    elif daemon.alive is not Alive.RUNS:
        yield Trouble(Cause.SILENT)
    runs = daemon.alive not in (Alive.NEVER_RAN, Alive.GONE)
    if not present.exists:
        if runs:  # without a daemon there is nothing to miss
            yield Trouble(Cause.NO_DATABASE)
        return
    if daemon.behind:
        yield Trouble(Cause.IN_MEMORY)
    for rules in queues:
        yield from _of_queue(present, daemon, rules, now)
    for row in present.destinations:
        if row.state is DestinationState.NEEDS_PERSON:
            yield Trouble(Cause.DESTINATION, row.name, row.since, row.reason)
    if not daemon.behind:  # what was told since may just not be written down
        yield from _untold(present, now)


def _of_queue(present: Present, daemon: Daemon, rules: QueueRules, now: int) -> Iterator[Trouble]:
    queue = present.queue(rules.name)
    if queue is not None and queue.nearest:
        yield Trouble(Cause.NOT_LISTED, rules.name, nearest=tuple(json.loads(queue.nearest)))
        return
    if daemon.alive is not Alive.RUNS or daemon.behind:
        return  # said already, and it explains this one
    since = daemon.started_at
    span = None
    if queue is not None:
        since = max(since, present.good_at.get(queue.id, 0))
        span = present.spans.get(queue.id)
    if now - since < rules.blind_after_ms and rules.name not in _told_blind(present):
        return
    if not any(a.subject == rules.name for a in present.alerts):
        yield Trouble(Cause.UNWATCHED, rules.name)
    else:
        reason, detail = (None, "") if span is None else (span.reason, span.detail)
        yield Trouble(Cause.UNREAD, rules.name, since, detail, reason=reason)


def _told_blind(present: Present) -> set[str]:
    """The queues that the open alert says can't be seen: it may open sooner."""
    return {
        unseen.name
        for incident in present.incidents
        if isinstance(incident.facts, BlindFacts) and incident.resolved_at is None
        for unseen in incident.facts.unseen
    }


def _untold(present: Present, now: int) -> Iterator[Trouble]:
    late = [n for n in present.waiting if now - n.created_at > UNTOLD_MS]
    if not late:
        return
    errors = [d.error for d in present.deliveries if d.notice == late[0].id and d.error]
    yield Trouble(Cause.UNTOLD, since=late[0].created_at, detail="; ".join(errors), count=len(late))
