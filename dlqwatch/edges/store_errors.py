"""What keeps a database from being opened or written, in plain words with a next step."""

from __future__ import annotations

import os
import pwd
import sqlite3
from pathlib import Path

from dlqwatch.errors import PlaceRefused, StoreError, StoreRefused
from dlqwatch.model import StoreTrouble


def check_place(path: Path) -> None:
    """Refuse a place where no database can live. SQLite itself only says "unable to open"."""
    folder = path.parent
    me = f"dlqwatch runs as uid {os.geteuid()}"
    if path.is_dir():
        raise StoreRefused(
            f"[database] path {path} is a directory", f"Name a file in it: {path / 'dlqwatch.db'}"
        )
    if not folder.is_dir():
        raise StoreRefused(
            f"the directory {folder} for the database doesn't exist",
            "Create it, mount a volume there, or set [database] path (DLQWATCH_DATABASE__PATH).",
            trouble=StoreTrouble.DELETED,
        )
    for place, needs in ((folder, os.W_OK | os.X_OK), (path, os.R_OK | os.W_OK)):
        if place.exists() and not os.access(place, needs):
            raise PlaceRefused(
                f"{place} can't be written: it belongs to {_owner(place)}, and {me}",
                f"Give it to that user: chown -R {os.geteuid()} {folder}",
                trouble=StoreTrouble.READ_ONLY,
            )


def _owner(path: Path) -> str:
    uid = path.stat().st_uid
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


_READ_ONLY = (
    "SQLITE_READONLY",
    StoreTrouble.READ_ONLY,
    "is read-only",
    "Mount its volume writable for this user.",
)
_TROUBLES: tuple[tuple[str, StoreTrouble, str, str], ...] = (
    (
        "SQLITE_BUSY",
        StoreTrouble.LOCKED,
        "is locked by another process",
        "End whatever else writes to it.",
    ),
    (
        "SQLITE_FULL",
        StoreTrouble.FULL,
        "can't grow: the disk is full",
        "Free some space on its volume.",
    ),
    (
        "SQLITE_READONLY_DBMOVED",
        StoreTrouble.DELETED,
        "was moved or deleted",
        "A new one is begun.",
    ),
    _READ_ONLY,
    (
        "SQLITE_IOERR",
        StoreTrouble.IO,
        "can't be read or written",
        "Look at the volume and the kernel's log.",
    ),
    ("SQLITE_CORRUPT", StoreTrouble.CORRUPT, "is damaged", "Restore a backup."),
    ("SQLITE_NOTADB", StoreTrouble.CORRUPT, "is not a database", "Correct [database] path."),
    (
        "SQLITE_CANTOPEN",
        StoreTrouble.IO,
        "can't be opened",
        "Check that its directory exists and is writable.",
    ),
)


def _writable(path: Path) -> bool:
    places = (path.parent, path)
    return all(os.access(p, os.W_OK) for p in places if os.access(p, os.F_OK))


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """SQLite's error in plain words with a next step."""
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    for prefix, trouble, words, do in _TROUBLES:
        if name.startswith(prefix):
            if trouble is StoreTrouble.IO and not _writable(path):  # made so amid a commit
                _, trouble, words, do = _READ_ONLY
            return StoreError(f"{path} {words} ({name})", do, trouble=trouble)
    if "no such table" in str(error):  # emptied or replaced underneath
        return StoreError(f"{path} has lost its tables", trouble=StoreTrouble.CORRUPT)
    return StoreError(f"{path}: {name}: {error}", "This may be a fault of dlqwatch: report it.")
