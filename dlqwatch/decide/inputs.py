"""Everything that can happen to the world: the closed set that `advance` takes."""

from __future__ import annotations

from dataclasses import dataclass

from dlqwatch.decide.counting import Window
from dlqwatch.decide.outcomes import Answer
from dlqwatch.decide.reading import Audit
from dlqwatch.model import Sample, StoreTrouble
from dlqwatch.rows import Row


@dataclass(frozen=True, slots=True)
class Started:
    """The process began. `database_id` is random and names a new database."""

    database_id: str
    host: str = ""
    journal_behind: bool = False  # the last process ended with rows that were never written
    last_seen_at: int | None = None  # the last sign of life, if that process was not let end


@dataclass(frozen=True, slots=True)
class Reading:
    """A poll ended, well or badly."""

    queue: str
    sample: Sample


@dataclass(frozen=True, slots=True)
class TimePassed:
    """A tick at which Cloudflare could not be asked."""

    queue: str


@dataclass(frozen=True, slots=True)
class QueueFound:
    """The account's list has the queue."""

    queue: str
    cloudflare_id: str


@dataclass(frozen=True, slots=True)
class QueueMissing:
    """A fully read list doesn't have the queue."""

    queue: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetentionRead:
    """How long the queue keeps its messages was read."""

    queue: str
    retention_ms: int | None


@dataclass(frozen=True, slots=True)
class Audited:
    """How the queue is wired was read, as far as it could be."""

    queue: str
    audit: Audit


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Cloudflare asked for no call before `until` (ms)."""

    until: int


@dataclass(frozen=True, slots=True)
class ClockStepped:
    """The wall clock went back by `by_ms` (> 0) against the monotonic one."""

    by_ms: int


@dataclass(frozen=True, slots=True)
class Posting:
    """A notice is about to be posted. Committed before the POST."""

    notice: int
    destination: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A POST of a notice ended."""

    notice: int
    destination: str
    answer: Answer
    incident: int | None = None  # the notice's
    last: bool = False  # it is the incident's last word


@dataclass(frozen=True, slots=True)
class Looked:
    """Slack's history was searched for a notice that may have been posted.

    DELIVERED: it is there. TARGET_GONE: it isn't. NEEDS_PERSON: we may not look.
    """

    notice: int
    destination: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit of a card to `rev` ended."""

    incident: int
    destination: str
    rev: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Probed:
    """A destination was tried without posting.

    DELIVERED: it works. NEEDS_PERSON: it doesn't. Anything else says nothing.
    """

    destination: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class StoreLooked:
    """How the journal fares, at each tick.

    `failing_since`: None while commits succeed; `ok_since`: since when they do. `trouble` is that
    of the failure, or of a file that had to be begun anew at `renewed_at`.
    """

    failing_since: int | None
    ok_since: int | None
    trouble: StoreTrouble | None
    detail: str
    path: str
    waiting: int
    renewed_at: int | None = None
    kept_aside: str = ""


@dataclass(frozen=True, slots=True)
class PublishCounted:
    """How many failures to publish a part of the Worker's log holds. Window None: time passed."""

    window: Window | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Rejoined:
    """The journal's file, unreadable at the start, could be read at last: its live rows."""

    rows: tuple[Row, ...]


Input = (
    Started
    | Rejoined
    | Reading
    | TimePassed
    | QueueFound
    | QueueMissing
    | RetentionRead
    | Audited
    | RateLimited
    | ClockStepped
    | Posting
    | Answered
    | Looked
    | Edited
    | Probed
    | StoreLooked
    | PublishCounted
)
