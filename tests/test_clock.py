"""S14: the clock steps, the host sleeps, a poll hangs. Watching goes on, nothing storms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest

from dlqwatch.config.settings import load
from dlqwatch.daemon.rhythm import Steadily
from dlqwatch.daemon.run import Daemon, take_lock
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.lockfile import read_pulse
from dlqwatch.edges.store_keeper import Keeper
from dlqwatch.facts import IncidentFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    Destination,
    DestinationKind,
    NoticeStatus,
    Outcome,
    QueueRules,
    Reason,
    State,
)
from dlqwatch.rows import Delivery, DestinationRow, Notice, Queue
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.faults import Fault
from tests.fakes import UNREACHABLE
from tests.process import QUEUE, Place, place
from tests.rig import WEBHOOK, LightRig, light

H = 3600.0
YEARS = 10 * 365 * 24 * H
DOWN = Answer(Outcome.TEMPORARY, "http 500")

STEPS: dict[str, tuple[float, ...]] = {
    "an hour back": (-H,),
    "ten years ahead": (YEARS,),
    "ten years ahead and back": (YEARS, -YEARS),
    "to and fro by an hour": (H, -H, H, -H),
}
steps = pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())


def polls(rig: LightRig) -> int:
    return sum(call.startswith("read ") for call in rig.queues.calls)


@steps
def test_polling_goes_on_whatever_the_clock_does(steps: tuple[float, ...]) -> None:
    with light(WEBHOOK, QueueRules(QUEUE, poll_ms=30 * SECOND)) as rig:
        rig.run(60)
        for step in steps:
            rig.clock.step(step)
            before = polls(rig)
            rig.run(120)
            assert polls(rig) - before >= 3
        assert rig.state is State.INACTIVE
        rig.holds(2)
        rig.run(60)
        assert rig.told()[-1:] == ["first"]


@steps
def test_no_time_of_what_is_told_lies_in_the_future(steps: tuple[float, ...]) -> None:
    """So no age is ever negative; nor is an incident older than it is."""
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(600)
        for step in steps:
            rig.clock.step(step)
            rig.run(600)
        began = rig.clock.monotonic()
        rig.holds(0)
        rig.run(200)
        for notice in rig.notices():
            facts = notice.facts
            assert isinstance(facts, IncidentFacts)
            assert facts.opened_at <= max(facts.at, facts.resolved_at or 0)
        (incident,) = rig.incidents()
        assert incident.resolved_at is not None
        lasted = (incident.resolved_at - incident.opened_at) / 1000
        assert lasted >= 0
        if sum(steps) <= 0:
            assert lasted <= began - 1000 + 200 + H
            assert "year" not in rig.posted()[-1]


@steps
def test_reminders_neither_stop_nor_storm(steps: tuple[float, ...]) -> None:
    rules = QueueRules(QUEUE, poll_ms=60 * SECOND, repeat_ms=24 * HOUR, repeat_critical_ms=4 * HOUR)
    with light(WEBHOOK, rules) as rig:
        rig.holds(3)
        rig.run(2 * H)
        for step in steps:
            before = len(rig.told())
            rig.clock.step(step)
            rig.run(1800)
            assert len(rig.told()) - before <= 1, "all that fell due is one message"
        before = len(rig.told())
        rig.run(26 * H)
        assert 1 <= len(rig.told()) - before <= 8, "a day has a reminder, or one each 4 h"


@pytest.mark.parametrize("step", [-H, -YEARS])
def test_a_notice_that_waits_goes_to_the_second_destination_as_soon_as_without_the_step(
    step: float,
) -> None:
    with light(WEBHOOK) as rig:
        second = Destination("slack.fallback", DestinationKind.WEBHOOK, "two")
        rig.restart(plan=replace(rig.plan, destinations=(*rig.plan.destinations, second)))
        rig.run(10)
        rig.speaker.weather = DOWN
        rig.holds(3)
        rig.run(60)
        rig.clock.step(step)
        rig.run(180)
        assert not _sent_to_second(rig)
        rig.run(100)
        assert _sent_to_second(rig)


def _sent_to_second(rig: LightRig) -> bool:
    return any(d.destination == "slack.fallback" and d.attempts for d in rig.rows(Delivery))


@pytest.mark.parametrize("step", [-H, -YEARS, YEARS])
def test_nothing_planned_lies_further_away_after_a_step(step: float) -> None:
    with light(WEBHOOK) as rig:
        rig.speaker.weather = DOWN
        rig.holds(3)
        rig.run(1200)
        rig.clock.step(step)
        rig.run(60)
        now = rig.clock.now()
        assert all(d.next_at <= now + 10 * MINUTE for d in rig.engine.rows(Delivery))
        (row,) = rig.engine.rows(DestinationRow)
        assert row.free_at <= now + MINUTE
        assert row.probe_at <= now + 15 * MINUTE
        rig.speaker.weather = "ok"
        rig.run(70)
        assert "first" in rig.told()


@pytest.mark.parametrize("step", [-H, -YEARS])
def test_a_step_back_does_not_put_off_the_next_look_at_a_destination(step: float) -> None:
    """One that broke is found before the next dead letter finds it."""
    with light(WEBHOOK) as rig:
        rig.run(60)
        rig.clock.step(step)
        rig.run(60)
        (row,) = rig.engine.rows(DestinationRow)
        assert row.probe_at <= rig.clock.now() + 15 * MINUTE


@pytest.mark.parametrize("step", [-H, -YEARS])
def test_a_queue_is_not_seen_in_the_future(step: float) -> None:
    """Blindness is measured from the last good reading: a step back must not put it off."""
    with light(WEBHOOK) as rig:
        rig.run(60)
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.run(60)
        rig.clock.step(step)
        rig.run(30)
        assert all((q.good_at or 0) <= rig.clock.now() for q in rig.engine.rows(Queue))


def test_a_clock_set_back_while_it_was_down_holds_up_no_notice() -> None:
    with light(WEBHOOK) as rig:
        rig.speaker.weather = DOWN
        rig.holds(3)
        rig.run(30)
        rig.clock.step(-YEARS)
        rig.restart()
        waiting = [n for n in rig.engine.rows(Notice) if n.status is NoticeStatus.PENDING]
        assert [n.reason for n in waiting] == [Reason.FIRST]
        assert all(n.created_at <= rig.clock.now() for n in waiting)
        rig.speaker.weather = "ok"
        rig.run(60)
        assert rig.told() == ["first"]


# ---- the rhythm of the real scheduler


def runs(trigger: Steadily, then: datetime, now: datetime) -> list[datetime]:
    """As the scheduler counts the runs that fell due."""
    found = []
    due: datetime | None = then
    while due is not None and due <= now:
        found.append(due)
        assert len(found) < 10, "it counts what was missed"
        due = trigger.get_next_fire_time(due, now)
    return found


THEN = datetime(2026, 11, 7, tzinfo=UTC)


@pytest.mark.parametrize("away", [timedelta(0), timedelta(minutes=9), timedelta(days=3650)])
def test_what_was_missed_is_one_poll_however_long_it_was(away: timedelta) -> None:
    trigger = Steadily(seconds=1, timezone=UTC)
    assert runs(trigger, THEN, THEN + away) == [THEN]


def test_polls_come_at_their_interval_without_drift() -> None:
    trigger = Steadily(seconds=30, timezone=UTC)
    late = THEN + timedelta(seconds=3)
    assert trigger.get_next_fire_time(THEN, late) == THEN + timedelta(seconds=30)
    slow = THEN + timedelta(seconds=47)
    assert trigger.get_next_fire_time(THEN, slow) == slow + timedelta(seconds=30)


# ---- the real daemon


@pytest.fixture
def where(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def built(where: Place, clock: SystemClock | HandClock) -> Daemon:
    settings = load(where.config(), {}, secrets_dir=str(where.folder / "none"))
    lock = take_lock(where.database, clock)
    keeper = Keeper(where.database, clock)
    return Daemon(settings, clock, lock, keeper, keeper.start())


class Stop(Event):
    """Each wait of the watchdog ends at once, after it did the next of these."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        super().__init__()
        self._acts = iter(acts)

    def wait(self, timeout: float | None = None) -> bool:
        act = next(self._acts, None)
        if act is None:
            return True
        act()
        return False


