"""An ack says that somebody has an incident in hand: no reminders, until it gets worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlqwatch.model import DAY, HOUR, MINUTE, NoticeStatus
from tests.pair import Pair, Quiet, fire, quietable
from tests.rig import BOT

OFTEN: dict[str, Any] = {
    "repeat_ms": HOUR,
    "repeat_critical_ms": HOUR,
    "group_ms": 10 * MINUTE,
    "poll_ms": MINUTE,
}


def reasons(rig: Pair) -> list[str]:
    return [n.reason.value for n in rig.notices() if n.status is NoticeStatus.DELIVERED]


def acked(rig: Pair, quiet: Quiet, depth: int = 3) -> None:
    fire(rig, depth)
    rig.run(60)
    quiet.ack()
    rig.run(60)


def test_without_an_ack_reminders_come(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, _):
        fire(rig)
        rig.run(3.5 * 3600)
        assert reasons(rig) == ["first", "repeat", "repeat", "repeat"]


def test_an_ack_stops_the_reminders_of_its_incident(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.run(5 * 3600)
        assert reasons(rig) == ["first"]


def test_an_ack_holds_over_a_restart(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.restart()
        rig.run(3 * 3600)
        assert reasons(rig) == ["first"]


def test_more_dead_letters_are_told_all_the_same(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.holds(5)
        rig.run(3 * 3600)
        assert reasons(rig) == ["first", "grown"]


def test_the_end_is_told_all_the_same(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.holds(0)
        rig.run(300)
        assert reasons(rig) == ["first", "resolved"]


def test_a_doubled_depth_ends_it(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.holds(6)
        rig.run(2.5 * 3600)
        assert reasons(rig) == ["first", "grown", "repeat", "repeat"]


def test_an_ack_given_at_an_empty_queue_ends_when_two_land(tmp_path: Path) -> None:
    """Twice nothing would never be reached."""
    with quietable(tmp_path, keep_ms=HOUR, **OFTEN) as (rig, quiet):
        fire(rig)
        rig.holds(0)
        rig.run(60)
        quiet.ack()
        rig.run(60)
        rig.holds(4)
        rig.run(2.5 * 3600)
        assert reasons(rig)[-1] == "repeat"


def test_becoming_critical_ends_it(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet, 70)
        rig.holds(110)
        rig.run(2.5 * 3600)
        assert reasons(rig) == ["first", "severity_raised", "repeat", "repeat"]


def test_a_deadline_that_comes_near_ends_it(tmp_path: Path) -> None:
    with quietable(tmp_path, **{**OFTEN, "poll_ms": 10 * MINUTE}) as (rig, quiet):
        rig.queues.retention_ms = 4 * DAY
        fire(rig)
        rig.run(71.9 * 3600)
        assert rig.incidents()[0].acked_at is None
        quiet.ack()
        rig.tick()
        assert rig.incidents()[0].acked_depth == 3
        rig.run(30 * 60)
        assert reasons(rig)[-1] == "expiry_near"
        assert rig.incidents()[0].acked_depth is None


def test_a_second_ack_after_the_first_ended_holds_again(tmp_path: Path) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.holds(6)
        rig.run(1800)
        quiet.ack()
        rig.run(5 * 3600)
        assert reasons(rig) == ["first", "grown"]


def test_the_card_says_who_has_it_in_hand(tmp_path: Path) -> None:
    with quietable(tmp_path, BOT, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        card = str(rig.a.posts[0].edits[-1])
        assert "minh" in card
        assert "looking" in card


@pytest.mark.parametrize("what", ["first", "later"])
def test_a_word_after_the_ack_says_who_has_it_in_hand(tmp_path: Path, what: str) -> None:
    with quietable(tmp_path, **OFTEN) as (rig, quiet):
        acked(rig, quiet)
        rig.holds(5)
        rig.run(1200)
        said = str(rig.a.posts[0 if what == "first" else -1].payload)
        assert ("minh" in said) == (what == "later")
