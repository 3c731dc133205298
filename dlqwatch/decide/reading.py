"""What Cloudflare answered, read as the field's words: a sample, a queue's settings, a token.

Facts about the fields: Cloudflare's API reference for Queues. Its client libraries type every
number as a float, so 7.0 is seven; "0 if unknown" is said of the oldest timestamp.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from dlqwatch.decide.plain import plain
from dlqwatch.errors import CloudflareError
from dlqwatch.model import MINUTE, SECOND, Sample, SampleKind, SampleReason

MOST_MESSAGES = 10**9  # a queue holds 25 GB at most: more messages than this is nonsense
MOST_BYTES = 10**15
CLOCK_TOLERANCE = MINUTE  # how far Cloudflare's clock may be ahead of ours

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who takes messages from a queue. None: Cloudflare didn't say.

    `dead_letter_queue` is "" where none is set.
    """

    script: str | None
    type: str | None  # "worker" or "http_pull"
    dead_letter_queue: str | None
    max_retries: int | None


@dataclass(frozen=True, slots=True)
class Producer:
    """Who puts messages into a queue. None: Cloudflare didn't say."""

    script: str | None
    type: str | None  # "worker" or "r2_bucket"


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """How a queue is set up. None: Cloudflare didn't say, or said something that can't be."""

    name: str | None
    retention_ms: int | None
    delivery_paused: bool | None
    consumers: tuple[Consumer, ...] | None
    producers: tuple[Producer, ...] | None


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """An API token. `status` is active, disabled or expired; `expires_at` None: never, or
    unknown."""

    status: str
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """How things are. None: that part could not be read, or isn't asked for.

    `of_us`: token and clock are asked for too.
    """

    queue: QueueSettings | None = None
    source: QueueSettings | None = None
    source_missing: bool = False  # a fully read list doesn't have it
    source_nearest: tuple[str, ...] = ()
    backlog_read: bool = False
    source_oldest_at: int | None = None  # None: empty, if the backlog was read
    of_us: bool = False
    token_read: bool = False
    token_ends_at: int | None = None  # None: it has no end, if it was read
    clock_off_ms: int | None = None  # our clock minus Cloudflare's


class _NonsenseError(ValueError):
    """A value that can't be true; the text names the key and what is wrong."""


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'the text "{plain(value, 40)}"'
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return plain(str(value), 40)


