"""How long a queue keeps its messages: what is, what was, what should be."""

from __future__ import annotations

from dataclasses import dataclass

from dlqwatch.rows import Kept, Queue

LOG_KEPT = 20


@dataclass(frozen=True, slots=True)
class Term:
    """How long messages are kept: the least that held since the oldest was written, and now.

    Whether raising it saves what is there already isn't documented: nothing is due later than by
    the least, and nothing surely gone before the present one.
    """

    least_ms: int
    now_ms: int


def noted(queue: Queue, retention_ms: int | None, now: int) -> tuple[Kept, ...]:
    """The retentions seen so far, with this one, the earliest first."""
    log = queue.retentions
    if retention_ms is None or (log and log[-1].ms == retention_ms):
        return log
    return (*log, Kept(now, retention_ms))[-LOG_KEPT:]


def term(queue: Queue, since: int | None) -> Term | None:
    """What holds for messages of which the oldest was written then. None: it was never read."""
    least = least_since(queue, since)
    if least is None or queue.retention_ms is None:
        return None
    return Term(least, queue.retention_ms)


def least_since(queue: Queue, since: int | None) -> int | None:
    """The smallest retention seen since then. None: it was never read."""
    log = queue.retentions
    if not log or queue.retention_ms is None:
        return queue.retention_ms
    ends = [*(k.since for k in log[1:]), None]
    held = [
        k.ms
        for k, end in zip(log, ends, strict=True)
        if end is None or since is None or end > since
    ]
    return min([queue.retention_ms, *held])
