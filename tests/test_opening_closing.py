"""What went wrong for others when alerts open, close or restart; numbers: test_nonsense.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlqwatch.model import (
    DestinationKind,
    QueueRules,
    Reason,
    State,
)
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.wire import Request
from tests.rig import BOT, KINDS, QUEUE, simulated
from tests.series import playing, told, untimed


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> DestinationKind:
    found: DestinationKind = request.param
    return found


# ---- opening, closing, restarting


def test_the_same_depth_after_a_restart_is_not_told_again(kind: DestinationKind) -> None:
    assert told("3*2 restart 3*40 restart 3*40", kind=kind) == "first:3@0"


def test_a_restart_over_a_real_file_says_nothing_again(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig:
        rig.cf.land(QUEUE, 3)
        rig.run(60)
        rig.restart()
        rig.run(600)
        assert len(rig.messages(itself=True)) == 2  # that it started, and the first word
        rig.cf.drain(QUEUE)
        rig.restart()
        rig.run(120)
        assert rig.told() == ["first", "resolved"]
        card, reply = rig.messages()
        assert card.edits, "the old message is the one that is edited"
        assert reply.thread_ts == card.ts


def test_a_message_that_landed_while_it_was_down_is_told_at_the_first_poll(
    kind: DestinationKind,
) -> None:
    assert told("0*2 restart 1", kind=kind) == "first:1@1m"


def test_a_message_that_was_there_before_the_first_start_is_told(kind: DestinationKind) -> None:
    assert told("1", kind=kind) == "first:1@0"


def test_fire_resolve_fire_in_successive_polls_makes_two_incidents() -> None:
    with playing("0 1 0 1", keep_ms=0) as play:
        assert len(play.rig.incidents()) == 2
        assert play.told() == "first:1@30s resolved:0@1m first:1@1m30s"


def test_fire_resolve_fire_while_slack_is_away_leaves_the_fire_told() -> None:
    with playing("0 down 1 0 1 up 1*3", keep_ms=0) as play:
        assert len(play.rig.incidents()) == 2
        assert untimed(play.told()) == "first_and_resolved:0 first:1"


def test_more_dead_letters_are_told_with_the_newest_depth_once_the_interval_is_over(
    kind: DestinationKind,
) -> None:
    assert told("1 2 50*28", kind=kind) == "first:1@0"
    assert told("1 2 50*29", kind=kind).startswith("first:1@0 grown:50@15m")


def test_fewer_or_as_many_dead_letters_are_never_told_as_more(kind: DestinationKind) -> None:
    assert told("3 2*100", kind=kind) == "first:3@0"
    assert told("2*100", kind=kind) == "first:2@0"


def test_an_empty_queue_never_says_a_word(kind: DestinationKind) -> None:
    assert told("0*100", kind=kind) == ""


def test_metrics_fail_for_one_queue_and_the_other_goes_on(tmp_path: Path) -> None:
    other = "another-dlq"
    with simulated(tmp_path, BOT, QueueRules(QUEUE), QueueRules(other)) as rig:
        rig.cf.create_queue(other)
        rig.tick()
        wrong = rig.cf.queue(QUEUE).id

        def of_the_first(request: Request) -> bool:
            return wrong in request.path

        rig.cf.fail(Fault.status(500), when=of_the_first)
        rig.cf.land(other)
        rig.run(30)
        assert [n.reason for n in rig.notices()] == [Reason.FIRST]
        assert rig.alert(other).state is State.FIRING
