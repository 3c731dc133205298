"""S6, S13: the wiring. What is, what should be, and how to put it right."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.daemon.auditing import Auditor, Look
from dlqwatch.decide.deviations import deviations, judged
from dlqwatch.decide.inputs import Audited
from dlqwatch.decide.reading import Audit, Consumer, QueueSettings
from dlqwatch.errors import QueueNotListed
from dlqwatch.facts import WiringFacts
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    DeviationKind,
    QueueRules,
    Reason,
    Resolution,
    Rule,
    Severity,
    State,
)
from dlqwatch.rows import Alert, Kept, Queue
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.queues import worker_consumer
from tests.rig import QUEUE, WEBHOOK, LightRig, Rig, SimRig, light, simulated

SOURCE = "nemo12-events"
RULES = QueueRules(QUEUE, source=SOURCE)
NOW = 1_794_000_000_000
GOOD = Consumer("nemo12-api", "worker", QUEUE, 5)
DLQ = QueueSettings(QUEUE, 4 * DAY, False, (), ())
SOURCED = QueueSettings(SOURCE, 4 * DAY, False, (GOOD,), ())
FINE = Audit(
    queue=DLQ,
    source=SOURCED,
    backlog_read=True,
    of_us=True,
    token_read=True,
    clock_off_ms=0,
)
KIND = DeviationKind


def found(audit: Audit, rules: QueueRules = RULES, queue: Queue | None = None) -> dict[KIND, str]:
    """What deviates, and how it is."""
    known = queue or Queue(1, QUEUE, NOW, retentions=(Kept(NOW, 4 * DAY),))
    return {d.kind: d.is_ for d in deviations(audit, known, rules, NOW)}


def consumed(**change: object) -> Audit:
    """The source's consumer is otherwise."""
    return replace(FINE, source=replace(SOURCED, consumers=(replace(GOOD, **change),)))  # type: ignore[arg-type]


# ---- each kind


def test_as_it_should_be_nothing_deviates() -> None:
    assert found(FINE) == {}


WRONG: dict[KIND, tuple[Audit, str]] = {
    KIND.NO_SOURCE: (
        replace(FINE, source=None, source_missing=True, source_nearest=("nemo12-event",)),
        "none; like it: nemo12-event",
    ),
    KIND.NO_CONSUMER: (replace(FINE, source=replace(SOURCED, consumers=())), "none"),
    KIND.NO_DEAD_LETTER_QUEUE: (consumed(dead_letter_queue=""), "none"),
    KIND.OTHER_DEAD_LETTER_QUEUE: (
        consumed(dead_letter_queue="nemo12-event-dlq"),
        "nemo12-event-dlq",
    ),
    KIND.MAX_RETRIES: (consumed(max_retries=3), "3"),
    KIND.PAUSED: (replace(FINE, source=replace(SOURCED, delivery_paused=True)), "paused"),
    KIND.SOURCE_OLD: (replace(FINE, source_oldest_at=NOW - 150 * MINUTE), "over 2h old"),
    KIND.UNEXPECTED_CONSUMER: (replace(FINE, queue=replace(DLQ, consumers=(GOOD,))), "nemo12-api"),
    KIND.RETENTION_CUT: (replace(FINE, queue=replace(DLQ, retention_ms=DAY)), "1d"),
    KIND.TOKEN_ENDS: (replace(FINE, token_ends_at=NOW + 13 * DAY + HOUR), "in 13 d"),
    KIND.CLOCK_OFF: (replace(FINE, clock_off_ms=-60 * SECOND), "over 1m behind"),
}


@pytest.mark.parametrize("kind", WRONG, ids=[kind.value for kind in WRONG])
def test_each_deviation_says_what_is_what_should_be_and_the_cure(kind: KIND) -> None:
    audit, is_ = WRONG[kind]
    (one,) = deviations(audit, Queue(1, QUEUE, NOW, retentions=(Kept(NOW, 4 * DAY),)), RULES, NOW)
    assert (one.kind, one.is_) == (kind, is_)
    assert one.expected
    assert one.cure
    assert kind in judged(audit, RULES)


