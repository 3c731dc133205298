"""S5: what a fall in depth means, by example and against a queue whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlqwatch.decide import losses, retention
from dlqwatch.decide.losses import Fall
from dlqwatch.decide.retention import Term
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Resolution,
    Sample,
    SampleKind,
)
from dlqwatch.rows import Kept, Queue
from tests.rig import QUEUE

T0 = 1_794_000_000_000
POLL = 30 * SECOND
KEPT = Term(HOUR, HOUR)


def seen(at_s: float, depth: int, oldest_s: float | None = None) -> Sample:
    """A complete reading `at_s` after T0 of messages of which the oldest is from `oldest_s`."""
    oldest = None if oldest_s is None else T0 + int(oldest_s * 1000)
    return Sample(T0 + int(at_s * 1000), SampleKind.COMPLETE, depth, depth * 100, oldest)


def falls(*samples: Sample, term: Term | None = KEPT, close: bool = False) -> list[Fall]:
    """Every fall that these readings confirm."""
    ledger = losses.opened(samples[0])
    found = []
    for sample in samples[1:]:
        ledger, fall = losses.read(ledger, sample, term, POLL)
        found += [fall] if fall is not None else []
    if close:
        ledger, fall = losses.last(ledger, term, POLL)
        found += [fall] if fall is not None else []
    assert sum(a.count for a in ledger.arrivals) == (ledger.basis.depth if ledger.basis else 0)
    return found


def meant(fall: Fall) -> dict[str, int]:
    """How many left, by meaning."""
    by = {
        "removed": fall.removed,
        "lost": fall.lost,
        "perhaps": fall.perhaps,
        "unknown": fall.unknown,
    }
    assert sum(by.values()) == fall.left
    return {name: count for name, count in by.items() if count}


def only(*samples: Sample, term: Term | None = KEPT, close: bool = False) -> dict[str, int]:
    (fall,) = falls(*samples, term=term, close=close)
    return meant(fall)


# ---- when a fall is believed


def test_a_fall_that_the_next_reading_takes_back_is_none() -> None:
    assert falls(seen(0, 5, 0), seen(30, 3, 0), seen(60, 5, 0), seen(90, 5, 0)) == []


def test_a_gauge_that_wobbles_for_long_makes_no_fall() -> None:
    wobble = [seen(30 * n, 5 if n % 2 else 9, 0) for n in range(40)]
    assert falls(*wobble) == []


def test_a_fall_that_two_readings_show_is_believed() -> None:
    (fall,) = falls(seen(0, 5, 0), seen(30, 3, 0), seen(60, 3, 0))
    assert (fall.before, fall.after, fall.left, fall.at) == (5, 3, 2, T0 + 30_000)


def test_what_the_next_reading_takes_back_in_part_did_not_leave() -> None:
    """10, 3, 8: one reading of 3 is no proof that seven left."""
    (fall,) = falls(seen(0, 10, 0), seen(30, 3, 0), seen(60, 8, 0), seen(90, 8, 0))
    assert (fall.left, fall.after) == (2, 8)


def test_a_fall_in_two_steps_is_two() -> None:
    found = falls(seen(0, 10, 0), seen(30, 7, 0), seen(60, 4, 0), seen(90, 4, 0))
    assert [f.left for f in found] == [3, 3]


def test_an_oldest_that_moves_later_is_a_fall_though_the_depth_stays() -> None:
    """One expired and one arrived."""
    (fall,) = falls(seen(3_600, 2, 0), seen(3_630, 2, 100), seen(3_660, 2, 100))
    assert (fall.left, fall.before, fall.after) == (1, 2, 2)
    assert fall.lost == 1


def test_an_oldest_that_moves_later_and_back_is_none() -> None:
    assert falls(seen(100, 2, 0), seen(130, 2, 50), seen(160, 2, 0)) == []


def test_what_is_older_than_the_oldest_there_is_has_left_too() -> None:
    """Three left and three arrived between two readings: the count alone would say none."""
    (fall,) = falls(seen(10, 3, 0), seen(7_200, 3, 7_000), seen(7_230, 3, 7_000))
    assert (fall.left, fall.perhaps) == (3, 3)


def test_what_a_fall_hid_is_not_overdue_later() -> None:
    """5 s after the fall one arrives; what is from before it can't lie there any more."""
    found = falls(
        seen(10, 6, 0),
        seen(1_500, 1, 1_490),
        seen(1_530, 2, 1_490),
        seen(1_560, 1, 1_525),
        seen(1_590, 1, 1_525),
        seen(3_700, 0),
        seen(3_730, 0),
    )
    assert sum(f.lost + f.perhaps for f in found) == 0


def test_a_clock_behind_cloudflares_makes_no_fall() -> None:
    """A timestamp ahead of our clock is read as now, and seems to move with each poll."""
    assert falls(seen(0, 1, 0), seen(30, 1, 30), seen(60, 1, 45), seen(90, 1, 45)) == []


def test_a_close_believes_its_last_fall_at_once() -> None:
    assert only(seen(0, 5, 0), seen(30, 0), close=True) == {"removed": 5}


def test_readings_without_an_age_confirm_nothing() -> None:
    partial = replace(seen(0, 5), kind=SampleKind.PARTIAL)
    assert only(partial, seen(30, 0), seen(60, 0)) == {"unknown": 5}


# ---- what it means


def test_gone_before_its_deadline_less_a_minute_was_removed() -> None:
    before = seen(0, 3, 0)
    assert only(before, seen(3_539, 0), seen(3_600, 0)) == {"removed": 3}


def test_gone_about_its_deadline_is_lost() -> None:
    for at in (3_570, 3_600, 3_660):
        assert only(seen(at - 30, 1, 0), seen(at, 0), seen(at + 30, 0)) == {"lost": 1}


