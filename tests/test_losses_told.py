"""What is lost, or may be, is told at once and once, whatever else happens meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dlqwatch.decide.outcomes import not_sent
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    DestinationKind,
    NoticeStatus,
    QueueRules,
    Reason,
    Resolution,
    Sample,
    SampleKind,
    SampleReason,
)
from tests.pair import quietable
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig, light, simulated

NO_MARKS = QueueRules(QUEUE, expiry_warnings_ms=())
AWAY = not_sent("connection refused")


def live(rig: LightRig, written: Sequence[int], seconds: int) -> None:
    """Cloudflare keeps each for an hour; a poll each half minute."""
    rig.queues.retention_ms = HOUR
    for _ in range(seconds // 30):
        now = rig.clock.now()
        here = [at for at in written if at <= now < at + HOUR]
        rig.holds(len(here), age_ms=now - here[0] if here else 0)
        rig.run(30)


def delete(rig: LightRig) -> None:
    rig.queues.says[QUEUE] = CloudflareError(SampleReason.QUEUE_GONE, "Queue not found")
    rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, (), 3)
    rig.run(61)


def perhaps_lost(rig: LightRig) -> None:
    """Eight lie there; five are gone after twenty minutes in which nobody looked."""
    rig.holds(8, age_ms=4 * DAY - 10 * MINUTE)
    rig.run(61)
    rig.clock.move(1200)
    rig.restart()
    rig.holds(3, age_ms=DAY)
    rig.run(61)


def test_a_queue_made_anew_between_two_polls_took_its_messages_along(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, QueueRules(QUEUE)) as rig:
        rig.cf.land(QUEUE, 5)
        rig.run(61)
        rig.cf.delete_queue(QUEUE)
        rig.cf.create_queue(QUEUE)
        rig.cf.land(QUEUE, 2)
        rig.run(200)
        old, new = rig.incidents()
        assert (old.resolution, old.lost) == (Resolution.DELETED, 5)
        assert new.resolved_at is None
        assert rig.told() == ["first", "lost", "first"]


def test_what_may_be_lost_is_told_while_others_still_lie_there() -> None:
    with light(WEBHOOK, NO_MARKS) as rig:
        perhaps_lost(rig)
        assert rig.told() == ["first", "lost"]
        assert "Perhaps lost: up to 5" in rig.posted()[-1]
        assert rig.notices()[-1].mention
        rig.run(3600)
        assert rig.told() == ["first", "lost"], "once"


def test_what_may_be_lost_inside_a_silence_passes_it(tmp_path: Path) -> None:
    with quietable(tmp_path, expiry_warnings_ms=()) as (rig, quiet):
        rig.queues.retention_ms = HOUR
        quiet.silence(86_400)
        rig.holds(4, age_ms=50 * MINUTE)
        rig.run(31)
        rig.queues.says[QUEUE] = CloudflareError(SampleReason.SERVER_ERROR, "HTTP 500")
        rig.run(1200)
        rig.holds(0)
        rig.run(200)
        assert rig.told() == ["lost", "resolved"]
        assert "Perhaps lost: up to 4" in rig.a.lines[-1]


@pytest.mark.parametrize("kind", [WEBHOOK, BOT])
def test_a_loss_whose_answer_is_outstanding_is_not_told_a_second_time(
    kind: DestinationKind,
) -> None:
    with light(kind, QueueRules(QUEUE, expiry_warnings_ms=(), poll_ms=5 * SECOND)) as rig:
        rig.queues.retention_ms = HOUR
        rig.holds(5, age_ms=59 * MINUTE + 30_000)
        rig.run(28)
        rig.speaker.weather = "stored and lost"
        rig.holds(3, age_ms=10_000)
        rig.run(60)
        rig.speaker.weather = "ok"
        rig.run(300)
        assert [n.reason for n in rig.notices()] == [Reason.FIRST, Reason.LOST]


@pytest.mark.parametrize("told_before", [True, False])
def test_a_loss_found_while_slack_is_away_is_told_as_one_with_its_mention(
    told_before: bool,
) -> None:
    with light(WEBHOOK, NO_MARKS) as rig:
        written = [rig.clock.now()] * 3
        if told_before:
            live(rig, written, 600)
        rig.speaker.weather = AWAY
        live(rig, written, 4200)
        rig.speaker.weather = "ok"
        rig.run(900)
        told = [n for n in rig.notices() if n.status is NoticeStatus.DELIVERED]
        assert (told[-1].reason, told[-1].mention) == (Reason.LOST, True)
        assert "Lost: at least 3" in rig.posted()[-1]


def test_the_last_word_of_a_loss_says_that_it_is_the_last() -> None:
    with light(WEBHOOK, NO_MARKS) as rig:
        live(rig, [rig.clock.now()] * 3, 4200)
        first, last = (line for line in rig.posted() if "Lost" in line)
        assert "over after" not in first
        assert "over after 1 h" in last


def test_deleted_with_what_lay_there_and_not_with_what_was_lost_before() -> None:
    with light(WEBHOOK, NO_MARKS) as rig:
        perhaps_lost(rig)
        delete(rig)
        (incident,) = rig.incidents()
        lost = getattr(incident.facts, "lost", None), getattr(incident.facts, "lost_at_most", None)
        assert lost == (3, 8)
        (line,) = (line for line in rig.posted() if "deleted" in line)
        assert "deleted with 3 dead letters in it; lost before that: up to 5" in line


def test_a_reading_without_an_age_takes_no_known_deadline_away() -> None:
    with light(WEBHOOK, QueueRules(QUEUE)) as rig:
        rig.holds(4, age_ms=3 * DAY - HOUR)
        rig.run(61)
        partial = Sample(0, SampleKind.PARTIAL, 4, 400, None, SampleReason.AGE_UNKNOWN)
        rig.queues.says[QUEUE] = partial
        rig.run(26 * 3600)
        assert rig.told().count("expiry_near") >= 3
        assert "handle before" in rig.posted()[1]


def test_a_hold_that_runs_does_not_outlive_its_queue() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, hold_ms=10 * MINUTE)) as rig:
        rig.holds(3)
        rig.run(61)
        delete(rig)
        rig.clock.move(86_400)
        rig.queues.ids[QUEUE] = "0" * 32
        rig.queues.says["0" * 32] = Sample(0, SampleKind.COMPLETE, 1, 100, rig.clock.now())
        rig.run(301)
        assert rig.told() == [], "its hold begins anew"


def test_a_reading_without_an_age_before_a_loss_makes_it_no_less_certain(tmp_path: Path) -> None:
    rules = QueueRules(QUEUE, expiry_warnings_ms=(), audit_ms=DAY, critical_depth=100)
    with simulated(tmp_path, WEBHOOK, rules) as rig:
        rig.cf.queue(QUEUE).retention_s = 3600
        rig.cf.land(QUEUE)
        rig.run(3500)
        rig.cf.land(QUEUE)
        rig.run(31)
        rig.cf.set_metrics(QUEUE, oldest_message_timestamp_ms=0, backlog_count=2)
        rig.run(121)  # the first expires unseen, another takes its place
        rig.cf.land(QUEUE)
        rig.cf.clear_metrics(QUEUE)
        rig.run(121)
        (incident,) = rig.incidents()
        assert incident.lost == 1
        assert incident.resolved_at is None


def test_what_left_while_the_retention_could_not_be_read_has_no_certain_meaning() -> None:
    """It may have been cut meanwhile: never "taken out" for what expired."""
    with light(WEBHOOK, QueueRules(QUEUE)) as rig:
        rig.holds(4, age_ms=HOUR)
        rig.run(61)
        rig.queues.settings = CloudflareError(SampleReason.SERVER_ERROR, "HTTP 500")
        rig.queues.retention_ms = MINUTE
        rig.holds(0)
        rig.run(200)
        (incident,) = rig.incidents()
        assert incident.resolution is Resolution.UNKNOWN
