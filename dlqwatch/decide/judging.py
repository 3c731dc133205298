"""A rule's condition and its severity, from one reading."""

from __future__ import annotations

from dlqwatch.model import Condition, QueueRules, Sample, SampleKind, Severity


def depth_condition(sample: Sample, rules: QueueRules) -> Condition:
    """QG-009. A partial reading can open an alert; only a complete one can close it."""
    if sample.kind is SampleKind.FAILED or sample.depth is None:
        return Condition.UNKNOWN
    if sample.depth >= rules.threshold:
        return Condition.YES
    return Condition.NO if sample.kind is SampleKind.COMPLETE else Condition.UNKNOWN


def time_left(oldest_at: int | None, retention_ms: int | None, now: int) -> int | None:
    """Until Cloudflare may delete the oldest message, at the earliest. None: not known."""
    if oldest_at is None or retention_ms is None:
        return None
    return oldest_at + retention_ms - now


def marks(rules: QueueRules, retention_ms: int) -> tuple[int, ...]:
    """The expiry marks that make sense for a retention: longer than half of it are dropped."""
    return tuple(m for m in rules.expiry_warnings_ms if m < retention_ms / 2)


def reached_mark(
    rules: QueueRules, oldest_at: int | None, retention_ms: int | None, now: int
) -> int | None:
    """The nearest mark that the time left is at or below; None before the first mark."""
    left = time_left(oldest_at, retention_ms, now)
    if left is None or retention_ms is None:
        return None
    return min((m for m in marks(rules, retention_ms) if left <= m), default=None)


def depth_severity(
    *,
    rules: QueueRules,
    depth: int,
    oldest_at: int | None,
    retention_ms: int | None,
    opened_at: int,
    now: int,
) -> Severity:
    """Critical: deep, old, or near its end. An unknown age is at least the incident's own."""
    if depth >= rules.critical_depth:
        return Severity.CRITICAL
    age = now - (opened_at if oldest_at is None else oldest_at)
    limit: float | None = rules.critical_age_ms
    if rules.critical_age_share is not None:
        limit = None if retention_ms is None else rules.critical_age_share * retention_ms
    if limit is not None and depth > 0 and age >= limit:
        return Severity.CRITICAL
    near = reached_mark(rules, oldest_at, retention_ms, now) is not None
    return Severity.CRITICAL if near and depth > 0 else Severity.WARNING
