"""The commands that quiet an alert, and where status and history show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.edges import store_commands
from tests.cli_world import Left, alive, database, left_behind, now, write_config
from tests.rig import QUEUE

Capture = pytest.CaptureFixture[str]
SILENCE = ("silence", QUEUE, "--for", "2h", "--reason", "planned work", "--by", "lan")


def run(tmp_path: Path, *words: str) -> int:
    return main([words[0], "--config", str(write_config(tmp_path)), *words[1:]])


def said(tmp_path: Path, capsys: Capture, *words: str) -> str:
    run(tmp_path, *words)
    return capsys.readouterr().out


def data(tmp_path: Path, capsys: Capture, *words: str) -> Any:
    return json.loads(said(tmp_path, capsys, *words, "--json"))


def fire(rig: Left) -> None:
    rig.holds(3)
    rig.run(60)


# -- silence, unsilence, silences


def test_a_silence_holds_back_what_the_running_daemon_would_tell(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=60) as rig, alive(tmp_path):
        rig.run(30)
        rig.clock.move(35)
        assert run(tmp_path, *SILENCE) == 0
        out = capsys.readouterr().out
        assert f"{QUEUE} is silenced until" in out
        assert f"dlqwatch unsilence {QUEUE}" in out
        rig.holds(3)
        rig.tick()
        assert not any("dead letter" in p.payload.text for p in rig.speaker.posts)
        assert run(tmp_path, "unsilence", QUEUE, "--by", "lan") == 0
        rig.tick()
        assert any("dead letter" in p.payload.text for p in rig.speaker.posts)


def test_silences_lists_those_that_hold_and_with_all_the_others_too(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
        assert "No silence holds" in said(tmp_path, capsys, "silences")
        run(tmp_path, *SILENCE, "--rule", "depth")
        capsys.readouterr()
        (held,) = data(tmp_path, capsys, "silences")
        assert (held["queue"], held["rule"], held["by"]) == (QUEUE, "depth", "lan")
        assert held["lifted_at"] is None
        shown = said(tmp_path, capsys, "silences")
        assert "planned work" in shown
        run(tmp_path, "unsilence", QUEUE, "--by", "minh")
        capsys.readouterr()
        assert data(tmp_path, capsys, "silences") == []
        (lifted,) = data(tmp_path, capsys, "silences", "--all")
        assert lifted["lifted_by"] == "minh"
        assert "minh" in said(tmp_path, capsys, "silences", "--all")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("silence", "nemo12-event-dlq", *SILENCE[2:]), 2, QUEUE),
        (("silence", QUEUE, "--for", "soon", "--reason", "x", "--by", "y"), 2, "--for soon"),
        (("silence", QUEUE, "--for", "31d", "--reason", "x", "--by", "y"), 2, "--for 31d"),
        (("silence", QUEUE, "--for", "2h", "--reason", " ", "--by", "y"), 2, "--reason"),
        (("silence", QUEUE, "--for", "2h", "--reason", "x", "--by", ""), 2, "--by"),
        (("unsilence", QUEUE, "--by", "y"), 1, "dlqwatch silences"),
        (("ack", "7", "--by", "y"), 1, "#7"),
        (("ack", "1", "--by", " "), 2, "--by"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_do(
    tmp_path: Path, capsys: Capture, words: tuple[str, ...], code: int, says: str
) -> None:
    with left_behind(tmp_path) as rig:
        rig.tick()
    assert run(tmp_path, *words) == code
    assert says in capsys.readouterr().err


def test_without_a_database_nothing_can_be_silenced(tmp_path: Path, capsys: Capture) -> None:
    assert run(tmp_path, *SILENCE) == 3
    assert "no database" in capsys.readouterr().err
    assert not database(tmp_path).exists()


def test_the_store_cannot_be_silenced(tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        run(tmp_path, "silence", "dlqwatch", *SILENCE[2:], "--rule", "store")
    assert ended.value.code == 2
    assert "store" in capsys.readouterr().err


# -- ack


def test_an_ack_is_taken_up_and_an_incident_that_is_over_needs_none(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=600) as rig:
        fire(rig)
        assert run(tmp_path, "ack", "1", "--by", "minh", "--note", "on it") == 0
        assert "minh" in capsys.readouterr().out
        rig.run(30)
        assert rig.incidents()[0].acked_depth == 3
        rig.holds(0)
        rig.run(300)
        assert run(tmp_path, "ack", "1", "--by", "minh") == 1
        assert "#1 is over" in capsys.readouterr().err


# -- where it is shown


def test_status_shows_the_silences_in_force_and_who_has_what_in_hand(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=600) as rig, alive(tmp_path):
        fire(rig)
        run(tmp_path, "ack", "1", "--by", "minh", "--note", "on it")
        run(tmp_path, *SILENCE)
        rig.run(530)
        capsys.readouterr()
        found = data(tmp_path, capsys, "status")
        shown = said(tmp_path, capsys, "status")
    assert [s["reason"] for s in found["silences"]] == ["planned work"]
    assert [(a["incident"], a["by"], a["note"]) for a in found["acks"]] == [(1, "minh", "on it")]
    for words in ("in hand", "minh: on it", "planned work", "silenced"):
        assert words in shown


def test_status_says_nothing_of_a_silence_that_is_over_or_an_ack_that_ended(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=600) as rig, alive(tmp_path):
        fire(rig)
        store_commands.ack(database(tmp_path), 1, now=rig.clock.now(), by="minh", note="")
        _silence(tmp_path, now() - 500_000, now() - 100_000)
        rig.run(60)
        rig.holds(9)
        rig.run(470)
        found = data(tmp_path, capsys, "status")
        shown = said(tmp_path, capsys, "status")
    assert (found["silences"], found["acks"]) == ([], [])
    assert "in hand" not in shown
    assert "silenced" not in shown


def _silence(tmp_path: Path, starts_at: int, ends_at: int) -> None:
    store_commands.silence(
        database(tmp_path),
        rule="",
        subject=QUEUE,
        starts_at=starts_at,
        ends_at=ends_at,
        by="lan",
        reason="planned work",
    )


def test_an_incidents_story_has_its_silences_and_acks_and_no_others(
    tmp_path: Path, capsys: Capture
) -> None:
    with left_behind(tmp_path, ago_s=3600) as rig:
        fire(rig)
        at = rig.clock.now()
        store_commands.ack(database(tmp_path), 1, now=at, by="minh", note="on it")
        _silence(tmp_path, at, at + 600_000)
        _silence(tmp_path, at - 9_000_000, at - 8_000_000)
        rig.run(60)
        store_commands.unsilence(database(tmp_path), QUEUE, now=rig.clock.now(), by="minh")
        rig.run(60)
        shown = said(tmp_path, capsys, "history", "--incident", "1")
        (found,) = data(tmp_path, capsys, "history")
    for words in ("acknowledged", "by minh: on it", "silenced until", "silence lifted"):
        assert shown.count(words) == 1, words
    assert [s["lifted_by"] for s in found["silences"]] == ["minh"]
    assert [a["note"] for a in found["acks"]] == ["on it"]
