"""The field's words, as frozen dataclasses and enums. Imports nothing of ours.

Times are integer milliseconds since 1970 UTC (`*_at`, `now`); lengths of time are integer
milliseconds too (`*_ms`), unless a name ends in `_s`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Clock(Protocol):
    """Where time comes from. Tests pass one that they move by hand."""

    def now(self) -> int:
        """The wall clock, in ms since 1970 UTC. May step."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        ...


class Rule(StrEnum):
    """What an alert is about; the subject says of what."""

    DEPTH = "depth"  # QG-009: the dead-letter queue holds a message
    WIRING = "wiring"
    BLIND = "blind"
    PUBLISH_FAILURES = "publish_failures"
    STORE = "store"


class SampleKind(StrEnum):
    """How far a reading can be believed. Only a complete one closes an alert."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


class SampleReason(StrEnum):
    """Why a sample is partial or failed: a closed set, kept in the database."""

    # partial
    AGE_UNKNOWN = "age_unknown"  # count > 0, oldest 0: "0 if unknown" in Cloudflare's reference
    AGE_IN_FUTURE = "age_in_future"
    EMPTY_WITH_REMAINS = "empty_with_remains"  # count 0 beside bytes or an age
    BYTES_UNKNOWN = "bytes_unknown"
    # failed: we could not ask
    UNREACHABLE = "unreachable"  # DNS, connect, TLS, reset
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    # failed: Cloudflare did not answer as itself
    SERVER_ERROR = "server_error"
    NOT_JSON = "not_json"
    REDIRECTED = "redirected"
    # failed: Cloudflare refused
    BAD_TOKEN = "bad_token"  # 401, 403: the token is wrong or lacks the permission
    BAD_ACCOUNT = "bad_account"  # 404 without a queue code: no such account or route
    QUEUE_GONE = "queue_gone"  # 10104
    QUEUE_NOT_LISTED = "queue_not_listed"  # a fully read list doesn't have the name
    REFUSED = "refused"  # any other error, also inside a 200
    # failed: an answer that can't be true
    NONSENSE = "nonsense"


class Condition(StrEnum):
    """A rule's answer to one input. Unknown changes nothing."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class State(StrEnum):
    """Where an alert stands. `unknown` is only "never a yes or a no"."""

    UNKNOWN = "unknown"
    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"


class Severity(StrEnum):
    """Never falls inside an incident."""

    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return 1 if self is Severity.CRITICAL else 0


class Reason(StrEnum):
    """Why a notice was made: the closed set, the strongest first (order is meaning)."""

    DRILL = "drill"
    LOST = "lost"
    RESOLVED = "resolved"
    FIRST_AND_RESOLVED = "first_and_resolved"
    FIRST = "first"
    SILENCE_ENDED = "silence_ended"
    EXPIRY_NEAR = "expiry_near"
    SEVERITY_RAISED = "severity_raised"
    GROWN = "grown"
    REPEAT = "repeat"
    RECONNECTED = "reconnected"  # this destination works again; others were told meanwhile
    RESTARTED = "restarted"
    STARTED = "started"
    UNCLEAN_END = "unclean_end"

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return list(Reason).index(self)


class NoticeStatus(StrEnum):
    """What became of a notice."""

    PENDING = "pending"
    DELIVERED = "delivered"
    SUPERSEDED = "superseded"  # a later notice tells it too
    SILENCED = "silenced"
    DEAD = "dead"  # may have been posted, and is not worth a second copy


class Resolution(StrEnum):
    """Why an incident ended."""

    HANDLED = "handled"
    REMOVED = "removed"
    EXPIRED = "expired"
    DELETED = "deleted"
    UNKNOWN = "unknown"
    CLEARED = "cleared"
    DRILL = "drill"
    UNWATCHED = "unwatched"


class Outcome(StrEnum):
    """What one attempt at a destination came to."""

    DELIVERED = "delivered"
    TEMPORARY = "temporary"  # not posted; try again
    AMBIGUOUS = "ambiguous"  # may have been posted
    PAYLOAD = "payload"  # refused for what it says: again at once as plain text
    NEEDS_PERSON = "needs_person"
    TARGET_GONE = "target_gone"  # the message to edit or to reply to is gone


class DestinationKind(StrEnum):
    WEBHOOK = "webhook"
    BOT = "bot"


class DestinationState(StrEnum):
    OK = "ok"
    FAILING = "failing"
    NEEDS_PERSON = "needs_person"


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of a queue. `depth` is None exactly when it failed; never 0 for a failure."""

    at: int
    kind: SampleKind
    depth: int | None = None
    bytes: int | None = None
    oldest_at: int | None = None  # when the oldest message was written; None: unknown or empty
    reason: SampleReason | None = None
    detail: str = ""  # Cloudflare's own words, status and ray id, for people


@dataclass(frozen=True, slots=True)
class QueueRules:
    """`[alerts]` as it holds for one queue."""

    name: str
    source: str = ""  # the queue whose dead letters land here
    max_retries: int = 5
    poll_ms: int = 30 * SECOND
    threshold: int = 1
    hold_ms: int = 0
    keep_ms: int = 60 * SECOND
    group_ms: int = 15 * MINUTE
    repeat_ms: int = 24 * HOUR
    repeat_critical_ms: int = 4 * HOUR
    critical_depth: int = 100
    critical_age_share: float | None = 0.5  # of the retention; exactly one of the two is set
    critical_age_ms: int | None = None
    expiry_warnings_ms: tuple[int, ...] = (24 * HOUR, 6 * HOUR, HOUR)
    blind_after_ms: int = 5 * MINUTE
    audit_ms: int = 5 * MINUTE
    source_max_age_ms: int = HOUR
    retention_ms: int | None = None  # None: no less than was seen before
    may_have_consumer: bool = False
    runbook_url: str = ""

    @property
    def keeps_qg009(self) -> bool:
        """QG-009 asks for an alert at the first message: anything later doesn't keep it."""
        return self.threshold == 1 and self.hold_ms == 0


@dataclass(frozen=True, slots=True)
class PublishWatch:
    """`[publish_failures]`: what is counted in the log of which Worker, and how often."""

    worker: str
    needle: str
    interval_ms: int


@dataclass(frozen=True, slots=True)
class Destination:
    """Where notices go. `fingerprint` changes when the address does; it is no secret."""

    name: str  # "slack" or "slack.fallback"
    kind: DestinationKind
    fingerprint: str
    channel: str = ""  # a bot's channel ID
    mentions: tuple[str, ...] = ()  # whom to mention when it is critical


class StoreTrouble(StrEnum):
    """How the database fails. All but `locked` and `io` are told at once."""

    LOCKED = "locked"
    FULL = "full"
    READ_ONLY = "read_only"
    DELETED = "deleted"
    CORRUPT = "corrupt"
    IO = "io"
    OTHER = "other"


class DeviationKind(StrEnum):
    """What can be wired wrongly: a closed set, each told with is, expected and cure."""

    NO_DEAD_LETTER_QUEUE = "no_dead_letter_queue"
    OTHER_DEAD_LETTER_QUEUE = "other_dead_letter_queue"
    NO_CONSUMER = "no_consumer"
    NO_SOURCE = "no_source"
    MAX_RETRIES = "max_retries"
    PAUSED = "paused"
    SOURCE_OLD = "source_old"
    QUEUE_MISSING = "queue_missing"
    UNEXPECTED_CONSUMER = "unexpected_consumer"
    RETENTION_CUT = "retention_cut"
    RETENTION_SHORT = "retention_short"
    TOKEN_ENDS = "token_ends"
    CLOCK_OFF = "clock_off"
