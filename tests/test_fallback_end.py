"""S9: with two destinations, the last word goes wherever a word arrived; each has its cards."""

from __future__ import annotations

from dlqwatch.decide.outcomes import Answer
from dlqwatch.model import (
    MINUTE,
    Outcome,
    QueueRules,
)
from dlqwatch.rows import Card
from tests.pair import FIRST, REFUSED, REVOKED, SECOND, Kinds, both_kinds, fire, pair
from tests.rig import BOT, QUEUE, WEBHOOK

# -- the end goes wherever a word arrived


@both_kinds
def test_the_end_goes_to_both_when_both_heard_of_it(kinds: Kinds) -> None:
    with pair(kinds) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.a.weather = "ok"
        rig.run(1000)
        rig.holds(0)
        rig.run(120)
        assert rig.told_by(FIRST) == ["reconnected", "resolved"]
        assert rig.told_by(SECOND) == ["first", "resolved"]


@both_kinds
def test_an_end_that_only_the_second_can_tell_is_told_to_the_first_when_it_works(
    kinds: Kinds,
) -> None:
    """It heard the first word, so it must hear the last, however late."""
    with pair(kinds) as rig:
        fire(rig)
        rig.run(60)
        rig.a.weather = REVOKED
        rig.holds(0)
        rig.run(120)
        assert rig.told_by(FIRST) == ["first"]
        assert rig.told_by(SECOND) == ["resolved"]
        rig.run(3600)
        assert len(rig.b.posts) == 1
        rig.a.weather = "ok"
        rig.run(120)
        assert rig.told_by(FIRST) == ["first", "resolved"]
        assert "Late: decided" in rig.a.posts[-1].payload.text
        assert len(rig.b.posts) == 1


@both_kinds
def test_an_end_told_to_both_comes_once_to_each_although_the_first_is_broken_by_then(
    kinds: Kinds,
) -> None:
    with pair(kinds, QueueRules(QUEUE, group_ms=MINUTE)) as rig:
        fire(rig)
        rig.a.weather = REVOKED
        rig.holds(5)
        rig.run(120)
        assert rig.told_by(SECOND) == ["grown"]
        rig.holds(0)
        rig.run(600)
        assert rig.told_by(SECOND) == ["grown", "resolved"]
        rig.a.weather = "ok"
        rig.run(120)
        assert rig.told_by(FIRST) == ["first", "resolved"]
        assert rig.told_by(SECOND) == ["grown", "resolved"]


def test_an_end_that_may_stand_in_the_first_is_looked_for_there_before_it_is_posted() -> None:
    with pair((BOT, WEBHOOK)) as rig:
        fire(rig)
        rig.run(60)
        rig.a.weather, rig.a.look_weather = "stored and lost", Answer(Outcome.TEMPORARY, "busy")
        rig.holds(0)
        rig.run(600)
        assert rig.told_by(SECOND) == ["resolved"]
        rig.a.weather, rig.a.look_weather = "ok", None
        rig.run(120)
        assert rig.told_by(FIRST) == ["first", "resolved"]
        assert sum("empty again" in line for line in rig.a.lines) == 1


def test_a_word_confirmed_by_the_slower_of_the_two_counts_too() -> None:
    """Both had the same notice at the same moment: the end goes to both."""
    with pair() as rig:
        rig.a.weather = REFUSED
        fire(rig)
        rig.run(299)
        rig.a.weather = "ok"
        rig.clock.move(120)
        job = rig.engine.begin(FIRST)
        assert job is not None
        rig.couriers[1].step()
        rig.couriers[0]._post(job)  # type: ignore[arg-type]
        assert rig.incidents()[0].told_by == (FIRST, SECOND)
        rig.holds(0)
        rig.run(200)
        assert (len(rig.a.posts), len(rig.b.posts)) == (2, 2)


def test_a_first_word_confirmed_by_the_second_after_the_end_is_followed_by_it_there() -> None:
    """The first may have it too: a lost answer. So both hear the end."""
    with pair() as rig:
        rig.a.weather = "stored and lost"
        fire(rig)
        rig.run(60)
        rig.holds(0)
        rig.run(250)
        assert rig.told_by(SECOND) == ["first", "resolved"]
        rig.a.weather = "ok"
        rig.run(700)
        assert rig.told_by(FIRST) == ["resolved"]
        assert rig.waiting() == []


def test_over_before_any_word_one_message_tells_both_through_the_second() -> None:
    with pair() as rig:
        rig.a.weather = REFUSED
        fire(rig)
        rig.run(60)
        rig.holds(0)
        rig.run(420)
        assert rig.told_by(SECOND) == ["first_and_resolved"]
        rig.a.weather = "ok"
        rig.run(600)
        assert rig.a.posts == []


# -- cards


def test_each_destination_has_its_own_card_and_both_are_kept_up_to_date() -> None:
    with pair((BOT, BOT)) as rig:
        rig.a.weather = REVOKED
        fire(rig)
        rig.a.weather = "ok"
        rig.run(1000)
        assert {c.destination for c in rig.rows(Card)} == {FIRST, SECOND}
        rig.holds(5)
        rig.run(61)
        for slack in (rig.a, rig.b):
            assert "5 dead letters" in slack.posts[0].edits[-1].text


def test_a_broken_first_destination_keeps_no_edit_of_the_seconds_card() -> None:
    with pair((BOT, BOT)) as rig:
        fire(rig)
        rig.a.weather = REVOKED
        rig.holds(120)
        rig.run(31)
        rig.holds(130)
        rig.run(31)
        assert rig.told_by(SECOND) == ["severity_raised"]
        assert "130 dead letters" in rig.b.posts[0].edits[-1].text


def test_an_end_of_which_the_second_already_heard_is_not_told_there_again() -> None:
    """The first confirms its word only after the end, which the second had been told by then."""
    with pair() as rig:
        rig.a.weather = REFUSED
        fire(rig)
        rig.run(400)
        rig.a.weather = "lost"
        rig.a.probe_weather = Answer(Outcome.DELIVERED)
        rig.run(900)
        rig.holds(0)
        rig.run(200)
        rig.a.weather = "ok"
        rig.run(1200)
        assert rig.told_by(SECOND) == ["first", "resolved"]


def test_a_copy_in_the_second_that_was_never_confirmed_is_followed_by_one_end() -> None:
    with pair() as rig:
        rig.a.weather, rig.b.weather = REVOKED, "stored and lost"
        fire(rig)
        rig.holds(0)
        rig.run(300)
        rig.a.weather = REFUSED
        rig.a.script.append("ok")
        rig.run(120)
        assert rig.told_by(FIRST) == ["first"]
        rig.b.weather = "ok"
        rig.run(700)
        rig.a.weather = "ok"
        rig.run(1200)
        assert rig.told_by(FIRST) == ["first", "resolved"]
        assert rig.told_by(SECOND) == ["resolved"]
