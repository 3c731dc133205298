"""S9: two destinations. What the first can't deliver goes through the second, and comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dlqwatch.decide.outcomes import Answer
from dlqwatch.facts import DepthFacts
from dlqwatch.model import (
    MINUTE,
    DestinationState,
    NoticeStatus,
    Outcome,
    QueueRules,
)
from tests.pair import FIRST, REFUSED, REVOKED, SECOND, Kinds, both_kinds, fire, pair
from tests.rig import QUEUE

# -- when the second is used


@both_kinds
def test_while_the_first_works_the_second_hears_nothing(kinds: Kinds) -> None:
    with pair(kinds) as rig:
        fire(rig)
        rig.run(1200)
        rig.holds(0)
        rig.run(300)
        assert rig.told_by(FIRST) == ["first", "resolved"]
        assert rig.b.posts == []


@both_kinds
def test_a_first_destination_that_needs_a_person_hands_over_at_once(kinds: Kinds) -> None:
    with pair(kinds) as rig:
        rig.a.weather = REVOKED
        began = rig.clock.now()
        fire(rig)
        assert rig.told_by(SECOND) == ["first"]
        assert rig.clock.now() == began
        assert "3 dead letters" in rig.b.lines[0]


@pytest.mark.parametrize("weather", [REFUSED, "lost", Answer(Outcome.TEMPORARY, "ratelimited")])
@both_kinds
def test_a_first_word_undelivered_for_five_minutes_goes_to_the_second_whatever_the_reason(
    kinds: Kinds, weather: Any
) -> None:
    with pair(kinds) as rig:
        rig.a.weather = weather
        fire(rig)
        rig.run(299)
        assert rig.b.posts == []
        rig.run(2)
        assert rig.told_by(SECOND) == ["first"]
        assert "Late: decided" in rig.b.posts[0].payload.text


def test_the_five_minutes_end_without_a_poll() -> None:
    """A queue may be polled once a day: nobody waits for that."""
    with pair() as rig:
        rig.a.weather = REFUSED
        fire(rig)
        rig.run(301, polling=False)
        assert rig.told_by(SECOND) == ["first"]


def test_growth_at_warning_waits_for_the_first_destination() -> None:
    with pair() as rig:
        fire(rig)
        rig.a.weather = REFUSED
        rig.holds(5)
        rig.run(3600)
        assert rig.b.posts == []
        rig.a.weather = "ok"
        rig.run(60)
        assert rig.told_by(FIRST) == ["first", "grown"]


def test_becoming_critical_does_not_wait_longer_than_five_minutes() -> None:
    with pair() as rig:
        fire(rig)
        rig.a.weather = REFUSED
        rig.holds(120)
        rig.run(331)
        assert rig.told_by(SECOND) == ["severity_raised"]


@both_kinds
def test_a_critical_growth_whose_answer_was_lost_still_reaches_the_second(kinds: Kinds) -> None:
    """A webhook doesn't repeat growth; that must not take it from the other destination."""
    with pair(kinds) as rig:
        fire(rig, 120)
        rig.a.weather = "lost"
        rig.a.look_weather = Answer(Outcome.TEMPORARY, "ratelimited")
        rig.run(900)
        rig.holds(150)
        rig.run(360)
        assert rig.told_by(SECOND) == ["grown"]


def test_while_the_first_is_broken_everything_goes_through_the_second() -> None:
    rules = QueueRules(QUEUE, group_ms=MINUTE, repeat_ms=10 * MINUTE)
    with pair(rules=rules) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.run(60)
        rig.holds(5)
        rig.run(60)
        rig.run(630)
        rig.holds(0)
        rig.run(120)
        assert rig.told_by(SECOND) == ["first", "grown", "repeat", "resolved"]
        assert rig.told_by(FIRST) == []


