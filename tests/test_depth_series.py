"""The depth alert as series: what a queue did, and what people were told of it.

The language is in series.py; a word is a poll, every 30 s unless a test says otherwise.
"""

from __future__ import annotations

import pytest

from dlqwatch.facts import DepthFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    DestinationKind,
    QueueRules,
    Reason,
    State,
)
from tests.rig import KINDS, QUEUE, WEBHOOK, light
from tests.series import playing, short, told, words

YEARS_10 = "3650d"


# ---- the language itself


def test_a_series_is_read_word_by_word() -> None:
    assert list(words("0*3 12 _*2 ?5 7~3h")) == ["0", "0", "0", "12", "_", "_", "?5", "7~3h"]


def test_a_word_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="12x"):
        told("12x")


def test_times_are_written_short() -> None:
    assert [short(ms) for ms in (0, 30_000, 5_400_000, -HOUR)] == ["0", "30s", "1h30m", "-1h"]


# ---- opening


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_life(kind: DestinationKind) -> None:
    assert told("0*3 12*6 _*2 0*4", kind=kind) == "first:12@1m30s resolved:0@6m30s"


def test_one_dead_letter_is_told_at_the_poll_that_sees_it() -> None:
    assert told("0 1") == "first:1@30s"


def test_a_partial_reading_opens_an_alert() -> None:
    assert told("0 ?1") == "first:1@30s"


def test_a_partial_reading_grows_an_alert() -> None:
    assert told("1 ?9*40") == "first:1@0 grown:9@15m"


def test_a_partial_reading_never_closes_one() -> None:
    assert told("1 ?0*40") == "first:1@0"


def test_below_its_threshold_nothing_is_told() -> None:
    assert told("4*40", threshold=5) == ""
    assert told("4 5", threshold=5) == "first:5@30s"
    assert told("5 4*4", threshold=5) == "first:5@0 resolved:4@1m30s"


def test_failures_before_the_first_reading_open_nothing() -> None:
    with playing("_*40") as play:
        assert play.told() == ""
        assert play.rig.state is State.UNKNOWN


def test_failures_between_readings_change_nothing() -> None:
    assert told("1 _*40 1") == "first:1@0"
    assert told("0 _*40 0") == ""


# ---- hold_duration


def test_a_hold_waits_and_the_incident_opens_when_it_began() -> None:
    with playing("0 1*3", hold_ms=MINUTE) as play:
        assert play.told() == "first:1@1m30s"
        (incident,) = play.rig.incidents()
        assert play.rig.clock.now() - incident.opened_at == MINUTE


def test_what_is_gone_before_the_hold_is_over_is_never_told() -> None:
    assert told("1*2 0 1*2 0", hold_ms=MINUTE) == ""


def test_time_without_sight_counts_for_the_hold() -> None:
    assert told("1 _*3 1", hold_ms=MINUTE) == "first:1@2m"
    assert told("1 ?0*3 1", hold_ms=MINUTE) == "first:1@2m"


def test_a_hold_is_never_over_without_a_yes() -> None:
    assert told("1 _*40", hold_ms=MINUTE) == ""


def test_a_restart_keeps_the_hold() -> None:
    assert told("1 restart 1 restart 1", hold_ms=MINUTE) == "first:1@1m"


def test_the_hold_forgives_half_an_interval_of_jitter() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, hold_ms=MINUTE)) as rig:
        rig.holds(1)
        rig.tick()
        rig.run(45.1 - 0.2, polling=False)  # 15.1 s early: too early
        rig.tick()
        assert rig.told() == []
        rig.clock.move(0.2)
        rig.tick()
        assert rig.told() == ["first"]


# ---- keep_firing_for


def test_it_is_over_when_it_was_empty_for_as_long_as_configured() -> None:
    assert told("1 0*11", keep_ms=5 * MINUTE) == "first:1@0 resolved:0@5m30s"
    assert told("1 0*10", keep_ms=5 * MINUTE) == "first:1@0"