@pytest.mark.parametrize("step", [-H, YEARS])
def test_after_a_step_the_real_scheduler_polls_at_once(where: Place, step: float) -> None:
    """The next poll was due in a day."""
    where.alerts = {"poll_interval": "1d", "blind_after": "2d"}
    clock = HandClock()
    daemon = built(where, clock)

    def wait_polls() -> None:
        where.wait_polls(1)

    def steps() -> None:
        clock.move(1)
        clock.step(step)

    stop = Stop(wait_polls, steps, wait_polls)
    assert daemon.run(stop) is None
    assert daemon.end()


def test_a_tick_that_never_ends_ends_the_process_as_unclean(where: Place) -> None:
    """So that the restart policy brings it back, and the next start says what happened."""
    where.timeout = "3s"
    clock = HandClock()
    where.cloudflare.fail(Fault.hang())
    daemon = built(where, clock)
    why = daemon.run(Stop(*[lambda: clock.move(1)] * 200))
    assert why is not None
    assert f"no tick of {QUEUE}" in why
    daemon.end(clean=False)
    pulse = read_pulse(where.database)
    assert pulse is not None
    assert not pulse.ended


@pytest.mark.parametrize(
    "fault",
    [Fault.hang(), Fault.drip_headers(0.2), Fault.drip_body(0.2)],
    ids=["silence", "a drip of headers", "a drip of the body"],
)
def test_a_poll_that_hangs_is_followed_by_the_next_within_two_intervals(
    where: Place, fault: Fault
) -> None:
    where.timeout = "1s"
    with where.daemon() as daemon:
        daemon.wait_line("unknown -> inactive")
        where.cloudflare.fail(fault, 3)
        at = where.wait_polls(5)
        gaps = [b - a for a, b in pairwise(at)]
        assert max(gaps) <= 2 * 1_000 + 1_500, gaps
        where.cloudflare.land(QUEUE)
        daemon.wait_line(r"told incident #1 \(first\)")
        assert daemon.terminate()[0] == 0


def test_health_stays_good_while_only_slack_and_cloudflare_are_away(where: Place) -> None:
    with where.daemon() as daemon:
        daemon.wait_line("told of itself")
        where.cloudflare.land(QUEUE)
        where.slack.fail(Fault.status(500))
        daemon.wait_line("slack: temporary")
        where.cloudflare.fail(Fault.hang())
        where.wait_polls(3)
        assert where.command("health").returncode == 0
        where.cloudflare.heal()
        where.cloudflare.fail(Fault.status(503))
        where.wait_polls(3)
        assert where.command("health").returncode == 0
