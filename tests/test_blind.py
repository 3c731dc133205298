"""S7: dlqwatch can't see. One alert says so, and no alert on dead letters is touched by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlqwatch.decide.inputs import RateLimited
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.facts import BlindFacts
from dlqwatch.model import (
    MINUTE,
    QueueRules,
    Reason,
    Rule,
    SampleReason,
    Severity,
    State,
)
from dlqwatch.rows import Alert, Notice
from dlqwatch.sim.faults import Fault
from tests.fakes import UNREACHABLE
from tests.rig import QUEUE, WEBHOOK, LightRig, Rig, light, simulated

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


def test_two_different_refusals_in_a_row_are_two() -> None:
    gone = CloudflareError(SampleReason.BAD_ACCOUNT, "HTTP 404, code 7003: No route")
    with light(WEBHOOK) as rig:
        rig.holds(0)
        rig.tick()
        for error in (REFUSED, gone):
            assert told(rig) == []
            rig.queues.says[QUEUE] = error
            rig.run(30)
        assert told(rig) == [Reason.FIRST]
        assert last(rig).needs_person


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
