"""The database as commands read it while the daemon writes: short, and never a change.

Opened for writing all the same, with `query_only`: what a killed daemon left half written (a hot
journal) can only be rolled back by a connection that may write.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from dlqwatch.decide.healthy import Present
from dlqwatch.edges.store import select
from dlqwatch.edges.store_errors import explain
from dlqwatch.edges.store_schema import VERSION
from dlqwatch.errors import StoreError, StoreRefused
from dlqwatch.model import HOUR, Rule
from dlqwatch.rows import (
    Ack,
    Alert,
    Delivery,
    DestinationRow,
    Hour,
    Incident,
    Notice,
    Queue,
    Silence,
    Span,
    Transition,
)

WAIT_S = 1.0  # for a lock; then it is said
BACKUP_PAGES = 2_000  # a step of 8 MB, after which the daemon may write
# errors of the copy, not of its source
_OF_COPY = ("SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY")

_NAMED = "queue = (SELECT id FROM queues WHERE name = ?)"


class NoDatabase(StoreError):
    """There is no database at this path, or an empty file: no daemon has written one."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"there is no database at {path} yet",
            "Start the daemon (dlqwatch run), or correct [database] path.",
        )


class Reader:
    """A read-only view. A context manager; every error is a StoreError.

    Raises NoDatabase, or StoreRefused where another version of dlqwatch must read it.
    """

    def __init__(self, path: Path, *, wait_s: float = WAIT_S) -> None:
        self.path = path
        if not path.exists():
            raise NoDatabase(path)
        with self._errors():
            self._db = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode=rw",
                uri=True,
                isolation_level=None,
                timeout=wait_s,
            )
        try:
            with self._errors():
                self._db.execute("PRAGMA query_only = ON")
                self._check_version()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def present(self) -> Present:
        """What is, all of it from one moment."""
        with self._moment() as db:
            spans = select(db, Span, "id IN (SELECT max(id) FROM spans GROUP BY queue)")
            good = db.execute(
                "SELECT queue, max(last_at) FROM spans WHERE kind <> 'failed' GROUP BY queue"
            )
            opened = "SELECT id FROM incidents WHERE resolved_at IS NULL"
            pending = "SELECT id FROM notices WHERE status = 'pending'"
            return Present(
                queues=tuple(select(db, Queue, "1 ORDER BY id")),
                spans={span.queue: span for span in spans},
                good_at=dict(good.fetchall()),
                alerts=tuple(select(db, Alert, "1 ORDER BY rule, subject")),
                incidents=tuple(select(db, Incident, "resolved_at IS NULL ORDER BY id")),
                waiting=tuple(select(db, Notice, "status = 'pending' ORDER BY id")),
                deliveries=tuple(select(db, Delivery, f"notice IN ({pending})")),
                destinations=tuple(select(db, DestinationRow, "1 ORDER BY name")),
                silences=tuple(select(db, Silence, "lifted_at IS NULL ORDER BY id")),
                acks=tuple(select(db, Ack, f"incident IN ({opened}) ORDER BY at")),
            )

    def silences(self, now: int | None) -> tuple[Silence, ...]:
        """The silences that hold at `now` (ms) or will; None: all there ever were."""
        with self._moment() as db:
            if now is None:
                return tuple(select(db, Silence, "1 ORDER BY id DESC"))
            where = "ends_at > ? AND lifted_at IS NULL ORDER BY id DESC"
            return tuple(select(db, Silence, where, now))

    def acks(self) -> tuple[Ack, ...]:
        """Every ack there ever was, the oldest first."""
        with self._moment() as db:
            return tuple(select(db, Ack, "1 ORDER BY at"))

    def incidents(
        self,
        *,
        number: int | None = None,
        since: int | None = None,
        subject: str | None = None,
        rule: Rule | None = None,
    ) -> tuple[Incident, ...]:
        """Incidents, the newest first. `since` (ms): those open at that time or later."""
        asked: list[tuple[str, object]] = []
        if number is not None:
            asked.append(("id = ?", number))
        if since is not None:
            asked.append(("coalesce(resolved_at, 1 << 62) >= ?", since))
        if subject is not None:
            asked.append(("subject = ?", subject))
        if rule is not None:
            asked.append(("rule = ?", rule.value))
        where = " AND ".join(["1", *(words for words, _ in asked)])
        with self._moment() as db:
            found = select(db, Incident, f"{where} ORDER BY id DESC", *(v for _, v in asked))
        return tuple(found)

    def notices(
        self, incidents: Sequence[int] | None
    ) -> tuple[tuple[Notice, ...], tuple[Delivery, ...]]:
        """The notices of these incidents, the oldest first, and how each was sent.

        None: those that belong to no incident (a start).
        """
        if incidents is None:
            where, values = "incident IS NULL", ()
        else:  # numbers of our own; as text, since SQLite bounds how many `?` there may be
            where, values = f"incident IN ({', '.join(str(int(i)) for i in incidents)})", ()
        with self._moment() as db:
            notices = select(db, Notice, f"{where} ORDER BY id", *values)
            sent = select(db, Delivery, f"notice IN (SELECT id FROM notices WHERE {where})")
        return tuple(notices), tuple(sent)

    def transitions(self, incident: Incident) -> tuple[Transition, ...]:
        """How the incident's alert changed its state."""
        with self._moment() as db:
            return tuple(select(db, Transition, "incident = ? ORDER BY id", incident.id))

    def spans(self, name: str, start: int, end: int) -> tuple[Span, ...]:
        """What was read of a queue from `start` to `end` (ms), as far back as it is kept."""
        where = f"{_NAMED} AND last_at >= ? AND first_at <= ? ORDER BY id"
        with self._moment() as db:
            return tuple(select(db, Span, where, name, start, end))

    def hours(self, name: str, start: int, end: int) -> tuple[Hour, ...]:
        """The same by the hour, kept for good: the hours that lie at least partly inside."""
        where = f"{_NAMED} AND hour > ? AND hour <= ? ORDER BY hour"
        with self._moment() as db:
            return tuple(select(db, Hour, where, name, start - HOUR, end))

    def back_up(self, target: Path) -> int:
        """Copy the whole database to `target`, which appears only when it is good.

        The number of incidents in it. The daemon goes on writing; its changes make the copy
        start over, in steps short enough for both.
        """
        try:
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            os.close(handle)
            copy = Path(name)
            try:
                incidents = self._copy(copy)
                copy.chmod(self.path.stat().st_mode & 0o777)
                copy.replace(target)
            except BaseException:
                with suppress(OSError):
                    copy.unlink()
                raise
        except OSError as error:
            raise StoreRefused(
                f"{target} can't be written ({error.strerror}); dlqwatch runs as uid "
                f"{os.geteuid()}",
                "Name a file in a directory that this user may write.",
            ) from error
        except sqlite3.Error as error:
            of_copy = (getattr(error, "sqlite_errorname", None) or "").startswith(_OF_COPY)
            raise explain(error, target if of_copy else self.path) from error
        return incidents

    def _copy(self, path: Path) -> int:
        refused = 0

        def stepped(status: int, _left: int, _pages: int) -> None:
            nonlocal refused  # sqlite3 itself would try a locked database for ever
            refused = refused + 1 if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else 0
            if refused > 3:
                raise StoreError(
                    f"{self.path} is locked by another process", "End whatever else writes to it."
                )

        copy = sqlite3.connect(path, isolation_level=None)
        try:
            self._db.backup(copy, pages=BACKUP_PAGES, progress=stepped)
            checked = copy.execute("PRAGMA quick_check").fetchall()
            if checked != [("ok",)]:
                raise StoreError(
                    f"{self.path} is damaged, and so would its copy be: {checked[0][0]}",
                    "Restore an earlier backup, or move the database aside: a new one is begun.",
                )
            return int(copy.execute("SELECT count(*) FROM incidents").fetchone()[0])
        finally:
            copy.close()

    def _check_version(self) -> None:
        have = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if have == 0:
            raise NoDatabase(self.path)
        if have > VERSION:
            raise StoreRefused(
                f"{self.path} was written by a newer dlqwatch (schema {have}, this one knows "
                f"{VERSION})",
                "Use the version that the daemon runs.",
            )
        if have < VERSION:
            raise StoreRefused(
                f"{self.path} was written by an older dlqwatch (schema {have}, this one reads "
                f"{VERSION})",
                "Start the daemon of this version once: it brings the tables up to date.",
            )

    @contextmanager
    def _moment(self) -> Iterator[sqlite3.Connection]:
        """Several reads that see the same moment. The daemon can't write meanwhile."""
        with self._errors():
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
