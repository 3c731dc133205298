"""How long a queue keeps its messages: what is, what was, what should be."""

from __future__ import annotations

from dlqwatch.rows import Kept, Queue

LOG_KEPT = 20


def noted(queue: Queue, retention_ms: int | None, now: int) -> tuple[Kept, ...]:
    """The retentions seen so far, with this one, the earliest first."""
    log = queue.retentions
    if retention_ms is None or (log and log[-1].ms == retention_ms):
        return log
    return (*log, Kept(now, retention_ms))[-LOG_KEPT:]


def least_since(queue: Queue, since: int | None) -> int | None:
    """The smallest retention seen since then: whether raising it saves what is there already
    isn't documented. None: it was never read."""
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