def test_gone_in_a_gap_around_the_deadline_is_a_range() -> None:
    """Nobody looked for an hour, and the deadline passed in it."""
    got = only(seen(1_000, 5, 0), seen(4_600, 0), seen(4_630, 0))
    assert got == {"perhaps": 5}


def test_of_several_only_those_that_were_overdue_are_surely_lost() -> None:
    """Two from 0 s, eight more from 1,000 s; all gone at the deadline of the first."""
    got = only(
        seen(0, 2, 0), seen(1_000, 10, 0), seen(3_590, 10, 0), seen(3_620, 0), seen(3_650, 0)
    )
    assert got == {"lost": 2, "perhaps": 8}


def test_while_the_oldest_stays_it_is_not_counted() -> None:
    """The others left, near its deadline: whoever took them is not told that they are lost."""
    got = only(
        seen(0, 1, 0), seen(600, 4, 0), seen(3_580, 4, 0), seen(3_600, 1, 0), seen(3_630, 1, 0)
    )
    assert got == {"perhaps": 3}


def test_a_batch_of_one_moment_that_goes_bit_by_bit_is_lost_whole() -> None:
    """Messages of the same timestamp: the oldest stays the same until the last has gone."""
    found = falls(
        seen(0, 200, 0),
        seen(3_600, 200, 0),
        seen(3_630, 150, 0),
        seen(3_660, 90, 0),
        seen(3_690, 0),
        seen(3_720, 0),
    )
    assert sum(f.lost for f in found) == 200


def test_without_an_age_or_a_retention_nothing_is_claimed() -> None:
    assert only(seen(0, 3), seen(30, 0), seen(60, 0)) == {"unknown": 3}
    assert only(seen(0, 3, 0), seen(30, 0), seen(60, 0), term=None) == {"unknown": 3}


def test_a_retention_that_was_cut_makes_them_lost() -> None:
    cut = Term(least_ms=10 * MINUTE, now_ms=10 * MINUTE)
    assert only(seen(1_770, 3, 0), seen(1_800, 0), seen(1_830, 0), term=cut)["lost"] >= 1


def test_a_retention_that_was_raised_claims_neither() -> None:
    """Whether raising it saves what lies there is documented nowhere."""
    raised = Term(least_ms=HOUR, now_ms=4 * DAY)
    assert only(seen(7_200, 3, 0), seen(7_230, 0), seen(7_260, 0), term=raised) == {"perhaps": 3}


def test_a_clock_that_was_ahead_makes_no_loss() -> None:
    """The last reading was dated ten years ahead; then the clock went back and they were taken."""
    ahead = 3_650 * DAY // 1_000
    ledger = losses.opened(seen(ahead, 3, 0))
    ledger, _ = losses.read(ledger, seen(60, 0), KEPT, POLL)
    _, fall = losses.read(ledger, seen(90, 0), KEPT, POLL)
    assert fall is not None
    assert meant(fall) == {"removed": 3}
    late = [seen(ahead, 3, 0), seen(ahead + 7_200, 3, 0), seen(3_600, 0), seen(3_630, 0)]
    assert only(*late) == {"lost": 1, "perhaps": 2}


@pytest.mark.parametrize(
    ("counts", "named"),
    [
        ({"lost": 1, "perhaps": 2, "unknown": 3, "removed": 4, "handled": 5}, Resolution.EXPIRED),
        ({"perhaps": 2, "removed": 4, "handled": 5}, Resolution.UNKNOWN),
        ({"unknown": 3, "removed": 4, "handled": 5}, Resolution.UNKNOWN),
        ({"removed": 4, "handled": 5}, Resolution.REMOVED),
        ({"handled": 5}, Resolution.HANDLED),
        ({}, Resolution.UNKNOWN),
    ],
)
def test_the_worst_of_several_meanings_names_the_incident(
    counts: dict[str, int], named: Resolution
) -> None:
    every = dict.fromkeys(("lost", "perhaps", "unknown", "removed", "handled"), 0)
    assert losses.resolution(**(every | counts)) is named


def test_the_ledger_stays_small() -> None:
    ledger = losses.opened(seen(0, 1, 0))
    for n in range(1, 1_000):
        ledger, _ = losses.read(ledger, seen(30 * n, n + 1, 0), Term(DAY, DAY), POLL)
    assert len(ledger.arrivals) <= losses.ARRIVALS_KEPT
    assert sum(a.count for a in ledger.arrivals) == 1_000


# ---- the retention that counts


def queue_kept(*kept: tuple[int, int]) -> Queue:
    log = tuple(Kept(T0 + at, ms) for at, ms in kept)
    return Queue(1, QUEUE, T0, retention_ms=log[-1].ms if log else None, retentions=log)


def test_the_least_retention_since_a_message_was_written_counts() -> None:
    queue = queue_kept((0, 4 * DAY), (HOUR, DAY), (2 * HOUR, 4 * DAY))
    assert retention.least_since(queue, T0) == DAY
    assert retention.least_since(queue, T0 + HOUR + 1) == DAY
    assert retention.least_since(queue, T0 + 2 * HOUR) == 4 * DAY
    assert retention.term(queue, T0) == Term(DAY, 4 * DAY)


def test_a_retention_never_read_is_not_known() -> None:
    assert retention.term(queue_kept(), T0) is None


def test_only_changes_of_the_retention_are_kept() -> None:
    queue = queue_kept((0, DAY))
    assert retention.noted(queue, DAY, T0 + 1) == queue.retentions
    assert retention.noted(queue, None, T0 + 1) == queue.retentions
    assert retention.noted(queue, HOUR, T0 + 1)[-1] == Kept(T0 + 1, HOUR)
