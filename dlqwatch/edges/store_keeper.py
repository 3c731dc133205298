"""Keeps a journal going whatever becomes of its file.

A damaged file is set aside under a name with the time, a deleted one is begun anew; one that
can't be written is tried again at each write. Whenever a file is opened anew, every live row is
written, so that history goes on from what memory holds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dlqwatch.edges.store import BUSY_MS, Remembered, Store, remembered
from dlqwatch.errors import PlaceRefused, StoreError
from dlqwatch.model import Clock, StoreTrouble
from dlqwatch.rows import Change, Row, change_key

EMPTY = Remembered((), {})


@dataclass(frozen=True, slots=True)
class Renewed:
    """A new file had to be begun. `kept_aside`: where the damaged one lies now."""

    at: int
    trouble: StoreTrouble
    kept_aside: str = ""


class Keeper:
    """The daemon's journal. Not thread-safe: the engine's lock guards it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.renewed: Renewed | None = None
        self.unopened: StoreError | None = None
        """Why the journal starts in memory alone; None: its file is open."""
        self._clock = clock
        self._store: Store | None = None

    @property
    def where(self) -> str:
        return str(self.path)

    def start(self) -> Remembered:
        """What is remembered. Where the file can be read but not written: from memory on.

        Raises StoreRefused where it can't be used at all, StoreError (LOCKED) to be tried again.
        """
        try:
            return self._open()
        except PlaceRefused as error:
            found = _read_only(self.path)
            if found is None:  # nothing of ours there: the place is simply wrong
                raise
            self.unopened = error
            return found
        except StoreError as error:
            if error.trouble is StoreTrouble.LOCKED or error.refused:
                raise
            if error.trouble is StoreTrouble.CORRUPT:
                self._begin_anew(StoreTrouble.CORRUPT)
                return EMPTY
            self.unopened = error
            return _read_only(self.path) or EMPTY

    def write(
        self,
        changes: Iterable[Change],
        live: Callable[[], Iterable[Row]],
        *,
        wait_ms: int = BUSY_MS,
    ) -> None:
        """Write all or nothing; after the file was opened anew, every live row too."""
        if self._store is None:
            self._store = Store(self.path)
            self.unopened = None
            changes = _with_live(changes, live)
        try:
            self._store.write(changes, wait_ms=wait_ms)
        except StoreError as error:
            if error.trouble not in (StoreTrouble.CORRUPT, StoreTrouble.DELETED):
                raise
            store = self._begin_anew(error.trouble)
            store.write(_with_live(changes, live), wait_ms=wait_ms)

    def commands(self) -> list[Row] | None:
        """What the commands wrote, if it may have changed since last asked; None: it hasn't."""
        return self._store.commands() if self._store is not None else None

    def close(self) -> None:
        self._drop()

    def _open(self) -> Remembered:
        store = Store(self.path)
        try:
            store.check()
            found = store.load()
        except BaseException:
            store.close()
            raise
        self._store = store
        return found

    def _begin_anew(self, trouble: StoreTrouble) -> Store:
        self._drop()
        aside = self._set_aside() if trouble is StoreTrouble.CORRUPT else ""
        self._store = Store(self.path)
        self.renewed = Renewed(self._clock.now(), trouble, aside)
        return self._store

    def _set_aside(self) -> str:
        at = datetime.fromtimestamp(self._clock.now() / 1000, UTC)
        aside = self.path.with_name(f"{self.path.name}.corrupt-{at:%Y%m%dT%H%M%SZ}")
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


def _with_live(changes: Iterable[Change], live: Callable[[], Iterable[Row]]) -> list[Change]:
    rows: dict[object, Change] = {change_key(row): row for row in live()}
    rows.update({change_key(change): change for change in changes})
    return list(rows.values())


def _read_only(path: Path) -> Remembered | None:
    """What a file that can't be written holds; None if it isn't one of ours."""
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error:
        return None
    try:
        return remembered(db)
    except (sqlite3.Error, StoreError):
        return None
    finally:
        db.close()
