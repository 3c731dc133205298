"""S7: what blindness leaves alone, how it ends, and what the clock does to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.daemon.polling import Poller
from dlqwatch.decide.beating import Beat, Watched, pulse
from dlqwatch.decide.inputs import RateLimited
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.facts import BlindFacts, DepthFacts
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    NoticeStatus,
    Outcome,
    QueueRules,
    Reason,
    Resolution,
    Rule,
    SampleKind,
    SampleReason,
    State,
)
from dlqwatch.rows import Alert, Meta, Notice, Span
from dlqwatch.sim.cloudflare import READ_TOKEN
from dlqwatch.sim.faults import Fault
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig, Rig, light, simulated

OTHER = "other-dlq"
OUTAGE = CloudflareError(SampleReason.SERVER_ERROR, "reading the depth: HTTP 502: HTML (ray 8f01)")


def told(rig: Rig) -> list[Reason]:
    """What people were told of blindness."""
    return [n.reason for n in rig.told_of(Rule.BLIND)]


def facts(notice: Notice) -> BlindFacts:
    assert isinstance(notice.facts, BlindFacts)
    return notice.facts


def last(rig: Rig) -> BlindFacts:
    return facts(rig.told_of(Rule.BLIND)[-1])


def text(rig: LightRig) -> str:
    """The newest message in Slack about sight, all of it."""
    sent = [p.payload for p in rig.speaker.posts if " see" in p.payload.text]
    return json.dumps([sent[-1].text, sent[-1].blocks], ensure_ascii=False)


def state(rig: Rig) -> State:
    return next(a.state for a in rig.rows(Alert) if a.rule is Rule.BLIND)


# ---- depth alerts


def test_it_neither_closes_nor_hides_an_alert_on_dead_letters() -> None:
    """Firing, then 500s for thirty minutes: not resolved, one blind alert."""
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(60)
        before = rig.alert()
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(1_800)
        assert rig.told() == ["first"]
        assert rig.alert() == before
        assert told(rig) == [Reason.FIRST]
        assert rig.incidents()[0].resolved_at is None


def test_reminders_and_marks_go_on_from_the_last_good_reading_and_say_so() -> None:
    rules = QueueRules(
        QUEUE, repeat_ms=HOUR, repeat_critical_ms=HOUR, expiry_warnings_ms=(30 * MINUTE,)
    )
    with light(WEBHOOK, rules) as rig:
        rig.queues.retention_ms = 4 * HOUR
        rig.holds(3)
        rig.run(60)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(3 * 3_600 + 2_000)
        assert rig.told() == ["first", "repeat", "severity_raised", "repeat", "expiry_near"]
        for notice in rig.told_of(Rule.DEPTH)[1:]:
            assert isinstance(notice.facts, DepthFacts)
            assert not notice.facts.seen
        assert "last seen" in rig.posted()[-1]


def test_a_block_stops_no_reminder() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, repeat_ms=10 * MINUTE)) as rig:
        rig.holds(3)
        rig.tick()
        rig.engine.submit(RateLimited(rig.clock.now() + 30 * MINUTE))
        rig.run(700)
        assert rig.told() == ["first", "repeat"]


# ---- sight returns


def test_the_end_says_how_long_and_what_was_found() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.holds(0)
        rig.run(60)
        rig.queues.says = dict.fromkeys((QUEUE, OTHER), OUTAGE)
        rig.run(3_600)
        rig.holds(7)
        rig.holds(0, OTHER)
        rig.run(60)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]
        assert {(f.name, f.depth, f.before) for f in last(rig).found} == {
            (QUEUE, 7, 0),
            (OTHER, 0, 0),
        }
        (incident,) = rig.incidents(Rule.BLIND)
        assert incident.resolution is Resolution.CLEARED
        said = text(rig)
        assert "can see again" in said
        assert "1 h" in said
        assert "7 dead letters" in said
        assert "esolved" not in said
        assert rig.told() == ["first"], "and what landed meanwhile is an alert of its own"


def test_it_is_not_over_before_every_queue_is_seen_again() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(60)
        rig.queues.says = dict.fromkeys((QUEUE, OTHER), OUTAGE)
        rig.run(400)
        rig.holds(0)
        rig.run(600)
        assert told(rig) == [Reason.FIRST]
        rig.holds(0, OTHER)
        rig.run(60)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_a_partial_reading_is_sight() -> None:
    with light(WEBHOOK) as rig:
        rig.run(60)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(400)
        rig.holds(2)
        sample = rig.queues.says[QUEUE]
        assert not isinstance(sample, CloudflareError)
        rig.queues.says[QUEUE] = replace(sample, kind=SampleKind.PARTIAL, oldest_at=None)
        rig.run(31)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_a_queue_that_leaves_the_configuration_blinds_nobody() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(60)
        rig.queues.says[OTHER] = OUTAGE
        rig.run(400)
        assert told(rig) == [Reason.FIRST]
        rig.restart(plan=replace(rig.plan, queues={QUEUE: QueueRules(QUEUE)}))
        rig.run(60)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]
        said = rig.speaker.posts[-1].payload.text
        assert "no longer looks for what it could not see" in said
        assert OTHER in said


def test_a_restart_while_blind_says_nothing_twice_and_forgets_nothing() -> None:
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(60)
        seen_at = rig.clock.now()
        rig.queues.says[QUEUE] = OUTAGE
        for _ in range(30):
            rig.run(30)
            rig.restart()
        assert told(rig) == [], "no process has looked for five minutes"
        rig.run(330)
        assert told(rig) == [Reason.FIRST]
        for _ in range(30):
            rig.run(30)
            rig.restart()
        assert told(rig) == [Reason.FIRST]
        assert last(rig).unseen[0].last_depth == 3
        rig.holds(3)
        rig.run(31)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]
        assert last(rig).found[0].before == 3
        assert last(rig).unseen[0].since == seen_at, "a restart is no sight"


def test_over_before_the_first_word_got_out_is_one_message() -> None:
    with light(WEBHOOK) as rig:
        rig.run(60)
        rig.speaker.weather = Answer(Outcome.TEMPORARY, "http 500")
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(600)
        rig.holds(0)
        rig.run(60)
        rig.speaker.weather = "ok"
        rig.run(300)
        assert told(rig) == [Reason.FIRST_AND_RESOLVED]


# ---- the clock


@pytest.mark.parametrize("step", [-3_600, -10 * 365 * 86_400])
def test_a_clock_that_goes_back_puts_blindness_off_by_nothing(step: int) -> None:
    for known in (True, False):
        with light(WEBHOOK) as rig:
            if known:
                rig.run(31)
            rig.queues.says[QUEUE] = OUTAGE
            rig.run(60)
            rig.clock.step(step)
            rig.run(300)
            assert told(rig) == [Reason.FIRST]
            assert last(rig).unseen[0].since <= rig.clock.now()
            rig.clock.step(step)
            rig.run(31)
            (incident,) = rig.incidents(Rule.BLIND)
            shown = incident.facts
            assert isinstance(shown, BlindFacts)
            assert shown.unseen[0].since <= rig.clock.now()


def test_a_clock_that_leaps_ahead_is_no_blindness_while_all_is_read() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(60)
        rig.clock.step(10 * 365 * 86_400)
        rig.run(60)
        assert told(rig) == []


# ---- a token that is made anew


def test_a_new_token_in_its_file_is_tried_at_the_next_poll(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("rolled-0123456789", encoding="utf-8")
    with simulated(tmp_path, BOT) as rig:
        assert isinstance(rig.queues, Cloudflare)
        cloudflare = Cloudflare(
            base_url=rig.cf.base_url,
            account_id=rig.cf.account_id,
            token=lambda: secret.read_text(encoding="utf-8").strip(),
            timeout_s=5.0,
            clock=rig.clock,
            http=rig.queues._http,
        )
        rules = rig.plan.queues[QUEUE]
        rig.pollers = {QUEUE: Poller(rig.engine, cloudflare, rules, rig.clock, 5.0)}
        rig.run(61)
        assert told(rig) == [Reason.FIRST]
        secret.write_text(READ_TOKEN, encoding="utf-8")
        rig.run(30)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_started_at_goes_back_with_the_clock() -> None:
    with light(WEBHOOK) as rig:
        began = next(m for m in rig.rows(Meta) if m.name == "started_at")
        rig.clock.step(-3_600)
        rig.tick()
        now = next(m for m in rig.rows(Meta) if m.name == "started_at")
        assert int(now.value) == int(began.value) - 3_600 * SECOND


def test_cloudflares_own_words_are_in_the_alert(tmp_path: Path) -> None:
    """HTTP 200 with `success: false` is a failure, and says why."""
    with simulated(tmp_path, WEBHOOK) as rig:
        rig.tick()
        words = "workers.api.error.queues_unavailable"
        refusal = {"success": False, "errors": [{"code": 10013, "message": words}], "result": None}
        rig.cf.fail(Fault.json(refusal))
        rig.run(330)
        assert told(rig) == [Reason.FIRST]
        assert words in last(rig).unseen[0].detail
        assert any(words in json.dumps(m.blocks) for m in rig.slack.messages())


# ---- what comes back, and what was seen when


def test_a_queue_that_goes_blind_again_within_one_alert_is_news_again() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.holds(3)
        rig.run(61)
        rig.queues.says[OTHER] = OUTAGE
        rig.run(400)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(1200)
        assert told(rig) == [Reason.FIRST, Reason.GROWN]
        rig.holds(3)
        rig.run(3600)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(1200)
        assert told(rig) == [Reason.FIRST, Reason.GROWN, Reason.GROWN]


def test_a_second_queue_whose_message_was_lost_stays_news() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(61)
        rig.queues.says[OTHER] = OUTAGE
        rig.run(400)
        assert told(rig) == [Reason.FIRST]
        rig.speaker.script.append("lost")
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(1200)
        assert len(rig.attempts()) == 2
        rig.run(1200)
        grown = [n.status for n in rig.told_of(Rule.BLIND) if n.reason is Reason.GROWN]
        assert grown == [NoticeStatus.DELIVERED]


def test_when_one_queue_returns_as_another_goes_only_the_other_is_out_of_sight() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(61)
        rig.queues.says[OTHER] = OUTAGE
        rig.run(400)
        rig.queues.says[QUEUE] = OUTAGE
        rig.poll(QUEUE)
        rig.holds(0, OTHER)
        rig.poll(OTHER)
        (incident,) = (i for i in rig.incidents(Rule.BLIND) if i.resolved_at is None)
        assert isinstance(incident.facts, BlindFacts)
        assert [u.name for u in incident.facts.unseen] == [QUEUE]


@pytest.mark.parametrize("name", ["two words-dlq", "<!channel> @here & *x*"])
def test_a_queue_with_an_odd_name_is_told_as_blind_once(name: str) -> None:
    with light(WEBHOOK, QueueRules(name)) as rig:
        rig.holds(0, name)
        rig.run(61)
        rig.queues.says[name] = OUTAGE
        rig.run(3 * 3600)
        assert told(rig) == [Reason.FIRST]


def test_last_seen_is_the_last_good_reading_and_not_the_last_change() -> None:
    rules = QueueRules(QUEUE, poll_ms=5 * MINUTE, blind_after_ms=HOUR)
    with light(WEBHOOK, rules) as rig:
        rig.holds(3)
        rig.run(2.9 * 86_400)
        seen_at = rig.rows(Span)[-1].last_at
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(6 * 3600)
        mark = rig.told_of(Rule.DEPTH)[-1]
        assert mark.reason is Reason.EXPIRY_NEAR
        assert isinstance(mark.facts, DepthFacts)
        assert (mark.facts.seen, mark.facts.at) == (False, seen_at)


def test_not_seen_since_counts_the_time_in_which_dlqwatch_was_down() -> None:
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(61)
        seen_at = rig.rows(Span)[-1].last_at
        rig.clock.move(3 * 3600)
        rig.restart()
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(240)
        assert told(rig) == [], "this process has not looked for five minutes"
        rig.run(120)
        assert last(rig).unseen[0].since == seen_at


@pytest.mark.parametrize("step", [-3600, -1e8, 1e8])
def test_a_clock_that_was_set_while_blind_does_not_put_off_the_end(step: float) -> None:
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(61)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(400)
        rig.clock.step(step)
        rig.run(31)
        rig.holds(3)
        rig.run(61)
        assert told(rig)[-1] is Reason.RESOLVED


def meet_block(rig: LightRig, queue: str) -> None:
    """At this queue's poll, Cloudflare asks to wait for half an hour."""
    until = rig.clock.now() + 30 * MINUTE
    rig.queues.says[queue] = CloudflareError(SampleReason.RATE_LIMITED, "HTTP 429", retry_at=until)
    rig.poll(queue)


