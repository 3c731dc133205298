"""`dlqwatch history`: what was."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.history import since_when
from dlqwatch.cli.incident import BARS, bars
from dlqwatch.cli.main import main
from dlqwatch.cli.tables import sparkline
from dlqwatch.decide.outcomes import Answer
from dlqwatch.model import DAY, Outcome, QueueRules
from tests.cli_world import database, left_behind, now, write_config
from tests.rig import QUEUE

Capture = pytest.CaptureFixture[str]

FIELDS = [
    "id", "rule", "queue", "severity", "opened_at", "resolved_at", "peak_depth", "lost",
    "resolution", "notifications", "silences", "acks",
]  # fmt: skip
TOLD = ["reason", "status", "created_at", "delivered_at", "delivered_by", "attempts"]
RULES = tuple(QueueRules(q, group_ms=60_000, poll_ms=60_000) for q in (QUEUE, "other-dlq"))


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour with three incidents: one that grew, one of another queue, one still open.

    Where its database lies.
    """
    tmp_path = tmp_path_factory.mktemp("left")
    with left_behind(tmp_path, *RULES, ago_s=3600) as rig:
        rig.run(300)
        rig.holds(3)
        rig.run(90)
        rig.holds(8)
        rig.run(90)
        rig.holds(0)
        rig.run(300)
        rig.holds(1, "other-dlq")
        rig.run(300)
        rig.holds(0, "other-dlq")
        rig.run(300)
        rig.holds(120)
        rig.clock.move((now() - rig.clock.now()) / 1000)
        rig.tick()
    return tmp_path


def history(tmp_path: Path, capsys: Capture, *options: str) -> Any:
    code = main(["history", "--json", "--config", str(write_config(tmp_path)), *options])
    assert code == 0
    return json.loads(capsys.readouterr().out)


def shown(tmp_path: Path, capsys: Capture, *options: str) -> list[str]:
    assert main(["history", "--config", str(write_config(tmp_path)), *options]) == 0
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_json_has_exactly_the_documented_shape(left: Path, capsys: Capture) -> None:
    found = history(left, capsys)
    assert [i["id"] for i in found] == [3, 2, 1]
    assert all(list(i) == FIELDS for i in found)
    assert all(list(n) == TOLD for i in found for n in i["notifications"])
    first = found[2]
    assert (first["rule"], first["queue"], first["severity"]) == ("depth", QUEUE, "warning")
    assert (first["peak_depth"], first["lost"]) == (8, 0)
    assert first["resolution"] is not None
    assert first["opened_at"] < first["resolved_at"]
    reasons = [n["reason"] for n in first["notifications"]]
    assert reasons == ["first", "grown", "resolved"]
    told = first["notifications"][0]
    assert (told["status"], told["delivered_by"], told["attempts"]) == ("delivered", "slack", 1)
    assert told["created_at"].endswith("Z")
    assert told["delivered_at"].endswith("Z")


def test_an_open_incident_has_no_end_yet(left: Path, capsys: Capture) -> None:
    newest = history(left, capsys)[0]
    assert (newest["resolved_at"], newest["resolution"]) == (None, None)
    assert (newest["severity"], newest["peak_depth"]) == ("critical", 120)


def test_that_dlqwatch_started_is_no_incident(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, ago_s=10) as rig:
        rig.run(10)
    assert history(tmp_path, capsys) == []
    lines = shown(tmp_path, capsys)
    assert lines[0] == "No incidents so far."
    assert any("dlqwatch started" in line and "delivered by slack" in line for line in lines)


def test_a_notice_that_waits_is_pending_and_not_delivered(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, ago_s=60) as rig:
        rig.settle()
        rig.speaker.weather = Answer(Outcome.TEMPORARY, "connection refused")
        rig.holds(1)
        rig.run(60)
    (told,) = history(tmp_path, capsys)[0]["notifications"]
    assert (told["status"], told["delivered_at"], told["delivered_by"]) == ("pending", None, None)
    assert told["attempts"] >= 3
    lines = "\n".join(shown(tmp_path, capsys, "--incident", "1"))
    assert "waiting to be sent" in lines
    assert "connection refused" in lines


def test_only_a_queues_incidents(left: Path, capsys: Capture) -> None:
    assert [i["id"] for i in history(left, capsys, "--queue", "other-dlq")] == [2]
    assert [i["id"] for i in history(left, capsys, "--queue", QUEUE)] == [3, 1]


def test_only_a_rules_incidents(left: Path, capsys: Capture) -> None:
    assert len(history(left, capsys, "--rule", "depth")) == 3
    assert history(left, capsys, "--rule", "blind") == []


def test_since_keeps_what_was_open_then_or_later(left: Path, capsys: Capture) -> None:
    """The first ended 50 minutes ago; the open one goes on."""
    assert [i["id"] for i in history(left, capsys, "--since", "2h")] == [3, 2, 1]
    assert [i["id"] for i in history(left, capsys, "--since", "48m")] == [3, 2]
    assert [i["id"] for i in history(left, capsys, "--since", "5m")] == [3]
    assert [i["id"] for i in history(left, capsys, "--since", "0s")] == [3]


