"""The keeper and the lock on places that refuse: what is opened, what is kept, who is let in."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from dlqwatch.daemon import opening
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.lockfile import Lock, is_held, lock_path, read_pulse, spare_path
from dlqwatch.edges.store import Store
from dlqwatch.edges.store_keeper import CHECK_S, Keeper
from dlqwatch.edges.store_schema import VERSION
from dlqwatch.errors import LockHeld, NewerSchema, StoreError, StoreRefused
from dlqwatch.facts import Payload
from dlqwatch.model import Outcome, StoreTrouble
from dlqwatch.rows import Meta, Prune, Queue
from dlqwatch.sim.clocks import HandClock
from tests.store_rig import store_rig

MINE = Meta("id", "abc")


@contextmanager
def holding(database: Path, *, now: int = 1000, monotonic: float = 5.0) -> Iterator[Lock]:
    """A daemon's lock."""
    lock = Lock(database, now=now, monotonic=monotonic)
    try:
        yield lock
    finally:
        lock.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "data" / "dlqwatch.db"
    path.parent.mkdir()
    yield path
    with suppress(FileNotFoundError):
        spare_path(path).unlink()


# -- the lock


def test_where_the_lock_file_is_deleted_health_still_finds_the_pulse(database: Path) -> None:
    with holding(database) as lock:
        lock_path(database).unlink()
        assert not is_held(database)
        lock.beat(77.0, 90.0, behind=True, now=2000)
        assert is_held(database)
        pulse = read_pulse(database)
        assert pulse is not None
        assert (pulse.tick, pulse.behind) == (77.0, True)
        with pytest.raises(LockHeld):
            Lock(database, now=0, monotonic=0.0)
    assert not is_held(database)


def test_where_the_folder_is_renamed_health_still_finds_the_pulse(database: Path) -> None:
    with holding(database) as lock:
        database.parent.rename(database.parent.with_name("away"))
        lock.beat(77.0, 90.0, behind=True, now=2000)
        assert is_held(database)
        pulse = read_pulse(database)
        assert pulse is not None
        assert pulse.tick == 77.0


def test_the_next_start_reads_the_pulse_that_is_newer(database: Path) -> None:
    with holding(database) as lock:
        lock_path(database).unlink()
        lock.beat(77.0, 90.0, behind=True, now=2000, last_ids={"spans": 12})
        lock.close(behind=True)
    with holding(database, now=9000) as lock:
        assert lock.before is not None
        assert (lock.before.behind, lock.before.last_ids) == (True, {"spans": 12})
        lock.close()
    with holding(database, now=9500) as lock:
        assert lock.before is not None
        assert not lock.before.behind, "the one in the folder is newer now"


def test_a_start_that_was_refused_leaves_the_pulse_as_it_was(database: Path) -> None:
    with holding(database) as lock:
        lock.close(behind=True, clean=False)
    before = read_pulse(database)
    lock = Lock(database, now=9000, monotonic=9.0)
    lock.give_back()
    assert read_pulse(database) == before


def test_a_first_start_that_was_refused_leaves_no_pulse(database: Path) -> None:
    Lock(database, now=9000, monotonic=9.0).give_back()
    assert read_pulse(database) is None


def test_the_longest_pulse_fits(database: Path) -> None:
    ids = dict.fromkeys(("queues", "spans", "incidents", "transitions", "falls", "notices"), 10**9)
    with holding(database, now=10**13, monotonic=10.0**8 + 0.123456789) as lock:
        lock.beat(10.0**8 + 0.123456789, 10.0**5, behind=False, now=10**13, last_ids=ids)
        assert lock_path(database).stat().st_size == 512
        pulse = read_pulse(database)
        assert pulse is not None
        assert pulse.last_ids == ids


# -- a file that is locked at the start


class Patience(threading.Event):
    """Told to stop after so many seconds, which pass on a clock moved by hand."""

    def __init__(self, clock: HandClock, seconds: float) -> None:
        super().__init__()
        self._clock, self._left = clock, seconds

    def wait(self, timeout: float | None = None) -> bool:
        self._clock.move(timeout or 0)
        self._left -= timeout or 0
        return self._left <= 0


def wait_for_locked(database: Path, clock: HandClock, seconds: float) -> tuple[Keeper, object]:
    Store(database).close()
    keeper = Keeper(database, clock)
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        return keeper, opening.remembered(keeper, clock, Patience(clock, seconds))


