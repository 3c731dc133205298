"""What the facts of a message amount to at the moment it is sent, in no language. Pure."""

from __future__ import annotations

from dlqwatch.facts import BlindFacts, DepthFacts, IncidentFacts, Telling
from dlqwatch.model import MINUTE, Reason, Resolution

FUTURE_MS = MINUTE  # an oldest message further in the future than this has no known age


def oldest_age(facts: DepthFacts, now: int) -> int | None:
    """How old the oldest message is at `now`, in ms; None where it isn't known.

    An oldest of 0 is Cloudflare's word for "unknown", not an age of 56 years.
    """
    if facts.oldest_at is None or facts.oldest_at <= 0 or facts.oldest_at > facts.at + FUTURE_MS:
        return None
    return max(0, now - facts.oldest_at)


def retention_of(facts: DepthFacts) -> int | None:
    """How long the queue keeps a message, in ms; None where it isn't known."""
    return facts.retention_ms if facts.retention_ms and facts.retention_ms > 0 else None


def deadline(facts: DepthFacts, now: int) -> int | None:
    """When the oldest message may be deleted, in ms since 1970; None where it isn't known."""
    if oldest_age(facts, now) is None or retention_of(facts) is None:
        return None
    return facts.expires_at


def is_over(telling: Telling) -> bool:
    """Whether the message tells the end of an incident."""
    return isinstance(telling.facts, IncidentFacts) and (
        telling.facts.resolved_at is not None
        or telling.reason in (Reason.RESOLVED, Reason.FIRST_AND_RESOLVED)
    )


def is_loss(facts: DepthFacts) -> bool:
    """Whether messages are gone for good, or may be."""
    return (
        facts.lost > 0
        or (facts.lost_at_most or 0) > 0
        or facts.resolution in (Resolution.EXPIRED, Resolution.DELETED)
    )


def ended_at(telling: Telling) -> int:
    """When the incident ended, in ms since 1970; now where that isn't written down."""
    facts = telling.facts
    if isinstance(facts, IncidentFacts) and facts.resolved_at is not None:
        return facts.resolved_at
    return telling.sent_at


def peak_of(facts: DepthFacts) -> int:
    """The deepest that the queue is known to have been in this incident."""
    return max(facts.peak_depth, facts.depth, facts.told_depth or 0)


def blind_since(facts: BlindFacts) -> int:
    """Since when the first of the queues can't be seen, in ms since 1970."""
    return min([facts.opened_at, *(queue.since for queue in facts.unseen)])