def test_a_retention_of_fewer_than_four_polls_cannot_be_kept() -> None:
    short = replace(FINE, queue=replace(DLQ, retention_ms=60 * SECOND))
    log = Queue(1, QUEUE, NOW, retentions=(Kept(NOW, 60 * SECOND),))
    assert found(short, queue=log) == {KIND.RETENTION_SHORT: "1m"}
    assert found(short, replace(RULES, poll_ms=15 * SECOND), log) == {}


def test_every_kind_but_the_missing_queue_has_a_case_here() -> None:
    assert {*WRONG, KIND.RETENTION_SHORT, KIND.QUEUE_MISSING} == set(KIND)


GRAVE = {
    KIND.NO_DEAD_LETTER_QUEUE,
    KIND.OTHER_DEAD_LETTER_QUEUE,
    KIND.UNEXPECTED_CONSUMER,
    KIND.RETENTION_CUT,
}


@pytest.mark.parametrize("kind", WRONG, ids=[kind.value for kind in WRONG])
def test_it_is_critical_where_messages_are_deleted_unseen(kind: KIND) -> None:
    (one,) = deviations(
        WRONG[kind][0], Queue(1, QUEUE, NOW, retentions=(Kept(NOW, 4 * DAY),)), RULES, NOW
    )
    assert one.critical is (kind in GRAVE)


@pytest.mark.parametrize("unset", ["", None])
def test_a_consumer_without_a_dead_letter_queue_is_one_however_cloudflare_says_so(
    unset: str | None,
) -> None:
    """An empty text, null, or no such key at all."""
    assert KIND.NO_DEAD_LETTER_QUEUE in found(consumed(dead_letter_queue=unset))


def test_a_name_must_be_the_same_to_the_letter() -> None:
    assert KIND.OTHER_DEAD_LETTER_QUEUE in found(consumed(dead_letter_queue=QUEUE.upper()))


def test_several_at_once_are_all_told() -> None:
    both = consumed(dead_letter_queue="x", max_retries=1)
    wrong = replace(both, queue=replace(DLQ, retention_ms=HOUR), clock_off_ms=2 * HOUR)
    assert set(found(wrong)) == {
        KIND.OTHER_DEAD_LETTER_QUEUE,
        KIND.MAX_RETRIES,
        KIND.RETENTION_CUT,
        KIND.CLOCK_OFF,
    }


def test_one_of_two_consumers_that_leads_elsewhere_is_seen() -> None:
    stray = replace(GOOD, script="old-api", dead_letter_queue="")
    audit = replace(FINE, source=replace(SOURCED, consumers=(GOOD, stray)))
    assert KIND.NO_DEAD_LETTER_QUEUE in found(audit)


# ---- what the configuration expects


def test_a_consumer_that_is_expected_is_none_of_our_business() -> None:
    audit = WRONG[KIND.UNEXPECTED_CONSUMER][0]
    assert found(audit, replace(RULES, may_have_consumer=True)) == {}


def test_the_configured_retention_is_the_least_that_is_right() -> None:
    day = replace(FINE, queue=replace(DLQ, retention_ms=DAY))
    assert found(day, replace(RULES, retention_ms=DAY)) == {}
    assert found(FINE, replace(RULES, retention_ms=7 * DAY)) == {KIND.RETENTION_CUT: "4d"}


def test_without_one_it_is_no_less_than_was_seen_before() -> None:
    day = replace(FINE, queue=replace(DLQ, retention_ms=DAY))
    fresh = Queue(1, QUEUE, NOW, retentions=(Kept(NOW, DAY),))
    assert found(day, queue=fresh) == {}
    raised = Queue(1, QUEUE, NOW, retentions=(Kept(NOW, DAY), Kept(NOW + 1, 4 * DAY)))
    assert found(day, queue=raised) == {KIND.RETENTION_CUT: "1d"}


def test_without_a_source_nothing_is_said_of_one() -> None:
    alone = replace(RULES, source="")
    assert found(replace(FINE, source=None, backlog_read=False), alone) == {}
    assert KIND.NO_CONSUMER in judged(replace(FINE, source=None), alone)


