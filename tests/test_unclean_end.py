"""S8: the start after an end that was not clean says so, once."""

from __future__ import annotations

import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from dlqwatch.daemon.run import started_after
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.lockfile import Lock, Pulse, read_pulse
from dlqwatch.facts import StartedFacts
from dlqwatch.model import HOUR, MINUTE, NoticeStatus, Outcome, Reason
from dlqwatch.rows import Notice
from tests.process import QUEUE, Place, place
from tests.rig import BOT, WEBHOOK, LightRig, light

DOWN = Answer(Outcome.TEMPORARY, "http 500")
ITSELF = (Reason.STARTED, Reason.UNCLEAN_END)


def restart(rig: LightRig, *, seen_at: int | None = None, version: str = "0.1.0") -> None:
    """The process dies and begins again. `seen_at`: its last sign of life, if it was not clean."""
    rig.restart(plan=replace(rig.plan, version=version), seen_at=seen_at)


def dies(rig: LightRig, *, after: float = 30.0, version: str = "0.1.0") -> None:
    """It runs for so long, is killed, and comes back half a minute later."""
    rig.run(after)
    seen_at = rig.clock.now()
    rig.clock.move(30)
    restart(rig, seen_at=seen_at, version=version)


def said(rig: LightRig) -> list[Notice]:
    """What it said of itself since its database was new, sent or not."""
    return [n for n in rig.rows(Notice, "1 ORDER BY id") if n.reason in ITSELF][1:]


def facts(notice: Notice) -> StartedFacts:
    assert isinstance(notice.facts, StartedFacts)
    return notice.facts


def test_a_start_after_an_unclean_end_says_so_once_and_since_when() -> None:
    with light(WEBHOOK) as rig:
        dies(rig)
        died_at = rig.clock.now() - 30_000
        rig.run(3600)
        (notice,) = said(rig)
        assert notice.reason is Reason.UNCLEAN_END
        assert notice.status is NoticeStatus.DELIVERED
        assert facts(notice).last_seen_at == died_at
        assert facts(notice).unclean_ends == 1
        (post,) = rig.speaker.posts
        assert "runs again" in post.payload.text
        assert "after a crash or a kill" in post.payload.text
        assert "in a row" not in post.payload.text


def test_a_start_after_a_clean_end_is_silent() -> None:
    with light(WEBHOOK) as rig:
        rig.run(60)
        restart(rig)
        rig.run(60)
        assert said(rig) == []


def test_a_crash_loop_is_told_at_most_once_an_hour_and_counted() -> None:
    with light(WEBHOOK) as rig:
        for _ in range(3 * 60):  # three hours
            dies(rig)
        told = [n for n in said(rig) if n.status is NoticeStatus.DELIVERED]
        assert 3 <= len(told) <= 4
        apart = [b.created_at - a.created_at for a, b in pairwise(told)]
        assert min(apart) >= HOUR
        assert [facts(n).unclean_ends for n in told] == [1, 61, 121][: len(told)]
        assert "the last of 61 in a row" in rig.speaker.posts[1].payload.text


def test_a_crash_before_its_words_were_sent_is_told_by_the_next_start() -> None:
    """Each life is shorter than the two seconds for which the message yields."""
    with light(WEBHOOK) as rig:
        for _ in range(5):
            dies(rig, after=1)
        rig.run(10)
        assert len(rig.speaker.posts) == 1
        assert [n.status for n in said(rig)] == [NoticeStatus.DELIVERED]


def test_an_hour_of_life_breaks_the_row() -> None:
    with light(WEBHOOK) as rig:
        dies(rig)
        dies(rig, after=3700)
        rig.run(60)
        assert [facts(n).unclean_ends for n in said(rig)] == [1, 1]


def test_a_clean_end_breaks_the_row() -> None:
    with light(WEBHOOK) as rig:
        dies(rig)
        rig.run(60)
        restart(rig)
        dies(rig, version="0.2.0")  # told, though it is within the hour
        rig.run(60)
        assert [facts(n).unclean_ends for n in said(rig)] == [1, 1]


def test_a_new_version_after_an_unclean_end_is_one_message() -> None:
    with light(WEBHOOK) as rig:
        dies(rig, version="0.2.0")
        rig.run(60)
        (notice,) = said(rig)
        assert notice.reason is Reason.UNCLEAN_END
        assert facts(notice).version_before == "0.1.0"
        (post,) = rig.speaker.posts
        assert "0.2.0" in post.payload.text


def test_a_new_version_in_a_crash_loop_is_told() -> None:
    with light(WEBHOOK) as rig:
        dies(rig)
        dies(rig, version="0.2.0")
        rig.run(60)
        assert [facts(n).version_before for n in said(rig)] == ["", "0.1.0"]
        assert [facts(n).unclean_ends for n in said(rig)] == [1, 2]


