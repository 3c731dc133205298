"""`dlqwatch status`: what is, and healthy or why not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.decide.inputs import Audited, QueueMissing
from dlqwatch.decide.outcomes import Answer
from dlqwatch.decide.reading import Audit, Consumer, QueueSettings
from dlqwatch.errors import CloudflareError
from dlqwatch.model import MINUTE, Outcome, QueueRules, SampleReason
from tests.cli_world import Left, alive, database, left_behind, write_config
from tests.fakes import UNREACHABLE
from tests.rig import QUEUE

Capture = pytest.CaptureFixture[str]


def status(tmp_path: Path, capsys: Capture) -> tuple[int, dict[str, Any]]:
    """`status --json`: its exit code and what it says."""
    code = main(["status", "--json", "--config", str(write_config(tmp_path))])
    return code, json.loads(capsys.readouterr().out)


def shown(tmp_path: Path, capsys: Capture) -> list[str]:
    main(["status", "--config", str(write_config(tmp_path))])
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_json_has_exactly_the_documented_shape(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, ago_s=120) as rig, alive(tmp_path):
        rig.holds(7)
        rig.run(120)
        code, said = status(tmp_path, capsys)
    assert code == 0
    assert list(said) == [
        "healthy", "why", "queues", "alerts", "outbox", "destinations", "silences", "acks",
    ]  # fmt: skip
    assert (said["healthy"], said["why"]) == (True, [])
    (queue,) = said["queues"]
    assert list(queue) == [
        "name", "state", "depth", "bytes", "oldest_at", "expires_at", "polled_at", "sample",
    ]  # fmt: skip
    assert (queue["name"], queue["state"], queue["depth"]) == (QUEUE, "firing", 7)
    assert (queue["bytes"], queue["sample"]) == (700, "complete")
    (alert,) = said["alerts"]
    assert list(alert) == ["rule", "queue", "state", "severity", "since"]
    assert alert["rule"] == "depth"
    assert (alert["queue"], alert["state"], alert["severity"]) == (QUEUE, "firing", "warning")
    assert said["outbox"] == {"pending": 0, "oldest_at": None}
    (place,) = said["destinations"]
    assert list(place) == ["name", "state", "since", "reason"]
    assert (place["name"], place["state"], place["reason"]) == ("slack", "ok", None)
    for time in (queue["oldest_at"], queue["expires_at"], queue["polled_at"], alert["since"]):
        assert time.endswith("Z")
        assert "T" in time


def test_the_deadline_is_the_oldest_plus_the_retention(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.holds(1)
        rig.tick()
        (queue,) = status(tmp_path, capsys)[1]["queues"]
    old, ends = (sqlite_day(queue[key]) for key in ("oldest_at", "expires_at"))
    assert ends - old == pytest.approx(4.0)


def sqlite_day(text: str) -> float:
    """A day count of an ISO time: a second opinion on the format too."""
    with sqlite3.connect(":memory:") as db:
        (found,) = db.execute("SELECT julianday(?)", (text,)).fetchone()
    db.close()
    return float(found)


def test_a_failed_reading_is_null_and_never_zero(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, ago_s=60) as rig, alive(tmp_path):
        rig.holds(3)
        rig.tick()
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.run(60)
        (queue,) = status(tmp_path, capsys)[1]["queues"]
        lines = shown(tmp_path, capsys)
    assert (queue["sample"], queue["depth"], queue["bytes"]) == ("failed", None, None)
    assert queue["state"] == "firing"
    assert any("alerting" in line and line.endswith("failed now") for line in lines)


def test_a_queue_that_can_not_be_read_shows_what_was_last_seen_and_its_deadline(
    tmp_path: Path, capsys: Capture
) -> None:
    """The deadline comes no later because nobody can look."""
    with left_behind(tmp_path, ago_s=60) as rig, alive(tmp_path):
        rig.holds(3)
        rig.tick()
        before = status(tmp_path, capsys)[1]["queues"][0]["expires_at"]
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.run(60)
        (queue,) = status(tmp_path, capsys)[1]["queues"]
        lines = shown(tmp_path, capsys)
    assert before is not None
    assert queue["expires_at"] == before
    (row,) = (line for line in lines if line.startswith(QUEUE))
    assert "was 3" in row
    assert "?" not in row
    assert "(3 d 23 h)" in row


def test_without_a_daemon_it_is_unhealthy(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
        code, said = status(tmp_path, capsys)
    assert (code, said["healthy"]) == (1, False)
    assert "nobody watches" in said["why"][0]


def test_before_the_first_start_it_says_that_nobody_watches(
    tmp_path: Path, capsys: Capture
) -> None:
    code, said = status(tmp_path, capsys)
    assert code == 1
    assert said["queues"][0]["state"] == "unknown"
    assert said["queues"][0]["sample"] is None
    assert (said["alerts"], said["destinations"]) == ([], [])
    assert not database(tmp_path).exists()


def test_a_queue_that_could_not_be_read_for_blind_after_is_unhealthy(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=400) as rig, alive(tmp_path):
        rig.tick()
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.run(400)
        code, said = status(tmp_path, capsys)
    assert code == 1
    assert "could not be read for 6 min" in said["why"][0]
    assert "Cloudflare could not be reached" in said["why"][0]


def test_a_queue_that_the_account_lacks_is_unhealthy_and_names_the_nearest(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.engine.submit(QueueMissing(QUEUE, ("nemo12-event-dlq",)))
        code, said = status(tmp_path, capsys)
        first = shown(tmp_path, capsys)[:2]
    assert code == 1
    assert '"nemo12-event-dlq"' in said["why"][0]
    assert first[0].startswith("✗ the account has no queue named")
    assert f"npx wrangler queues create {QUEUE}" in first[1]


def refused(rig: Left) -> None:
    rig.speaker.weather = Answer(Outcome.NEEDS_PERSON, "not_in_channel")
    rig.holds(1)
    rig.run(360)


def test_a_destination_that_needs_a_person_is_unhealthy_and_the_cure_is_said(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=360) as rig, alive(tmp_path):
        refused(rig)
        code, said = status(tmp_path, capsys)
        first = shown(tmp_path, capsys)[:2]
    assert code == 1
    (place,) = said["destinations"]
    assert (place["state"], place["reason"]) == ("needs_person", "not_in_channel")
    assert said["why"][0].startswith("slack has refused messages for ")
    assert "/invite" in first[1]
    assert "dlqwatch test-alert" in first[1]


def test_what_waits_for_over_five_minutes_is_unhealthy_and_counted(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=360) as rig, alive(tmp_path):
        rig.speaker.weather = Answer(Outcome.TEMPORARY, "connection refused")
        rig.holds(1)
        rig.run(360)
        code, said = status(tmp_path, capsys)
    assert code == 1
    assert said["outbox"]["pending"] == 2
    assert said["outbox"]["oldest_at"].endswith("Z")
    assert any("2 notices wait to be sent" in why for why in said["why"])
    assert any("connection refused" in why for why in said["why"])


def test_history_that_waits_in_memory_is_unhealthy(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path) as rig, alive(tmp_path, behind=True):
        rig.tick()
        code, said = status(tmp_path, capsys)
    assert code == 1
    assert "history waits in memory" in said["why"][0]


def test_overdue_ticks_are_unhealthy(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path) as rig, alive(tmp_path, silent_s=100):
        rig.tick()
        code, said = status(tmp_path, capsys)
    assert code == 1
    assert "no poll has finished for 100 s (limit 90 s)" in said["why"][0]


def test_a_queue_added_to_the_configuration_but_not_to_the_daemon_is_unhealthy(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, QueueRules("another-dlq")) as rig, alive(tmp_path):
        rig.tick()
        code, said = status(tmp_path, capsys)
    assert code == 1
    assert "the running daemon doesn't watch it" in said["why"][0]


def test_a_pending_alert_has_no_severity_yet(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, QueueRules(QUEUE, hold_ms=10 * MINUTE)) as rig, alive(tmp_path):
        rig.holds(2)
        rig.tick()
        (alert,) = status(tmp_path, capsys)[1]["alerts"]
    assert (alert["state"], alert["severity"]) == ("pending", None)


def test_a_quiet_queue_is_no_alert(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.tick()
        code, said = status(tmp_path, capsys)
    assert (code, said["alerts"], said["queues"][0]["state"]) == (0, [], "inactive")


def test_people_read_that_it_works_and_what_fires(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, ago_s=120) as rig, alive(tmp_path):
        rig.holds(120)
        rig.run(120)
        lines = shown(tmp_path, capsys)
    assert lines[0] == "✓ dlqwatch works: 1 alert fires, for 120 dead letters"
    assert any(line.startswith(QUEUE) and "alerting" in line and "120" in line for line in lines)
    assert any(line.startswith("#1") and "critical" in line for line in lines)
    assert "outbox: nothing waits to be sent" in lines
    assert max(map(len, lines)) <= 80


def test_a_pipe_gets_no_colours_and_a_reason_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    with left_behind(tmp_path, ago_s=360) as rig, alive(tmp_path):
        refused(rig)
        main(["status", "--config", str(write_config(tmp_path))])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.startswith("✗ slack has refused messages")


def test_a_refused_token_is_unhealthy_as_soon_as_people_were_told(
    tmp_path: Path, capsys: Capture
) -> None:
    """The blind alert opens at the second refusal; the next step is said."""
    refused = CloudflareError(SampleReason.BAD_TOKEN, "HTTP 403, code 10000: Authentication error")
    with left_behind(tmp_path, ago_s=90) as rig, alive(tmp_path, since_s=90):
        rig.tick()
        rig.queues.says[QUEUE] = refused
        rig.run(61)
        code, said = status(tmp_path, capsys)
        assert code == 1
        assert "code 10000" in said["why"][0]
        assert ("blind", None) in [(a["rule"], a["queue"]) for a in said["alerts"]]
        main(["status", "--config", str(write_config(tmp_path))])
        assert "lacks the permission Queues Read" in capsys.readouterr().out


def test_a_wiring_alert_is_named_with_its_next_step(tmp_path: Path, capsys: Capture) -> None:
    """And it is no trouble of dlqwatch's own."""
    wrong = Audit(
        source=QueueSettings("nemo12-events", 1, False, (Consumer("api", "worker", "", 5),), ())
    )
    with left_behind(tmp_path, QueueRules(QUEUE, source="nemo12-events")) as rig, alive(tmp_path):
        rig.tick()
        for _ in range(2):
            rig.engine.submit(Audited(QUEUE, wrong))
        code, said = status(tmp_path, capsys)
        assert code == 0
        assert [(a["rule"], a["queue"], a["severity"]) for a in said["alerts"]] == [
            ("wiring", QUEUE, "critical")
        ]
        main(["status", "--config", str(write_config(tmp_path))])
        out = capsys.readouterr().out
    assert "✓ dlqwatch works: 1 alert fires\n" in out
    assert f"#1 Dead-letter queue: is none, expected {QUEUE}" in out
    assert f'Set "dead_letter_queue": "{QUEUE}"' in out
