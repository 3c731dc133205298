"""How readings are remembered: spans of equal polls, and hours for good."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.world import Draft
from dlqwatch.model import DAY, HOUR, QueueRules, Sample, SampleKind, SampleReason
from dlqwatch.rows import Hour, Queue, Span

# Only a person cures these. (HTML in their place is an outage, and has another reason.)
PERSON = frozenset({SampleReason.BAD_TOKEN, SampleReason.BAD_ACCOUNT})


def record(draft: Draft, queue: Queue, rules: QueueRules, sample: Sample) -> None:
    """Extend the queue's newest span or begin one, and count the poll in its hour."""
    last = last_span(draft, queue)
    # that the list doesn't have the queue is something seen, too
    sighted = last is not None and (
        last.depth is not None or last.reason is SampleReason.QUEUE_NOT_LISTED
    )
    if sample.kind is SampleKind.FAILED and last is not None and sighted:
        depth = queue.good_depth if last.depth is None else last.depth
        draft.put(replace(queue, good_at=last.last_at, good_depth=depth))
    gap = None if last is None else sample.at - last.last_at
    near = gap is not None and 0 <= gap <= 2 * rules.poll_ms
    if last is not None and near and _same(last, sample, rules):
        newest = replace(last, reason=sample.reason, detail=sample.detail)
        draft.put(replace(newest, last_at=sample.at, polls=last.polls + 1))
    else:
        draft.put(
            Span(
                id=draft.next_id(Span),
                queue=queue.id,
                first_at=sample.at,
                last_at=sample.at,
                polls=1,
                every_ms=rules.poll_ms,
                kind=sample.kind,
                depth=sample.depth,
                bytes=sample.bytes,
                oldest_at=sample.oldest_at,
                reason=sample.reason,
                detail=sample.detail,
            )
        )
    _count(draft, queue, sample, last, gap if gap is not None and near else rules.poll_ms)


def last_span(draft: Draft, queue: Queue) -> Span | None:
    spans = (s for s in draft.all(Span) if s.queue == queue.id)
    return max(spans, key=lambda s: s.id, default=None)


def _same(span: Span, sample: Sample, rules: QueueRules) -> bool:
    """Cloudflare's words differ at each failure (the ray id): they make no new span; nor does
    another refusal that only a person cures."""
    refused = span.reason in PERSON and sample.reason in PERSON
    return (span.kind, span.depth, span.bytes, span.oldest_at, span.every_ms) == (
        sample.kind,
        sample.depth,
        sample.bytes,
        sample.oldest_at,
        rules.poll_ms,
    ) and (refused or span.reason is sample.reason)


def _count(draft: Draft, queue: Queue, sample: Sample, last: Span | None, covered_ms: int) -> None:
    start = sample.at - sample.at % HOUR
    hour = draft.get(Hour, queue.id, start)
    if hour is None:
        hour = Hour(queue.id, start, 0, 0, 0, None, None, None)
        # a clock that leaps ahead must not take the history with it
        trusted = sample.at if last is None else min(sample.at, last.last_at + DAY)
        draft.prune(queue.id, trusted - draft.plan.keep_samples_ms)
    if sample.kind is SampleKind.FAILED or sample.depth is None:
        draft.put(replace(hour, polls=hour.polls + 1, failed=hour.failed + 1))
        return
    age = None if sample.oldest_at is None else max(0, sample.at - sample.oldest_at)
    draft.put(
        replace(
            hour,
            polls=hour.polls + 1,
            covered_ms=min(HOUR, hour.covered_ms + covered_ms),
            low=sample.depth if hour.low is None else min(hour.low, sample.depth),
            high=sample.depth if hour.high is None else max(hour.high, sample.depth),
            oldest_ms=hour.oldest_ms if age is None else max(age, hour.oldest_ms or 0),
        )
    )
