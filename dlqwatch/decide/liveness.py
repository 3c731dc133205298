"""Whether the daemon still lives: pure verdicts over plain numbers.

Seconds are monotonic. The machine may have been stopped or its clock set: then the schedule is
laid anew and every measurement starts over, before anything is called dead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

HEALTH_FLOOR_S = 90.0
GRACE_S = 30.0  # beyond the health limit: the process ends itself
STOPPED_S = 5.0  # a wait of a second that took longer: the process stood still
STEP_S = 2.0


def health_limit_s(poll_s: float) -> float:
    """How long no tick may have finished before `health` is bad."""
    return max(3 * poll_s, HEALTH_FLOOR_S)


@dataclass(frozen=True, slots=True)
class Ticking:
    """A queue's ticks: when the last one finished, or its watch began."""

    queue: str
    finished: float
    poll_s: float


@dataclass(frozen=True, slots=True)
class Look:
    """What the watchdog sees each second."""

    monotonic: float
    waited_s: float  # how long its own wait of a second took
    stepped_s: float  # how far the wall clock parted from the monotonic one meanwhile
    scheduler_alive: bool
    ticking: tuple[Ticking, ...]


class Act(StrEnum):
    NOTHING = "nothing"
    REANCHOR = "reanchor"  # plan the next polls for now, start measuring anew
    DIE = "die"  # end the process, so that the restart policy brings it back


@dataclass(frozen=True, slots=True)
class Verdict:
    act: Act
    why: str = ""


def verdict(look: Look) -> Verdict:
    """What the watchdog must do."""
    if not look.scheduler_alive:
        return Verdict(Act.DIE, "the scheduler's thread is dead")
    if look.waited_s > STOPPED_S:
        return Verdict(Act.REANCHOR, f"the process stood still for {look.waited_s:.0f} s")
    if abs(look.stepped_s) > STEP_S:
        return Verdict(Act.REANCHOR, f"the clock was set by {look.stepped_s:+.0f} s")
    for ticking in look.ticking:
        silent = look.monotonic - ticking.finished
        if silent > health_limit_s(ticking.poll_s) + GRACE_S:
            return Verdict(Act.DIE, f"no tick of {ticking.queue} has finished for {silent:.0f} s")
    return Verdict(Act.NOTHING)


def slowest(ticking: Iterable[Ticking]) -> Ticking:
    """The queue that is nearest to its limit."""
    return min(ticking, key=lambda t: t.finished + health_limit_s(t.poll_s))