def test_nothing_to_show_is_said_and_fine(left: Path, capsys: Capture) -> None:
    assert shown(left, capsys, "--queue", "nope") == ["No incidents that match."]


def test_an_unknown_incident_is_said_with_the_newest(left: Path, capsys: Capture) -> None:
    config = str(write_config(left))
    for more in ([], ["--json"], ["--csv"]):
        assert main(["history", "--config", config, "--incident", "99", *more]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "no incident #99; the newest is #3" in err


def test_the_story_of_an_incident_is_in_order(left: Path, capsys: Capture) -> None:
    lines = shown(left, capsys, "--incident", "1")
    assert lines[0] == f"#1 {QUEUE}: depth (QG-009), warning"
    assert lines[1].startswith("open from ")
    text = "\n".join(lines)
    order = ["quiet → alerting", "first word", "more landed", "alerting → quiet", "notice: over"]
    at = [text.index(words) for words in order]
    assert at == sorted(at)
    assert "at most 8 dead letters" in text
    (drawn,) = [line for line in lines if line.startswith("▄")]
    assert len(drawn) == BARS
    assert "█" in drawn
    assert max(map(len, lines)) <= 80


def test_the_list_fits_eighty_columns(left: Path, capsys: Capture) -> None:
    lines = shown(left, capsys)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("3 ") and "still open" in line for line in lines)
    assert any(line.startswith("1 ") and line.endswith("3 of 3") for line in lines)


def test_csv_has_a_row_for_each_incident(left: Path, capsys: Capture) -> None:
    assert main(["history", "--csv", "--config", str(write_config(left))]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == [*FIELDS[:-3], "notices", "delivered", "first_delivered_at"]
    assert [(r["id"], r["queue"], r["peak_depth"], r["delivered"]) for r in rows] == [
        ("3", QUEUE, "120", "1"),
        ("2", "other-dlq", "1", "2"),
        ("1", QUEUE, "8", "3"),
    ]
    assert rows[0]["resolved_at"] == ""
    assert rows[2]["first_delivered_at"].endswith("Z")


def test_csv_with_nothing_to_show_is_its_head(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    assert main(["history", "--csv", "--config", str(write_config(tmp_path))]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_without_a_database_it_could_not_find_out(tmp_path: Path, capsys: Capture) -> None:
    assert main(["history", "--config", str(write_config(tmp_path))]) == 3
    assert "there is no database" in capsys.readouterr().err


def test_since_takes_a_duration_a_date_and_a_time() -> None:
    then = round(datetime(2026, 11, 29, 10, 0, tzinfo=UTC).timestamp() * 1000)
    local = round(datetime(2026, 11, 29).astimezone().timestamp() * 1000)
    assert since_when("7d", 10 * DAY) == 3 * DAY
    assert since_when("1h30m", DAY) == DAY - 5_400_000
    assert since_when("2026-11-29T10:00:00Z", 0) == then
    assert since_when("2026-11-29T12:00+02:00", 0) == then
    assert since_when("2026-11-29", 0) == local


@pytest.mark.parametrize("text", ["yesterday", "7", "2026-13-01", "-7d", "", "7 days"])
def test_a_since_that_is_no_time_is_refused_with_examples(
    text: str, tmp_path: Path, capsys: Capture
) -> None:
    config = str(write_config(tmp_path))
    assert main(["history", "--config", config, f"--since={text}"]) == 2
    assert "--since: " in capsys.readouterr().err


def test_a_time_without_readings_is_a_gap_in_the_bars() -> None:
    found = bars([(0, 10, 4), (50, 60, 8)], 0, BARS)
    assert found[0] == found[10] == 4
    assert found[11] is None
    assert found[50] == 8
    assert sparkline([4, None, 8, 0]) == "▅ █▁"  # half of seven steps, rounded up


def test_bars_take_the_deepest_of_what_they_stand_for() -> None:
    found = bars([(0, 500, 1), (500, 501, 9), (502, 1000, 1)], 0, 1000)
    assert max(v for v in found if v is not None) == 9
    assert bars([(-500, -1, 5), (2000, 3000, 5)], 0, 1000) == [None] * BARS


def test_a_long_incident_is_drawn_from_hours(tmp_path: Path, capsys: Capture) -> None:
    rules = QueueRules(QUEUE, poll_ms=3_600_000)
    with left_behind(tmp_path, rules, ago_s=3 * 86400) as rig:
        rig.holds(2)
        rig.run(86400 * 2)
        rig.holds(6)
        rig.run(86400)
    lines = shown(tmp_path, capsys, "--incident", "1")
    (drawn,) = [line for line in lines if "█" in line]
    assert (len(drawn), drawn[0], drawn[-1]) == (BARS, "▄", "█")


def test_an_incident_whose_readings_are_no_longer_kept_is_drawn_from_hours(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=120) as rig:
        rig.holds(2)
        rig.run(120)
    db = sqlite3.connect(database(tmp_path))
    with db:
        db.execute("DELETE FROM spans")
    db.close()
    assert "█" * BARS in shown(tmp_path, capsys, "--incident", "1")