@pytest.mark.parametrize(
    ("margin", "wrong"), [(14 * DAY, False), (14 * DAY - 1, True), (0, True), (-DAY, True)]
)
def test_a_token_has_fourteen_days(margin: int, wrong: bool) -> None:
    assert bool(found(replace(FINE, token_ends_at=NOW + margin))) is wrong


@pytest.mark.parametrize(("off", "wrong"), [(59_999, False), (60_000, True), (-60_000, True)])
def test_a_clock_may_be_a_minute_off(off: int, wrong: bool) -> None:
    assert bool(found(replace(FINE, clock_off_ms=off))) is wrong


def test_the_source_may_hold_messages_for_source_max_age() -> None:
    young = replace(FINE, source_oldest_at=NOW - HOUR)
    assert found(young) == {}
    assert found(young, replace(RULES, source_max_age_ms=HOUR - 1)) != {}


# ---- what can't be read says nothing

UNREAD: dict[str, tuple[Audit, set[KIND]]] = {
    "the queue": (replace(FINE, queue=None), {KIND.UNEXPECTED_CONSUMER, KIND.RETENTION_CUT}),
    "the source": (
        replace(FINE, source=None, backlog_read=False),
        {KIND.NO_SOURCE, KIND.OTHER_DEAD_LETTER_QUEUE, KIND.PAUSED, KIND.SOURCE_OLD},
    ),
    "the source's backlog": (replace(FINE, backlog_read=False), {KIND.SOURCE_OLD}),
    "its consumers": (
        replace(FINE, source=replace(SOURCED, consumers=None)),
        {KIND.NO_CONSUMER, KIND.NO_DEAD_LETTER_QUEUE, KIND.OTHER_DEAD_LETTER_QUEUE},
    ),
    "its retries": (consumed(max_retries=None), {KIND.MAX_RETRIES}),
    "the token": (replace(FINE, token_read=False), {KIND.TOKEN_ENDS}),
    "the time": (replace(FINE, clock_off_ms=None), {KIND.CLOCK_OFF}),
}


@pytest.mark.parametrize(("audit", "unknown"), UNREAD.values(), ids=UNREAD.keys())
def test_a_part_that_was_not_read_is_neither_right_nor_wrong(
    audit: Audit, unknown: set[KIND]
) -> None:
    assert found(audit) == {}
    assert not unknown & judged(audit, RULES)


# ---- the alert


def told(rig: Rig) -> list[Reason]:
    return [n.reason for n in rig.told_of(Rule.WIRING)]


def kinds(rig: Rig) -> list[KIND]:
    """What the last message listed."""
    facts = rig.told_of(Rule.WIRING)[-1].facts
    assert isinstance(facts, WiringFacts)
    return [d.kind for d in facts.deviations]


def audit(rig: LightRig, *audits: Audit) -> None:
    """Audits at their interval, and what is told of them."""
    for one in audits:
        rig.engine.submit(Audited(QUEUE, one))
        rig.settle()
        rig.run(300)


def state(rig: Rig) -> State:
    return next(a.state for a in rig.rows(Alert) if a.rule is Rule.WIRING)


MISSPELT = WRONG[KIND.OTHER_DEAD_LETTER_QUEUE][0]
RETRIES = WRONG[KIND.MAX_RETRIES][0]
NOTHING = Audit(of_us=True)


def test_two_audits_in_a_row_make_one_alert() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, MISSPELT)
        assert told(rig) == []
        audit(rig, FINE, MISSPELT)
        assert told(rig) == []
        audit(rig, MISSPELT)
        assert told(rig) == [Reason.FIRST]
        assert rig.told_of(Rule.WIRING)[0].severity is Severity.CRITICAL


def test_what_is_less_grave_is_a_warning() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, RETRIES, RETRIES)
        assert rig.told_of(Rule.WIRING)[0].severity is Severity.WARNING
        audit(rig, MISSPELT, MISSPELT)
        assert told(rig) == [Reason.FIRST, Reason.SEVERITY_RAISED]