def test_a_new_database_says_only_that_it_started() -> None:
    """The lock file may lie there still from a database that was deleted."""
    with light(WEBHOOK, started=False) as rig:
        rig.run(10)
        (notice,) = (n for n in rig.rows(Notice) if n.reason in ITSELF)
        assert notice.reason is Reason.STARTED
        assert facts(notice).database_new


def test_an_alert_goes_first() -> None:
    with light(WEBHOOK) as rig:
        rig.run(30)
        rig.holds(3)
        restart(rig, seen_at=rig.clock.now())
        rig.run(30)
        texts = [p.payload.text for p in rig.speaker.posts]
        assert "3 dead letters" in texts[0]
        assert "runs again" in texts[1]


def test_hours_without_slack_leave_one_message_not_one_an_hour() -> None:
    with light(WEBHOOK) as rig:
        rig.speaker.weather = DOWN
        for _ in range(5):
            dies(rig, after=3500)
        rig.speaker.weather = "ok"
        rig.run(120)
        assert sum("runs again" in p.payload.text for p in rig.speaker.posts) == 1
        assert said(rig)[-1].status is NoticeStatus.DELIVERED


@pytest.mark.parametrize("step", [-10 * 365 * 24 * 3600.0, -3600.0, 10 * 365 * 24 * 3600.0])
def test_a_clock_that_was_set_meanwhile_makes_no_negative_time_and_no_storm(step: float) -> None:
    with light(WEBHOOK) as rig:
        dies(rig)
        rig.run(30)
        seen_at = rig.clock.now()
        rig.clock.step(step)
        restart(rig, seen_at=seen_at)
        for _ in range(5):
            dies(rig)
        rig.run(30)
        found = said(rig)
        assert len(found) <= 2
        assert all((facts(n).last_seen_at or 0) <= n.created_at for n in found)


# ---- the pulse


def test_the_pulse_tells_a_clean_end_from_an_unclean_one() -> None:
    pulse = Pulse(started_at=5 * MINUTE, seen_at=9 * MINUTE)
    assert started_after(None, "x", "h").last_seen_at is None
    assert started_after(pulse, "x", "h").last_seen_at == 9 * MINUTE
    assert started_after(pulse._replace(ended=True), "x", "h").last_seen_at is None


def test_a_start_that_was_refused_leaves_what_was_before_for_the_next(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    first = Lock(database, now=1_000, monotonic=1.0)
    first.beat(2.0, 90.0, behind=False, now=2_000)
    first.close(clean=False)
    Lock(database, now=9_000, monotonic=9.0).give_back()
    pulse = read_pulse(database)
    assert pulse is not None
    assert (pulse.ended, pulse.seen_at) == (False, 2_000)


def test_a_first_start_that_was_refused_is_no_unclean_end(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    Lock(database, now=9_000, monotonic=9.0).give_back()
    pulse = read_pulse(database)
    assert pulse is None or pulse.ended


# ---- the real process


def runs_again(where: Place) -> int:
    return sum("runs again" in m.text for m in where.slack.messages())


def test_a_killed_process_is_told_of_and_a_terminated_one_is_not(tmp_path: Path) -> None:
    with place(tmp_path, BOT) as where:
        with where.daemon() as daemon:
            daemon.wait_line("told of itself")
            where.wait_polls(1)
            daemon.kill()
        with where.daemon() as daemon:
            daemon.wait_line("told of itself")
            assert runs_again(where) == 1
            assert daemon.terminate()[0] == 0
        with where.daemon() as daemon:
            where.wait_polls(3)
            daemon.signal(signal.SIGINT)
            assert daemon.wait() == 0
        with where.daemon() as daemon:
            where.wait_polls(4)
            where.cloudflare.land(QUEUE)
            daemon.wait_line(r"told incident #1 \(first\)")
        assert runs_again(where) == 1


def test_a_start_that_is_refused_is_no_unclean_end(tmp_path: Path) -> None:
    with place(tmp_path, BOT) as where:
        where.database.write_bytes(b"")
        with where.daemon() as daemon:
            daemon.wait_line("told of itself")
            assert daemon.terminate()[0] == 0
        with where.daemon(env={"SSL_CERT_FILE": "/nowhere"}) as daemon:
            assert daemon.wait() == 2
        with where.daemon() as daemon:
            where.wait_polls(4)
            where.cloudflare.land(QUEUE)
            daemon.wait_line(r"told incident #1 \(first\)")
            assert daemon.terminate()[0] == 0
        assert runs_again(where) == 0
