"""`dlqwatch backup`: a consistent copy while the daemon writes."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path

import pytest

from dlqwatch.cli.main import main
from dlqwatch.edges.store import Store
from dlqwatch.edges.store_reader import Reader
from dlqwatch.errors import StoreError
from dlqwatch.rows import Incident, Meta
from tests.cli_world import alive, database, left_behind, write_config

Capture = pytest.CaptureFixture[str]


def backup(tmp_path: Path, target: Path, *more: str) -> int:
    return main(["backup", str(target), "--config", str(write_config(tmp_path)), *more])


def counted(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        assert db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        return int(db.execute("SELECT count(*) FROM incidents").fetchone()[0])
    finally:
        db.close()


def test_the_copy_holds_everything_and_says_how_much(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "copy.db"
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.holds(3)
        rig.tick()
        assert backup(tmp_path, target) == 0
    assert counted(target) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{target}: ")
    assert "kB, 1 incident, checked" in said


def test_the_copy_can_be_run_with(tmp_path: Path) -> None:
    with left_behind(tmp_path) as rig:
        rig.holds(3)
        rig.tick()
    assert backup(tmp_path, tmp_path / "copy.db") == 0
    store = Store(tmp_path / "copy.db")
    try:
        assert any(isinstance(row, Incident) for row in store.load().rows)
    finally:
        store.close()


def test_it_says_the_same_in_json(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "copy.db"
    with left_behind(tmp_path) as rig:
        rig.tick()
    assert backup(tmp_path, target, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"file": str(target), "bytes": target.stat().st_size, "incidents": 0}


def test_the_daemon_goes_on_writing_meanwhile(tmp_path: Path) -> None:
    """Each of its commits is in the copy wholly or not at all."""
    with left_behind(tmp_path):
        pass
    begun, over = threading.Event(), threading.Event()
    written: list[int] = []

    def write() -> None:
        store = Store(database(tmp_path))
        try:
            while not over.wait(0.02):  # a hundred times as often as it really does
                number = str(len(written))
                store.write([Meta("a", number), Meta("b", number)])
                written.append(1)
                begun.set()
        finally:
            store.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(5)
        for number in range(3):
            target = tmp_path / f"copy{number}.db"
            assert backup(tmp_path, target) == 0
            db = sqlite3.connect(target)
            found = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('a', 'b')"))
            db.close()
            assert found["a"] == found["b"]
    finally:
        over.set()
        thread.join()


def test_a_file_that_is_there_is_only_overwritten_by_force(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with left_behind(tmp_path) as rig:
        rig.tick()
    assert backup(tmp_path, target) == 2
    assert "is there already" in capsys.readouterr().err
    assert target.read_text() == "precious"
    assert backup(tmp_path, target, "--force") == 0
    assert counted(target) == 0


@pytest.mark.parametrize("name", ["dlqwatch.db", "dlqwatch.db.lock", "dlqwatch.db-journal"])
def test_the_database_itself_is_never_overwritten(
    tmp_path: Path, capsys: Capture, name: str
) -> None:
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.tick()
        assert backup(tmp_path, tmp_path / "." / name, "--force") == 2
    assert "is the database that is to be copied" in capsys.readouterr().err
    assert counted(database(tmp_path)) == 0


@pytest.mark.parametrize("where", ["nowhere/copy.db", "."])
def test_a_place_where_no_file_can_be_is_refused(
    tmp_path: Path, capsys: Capture, where: str
) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    assert backup(tmp_path, tmp_path / where) == 2
    assert "director" in capsys.readouterr().err


def test_a_damaged_database_leaves_no_copy_behind(tmp_path: Path, capsys: Capture) -> None:
    """Also where the damage is in a page that nothing else would look at."""
    with left_behind(tmp_path) as rig:
        rig.tick()
    db = sqlite3.connect(database(tmp_path))
    (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'notices_of'").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    spoilt = bytearray(database(tmp_path).read_bytes())
    spoilt[(page - 1) * size : page * size] = b"\xff" * size
    database(tmp_path).write_bytes(spoilt)
    target = tmp_path / "copy.db"
    assert backup(tmp_path, target) == 3
    assert "is damaged" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.toml", "dlqwatch.db"]


def test_without_a_database_there_is_nothing_to_copy(tmp_path: Path, capsys: Capture) -> None:
    assert backup(tmp_path, tmp_path / "copy.db") == 3
    assert "there is no database" in capsys.readouterr().err


def test_a_database_that_stays_locked_is_given_up(tmp_path: Path) -> None:
    """sqlite3's own backup would try for ever."""
    with left_behind(tmp_path) as rig:
        rig.tick()
    with Reader(database(tmp_path), wait_s=0.01) as reader:
        other = sqlite3.connect(database(tmp_path), isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        try:
            with pytest.raises(StoreError, match="is locked by another process"):
                reader.back_up(tmp_path / "copy.db")
        finally:
            other.close()
    assert not (tmp_path / "copy.db").exists()


def test_the_copy_may_be_read_by_whom_the_database_may(tmp_path: Path) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    database(tmp_path).chmod(0o640)
    assert backup(tmp_path, tmp_path / "copy.db") == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o640
