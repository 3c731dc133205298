"""S9: a broken destination is found and named; neither of two holds the other up."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.daemon.courier import Courier
from dlqwatch.decide.inputs import TimePassed
from dlqwatch.decide.outcomes import Answer
from dlqwatch.model import (
    DestinationState,
    Outcome,
)
from dlqwatch.rows import Delivery
from tests.pair import FIRST, REVOKED, SECOND, Kinds, Slack, both_kinds, fire, pair
from tests.rig import BOT, QUEUE, WEBHOOK, light

# -- probes


@both_kinds
def test_a_destination_that_broke_is_found_before_a_dead_letter_finds_it(kinds: Kinds) -> None:
    with pair(kinds) as rig:
        rig.a.weather = REVOKED
        rig.run(901)
        assert rig.place(FIRST).state is DestinationState.NEEDS_PERSON
        assert rig.place(FIRST).reason == "token_revoked"
        assert rig.a.posts == []
        fire(rig)
        assert rig.told_by(SECOND) == ["first"]


def test_probes_come_every_fifteen_minutes_and_post_nothing() -> None:
    with pair() as rig:
        rig.run(3600)
        for slack in (rig.a, rig.b):
            assert [name for name, _ in slack.calls] == ["probe"] * 4
            assert slack.posts == []


def test_a_probe_that_says_nothing_changes_nothing() -> None:
    with pair() as rig:
        rig.a.probe_weather = Answer(Outcome.TEMPORARY, "HTTP 500")
        rig.run(3600)
        assert rig.place(FIRST).state is DestinationState.OK


# -- neither holds the other up


class HangingSlack(Slack):
    """Takes every call and answers none until it is let go."""

    def post(self, *args: Any, **kwargs: Any) -> Answer:
        self.calls.append(("post", self.clock.now()))
        self.go.wait(10)
        return Answer(Outcome.AMBIGUOUS, "no answer")

    go: threading.Event


def test_a_first_destination_that_hangs_does_not_keep_the_second_from_its_word() -> None:
    """Real threads: the first hangs in each call until it is given up."""
    with pair() as rig:
        hanging = HangingSlack(rig.clock, bot=False)
        hanging.go = threading.Event()
        stop = threading.Event()
        rig.holds(1)
        rig.poll()
        couriers = [
            Courier(rig.engine, place, slack, rig.clock, give_up_s=5)
            for place, slack in zip(rig.plan.destinations, (hanging, rig.b), strict=True)
        ]
        threads = [threading.Thread(target=c.run, args=(stop,)) for c in couriers]
        for thread in threads:
            thread.start()
        try:
            _until(lambda: hanging.attempts() == 1)
            rig.clock.move(301)
            rig.engine.submit(TimePassed(QUEUE))
            couriers[1].wake()
            _until(lambda: len(rig.b.posts) == 1)
            assert hanging.attempts() == 1, "the first is still in its first call"
        finally:
            stop.set()
            hanging.go.set()
            for courier in couriers:
                courier.wake()
            for thread in threads:
                thread.join(5)
        assert not any(thread.is_alive() for thread in threads)


def _until(condition: Any) -> None:
    pause = threading.Event()
    for _ in range(400):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it never came")


# -- what is said of it


def test_one_error_names_destination_reason_and_cure(caplog: pytest.LogCaptureFixture) -> None:
    with pair((BOT, WEBHOOK)) as rig:
        rig.a.weather = Answer(Outcome.NEEDS_PERSON, "is_archived")
        fire(rig)
        rig.run(7200)
    errors = [r.message for r in caplog.records if r.levelno >= logging.WARNING]
    assert errors == [
        "slack refuses: is_archived. The channel is archived: unarchive it, or take another in "
        "slack.channel."
    ]


def test_a_bot_that_may_not_look_is_not_called_broken(caplog: pytest.LogCaptureFixture) -> None:
    with pair((BOT, WEBHOOK)) as rig:
        rig.a.look_weather = Answer(Outcome.NEEDS_PERSON, "conversations.history: missing_scope")
        rig.a.script.append("lost")
        fire(rig)
        rig.run(60)
        assert rig.told_by(FIRST) == ["first"]
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []


def test_history_names_who_told_and_what_is_still_owed(tmp_path: Path) -> None:
    """At every moment: told by the second, still owed to the first."""
    with pair(path=tmp_path / "d.db") as rig:
        fire(rig)
        rig.a.weather = REVOKED
        rig.holds(0)
        rig.run(300)
        found = [(n.reason.value, n.status.value, n.delivered_by) for n in rig.notices()]
        assert sorted(found, key=str) == sorted(
            [
                ("first", "delivered", FIRST),
                ("resolved", "pending", None),
                ("resolved", "delivered", SECOND),
            ],
            key=str,
        )


def test_without_a_second_destination_nothing_of_this_happens() -> None:
    with light(WEBHOOK) as rig:
        rig.speaker.weather = REVOKED
        rig.holds(3)
        rig.run(1200)
        assert [d.destination for d in rig.rows(Delivery, "notice > 1")] == [FIRST]
