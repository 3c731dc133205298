"""The alert machine: one table of states, for every rule.

Read from the top; the first line that fits is taken. A failed or unknown reading never moves
an alert: only a yes opens one and only a no closes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from dlqwatch.model import Condition, State


@dataclass(frozen=True, slots=True)
class Timing:
    """How long an alert must hold and be kept, and the jitter of ticks, in ms."""

    hold_ms: int
    keep_ms: int
    tolerance_ms: int = 0  # half an interval: ticks jitter by milliseconds


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an alert stands: the part of its row that the table reads and writes."""

    state: State = State.UNKNOWN
    since: int = 0
    clear_since: int | None = None


class Effect(StrEnum):
    """What a line of the table does besides the state."""

    NOTHING = "nothing"
    OPEN = "open"
    UPDATE = "update"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Step:
    """What one condition did to one alert. `opened_at` is set with `Effect.OPEN`."""

    standing: Standing
    effect: Effect
    opened_at: int | None = None


Guard = Callable[[Standing, Timing, int], bool]
Since = Callable[[Standing, int], int]


def _always(_s: Standing, _t: Timing, _now: int) -> bool:
    return True


def _no_hold(_s: Standing, t: Timing, _now: int) -> bool:
    return t.hold_ms == 0


def _held(s: Standing, t: Timing, now: int) -> bool:
    return now - s.since >= t.hold_ms - t.tolerance_ms


def _must_keep(s: Standing, t: Timing, _now: int) -> bool:
    return t.keep_ms > 0 and s.clear_since is None


def _kept(s: Standing, t: Timing, now: int) -> bool:
    return s.clear_since is None or now - s.clear_since >= t.keep_ms - t.tolerance_ms


def _now(_s: Standing, now: int) -> int:
    return now


def _as_was(s: Standing, _now: int) -> int:
    return s.since


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    states: frozenset[State]
    condition: Condition
    guard: Guard
    then: State
    effect: Effect = Effect.NOTHING
    since: Since = _now
    clearing: str = "none"  # what becomes of clear_since: "none", "kept" or "now"


CALM = frozenset({State.UNKNOWN, State.INACTIVE})
HELD = frozenset({State.PENDING})
FIRING = frozenset({State.FIRING})
YES, NO = Condition.YES, Condition.NO

TABLE: tuple[Line, ...] = (
    Line(CALM, NO, _always, State.INACTIVE),
    Line(CALM, YES, _no_hold, State.FIRING, Effect.OPEN),
    Line(CALM, YES, _always, State.PENDING),
    Line(HELD, NO, _always, State.INACTIVE),
    # the incident opens when the condition began, not when the hold was over
    Line(HELD, YES, _held, State.FIRING, Effect.OPEN, since=_as_was),
    Line(HELD, YES, _always, State.PENDING, since=_as_was),
    Line(FIRING, YES, _always, State.FIRING, Effect.UPDATE, since=_as_was),
    Line(FIRING, NO, _must_keep, State.FIRING, Effect.UPDATE, since=_as_was, clearing="now"),
    Line(FIRING, NO, _kept, State.INACTIVE, Effect.CLOSE),
    Line(FIRING, NO, _always, State.FIRING, Effect.UPDATE, since=_as_was, clearing="kept"),
)


def step(standing: Standing, condition: Condition, timing: Timing, now: int) -> Step:
    """What one condition at `now` does to an alert."""
    if condition is Condition.UNKNOWN:  # clear_since too is kept, else `0 _ 0 _` never resolves
        return Step(standing, Effect.NOTHING)
    line = next(
        li
        for li in TABLE
        if standing.state in li.states
        and li.condition is condition
        and li.guard(standing, timing, now)
    )
    since = standing.since if line.then is standing.state else line.since(standing, now)
    clear_since = {"none": None, "kept": standing.clear_since, "now": now}[line.clearing]
    return Step(
        Standing(line.then, since, clear_since),
        line.effect,
        since if line.effect is Effect.OPEN else None,
    )


def heal(standing: Standing, now: int) -> Standing:
    """A stored time of something past that lies in the future becomes now (the clock went back)."""
    clear = standing.clear_since
    return Standing(
        standing.state,
        min(standing.since, now),
        None if clear is None else min(clear, now),
    )
