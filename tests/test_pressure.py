"""The outbox while Slack is away: what coalesces, what always goes out, and what history says."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.history import _by_incident, as_json
from dlqwatch.decide.alive import Alive
from dlqwatch.decide.healthy import Cause, Daemon, Present, troubles
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.store_reader import Reader
from dlqwatch.model import HOUR, MINUTE, DestinationState, NoticeStatus, Outcome, QueueRules
from dlqwatch.rows import DestinationRow
from tests.pair import FIRST, REFUSED, REVOKED, Pair, fire, pair
from tests.rig import BOT, KINDS, QUEUE, LightRig, light

OFTEN = QueueRules(QUEUE, group_ms=5 * MINUTE, repeat_ms=30 * MINUTE)
kinds = pytest.mark.parametrize("kind", KINDS)


def lands(rig: LightRig, *depths: int, every_s: float = 60) -> None:
    for depth in depths:
        rig.holds(depth)
        rig.run(every_s)


@kinds
def test_growth_and_reminders_while_slack_is_away_become_one_message(kind: Any) -> None:
    with light(kind, OFTEN) as rig:
        lands(rig, 3)
        rig.speaker.weather = REFUSED
        lands(rig, 5, 7, 6, 9, 12, every_s=1800)
        assert len(rig.pending()) == 1
        rig.speaker.weather = "ok"
        rig.run(60)
        assert rig.told() == ["first", "grown"]
        assert "now 12 (was 3)" in rig.posted()[-1]


@kinds
def test_first_and_last_word_of_each_incident_go_out_however_many_there_were(kind: Any) -> None:
    """Slack works at the start of each, and is away until long after its end."""
    with light(kind, QueueRules(QUEUE, keep_ms=0)) as rig:
        for _ in range(4):
            rig.speaker.weather = "ok"
            lands(rig, 1)
            rig.speaker.weather = REFUSED
            lands(rig, 0)
        rig.run(1800)
        assert len(rig.pending()) >= 1
        rig.speaker.weather = "ok"
        rig.run(120)
        assert rig.told().count("first") == rig.told().count("resolved") == 4
        assert rig.pending() == []


@kinds
def test_each_incident_that_came_and_went_while_slack_was_away_is_one_message(kind: Any) -> None:
    with light(kind, QueueRules(QUEUE, keep_ms=0)) as rig:
        rig.speaker.weather = REFUSED
        for _ in range(3):
            lands(rig, 2, 5, 0)
        rig.speaker.weather = "ok"
        rig.run(120)
        assert rig.told() == ["first_and_resolved"] * 3
        assert all("Already over" in line for line in rig.posted())


@kinds
def test_what_comes_late_says_when_it_was_decided_and_what_comes_in_time_does_not(
    kind: Any,
) -> None:
    with light(kind) as rig:
        rig.speaker.weather = REFUSED
        lands(rig, 1, every_s=7200)
        rig.speaker.weather = "ok"
        rig.run(70)
        lands(rig, 0, every_s=200)
        late, soon = rig.speaker.posts
        assert "Late: decided" in late.payload.text
        assert "Late" not in soon.payload.text


@kinds
def test_ten_hours_of_which_slack_is_away_for_six(kind: Any) -> None:
    """Six incidents, growth and reminders: each is told to its end, in few messages, in order."""
    rules = QueueRules(QUEUE, poll_ms=MINUTE, group_ms=15 * MINUTE, repeat_ms=HOUR)
    with light(kind, rules) as rig:
        began = rig.clock.now()
        for hour in range(10):
            away = 2 <= hour < 8
            rig.speaker.weather = REFUSED if away else "ok"
            lands(rig, 2, 4, 8, every_s=900)
            if hour % 2:
                lands(rig, 0, every_s=900)
            else:
                lands(rig, 9, every_s=900)
        assert rig.clock.now() - began == 10 * HOUR
        rig.run(300)
        incidents = rig.incidents()
        assert len(incidents) == 5
        assert rig.pending() == []
        for incident in incidents:
            mine = [n for n in rig.notices() if n.incident == incident.id]
            done = [n.reason.value for n in mine if n.status is NoticeStatus.DELIVERED]
            opened_away = 2 <= (incident.opened_at - began) // HOUR < 8
            if opened_away:
                assert done == ["first_and_resolved"]
            else:
                assert (done[0], done[-1]) == ("first", "resolved")
        assert len(rig.speaker.posts) <= 20
        attempts = [at for at in rig.attempts() if 2 * 3600 <= at < 8 * 3600]
        assert len(attempts) <= 6 * 60 * 1.3 + 10, "no more than about one attempt a minute"


def test_slack_is_asked_no_more_than_once_a_second_after_it_was_away() -> None:
    with light(BOT, *(QueueRules(f"q{n}-dlq") for n in range(9))) as rig:
        rig.speaker.weather = REFUSED
        for n in range(9):
            rig.holds(1, f"q{n}-dlq")
        rig.run(1200)
        rig.speaker.weather = "ok"
        rig.speaker.calls.clear()
        rig.run(120)
        at = [when for _, when in rig.speaker.calls]
        assert len(rig.speaker.posts) == 9
        assert all(later - sooner >= 1000 for sooner, later in pairwise(at))


# -- what is said of it meanwhile


def story(rig: Pair, path: Path) -> list[dict[str, Any]]:
    """What `history --json` says now of the notices of the only incident."""
    with Reader(path) as reader:
        (incident,) = reader.incidents()
        told = _by_incident(*reader.notices([incident.id]))
    found = as_json(incident, told[incident.id])["notifications"]
    json.dumps(found)
    return [
        {k: n[k] for k in ("reason", "status", "delivered_by", "attempts")}
        | {"at": n["delivered_at"] is not None}
        for n in found
    ]


def test_history_tells_the_truth_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "dlqwatch.db"
    with pair(rules=OFTEN, path=path) as rig:
        rig.a.weather = rig.b.weather = REFUSED
        rig.holds(3)
        rig.poll()
        waits = {"status": "pending", "delivered_by": None, "at": False}
        assert story(rig, path) == [{"reason": "first", "attempts": 0, **waits}]
        rig.settle()
        assert story(rig, path) == [{"reason": "first", "attempts": 1, **waits}]
        rig.holds(5)
        rig.run(45)
        (only,) = story(rig, path)
        assert (only["reason"], only["status"]) == ("first", "pending")
        assert only["attempts"] > 2
        rig.a.weather = "ok"
        rig.run(61)
        (only,) = story(rig, path)
        assert (only["status"], only["delivered_by"], only["at"]) == ("delivered", FIRST, True)


@kinds
def test_a_notice_whose_answer_was_lost_is_not_called_delivered(kind: Any) -> None:
    with light(kind) as rig:
        rig.speaker.weather = "stored and lost"
        rig.speaker.look_weather = Answer(Outcome.TEMPORARY, "ratelimited")
        lands(rig, 1)
        (notice,) = rig.notices()
        assert (notice.status, notice.delivered_at) == (NoticeStatus.PENDING, None)


def present(path: Path) -> Present:
    with Reader(path) as reader:
        return reader.present()


RUNS = Daemon(Alive.RUNS)


def causes(rig: Pair, path: Path) -> list[Cause]:
    now = rig.clock.now()
    return [t.cause for t in troubles(present(path), RUNS, rig.plan.queues.values(), now)]


def test_status_is_unhealthy_while_a_destination_needs_a_person_although_all_was_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "dlqwatch.db"
    with pair(path=path) as rig:
        rig.tick()
        assert causes(rig, path) == []
        rig.a.weather = REVOKED
        fire(rig)
        assert causes(rig, path) == [Cause.DESTINATION]
        rig.a.weather = "ok"
        rig.run(961)
        assert causes(rig, path) == []


def test_status_is_unhealthy_once_a_notice_has_waited_for_five_minutes(tmp_path: Path) -> None:
    path = tmp_path / "dlqwatch.db"
    with pair(path=path) as rig:
        rig.tick()
        rig.a.weather = rig.b.weather = REFUSED
        fire(rig)
        rig.run(290)
        assert Cause.UNTOLD not in causes(rig, path)
        rig.run(60)
        assert Cause.UNTOLD in causes(rig, path)


# -- rates


@pytest.mark.parametrize("wait_s", [3, 600, 3600])
def test_a_wait_that_slack_asks_for_is_kept_and_the_second_does_not_share_it(wait_s: int) -> None:
    with pair() as rig:
        until = rig.clock.now() + wait_s * 1000
        rig.a.script.append(Answer(Outcome.TEMPORARY, "HTTP 429", until))
        fire(rig)
        rig.run(7200)
        calls = [at for name, at in rig.a.calls if name == "post"]
        assert all(at == calls[0] or at >= until for at in calls)
        if wait_s > 300:
            assert rig.notices()[0].delivered_by == "slack.fallback"


def test_a_destination_that_failed_for_a_while_is_ok_again_after_one_delivery() -> None:
    with light(BOT) as rig:
        rig.speaker.weather = REFUSED
        lands(rig, 1)
        (row,) = rig.rows(DestinationRow)
        assert row.state is DestinationState.FAILING
        rig.speaker.weather = "ok"
        rig.run(61)
        (row,) = rig.rows(DestinationRow)
        assert (row.state, row.failures, row.reason) == (DestinationState.OK, 0, "")
