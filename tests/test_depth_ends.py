"""How an alert ends, starts again and meets a clock that was set, as series (see series.py)."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.facts import DepthFacts, StartedFacts
from dlqwatch.model import (
    MINUTE,
    SECOND,
    QueueRules,
    Reason,
    Resolution,
    Rule,
)
from dlqwatch.rows import Notice, Transition
from tests.rig import QUEUE, WEBHOOK, light, plan_for
from tests.series import playing, told, untimed

YEARS_10 = "3650d"


# ---- resolved, first_and_resolved


def test_the_end_says_how_long_and_how_deep() -> None:
    with playing("3 7 5 0*3") as play:
        last = play.rig.notices()[-1].facts
        assert isinstance(last, DepthFacts)
        assert (last.peak_depth, last.resolution) == (7, Resolution.REMOVED)
        assert last.resolved_at is not None
        assert last.resolved_at - last.opened_at == 150 * SECOND
        (incident,) = play.rig.incidents()
        assert (incident.peak_depth, incident.resolution) == (7, Resolution.REMOVED)


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
        assert len(rig.posted(itself=True)) == 1


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
        assert len(rig.posted(itself=True)) == 1
        assert "0.2.0" in rig.posted(itself=True)[0]


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


def test_no_age_is_negative_after_the_clock_went_back_between_two_processes() -> None:
    for word in ("3", "."):
        with playing(f"3 -1h restart {word}") as play:
            (incident,) = play.rig.incidents()
            facts = incident.facts
            assert isinstance(facts, DepthFacts)
            assert incident.opened_at <= play.rig.clock.now()
            assert facts.opened_at <= facts.at <= play.rig.clock.now()
            assert facts.oldest_at is None or facts.oldest_at <= facts.at


def test_an_hour_forward_is_no_storm() -> None:
    assert told("1 +1h 1*40") == "first:1@0"


# ---- what is written down


def test_each_change_of_state_is_written_down_with_its_cause() -> None:
    with playing("0 1 0 0 0") as play:
        rows = [t for t in play.rig.rows(Transition) if t.rule is Rule.DEPTH]
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