def test_one_message_lists_all_with_is_expected_and_cure() -> None:
    with light(WEBHOOK, RULES) as rig:
        wrong = consumed(dead_letter_queue="nemo12-event-dlq", max_retries=3)
        audit(rig, wrong, wrong)
        payload = rig.speaker.posts[-1].payload
        said = json.dumps([payload.text, payload.blocks])
        for words in (
            "nemo12-event-dlq",
            QUEUE,
            "expected",
            "dead_letter_queue",
            "wrangler",
            "max_retries",
        ):
            assert words in said


def test_a_deviation_not_told_yet_is_told_after_group_interval() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, RETRIES, RETRIES)
        paused = replace(RETRIES, source=replace(RETRIES.source or SOURCED, delivery_paused=True))
        audit(rig, paused, paused, paused, paused)
        assert told(rig) == [Reason.FIRST, Reason.GROWN]
        assert set(kinds(rig)) == {KIND.MAX_RETRIES, KIND.PAUSED}
        audit(rig, *[RETRIES, paused] * 4, *[paused] * 4)
        assert told(rig) == [Reason.FIRST, Reason.GROWN], "told already"


def test_when_all_is_right_again_it_is_resolved_at_once() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, MISSPELT, MISSPELT, FINE)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]
        assert "put right" in rig.posted()[-1]
        (incident,) = rig.incidents(Rule.WIRING)
        assert incident.resolution is Resolution.CLEARED


def test_an_audit_that_fails_changes_nothing() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, NOTHING)
        audit(rig, MISSPELT, NOTHING, MISSPELT)
        assert told(rig) == [Reason.FIRST], "two audits that could tell, in a row"
        audit(rig, *[NOTHING] * 20)
        assert told(rig) == [Reason.FIRST]
        assert state(rig) is State.FIRING
        assert kinds(rig) == [KIND.OTHER_DEAD_LETTER_QUEUE]


def test_what_can_not_be_read_now_stays_and_the_rest_goes() -> None:
    with light(WEBHOOK, RULES) as rig:
        soon = replace(RETRIES, token_ends_at=NOW + 5 * DAY)
        audit(rig, soon, soon)
        unread = replace(FINE, token_read=False)
        audit(rig, *[unread] * 3)
        (incident,) = rig.incidents(Rule.WIRING)
        assert isinstance(incident.facts, WiringFacts)
        assert [d.kind for d in incident.facts.deviations] == [KIND.TOKEN_ENDS]
        assert told(rig) == [Reason.FIRST]


def test_a_token_that_can_never_be_verified_keeps_no_alert_open() -> None:
    """Some good tokens are unknown to both addresses."""
    with light(WEBHOOK, RULES) as rig:
        unread = replace(RETRIES, token_read=False)
        audit(rig, unread, unread, replace(FINE, token_read=False))
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_an_age_that_grows_is_no_news_at_each_audit() -> None:
    with light(WEBHOOK, RULES) as rig:
        began = rig.clock.now()
        old = replace(FINE, source_oldest_at=began - 61 * MINUTE)
        audit(rig, *[old] * 11)
        assert told(rig) == [Reason.FIRST]
        assert rig.incidents(Rule.WIRING)[0].rev <= 3


def test_reminders_come_by_time() -> None:
    with light(WEBHOOK, replace(RULES, repeat_critical_ms=HOUR)) as rig:
        audit(rig, MISSPELT, MISSPELT)
        rig.run(3_700)
        assert told(rig) == [Reason.FIRST, Reason.REPEAT]


def test_a_restart_forgets_nothing_and_says_nothing_twice() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, MISSPELT)
        rig.restart()
        audit(rig, MISSPELT)
        rig.restart()
        audit(rig, MISSPELT)
        assert told(rig) == [Reason.FIRST]
        rig.restart()
        audit(rig, FINE)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_a_queue_that_leaves_the_configuration_takes_its_alert_along() -> None:
    with light(WEBHOOK, RULES, QueueRules("other-dlq")) as rig:
        audit(rig, MISSPELT, MISSPELT)
        rig.restart(plan=replace(rig.plan, queues={"other-dlq": QueueRules("other-dlq")}))
        rig.run(60)
        (incident,) = rig.incidents(Rule.WIRING)
        assert incident.resolution is Resolution.UNWATCHED
        assert "No longer watched" in rig.posted()[-1]


