"""The table of states, line by line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.decide.alerting import TABLE, Effect, Standing, Timing, heal, step
from dlqwatch.model import Condition, State

YES, NO, UNKNOWN = Condition.YES, Condition.NO, Condition.UNKNOWN
NOW = 1_000_000
AT_ONCE = Timing(hold_ms=0, keep_ms=0)
SLOWLY = Timing(hold_ms=60_000, keep_ms=60_000, tolerance_ms=15_000)


@dataclass(frozen=True)
class Case:
    """A line of the table at work."""

    before: Standing
    condition: Condition
    timing: Timing
    after: Standing
    effect: Effect
    opened_at: int | None = None


def at(state: State, ago: int = 0, cleared_ago: int | None = None) -> Standing:
    return Standing(state, NOW - ago, None if cleared_ago is None else NOW - cleared_ago)


CALM, PENDING, FIRING = State.INACTIVE, State.PENDING, State.FIRING

CASES: dict[str, Case] = {
    "unknown: no": Case(at(State.UNKNOWN, 9), NO, AT_ONCE, at(CALM), Effect.NOTHING),
    "inactive: no": Case(at(CALM, 9), NO, AT_ONCE, at(CALM, 9), Effect.NOTHING),
    "unknown: yes without hold": Case(
        at(State.UNKNOWN, 9), YES, AT_ONCE, at(FIRING), Effect.OPEN, NOW
    ),
    "inactive: yes without hold": Case(at(CALM, 9), YES, AT_ONCE, at(FIRING), Effect.OPEN, NOW),
    "unknown: yes with hold": Case(at(State.UNKNOWN, 9), YES, SLOWLY, at(PENDING), Effect.NOTHING),
    "inactive: yes with hold": Case(at(CALM, 9), YES, SLOWLY, at(PENDING), Effect.NOTHING),
    "pending: no": Case(at(PENDING, 59_000), NO, SLOWLY, at(CALM), Effect.NOTHING),
    "pending: yes, held long enough": Case(
        at(PENDING, 60_000), YES, SLOWLY, at(FIRING, 60_000), Effect.OPEN, NOW - 60_000
    ),
    "pending: yes, held but for half an interval": Case(
        at(PENDING, 45_000), YES, SLOWLY, at(FIRING, 45_000), Effect.OPEN, NOW - 45_000
    ),
    "pending: yes, not held long enough": Case(
        at(PENDING, 44_999), YES, SLOWLY, at(PENDING, 44_999), Effect.NOTHING
    ),
    "firing: yes": Case(at(FIRING, 9), YES, SLOWLY, at(FIRING, 9), Effect.UPDATE),
    "firing: yes ends the clearing": Case(
        at(FIRING, 9, 5), YES, SLOWLY, at(FIRING, 9), Effect.UPDATE
    ),
    "firing: the first no begins the clearing": Case(
        at(FIRING, 9), NO, SLOWLY, at(FIRING, 9, 0), Effect.UPDATE
    ),
    "firing: no, clear for long enough": Case(
        at(FIRING, 9, 60_000), NO, SLOWLY, at(CALM), Effect.CLOSE
    ),
    "firing: no, clear but for half an interval": Case(
        at(FIRING, 9, 45_000), NO, SLOWLY, at(CALM), Effect.CLOSE
    ),
    "firing: no without keep": Case(at(FIRING, 9), NO, AT_ONCE, at(CALM), Effect.CLOSE),
    "firing: no, not clear for long enough": Case(
        at(FIRING, 9, 44_999), NO, SLOWLY, at(FIRING, 9, 44_999), Effect.UPDATE
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_line_of_the_table(case: Case) -> None:
    got = step(case.before, case.condition, case.timing, NOW)
    assert (got.standing, got.effect, got.opened_at) == (case.after, case.effect, case.opened_at)


def line_of(case: Case) -> int:
    return next(
        number
        for number, line in enumerate(TABLE)
        if case.before.state in line.states
        and line.condition is case.condition
        and line.guard(case.before, case.timing, NOW)
    )


def test_every_line_of_the_table_has_a_case() -> None:
    assert {line_of(case) for case in CASES.values()} == set(range(len(TABLE)))


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("cleared_ago", [None, 10**9])
def test_unknown_changes_nothing_in_any_state(state: State, cleared_ago: int | None) -> None:
    before = at(state, 10**6, cleared_ago)
    for timing in (AT_ONCE, SLOWLY):
        got = step(before, UNKNOWN, timing, NOW)
        assert (got.standing, got.effect) == (before, Effect.NOTHING)


def test_a_time_of_the_past_that_lies_in_the_future_becomes_now() -> None:
    assert heal(at(FIRING, -5, -7), NOW) == at(FIRING, 0, 0)
    assert heal(at(FIRING, 5, 7), NOW) == at(FIRING, 5, 7)
    assert heal(at(CALM, -5), NOW) == at(CALM, 0)


standings = st.builds(
    at,
    st.sampled_from(State),
    st.integers(0, 10**6),
    st.one_of(st.none(), st.integers(0, 10**6)),
)
timings = st.builds(Timing, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 30_000))


@given(standings, st.sampled_from(Condition), timings)
def test_every_state_has_a_line_for_every_condition(
    before: Standing, condition: Condition, timing: Timing
) -> None:
    got = step(before, condition, timing, NOW)
    after = got.standing
    if got.effect is Effect.OPEN:
        assert before.state is not FIRING
        assert after.state is FIRING
        assert condition is YES
        assert got.opened_at is not None
        assert got.opened_at <= NOW
    if got.effect is Effect.CLOSE:
        assert before.state is FIRING
        assert after.state is CALM
        assert condition is NO
    if (before.state is FIRING) != (after.state is FIRING):
        assert got.effect in (Effect.OPEN, Effect.CLOSE)
    assert after.since <= NOW
    assert (
        after.clear_since is None
        or (after.state is FIRING and condition is not YES)
        or (condition is UNKNOWN)
    )
