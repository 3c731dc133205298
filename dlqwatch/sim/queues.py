"""Queues as Cloudflare keeps them: messages by age, retention, settings, consumers."""

from __future__ import annotations

import hashlib
import json
import uuid
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

DEFAULT_RETENTION_S = 345_600  # four days: the paid plan's default
FREE_RETENTION_S = 86_400
EVENT_TYPES = ("EvidenceRecorded", "GoalSet", "WarmupFinished", "ExamAttemptSubmitted")

_serial = count(1)


def hex_id(what: str) -> str:
    """A new id of 32 hex characters, as queues and messages have."""
    return hashlib.md5(f"{what}:{next(_serial)}".encode()).hexdigest()


def iso(at: int) -> str:
    """ms since 1970 as Cloudflare writes times."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat().replace("+00:00", "Z")


def envelope(at: int) -> dict[str, Any]:
    """A nemo12 domain event. A new `event_id` and a new `idempotency_key` each time."""
    number = next(_serial)
    kind = EVENT_TYPES[number % len(EVENT_TYPES)]
    session = uuid.uuid5(uuid.NAMESPACE_OID, f"session-{number}")
    return {
        "event_id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"event-{number}")),
        "idempotency_key": f"warmup:{session}",
        "type": kind,
        "occurred_at": iso(at),
        "producer": "api",
        "version": 1,
        "payload": {"sessionId": str(session), "score": number % 11},
    }


def worker_consumer(
    script: str, dead_letter_queue: str = "", *, max_retries: int = 5, batch_size: int = 25
) -> dict[str, Any]:
    """A Worker consumer as real answers show it (`script`; `dead_letter_queue` "" when unset)."""
    return {
        "consumer_id": hex_id(script),
        "script": script,
        "type": "worker",
        "dead_letter_queue": dead_letter_queue,
        "settings": {
            "batch_size": batch_size,
            "max_retries": max_retries,
            "max_wait_time_ms": 5000,
            "max_concurrency": None,
            "retry_delay": 0,
        },
    }


@dataclass(slots=True)
class SimMessage:
    """A message in a queue. `at` is when it was written, `visible_at` after its delay (ms)."""

    body: Any
    at: int
    content_type: str = "json"
    visible_at: int = 0
    attempts: int = 1
    id: str = field(default_factory=lambda: hex_id("message"))
    ref: str = field(default_factory=lambda: hex_id("ref"))

    @property
    def raw(self) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    def peeked(self, encoding: str) -> dict[str, Any]:
        """As peek shows it. How it encodes a body is not documented, so that is a setting:
        "text" (JSON text), "base64", or "object"."""
        body: Any = self.raw.decode("utf-8", "replace")
        if self.content_type == "bytes" or (encoding == "base64" and self.content_type == "json"):
            body = b64encode(self.raw).decode()
        elif encoding == "object":
            body = self.body
        return {
            "id": self.id,
            "body": body,
            "attempts": self.attempts,
            "metadata": {"CF-Content-Type": self.content_type, "CF-sourceMessageSource": "worker"},
            "ref": self.ref,
            "timestamp_ms": self.at,
        }


@dataclass(slots=True)
class SimQueue:
    """A queue. Messages older than its retention are gone at the next look, paused or not."""

    name: str
    created_at: int
    retention_s: int = DEFAULT_RETENTION_S
    delivery_paused: bool = False
    delivery_delay: int = 0
    consumers: list[dict[str, Any]] = field(default_factory=list)
    producers: list[dict[str, Any]] = field(default_factory=list)
    messages: list[SimMessage] = field(default_factory=list)
    expired: int = 0  # how many this queue has lost to its retention
    metrics_override: dict[str, Any] = field(default_factory=dict)
    purged_at: int | None = None
    id: str = field(default_factory=lambda: hex_id("queue"))

    def expire(self, now: int) -> None:
        """Delete what is older than the retention."""
        kept = [m for m in self.messages if m.at + self.retention_s * 1000 > now]
        self.expired += len(self.messages) - len(kept)
        self.messages = kept

    def live(self, now: int) -> list[SimMessage]:
        """What is there to be seen, the oldest first."""
        self.expire(now)
        return [m for m in self.messages if m.visible_at <= now]

    def add(self, message: SimMessage) -> None:
        self.messages.append(message)
        self.messages.sort(key=lambda m: m.at)

    def metrics(self, now: int) -> dict[str, float]:
        """The three numbers, as floats; oldest is 0 for an empty queue."""
        live = self.live(now)
        return {
            "backlog_count": float(len(live)),
            "backlog_bytes": float(sum(len(m.raw) for m in live)),
            "oldest_message_timestamp_ms": float(live[0].at if live else 0),
        }

    def as_listed(self) -> dict[str, Any]:
        """The queue object of the list and of `GET …/queues/{id}`."""
        return {
            "queue_id": self.id,
            "queue_name": self.name,
            "created_on": iso(self.created_at),
            "modified_on": iso(self.created_at),
            "producers": self.producers,
            "producers_total_count": len(self.producers),
            "consumers": [{"queue_name": self.name, **c} for c in self.consumers],
            "consumers_total_count": len(self.consumers),
            "settings": {
                "delivery_delay": self.delivery_delay,
                "delivery_paused": self.delivery_paused,
                "message_retention_period": self.retention_s,
            },
        }


def pushed(sent: Mapping[str, Any], now: int, delay_s: Any = None) -> SimMessage | tuple[int, str]:
    """A message from a push's JSON; an error code and words when it can't be one."""
    kind = sent.get("content_type", "json")
    if "body" not in sent or kind not in ("json", "text"):
        return 10207, "Message schema is invalid: body and content_type json or text are required"
    if kind == "text" and not isinstance(sent["body"], str):
        return 10207, "Message schema is invalid: a text body must be a string"
    delay = sent.get("delay_seconds", delay_s) or 0
    if not isinstance(delay, int | float) or not 0 <= delay <= 86_400:
        return 10202, "Message delay is out of range"
    message = SimMessage(sent["body"], now, kind, visible_at=now + int(delay * 1000))
    if len(message.raw) > 128_000:
        return 10204, "Message is too large"
    return message
