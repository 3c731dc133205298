"""The daemon without its threads, on a real file that can be broken and mended in many ways."""

from __future__ import annotations

import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

from dlqwatch.daemon.courier import Courier
from dlqwatch.daemon.polling import Poller
from dlqwatch.decide.inputs import Started
from dlqwatch.decide.world import World
from dlqwatch.edges.store import Remembered, select
from dlqwatch.edges.store_keeper import Keeper
from dlqwatch.engine import Engine
from dlqwatch.errors import StoreError
from dlqwatch.model import DestinationKind, QueueRules, StoreTrouble
from dlqwatch.rows import Row
from dlqwatch.sim.clocks import HandClock
from tests.fakes import FakeQueues, FakeSpeaker
from tests.rig import BOT, OF_ITSELF, QUEUE, LightRig, plan_for

R = TypeVar("R", bound=Row)

OTHER = "other-dlq"


class StoreRig(LightRig):
    """Two queues, a bot, and the Keeper that the daemon has."""

    def __init__(self, path: Path, kind: DestinationKind = BOT) -> None:
        self.path = path
        self.ids: dict[str, int] = {}
        self.restarts = 0
        self._seen = 0
        clock = HandClock()
        plan = plan_for(kind, QueueRules(QUEUE), QueueRules(OTHER))
        speaker = FakeSpeaker(clock, bot=kind is BOT)
        super().__init__(plan, clock, FakeQueues(clock), speaker, self._no_store)

    @staticmethod
    def _no_store() -> NoReturn:
        raise AssertionError

    def start(self, *, behind: bool = False, seen_at: int | None = None) -> None:
        self.keeper = Keeper(self.path, self.clock, self.ids)
        found = self._remembered()
        self.world = World(self.plan, found.last_ids)
        self.world.load(found.rows)
        self.restarts += 1
        self.engine = Engine(self.world, self.keeper, self.clock)
        unsure = behind or self.keeper.forgot
        self.engine.submit(Started(f"id{self.restarts}", "watch-1", unsure, seen_at))
        self.couriers = [
            Courier(self.engine, d, self.speaker, self.clock) for d in self.plan.destinations
        ]
        self.pollers = {
            rules.name: Poller(self.engine, self.queues, rules, self.clock, 5.0)
            for rules in self.plan.queues.values()
        }
        self._next_poll = dict.fromkeys(self.pollers, self.clock.monotonic())

    def _remembered(self) -> Remembered:
        """As a start has it that has waited long enough for a locked file."""
        try:
            return self.keeper.start()
        except StoreError as error:
            if error.trouble is not StoreTrouble.LOCKED:
                raise
            return self.keeper.start_unread(error)

    def die(self) -> None:
        """kill -9: nothing more is written. What the pulse had is what it had."""
        self.ids, self.was_behind = self.engine.last_ids, self.engine.behind
        self.keeper.close()

    def reborn(self) -> None:
        """The next start."""
        self.clock.move(5)
        self.start(behind=self.was_behind)

    def rows(self, table: type[R], where: str = "1") -> list[R]:
        with closing(sqlite3.connect(self.path)) as db:
            return select(db, table, where)

    def forget(self) -> None:
        """What was said so far isn't looked at any more."""
        self._seen = len(self.speaker.posts)

    def lines(self) -> list[str]:
        """The first line of every message since."""
        return [p.payload.text.split("\n")[0] for p in self.speaker.posts[self._seen :]]

    def about(self, queue: str) -> list[str]:
        """Those about a queue."""
        return [line for line in self.lines() if queue in line and not OF_ITSELF.match(line)]

    def said(self, words: str) -> list[str]:
        """Those that hold these words."""
        return [line for line in self.lines() if words in line]


@contextmanager
def store_rig(folder: Path, kind: DestinationKind = BOT) -> Iterator[StoreRig]:
    """Up for a while, with its own first message told and both queues empty."""
    rig = StoreRig(folder / "dlqwatch.db", kind)
    try:
        rig.run(70)
        rig.forget()
        yield rig
    finally:
        rig.keeper.close()


# -- what can go wrong: each returns how to mend it

Mend = Callable[[], None]


def locked(rig: StoreRig) -> Mend:
    holder = sqlite3.connect(rig.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    return holder.close


def full(rig: StoreRig) -> Mend:
    """As on a full disk: SQLite may take no other page, and those there are have no room."""
    store = rig.keeper._store
    assert store is not None
    db = store._db
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
    newest = "(SELECT max(s.id) FROM spans s JOIN queues q ON q.id = s.queue WHERE q.name = ?)"
    with suppress(sqlite3.OperationalError):
        for size in range(0, 5000, 10):  # beside it, the next span is written
            db.execute(f"UPDATE spans SET detail = ? WHERE id = {newest}", ("x" * size, OTHER))

    def mend() -> None:
        with suppress(sqlite3.ProgrammingError):  # closed: its process was killed
            db.execute("PRAGMA max_page_count = 1000000").fetchall()

    return mend


def io_error(rig: StoreRig) -> Mend:
    """No file may be longer than this: a write fails with an error that isn't "disk full"."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def nothing() -> None:
    """It mends itself."""


def overwritten(rig: StoreRig) -> Mend:
    size = rig.path.stat().st_size
    with rig.path.open("r+b") as file:
        file.write(b"\x5a" * size)
    return nothing


def overwritten_inside(rig: StoreRig) -> Mend:
    """All but the header page."""
    size = rig.path.stat().st_size
    with rig.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * (size - 4096))
    return nothing


def emptied(rig: StoreRig) -> Mend:
    os.truncate(rig.path, 0)
    return nothing


def halved(rig: StoreRig) -> Mend:
    os.truncate(rig.path, rig.path.stat().st_size // 2)
    return nothing


def deleted(rig: StoreRig) -> Mend:
    rig.path.unlink()
    return nothing


def replaced(rig: StoreRig) -> Mend:
    """Somebody moves another database there."""
    other = rig.path.with_name("another.db")
    keeper = Keeper(other, rig.clock)
    found = keeper.start()
    Engine(World(rig.plan, found.last_ids), keeper, rig.clock).submit(Started("foreign"))
    keeper.close()
    other.replace(rig.path)
    return nothing


def folder_moved(rig: StoreRig) -> Mend:
    """… and comes back, with our file in it."""
    folder = rig.path.parent
    away = folder.with_name("away")
    folder.rename(away)

    def mend() -> None:
        away.rename(folder)

    return mend


def folder_replaced(rig: StoreRig) -> Mend:
    """… and an empty one takes its place."""
    rig.path.parent.rename(rig.path.parent.with_name("gone"))
    return rig.path.parent.mkdir
