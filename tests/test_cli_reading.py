"""What a command does with a database that it can't simply read."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from dlqwatch.cli.main import main
from dlqwatch.edges.store_reader import Reader
from tests.cli_world import alive, database, left_behind, write_config

Capture = pytest.CaptureFixture[str]


def status(tmp_path: Path, capsys: Capture) -> tuple[int, int | None]:
    """The exit code of `status`, and the depth it tells."""
    code = main(["status", "--json", "--config", str(write_config(tmp_path))])
    return code, json.loads(capsys.readouterr().out)["queues"][0]["depth"]


def test_a_locked_database_is_waited_for_a_little_and_then_said(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    other = sqlite3.connect(database(tmp_path), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    code = main(["status", "--config", str(write_config(tmp_path))])
    other.close()
    assert code == 3
    assert "is locked by another process" in capsys.readouterr().err


def test_a_damaged_database_is_said_and_left_alone(tmp_path: Path, capsys: Capture) -> None:
    database(tmp_path).write_bytes(b"not a database, not at all" * 100)
    before = database(tmp_path).read_bytes()
    assert main(["status", "--config", str(write_config(tmp_path))]) == 3
    assert "is not a database" in capsys.readouterr().err
    assert database(tmp_path).read_bytes() == before


@pytest.mark.parametrize(("version", "word"), [(99, "newer"), (-1, "older")])
def test_another_versions_database_is_refused(
    tmp_path: Path, capsys: Capture, version: int, word: str
) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    with sqlite3.connect(database(tmp_path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    assert main(["status", "--config", str(write_config(tmp_path))]) == 2
    assert f"written by {'a' if word == 'newer' else 'an'} {word}" in capsys.readouterr().err


def test_what_a_killed_daemon_left_half_written_is_rolled_back(
    tmp_path: Path, capsys: Capture
) -> None:
    """A hot journal: status may not read the half of a transaction."""
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.holds(1)
        rig.tick()
        path, journal = database(tmp_path), Path(f"{database(tmp_path)}-journal")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE spans SET depth = 666")
        db.execute("CREATE TABLE big (x)")
        db.execute("INSERT INTO big VALUES (randomblob(400000))")  # more than the cache holds
        half, hot = path.read_bytes(), journal.read_bytes()
        db.execute("ROLLBACK")
        db.close()
        alone = tmp_path / "alone.db"  # the half by itself can't be read at all
        alone.write_bytes(half)
        db = sqlite3.connect(alone)
        with pytest.raises(sqlite3.DatabaseError, match="malformed"):
            db.execute("SELECT depth FROM spans")
        db.close()
        path.write_bytes(half)
        journal.write_bytes(hot)
        assert status(tmp_path, capsys) == (0, 1)


def test_a_reader_can_not_change_anything(tmp_path: Path) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    with Reader(database(tmp_path)) as reader, pytest.raises(sqlite3.Error, match="readonly"):
        reader._db.execute("DELETE FROM spans")


@pytest.mark.parametrize("name", ["a b", "50% #1?", "größe"])
def test_an_odd_path_is_the_path_that_is_read(tmp_path: Path, capsys: Capture, name: str) -> None:
    odd = tmp_path / name
    odd.mkdir()
    with left_behind(odd) as rig, alive(odd):
        rig.tick()
        assert status(odd, capsys) == (0, 0)