def test_without_keep_the_first_empty_reading_closes() -> None:
    assert told("1 0", keep_ms=0) == "first:1@0 resolved:0@30s"


def test_with_a_keep_shorter_than_an_interval_it_takes_two_readings() -> None:
    assert told("1 0", keep_ms=SECOND) == "first:1@0"
    assert told("1 0 0", keep_ms=SECOND) == "first:1@0 resolved:0@1m"


def test_one_dead_letter_more_starts_the_keep_anew() -> None:
    assert told("1 0 0 1 0 0") == "first:1@0"
    assert told("1 0 0 1 0 0 0") == "first:1@0 resolved:0@3m"


def test_failures_between_empty_readings_do_not_start_the_keep_anew() -> None:
    assert told("1 0 _ 0 _ 0") == "first:1@0 resolved:0@1m30s"


def test_a_keep_is_never_over_without_a_complete_reading() -> None:
    assert told("1 0 _*40") == "first:1@0"
    assert told("1 0 ?0*40") == "first:1@0"


def test_a_restart_in_the_middle_keeps_the_keep() -> None:
    assert told("1 0 restart 0 restart 0") == "first:1@0 resolved:0@1m30s"
    assert told("1 0*5 restart 0*6", keep_ms=5 * MINUTE) == "first:1@0 resolved:0@5m30s"


def test_a_restart_alone_neither_opens_nor_closes() -> None:
    with playing("1 0 restart") as play:
        assert play.rig.state is State.FIRING
    with playing("0 restart") as play:
        assert play.rig.state is State.INACTIVE


def test_the_keep_forgives_half_an_interval_of_jitter() -> None:
    with light() as rig:
        rig.holds(1)
        rig.tick()
        rig.holds(0)
        rig.tick()
        rig.run(45.1 - 0.2, polling=False)
        rig.tick()
        assert rig.told() == ["first"]
        rig.clock.move(0.2)
        rig.tick()
        assert rig.told() == ["first", "resolved"]


# ---- grown


def test_more_is_told_once_the_interval_since_the_last_word_is_over() -> None:
    assert told("1 2 50*40") == "first:1@0 grown:50@15m"


def test_more_and_more_is_told_once_an_interval_with_the_newest_depth() -> None:
    rising = " ".join(str(n) for n in range(1, 92))
    assert told(rising) == "first:1@0 grown:31@15m grown:61@30m grown:91@45m"


def test_more_after_the_interval_is_told_at_once() -> None:
    assert told("1*60 2") == "first:1@0 grown:2@30m"


def test_a_fall_and_a_rise_are_two_that_landed() -> None:
    assert told("5 3 5*40") == "first:5@0 grown:5@15m"


def test_a_fall_or_the_same_is_not_more() -> None:
    assert told("3 2*100") == "first:3@0"
    assert told("2*100") == "first:2@0"


def test_what_rose_and_fell_below_within_an_interval_is_not_more() -> None:
    assert told("3 9 3*60") == "first:3@0"


def test_what_rose_and_fell_to_more_than_was_told_is_told_with_what_is_there_now() -> None:
    assert told("3 9 5*60") == "first:3@0 grown:5@15m"


def test_a_rise_out_of_the_keep_is_more() -> None:
    assert told("5 0 5*40") == "first:5@0 grown:5@15m"


def test_more_is_measured_from_what_people_were_told_last() -> None:
    with playing("3 5*40") as play:
        (grown,) = [n for n in play.rig.notices() if n.reason is Reason.GROWN]
        facts = grown.facts
        assert isinstance(facts, DepthFacts)
        assert (facts.told_depth, facts.depth) == (3, 5)


def test_the_interval_is_the_queues_own() -> None:
    assert told("1 2*10", group_ms=2 * MINUTE) == "first:1@0 grown:2@2m"
