"""What a fall in depth means (S5): handled, removed elsewhere, expired, or not known.

Cloudflare tells nobody that a message expired. What is known: how many there are, and the
timestamp of the oldest. From that:

- A fall is believed as far as a complete reading shows it and the next complete one doesn't take
  it back. An oldest timestamp that moves later is a fall too.
- Gone before the earliest deadline any of them can have (minus `TOLERANCE_MS`): removed.
- Otherwise those that were overdue when last seen are lost, "at least"; the rest of that fall may
  be, "at most". A message is overdue when its deadline lies before the next reading and
  `TOLERANCE_MS`. Its age is known from both sides: it had arrived by some reading, and it is older
  than the oldest that stayed. Those that leave are taken to be the oldest.

Whether the retention clock restarts on entering the dead-letter queue is documented nowhere: a
message may be older than its arrival, never younger, so every deadline is "at the earliest".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dlqwatch.decide.retention import Term
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
    return _begun(Mark(sample.at, sample.depth, sample.oldest_at))


def read(
    ledger: Ledger, sample: Sample, term: Term | None, jitter_ms: int
) -> tuple[Ledger, Fall | None]:
    """Take a complete reading in. The fall that it confirmed, if it did.

    `term`: how long what lies there is kept; None: not known. `jitter_ms`: how far apart readings
    usually are.
    """
    if sample.depth is None:
        return ledger, None
    now = Mark(sample.at, sample.depth, sample.oldest_at)
    basis, doubted = ledger.basis, ledger.doubted
    if basis is None:
        return _begun(now), None
    if doubted is None:
        return _compare(ledger, basis, now), None
    if now.depth >= basis.depth and not _moved(basis, now):  # the gauge wobbled
        return _compare(replace(ledger, doubted=None), basis, now), None
    fall, believed = _believe(ledger, basis, _agreed(doubted, now), term, jitter_ms)
    after = believed.basis
    return (believed if after is None else _compare(believed, after, now)), fall


def last(ledger: Ledger, term: Term | None, jitter_ms: int) -> tuple[Ledger, Fall | None]:
    """A close believes its last fall without waiting for another reading."""
    if ledger.basis is None or ledger.doubted is None:
        return ledger, None
    fall, believed = _believe(ledger, ledger.basis, ledger.doubted, term, jitter_ms)
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


def _begun(now: Mark) -> Ledger:
    return Ledger(now, None, (Arrival((now.oldest_at or 1) - 1, now.at, now.depth),))


def _moved(before: Mark, after: Mark) -> bool:
    """Did the oldest leave?"""
    if before.oldest_at is None:
        return False
    # an age of nothing is a timestamp that lies ahead of our clock: it isn't known to the second
    certain = before.oldest_at + (TOLERANCE_MS if before.oldest_at >= before.at else 0)
    return after.depth == 0 or (after.oldest_at is not None and after.oldest_at > certain)


def _agreed(doubted: Mark, now: Mark) -> Mark:
    """What both readings after a fall agree on: the less of it."""
    if now.depth > doubted.depth:
        return now
    if doubted.oldest_at is not None and now.oldest_at is not None:
        return replace(doubted, oldest_at=min(doubted.oldest_at, now.oldest_at))
    return doubted


def _compare(ledger: Ledger, basis: Mark, now: Mark) -> Ledger:
    if now.depth < basis.depth or (_moved(basis, now) and basis.depth > 0):
        return replace(ledger, basis=basis, doubted=now)
    arrivals = ledger.arrivals
    if now.depth > basis.depth:
        arrivals = _bounded((*arrivals, Arrival(basis.at, now.at, now.depth - basis.depth)))
    known = now if now.oldest_at is not None else replace(now, oldest_at=basis.oldest_at)
    return Ledger(known, None, arrivals)


def _believe(
    ledger: Ledger, basis: Mark, after: Mark, term: Term | None, jitter_ms: int
) -> tuple[Fall, Ledger]:
    counted = max(basis.depth - after.depth, 1 if _moved(basis, after) else 0)
    # older than the oldest there is: gone too, now or in an earlier fall that arrivals hid
    gone = sum(a.count for a in ledger.arrivals if a.by < (after.oldest_at or 0))
    hidden = max(0, gone - counted)
    fall = _meaning(ledger, basis, after, counted, hidden, term, jitter_ms)
    arrivals = _without(ledger.arrivals, counted + hidden)
    arrived = after.depth - (basis.depth - counted - hidden)
    if arrived > 0:
        arrivals = _bounded((*arrivals, Arrival(basis.at, after.at, arrived)))
    return fall, Ledger(after, None, arrivals)


def _meaning(
    ledger: Ledger,
    basis: Mark,
    after: Mark,
    counted: int,
    hidden: int,
    term: Term | None,
    jitter_ms: int,
) -> Fall:
    fall = Fall(after.at, basis.depth, after.depth, counted)
    if term is None or basis.oldest_at is None:
        return replace(fall, unknown=counted)
    if after.at < basis.oldest_at + term.least_ms - TOLERANCE_MS:
        return replace(fall, removed=counted)
    seen_at = min(basis.at, after.at)  # the clock may have gone back
    horizon = seen_at + TOLERANCE_MS + jitter_ms - term.now_ms
    lost = min(counted, _overdue(ledger, basis, after, horizon))
    return replace(fall, left=counted + hidden, lost=lost, perhaps=counted - lost + hidden)


def _overdue(ledger: Ledger, basis: Mark, after: Mark, horizon: int) -> int:
    """How many of those that left can be said to have been written before the horizon."""
    stays = after.oldest_at  # None: nothing stays
    older = [a for a in ledger.arrivals if stays is None or a.after < stays]
    overdue = sum(
        a.count for a in older if a.by <= horizon or (stays is not None and stays <= horizon)
    )
    if not _moved(basis, after):
        return max(0, overdue - 1)  # the oldest itself is still there
    return max(overdue, 1 if basis.oldest_at is not None and basis.oldest_at <= horizon else 0)


def _without(arrivals: tuple[Arrival, ...], left: int) -> tuple[Arrival, ...]:
    """The earliest arrivals are taken to leave first: what stays is never called overdue early."""
    kept: list[Arrival] = []
    for arrival in arrivals:
        gone = min(left, arrival.count)
        left -= gone
        if arrival.count > gone:
            kept.append(replace(arrival, count=arrival.count - gone))
    return tuple(kept)


def _bounded(arrivals: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
    """Not more than are worth keeping: the earliest are put together, under the later time."""
    if len(arrivals) <= ARRIVALS_KEPT:
        return arrivals
    first, second, *rest = arrivals
    return (Arrival(first.after, second.by, first.count + second.count), *rest)
