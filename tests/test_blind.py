"""S7: dlqwatch can't see. One alert says so, and no alert on dead letters is touched by it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.daemon.polling import Poller
from dlqwatch.decide.inputs import RateLimited
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.facts import BlindFacts, DepthFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    Outcome,
    QueueRules,
    Reason,
    Resolution,
    Rule,
    SampleKind,
    SampleReason,
    Severity,
    State,
)
from dlqwatch.rows import Alert, Meta, Notice
from dlqwatch.sim.cloudflare import READ_TOKEN
from dlqwatch.sim.faults import Fault
from tests.fakes import UNREACHABLE
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig, Rig, light, simulated

OTHER = "other-dlq"
REFUSED = CloudflareError(
    SampleReason.BAD_TOKEN, "reading the depth: HTTP 403, code 10000: Authentication error (ray 8f)"
)
OUTAGE = CloudflareError(SampleReason.SERVER_ERROR, "reading the depth: HTTP 502: HTML (ray 8f01)")
BLOCK = CloudflareError(SampleReason.RATE_LIMITED, "HTTP 429, code 971: More than 1200 requests")
GONE = CloudflareError(SampleReason.QUEUE_GONE, "HTTP 404, code 10104: Queue not found")


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


# ---- when


def test_an_outage_is_told_after_blind_after_and_not_before() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, blind_after_ms=5 * MINUTE)) as rig:
        rig.holds(0)
        rig.run(60)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(240)
        assert told(rig) == []
        rig.run(60)
        assert told(rig) == [Reason.FIRST]
        assert last(rig).severity is Severity.WARNING
        assert not last(rig).needs_person


def test_a_token_that_was_never_good_is_told_though_nothing_was_ever_seen() -> None:
    """A monitor that never saw data must alert all the same."""
    with light(WEBHOOK) as rig:
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.run(330)
        assert told(rig) == [Reason.FIRST]
        (unseen,) = last(rig).unseen
        assert unseen.last_depth is None
        assert "never read" in text(rig)


def test_a_start_is_no_blindness() -> None:
    """The database knows of a good reading of long ago: that alone is no trouble."""
    with light(WEBHOOK) as rig:
        rig.holds(0)
        rig.run(60)
        rig.clock.move(8 * 3_600)
        rig.restart()
        rig.run(60)
        assert told(rig) == []
        rig.queues.says[QUEUE] = OUTAGE
        rig.clock.move(8 * 3_600)
        rig.restart()
        rig.run(240)
        assert told(rig) == []
        rig.run(60)
        assert told(rig) == [Reason.FIRST]


@pytest.mark.parametrize(
    "error",
    [REFUSED, CloudflareError(SampleReason.BAD_ACCOUNT, "HTTP 404, code 7003: No route")],
)
def test_what_only_a_person_cures_is_told_at_the_second_refusal(error: CloudflareError) -> None:
    with light(WEBHOOK) as rig:
        rig.holds(0)
        rig.tick()
        rig.queues.says[QUEUE] = error
        rig.run(31)
        assert told(rig) == []
        rig.run(30)
        assert told(rig) == [Reason.FIRST]
        assert last(rig).severity is Severity.CRITICAL
        assert last(rig).needs_person
        assert rig.told_of(Rule.BLIND)[0].mention


def test_one_refusal_among_others_needs_no_person() -> None:
    """Cloudflare's own authorization flaps in its outages."""
    with light(WEBHOOK) as rig:
        rig.holds(0)
        rig.tick()
        for _ in range(6):
            for error in (OUTAGE, REFUSED):
                rig.queues.says[QUEUE] = error
                rig.run(30)
        assert told(rig) == [Reason.FIRST]
        assert last(rig).severity is Severity.WARNING


def test_html_in_place_of_a_refusal_is_an_outage(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK) as rig:
        rig.tick()
        rig.cf.fail(Fault.html(403))
        rig.run(240)
        assert told(rig) == []
        rig.run(90)
        assert told(rig) == [Reason.FIRST]
        assert last(rig).unseen[0].reason is SampleReason.NOT_JSON
        assert not last(rig).needs_person


def test_it_becomes_critical_after_six_hours() -> None:
    with light(WEBHOOK) as rig:
        rig.holds(0)
        rig.tick()
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(5 * 3_600)
        assert told(rig) == [Reason.FIRST]
        rig.run(2 * 3_600)
        assert told(rig) == [Reason.FIRST, Reason.SEVERITY_RAISED]
        assert last(rig).severity is Severity.CRITICAL


def test_a_queue_that_metrics_deny_and_the_list_has_is_unseen() -> None:
    with light(WEBHOOK) as rig:
        rig.holds(0)
        rig.tick()
        rig.queues.says[QUEUE] = GONE
        rig.run(330)
        assert told(rig) == [Reason.FIRST]


def test_a_queue_that_the_list_does_not_have_is_not_blindness() -> None:
    with light(WEBHOOK) as rig:
        rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, (), 3)
        rig.run(1_200)
        assert told(rig) == []
        assert state(rig) is not State.FIRING
        assert [n.reason for n in rig.told_of(Rule.WIRING)] == [Reason.FIRST]


