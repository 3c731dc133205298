"""What is remembered: one dataclass a table, each instance one whole row.

`advance` returns these; memory and the journal apply the same ones. A row is always written
whole, and its id comes from the engine, so that writing it twice does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar

from dlqwatch.facts import Facts, IncidentKind, Ledger
from dlqwatch.model import (
    DestinationState,
    DeviationKind,
    NoticeStatus,
    Outcome,
    Reason,
    Resolution,
    Rule,
    SampleKind,
    SampleReason,
    Severity,
    State,
)

Key = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A whole row of one table."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ("id",)

    @property
    def identity(self) -> Key:
        return tuple(getattr(self, name) for name in self.KEY)

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return tuple(f.name for f in fields(cls))


@dataclass(frozen=True, slots=True)
class Meta(Row):
    """One fact about the database itself: id, born_at, version, fingerprint, retry_at."""

    TABLE = "meta"
    KEY = ("name",)
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Kept:
    """From then on the queue kept its messages for so long."""

    since: int
    ms: int


@dataclass(frozen=True, slots=True)
class Queue(Row):
    """A watched queue, its id at Cloudflare and what the last audit read."""

    TABLE = "queues"
    id: int
    name: str
    first_seen_at: int
    cloudflare_id: str | None = None
    retention_ms: int | None = None
    audited_at: int | None = None
    nearest: str = ""  # JSON list; not "" while a fully read list doesn't have the name
    retentions: tuple[Kept, ...] = ()  # as they changed
    deviations: tuple[DeviationKind, ...] = ()  # of the last audit
    good_at: int | None = None  # the last good reading before readings began to fail
    good_depth: int | None = None


@dataclass(frozen=True, slots=True)
class Span(Row):
    """Successive polls that read the same. A gap between two spans is a gap."""

    TABLE = "spans"
    id: int
    queue: int
    first_at: int
    last_at: int
    polls: int
    every_ms: int
    kind: SampleKind
    depth: int | None
    bytes: int | None
    oldest_at: int | None
    reason: SampleReason | None
    detail: str


@dataclass(frozen=True, slots=True)
class Hour(Row):
    """A queue's hour in one row, kept for good. `hour`: ms at its start."""

    TABLE = "hours"
    KEY = ("queue", "hour")
    queue: int
    hour: int
    polls: int
    failed: int
    covered_ms: int
    low: int | None
    high: int | None
    oldest_ms: int | None  # the greatest age seen


@dataclass(frozen=True, slots=True)
class Incident(Row):
    """One firing span of an alert, and what people were told of it."""

    TABLE = "incidents"
    id: int
    rule: Rule
    subject: str
    opened_at: int
    severity: Severity
    facts: IncidentKind  # what a card shows now
    rev: int = 1  # goes up when facts change: a card that shows less is out of date
    resolved_at: int | None = None
    resolution: Resolution | None = None
    peak_depth: int | None = None
    lost: int = 0
    first_told_at: int | None = None
    told_at: int | None = None  # the last attempt that counts for the intervals
    told_by: tuple[str, ...] = ()  # the destinations that confirmed a word of it
    told_depth: int | None = None
    told_severity: Severity | None = None
    told_mark_ms: int | None = None
    told_lost: int = 0
    # the lowest complete depth (publish failures: the total) since one was last confirmed …
    told_low: int | None = None
    low: int | None = None  # … and since one was last put in a notice
    told_topics: tuple[str, ...] = ()  # what was confirmed so far …
    noted_topics: tuple[str, ...] = ()  # … and what was put in a notice
    ledger: Ledger = field(default_factory=Ledger)  # what is believed of falls (depth)
    held: bool = False  # a silence held something back that isn't told yet
    acked_at: int | None = None  # the newest ack that was seen
    acked_depth: int | None = None  # the depth then; None: no ack holds


@dataclass(frozen=True, slots=True)
class Alert(Row):
    """Where one (rule, subject) stands."""

    TABLE = "alerts"
    KEY = ("rule", "subject")
    rule: Rule
    subject: str
    state: State
    since: int
    clear_since: int | None = None
    incident: int | None = None
    hushed: int = 0  # incidents that opened and closed unsaid in a silence, not told of yet


