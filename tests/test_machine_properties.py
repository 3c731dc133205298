"""What holds of the machine whatever happens to it: readings, failures, deaths, clocks, Slack."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlqwatch.decide.advancing import advance
from dlqwatch.decide.inputs import (
    Answered,
    ClockStepped,
    Edited,
    Input,
    Looked,
    Posting,
    QueueFound,
    QueueMissing,
    RateLimited,
    Reading,
    RetentionRead,
    Started,
    TimePassed,
)
from dlqwatch.decide.outcomes import Answer
from dlqwatch.model import (
    DestinationKind,
    NoticeStatus,
    Outcome,
    Reason,
    Sample,
    SampleKind,
)
from dlqwatch.rows import Notice
from tests.acting import RULES, Act, Actor, calm_acts, first_told, same, snapshot, wild_acts
from tests.rig import BOT, KINDS, QUEUE, WEBHOOK, LightRig, light
from tests.series import told

kinds = st.sampled_from(KINDS)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A failure of one run in a thousand must not show the log of all."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@settings(max_examples=50, deadline=None)
@given(kinds, wild_acts)
def test_whatever_happens_people_are_told_truly(kind: DestinationKind, acts: list[Act]) -> None:
    """Arbitrary readings, failures, deaths, clock steps and answers of Slack; then all works."""
    with light(kind, RULES) as rig:
        actor = Actor(rig)
        for act in acts:
            actor.act(act)
        actor.bounded()
        actor.heal()
        assert rig.pending() == []
        all_was_told(rig)
        told_in_order(rig)


def all_was_told(rig: LightRig) -> None:
    for incident in rig.incidents():
        assert incident.resolved_at is not None
        last = [n for n in rig.notices() if n.incident == incident.id][-1]
        assert last.status is NoticeStatus.DELIVERED
        assert last.reason in (Reason.RESOLVED, Reason.FIRST_AND_RESOLVED)
        if last.reason is Reason.RESOLVED:
            assert first_told(rig, incident).id < last.id, "resolved without a first word"


def told_in_order(rig: LightRig) -> None:
    by_incident: dict[int | None, list[int]] = {}
    for notice in rig.journal.delivered:
        by_incident.setdefault(notice.incident, []).append(notice.id)
    for ids in by_incident.values():
        assert ids == sorted(ids)


@settings(max_examples=30, deadline=None)
@given(calm_acts)
def test_a_bot_that_may_look_leaves_one_copy_of_each_notice(acts: list[Act]) -> None:
    with light(BOT, RULES) as rig:
        actor = Actor(rig)
        for act in acts:
            if act != ("look", "may not look"):
                actor.act(act)
        actor.heal()
        for notice in rig.notices():
            delivered = notice.status is NoticeStatus.DELIVERED
            assert rig.speaker.copies(notice.key) == (1 if delivered else 0)


@settings(max_examples=30, deadline=None)
@given(calm_acts)
def test_a_webhooks_copies_are_as_many_as_its_lost_answers_and_marked(acts: list[Act]) -> None:
    with light(WEBHOOK, RULES) as rig:
        actor = Actor(rig)
        for act in acts:
            actor.act(act)
        actor.heal()
        told = sum(n.status is NoticeStatus.DELIVERED for n in rig.rows(Notice))
        before = 1  # that it started, told before the acts
        assert len(rig.speaker.posts) == told - before + rig.speaker.stored_and_lost
        unmarked = [line for line in rig.posted() if "(possible repeat)" not in line]
        assert len(unmarked) <= len(rig.notices())


# ---- a restart changes nothing

plain_words = st.sampled_from(["0", "1", "2", "3", "50", "120", "_", "?2", "?0", "."])


@settings(max_examples=30, deadline=None)
@given(
    kinds,
    st.lists(st.tuples(plain_words, st.integers(1, 9), st.booleans()), min_size=1, max_size=6),
    st.sampled_from([0, 60_000]),
)
def test_a_restart_anywhere_changes_nothing_that_is_told(
    kind: DestinationKind, parts: list[tuple[str, int, bool]], hold_ms: int
) -> None:
    without = " ".join(f"{word}*{times}" for word, times, _ in parts)
    restarts = " ".join(
        f"{word}*{times // 2 + 1} {'restart ' if dies else ''}{word}*{times - times // 2 - 1}"
        if times > 1
        else f"{word}{' restart' if dies else ''}"
        for word, times, dies in parts
    )
    often: dict[str, Any] = {"group_ms": 90_000, "repeat_ms": 300_000, "hold_ms": hold_ms}
    assert told(restarts, kind=kind, **often) == told(without, kind=kind, **often)


# ---- advance is pure

answers = st.sampled_from(
    [
        Answer(outcome, error, retry_at, channel="C1", ts="1.1", threaded=threaded)
        for outcome in Outcome
        for error, retry_at, threaded in (("", None, True), ("ratelimited", 2**41, False))
    ]
)
samples = st.one_of(
    st.builds(
        Sample,
        st.integers(1_793_000_000_000, 1_795_000_000_000),
        st.just(SampleKind.COMPLETE),
        st.integers(0, 200),
        st.just(1),
    ),
    st.just(Sample(1_794_000_000_000, SampleKind.FAILED)),
)
ids = st.integers(1, 6)
inputs: st.SearchStrategy[Input] = st.one_of(
    st.builds(Reading, st.just(QUEUE), samples),
    st.builds(TimePassed, st.just(QUEUE)),
    st.builds(Posting, ids, st.just("slack")),
    st.builds(Answered, ids, st.just("slack"), answers),
    st.builds(Looked, ids, st.just("slack"), answers),
    st.builds(Edited, ids, st.just("slack"), st.integers(1, 4), answers),
    st.builds(QueueFound, st.just(QUEUE), st.just("abc")),
    st.builds(QueueMissing, st.just(QUEUE), st.just(("a", "b"))),
    st.builds(RetentionRead, st.just(QUEUE), st.sampled_from([None, 60_000, 345_600_000])),
    st.builds(RateLimited, st.integers(0, 2**43)),
    st.builds(ClockStepped, st.integers(1, 10**12)),
    st.builds(Started, st.just("other"), st.just("h"), st.booleans()),
)


@settings(max_examples=50, deadline=None)
@given(kinds, st.lists(st.tuples(inputs, st.integers(0, 10**7)), max_size=25))
def test_advance_only_reads_the_world_and_says_the_same_twice(
    kind: DestinationKind, events: list[tuple[Input, int]]
) -> None:
    """Any input at any time, likely or not; and the file always knows what memory knows."""
    with light(kind, RULES) as rig:
        for event, later in events:
            now = rig.clock.now() + later
            before, last_ids = deepcopy(snapshot(rig.world)), dict(rig.world.last_ids)
            one, other = advance(rig.world, event, now), advance(rig.world, event, now)
            assert one == other
            assert snapshot(rig.world) == before
            assert dict(rig.world.last_ids) == last_ids
            rig.clock.move(later / 1000)
            rig.engine.submit(event)
            same(snapshot(rig.world), snapshot(rig.remembered()))
            assert rig.remembered().last_ids == {**rig.world.last_ids}


def test_ids_are_never_handed_out_twice_after_a_restart() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.holds(1)
        rig.tick()
        rig.restart()
        rig.holds(0)
        rig.run(120)
        rig.holds(1)
        rig.run(31)
        assert len({n.id for n in rig.rows(Notice)}) == len(rig.rows(Notice)) == 4