def test_a_locked_file_is_waited_for_a_minute_and_then_watched_without(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    began = clock.monotonic()
    keeper, found = wait_for_locked(database, clock, 1000)
    assert found is not None
    assert keeper.forgot
    assert 60 <= clock.monotonic() - began < 90, "health allows 90 s"
    assert [r.levelname for r in caplog.records] == ["WARNING", "ERROR"]


def test_a_start_that_waits_can_be_stopped(database: Path) -> None:
    assert wait_for_locked(database, HandClock(), 3)[1] is None


# -- the schema of a newer version


class Hall:
    """A destination that answers as told."""

    def __init__(self, *answers: Outcome) -> None:
        self.answers = list(answers)
        self.heard: list[str] = []

    def post(self, payload: Payload) -> Answer:
        self.heard.append(f"{payload.text}\n{payload.blocks}")
        return Answer(self.answers.pop(0), "channel_is_archived")


def newer(path: Path) -> NewerSchema:
    Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(NewerSchema) as caught:
        Keeper(path, HandClock()).start()
    return caught.value


def test_a_newer_schema_is_told_once_over_any_number_of_restarts(database: Path) -> None:
    error = newer(database)
    hall = Hall(Outcome.DELIVERED)
    for start in range(3):
        lock = Lock(database, now=start, monotonic=0.0)
        opening.tell_newer(error, lock, [hall.post], HandClock())
        lock.give_back()
    (said,) = hall.heard
    assert "Nothing is watched" in said
    assert f"schema {VERSION + 1}" in said
    assert "Run the newer version again" in said


def test_it_is_told_at_the_second_destination_if_the_first_refuses(database: Path) -> None:
    error = newer(database)
    first, second = Hall(Outcome.NEEDS_PERSON), Hall(Outcome.DELIVERED)
    with holding(database) as lock:
        opening.tell_newer(error, lock, [first.post, second.post], HandClock())
        opening.tell_newer(error, lock, [first.post, second.post], HandClock())
    assert (len(first.heard), len(second.heard)) == (1, 1)


def test_it_is_tried_again_at_the_next_start_if_nobody_confirmed(database: Path) -> None:
    error = newer(database)
    hall = Hall(Outcome.TEMPORARY, Outcome.DELIVERED)
    for start in range(3):
        lock = Lock(database, now=start, monotonic=0.0)
        opening.tell_newer(error, lock, [hall.post], HandClock())
        lock.give_back()
    assert len(hall.heard) == 2


# -- the file


def test_a_million_old_rows_leave_a_small_file_and_never_hold_up_a_poll(database: Path) -> None:
    with closing(Store(database)) as store:
        store.write([Queue(1, "q", 0)])
        db = store._db
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
            "INSERT INTO spans SELECT i, 1, i, i, 1, 1000, 'complete', 0, 0, NULL, NULL, '' FROM n"
        )
        grown = database.stat().st_size
        store.write([Prune(1, 999_990)])
        left = db.execute("SELECT count(*) FROM spans").fetchone()[0]
        assert 900_000 < left < 1_000_000, "a part at a time: nobody may wait for it"
        for n in range(205):
            store.write([Meta("tick", str(n))])
        assert db.execute("SELECT count(*) FROM spans").fetchone()[0] == 11
    assert grown > 30_000_000
    assert database.stat().st_size < 1_000_000


def test_what_is_damaged_where_nothing_is_written_is_found_within_the_hour(tmp_path: Path) -> None:
    with store_rig(tmp_path) as rig:
        for depth in range(1, 80):  # pages of old readings
            rig.holds(depth)
            rig.tick()
            rig.clock.move(30)
        with closing(sqlite3.connect(rig.path)) as db:
            root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name='spans'").fetchone()[0]
            size = db.execute("PRAGMA page_size").fetchone()[0]
            count = db.execute("PRAGMA page_count").fetchone()[0]
        assert count > root
        with rig.path.open("r+b") as file:  # the first leaf: its first child comes right after
            file.seek((root - 1) * size + size - 40)
            file.write(b"\x5a" * 8)
        before = rig.keeper.renewed
        assert before is None
        rig.run(CHECK_S + 60)
        assert rig.keeper.renewed is not None
        assert rig.keeper.renewed.trouble is StoreTrouble.CORRUPT


def test_a_file_that_no_longer_exists_at_the_next_start_is_missed(tmp_path: Path) -> None:
    with store_rig(tmp_path) as rig:
        rig.holds(3)
        rig.tick()
        rig.die()
        rig.path.unlink()
        rig.forget()
        rig.reborn()
        rig.run(20)
        assert "deleted" in rig.said("history")[0]
        (line,) = rig.about("nemo12")
        assert "(possible repeat)" in line


def test_a_first_start_misses_nothing(tmp_path: Path) -> None:
    with store_rig(tmp_path) as rig:
        assert rig.keeper.renewed is None
        assert not rig.keeper.forgot


def test_the_next_damaged_file_of_the_same_second_overwrites_no_other(tmp_path: Path) -> None:
    path, clock = tmp_path / "x.db", HandClock()
    for _ in range(3):
        keeper = Keeper(path, clock)
        keeper.start()
        keeper.close()
        path.write_bytes(b"\x5a" * 5000)
    keeper = Keeper(path, clock)
    keeper.start()
    keeper.close()
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 3


def test_while_it_fails_nobody_waits_for_it(tmp_path: Path) -> None:
    with store_rig(tmp_path) as rig:
        rig.die()
        holder = sqlite3.connect(rig.path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        rig.reborn()
        assert rig.keeper.unopened is not None
        began = os.times().elapsed
        for _ in range(10):
            rig.poll()
        assert os.times().elapsed - began < 1
        holder.close()


def test_a_place_that_is_gone_is_an_error_with_its_path(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "none" / "x.db", HandClock())
    with pytest.raises(StoreRefused, match="none"):
        keeper.start()
    with pytest.raises(StoreError, match="none"):
        keeper.write([MINE], lambda: [MINE])
