"""S4 and S5 in the whole daemon: deadlines, marks, and what is said of messages that left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.facts import DepthFacts
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    QueueRules,
    Reason,
    Resolution,
    Rule,
    Sample,
    SampleKind,
    SampleReason,
    Severity,
)
from dlqwatch.rows import FallRow, Notice, Queue
from tests.pair import REFUSED, fire, quietable
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig, SimRig, light, simulated

RULES = QueueRules(QUEUE, critical_age_share=0.99, repeat_ms=90 * DAY, repeat_critical_ms=90 * DAY)

SLOW = replace(RULES, poll_ms=5 * MINUTE, audit_ms=5 * MINUTE, blind_after_ms=HOUR)


def facts(notice: Notice) -> DepthFacts:
    assert isinstance(notice.facts, DepthFacts)
    return notice.facts


def last(rig: LightRig | SimRig) -> DepthFacts:
    return facts(rig.told_of(Rule.DEPTH)[-1])


def whole(rig: LightRig) -> str:
    """The newest message, all of it."""
    payload = rig.speaker.posts[-1].payload
    return json.dumps([payload.text, payload.blocks], ensure_ascii=False)


def left(rig: LightRig, *, depth: int = 0) -> None:
    """From now on so many are there; two readings say so, and the alert closes if it is none."""
    rig.holds(depth, age_ms=HOUR)
    rig.run(31)
    rig.run(60)


# ---- S4: the deadline and its marks


def test_every_message_has_the_deadline() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.holds(1, age_ms=HOUR)
        rig.tick()
        deadline = rig.clock.now() + 4 * DAY - HOUR
        assert last(rig).expires_at == deadline
        assert f"<!date^{deadline // 1000}^" in rig.posted()[-1]


def test_marks_are_told_as_they_are_reached_and_are_critical() -> None:
    with light(WEBHOOK, SLOW) as rig:
        rig.holds(1)
        rig.tick()
        began = rig.clock.now()
        rig.run(4 * DAY // 1000 - 600)
        told = [(n.reason, facts(n).mark_ms) for n in rig.told_of(Rule.DEPTH)]
        assert told == [
            (Reason.FIRST, None),
            (Reason.EXPIRY_NEAR, 24 * HOUR),
            (Reason.EXPIRY_NEAR, 6 * HOUR),
            (Reason.EXPIRY_NEAR, HOUR),
        ]
        for notice in rig.told_of(Rule.DEPTH)[1:]:
            mark = facts(notice).mark_ms or 0
            assert 0 <= (notice.delivered_at or 0) - (began + 4 * DAY - mark) <= 5 * MINUTE + 2_000
            assert notice.severity is Severity.CRITICAL
            assert notice.mention is (mark <= 6 * HOUR)


def test_past_its_deadline_and_still_there_it_may_go_at_any_moment() -> None:
    """Whether the clock restarts in the dead-letter queue is documented nowhere."""
    with light(WEBHOOK, replace(RULES, repeat_critical_ms=4 * HOUR)) as rig:
        rig.holds(1, age_ms=4 * DAY - 30 * MINUTE)
        rig.run(5 * 3_600)
        reasons = [n.reason for n in rig.told_of(Rule.DEPTH)]
        assert reasons == [Reason.FIRST, Reason.REPEAT]
        assert "may be deleted at any moment" in rig.posted()[-1]


def test_a_retention_not_known_makes_no_countdown_and_says_so() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.queues.retention_ms = None
        rig.holds(1, age_ms=DAY)
        rig.run(3_600)
        assert "deadline not known yet" in rig.posted()[-1]
        assert rig.told() == ["first"]
        rig.queues.retention_ms = DAY + 2 * HOUR
        rig.run(330)
        assert rig.told() == ["first", "expiry_near"]


def test_a_retention_that_is_left_out_once_stays_as_it_was() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.run(31)
        rig.queues.retention_ms = None
        rig.run(400)
        assert rig.rows(Queue)[0].retention_ms == 4 * DAY


def test_a_retention_that_was_raised_leaves_the_deadline_of_what_lay_there_before() -> None:
    with light(WEBHOOK, SLOW) as rig:
        rig.queues.retention_ms = DAY
        rig.holds(1)
        rig.tick()
        deadline = last(rig).expires_at
        rig.queues.retention_ms = 4 * DAY
        rig.run(23 * 3_600 + 60)
        assert rig.told() == ["first", "expiry_near", "expiry_near"]
        assert last(rig).expires_at == deadline
        rig.holds(0)
        rig.run(900)
        rig.holds(1)
        rig.run(300)
        assert last(rig).retention_ms == 4 * DAY, "what lands now has all of it"


def test_marks_longer_than_half_the_retention_are_dropped() -> None:
    """The free plan: 24 hours."""
    with light(WEBHOOK, SLOW) as rig:
        rig.queues.retention_ms = DAY
        rig.holds(1)
        rig.run(DAY // 1000 - 600)
        marks = [facts(n).mark_ms for n in rig.told_of(Rule.DEPTH)]
        assert marks == [None, 6 * HOUR, HOUR]


def test_marks_re_arm_when_another_message_is_the_oldest() -> None:
    with light(WEBHOOK, replace(RULES, group_ms=HOUR)) as rig:
        rig.holds(2, age_ms=4 * DAY - 50 * MINUTE)
        rig.run(120)
        rig.holds(1)
        rig.run(120)
        rig.holds(1, age_ms=4 * DAY - 50 * MINUTE)
        rig.run(31)
        assert rig.told() == ["first", "expiry_near"]


# ---- S5: what became of those that left


def test_removed_by_somebody_in_time_is_said_and_resolved() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.holds(3, age_ms=HOUR)
        rig.tick()
        left(rig)
        assert rig.told() == ["first", "resolved"]
        assert "taken out elsewhere before their deadline" in rig.posted()[-1]
        (incident,) = rig.incidents()
        assert incident.resolution is Resolution.REMOVED
        (fall,) = rig.rows(FallRow)
        assert (fall.before, fall.after, fall.left, fall.removed) == (3, 0, 3, 3)


def expired(rig: LightRig, depth: int = 3) -> None:
    """They land, pass their deadline and are gone."""
    rig.queues.retention_ms = HOUR
    rig.holds(depth)
    rig.run(3_600)
    rig.holds(0)
    rig.run(120)


def test_expired_is_a_loss_and_never_called_resolved() -> None:
    with light(WEBHOOK, RULES) as rig:
        expired(rig)
        (incident,) = rig.incidents()
        assert (incident.resolution, incident.lost) == (Resolution.EXPIRED, 3)
        (lost,) = [n for n in rig.told_of(Rule.DEPTH) if n.reason is Reason.LOST]
        assert lost.mention
        assert not any("esolved" in line for line in rig.posted())
        assert "Lost" in rig.posted()[-1]
        assert "at least 3" in rig.posted()[-1]


def test_one_of_many_that_expires_while_others_land_is_told() -> None:
    """The depth never falls: the oldest timestamp moves."""
    with light(WEBHOOK, RULES) as rig:
        rig.holds(5, age_ms=4 * DAY - 5 * MINUTE)
        rig.run(330)
        rig.holds(5, age_ms=DAY)
        rig.run(60)
        assert rig.told() == ["first", "lost"]
        assert last(rig).lost == 1
        assert last(rig).depth == 5


def test_a_loss_in_a_gap_is_a_range() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.holds(4, age_ms=3 * DAY)
        rig.tick()
        rig.queues.says[QUEUE] = Sample(0, SampleKind.PARTIAL, 4, 1, None, SampleReason.AGE_UNKNOWN)
        rig.run(600)
        rig.clock.move(2 * 86_400)
        left(rig)
        (incident,) = rig.incidents()
        assert (incident.resolution, incident.lost) == (Resolution.UNKNOWN, 0)
        assert "esolved" not in rig.posted()[-1]
        assert "up to 4" in whole(rig)


def test_the_first_loss_is_told_at_once_and_the_rest_once_per_group_interval() -> None:
    with light(WEBHOOK, replace(RULES, group_ms=15 * MINUTE)) as rig:
        for depth in range(60, 0, -1):
            rig.holds(depth, age_ms=4 * DAY + depth * 1_000)
            rig.run(60)
        assert 4 <= rig.told().count("lost") <= 5
        assert last(rig).lost >= 40


def test_a_loss_passes_a_silence(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        rig.queues.retention_ms = HOUR
        quiet.silence(7_200)
        fire(rig)
        rig.run(3_600)
        assert "lost" not in rig.told()
        rig.holds(0)
        rig.run(120)
        assert rig.told() == ["lost", "resolved"]
        assert all("Lost" in line for line in rig.a.lines[-2:])


def test_an_ack_ends_with_a_loss(tmp_path: Path) -> None:
    with quietable(tmp_path) as (rig, quiet):
        rig.queues.retention_ms = HOUR
        fire(rig)
        rig.run(3_000)
        quiet.ack()
        rig.run(570)
        assert rig.incidents()[0].acked_depth == 3
        rig.holds(2, age_ms=1_800_000)
        rig.run(90)
        assert rig.told()[-1] == "lost"
        assert rig.incidents()[0].acked_depth is None


def test_a_loss_at_the_close_goes_wherever_a_word_was_confirmed(tmp_path: Path) -> None:
    """And nobody gets a "resolved" after it."""
    with quietable(tmp_path, expiry_warnings_ms=()) as (rig, _):
        rig.queues.retention_ms = HOUR
        rig.a.weather = REFUSED
        fire(rig)
        rig.run(1_800)
        rig.a.weather = "ok"
        rig.run(1_770)
        rig.holds(0)
        rig.run(600)
        for speaker in (rig.a, rig.b):
            ends = [line for line in speaker.lines if "the queue is empty" in line]
            assert ends
            assert all("Lost" in line and "esolved" not in line for line in ends)


@pytest.mark.parametrize("keep_ms", [0, MINUTE])
def test_the_retention_is_read_anew_before_a_fall_is_judged(tmp_path: Path, keep_ms: int) -> None:
    """It was cut, and Cloudflare deleted them at once: that is no removal by somebody."""
    with simulated(tmp_path, WEBHOOK, replace(RULES, keep_ms=keep_ms, audit_ms=HOUR)) as rig:
        rig.cf.land(QUEUE, 3)
        rig.run(3_900)
        rig.cf.queue(QUEUE).retention_s = 3_600
        rig.run(31)
        rig.run(120)
        (incident,) = rig.incidents()
        assert incident.resolution is not Resolution.REMOVED
        assert incident.lost == 3
        assert rig.rows(Queue)[0].retention_ms == HOUR


def test_a_fall_costs_one_more_call_not_one_each_poll(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, replace(RULES, audit_ms=HOUR)) as rig:
        rig.cf.land(QUEUE, 5)
        rig.run(61)
        rig.cf.take(QUEUE, 2)
        rig.cf.requests.clear()
        rig.run(600)
        settings = [r for r in rig.cf.requests if not r.path.endswith("/metrics")]
        assert len(settings) == 1


def test_a_restart_at_any_moment_changes_no_meaning() -> None:
    for moment in range(12):
        with light(WEBHOOK, RULES) as rig:
            rig.queues.retention_ms = 5 * MINUTE
            began = rig.clock.now()
            for number in range(16):
                here = [m for m in (0, 1, 2) if m <= number < m + 10]
                age = rig.clock.now() - began - here[0] * 30_000 if here else 0
                rig.holds(len(here), age_ms=age)
                rig.run(30)
                if number == moment:
                    rig.restart()
            (incident,) = rig.incidents()
            assert (incident.resolution, incident.lost) == (Resolution.EXPIRED, 3), moment


def test_what_left_while_it_was_down_is_noticed_and_judged() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.holds(3, age_ms=HOUR)
        rig.tick()
        rig.clock.move(2 * 3_600)
        rig.restart()
        left(rig)
        (incident,) = rig.incidents()
        assert incident.resolution is Resolution.REMOVED
    with light(WEBHOOK, RULES) as rig:
        rig.holds(3, age_ms=3 * DAY)
        rig.tick()
        rig.clock.move(3 * 86_400)
        rig.restart()
        left(rig)
        (incident,) = rig.incidents()
        assert incident.resolution is Resolution.UNKNOWN
        assert "up to 3" in whole(rig)


def test_the_real_thing_a_queue_expires_at_the_scripted_cloudflare(tmp_path: Path) -> None:
    """A bot's card and its replies say the loss, too."""
    rules = QueueRules(QUEUE, poll_ms=30_000, expiry_warnings_ms=())
    with simulated(tmp_path, BOT, rules) as rig:
        rig.cf.queue(QUEUE).retention_s = 1_800
        for _ in range(4):
            rig.cf.land(QUEUE, 2)
            rig.run(120)
        rig.run(3_600)
        (incident,) = rig.incidents()
        assert (incident.lost, incident.resolution) == (8, Resolution.EXPIRED)
        assert rig.cf.queue(QUEUE).expired == 8
        card = next(m for m in rig.messages() if not m.thread_ts)
        assert "Lost" in card.text
        assert "at least 8" in card.text
