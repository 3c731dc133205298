"""How bad it is, how near its end, and when people are reminded, as series (see series.py)."""

from __future__ import annotations

from typing import Any

from dlqwatch.facts import DepthFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    Severity,
)
from tests.series import playing, told

YEARS_10 = "3650d"


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
