"""What a fall in depth means (S5): handled, removed elsewhere, expired, or not known.

Cloudflare tells nobody that a message expired. What is known: how many there are, and the
timestamp of the oldest. From that:

- A fall is believed when a complete reading shows it and the next complete one doesn't take it
  back. An oldest timestamp that moves later is a fall too.
- Gone before the earliest deadline any of them can have (minus `TOLERANCE_MS`): removed.
- Otherwise those that were surely overdue when last seen are lost, "at least"; the rest of that
  fall may be, "at most". A message is surely overdue when the oldest's own timestamp, or the
  reading by which it had arrived, lies a retention back.

Whether the retention clock restarts on entering the dead-letter queue is documented nowhere: a
message may be older than its arrival, never younger, so every deadline is "at the earliest".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dlqwatch.facts import Arrival, Ledger, Mark
from dlqwatch.model import SECOND, Resolution, Sample

TOLERANCE_MS = 60 * SECOND
ARRIVALS_KEPT = 200


@dataclass(frozen=True, slots=True)
class Fall:
    """Messages left. `lost`: surely expired; `perhaps`: may have expired."""

    at: int
    before: int
    after: int
    left: int
    removed: int = 0
    lost: int = 0
    perhaps: int = 0
    unknown: int = 0


def opened(sample: Sample) -> Ledger:
    """The ledger of an incident that opens with this reading."""
    if sample.depth is None:
        return Ledger()
    basis = Mark(sample.at, sample.depth, sample.oldest_at)
    return Ledger(basis, None, (Arrival(sample.at, sample.depth),))


def read(
    ledger: Ledger, sample: Sample, retention_ms: int | None, jitter_ms: int
) -> tuple[Ledger, Fall | None]:
    """Take a complete reading in. The fall that it confirmed, if it did.

    `retention_ms`: the smallest that held since the oldest was written. `jitter_ms`: how far
    apart readings usually are.
    """
    if sample.depth is None:
        return ledger, None
    now = Mark(sample.at, sample.depth, sample.oldest_at)
    basis, doubted = ledger.basis, ledger.doubted
    if basis is None:
        return Ledger(now, None, (Arrival(now.at, now.depth),)), None
    if doubted is None:
        return _compare(ledger, basis, now), None
    if now.depth >= basis.depth and not _moved(basis, now):  # the gauge wobbled
        return _compare(replace(ledger, doubted=None), basis, now), None
    fall, believed = _believe(ledger, basis, doubted, retention_ms, jitter_ms)
    return _compare(believed, doubted, now), fall


def last(ledger: Ledger, retention_ms: int | None, jitter_ms: int) -> tuple[Ledger, Fall | None]:
    """A close believes its last fall without waiting for another reading."""
    if ledger.basis is None or ledger.doubted is None:
        return ledger, None
    fall, believed = _believe(ledger, ledger.basis, ledger.doubted, retention_ms, jitter_ms)
    return believed, fall


def resolution(*, lost: int, perhaps: int, unknown: int, removed: int, handled: int) -> Resolution:
    """The worst of several meanings names the incident."""
    if lost:
        return Resolution.EXPIRED
    if perhaps or unknown:
        return Resolution.UNKNOWN
    if removed:
        return Resolution.REMOVED
    return Resolution.HANDLED if handled else Resolution.UNKNOWN


def _moved(before: Mark, after: Mark) -> bool:
    """Did the oldest leave?"""
    if before.oldest_at is None:
        return False
    return after.depth == 0 or (after.oldest_at is not None and after.oldest_at > before.oldest_at)


def _compare(ledger: Ledger, basis: Mark, now: Mark) -> Ledger:
    if now.depth < basis.depth or (_moved(basis, now) and basis.depth > 0):
        return replace(ledger, basis=basis, doubted=now)
    arrivals = ledger.arrivals
    if now.depth > basis.depth:
        arrivals = _bounded((*arrivals, Arrival(now.at, now.depth - basis.depth)))
    known = now if now.oldest_at is not None else replace(now, oldest_at=basis.oldest_at)
    return Ledger(known, None, arrivals)


def _believe(
    ledger: Ledger, basis: Mark, after: Mark, retention_ms: int | None, jitter_ms: int
) -> tuple[Fall, Ledger]:
    left = max(basis.depth - after.depth, 1 if _moved(basis, after) else 0)
    fall = _meaning(ledger, basis, after, left, retention_ms, jitter_ms)
    arrived = after.depth - (basis.depth - left)
    arrivals = _without(ledger.arrivals, left)
    if arrived > 0:
        arrivals = _bounded((*arrivals, Arrival(after.at, arrived)))
    return fall, Ledger(after, None, arrivals)


def _meaning(
    ledger: Ledger,
    basis: Mark,
    after: Mark,
    left: int,
    retention_ms: int | None,
    jitter_ms: int,
) -> Fall:
    fall = Fall(after.at, basis.depth, after.depth, left)
    if retention_ms is None or basis.oldest_at is None:
        return replace(fall, unknown=left)
    if after.at < basis.oldest_at + retention_ms - TOLERANCE_MS:
        return replace(fall, removed=left)
    horizon = basis.at + TOLERANCE_MS + jitter_ms - retention_ms
    overdue = sum(a.count for a in ledger.arrivals if a.by <= horizon)
    if basis.oldest_at <= horizon:
        overdue = max(overdue, 1)
    lost = min(left, overdue)
    return replace(fall, lost=lost, perhaps=left - lost)


def _without(arrivals: tuple[Arrival, ...], left: int) -> tuple[Arrival, ...]:
    """The earliest arrivals are taken to leave first: what stays is never called overdue early."""
    kept: list[Arrival] = []
    for arrival in arrivals:
        gone = min(left, arrival.count)
        left -= gone
        if arrival.count > gone:
            kept.append(Arrival(arrival.by, arrival.count - gone))
    return tuple(kept)


def _bounded(arrivals: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
    """Not more than are worth keeping: the earliest are put together, under the later time."""
    if len(arrivals) <= ARRIVALS_KEPT:
        return arrivals
    first, second, *rest = arrivals
    return (Arrival(second.by, first.count + second.count), *rest)
