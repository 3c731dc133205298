"""SQLite as the journal of what memory holds.

Rollback journal, not WAL: a deleted file is noticed at the next write, a reader needs no shared
memory, and the WAL-reset bug of Debian's libsqlite3 can't bite. Nothing but sqlite3 may open
the database file: an open and close by anyone else in this process drops SQLite's locks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dlqwatch.edges.store_codec import decode, encode
from dlqwatch.edges.store_errors import check_place, explain
from dlqwatch.edges.store_schema import MIGRATIONS, VERSION
from dlqwatch.errors import NewerSchema, StoreError
from dlqwatch.model import StoreTrouble
from dlqwatch.rows import (
    COMMAND_TABLES,
    TABLES,
    Alert,
    Card,
    Change,
    Delete,
    Delivery,
    DestinationRow,
    FallRow,
    Hour,
    Incident,
    Meta,
    Notice,
    Prune,
    Queue,
    Row,
    Span,
    Transition,
)

R = TypeVar("R", bound=Row)

BUSY_MS = 500
PRUNED_ROWS = 5_000  # at once, 25 ms: the rest at the next writes

_LIVE_INCIDENTS = """(resolved_at IS NULL
    OR id IN (SELECT incident FROM notices WHERE status = 'pending')
    OR id IN (SELECT c.incident FROM cards c JOIN incidents i ON i.id = c.incident
              WHERE c.shown_rev < i.rev AND NOT c.frozen AND NOT c.gone))"""

# What a decision may still need: everything else stays in the file.
_LIVE: dict[type[Row], str] = {
    Meta: "1",
    Queue: "1",
    Span: "id IN (SELECT max(id) FROM spans GROUP BY queue)",
    Hour: "hour > (SELECT max(h.hour) FROM hours h WHERE h.queue = hours.queue) - 26 * 3600000",
    Incident: _LIVE_INCIDENTS,
    Alert: "1",
    Transition: "0",
    FallRow: "0",
    Notice: "status = 'pending'",
    Delivery: "notice IN (SELECT id FROM notices WHERE status = 'pending')",
    Card: f"incident IN (SELECT id FROM incidents WHERE {_LIVE_INCIDENTS})",
    DestinationRow: "1",
}


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the journal holds for a start: the live rows and the last id of each table."""

    rows: tuple[Row, ...]
    last_ids: dict[type[Row], int]


class Store:
    """The daemon's one connection. Not thread-safe: the engine's lock guards it."""

    def __init__(self, path: Path, *, wait_ms: int = BUSY_MS) -> None:
        """Open or create the database and bring its tables up to date.

        Raises StoreRefused where it can't be used at all, StoreError where it may work later.
        """
        self.path = path
        self._seen_version: int | None = None
        self._to_prune: dict[int, Prune] = {}
        check_place(path)
        try:
            self._db = connect(path, wait_ms)
            try:
                self._migrate()
            except BaseException:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise explain(error, path) from error

    def check(self) -> None:
        """Raise StoreError (CORRUPT) if the file is damaged. A year's file takes 0.1 s."""
        try:
            found = self._db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        if found is None or found[0] != "ok":
            raise StoreError(
                f"{self.path} is damaged", "Restore a backup.", trouble=StoreTrouble.CORRUPT
            )

    def load(self) -> Remembered:
        """Everything a decision may still need."""
        try:
            return remembered(self._db)
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def commands(self) -> list[Row] | None:
        """Silences and acks, if another connection wrote since last asked; None: none did."""
        try:
            self._db.execute("PRAGMA busy_timeout = 0")  # what is locked now is read next time
            version = self._db.execute("PRAGMA data_version").fetchone()[0]
            if version == self._seen_version:
                return None
            found: list[Row] = []
            for table in COMMAND_TABLES:
                found += select(self._db, table, "1")
            self._seen_version = version
            return found
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def write(self, changes: Iterable[Change], *, wait_ms: int = BUSY_MS) -> None:
        """Write all or nothing. Raises StoreError; the same changes may be written again."""
        try:
            self._db.execute(f"PRAGMA busy_timeout = {wait_ms}")
            self._db.execute("PRAGMA shrink_memory")  # or cached pages hide a damaged file
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for change in (*changes, *self._to_prune.values()):
                    self._write_one(change)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def close(self) -> None:
        self._db.close()

    def _write_one(self, change: Change) -> None:
        if isinstance(change, Prune):
            done = self._db.execute(
                "DELETE FROM spans WHERE id IN (SELECT id FROM spans WHERE queue = ? "
                "AND last_at < ? ORDER BY last_at LIMIT ?)",
                (change.queue, change.before, PRUNED_ROWS),
            )
            self._to_prune.pop(change.queue, None)
            if done.rowcount == PRUNED_ROWS:
                self._to_prune[change.queue] = change
        elif isinstance(change, Delete):
            table = change.table
            where = " AND ".join(f"{name} = ?" for name in table.KEY)
            self._db.execute(f"DELETE FROM {table.TABLE} WHERE {where}", change.key)
        else:
            self._db.execute(upsert(type(change)), encode(change))

    def _migrate(self) -> None:
        db = self._db
        have = int(db.execute("PRAGMA user_version").fetchone()[0])
        if have > VERSION:
            raise NewerSchema(
                f"{self.path} was written by a newer dlqwatch (schema {have}, this one knows "
                f"{VERSION})",
                "Run the newer version again, or point [database] path at another file.",
                schema=have,
            )
        if have == 0:  # before the first table: what is pruned makes the file smaller
            db.execute("PRAGMA auto_vacuum = FULL")
        for number in range(have, VERSION):
            db.execute("BEGIN IMMEDIATE")  # never executescript(): it commits half of a failure
            try:
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk has rolled back already
                    db.execute("ROLLBACK")
                raise


def remembered(db: sqlite3.Connection) -> Remembered:
    """What a decision may still need. Raises sqlite3.Error, or StoreError for a row unread."""
    rows: list[Row] = []
    last_ids: dict[type[Row], int] = {}
    for table in TABLES:
        rows += select(db, table, _LIVE[table])
        if table.KEY == ("id",):
            newest = db.execute(f"SELECT max(id) FROM {table.TABLE}").fetchone()
            last_ids[table] = newest[0] or 0
    return Remembered(tuple(rows), last_ids)


def connect(path: Path, wait_ms: int = BUSY_MS) -> sqlite3.Connection:
    """A connection with our settings. Raises sqlite3.Error."""
    db = sqlite3.connect(
        path, isolation_level=None, timeout=wait_ms / 1000, check_same_thread=False
    )
    try:
        for pragma in ("journal_mode = DELETE", "synchronous = FULL", "foreign_keys = ON"):
            db.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        db.close()
        raise
    return db


def select(db: sqlite3.Connection, table: type[R], where: str, *values: Any) -> list[R]:
    """Rows of a table, decoded."""
    columns = ", ".join(table.columns())
    found = db.execute(f"SELECT {columns} FROM {table.TABLE} WHERE {where}", values)
    return [decode(table, tuple(row)) for row in found]


def upsert(table: type[Row]) -> str:
    columns = table.columns()
    others = [name for name in columns if name not in table.KEY]
    updates = ", ".join(f"{name} = excluded.{name}" for name in others)
    # DO UPDATE, never REPLACE: that would delete another open incident without a word
    return (
        f"INSERT INTO {table.TABLE} ({', '.join(columns)}) "
        f"VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT ({', '.join(table.KEY)}) DO UPDATE SET {updates}"
    )