def test_a_blip_while_a_queue_is_missing_is_not_blindness_since_then() -> None:
    with light(WEBHOOK) as rig:
        rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, (), 3)
        rig.run(3_600)
        rig.queues.ids[QUEUE] = UNREACHABLE
        rig.run(240)
        assert told(rig) == []
        rig.run(90)
        assert told(rig) == [Reason.FIRST]


# ---- Cloudflare's block


def test_a_block_stops_every_request_and_is_told_at_its_time(tmp_path: Path) -> None:
    """No request for 300 s, blind at its time, polling resumes."""
    with simulated(tmp_path, WEBHOOK) as rig:
        rig.run(31)
        rig.cf.fail(Fault.rate_limited(300), times=1)
        rig.run(30)
        asked = len(rig.cf.requests)
        rig.audit()
        rig.run(230)
        assert told(rig) == []
        rig.run(40)
        assert told(rig) == [Reason.FIRST]
        assert last(rig).unseen[0].reason is SampleReason.RATE_LIMITED
        assert len(rig.cf.requests) == asked
        rig.run(60)
        assert len(rig.cf.requests) > asked
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_a_block_that_an_audit_meets_stops_the_polls_too(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK) as rig:
        rig.tick()
        rig.cf.fail(Fault.rate_limited(300), times=1)
        rig.audit()
        asked = len(rig.cf.requests)
        rig.run(290)
        assert len(rig.cf.requests) == asked


def test_a_block_blinds_the_queues_that_never_met_it() -> None:
    """It is the account's: none of them is asked for."""
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(31)
        rig.queues.says[QUEUE] = BLOCK
        rig.poll(QUEUE)
        rig.engine.submit(RateLimited(rig.clock.now() + 20 * MINUTE))
        rig.run(330)
        assert {u.name for u in last(rig).unseen} == {QUEUE, OTHER}
        assert all(u.detail == BLOCK.what for u in last(rig).unseen)


# ---- one alert for all, and what it says


def test_one_alert_names_all_queues_with_cause_and_what_was_last_seen() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.holds(3)
        rig.holds(0, OTHER)
        rig.run(60)
        rig.queues.says = {QUEUE: OUTAGE, OTHER: UNREACHABLE}
        since = rig.clock.now()
        rig.run(330)
        assert len(rig.incidents(Rule.BLIND)) == 1
        unseen = {u.name: u for u in last(rig).unseen}
        assert unseen[QUEUE].last_depth == 3
        assert unseen[OTHER].last_depth == 0
        assert all(abs(u.since - since) <= 31_000 for u in unseen.values())
        said = text(rig)
        for words in (
            QUEUE,
            OTHER,
            "last seen with 3 dead letters",
            "last seen empty",
            "HTTP 502: HTML (ray 8f01)",
            "no way to Cloudflare",
        ):
            assert words in said


def test_a_refusal_says_both_causes_and_to_run_check_before_rolling_the_token() -> None:
    with light(WEBHOOK) as rig:
        rig.queues.says[QUEUE] = REFUSED
        rig.run(61)
        said = text(rig)
        for words in ("bad or lacks the permission Queues Read", "dlqwatch check", "code 10000"):
            assert words in said


def test_sixty_queues_are_one_message() -> None:
    rules = [QueueRules(f"queue-{n:02}-dlq", poll_ms=2 * MINUTE) for n in range(60)]
    with light(WEBHOOK, *rules) as rig:
        rig.run(60)
        for rule in rules:
            rig.queues.says[rule.name] = OUTAGE
        rig.run(720)
        assert told(rig) == [Reason.FIRST]
        assert len(last(rig).unseen) == 60
        assert len(rig.speaker.posts[-1].payload.text) <= 3_000


def test_another_queue_or_another_cure_is_news_once_a_ray_id_is_not() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.run(60)
        rig.queues.says[QUEUE] = OUTAGE
        rig.run(400)
        rev = rig.incidents(Rule.BLIND)[0].rev
        rig.queues.says[QUEUE] = CloudflareError(OUTAGE.reason, "HTTP 502: HTML (ray 8f02)")
        rig.run(1_200)
        assert told(rig) == [Reason.FIRST]
        assert rig.incidents(Rule.BLIND)[0].rev == rev, "no edit either"
        rig.queues.says[OTHER] = OUTAGE
        rig.run(400)
        assert told(rig) == [Reason.FIRST, Reason.GROWN]
        for error in (UNREACHABLE, OUTAGE) * 10:
            rig.queues.says[OTHER] = error
            rig.run(300)
        assert told(rig) == [Reason.FIRST, Reason.GROWN, Reason.GROWN]


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


def test_a_restart_while_blind_says_nothing_twice_and_forgets_nothing() -> None:
    with light(WEBHOOK) as rig:
        rig.holds(3)
        rig.run(60)
        since = rig.clock.now()
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
        assert since < last(rig).unseen[0].since


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
