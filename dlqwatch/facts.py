"""What is known when something is decided: frozen into a notice, shown on a card.

The words are made from facts when they are sent, for the destination that gets them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlqwatch.model import (
    DestinationKind,
    DeviationKind,
    Reason,
    Resolution,
    SampleReason,
    Severity,
    StoreTrouble,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """One complete reading."""

    at: int
    depth: int
    oldest_at: int | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """So many had arrived by a reading, and weren't there at the one before, `after`."""

    after: int
    by: int
    count: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is believed of an open incident's queue, and a fall that isn't believed yet."""

    basis: Mark | None = None
    doubted: Mark | None = None
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFacts:
    """What every incident has, whatever its rule."""

    at: int  # when what is told was read
    opened_at: int
    severity: Severity
    rev: int = 1  # of the incident these facts belong to
    resolved_at: int | None = None
    resolution: Resolution | None = None
    mark_ms: int | None = None  # the expiry mark that is being told
    topics: tuple[str, ...] = ()  # what could be news: a deviation, a queue that can't be seen
    runbook_url: str = ""
    silenced_until: int | None = None
    silenced_by: str = ""
    perhaps_told: bool = (
        False  # before a start that lost that, or in a message whose answer was lost
    )
    held: int = 0  # incidents that opened and closed unsaid while a silence held
    acked_by: str = ""
    ack_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthFacts(IncidentFacts):
    """A dead-letter queue that holds messages (QG-009)."""

    depth: int
    bytes: int | None
    oldest_at: int | None
    retention_ms: int | None  # None: not known yet, so no countdown
    threshold: int
    peak_depth: int
    told_depth: int | None = None  # what people were told last
    lost: int = 0  # expired: at least so many, inferred
    lost_at_most: int | None = None  # None: no more than `lost`; set after a gap in the readings
    removed: int = 0  # left before their deadline, not through dlqwatch
    handled: int = 0  # replayed or discarded through dlqwatch
    left_unknown: int = 0  # left, and why can't be said
    seen: bool = True  # False: the queue can't be read now; the numbers are those last seen
    qg009: bool = True

    @property
    def expires_at(self) -> int | None:
        """The earliest time at which Cloudflare may delete the oldest message."""
        if self.oldest_at is None or self.retention_ms is None:
            return None
        return self.oldest_at + self.retention_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts(IncidentFacts):
    """History isn't being written, or its file had to be begun anew."""

    path: str
    trouble: StoreTrouble
    detail: str  # SQLite's own word
    waiting: int  # rows held in memory
    kept_aside: str = ""  # where a damaged file lies now


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenQueue:
    """One queue that can't be read, and what was last known of it."""

    name: str
    reason: SampleReason
    detail: str  # Cloudflare's own words, status, code and ray id
    since: int  # nothing good has been read since
    last_depth: int | None = None  # None: it was never read well


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenQueue:
    """What was found when sight returned."""

    name: str
    depth: int
    before: int | None  # what was last seen before


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindFacts(IncidentFacts):
    """dlqwatch can't see one or more queues. `topics`: queue and kind of cure of each."""

    unseen: tuple[UnseenQueue, ...]
    needs_person: bool = False  # waiting won't cure it
    found: tuple[SeenQueue, ...] = ()  # set when it is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One thing that is wired otherwise than it should be."""

    kind: DeviationKind
    is_: str  # what is, in a few plain words or a value
    expected: str
    cure: str  # how to put it right: a wrangler line, or what to do
    critical: bool  # messages are being deleted unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class WiringFacts(IncidentFacts):
    """A queue isn't wired as it must be for dead letters to be seen. `topics`: the kinds."""

    source: str  # the queue whose dead letters should land here; "" if not configured
    deviations: tuple[Deviation, ...]
    strayed: tuple[Deviation, ...] = ()  # that led dead letters elsewhere earlier in the incident


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishFacts(IncidentFacts):
    """Events that never reached a queue, counted in the Worker's log."""

    worker: str
    needle: str  # what is looked for in the log
    count: int  # in the last whole window; an estimate, a lower bound where logs are sampled
    total: int  # since the incident opened
    window_from: int
    window_to: int


@dataclass(frozen=True, slots=True)
class StartedFacts:
    """What a `started` notice says: who runs, and what is watched from now on."""

    version: str
    queues: tuple[str, ...]
    poll_ms: int
    host: str = ""
    database_new: bool = True
    version_before: str = ""
    not_kept: tuple[str, ...] = ()  # queues whose rules don't keep QG-009
    not_acted_on: tuple[str, ...] = ()  # configured keys whose promise isn't built yet
    last_seen_at: int | None = None  # unclean_end: the last sign of life before
    unclean_ends: int = 0  # unclean_end: how many ends in a row, this one too


Facts = DepthFacts | StoreFacts | BlindFacts | WiringFacts | PublishFacts | StartedFacts
IncidentKind = DepthFacts | StoreFacts | BlindFacts | WiringFacts | PublishFacts


@dataclass(frozen=True, slots=True)
class Payload:
    """One Slack message. `text` is never empty: it is the push notification too."""

    text: str
    blocks: tuple[dict[str, object], ...] | None = None


@dataclass(frozen=True, slots=True)
class Telling:
    """All that the words of one Slack message are made from, when it is sent."""

    reason: Reason
    subject: str  # a queue's name, or "dlqwatch"
    incident: int | None  # the `#N` people see
    facts: Facts
    created_at: int  # when it was decided
    sent_at: int  # now: far from created_at, the message says that it is late
    kind: DestinationKind
    in_thread: bool = False  # a reply under the incident's card
    repeat: bool = False  # an earlier copy may have arrived
    mentions: tuple[str, ...] = ()  # whom to mention; empty: nobody
    dashboard_url: str = ""
