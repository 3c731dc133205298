"""The journal: what it writes it reads back, all or nothing, and says plainly what it can't."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlqwatch.edges.store import Store, connect, select
from dlqwatch.edges.store_codec import decode, encode
from dlqwatch.edges.store_errors import check_place, explain
from dlqwatch.edges.store_schema import MIGRATIONS, VERSION
from dlqwatch.errors import EXIT_USAGE, StoreError, StoreRefused
from dlqwatch.model import (
    NoticeStatus,
    Reason,
    Resolution,
    Rule,
    SampleKind,
    Severity,
    State,
)
from dlqwatch.rows import (
    COMMAND_TABLES,
    TABLES,
    Alert,
    Delete,
    Delivery,
    Incident,
    Meta,
    Notice,
    Prune,
    Queue,
    Row,
    Span,
)
from tests.process import ANYBODY
from tests.specimens import FACTS, NOW, UNTOLD

QUEUE = Queue(1, "a-dlq", NOW)
INCIDENT = replace(UNTOLD, subject="a-dlq")
NOTICE = Notice(1, "1-5eed", 1, Reason.FIRST, Severity.WARNING, FACTS, NOW)
CLOSED = replace(INCIDENT, resolved_at=NOW, resolution=Resolution.UNKNOWN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dlqwatch.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    yield opened
    opened.close()


def rows(path: Path, table: type[Row]) -> list[Row]:
    """What another connection sees."""
    with closing(connect(path)) as db:
        return list(select(db, table, "1"))


def span(number: int, last_at: int, queue: int = 1) -> Span:
    return Span(number, queue, last_at - 5, last_at, 2, 30_000, SampleKind.COMPLETE, 0, 0, None,
                None, "")  # fmt: skip


# ---- rows to values and back


@pytest.mark.parametrize("table", [*TABLES, *COMMAND_TABLES], ids=lambda t: t.TABLE)
def test_every_row_is_read_as_it_was_written(table: type[Row]) -> None:
    @settings(max_examples=40, deadline=None)
    @given(st.from_type(table))
    def round_trip(row: Row) -> None:
        values = encode(row)
        assert all(isinstance(v, str | int | float | None) for v in values)
        assert decode(table, values) == row

    round_trip()


@pytest.mark.parametrize(
    ("column", "value"), [("severity", "dreadful"), ("facts", "{"), ("facts", '{"kind":"x"}')]
)
def test_a_row_that_makes_no_sense_is_named_by_its_table(column: str, value: str) -> None:
    values = list(encode(INCIDENT))
    values[Incident.columns().index(column)] = value
    with pytest.raises(StoreError, match="a row of incidents can't be read"):
        decode(Incident, tuple(values))


def test_what_a_later_version_put_into_facts_is_left_out() -> None:
    values = list(encode(NOTICE))
    place = Notice.columns().index("facts")
    values[place] = str(values[place]).replace("{", '{"from_the_future":1,', 1)
    assert decode(Notice, tuple(values)) == NOTICE


# ---- writing


def test_what_is_written_is_there_for_the_next_process(store: Store, path: Path) -> None:
    store.write([QUEUE, INCIDENT, NOTICE])
    store.close()
    reopened = Store(path)
    assert set(reopened.load().rows) == {QUEUE, INCIDENT, NOTICE}
    reopened.close()


def test_written_twice_is_written_once(store: Store, path: Path) -> None:
    delivery = Delivery(1, "slack", NOW)
    for _ in range(2):
        store.write([QUEUE, INCIDENT, NOTICE, delivery])
    store.write([replace(INCIDENT, peak_depth=9)])
    assert rows(path, Incident) == [replace(INCIDENT, peak_depth=9)]
    assert rows(path, Notice) == [NOTICE], "an upsert must not take its children away"
    assert rows(path, Delivery) == [delivery]


def test_all_or_nothing(store: Store, path: Path) -> None:
    orphan = replace(NOTICE, incident=77)
    with pytest.raises(StoreError, match="FOREIGNKEY"):
        store.write([QUEUE, Meta("a", "b"), orphan])
    assert rows(path, Queue) == rows(path, Meta) == []
    store.write([QUEUE])
    assert rows(path, Queue) == [QUEUE]


def test_two_open_incidents_of_one_alert_are_refused_and_the_first_stays(
    store: Store, path: Path
) -> None:
    store.write([INCIDENT])
    with pytest.raises(StoreError):
        store.write([replace(INCIDENT, id=2)])
    assert rows(path, Incident) == [INCIDENT]
    store.write([CLOSED, replace(INCIDENT, id=2)])
    assert len(rows(path, Incident)) == 2


@pytest.mark.parametrize(
    "row",
    [
        Alert(Rule.DEPTH, "a-dlq", State.FIRING, NOW),  # firing without an incident
        replace(INCIDENT, resolved_at=NOW),  # over without a reason
        replace(NOTICE, incident=None, status=NoticeStatus.DELIVERED),  # without a time
        replace(span(1, NOW), depth=None),  # read, but without a depth
        replace(span(1, NOW), kind=SampleKind.FAILED),  # failed, but with one
    ],
    ids=["alert", "incident", "notice", "read", "failed"],
)
def test_a_row_that_contradicts_itself_is_refused(store: Store, row: Row) -> None:
    store.write([QUEUE])
    with pytest.raises(StoreError, match="CONSTRAINT_CHECK"):
        store.write([row])


def test_old_spans_of_one_queue_are_pruned(store: Store, path: Path) -> None:
    other = Queue(2, "b-dlq", NOW)
    store.write([QUEUE, other, span(1, NOW - 9), span(2, NOW), span(3, NOW - 9, queue=2)])
    store.write([Prune(1, NOW - 5)])
    assert rows(path, Span) == [span(2, NOW), span(3, NOW - 9, queue=2)]


def test_a_row_can_be_taken_away(store: Store, path: Path) -> None:
    alert = Alert(Rule.DEPTH, "a-dlq", State.INACTIVE, NOW)
    store.write([alert])
    store.write([Delete(Alert, alert.identity)])
    assert rows(path, Alert) == []


def test_only_what_a_decision_may_need_is_loaded_and_no_id_comes_twice(store: Store) -> None:
    told = replace(NOTICE, status=NoticeStatus.DELIVERED, delivered_at=NOW, delivered_by="slack")
    store.write([QUEUE, CLOSED, told, Delivery(1, "slack", NOW), span(1, NOW - 9), span(2, NOW)])
    remembered = store.load()
    assert set(remembered.rows) == {QUEUE, span(2, NOW)}
    assert {t.TABLE: n for t, n in remembered.last_ids.items() if n} == {
        "queues": 1, "spans": 2, "incidents": 1, "notices": 1,
    }  # fmt: skip


def test_a_closed_incident_with_a_word_still_waiting_is_loaded(store: Store) -> None:
    waiting = replace(NOTICE, id=2, reason=Reason.RESOLVED)
    store.write([QUEUE, CLOSED, waiting, Delivery(2, "slack", NOW)])
    assert {CLOSED, waiting, Delivery(2, "slack", NOW)} <= set(store.load().rows)


def test_the_connection_is_set_up_as_promised(store: Store) -> None:
    def pragma(name: str) -> object:
        return store._db.execute(f"PRAGMA {name}").fetchone()[0]

    assert pragma("journal_mode") == "delete"
    assert pragma("synchronous") == 2
    assert pragma("foreign_keys") == 1
    assert pragma("user_version") == VERSION


# ---- what can't be


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreRefused) as caught:
        Store(path)
    words = str(caught.value)
    assert str(path) in words
    assert f"schema {VERSION + 1}" in words
    assert f"knows {VERSION}" in words
    assert caught.value.exit_code == EXIT_USAGE
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_nothing_behind(path: Path) -> None:
    last_table = MIGRATIONS[0][-1].split()[2]
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE {last_table} (x)")  # in the way of its last statement
    with pytest.raises(StoreError):
        Store(path)
    with closing(sqlite3.connect(path)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert tables == {last_table}
        assert db.execute("PRAGMA user_version").fetchone() == (0,)


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.write_bytes(b"these are my notes\n" * 500)
    with pytest.raises(StoreError, match="is not a database") as caught:
        Store(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes().startswith(b"these are my notes")


def test_a_damaged_database_is_named(path: Path) -> None:
    Store(path).close()
    content = bytearray(path.read_bytes())
    content[100:4000] = b"\x00" * 3900
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged") as caught:
        Store(path)
    assert "backup" in caught.value.do


def test_a_locked_database_is_not_waited_for_when_told_so(store: Store, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        with pytest.raises(StoreError, match="is locked by another process"):
            store.write([QUEUE], wait_ms=0)
        assert time.monotonic() - began < 0.3
        other.execute("ROLLBACK")
    store.write([QUEUE], wait_ms=0)


def test_a_file_that_was_deleted_is_noticed_at_the_next_write(store: Store, path: Path) -> None:
    path.unlink()
    with pytest.raises(StoreError, match="was moved or deleted"):
        store.write([QUEUE])


def test_a_full_disk_is_said_and_nothing_is_half_written(store: Store, path: Path) -> None:
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    much = [Meta(f"{n}", "x" * 5000) for n in range(9)]
    with pytest.raises(StoreError, match="the disk is full"):
        store.write(much)
    assert rows(path, Meta) == []
    store._db.execute("PRAGMA max_page_count = 100000")
    store.write(much)
    assert len(rows(path, Meta)) == 9


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="is a directory") as caught:
        check_place(tmp_path)
    assert str(tmp_path / "dlqwatch.db") in caught.value.do


def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="doesn't exist") as caught:
        Store(tmp_path / "data" / "dlqwatch.db")
    assert str(tmp_path / "data") in str(caught.value)


@pytest.mark.parametrize("which", ["folder", "file"])
def test_a_place_that_cannot_be_written_is_named_with_its_owner(tmp_path: Path, which: str) -> None:
    path = tmp_path / "dlqwatch.db"
    path.touch()
    place = tmp_path if which == "folder" else path
    place.chmod(0o500 if which == "folder" else 0o400)
    try:
        code = "import sys; from pathlib import Path; from dlqwatch.edges.store import Store\n"
        code += "try: Store(Path(sys.argv[1]))\nexcept Exception as error: print(error)"
        run = [*ANYBODY, sys.executable, "-c", code, str(path)]
        said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        assert f"{place} can't be written" in said
        assert f"uid {os.geteuid()}" in said
    finally:
        place.chmod(0o700)


def test_an_error_nobody_foresaw_is_still_said_with_its_name_and_the_path(path: Path) -> None:
    error = explain(sqlite3.OperationalError("interrupted"), path)
    assert str(path) in error.what
    assert "interrupted" in error.what
    assert error.do


def test_an_io_error_of_a_place_that_cannot_be_written_is_called_read_only(tmp_path: Path) -> None:
    """The directory was made so in the middle of a commit: its journal can't be deleted."""
    code = """
import sqlite3, sys
from pathlib import Path
from dlqwatch.edges.store_errors import explain
error = sqlite3.OperationalError("disk I/O error")
error.sqlite_errorname = "SQLITE_IOERR_DELETE"
print(explain(error, Path(sys.argv[1])).trouble)
"""

    def said() -> str:
        run = [*ANYBODY, sys.executable, "-c", code, str(tmp_path / "x.db")]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()

    assert said() == "io"
    tmp_path.chmod(0o500)
    assert said() == "read_only"
    tmp_path.chmod(0o700)
