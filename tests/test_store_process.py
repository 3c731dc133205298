"""The real process on a store that really fails: held, full, read-only, deleted, damaged, newer."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from dlqwatch.edges.lockfile import Pulse, read_pulse, spare_path
from dlqwatch.edges.store_schema import VERSION
from tests.process import ANYBODY, QUEUE, Place, place

SHORT_FILES = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""
PATIENCE_S = 20.0


@pytest.fixture
def where(tmp_path: Path) -> Iterator[Place]:
    data = tmp_path / "data"
    data.mkdir()
    with place(tmp_path) as found:
        found.data = data
        yield found
    data.chmod(0o755)
    spare_path(found.database).unlink(missing_ok=True)


def pulse(where: Place) -> Pulse:
    found = read_pulse(where.database)
    assert found is not None
    return found


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def behind(where: Place, is_: bool) -> None:
    until(lambda: pulse(where).behind is is_, f"the pulse never says behind: {is_}")


def lives(where: Place) -> bool:
    return where.command("health").returncode == 0


def land_and_hear(where: Place, count: int = 3) -> None:
    """S1: the first message leaves within a second of the poll that sees it."""
    where.cloudflare.land(QUEUE, count)
    said_at = where.wait_said(f"{count} dead letters")
    seen_at = [at for at in where.polls() if at <= said_at]
    assert said_at - seen_at[-1] < 1500, "the poll that saw it is the last before the message"


def about_letters(where: Place) -> list[str]:
    return [m.text for m in where.slack.messages() if "dead letter" in m.text]


def incidents(where: Place) -> list[dict[str, object]]:
    answer = where.command("history", "--json")
    assert answer.returncode == 0, answer.stderr
    return [i for i in json.loads(answer.stdout) if i["queue"] == QUEUE]


@contextmanager
def held(where: Place) -> Iterator[None]:
    with closing(sqlite3.connect(where.database, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield


def run_once(where: Place) -> None:
    """A database that a daemon has written and left."""
    with where.daemon() as daemon:
        daemon.wait_line("told of itself")
        where.wait_polls(2)
        assert daemon.terminate()[0] == 0


def test_held_by_another_process_it_tells_all_the_same_and_writes_later(where: Place) -> None:
    with where.daemon() as daemon:
        daemon.wait_line("told of itself")
        with held(where):
            land_and_hear(where)
            behind(where, True)
            assert lives(where)
        behind(where, False)
        (incident,) = incidents(where)
        assert [n["status"] for n in incident["notifications"]] == ["delivered"]  # type: ignore[attr-defined]


def test_held_at_the_start_it_waits_and_says_so_and_health_is_good(where: Place) -> None:
    run_once(where)
    with ExitStack() as stack:
        with held(where):
            daemon = stack.enter_context(where.daemon())
            daemon.wait_line("locked by another process.*waiting for it")
            assert lives(where)
        land_and_hear(where)
        assert incidents(where)


def test_told_to_stop_while_it_waits_it_stops(where: Place) -> None:
    run_once(where)
    with held(where), where.daemon() as daemon:
        daemon.wait_line("waiting for it")
        code, took = daemon.terminate()
        assert (code, took < 5) == (0, True)


@contextmanager
def small_disk(where: Place) -> Iterator[Callable[[], Callable[[], None]] | None]:
    """A megabyte for the database; what is yielded fills it and returns how to empty it again.
    None where mounting is refused."""
    assert where.data is not None
    mount = [shutil.which("mount") or "false", "-t", "tmpfs", "-o", "size=1m", "tmpfs"]
    mounted = subprocess.run([*mount, str(where.data)], capture_output=True, check=False)
    if mounted.returncode != 0:
        yield None
        return
    filler = where.data / "filler"

    def fill() -> Callable[[], None]:
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        return filler.unlink

    try:
        yield fill
    finally:
        subprocess.run(["umount", str(where.data)], check=True)


def test_on_a_full_disk_it_tells_all_the_same_and_writes_when_there_is_room(where: Place) -> None:
    """Where nothing can be mounted, the system refuses longer files instead."""
    with small_disk(where) as fill:
        if fill is None:
            _on_short_files(where)
            return
        with where.daemon() as daemon:
            daemon.wait_line("told of itself")
            empty = fill()
            land_and_hear(where)
            where.wait_said("the disk is full")
            behind(where, True)
            assert lives(where)
            assert where.command("status").returncode == 1
            daemon.kill()
        empty()
        with where.daemon():
            where.wait_said("(possible repeat)")
            behind(where, False)
            assert incidents(where)


def _on_short_files(where: Place) -> None:
    run_once(where)
    limit = str(where.database.stat().st_size)
    with where.daemon(through=(sys.executable, "-c", SHORT_FILES, limit)):
        land_and_hear(where, 5)
        assert lives(where)


def test_full_from_the_first_start_on_it_watches_from_memory(where: Place) -> None:
    with small_disk(where) as fill:
        if fill is None:
            with where.daemon(through=(sys.executable, "-c", SHORT_FILES, "100")):
                land_and_hear(where)
            return
        empty = fill()
        with where.daemon():
            land_and_hear(where)
            where.wait_said("the disk is full")
            assert lives(where)
            empty()
            until(where.database.exists, "no database")
            behind(where, False)
            assert incidents(where)


def test_a_place_that_turns_read_only_is_told_at_once(where: Place) -> None:
    assert where.data is not None
    with where.daemon(through=ANYBODY) as daemon:
        daemon.wait_line("told of itself")
        where.data.chmod(0o555)
        land_and_hear(where)
        where.wait_said("read-only")
        behind(where, True)
        assert lives(where)
        where.data.chmod(0o755)
        behind(where, False)
        assert incidents(where)


def make_read_only(where: Place) -> Callable[[], None]:
    assert where.data is not None
    data = where.data
    for path in data.iterdir():
        path.chmod(0o444)
    data.chmod(0o555)

    def mend() -> None:
        data.chmod(0o755)
        for path in data.iterdir():
            path.chmod(0o644)

    return mend


def test_a_database_that_can_only_be_read_is_gone_on_from_in_memory(where: Place) -> None:
    """The lock and the pulse are elsewhere then; what was told before is not told again."""
    with where.daemon() as daemon:
        land_and_hear(where)
        assert daemon.terminate()[0] == 0
    before = about_letters(where)
    mend = make_read_only(where)
    with where.daemon(through=ANYBODY) as daemon:
        where.wait_said("read-only")
        assert lives(where)
        second = where.command("run")
        assert second.returncode == 2
        assert "another dlqwatch" in second.stderr
        assert about_letters(where) == before
        mend()
        behind(where, False)
        assert daemon.terminate()[0] == 0
    assert len(incidents(where)) == 1


def test_a_place_that_cannot_be_written_and_holds_nothing_is_refused(where: Place) -> None:
    assert where.data is not None
    where.data.chmod(0o555)
    with where.daemon(through=ANYBODY) as daemon:
        assert daemon.wait() == 2
        line = daemon.wait_line(str(where.data))
    assert f"uid {os.geteuid()}" in " ".join(daemon.lines)
    assert "belongs to" in line or "can't be opened" in line
    assert where.slack.messages() == []


def test_a_file_that_is_deleted_is_begun_anew_with_all_that_is_open(where: Place) -> None:
    with where.daemon() as daemon:
        land_and_hear(where)
        where.database.unlink()
        where.wait_said("was deleted or replaced")
        behind(where, False)
        (incident,) = incidents(where)
        assert incident["resolved_at"] is None
        daemon.kill()
    before = about_letters(where)
    with where.daemon():
        where.wait_polls(3)
    assert about_letters(where) == before, "told twice"


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "at the start"])
def test_a_damaged_file_is_set_aside_and_begun_anew(where: Place, running: bool) -> None:
    with where.daemon() as daemon:
        land_and_hear(where)
        if running:
            where.database.write_bytes(b"\x5a" * 50_000)
            where.wait_said("was damaged and is begun anew")
        daemon.kill()
    if not running:
        where.database.write_bytes(b"\x5a" * 50_000)
        with where.daemon():
            where.wait_said("was damaged and is begun anew")
            where.wait_said("(possible repeat)")
            until(lambda: len(incidents(where)) == 1, "history is not written again")
    # a kill in the middle of a commit leaves a hot journal, which is set aside beside its file
    assert len(list(where.database.parent.glob("*.corrupt-*Z"))) == 1
    assert len(incidents(where)) == 1


def test_a_newer_schema_is_told_once_and_ends_with_2(where: Place) -> None:
    run_once(where)
    with closing(sqlite3.connect(where.database)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    for _ in range(3):
        with where.daemon() as daemon:
            assert daemon.wait() == 2
    said = [m.text for m in where.slack.messages() if "Nothing is watched" in m.text]
    assert len(said) == 1
    assert any(f"schema {VERSION + 1}" in line for line in daemon.lines)


def test_the_children_of_these_tests_may_not_write_everywhere() -> None:
    """Else the tests above would prove nothing."""
    code = "import os, sys; sys.exit(os.access(sys.argv[1], os.W_OK))"
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"dlqwatch-ro-{os.getpid()}"
    folder.mkdir(mode=0o555)
    try:
        done = subprocess.run([*ANYBODY, sys.executable, "-c", code, str(folder)], check=False)
        assert done.returncode == 0
    finally:
        folder.rmdir()
