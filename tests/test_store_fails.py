"""Whatever becomes of the store, people are told all the same, and history goes on."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dlqwatch.decide.sending import Post
from dlqwatch.edges.store_commands import silence
from dlqwatch.model import MINUTE, DestinationKind, NoticeStatus, Reason, Resolution, Rule
from dlqwatch.rows import Alert, Hour, Incident, Notice, Queue, Silence, Span
from tests.rig import KINDS, QUEUE, WEBHOOK
from tests.store_rig import (
    OTHER,
    Mend,
    StoreRig,
    deleted,
    emptied,
    folder_moved,
    folder_replaced,
    full,
    halved,
    io_error,
    locked,
    overwritten,
    overwritten_inside,
    replaced,
    store_rig,
)

Break = Callable[[StoreRig], Mend]

WHY: dict[Break, str] = {
    locked: "another process holds the database",
    full: "the disk is full",
    io_error: "the disk gives errors",
    overwritten: "was damaged and is begun anew",
    overwritten_inside: "was damaged and is begun anew",
    emptied: "was damaged and is begun anew",
    halved: "was damaged and is begun anew",
    deleted: "its file was deleted or replaced",
    replaced: "begun anew",
    folder_moved: "its file was deleted or replaced",
    folder_replaced: "its file was deleted or replaced",
}
EACH = pytest.mark.parametrize("harm", WHY, ids=lambda harm: harm.__name__)
PATIENT = (locked, io_error)  # told after 30 s: it may pass
ASIDE = (overwritten, overwritten_inside, emptied, halved, replaced)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[StoreRig]:
    folder = tmp_path / "data"
    folder.mkdir()
    with store_rig(folder) as rig:
        rig.holds(3)
        rig.tick()
        rig.run(90)
        assert len(rig.about(QUEUE)) == 1
        rig.forget()
        yield rig


@EACH
def test_a_dead_letter_is_told_at_the_poll_that_sees_it(rig: StoreRig, harm: Break) -> None:
    mend = harm(rig)
    try:
        rig.holds(7, OTHER)
        rig.tick()
        (line,) = rig.about(OTHER)
        assert "7 dead letters" in line
    finally:
        mend()


@EACH
def test_that_history_is_not_written_is_told_with_the_reason(rig: StoreRig, harm: Break) -> None:
    mend = harm(rig)
    try:
        rig.holds(7, OTHER)
        rig.tick()
        if harm in PATIENT:
            assert not rig.said("history")
        rig.run(61)
        first, *rest = rig.said("history")
        assert WHY[harm] in first
        assert all("writes its history again" in line for line in rest)
        assert ("Critical" in first) is (harm is not locked)
    finally:
        mend()


@EACH
def test_when_the_store_is_back_all_that_memory_held_is_in_it(rig: StoreRig, harm: Break) -> None:
    """Into a new file too: what is open, who was told, and what happened meanwhile."""
    mend = harm(rig)
    try:
        rig.holds(7, OTHER)
        rig.tick()
        rig.run(61)
    finally:
        mend()
    rig.run(125)
    incidents = {i.subject: i for i in rig.rows(Incident) if i.rule is Rule.DEPTH}
    assert set(incidents) == {QUEUE, OTHER}
    assert all(i.resolved_at is None and i.first_told_at for i in incidents.values())
    delivered = [n for n in rig.rows(Notice) if n.incident == incidents[OTHER].id]
    assert [(n.reason, n.status) for n in delivered] == [(Reason.FIRST, NoticeStatus.DELIVERED)]
    assert {s.depth for s in rig.rows(Span)} >= {3, 7}
    assert not rig.engine.behind
    history = [i for i in rig.rows(Incident) if i.rule is Rule.STORE]
    assert [i.resolution for i in history] == [Resolution.CLEARED]
    assert len(rig.said("writes its history again")) == 1
    with closing(sqlite3.connect(rig.path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


@EACH
def test_killed_in_that_state_the_next_start_tells_what_is_open_once_more(
    rig: StoreRig, harm: Break
) -> None:
    """Marked as a possible repeat; what the file still knows for certain is not told again."""
    mend = harm(rig)
    rig.holds(7, OTHER)
    rig.tick()
    behind = rig.engine.behind
    rig.die()
    mend()
    rig.forget()
    rig.reborn()
    rig.run(61)
    for queue in (QUEUE, OTHER):
        lines = rig.about(queue)
        assert len(lines) == (1 if behind else 0), rig.lines()
        assert all("(possible repeat)" in line for line in lines)
    numbers = [i.id for i in rig.engine.rows(Incident)]
    assert len(numbers) == len(set(numbers))


@EACH
def test_it_resolves_as_ever_after_the_store_came_back(rig: StoreRig, harm: Break) -> None:
    mend = harm(rig)
    rig.tick()
    mend()
    rig.run(65)
    rig.forget()
    rig.holds(0)
    rig.run(125)
    assert len(rig.about(QUEUE)) == 1
    ends = [i.resolution for i in rig.rows(Incident) if i.subject == QUEUE]
    assert len(ends) == 1
    assert ends[0] is not None


@pytest.mark.parametrize("harm", ASIDE, ids=lambda harm: harm.__name__)
def test_the_file_is_kept_aside_under_a_name_with_the_time(rig: StoreRig, harm: Break) -> None:
    harm(rig)
    rig.holds(7, OTHER)
    rig.tick()
    aside = [p.name for p in rig.path.parent.iterdir() if "corrupt" in p.name]
    assert [bool(re.fullmatch(r"dlqwatch\.db\.corrupt-\d{8}T\d{6}Z", name)) for name in aside] == [
        True
    ]
    rig.run(5)
    assert any(aside[0] in str(p.payload) for p in rig.speaker.posts)


@pytest.mark.parametrize("harm", ASIDE[:-1], ids=lambda harm: harm.__name__)
def test_damaged_at_the_start_a_new_file_is_begun_and_told(rig: StoreRig, harm: Break) -> None:
    """No number that people have seen comes twice."""
    before = max(i.id for i in rig.rows(Incident))
    rig.die()
    harm(rig)
    rig.forget()
    rig.reborn()
    rig.run(61)
    why = "deleted or replaced" if harm is emptied else "damaged"
    assert why in rig.said("history")[0]
    (line,) = rig.about(QUEUE)
    assert "(possible repeat)" in line
    assert min(i.id for i in rig.rows(Incident)) > before


def test_a_silence_outlives_the_file_that_held_it(rig: StoreRig) -> None:
    now = rig.clock.now()
    until = now + 60 * MINUTE
    silence(rig.path, rule="", subject=OTHER, starts_at=now, ends_at=until, by="l", reason="")
    rig.tick()
    overwritten(rig)
    rig.holds(7, OTHER)
    rig.run(61)
    assert rig.about(OTHER) == []
    assert [s.subject for s in rig.rows(Silence)] == [OTHER]


def test_a_disk_that_damages_each_new_file_is_not_filled_with_them(rig: StoreRig) -> None:
    for depth in range(10, 15):
        overwritten(rig)
        rig.holds(depth)
        rig.tick()
        rig.clock.move(10)
    assert len(list(rig.path.parent.glob("*.corrupt-*"))) == 1


def test_an_older_copy_put_in_its_place_is_brought_up_to_date(rig: StoreRig) -> None:
    """A backup restored under a running daemon: what was open in it has ended since."""
    copy = rig.path.read_bytes()
    rig.holds(0)
    rig.run(125)
    rig.holds(9)
    rig.tick()
    restored = rig.path.with_name("copy")
    restored.write_bytes(copy)
    restored.replace(rig.path)
    rig.run(61)
    found = [i for i in rig.rows(Incident, "1 ORDER BY id") if i.subject == QUEUE]
    assert [i.resolved_at is None for i in found] == [False, True]
    assert not rig.engine.behind
    assert not rig.rows(Notice, "status = 'pending'")


# -- a file that could not be read at the start


def unread_start(rig: StoreRig) -> Mend:
    rig.die()
    mend = locked(rig)
    rig.forget()
    rig.reborn()
    return mend


def test_locked_at_the_start_it_watches_without_it_and_joins_it_later(rig: StoreRig) -> None:
    """What goes on has one incident that is open, and no row was overwritten."""
    old = {i.id: i for i in rig.rows(Incident)}
    spans = {s.id for s in rig.rows(Span)}
    mend = unread_start(rig)
    rig.holds(5)
    rig.run(61)
    assert ["(possible repeat)" in line for line in rig.about(QUEUE)] == [True]
    mend()
    rig.run(61)
    found = {i.id: i for i in rig.rows(Incident) if i.subject == QUEUE}
    assert set(old) < set(found)
    assert all(found[n].opened_at == i.opened_at for n, i in old.items())
    assert sorted(i.resolved_at is None for i in found.values()) == [False, True]
    assert spans < {s.id for s in rig.rows(Span)}
    assert sorted(q.name for q in rig.rows(Queue)) == sorted((QUEUE, OTHER))
    assert {s.queue for s in rig.rows(Span)} == {q.id for q in rig.rows(Queue)}
    assert not rig.engine.behind
    rig.holds(0)
    rig.run(125)
    assert not [i for i in rig.rows(Incident) if i.subject == QUEUE and i.resolved_at is None]


def test_what_ended_while_the_file_was_locked_gets_its_last_word(rig: StoreRig) -> None:
    mend = unread_start(rig)
    rig.holds(0)
    rig.run(65)
    assert rig.about(QUEUE) == []
    mend()
    rig.run(185)
    assert len(rig.about(QUEUE)) == 1
    (incident,) = (i for i in rig.rows(Incident) if i.subject == QUEUE)
    assert incident.resolved_at is not None


def test_what_had_not_been_told_yet_is_told_once_the_file_can_be_read(rig: StoreRig) -> None:
    rig.speaker.weather = "lost"
    rig.holds(7, OTHER)
    rig.tick()
    mend = unread_start(rig)
    rig.holds(0, OTHER)
    rig.speaker.weather = "ok"
    rig.run(61)
    assert rig.about(OTHER) == []
    mend()
    rig.run(240)
    assert rig.about(OTHER)
    assert not rig.rows(Notice, "status = 'pending'")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_on_its_way_at_the_end_arrives_once_the_file_can_be_read(
    tmp_path: Path, kind: DestinationKind
) -> None:
    """The process died in the middle of a POST that nobody took."""
    with store_rig(tmp_path, kind) as rig:
        rig.holds(7, OTHER)
        rig.poll()
        assert isinstance(rig.engine.begin("slack"), Post)
        mend = unread_start(rig)
        rig.holds(0, OTHER)
        rig.run(31)
        assert rig.about(OTHER) == []
        mend()
        rig.run(60)
        (line,) = rig.about(OTHER)
        assert ("(possible repeat)" in line) is (kind is WEBHOOK), "a bot looks first"
        assert not rig.rows(Notice, "status = 'pending'")


def test_an_hour_that_both_counted_is_counted_once(rig: StoreRig) -> None:
    def polls() -> int:
        return sum(h.polls for h in rig.rows(Hour))

    before = polls()
    mend = unread_start(rig)
    rig.run(61)
    mend()
    rig.run(61)
    spans = sum(s.polls for s in rig.rows(Span))
    assert polls() == spans > before


def test_a_file_that_no_pulse_knows_is_not_overwritten(rig: StoreRig) -> None:
    """The lock file is gone too: ids begin above all that can have been given."""
    old = {i.id: i.opened_at for i in rig.rows(Incident)}
    rig.die()
    rig.ids = {}
    mend = locked(rig)
    rig.reborn()
    rig.run(61)
    mend()
    rig.run(61)
    found = {i.id: i.opened_at for i in rig.rows(Incident)}
    assert old.items() < found.items()


def test_alerts_of_both_lives_are_one_row_each(rig: StoreRig) -> None:
    mend = unread_start(rig)
    rig.run(61)
    mend()
    rig.run(61)
    firing = [a for a in rig.rows(Alert) if a.rule is Rule.DEPTH]
    assert sorted(a.subject for a in firing) == sorted((QUEUE, OTHER))
