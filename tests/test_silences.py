"""A silence suppresses and records: what it holds back, what passes it, what its end brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlqwatch.model import HOUR, MINUTE, DestinationKind, NoticeStatus, Reason
from dlqwatch.rows import Incident
from tests.fakes import UNREACHABLE
from tests.pair import FIRST, REFUSED, REVOKED, SECOND, Pair, fire, quietable
from tests.rig import BOT, KINDS, QUEUE

both_kinds = pytest.mark.parametrize("kind", KINDS)


def reasons(rig: Pair, status: NoticeStatus = NoticeStatus.DELIVERED) -> list[str]:
    return [n.reason.value for n in rig.notices() if n.status is status]


def silenced(rig: Pair) -> list[str]:
    return reasons(rig, NoticeStatus.SILENCED)


# -- what it holds back


@both_kinds
def test_what_arrives_inside_a_silence_and_stays_is_told_at_once_at_its_end(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with quietable(tmp_path, kind) as (rig, quiet):
        quiet.silence(HOUR / 1000)
        fire(rig)
        rig.run(3590)
        assert rig.a.posts == []
        assert silenced(rig) == ["first"]
        rig.run(31)
        assert reasons(rig) == ["first"]
        assert "3 dead letters" in rig.a.lines[0]
        rig.run(3600)
        assert len(rig.a.posts) == 1


def test_the_end_of_a_silence_is_noticed_although_cloudflare_cannot_be_asked(
    tmp_path: Path,
) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(600)
        fire(rig)
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.run(640)
        assert reasons(rig)[0] == "first"


def test_a_silence_that_ended_while_dlqwatch_was_down_is_noticed_at_its_start(
    tmp_path: Path,
) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(600)
        fire(rig)
        rig.clock.move(1200)
        rig.restart()
        rig.tick()
        assert reasons(rig) == ["first"]


def test_a_silence_holds_over_a_restart(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(600)
        fire(rig)
        rig.restart()
        rig.run(300)
        assert rig.a.posts == []


def test_a_start_after_a_lost_journal_tells_nothing_that_is_silenced(tmp_path: Path) -> None:
    """It would tell each open incident once more; the silence's end does that."""
    with quietable(tmp_path) as (rig, quiet):
        fire(rig)
        quiet.silence(600)
        rig.restart(behind=True)
        rig.run(5, polling=False)
        rig.run(490)
        assert reasons(rig) == ["first"]
        rig.run(200)
        assert reasons(rig) == ["first", "silence_ended"]


