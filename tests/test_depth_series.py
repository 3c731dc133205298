"""The depth alert as series: what a queue did, and what people were told of it.

The language is in series.py; a word is a poll, every 30 s unless a test says otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dlqwatch.facts import DepthFacts, StartedFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    DestinationKind,
    QueueRules,
    Reason,
    Resolution,
    Severity,
    State,
)
from dlqwatch.rows import Notice, Transition
from tests.rig import BOT, KINDS, QUEUE, WEBHOOK, light, plan_for
from tests.series import playing, short, told, untimed, words

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
    late = "31s" if kind is BOT else "30s"  # the card's edit goes first
    assert told("0*3 12*6 _*2 0*4", kind=kind) == f"first:12@1m30s resolved:0@6m{late}"


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


# ---- severity


def test_a_deep_queue_is_critical_from_the_first_word() -> None:
    with playing("0 100") as play:
        assert play.told() == "first:100!@30s"
        (first,) = play.rig.notices()
        assert first.mention


def test_becoming_critical_is_told_at_once_and_mentions() -> None:
    with playing("1 99 100") as play:
        assert play.told() == "first:1@0 severity_raised:100!@1m"
        assert [n.mention for n in play.rig.notices()] == [False, True]


def test_critical_is_told_once_and_never_falls() -> None:
    with playing("120 50 120 50*10") as play:
        assert play.told() == "first:120!@0"
        assert play.rig.incidents()[0].severity is Severity.CRITICAL


def test_a_critical_incident_ends_critical_and_the_next_starts_anew() -> None:
    assert told("120 0*3 5") == "first:120!@0 resolved:0!@1m30s first:5@2m"


def test_old_by_share_of_the_retention_is_critical() -> None:
    assert told("1~47h", retention_ms=96 * HOUR) == "first:1@0"
    assert told("1~48h", retention_ms=96 * HOUR) == "first:1!@0"


def test_age_alone_makes_it_critical_while_nothing_else_changes() -> None:
    aging = told("1~1h 1~2h", retention_ms=4 * HOUR, expiry_warnings_ms=())
    assert aging == "first:1@0 severity_raised:1!@30s"


def test_old_by_a_fixed_age_is_critical_whatever_the_retention() -> None:
    fixed: dict[str, Any] = {"critical_age_share": None, "critical_age_ms": 2 * HOUR}
    assert told("1~1h", retention_ms=None, **fixed) == "first:1@0"
    assert told("1~2h", retention_ms=None, **fixed) == "first:1!@0"


def test_an_unknown_age_is_at_least_the_incidents_own() -> None:
    fixed: dict[str, Any] = {"critical_age_share": None, "critical_age_ms": 2 * MINUTE}
    assert told("?1*6", **fixed) == "first:1@0 severity_raised:1!@2m"


def test_with_the_retention_unknown_the_share_is_skipped() -> None:
    with playing("1~90h*3", retention_ms=None) as play:
        assert play.told() == "first:1@0"
        facts = play.rig.notices()[0].facts
        assert isinstance(facts, DepthFacts)
        assert facts.retention_ms is None
        assert facts.expires_at is None


def test_a_retention_that_is_read_later_counts_from_then() -> None:
    with playing("1~50h", retention_ms=None, audit_ms=MINUTE) as play:
        play.rig.queues.retention_ms = 96 * HOUR
        play.play("1~50h*3")
        assert play.told() == "first:1@0 severity_raised:1!@1m"


def test_severity_rises_by_time_also_without_sight() -> None:
    blind = told("1~1h _*20", critical_age_share=None, critical_age_ms=HOUR + 5 * MINUTE)
    assert blind == "first:1@0 severity_raised:1!@5m"
    waiting = told("1~1h .*20", critical_age_share=None, critical_age_ms=HOUR + 5 * MINUTE)
    assert waiting == "first:1@0 severity_raised:1!@5m"


# ---- expiry marks


def test_each_mark_is_told_once_as_the_end_nears() -> None:
    near = "5~71h 5~72h 5~89h59m 5~90h 5~90h 5~95h 5~95h30m"
    assert told(near) == ("first:5!@0 expiry_near:5!@30s expiry_near:5!@1m30s expiry_near:5!@2m30s")


def test_marks_of_six_hours_or_less_mention() -> None:
    with playing("5~71h 5~72h 5~90h 5~95h") as play:
        assert [n.mention for n in play.rig.notices()[1:]] == [False, True, True]


def test_first_seen_near_its_end_is_one_word_and_not_four() -> None:
    assert told("5~95h*40") == "first:5!@0"


def test_a_mark_is_reached_by_time_also_without_sight() -> None:
    assert told("5~89h50m _*30").endswith("expiry_near:5!@10m")
    assert told("5~89h50m .*30").endswith("expiry_near:5!@10m")


def test_marks_longer_than_half_the_retention_are_dropped() -> None:
    assert told("1~1h 1~20h", retention_ms=24 * HOUR, critical_age_share=0.99) == (
        "first:1@0 expiry_near:1!@30s"
    )
    quick = told("1*200", retention_ms=HOUR, critical_age_share=0.99)
    assert quick == "first:1@0 severity_raised:1!@59m30s"


def test_past_its_deadline_and_still_there_there_are_no_more_marks() -> None:
    assert told("5~95h 5~97h*60") == "first:5!@0"


def test_marks_are_armed_again_when_the_old_one_is_gone() -> None:
    again = "5~72h 3~1h 3~72h"
    assert told(again) == "first:5!@0 expiry_near:3!@1m"


def test_a_mark_needs_a_known_age() -> None:
    assert told("?5*40") == "first:5@0"


# ---- repeat


def test_a_reminder_comes_each_repeat_interval_after_the_last_word() -> None:
    assert told("1*40", repeat_ms=5 * MINUTE) == "first:1@0 repeat:1@5m repeat:1@10m repeat:1@15m"


def test_a_critical_alert_is_repeated_at_its_own_interval_without_a_mention() -> None:
    with playing("120*25", repeat_ms=HOUR, repeat_critical_ms=5 * MINUTE) as play:
        assert play.told() == "first:120!@0 repeat:120!@5m repeat:120!@10m"
        assert [n.mention for n in play.rig.notices()] == [True, False, False]


def test_any_word_puts_the_reminder_off() -> None:
    more = told("1*10 2*20", repeat_ms=6 * MINUTE, group_ms=5 * MINUTE)
    assert more == "first:1@0 grown:2@5m repeat:2@11m"


def test_reminders_come_without_sight_too() -> None:
    assert told("1 _*25", repeat_ms=5 * MINUTE) == "first:1@0 repeat:1@5m repeat:1@10m"
    assert told("1 .*25", repeat_ms=5 * MINUTE) == "first:1@0 repeat:1@5m repeat:1@10m"


def test_reminders_missed_while_it_was_away_come_once() -> None:
    assert told("1 +3h 1 1", repeat_ms=HOUR) == "first:1@0 repeat:1@3h30s"


def test_a_calm_queue_is_never_a_reminder() -> None:
    assert told("1 0*3 0*100", repeat_ms=5 * MINUTE) == "first:1@0 resolved:0@1m30s"


# ---- resolved, first_and_resolved


def test_the_end_says_how_long_and_how_deep() -> None:
    with playing("3 7 5 0*3") as play:
        last = play.rig.notices()[-1].facts
        assert isinstance(last, DepthFacts)
        assert (last.peak_depth, last.resolution) == (7, Resolution.UNKNOWN)
        assert last.resolved_at is not None
        assert last.resolved_at - last.opened_at == 150 * SECOND
        (incident,) = play.rig.incidents()
        assert (incident.peak_depth, incident.resolution) == (7, Resolution.UNKNOWN)


def test_never_told_and_over_is_one_message() -> None:
    assert untimed(told("down 3*2 0*3 up 0*3")) == "first_and_resolved:0"


def test_told_then_slack_goes_away_and_the_end_comes_when_it_is_back() -> None:
    assert untimed(told("3 down 5*40 0*3 up 0*3")) == "first:3 resolved:0"


# ---- restarted, started


def test_a_journal_that_was_behind_tells_each_open_incident_once_more() -> None:
    with playing("3") as play:
        play.rig.restart(behind=True)
        play.play("3*3")
        assert untimed(play.told()) == "first:3 restarted:3"


def test_a_journal_that_was_behind_and_knows_of_nothing_says_nothing() -> None:
    with playing("0") as play:
        play.rig.restart(behind=True)
        play.play("0*3")
        assert play.told() == ""


def test_an_open_incident_with_a_word_still_waiting_is_not_told_twice() -> None:
    with playing("down 3") as play:
        play.rig.restart(behind=True)
        play.play("3 up 3*3")
        assert untimed(play.told()) == "first:3"


def started_notices(rig_notices: list[Notice]) -> list[StartedFacts]:
    return [n.facts for n in rig_notices if isinstance(n.facts, StartedFacts)]


def test_a_new_database_says_once_what_is_watched() -> None:
    with light(started=False) as rig:
        rig.run(5, polling=False)
        rig.restart()
        rig.run(5, polling=False)
        (facts,) = started_notices(rig.rows(Notice))
        assert (facts.database_new, facts.queues, facts.version) == (True, (QUEUE,), "0.1.0")
        assert len(rig.posted()) == 1


def test_another_version_says_so_once() -> None:
    with light(started=False) as rig:
        rig.run(5, polling=False)
        rig.restart(plan=replace(rig.plan, version="0.2.0"))
        rig.run(5, polling=False)
        rig.restart()
        rig.run(5, polling=False)
        first, second = started_notices(rig.rows(Notice))
        assert (second.version_before, second.version) == ("0.1.0", "0.2.0")
        assert not second.database_new
        assert first.database_new


def test_only_the_newest_start_is_told_when_slack_was_away() -> None:
    with light(started=False) as rig:
        rig.restart(plan=replace(rig.plan, version="0.2.0"))
        rig.run(5, polling=False)
        assert len(rig.posted()) == 1
        assert "0.2.0" in rig.posted()[0]


# ---- the clock


def test_ten_years_forward_is_one_word_and_back_again_is_none() -> None:
    shown = told(f"1 +{YEARS_10} 1*5 -{YEARS_10} 1*200", critical_age_share=0.9)
    assert untimed(shown) == "first:1 expiry_near:1!"


def test_an_hour_back_delays_nothing_by_an_hour() -> None:
    assert told("1 -1h 2*40") == "first:1@0 grown:2@-45m"
    assert untimed(told("1 -1h 1 0*3")) == "first:1 resolved:0"


def test_an_hour_back_in_the_keep_does_not_keep_it_open_for_an_hour() -> None:
    assert told("1 0 -1h 0 0") == "first:1@0 resolved:0@-58m30s"


def test_an_hour_back_in_the_hold_does_not_hold_it_for_an_hour() -> None:
    assert told("1 -1h 1 1", hold_ms=MINUTE) == "first:1@-59m"


def test_an_hour_back_while_slack_is_away_keeps_nothing_back() -> None:
    with playing("down 1*20 -1h up 1*4") as play:
        assert untimed(play.told()) == "first:1"


def test_a_clock_that_went_back_between_two_processes_storms_nothing() -> None:
    with playing(f"+{YEARS_10} 1 2*3") as play:
        play.play(f"-{YEARS_10} restart 2*40")
        reasons = [n.reason for n in play.rig.notices()]
        assert reasons == [Reason.FIRST, Reason.GROWN]


def test_an_hour_forward_is_no_storm() -> None:
    assert told("1 +1h 1*40") == "first:1@0"


# ---- what is written down


def test_each_change_of_state_is_written_down_with_its_cause() -> None:
    with playing("0 1 0 0 0") as play:
        rows = sorted(play.rig.rows(Transition), key=lambda t: t.id)
        assert [(t.old.value, t.new.value, t.because) for t in rows] == [
            ("unknown", "inactive", "depth 0"),
            ("inactive", "firing", "depth 1"),
            ("firing", "inactive", "depth 0"),
        ]


def test_a_queue_that_left_the_configuration_closes_its_incident_and_is_told_once() -> None:
    with playing("3") as play:
        play.rig.restart(plan=plan_for(WEBHOOK, QueueRules("another-dlq")))
        play.rig.run(300)
        assert play.rig.told() == ["first", "resolved"]
        (incident,) = play.rig.incidents()
        assert incident.resolution is Resolution.UNWATCHED
        play.rig.restart()
        play.rig.run(300)
        assert play.rig.told() == ["first", "resolved"]
