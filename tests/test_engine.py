"""The engine: memory is the truth, the journal follows, and nobody waits for it."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.decide.inputs import RateLimited, Reading, Started, TimePassed
from dlqwatch.decide.world import Plan, World, in_order
from dlqwatch.edges.store import Store
from dlqwatch.engine import Engine
from dlqwatch.model import (
    HOUR,
    Destination,
    NoticeStatus,
    QueueRules,
    Reason,
    Resolution,
    Rule,
    Sample,
    SampleKind,
    State,
)
from dlqwatch.rows import (
    Alert,
    Card,
    Change,
    Delete,
    Delivery,
    Incident,
    Meta,
    Notice,
    Prune,
    Queue,
    Span,
)
from dlqwatch.sim.clocks import HandClock
from tests.acting import same, snapshot
from tests.fakes import FailingJournal
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig, light, plan_for, simulated
from tests.specimens import FACTS, NOW, UNTOLD


@pytest.fixture
def rig() -> Iterator[LightRig]:
    with light(WEBHOOK, QueueRules(QUEUE, keep_ms=0)) as found:
        yield found


# ---- while the journal fails


def test_while_the_journal_fails_people_are_told_all_the_same(rig: LightRig) -> None:
    rig.journal.failing = True
    rig.holds(3)
    rig.tick()
    assert len(rig.posted()) == 1
    rig.holds(0)
    rig.run(60)
    assert len(rig.posted()) == 2
    assert rig.told() == [], "nothing of it is in the file"
    assert rig.engine.behind


def test_what_waited_is_written_when_the_journal_is_back(rig: LightRig) -> None:
    rig.journal.failing = True
    for depth in (3, 0, 1, 0, 2):  # three incidents of one alert
        rig.holds(depth)
        rig.run(30)
    rig.journal.failing = False
    rig.run(30)
    assert not rig.engine.behind
    same(snapshot(rig.world), snapshot(rig.remembered()))
    assert [i.resolved_at is None for i in rig.incidents()] == [False, False, True]
    assert rig.told() == ["first", "resolved", "first", "resolved", "first"]
    assert rig.store._db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_failing_journal_is_only_probed(rig: LightRig) -> None:
    rig.journal.failing = True
    rig.journal.waits.clear()
    rig.holds(1)
    rig.tick()
    rig.journal.failing = False
    rig.run(60)
    first, *probes, _after = rig.journal.waits
    assert first == 500, "the first failure could not be foreseen"
    assert probes[:3] == [0, 0, 0]
    assert rig.journal.waits[-1] == 500


def test_that_the_journal_fails_is_said_when_it_begins_and_when_it_ends(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.journal.failing = True
    rig.holds(1)
    rig.run(300)
    rig.journal.failing = False
    rig.run(60)
    said = [r.message for r in caplog.records if r.name == "dlqwatch.journal" and r.levelno > 20]
    assert len(said) == 2
    assert "history isn't being written: the disk is full" in said[0]
    assert "history is written again" in said[1]


def test_a_start_after_a_journal_that_was_behind_tells_open_incidents_again(
    rig: LightRig,
) -> None:
    rig.holds(3)
    rig.tick()
    rig.journal.failing = True
    rig.holds(0)
    rig.run(31)
    rig.holds(1)
    rig.run(60)
    assert len(rig.posted()) == 3
    rig.restart(behind=True)  # the file still knows the first incident only
    rig.run(31)
    assert rig.told()[-1] == "restarted"
    assert "(possible repeat)" in rig.posted()[-1]


@pytest.mark.parametrize("healed", [True, False])
def test_the_end_writes_what_waits_or_says_that_it_is_behind(tmp_path: Path, healed: bool) -> None:
    journal = FailingJournal(Store(tmp_path / "x.db"))
    journal.failing = True
    engine = Engine(World(plan_for(WEBHOOK)), journal, HandClock())
    engine.submit(Started("5eed"))
    journal.failing = not healed
    engine.close()
    assert engine.behind is not healed
    again = Store(tmp_path / "x.db")
    assert bool(again.load().rows) is healed
    again.close()


def test_a_database_locked_by_another_for_the_whole_alert_changes_nothing_in_slack(
    tmp_path: Path,
) -> None:
    with simulated(tmp_path, BOT) as rig:
        with closing(sqlite3.connect(tmp_path / "dlqwatch.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            rig.cf.land(QUEUE, 3)
            rig.run(60)
            rig.cf.drain(QUEUE)
            rig.run(120)
            assert len(rig.messages()) == 2
            assert rig.engine.behind
            other.execute("ROLLBACK")
        rig.run(30)
        assert not rig.engine.behind
        assert rig.told() == ["first", "resolved"]


def test_a_database_deleted_under_an_alert_changes_nothing_in_slack(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK) as rig:
        (tmp_path / "dlqwatch.db").unlink()
        rig.cf.land(QUEUE, 3)
        rig.run(60)
        rig.cf.drain(QUEUE)
        rig.run(120)
        assert [m.text[:2] for m in rig.messages()] == ["🟠 ", "✅ "]
        assert rig.engine.behind  # this journal begins no new file; the real one does


# ---- in which order


def test_rows_that_waited_are_written_parents_first_and_closes_before_opens() -> None:
    closed = replace(UNTOLD, id=2, resolved_at=NOW, resolution=Resolution.UNKNOWN)
    opened = replace(UNTOLD, id=3)
    notice = Notice(1, "1-x", 3, Reason.FIRST, FACTS.severity, FACTS, NOW)
    alert = Alert(Rule.DEPTH, QUEUE, State.FIRING, NOW, incident=3)
    changes: list[Change] = [
        Card(3, "slack", "C1", "1.1", 1),
        Delivery(1, "slack", NOW),
        notice,
        alert,
        opened,
        closed,
        Meta("a", "b"),
        Queue(1, QUEUE, NOW),
        Prune(1, NOW),
        Delete(Alert, (Rule.DEPTH, "gone")),
    ]
    got = list(in_order(changes))
    assert got.index(closed) < got.index(opened) < got.index(alert)
    assert got.index(opened) < got.index(notice) < got.index(changes[1])
    assert isinstance(got[0], Delete)
    assert isinstance(got[1], Prune)


# ---- the clock, and the moment


def test_due_times_are_right_at_the_very_moment_the_clock_has_gone_back(rig: LightRig) -> None:
    rig.holds(1)
    rig.poll()
    rig.clock.step(-3600)
    assert rig.engine.due_in_ms("slack") == 0


def test_a_clock_that_went_back_is_said_once_a_small_step_is_not(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    for seconds in (-1.9, -3600, 3600):
        rig.clock.step(seconds)
        rig.tick()
        rig.tick()
    said = [r.message for r in caplog.records if "went back" in r.message]
    assert said == ["the clock went back by 3600.0 s: planned times go back with it"]


def test_cloudflare_asks_to_wait_an_hour_at_most(rig: LightRig) -> None:
    rig.engine.submit(RateLimited(rig.clock.now() + 10 * HOUR))
    assert rig.engine.cloudflare_wait_ms() == HOUR
    rig.clock.move(3601)
    assert rig.engine.cloudflare_wait_ms() == 0


# ---- one place where state changes


def test_every_input_wakes_whoever_carries_notices() -> None:
    woken: list[int] = []
    clock = HandClock()
    store = Store(Path(":memory:"))
    engine = Engine(
        World(plan_for(WEBHOOK)), FailingJournal(store), clock, wake=lambda: woken.append(1)
    )
    engine.submit(Started("5eed"))
    engine.submit(TimePassed(QUEUE))
    assert len(woken) == 2
    engine.close()


def test_inputs_from_many_threads_are_one_after_another(tmp_path: Path) -> None:
    names = [f"q{n}-dlq" for n in range(4)]
    destination = Destination("slack", WEBHOOK, "one")
    plan = Plan({n: QueueRules(n, keep_ms=0) for n in names}, (destination,), version="1")
    clock = HandClock()
    store = Store(tmp_path / "x.db")
    world = World(plan)
    engine = Engine(world, FailingJournal(store), clock)
    engine.submit(Started("5eed"))
    together = threading.Barrier(4)

    def poll(name: str) -> None:
        together.wait(5)
        for number in range(30):
            depth = number % 2
            sample = Sample(clock.now(), SampleKind.COMPLETE, depth, depth, None)
            engine.submit(Reading(name, sample))

    threads = [threading.Thread(target=poll, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    remembered = store.load()
    fresh = World(plan, remembered.last_ids)
    fresh.load(remembered.rows)
    same(snapshot(world), snapshot(fresh))
    assert world.last_ids[Incident] == 4 * 15
    assert world.last_ids[Span] == 4 * 30
    engine.close()


def test_a_change_of_state_is_logged_with_its_cause(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    rig.holds(3)
    rig.tick()
    rig.tick()
    said = [r.message for r in caplog.records if r.name == "dlqwatch.engine"]
    assert said == [
        f"depth {QUEUE}: unknown -> firing (depth 3)",
    ]


def test_rows_are_for_reading_and_only_the_live_ones(rig: LightRig) -> None:
    rig.holds(1)
    rig.tick()
    rig.holds(0)
    rig.run(31)
    assert rig.engine.rows(Notice) == []
    assert rig.engine.rows(Incident) == []
    assert [n.status for n in rig.notices()] == [NoticeStatus.DELIVERED] * 2
    assert rig.engine.queue(QUEUE).name == QUEUE
