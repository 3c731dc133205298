"""One daemon a database, and its pulse: `flock` on `<db>.lock`, rewritten in place.

The lock ends with the process, whatever ends it. The pulse is 512 bytes of JSON in the same
file: no rename, no growth, so that it also works on a full disk and leaves the lock alone.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import NamedTuple

from dlqwatch.errors import LockHeld, StoreRefused

SIZE = 512


class Pulse(NamedTuple):
    """What a running daemon says of itself.

    `tick` is the monotonic second at which a tick of the slowest queue last finished, `limit_s`
    how long that may be ago. `boot` names the boot whose monotonic clock that is.
    """

    pid: int = 0
    host: str = ""
    boot: str = ""
    started_at: int = 0
    tick: float = 0.0
    limit_s: float = 90.0
    behind: bool = False  # rows wait in memory: the journal can't be written
    ended: bool = False  # the process ended as it should


def boot_id() -> str:
    """Which boot of this machine it is; "" where the system doesn't say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def lock_path(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


class Lock:
    """Held from construction to `close`. Raises LockHeld, or StoreRefused if there's no place."""

    def __init__(self, database: Path, *, now: int, monotonic: float) -> None:
        path = lock_path(database)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreRefused(
                f"the lock file {path} can't be opened ({error.strerror}); dlqwatch runs as uid "
                f"{os.geteuid()}",
                "Give the directory of [database] path to that user.",
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _parse(os.pread(self._fd, SIZE, 0)) or Pulse()
            os.close(self._fd)
            raise LockHeld(
                f"another dlqwatch watches with {database}: pid {holder.pid or '?'} on "
                f"{holder.host or '?'}",
                "End that one first, or give this one its own [database] path.",
            ) from None
        self.before = _parse(os.pread(self._fd, SIZE, 0))
        """The pulse that the last process left behind, if there was one."""
        self._pulse = Pulse(
            pid=os.getpid(),
            host=os.uname().nodename,
            boot=boot_id(),
            started_at=now,
            tick=monotonic,
            behind=self.before.behind if self.before else False,
        )
        self._write()

    def beat(self, tick: float, limit_s: float, *, behind: bool, ended: bool = False) -> None:
        """Rewrite the pulse. A disk that refuses it must not stop the polling."""
        old = self._pulse
        self._pulse = Pulse(
            old.pid, old.host, old.boot, old.started_at, tick, limit_s, behind, ended
        )
        self._write()

    def close(self, *, behind: bool = False) -> None:
        self.beat(self._pulse.tick, self._pulse.limit_s, behind=behind, ended=True)
        os.close(self._fd)

    def _write(self) -> None:
        text = json.dumps(self._pulse._asdict()).encode()
        try:
            os.pwrite(self._fd, text.ljust(SIZE), 0)
        except OSError:
            return  # an old pulse reads as "no tick has finished", which is the safe side


def read_pulse(database: Path) -> Pulse | None:
    """The pulse beside a database; None if there is none."""
    try:
        with lock_path(database).open("rb") as file:
            return _parse(file.read(SIZE))
    except OSError:
        return None


def is_held(database: Path) -> bool:
    """Does a daemon hold this database's lock now?"""
    try:
        fd = os.open(lock_path(database), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _parse(data: bytes) -> Pulse | None:
    try:
        found = json.loads(data)
        return Pulse(**{name: found[name] for name in Pulse._fields})
    except (ValueError, TypeError, KeyError):
        return None