def _number(fields: Mapping[str, object], key: str, most: float = math.inf) -> int:
    """A count or a time, rounded up: 0.2 of a message is a message. Raises _NonsenseError."""
    value = fields.get(key)
    if key not in fields:
        raise _NonsenseError(f"{key} is missing")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _NonsenseError(f"{key} is {_kind(value)}, not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise _NonsenseError(f"{key} is {value}")
    if value < 0:
        raise _NonsenseError(f"{key} is negative ({_kind(value)})")
    if value > most:
        raise _NonsenseError(f"{key} is absurd ({_kind(value)})")
    return math.ceil(value)


def read_metrics(result: object, at: int) -> Sample:
    """The sample in `result` of `GET …/queues/{id}/metrics`, read at `at` (ms).

    Complete: a count with an oldest timestamp between 0 and now, or count, bytes and oldest all
    0. Partial: a count that can be believed beside bytes or an age that can't. Failed
    (`NONSENSE`): no count that can be believed. Never raises.
    """
    if not isinstance(result, dict):
        return _nonsense(at, f"result is {_kind(result)}, not an object")
    try:
        depth = _number(result, "backlog_count", MOST_MESSAGES)
    except _NonsenseError as wrong:
        return _nonsense(at, str(wrong))
    wrongs: list[str] = []
    size = _number_or_none(result, "backlog_bytes", MOST_BYTES, wrongs)
    oldest = _number_or_none(result, "oldest_message_timestamp_ms", math.inf, wrongs)
    reason: SampleReason | None = None
    if depth == 0 and (size or oldest):
        reason = SampleReason.EMPTY_WITH_REMAINS
        wrongs.append(f"backlog_count is 0 beside {size} bytes and an oldest time of {oldest}")
    elif oldest is None:
        reason = SampleReason.AGE_UNKNOWN
    elif depth > 0 and oldest == 0:
        reason = SampleReason.AGE_UNKNOWN
        wrongs.append("oldest_message_timestamp_ms is 0, which means unknown")
    elif oldest > at + CLOCK_TOLERANCE:
        reason = SampleReason.AGE_IN_FUTURE
        wrongs.append(f"oldest_message_timestamp_ms is in the future ({_kind(oldest)})")
    elif size is None:
        reason = SampleReason.BYTES_UNKNOWN
    believable = oldest and oldest <= at + CLOCK_TOLERANCE
    return Sample(
        at,
        SampleKind.COMPLETE if reason is None else SampleKind.PARTIAL,
        depth=depth,
        bytes=size,
        oldest_at=min(oldest, at) if oldest and believable else None,
        reason=reason,
        detail=plain("; ".join(wrongs)),
    )


def _number_or_none(
    fields: Mapping[str, object], key: str, most: float, wrongs: list[str]
) -> int | None:
    try:
        return _number(fields, key, most)
    except _NonsenseError as wrong:
        wrongs.append(str(wrong))
        return None


def _nonsense(at: int, detail: str) -> Sample:
    return Sample(at, SampleKind.FAILED, reason=SampleReason.NONSENSE, detail=plain(detail))


def failed(error: CloudflareError, at: int) -> Sample:
    """The sample of a poll that got no usable answer: unknown, never 0.

    Its detail holds Cloudflare's own words, the status, the code and the ray id.
    """
    return Sample(at, SampleKind.FAILED, reason=error.reason, detail=plain(error.what, 400))


def read_queue(result: object) -> QueueSettings:
    """The settings in `result` of `GET …/queues/{id}`; what is missing or odd is None."""
    fields = _fields(result)
    settings = _fields(fields.get("settings"))
    retention_s = _number_or_none(settings, "message_retention_period", 10**9, [])
    paused = settings.get("delivery_paused")
    return QueueSettings(
        name=_text(fields.get("queue_name")),
        retention_ms=retention_s * SECOND if retention_s else None,
        delivery_paused=paused if isinstance(paused, bool) else None,
        consumers=_each(fields.get("consumers"), _consumer),
        producers=_each(fields.get("producers"), _producer),
    )


def _consumer(fields: Mapping[str, object]) -> Consumer:
    return Consumer(
        script=_script(fields),
        type=_text(fields.get("type")),
        dead_letter_queue=_text(fields.get("dead_letter_queue")),
        max_retries=_number_or_none(
            _fields(fields.get("settings")), "max_retries", MOST_MESSAGES, []
        ),
    )


def _producer(fields: Mapping[str, object]) -> Producer:
    return Producer(script=_script(fields), type=_text(fields.get("type")))


def read_token(result: object) -> TokenInfo:
    """The token in `result` of `GET …/tokens/verify`."""
    fields = _fields(result)
    expires_at: int | None = None
    try:
        moment = datetime.fromisoformat(_text(fields.get("expires_on")) or "")
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        expires_at = int(moment.timestamp() * SECOND)
    except (ValueError, OverflowError):
        pass  # no date, or one that nobody can read: not known to expire
    return TokenInfo(
        status=plain(_text(fields.get("status")) or "unknown", 40), expires_at=expires_at
    )


def _fields(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _script(fields: Mapping[str, object]) -> str | None:
    # real answers say `script`, the published libraries `script_name`
    return _text(fields.get("script")) or _text(fields.get("script_name"))


def _each(value: object, read: Callable[[Mapping[str, object]], T]) -> tuple[T, ...] | None:
    return tuple(read(_fields(one)) for one in value) if isinstance(value, list) else None


def nearest_names(name: str, names: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """Up to `n` of `names` that look most like `name`, best first; case doesn't matter."""
    by_folded = {one.casefold(): one for one in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n)
    return tuple(plain(by_folded[one], 100) for one in close)
