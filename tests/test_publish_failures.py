"""Events that were never published (S12), counted in the Worker's log of a scripted Cloudflare."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from dlqwatch.model import (
    HOUR,
    MINUTE,
    State,
)
from dlqwatch.sim.faults import Fault
from tests.rig import BOT
from tests.watched import NEEDLE, WATCH, WORKER, asks_logs, watched


def test_failures_to_publish_are_told_once_their_window_is_over(tmp_path: Path) -> None:
    """With the window, that they are gone, and in which log to look."""
    with watched(tmp_path) as it:
        it.passes(3)
        assert it.state is State.INACTIVE
        it.fails(12)
        it.passes(8)
        (incident,) = it.incidents()
        (message,) = [m for m in it.rig.slack.messages() if NEEDLE in m.text]
        assert "12 events of nemo12-api were never published" in message.text
        shown = json.dumps(message.blocks)
        assert "These events are gone" in shown
        assert "Observability, and filter for" in shown
        assert incident.opened_at % WATCH.interval_ms == 0
        it.passes(20)
        assert len(it.said()) == 1


def test_lines_that_reach_the_log_late_are_counted(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.passes(3)
        for _ in range(10):
            it.rig.run(48)  # to two seconds before the minute, and so before a window's end
            it.fails(1, late_s=119)
            it.rig.run(12)
            it.counter.tick()
        it.passes(8)
        assert it.incidents()[0].facts.total == 10  # type: ignore[union-attr]


def test_other_workers_and_other_lines_are_not_counted(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        now = it.rig.clock.now()
        it.rig.cf.logs.write("another-worker", NEEDLE, now)
        it.rig.cf.logs.write(WORKER, "EVENT_PUBLISHED", now)
        it.passes(10)
        assert it.state is State.INACTIVE


def test_a_sampled_log_is_an_estimate(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.rig.cf.logs.sampling = 10
        it.fails(30)
        it.passes(10)
        assert "30 events of nemo12-api" in it.said()[0]


def test_more_failures_are_told_at_most_once_per_group_interval(tmp_path: Path) -> None:
    """The total is all of them; windows without any are no news."""
    with watched(tmp_path) as it:
        for _ in range(60):
            it.fails(1)
            it.passes(1)
        it.passes(30)
        said = it.said()
        assert 4 <= len(said) <= 6
        assert all(line.startswith("🟠 More: ") for line in said[1:])
        assert it.incidents()[0].facts.total == 60  # type: ignore[union-attr]
        it.passes(20)
        assert it.said() == said


def test_an_hour_without_a_failure_ends_it_and_calls_nothing_resolved(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.fails(7)
        it.passes(50)
        assert it.incidents()[0].resolved_at is None
        it.passes(25)
        assert it.state is State.INACTIVE
        (_, last) = it.said()
        assert "7 events were never published and can't be brought back" in last
        assert "Resolved" not in last


def test_an_hour_that_could_not_be_counted_ends_nothing(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.fails(7)
        it.passes(10)
        it.rig.cf.fail(Fault.status(500), when=asks_logs)
        it.passes(120)
        assert it.state is State.FIRING
        assert len(it.said()) == 1


def test_a_bots_card_is_not_edited_at_each_quiet_window(tmp_path: Path) -> None:
    with watched(tmp_path, BOT) as it:
        it.fails(7)
        it.passes(40)
        (card,) = [m for m in it.rig.slack.messages() if NEEDLE in m.text]
        assert len(card.edits) <= 1
        assert "none after" in card.text


def test_what_failed_during_an_outage_is_counted_in_one_call(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.passes(5)
        it.rig.cf.fail(Fault.status(500), when=asks_logs)
        for _ in range(12):
            it.fails(3)
            it.passes(10)
        it.rig.cf.heal()
        before = len(it.rig.cf.logs.counted)
        it.passes(10)
        start, end = it.rig.cf.logs.counted[before]
        assert end - start >= 110 * MINUTE
        assert it.incidents()[0].facts.total == 36  # type: ignore[union-attr]


def test_a_restart_counts_and_tells_nothing_again(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.fails(5)
        it.passes(10)
        it.restart(WATCH)
        it.fails(2)
        it.passes(10)
        it.restart(WATCH)
        it.passes(10)
        assert it.incidents()[0].facts.total == 7  # type: ignore[union-attr]
        assert len(it.said()) == 2
        counted = it.rig.cf.logs.counted
        assert all(one[1] == two[0] for one, two in itertools.pairwise(counted))


def test_reminders_come_also_while_nothing_can_be_counted(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.fails(5)
        it.passes(10)
        it.rig.cf.fail(Fault.status(500), when=asks_logs)
        for _ in range(25):
            it.rig.clock.move(HOUR / 1000)
            it.passes(1)
        assert len(it.said()) == 2
        assert it.said()[1].startswith("🟠 Still: ")


def test_a_worker_that_left_the_configuration_is_told_once(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.fails(5)
        it.passes(10)
        it.restart(None)
        it.rig.run(120)
        left = [m.text for m in it.rig.slack.messages() if "No longer watched" in m.text]
        assert len(left) == 1
        assert "nemo12-api left dlqwatch's configuration" in left[0]
        assert it.incidents()[0].resolved_at is not None