def test_a_source_that_leaves_the_configuration_is_no_longer_wrong() -> None:
    with light(WEBHOOK, RULES) as rig:
        audit(rig, MISSPELT, MISSPELT)
        rig.restart(plan=replace(rig.plan, queues={QUEUE: QueueRules(QUEUE)}))
        audit(rig, replace(FINE, source=None, backlog_read=False))
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


# ---- the queue itself is missing


def test_a_missing_queue_is_told_at_once_with_the_nearest_names() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, ("nemo12-event-dlq",), 12)
        rig.tick()
        assert told(rig) == [Reason.FIRST]
        payload = rig.speaker.posts[-1].payload
        assert "nemo12-event-dlq" in json.dumps(payload.blocks)
        rig.run(3_600)
        assert told(rig) == [Reason.FIRST]
        assert len(rig.notices()) == 1


def test_it_is_right_again_as_soon_as_the_list_has_it() -> None:
    with light(WEBHOOK, RULES) as rig:
        rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, (), 12)
        rig.run(60)
        del rig.queues.ids[QUEUE]
        rig.run(31)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]


def test_a_deleted_queue_closes_its_depth_alert_as_lost_exactly_once(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.cf.land(QUEUE, 4)
        rig.tick()
        rig.cf.delete_queue(QUEUE)
        rig.run(1_200)
        assert rig.told() == ["first", "lost"]
        assert told(rig) == [Reason.FIRST]
        (incident,) = rig.incidents()
        assert (incident.resolution, incident.lost) == (Resolution.DELETED, 4)
        assert not any("esolved" in m.text for m in rig.messages())
        assert any("was deleted with 4 dead letters in it" in m.text for m in rig.messages())
        rig.cf.create_queue(QUEUE)
        rig.run(60)
        assert told(rig) == [Reason.FIRST, Reason.RESOLVED]
        rig.cf.land(QUEUE)
        rig.run(60)
        assert rig.told() == ["first", "lost", "first"]


def test_an_audit_and_a_poll_share_one_alert(tmp_path: Path) -> None:
    """The name in the configuration is misspelt: the source says where dead letters go."""
    misspelt = "nemo12-event-dlq"
    with simulated(tmp_path, WEBHOOK, QueueRules(misspelt, source=SOURCE)) as rig:
        for _ in range(3):
            rig.run(300)
            rig.audit(misspelt)
        assert len(rig.incidents(Rule.WIRING)) == 1
        assert set(kinds(rig)) <= {KIND.QUEUE_MISSING, KIND.OTHER_DEAD_LETTER_QUEUE}
        (incident,) = rig.incidents(Rule.WIRING)
        assert isinstance(incident.facts, WiringFacts)
        assert {d.kind for d in incident.facts.deviations} == {
            KIND.QUEUE_MISSING,
            KIND.OTHER_DEAD_LETTER_QUEUE,
        }
        rig.run(1_200)
        assert told(rig) == [Reason.FIRST, Reason.GROWN]


# ---- against the scripted Cloudflare


def break_consumer(**change: object) -> Callable[[SimCloudflare], None]:
    def act(cf: SimCloudflare) -> None:
        consumer = worker_consumer("nemo12-api", QUEUE)
        settings = change.pop("settings", {})
        assert isinstance(settings, dict)
        consumer["settings"] |= settings
        for key, value in change.items():
            if value is None:
                del consumer[key]
            else:
                consumer[key] = value
        cf.queue(SOURCE).consumers = [consumer]

    return act


def set_queue(name: str, key: str, value: object) -> Callable[[SimCloudflare], None]:
    return lambda cf: setattr(cf.queue(name), key, value)


BREAK: dict[KIND, Callable[[SimCloudflare], object]] = {
    KIND.NO_SOURCE: lambda cf: cf.delete_queue(SOURCE),
    KIND.NO_CONSUMER: set_queue(SOURCE, "consumers", []),
    KIND.NO_DEAD_LETTER_QUEUE: break_consumer(dead_letter_queue=None),
    KIND.OTHER_DEAD_LETTER_QUEUE: break_consumer(dead_letter_queue="nemo12-event-dlq"),
    KIND.MAX_RETRIES: break_consumer(settings={"max_retries": 3}),
    KIND.PAUSED: set_queue(SOURCE, "delivery_paused", True),
    KIND.SOURCE_OLD: lambda cf: cf.land(SOURCE, age_s=5_400),
    KIND.UNEXPECTED_CONSUMER: set_queue(QUEUE, "consumers", [worker_consumer("stray")]),
    KIND.RETENTION_CUT: set_queue(QUEUE, "retention_s", 86_400),
    KIND.TOKEN_ENDS: lambda cf: cf.token_expires.update({READ_TOKEN: cf.clock.now() + 5 * DAY}),
    KIND.CLOCK_OFF: lambda cf: cf.fail(Fault(headers=(("Date", "Fri, 06 Nov 2026 20:00:00 GMT"),))),
}


@pytest.mark.parametrize("kind", BREAK, ids=[kind.value for kind in BREAK])
def test_what_goes_wrong_at_cloudflare_is_told_at_the_second_audit(
    tmp_path: Path, kind: KIND
) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.run(31)
        rig.audit()
        BREAK[kind](rig.cf)
        rig.run(300)
        rig.audit()
        assert told(rig) == []
        rig.run(300)
        rig.audit()
        assert told(rig) == [Reason.FIRST]
        assert kinds(rig) == [kind]


def look(rig: SimRig) -> Look:
    auditor = rig.queues
    return Look(auditor, RULES, 5.0)  # type: ignore[arg-type]


def test_a_healthy_account_has_nothing_to_tell(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        for _ in range(3):
            rig.run(300)
            rig.audit()
        assert told(rig) == []
        assert state(rig) is State.INACTIVE


def test_a_source_made_anew_under_another_id_is_found_in_the_same_audit(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.tick()
        auditor = Auditor(rig.engine, rig.queues, RULES, 5.0)  # type: ignore[arg-type]
        auditor.tick()
        before = auditor._source_id
        rig.cf.delete_queue(SOURCE)
        rig.cf.create_queue(SOURCE, consumers=[worker_consumer("nemo12-api", QUEUE)])
        auditor.tick()
        assert auditor._source_id not in (None, before)
        rig.cf.delete_queue(SOURCE)
        auditor.tick()
        assert rig.engine.queue(QUEUE).deviations == (KIND.NO_SOURCE,)


@pytest.mark.parametrize(
    "fault", [Fault.status(500), Fault.html(403), Fault.truncated(), Fault.json({}), Fault.close()]
)
def test_an_audit_survives_whatever_cloudflare_says(tmp_path: Path, fault: Fault) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.tick()
        rig.audit()
        rig.cf.fail(fault)
        for _ in range(3):
            rig.audit()
        assert told(rig) == []
        assert rig.incidents(Rule.WIRING) == []


def test_after_one_call_that_got_no_answer_the_rest_is_not_asked(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.tick()
        rig.cf.fail(Fault.rate_limited(300))
        rig.cf.requests.clear()
        looked = look(rig)
        looked.read(rig.engine.queue(QUEUE).cloudflare_id, of_us=True)
        assert len(rig.cf.requests) == 1
        assert looked.trouble is not None


def test_trouble_is_logged_when_it_begins_not_at_each_audit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.tick()
        auditor = Auditor(rig.engine, rig.queues, RULES, 5.0)  # type: ignore[arg-type]
        rig.cf.fail(Fault.status(500))
        for _ in range(4):
            auditor.tick()
        said = [r for r in caplog.records if r.name == "dlqwatch.auditing"]
        assert len(said) == 1