def test_a_block_that_is_over_is_no_reading() -> None:
    """The queue that never met it itself must be read before all is seen again."""
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.holds(3)
        rig.run(61)
        meet_block(rig, QUEUE)
        rig.holds(3)
        rig.queues.says[OTHER] = OUTAGE
        rig.run(3600)
        assert told(rig)[0] is Reason.FIRST
        assert Reason.RESOLVED not in told(rig)
        assert told(rig).count(Reason.GROWN) <= 1, "it is told again for the other cause alone"


def test_marks_during_a_block_say_last_seen_of_every_queue() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.holds(3, QUEUE, age_ms=3 * DAY - 6 * MINUTE)
        rig.run(61)
        meet_block(rig, OTHER)
        rig.run(900)
        mark = rig.told_of(Rule.DEPTH)[-1]
        assert mark.reason is Reason.EXPIRY_NEAR
        assert isinstance(mark.facts, DepthFacts)
        assert not mark.facts.seen


def test_what_was_seen_before_a_queue_was_missing_is_not_forgotten() -> None:
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(3600)
        rig.queues.says[QUEUE] = CloudflareError(SampleReason.QUEUE_GONE, "Queue not found")
        rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, (), 3)
        rig.run(61)
        rig.queues.ids[QUEUE] = OUTAGE
        rig.run(600)
        assert last(rig).unseen[0].last_depth == 3


def test_the_heartbeat_waits_until_people_know_of_the_second_queue_too() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(61)
        rig.queues.says[OTHER] = OUTAGE
        rig.run(400)
        rig.queues.says[QUEUE] = OUTAGE
        beats = []
        for minute in range(1, 26):
            rig.run(60)
            watched = [Watched(QUEUE, 1.0, 60.0 * minute), Watched(OTHER, 1.0, 1e4)]
            known = len(told(rig)) > 1
            beats.append((pulse(rig.world, watched, rig.clock.now()).beat, known))
        assert all(beat is Beat.ALIVE for beat, known in beats if known)
        assert (Beat.NOTHING, False) in beats
        assert beats[-1] == (Beat.ALIVE, True)