def test_both_broken_loses_nothing_and_both_are_tried_on() -> None:
    with pair() as rig:
        rig.a.weather = rig.b.weather = REVOKED
        fire(rig)
        rig.run(3600)
        assert [n.status for n in rig.notices()] == [NoticeStatus.PENDING]
        assert 55 <= rig.a.attempts() <= 65
        assert 55 <= rig.b.attempts() <= 65
        rig.b.weather = "ok"
        rig.run(61)
        assert rig.told_by(SECOND) == ["first"]


def test_what_says_that_dlqwatch_started_goes_through_the_second_too() -> None:
    with pair() as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.restart(plan=replace(rig.plan, version="0.2.0"))
        rig.run(5, polling=False)
        assert any("0.2.0" in line for line in rig.b.lines)


# -- what the first hears when it works again


@both_kinds
def test_when_the_first_works_again_it_hears_once_of_each_incident_still_open(
    kinds: Kinds,
) -> None:
    with pair(kinds) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.run(3600)
        rig.a.weather = "ok"
        rig.run(7200)
        assert rig.told_by(FIRST) == ["reconnected"]
        assert rig.told_by(SECOND) == ["first"]
        assert len(rig.a.posts) == 1
        assert "3 dead letters" in rig.a.lines[0]


@both_kinds
def test_what_opened_and_ended_meanwhile_is_not_told_to_the_first_again(kinds: Kinds) -> None:
    with pair(kinds) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.run(60)
        rig.holds(0)
        rig.run(120)
        rig.a.weather = "ok"
        rig.run(3600)
        assert rig.told_by(SECOND) == ["first", "resolved"]
        assert rig.a.posts == []


def test_the_second_hears_nothing_when_it_is_the_second_that_works_again() -> None:
    with pair() as rig:
        rig.b.weather = REVOKED
        rig.run(901)
        assert rig.place(SECOND).state is DestinationState.NEEDS_PERSON
        fire(rig)
        rig.b.weather = "ok"
        rig.run(1800)
        assert rig.place(SECOND).state is DestinationState.OK
        assert rig.b.posts == []


def test_an_incident_whose_next_word_was_on_its_way_at_that_moment_is_not_forgotten() -> None:
    """The first works again while growth waits for both; the second is quicker with it."""
    with pair(rules=QueueRules(QUEUE, group_ms=MINUTE)) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.b.weather = REFUSED
        rig.holds(5)
        rig.run(121)
        rig.b.weather = "ok"
        while rig.told_by(SECOND) != ["first", "grown"]:
            rig.couriers[1].step()
            rig.clock.move(1)
        rig.a.weather = "ok"
        rig.run(1000)
        assert rig.told_by(FIRST) == ["reconnected"]


def test_growth_is_not_hidden_behind_what_the_first_missed() -> None:
    """The first works for a moment, fails again, and more land: the second hears of that."""
    with pair(rules=QueueRules(QUEUE, group_ms=MINUTE)) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.a.probe_weather = Answer(Outcome.DELIVERED)
        rig.run(901)
        assert [n.reason.value for n in rig.waiting()] == ["reconnected"]
        rig.holds(7)
        rig.run(120)
        assert rig.told_by(SECOND) == ["first", "grown"]
        rig.a.weather = "ok"
        rig.run(1000)
        assert rig.told_by(FIRST) == ["reconnected"]
        assert "7 dead letters" in rig.a.lines[0]


def test_what_the_first_missed_shows_the_present_numbers() -> None:
    with pair() as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.a.probe_weather = Answer(Outcome.DELIVERED)
        rig.run(901)
        rig.holds(2)
        rig.run(61)
        rig.a.weather = "ok"
        rig.run(120)
        (notice,) = [n for n in rig.notices() if n.delivered_by == FIRST]
        assert isinstance(notice.facts, DepthFacts)
        assert notice.facts.depth == 2


@both_kinds
def test_a_restart_says_nothing_again_to_either(kinds: Kinds) -> None:
    with pair(kinds) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.a.weather = "ok"
        rig.run(1000)
        before = (len(rig.a.posts), len(rig.b.posts))
        rig.restart()
        rig.run(1000)
        assert (len(rig.a.posts), len(rig.b.posts)) == before == (1, 1)