@both_kinds
def test_growth_and_reminders_are_held_back_and_told_once_at_the_end(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with quietable(tmp_path, kind, group_ms=MINUTE, repeat_ms=HOUR) as (rig, quiet):
        fire(rig)
        quiet.silence(3 * HOUR / 1000)
        for depth in (5, 7, 9):
            rig.holds(depth)
            rig.run(3600)
        rig.run(60)
        assert reasons(rig) == ["first", "silence_ended"]
        assert silenced(rig) == ["grown"]
        assert "9 dead letters" in rig.a.lines[-1]
        assert "silence over" in rig.a.lines[-1].lower()


def test_a_silence_in_which_nothing_happened_ends_without_a_word(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        fire(rig)
        quiet.silence(3600)
        rig.run(7200)
        assert reasons(rig) == ["first"]


def test_becoming_critical_in_a_silence_mentions_at_its_end(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        fire(rig)
        quiet.silence(600)
        rig.holds(120)
        rig.run(700)
        last = rig.notices()[-1]
        assert (last.reason, last.mention) == (Reason.SILENCE_ENDED, True)
        assert "<!subteam^" in rig.a.posts[-1].payload.text


def test_a_word_that_waits_when_the_silence_begins_is_held_back_too(tmp_path: Path) -> None:
    """Slack was away: what was decided before must not arrive inside the silence."""
    with quietable(tmp_path) as (rig, quiet):
        rig.a.weather = rig.b.weather = REFUSED
        fire(rig)
        rig.run(60)
        quiet.silence(3600)
        rig.run(31)
        rig.a.weather = rig.b.weather = "ok"
        rig.run(3000)
        assert rig.a.posts == rig.b.posts == []
        rig.run(600)
        assert reasons(rig) == ["first"]


def test_what_the_first_destination_missed_is_not_told_inside_a_silence(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        rig.a.weather = REVOKED
        fire(rig)
        quiet.silence(7200)
        rig.a.weather = "ok"
        rig.run(7100)
        assert rig.a.posts == []
        rig.run(200)
        assert rig.told_by(FIRST) == ["reconnected"]
        assert rig.told_by(SECOND) == ["first"]


def test_a_silence_of_another_queue_or_rule_holds_nothing_back(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(3600, subject="another")
        quiet.silence(3600, rule="wiring")
        fire(rig)
        assert reasons(rig) == ["first"]


def test_of_two_silences_the_one_that_ends_last_counts(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(3600)
        quiet.silence(600, rule="depth")
        fire(rig)
        rig.run(3500)
        assert rig.a.posts == []
        rig.run(131)
        assert reasons(rig) == ["first"]


# -- what passes it


@both_kinds
def test_what_fired_before_and_drains_inside_is_told_to_be_over(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with quietable(tmp_path, kind) as (rig, quiet):
        fire(rig)
        quiet.silence(3600)
        rig.run(60)
        rig.holds(0)
        rig.run(120)
        assert reasons(rig) == ["first", "resolved"]


def test_what_opened_before_untold_and_ends_inside_is_told_in_one(tmp_path: Path) -> None:
    """It was not silenced throughout."""
    with quietable(tmp_path) as (rig, quiet):
        rig.a.weather = rig.b.weather = REFUSED
        fire(rig)
        rig.run(60)
        quiet.silence(3600)
        rig.holds(0)
        rig.run(120)
        rig.a.weather = "ok"
        rig.run(120)
        assert reasons(rig) == ["first_and_resolved"]


def test_the_last_mark_passes_a_silence_and_the_others_do_not(tmp_path: Path) -> None:
    with quietable(tmp_path, poll_ms=5 * MINUTE) as (rig, quiet):
        rig.queues.retention_ms = 24 * HOUR
        quiet.silence(26 * HOUR / 1000)
        rig.holds(3)
        rig.run(17.5 * 3600)
        assert rig.a.posts == []
        rig.run(6 * 3600)
        assert reasons(rig) == ["expiry_near"]
        assert "<!subteam^" in rig.a.posts[0].payload.text
        assert rig.notices()[-1].created_at - rig.incidents()[0].opened_at >= 22.9 * HOUR


def test_a_loss_passes_a_silence(tmp_path: Path) -> None:
    with quietable(tmp_path, poll_ms=5 * MINUTE) as (rig, quiet):
        rig.queues.retention_ms = 24 * HOUR
        rig.holds(3)
        rig.run(60)
        quiet.silence(30 * HOUR / 1000)
        rig.run(24.5 * 3600)
        rig.holds(0)
        rig.run(1200)
        assert reasons(rig)[-1] in ("lost", "resolved")
        assert rig.rows(Incident, "rule = 'depth'")[0].lost == 3
        assert any("Lost: at least 3" in line for line in rig.a.lines)


def test_a_loss_is_told_although_nothing_else_of_it_was(tmp_path: Path) -> None:
    """Opened and closed inside the silence; what expired is told all the same."""
    with quietable(tmp_path, poll_ms=5 * MINUTE, expiry_warnings_ms=()) as (rig, quiet):
        rig.queues.retention_ms = 24 * HOUR
        quiet.silence(30 * HOUR / 1000)
        rig.holds(3)
        rig.run(24.5 * 3600)
        assert rig.a.posts == []
        rig.holds(0)
        rig.run(1200)
        assert any("Lost: at least 3" in line for line in rig.a.lines), rig.a.lines


def test_a_loss_that_waits_for_slack_is_told_although_it_all_ended_inside(tmp_path: Path) -> None:
    rules: dict[str, Any] = {
        "poll_ms": 5 * MINUTE,
        "keep_ms": 30 * MINUTE,
        "expiry_warnings_ms": (),
    }
    with quietable(tmp_path, **rules) as (rig, quiet):
        rig.queues.retention_ms = 24 * HOUR
        quiet.silence(30 * HOUR / 1000)
        rig.holds(3)
        rig.run(24.5 * 3600)
        rig.a.weather = rig.b.weather = REFUSED
        rig.holds(0)
        rig.run(3600)
        rig.a.weather = rig.b.weather = "ok"
        rig.run(120)
        assert any("Lost: at least 3" in line for line in rig.a.lines + rig.b.lines)


# -- opened and closed inside


@both_kinds
def test_what_opened_and_closed_inside_is_history_only(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with quietable(tmp_path, kind) as (rig, quiet):
        quiet.silence(3600)
        fire(rig)
        rig.run(60)
        rig.holds(0)
        rig.run(7200)
        assert rig.a.posts == []
        assert silenced(rig) == ["first"]
        (incident,) = rig.rows(Incident, "rule = 'depth'")
        assert incident.resolved_at is not None


def test_the_end_says_how_many_opened_and_closed_meanwhile(tmp_path: Path) -> None:
    with quietable(tmp_path, keep_ms=0) as (rig, quiet):
        quiet.silence(3600)
        for _ in range(2):
            fire(rig)
            rig.run(60)
            rig.holds(0)
            rig.run(120)
        rig.holds(4)
        rig.run(3600)
        assert reasons(rig) == ["first"]
        said = str(rig.a.posts[0].payload)
        assert "4 dead letters" in rig.a.lines[0]
        assert "2 other alerts" in said


def test_what_opens_after_the_silence_says_what_was_held_back_once(tmp_path: Path) -> None:
    with quietable(tmp_path, keep_ms=0) as (rig, quiet):
        quiet.silence(600)
        fire(rig)
        rig.run(60)
        rig.holds(0)
        rig.run(900)
        for _ in range(2):
            fire(rig)
            rig.run(60)
            rig.holds(0)
            rig.run(60)
        firsts = [p for p in rig.a.posts if "is empty again" not in p.payload.text]
        assert ["1 other alert" in str(p.payload) for p in firsts] == [True, False]


# -- lifting


def test_a_lifted_silence_lets_out_what_it_held_at_the_next_poll(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(3600)
        fire(rig)
        rig.run(300)
        quiet.unsilence()
        rig.run(31)
        assert reasons(rig) == ["first"]


# -- where it is shown


def test_the_card_shows_the_silence_and_no_longer_when_it_is_over(tmp_path: Path) -> None:
    with quietable(tmp_path, BOT) as (rig, quiet):
        fire(rig)
        quiet.silence(600)
        rig.run(61)
        assert "Silenced until" in str(rig.a.posts[0].edits[-1])
        assert "lan" in str(rig.a.posts[0].edits[-1])
        rig.run(700)
        assert "Silenced until" not in str(rig.a.posts[0].edits[-1])


def test_while_the_database_cannot_be_read_the_known_silences_hold(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(600)
        fire(rig)
        rig.journal.failing = True
        rig.run(300)
        assert [p for p in rig.a.posts if "dead letter" in p.payload.text] == []


def test_that_history_is_not_written_is_never_silenced(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        quiet.silence(3600, subject="dlqwatch")
        rig.tick()
        rig.journal.failing = True
        rig.holds(1)
        rig.run(120)
        assert any("history" in p.payload.text.lower() for p in rig.a.posts)
