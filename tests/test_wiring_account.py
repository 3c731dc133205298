"""S6, S13 against the scripted Cloudflare: what goes wrong there is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dlqwatch.daemon.auditing import Auditor, Look
from dlqwatch.facts import WiringFacts
from dlqwatch.model import (
    DAY,
    DeviationKind,
    QueueRules,
    Reason,
    Rule,
    State,
)
from dlqwatch.rows import Alert
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.queues import worker_consumer
from tests.rig import QUEUE, WEBHOOK, Rig, SimRig, simulated

SOURCE = "nemo12-events"
RULES = QueueRules(QUEUE, source=SOURCE)
KIND = DeviationKind


def told(rig: Rig) -> list[Reason]:
    return [n.reason for n in rig.told_of(Rule.WIRING)]


def kinds(rig: Rig) -> list[KIND]:
    """What the last message listed."""
    facts = rig.told_of(Rule.WIRING)[-1].facts
    assert isinstance(facts, WiringFacts)
    return [d.kind for d in facts.deviations]


def state(rig: Rig) -> State:
    return next(a.state for a in rig.rows(Alert) if a.rule is Rule.WIRING)


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
