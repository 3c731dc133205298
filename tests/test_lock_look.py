"""Looking at a daemon's lock must never keep a daemon from starting."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from dlqwatch.daemon.run import take_lock
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.lockfile import Lock, is_held, lock_path
from dlqwatch.errors import LockHeld

CLOCK = SystemClock()


def test_a_daemon_starts_though_health_looks_at_that_very_moment(tmp_path: Path) -> None:
    """`health` and `status` hold a shared lock for an instant."""
    database = tmp_path / "x.db"
    fd = os.open(lock_path(database), os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_SH)
    ending = threading.Timer(0.1, os.close, [fd])
    ending.start()
    lock = take_lock(database, CLOCK)
    assert is_held(database)
    lock.close()
    ending.join()


def test_a_second_daemon_is_still_refused_soon(tmp_path: Path) -> None:
    first = Lock(tmp_path / "x.db", now=0, monotonic=0.0)
    began = time.monotonic()
    with pytest.raises(LockHeld, match=f"pid {os.getpid()}"):
        take_lock(tmp_path / "x.db", CLOCK)
    assert time.monotonic() - began < 1
    first.close()