@dataclass(frozen=True, slots=True)
class Transition(Row):
    """An alert changed its state."""

    TABLE = "transitions"
    id: int
    rule: Rule
    subject: str
    at: int
    old: State
    new: State
    because: str
    incident: int | None


@dataclass(frozen=True, slots=True)
class FallRow(Row):
    """Messages left a queue, and what that meant."""

    TABLE = "falls"
    id: int
    incident: int
    at: int
    before: int
    after: int
    left: int
    removed: int
    lost: int
    perhaps: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Notice(Row):
    """Something people must notice: the facts of a decision, waiting for its words."""

    TABLE = "notices"
    id: int
    key: str  # id and the database's random id: what is looked for in Slack's history
    incident: int | None
    reason: Reason
    severity: Severity
    facts: Facts
    created_at: int
    mention: bool = False
    status: NoticeStatus = NoticeStatus.PENDING
    delivered_at: int | None = None
    delivered_by: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery(Row):
    """One notice on its way to one destination."""

    TABLE = "deliveries"
    KEY = ("notice", "destination")
    notice: int
    destination: str
    next_at: int
    attempts: int = 0
    posting_since: int | None = None  # committed before the POST; only a definite answer clears it
    lost_answers: int = 0  # attempts whose answer never came: each may be a copy in Slack
    blind: bool = False  # a bot that may not read the history: goes on as a webhook
    plain: bool = False  # Slack refused the blocks: text only
    outcome: Outcome | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Card(Row):
    """A bot's parent message of an incident: state, edited as it changes."""

    TABLE = "cards"
    KEY = ("incident", "destination")
    incident: int
    destination: str
    channel: str
    ts: str
    shown_rev: int
    next_at: int = 0
    failures: int = 0
    frozen: bool = False  # editing is forbidden: goes on as with a webhook
    gone: bool = False  # the next notice becomes the new parent


@dataclass(frozen=True, slots=True)
class DestinationRow(Row):
    """How a destination fares."""

    TABLE = "destinations"
    KEY = ("name",)
    name: str
    fingerprint: str
    state: DestinationState
    since: int
    reason: str = ""
    last_ok_at: int | None = None
    free_at: int = 0  # nothing is sent before: a second a message, and Retry-After
    failures: int = 0
    probe_at: int = 0  # when to try it next without posting


@dataclass(frozen=True, slots=True)
class Silence(Row):
    """Holds back notices of an alert for a time. Written by commands, read by the daemon."""

    TABLE = "silences"
    id: int
    rule: str  # "" is every rule
    subject: str
    starts_at: int
    ends_at: int
    by: str
    reason: str
    lifted_at: int | None = None
    lifted_by: str | None = None


@dataclass(frozen=True, slots=True)
class Ack(Row):
    """Somebody has an incident in hand: no reminders. Written by commands."""

    TABLE = "acks"
    KEY = ("incident", "at")
    incident: int
    at: int
    by: str
    note: str = ""


TABLES: tuple[type[Row], ...] = (
    Meta,
    Queue,
    Span,
    Hour,
    Incident,
    Alert,
    Transition,
    FallRow,
    Notice,
    Delivery,
    Card,
    DestinationRow,
)
COMMAND_TABLES: tuple[type[Row], ...] = (Silence, Ack)  # written by commands alone


@dataclass(frozen=True, slots=True)
class Delete:
    """One row less."""

    table: type[Row]
    key: Key


@dataclass(frozen=True, slots=True)
class Prune:
    """Spans of a queue that ended before `before` are no longer kept."""

    queue: int
    before: int


Change = Row | Delete | Prune


def change_key(change: Change) -> tuple[object, ...]:
    """What a change is about: of two with the same key, only the newer matters."""
    if isinstance(change, Prune):
        return (Prune, change.queue)
    if isinstance(change, Delete):
        return (change.table, change.key)
    return (type(change), change.identity)
