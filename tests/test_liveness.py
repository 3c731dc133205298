"""Does the daemon still live? The verdicts, and the watchdog that acts on them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from dlqwatch.daemon.watchdog import Ticks, watch
from dlqwatch.decide.liveness import (
    GRACE_S,
    Act,
    Look,
    Ticking,
    health_limit_s,
    slowest,
    verdict,
)
from dlqwatch.sim.clocks import HandClock

QUEUE = "a-dlq"


def look(
    *,
    silent_s: float = 0.0,
    poll_s: float = 30.0,
    waited_s: float = 1.0,
    stepped_s: float = 0.0,
    alive: bool = True,
) -> Look:
    return Look(1000.0, waited_s, stepped_s, alive, (Ticking(QUEUE, 1000.0 - silent_s, poll_s),))


@pytest.mark.parametrize(
    ("poll_s", "limit_s"), [(1, 90), (15, 90), (30, 90), (31, 93), (60, 180), (300, 900)]
)
def test_no_tick_for_three_polls_but_at_least_90_s_is_bad(poll_s: float, limit_s: float) -> None:
    assert health_limit_s(poll_s) == limit_s


VERDICTS: dict[str, tuple[Look, Act]] = {
    "all is well": (look(), Act.NOTHING),
    "unhealthy is not yet dead": (look(silent_s=91), Act.NOTHING),
    "at the limit and the grace": (look(silent_s=90 + GRACE_S), Act.NOTHING),
    "beyond the limit and the grace": (look(silent_s=90 + GRACE_S + 0.1), Act.DIE),
    "a slow poll has its own limit": (look(silent_s=200, poll_s=60), Act.NOTHING),
    "beyond a slow poll's limit": (look(silent_s=211, poll_s=60), Act.DIE),
    "the scheduler is dead": (look(alive=False), Act.DIE),
    "the scheduler is dead after a standstill": (look(alive=False, waited_s=99), Act.DIE),
    "a second that took five": (look(waited_s=5.0), Act.NOTHING),
    "a standstill": (look(waited_s=5.1), Act.REANCHOR),
    "a long standstill kills nobody": (look(waited_s=9000, silent_s=9000), Act.REANCHOR),
    "a clock that drifts": (look(stepped_s=1.9), Act.NOTHING),
    "a clock set forward": (look(stepped_s=3600), Act.REANCHOR),
    "a clock set back": (look(stepped_s=-3600), Act.REANCHOR),
}


@pytest.mark.parametrize(("seen", "act"), VERDICTS.values(), ids=VERDICTS.keys())
def test_a_verdict(seen: Look, act: Act) -> None:
    assert verdict(seen).act is act


def test_a_death_names_the_queue_and_for_how_long() -> None:
    why = verdict(look(silent_s=130)).why
    assert QUEUE in why
    assert "130 s" in why


def test_one_dead_queue_among_live_ones_is_enough() -> None:
    ticking = (Ticking("live", 999.0, 30.0), Ticking("dead", 700.0, 30.0))
    found = verdict(Look(1000.0, 1.0, 0.0, True, ticking))
    assert found.act is Act.DIE
    assert "dead" in found.why


def test_the_slowest_is_the_one_nearest_to_its_limit() -> None:
    often = Ticking("often", 100.0, 10.0)  # bad at 190
    seldom = Ticking("seldom", 50.0, 300.0)  # bad at 950
    assert slowest([seldom, often]) is often
    assert Ticks({"often": 10.0}, 100.0).slowest() == (100.0, 90.0)


# ---- the watchdog


class Seconds(Event):
    """A stop that never waits: each wait moves the clock as `passing` says, then ends."""

    def __init__(self, clock: HandClock, passing: list[Callable[[HandClock], None]]) -> None:
        super().__init__()
        self._clock = clock
        self._passing = iter(passing)

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 1.0
        passes = next(self._passing, None)
        if passes is None:
            return True
        passes(self._clock)
        return False


def a_second(clock: HandClock) -> None:
    clock.move(1.0)


def watching(
    clock: HandClock, ticks: Ticks, *passing: Callable[[HandClock], None], alive: bool = True
) -> tuple[str | None, int]:
    """Why the process must end, and how often the polls were planned anew."""
    planned: list[float] = []
    stop = Seconds(clock, list(passing))
    why = watch(stop, clock, ticks, lambda: alive, lambda: planned.append(clock.monotonic()))
    return why, len(planned)


def test_it_watches_until_it_is_told_to_stop() -> None:
    clock = HandClock()
    ticks = Ticks({QUEUE: 30.0}, clock.monotonic())
    assert watching(clock, ticks, *[a_second] * 100) == (None, 0)


def test_it_ends_the_process_when_no_tick_finishes() -> None:
    clock = HandClock()
    ticks = Ticks({QUEUE: 30.0}, clock.monotonic())
    why, _ = watching(clock, ticks, *[a_second] * 200)
    assert why is not None
    assert QUEUE in why
    assert clock.monotonic() == 1000.0 + 121.0


def test_ticks_that_finish_keep_it_alive() -> None:
    clock = HandClock()
    ticks = Ticks({QUEUE: 30.0}, clock.monotonic())

    def half_a_minute(clock: HandClock) -> None:
        clock.move(1.0)
        ticks.finished(QUEUE, clock.monotonic())

    assert watching(clock, ticks, *([a_second] * 100 + [half_a_minute]) * 5) == (None, 0)


def test_a_dead_scheduler_ends_the_process_within_a_second() -> None:
    clock = HandClock()
    ticks = Ticks({QUEUE: 30.0}, clock.monotonic())
    why, _ = watching(clock, ticks, *[a_second] * 9, alive=False)
    assert why == "the scheduler's thread is dead"
    assert clock.monotonic() == 1001.0


def test_after_a_standstill_it_polls_at_once_and_measures_anew() -> None:
    clock = HandClock()
    ticks = Ticks({QUEUE: 30.0}, clock.monotonic())
    stands_still: Callable[[HandClock], None] = lambda c: c.move(90 * 60)  # noqa: E731
    assert watching(clock, ticks, a_second, stands_still, *[a_second] * 100) == (None, 1)


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_after_the_clock_was_set_it_polls_at_once(seconds: float) -> None:
    clock = HandClock()
    ticks = Ticks({QUEUE: 30.0}, clock.monotonic())

    def sets(clock: HandClock) -> None:
        clock.move(1.0)
        clock.step(seconds)

    assert watching(clock, ticks, a_second, sets, a_second) == (None, 1)
