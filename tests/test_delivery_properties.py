"""Two Slacks and a database that fail at random: what holds of delivery whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlqwatch.model import HOUR, MINUTE, NoticeStatus, QueueRules, Reason
from dlqwatch.rows import Incident, Notice
from tests.acting import EDITS, LOOKS, WEATHERS
from tests.fakes import UNREACHABLE
from tests.pair import FIRST, KIND_PAIRS, SECOND, Kinds, Pair, Slack, pair
from tests.rig import BOT, QUEUE

RULES = QueueRules(QUEUE, poll_ms=60_000, group_ms=5 * MINUTE, repeat_ms=6 * HOUR)
LAST = (Reason.RESOLVED, Reason.FIRST_AND_RESOLVED)


@dataclass(frozen=True)
class Scene:
    """For so long this depth is read (-1: none), in this weather; then something happens."""

    depth: int
    seconds: int
    first: str
    second: str
    look: str
    edit: str
    then: str


def scenes(*then: str) -> st.SearchStrategy[list[Scene]]:
    scene = st.builds(
        Scene,
        st.sampled_from([0, 0, 0, 1, 3, 5, 120, -1]),
        st.sampled_from([30, 120, 400, 1000]),
        st.sampled_from(["works", "works", *sorted(WEATHERS)]),
        st.sampled_from(["works", "works", *sorted(WEATHERS)]),
        st.sampled_from(["looks", "looks", *sorted(LOOKS)]),
        st.sampled_from(["edits", "edits", *sorted(EDITS)]),
        st.sampled_from(["", "", "die", "die posting", *then]),
    )
    return st.lists(scene, min_size=2, max_size=6)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A failure of one run in a thousand must not show the log of all."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def play(rig: Pair, scene: Scene) -> None:
    for slack, weather in ((rig.a, scene.first), (rig.b, scene.second)):
        slack.weather = WEATHERS[weather]
        slack.look_weather, slack.edit_weather = LOOKS[scene.look], EDITS[scene.edit]
    if scene.depth < 0:
        rig.queues.says[QUEUE] = UNREACHABLE
    else:
        rig.holds(scene.depth)
    rig.run(scene.seconds)
    if scene.then.startswith("die"):
        if scene.then == "die posting":
            rig.engine.begin(FIRST)
            rig.engine.begin(SECOND)
        told, failing = rig.journal.delivered, rig.journal.failing
        rig.restart(behind=rig.engine.behind)
        rig.journal.delivered[:0], rig.journal.failing = told, failing
    elif scene.then:
        rig.journal.failing = scene.then == "store fails"


def heal(rig: Pair, *slacks: Slack) -> None:
    """The database and these Slacks work from now on, and there is time for all that waits."""
    rig.journal.failing = False
    for slack in slacks:
        slack.weather, slack.look_weather, slack.edit_weather = "ok", None, None
    rig.holds(1)
    rig.run(90)
    rig.holds(0)
    rig.run(300)
    for _ in range(3):
        rig.run(1200, polling=False)
        rig.tick()


def depth_incidents(rig: Pair) -> list[Incident]:
    return rig.rows(Incident, "rule = 'depth' ORDER BY id")


def of(rig: Pair, incident: Incident) -> list[Notice]:
    return [n for n in rig.notices() if n.incident == incident.id]


def was_told(notice: Notice) -> bool:
    """Slack confirmed it, or may have it and gets no second copy."""
    return notice.status in (NoticeStatus.DELIVERED, NoticeStatus.DEAD)


def each_is_told_from_first_to_last(rig: Pair) -> None:
    for incident in depth_incidents(rig):
        assert incident.resolved_at is not None
        told = [n for n in of(rig, incident) if was_told(n)]
        assert told, "an incident of which nobody heard"
        ends = [n for n in told if n.reason in LAST]
        assert ends, "an end of which nobody heard"
        if any(n.reason is Reason.RESOLVED for n in ends):
            assert any(n.reason not in LAST for n in told), "resolved without a first word"
        else:
            assert [n.reason for n in told] == [Reason.FIRST_AND_RESOLVED]


def every_place_hears_the_end_of_what_it_heard(rig: Pair) -> None:
    """Each destination that confirmed a word of an incident confirmed one last word, no more."""
    for incident in depth_incidents(rig):
        for name in (FIRST, SECOND):
            heard = [n.reason for n in of(rig, incident) if n.delivered_by == name]
            assert sum(r in LAST for r in heard) == (1 if heard else 0), (name, heard)


def told_in_order(rig: Pair) -> None:
    """At each destination, the words of one incident come in the order they were decided."""
    seen: dict[tuple[int | None, str | None], int] = {}
    for notice in rig.journal.delivered:
        if notice.incident is not None:
            key = (notice.incident, notice.delivered_by)
            assert seen.get(key, 0) <= notice.id
            seen[key] = notice.id


def copies_are_bounded(rig: Pair, kinds: Kinds, *, may_look: bool) -> None:
    """One extra copy for each answer that was lost after Slack had stored the message; none by a
    bot that may look."""
    for name, slack, kind in zip((FIRST, SECOND), (rig.a, rig.b), kinds, strict=True):
        told = [n for n in rig.rows(Notice) if n.delivered_by == name]
        assert len(slack.posts) <= len(told) - (name == FIRST) + slack.stored_and_lost
        if kind is BOT and may_look:
            assert all(slack.copies(n.key) <= 1 for n in rig.notices())


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(KIND_PAIRS), scenes())
def test_with_slacks_that_fail_everything_is_told_once_and_in_order(
    kinds: Kinds, story: list[Scene]
) -> None:
    with pair(kinds, RULES) as rig:
        for scene in story:
            play(rig, scene)
        heal(rig, rig.a, rig.b)
        assert rig.waiting() == []
        each_is_told_from_first_to_last(rig)
        every_place_hears_the_end_of_what_it_heard(rig)
        told_in_order(rig)
        copies_are_bounded(rig, kinds, may_look=all(s.look != "may not look" for s in story))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(KIND_PAIRS), scenes("store fails", "store works"))
def test_with_a_database_that_fails_too_nothing_is_lost(kinds: Kinds, story: list[Scene]) -> None:
    with pair(kinds, RULES) as rig:
        for scene in story:
            play(rig, scene)
        heal(rig, rig.a, rig.b)
        assert rig.waiting() == []
        each_is_told_from_first_to_last(rig)
        told_in_order(rig)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(KIND_PAIRS), scenes())
def test_the_second_destination_alone_is_enough(kinds: Kinds, story: list[Scene]) -> None:
    """Whatever befell both: while only the second works, each incident is told to its end."""
    with pair(kinds, RULES) as rig:
        for scene in story:
            play(rig, scene)
        rig.a.weather = WEATHERS["needs a person"]
        heal(rig, rig.b)
        each_is_told_from_first_to_last(rig)
