"""Healthy or why not: the closed set of reasons, from plain values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlqwatch.decide.alive import Alive, alive
from dlqwatch.decide.healthy import UNTOLD_MS, Cause, Daemon, Present, Trouble, troubles
from dlqwatch.facts import StartedFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    DestinationState,
    QueueRules,
    Reason,
    Rule,
    SampleKind,
    SampleReason,
    Severity,
    State,
)
from dlqwatch.rows import Alert, Delivery, DestinationRow, Notice, Queue, Span
from dlqwatch.words import en_health

NOW = 1_800_000_000_000
RULES = (QueueRules("dlq"),)
RUNS = Daemon(Alive.RUNS, started_at=NOW - HOUR, pid=7, host="box")
FAILED = Span(
    2, 1, NOW - 1, NOW, 1, 30_000, SampleKind.FAILED, None, None, None,
    SampleReason.BAD_TOKEN, "HTTP 401",
)  # fmt: skip
CALM = Present(
    queues=(Queue(1, "dlq", 0),),
    good_at={1: NOW - MINUTE},
    alerts=(Alert(Rule.DEPTH, "dlq", State.INACTIVE, NOW - HOUR),),
    destinations=(DestinationRow("slack", "f", DestinationState.OK, NOW - HOUR),),
)
NOTICE = Notice(
    5, "5-x", None, Reason.STARTED, Severity.WARNING, StartedFacts("1", ("dlq",), 30_000),
    created_at=NOW - UNTOLD_MS - 1,
)  # fmt: skip


def causes(present: Present = CALM, daemon: Daemon = RUNS) -> list[Cause]:
    return [t.cause for t in troubles(present, daemon, RULES, NOW)]


def test_a_daemon_that_reads_and_tells_is_healthy() -> None:
    assert causes() == []


def test_an_alert_that_fires_is_no_trouble_of_dlqwatch() -> None:
    firing = Alert(Rule.DEPTH, "dlq", State.FIRING, NOW, incident=1)
    assert causes(replace(CALM, alerts=(firing,))) == []


@pytest.mark.parametrize("state", [Alive.NEVER_RAN, Alive.GONE])
def test_without_a_daemon_it_is_unhealthy_and_old_readings_are_not_a_second_reason(
    state: Alive,
) -> None:
    assert causes(replace(CALM, good_at={}), Daemon(state)) == [Cause.NO_DAEMON]


@pytest.mark.parametrize("state", [Alive.SILENT, Alive.NO_PULSE])
def test_a_daemon_whose_ticks_are_overdue_is_unhealthy(state: Alive) -> None:
    assert causes(daemon=replace(RUNS, alive=state)) == [Cause.SILENT]


def test_history_in_memory_is_unhealthy_and_hides_what_may_only_be_unwritten() -> None:
    stale = replace(CALM, good_at={}, waiting=(NOTICE,))
    assert causes(stale, replace(RUNS, behind=True)) == [Cause.IN_MEMORY]


def test_a_queue_that_the_account_does_not_have_is_unhealthy_at_once() -> None:
    missing = replace(CALM, queues=(Queue(1, "dlq", 0, nearest='["dlq2"]'),), good_at={})
    (found,) = troubles(missing, RUNS, RULES, NOW)
    assert (found.cause, found.nearest) == (Cause.NOT_LISTED, ("dlq2",))


def test_a_missing_queue_without_near_names_is_unhealthy_too() -> None:
    """`[]` is not the same as nothing."""
    assert causes(replace(CALM, queues=(Queue(1, "dlq", 0, nearest="[]"),))) == [Cause.NOT_LISTED]


@pytest.mark.parametrize(("ago", "blind"), [(5 * MINUTE - 1, False), (5 * MINUTE, True)])
def test_a_queue_is_unread_from_blind_after_on(ago: int, blind: bool) -> None:
    seen = replace(CALM, good_at={1: NOW - ago}, spans={1: FAILED})
    found = troubles(seen, RUNS, RULES, NOW)
    assert [t.cause for t in found] == ([Cause.UNREAD] if blind else [])
    if blind:
        assert found[0].reason is SampleReason.BAD_TOKEN


def test_a_queue_that_was_never_read_counts_from_the_start_of_the_daemon() -> None:
    never = replace(CALM, good_at={})
    assert causes(never, replace(RUNS, started_at=NOW - 5 * MINUTE + 1)) == []
    assert causes(never, replace(RUNS, started_at=NOW - 5 * MINUTE)) == [Cause.UNREAD]


def test_a_restart_gives_an_old_reading_its_time_again() -> None:
    old = replace(CALM, good_at={1: NOW - HOUR})
    assert causes(old, replace(RUNS, started_at=NOW - MINUTE)) == []


def test_each_queue_has_its_own_blind_after() -> None:
    slow = (replace(RULES[0], blind_after_ms=2 * HOUR),)
    seen = replace(CALM, good_at={1: NOW - HOUR})
    assert troubles(seen, replace(RUNS, started_at=0), slow, NOW) == ()


def test_a_queue_that_the_running_daemon_does_not_know_is_unwatched() -> None:
    assert causes(replace(CALM, queues=(), alerts=())) == [Cause.UNWATCHED]


@pytest.mark.parametrize(
    ("state", "bad"),
    [
        (DestinationState.OK, False),
        (DestinationState.FAILING, False),
        (DestinationState.NEEDS_PERSON, True),
    ],
)
def test_only_a_destination_that_needs_a_person_is_unhealthy(
    state: DestinationState, bad: bool
) -> None:
    row = DestinationRow("slack", "f", state, NOW - MINUTE, "not_in_channel")
    found = troubles(replace(CALM, destinations=(row,)), RUNS, RULES, NOW)
    wanted = Trouble(Cause.DESTINATION, "slack", NOW - MINUTE, "not_in_channel")
    assert found == ((wanted,) if bad else ())


def test_a_notice_that_waits_for_over_five_minutes_is_unhealthy() -> None:
    young = replace(NOTICE, created_at=NOW - UNTOLD_MS)
    sent = (Delivery(5, "slack", NOW, 3, error="HTTP 500"),)
    assert causes(replace(CALM, waiting=(young,))) == []
    late = replace(CALM, waiting=(NOTICE, young), deliveries=sent)
    (found,) = troubles(late, RUNS, RULES, NOW)
    assert (found.cause, found.count, found.detail) == (Cause.UNTOLD, 1, "HTTP 500")


def test_a_database_that_is_gone_under_the_daemon_is_unhealthy() -> None:
    gone = Present(exists=False)
    assert causes(gone) == [Cause.NO_DATABASE]
    assert causes(gone, Daemon(Alive.NEVER_RAN)) == [Cause.NO_DAEMON]


def test_the_gravest_reason_comes_first() -> None:
    bad = replace(
        CALM,
        good_at={},
        destinations=(DestinationRow("slack", "f", DestinationState.NEEDS_PERSON, NOW),),
        waiting=(NOTICE,),
    )
    assert causes(bad) == [Cause.UNREAD, Cause.DESTINATION, Cause.UNTOLD]


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("state", Alive)
def test_every_reason_has_words_and_a_next_step(cause: Cause, state: Alive) -> None:
    why = Trouble(cause, "dlq", NOW - HOUR, "HTTP 500", ("dlq2",), SampleReason.BAD_TOKEN, 2)
    what, do = en_health.trouble(why, replace(RUNS, alive=state), "/data/x.db", NOW)
    assert what
    assert do
    assert "\n" not in what + do
    assert "None" not in what + do


@pytest.mark.parametrize(
    ("held", "same_boot", "silent_s", "expected"),
    [
        (False, False, None, Alive.NEVER_RAN),
        (True, False, None, Alive.NO_PULSE),
        (False, True, 1.0, Alive.GONE),
        (True, False, 1.0, Alive.NO_PULSE),
        (True, True, -1.0, Alive.NO_PULSE),
        (True, True, 90.0, Alive.RUNS),
        (True, True, 90.1, Alive.SILENT),
    ],
)
def test_what_the_lock_and_the_pulse_say(
    held: bool, same_boot: bool, silent_s: float | None, expected: Alive
) -> None:
    assert alive(held=held, same_boot=same_boot, silent_s=silent_s, limit_s=90.0) is expected
