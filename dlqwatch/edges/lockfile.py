"""One daemon a database, and its pulse: `flock` on `<db>.lock`, rewritten in place.

The lock ends with the process, whatever ends it. The pulse is 512 bytes of JSON in the same
file: no rename, no growth, so that it also works on a full disk and leaves the lock alone.

Where that file can't be written or is deleted, a second one in the directory for temporary files
is locked too, and holds the pulse. Whoever looks, looks at both.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from dlqwatch.errors import LockHeld, StoreRefused

SIZE = 512


class Pulse(NamedTuple):
    """What a running daemon says of itself.

    `tick` is the monotonic second at which a tick of the slowest queue last finished, `limit_s`
    how long that may be ago. `boot` names the boot whose monotonic clock that is. `seen_at` is
    the wall clock (ms) when this was written.
    """

    pid: int = 0
    host: str = ""
    boot: str = ""
    started_at: int = 0
    tick: float = 0.0
    limit_s: float = 90.0
    behind: bool = False  # rows wait in memory: the journal can't be written
    ended: bool = False  # the process ended as it should
    seen_at: int = 0
    last_ids: dict[str, int] | None = None  # the newest of each table: none is given twice
    newer: int = 0  # the schema of a newer version that people were told of


def boot_id() -> str:
    """Which boot of this machine it is; "" where the system doesn't say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def lock_path(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


def spare_path(database: Path) -> Path:
    """The second lock file, for a place that can't be written."""
    place = os.path.abspath(database)
    name = f"{database.name}-{zlib.crc32(place.encode()):08x}.lock"
    # not tempfile.gettempdir(): the import takes 30 ms, in `health` too
    return Path(os.environ.get("TMPDIR") or "/tmp") / name  # noqa: S108


class Lock:
    """Held from construction to `close`. Raises LockHeld, or StoreRefused if there's no place."""

    def __init__(self, database: Path, *, now: int, monotonic: float) -> None:
        self._database = database
        self._fds: list[int] = []
        self.before = read_pulse(database)
        """The pulse that the last process left behind, if there was one."""
        self._spare = False
        try:
            if not self._take_first():
                self._take_spare()
            elif _held(spare_path(database)):
                raise _is_held(database)
        except BaseException:
            self._release()
            raise
        old = self.before or Pulse()
        self._pulse = Pulse(
            pid=os.getpid(),
            host=os.uname().nodename[:64],
            boot=boot_id(),
            started_at=now,
            tick=monotonic,
            behind=old.behind,
            last_ids=old.last_ids,
            newer=old.newer,
            seen_at=now,
        )
        self._write()

    @property
    def pulse(self) -> Pulse:
        """As last written."""
        return self._pulse

    def beat(
        self,
        tick: float,
        limit_s: float,
        *,
        behind: bool,
        now: int = 0,
        last_ids: dict[str, int] | None = None,
    ) -> None:
        """Rewrite the pulse. A disk that refuses it must not stop the polling."""
        old = self._pulse
        self._pulse = old._replace(
            tick=tick,
            limit_s=limit_s,
            behind=behind,
            seen_at=now or old.seen_at,
            last_ids=last_ids or old.last_ids,
        )
        self._write()

    def told_newer(self, schema: int) -> None:
        """People were told of this newer schema: a restart doesn't tell them again."""
        self._pulse = self._pulse._replace(newer=schema)
        self._write()

    def close(
        self, *, behind: bool = False, clean: bool = True, last_ids: dict[str, int] | None = None
    ) -> None:
        """The process ends; `clean`: because it was told to."""
        ids = last_ids or self._pulse.last_ids
        self._pulse = self._pulse._replace(behind=behind, ended=clean, last_ids=ids)
        self._write()
        self._release()

    def give_back(self) -> None:
        """The process never ran: what the last one left behind is there for the next."""
        newer, before = self._pulse.newer, self.before
        if before is not None or newer:
            self._pulse = (before or Pulse(ended=True))._replace(newer=newer)
            self._write()
        else:
            _put(self._fds[-1], b" " * SIZE)
        self._release()

    def _take_first(self) -> bool:
        """Lock the file beside the database. False: it can't be written, or isn't there."""
        path = lock_path(self._database)
        try:
            fd, writable = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), True
        except OSError as error:
            if not _may_be_elsewhere(self._database):
                raise _no_place(path, error) from error
            try:
                fd, writable = os.open(path, os.O_RDONLY | os.O_CLOEXEC), False
            except OSError:
                return False
        self._flock(fd)
        return writable

    def _take_spare(self) -> None:
        path = spare_path(self._database)
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            try:
                fd = os.open(path, flags)
            except FileNotFoundError:
                fd = os.open(path, flags | os.O_CREAT, 0o644)
        except OSError as error:
            raise _no_place(path, error) from error
        self._flock(fd)
        self._spare = True

    def _flock(self, fd: int) -> None:
        self._fds.append(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _is_held(self._database) from None

    def _write(self) -> None:
        if not self._fds:  # let go: a tick that ends late has no say
            return
        text = json.dumps(self._pulse._asdict(), separators=(",", ":")).encode().ljust(SIZE)
        if not self._spare and not _in_place(self._fds[-1], lock_path(self._database)):
            pass  # deleted: nobody would find what is written there
        elif _put(self._fds[-1], text) or self._spare:
            return  # an old pulse reads as "no tick has finished", which is the safe side
        try:
            self._take_spare()  # a full disk has no room for a new file's first block
        except (LockHeld, StoreRefused):
            return
        _put(self._fds[-1], text)

    def _release(self) -> None:
        while self._fds:
            os.close(self._fds.pop())


def read_pulse(database: Path) -> Pulse | None:
    """The pulse of the daemon that runs, else of the last that ran; None if there is none."""
    found = []
    for path in (lock_path(database), spare_path(database)):
        pulse = _pulse_at(path)
        if pulse is not None:
            found.append((_held(path), pulse.started_at, pulse.tick, path.name, pulse))
    return max(found)[-1] if found else None


def is_held(database: Path) -> bool:
    """Does a daemon hold this database's lock now?"""
    return _held(lock_path(database)) or _held(spare_path(database))


def _held(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _pulse_at(path: Path) -> Pulse | None:
    try:
        with path.open("rb") as file:
            return _parse(file.read(SIZE))
    except OSError:
        return None


def _put(fd: int, data: bytes) -> bool:
    try:
        return os.pwrite(fd, data, 0) == len(data)
    except OSError:
        return False


def _in_place(fd: int, path: Path) -> bool:
    """Is the open file still the one that others find there?"""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


def _is_held(database: Path) -> LockHeld:
    holder = read_pulse(database) or Pulse()
    return LockHeld(
        f"another dlqwatch watches with {database}: pid {holder.pid or '?'} on "
        f"{holder.host or '?'}",
        "End that one first, or give this one its own [database] path.",
    )


def _may_be_elsewhere(database: Path) -> bool:
    """Is there a database that could be read, in a place that can't be written?"""
    return os.access(database, os.R_OK) and os.path.getsize(database) > 0


def _no_place(path: Path, error: OSError) -> StoreRefused:
    return StoreRefused(
        f"the lock file {path} can't be opened ({error.strerror}); dlqwatch runs as uid "
        f"{os.geteuid()}",
        "Give the directory of [database] path to that user.",
    )


def _parse(data: bytes) -> Pulse | None:
    try:
        found = json.loads(data)
        return Pulse(**{name: found[name] for name in Pulse._fields if name in found})
    except (ValueError, TypeError, KeyError):
        return None
