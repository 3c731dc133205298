"""Keeps a journal going whatever becomes of its file.

A damaged file is set aside under a name with the time, a deleted one is begun anew; one that
can't be written is tried again at each write. Whenever a file is opened anew, every live row is
written, so that history goes on from what memory holds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dlqwatch.edges.store import BUSY_MS, Remembered, Store, remembered, select
from dlqwatch.edges.store_merge import ID_TABLES, Filing, caught_up, database_id
from dlqwatch.edges.store_schema import VERSION
from dlqwatch.errors import PlaceRefused, StoreError
from dlqwatch.model import SECOND, Clock, StoreTrouble
from dlqwatch.rows import COMMAND_TABLES, Change, Row

EMPTY = Remembered((), {})
SPARE_IDS = 1000  # more than is handed out of any table between two beats of the pulse
AGAIN_MS = 60 * SECOND  # a disk that damages each new file must not fill up with them
CHECK_S = 3600.0

Live = Callable[[], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Renewed:
    """A new file had to be begun. `kept_aside`: where the damaged one lies now."""

    at: int
    trouble: StoreTrouble
    kept_aside: str = ""


class _Foreign(StoreError):
    """Another database lies where ours was."""


class Keeper:
    """The daemon's journal. Not thread-safe: the engine's lock guards it.

    `given`: the newest id of each table, by name, as the last process's pulse has them: an id
    that people have seen never comes twice, whatever became of the file.
    """

    def __init__(self, path: Path, clock: Clock, given: Mapping[str, int] | None = None) -> None:
        self.path = path
        self.renewed: Renewed | None = None
        self.unopened: StoreError | None = None
        """Why the journal starts in memory alone; None: its file is open."""
        self._clock = clock
        self._given = dict(given or {})
        self._store: Store | None = None
        self._gone: Renewed | None = None  # ours is gone, and no new one could be begun yet
        self._unread = False  # the file may hold rows that nobody has read
        self._checked = clock.monotonic()
        self._filing = Filing()
        self._commands: list[Row] = []  # as last read
        self._given_out = True  # … by whoever asks for them

    @property
    def where(self) -> str:
        return str(self.path)

    @property
    def forgot(self) -> bool:
        """Is it uncertain at the start what people were told? The file is new, or unread."""
        return self._unread or self.renewed is not None

    def start(self, *, wait_ms: int = BUSY_MS) -> Remembered:
        """What is remembered. Where the file can be read but not written: from memory on.

        Raises StoreRefused where it can't be used at all, StoreError (LOCKED) to be tried again.
        """
        try:
            found = self._open(wait_ms)
            if self._given and database_id(found.rows) is None:  # there was one
                self.renewed = Renewed(self._clock.now(), StoreTrouble.DELETED)
            return self._numbered(found)
        except PlaceRefused as error:
            seen = self._read_only()
            if seen is None:  # nothing of ours there: the place is simply wrong
                raise
            self.unopened = error
            return self._numbered(seen)
        except StoreError as error:
            if error.trouble is StoreTrouble.LOCKED or error.refused:
                raise
            return self._start_without(error)

    def start_unread(self, error: StoreError) -> Remembered:
        """From memory alone, though a file is there: `rejoin` tells what it holds, once it can."""
        self.unopened, self._unread = error, True
        # the pulse may lag behind the file; without one, seconds are more than any id yet given
        seconds = self._clock.now() // 1000
        given = {name: number + SPARE_IDS for name, number in self._given.items()}
        self._given = {t.TABLE: given.get(t.TABLE, seconds) for t in ID_TABLES}
        return self._numbered(EMPTY)

    def rejoin(self, live: Live) -> tuple[Row, ...] | None:
        """What a file holds that the start could not read, once it can be; else None."""
        if not self._unread:
            return None
        try:
            found = self._open(wait_ms=0)
        except StoreError as error:
            self.unopened = error
            self._unread = error.trouble is not StoreTrouble.CORRUPT  # then `write` sets it aside
            return None
        self._unread = False
        if any(newest > self._given[table.TABLE] for table, newest in found.last_ids.items()):
            self._begin_anew(self._foreign())  # memory's ids would overwrite its rows
            return None
        self.unopened = None
        self._filing = Filing.of(found.rows, live())
        return found.rows

    def write(self, changes: Iterable[Change], live: Live, *, wait_ms: int = BUSY_MS) -> None:
        """Write all or nothing; after the file was opened anew, every live row too."""
        if self._unread and self.unopened is not None:
            raise self.unopened
        changes = list(changes)
        anew = 2  # ours is gone, and what lies there now is damaged too
        try:
            while True:
                try:
                    return self._write(changes, live, wait_ms)
                except StoreError as error:
                    if error.trouble not in (StoreTrouble.CORRUPT, StoreTrouble.DELETED):
                        raise
                    if anew == 0:
                        raise
                    anew -= 1
                    self._begin_anew(error)
        except OSError as error:  # of a look at the place: a disk that is failing
            raise StoreError(
                f"{self.path} can't be reached: {error.strerror}",
                "Look at the volume and the kernel's log.",
                trouble=StoreTrouble.IO,
            ) from error

    def commands(self) -> list[Row] | None:
        """What the commands wrote, if it may have changed since last asked; None: it hasn't."""
        if self._store is None:
            fresh, self._given_out = not self._given_out, True
            return self._commands if fresh else None
        found = self._store.commands()
        if found is not None:
            self._commands = found
        return found

    def close(self) -> None:
        self._drop()

    # -- opening

    def _open(self, wait_ms: int) -> Remembered:
        store = Store(self.path, wait_ms=wait_ms)
        try:
            store.check()
            found = store.load()
        except BaseException:
            store.close()
            raise
        self._store = store
        return found

    def _start_without(self, error: StoreError) -> Remembered:
        if error.trouble is StoreTrouble.CORRUPT:
            try:
                self._begin_anew(error)
                self._reopen((), tuple, BUSY_MS)
            except StoreError as worse:
                self.unopened = worse
            return self._numbered(EMPTY)
        found = self._read_only()
        if found is None and self.path.exists() and self.path.stat().st_size > 0:
            return self.start_unread(error)
        self.unopened = error
        return self._numbered(found or EMPTY)

    def _read_only(self) -> Remembered | None:
        """What a file that can't be written holds; None if it isn't one of ours."""
        try:
            db = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error:
            return None
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                return None
            found = remembered(db)
            self._commands = [row for table in COMMAND_TABLES for row in select(db, table, "1")]
            self._given_out = False
            return found
        except (sqlite3.Error, StoreError):
            return None
        finally:
            db.close()

    def _reopen(self, changes: Iterable[Change], live: Live, wait_ms: int) -> None:
        """Open what lies at our path, and bring it up to what memory holds."""
        store = Store(self.path, wait_ms=wait_ms)
        try:
            found = store.load().rows
            theirs, ours = database_id(found), database_id(live())
            if theirs is not None and ours is not None and theirs != ours:
                raise self._foreign()
            rows = self._filed(caught_up(changes, live(), found, self._clock.now()))
            # memory holds what commands wrote too: a new file must not end a silence
            store.write([*rows, *(self._commands if theirs is None else ())], wait_ms=wait_ms)
        except BaseException:
            store.close()
            raise
        self._store, self.unopened = store, None
        gone, self._gone = self._gone, None
        if gone is not None and theirs is None:  # else ours has come back: nothing is lost
            self.renewed = Renewed(self._clock.now(), gone.trouble, gone.kept_aside)

    # -- writing

    def _write(self, changes: list[Change], live: Live, wait_ms: int) -> None:
        store = self._store
        if store is None:
            self._reopen(changes, live, wait_ms)
            return
        try:
            store.write(self._filed(changes), wait_ms=wait_ms)
            self._look_at_all(store)
        except StoreError as error:
            if not isinstance(error.__cause__, sqlite3.IntegrityError):
                raise
            # rows that others stand on are gone from the file: memory still has them
            found = store.load().rows
            rows = caught_up(changes, live(), found, self._clock.now())
            store.write(self._filed(rows), wait_ms=wait_ms)

    def _look_at_all(self, store: Store) -> None:
        """Once an hour: what is damaged may lie where nothing is written any more."""
        now = self._clock.monotonic()
        if now - self._checked >= CHECK_S:
            self._checked = now
            store.check()

    def _filed(self, changes: Iterable[Change]) -> list[Change]:
        return [self._filing.filed(change) for change in changes]

    def _numbered(self, found: Remembered) -> Remembered:
        newest = {
            table: max(found.last_ids.get(table, 0), self._given.get(table.TABLE, 0))
            for table in ID_TABLES
        }
        return Remembered(found.rows, newest)

    # -- giving a file up

    def _begin_anew(self, error: StoreError) -> None:
        now, trouble = self._clock.now(), error.trouble or StoreTrouble.OTHER
        damaged = trouble is StoreTrouble.CORRUPT
        if damaged and self.renewed is not None and 0 <= now - self.renewed.at < AGAIN_MS:
            raise error
        self._drop()
        aside = self._set_aside() if damaged or isinstance(error, _Foreign) else ""
        self._gone = Renewed(now, trouble, aside or (self._gone.kept_aside if self._gone else ""))

    def _foreign(self) -> StoreError:
        return _Foreign(
            f"another database lies at {self.path}",
            "It is set aside, and a new one is begun.",
            trouble=StoreTrouble.DELETED,
        )

    def _set_aside(self) -> str:
        at = datetime.fromtimestamp(self._clock.now() / 1000, UTC)
        name = f"{self.path.name}.corrupt-{at:%Y%m%dT%H%M%SZ}"
        aside, number = self.path.with_name(name), 1
        while aside.exists():
            number += 1
            aside = self.path.with_name(f"{name}-{number}")
        journal = self.path.with_name(f"{self.path.name}-journal")
        try:
            if journal.exists():
                journal.rename(aside.with_name(f"{aside.name}-journal"))
            self.path.rename(aside)
        except OSError as error:
            raise StoreError(
                f"{self.path} is damaged and can't be moved aside: {error.strerror}",
                "Move it aside by hand, or restore a backup.",
                trouble=StoreTrouble.CORRUPT,
            ) from error
        return str(aside)

    def _drop(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()
