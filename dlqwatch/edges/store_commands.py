"""What commands write while the daemon runs: silences and acks, in short transactions.

The daemon writes none of these tables, the commands no other. Each waits for the daemon's
commit at most `WAIT_S`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dlqwatch.edges.store import select, upsert
from dlqwatch.edges.store_codec import encode
from dlqwatch.edges.store_errors import explain
from dlqwatch.edges.store_reader import Reader
from dlqwatch.errors import StoreError
from dlqwatch.rows import Ack, Incident, Row, Silence

WAIT_S = 5.0


class NothingSuch(StoreError):
    """What the command names isn't there. Exit 1."""

    exit_code = 1


def silence(
    path: Path, *, rule: str, subject: str, starts_at: int, ends_at: int, by: str, reason: str
) -> Silence:
    """Hold back the notices of a subject until `ends_at` (ms)."""
    with _writing(path) as db:
        newest = db.execute("SELECT max(id) FROM silences").fetchone()[0] or 0
        row = Silence(newest + 1, rule, subject, starts_at, ends_at, by, reason)
        _put(db, row)
        return row


def unsilence(path: Path, subject: str, *, now: int, by: str) -> list[Silence]:
    """Lift every silence of a subject that holds now or will. Raises NothingSuch if none does."""
    with _writing(path) as db:
        held = select(
            db, Silence, "subject = ? AND ends_at > ? AND lifted_at IS NULL", subject, now
        )
        if not held:
            raise NothingSuch(
                f'no silence holds for "{subject}"', "dlqwatch silences lists those that do."
            )
        lifted = [replace(row, lifted_at=now, lifted_by=by) for row in held]
        for row in lifted:
            _put(db, row)
        return lifted


def ack(path: Path, incident: int, *, now: int, by: str, note: str) -> Incident:
    """Somebody has an open incident in hand. Raises NothingSuch if it isn't open."""
    with _writing(path) as db:
        found = select(db, Incident, "id = ?", incident)
        if not found:
            raise NothingSuch(f"there is no incident #{incident}", "dlqwatch status lists them.")
        if found[0].resolved_at is not None:
            raise NothingSuch(
                f"incident #{incident} is over: it needs no ack",
                f"dlqwatch history --incident {incident} shows how it went.",
            )
        _put(db, Ack(incident, now, by, note))
        return found[0]


def _put(db: sqlite3.Connection, row: Row) -> None:
    db.execute(upsert(type(row)), encode(row))


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    with Reader(path):  # says what is wrong with the file, if anything is
        pass
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=WAIT_S)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    try:
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise explain(error, path) from error
    finally:
        db.close()
