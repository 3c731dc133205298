"""S6, S13: the alert on how a queue is wired."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dlqwatch.decide.inputs import Audited
from dlqwatch.decide.reading import Audit, Consumer, QueueSettings
from dlqwatch.errors import QueueNotListed
from dlqwatch.facts import WiringFacts
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    DeviationKind,
    QueueRules,
    Reason,
    Resolution,
    Rule,
    Severity,
    State,
)
from dlqwatch.rows import Alert
from tests.rig import QUEUE, WEBHOOK, LightRig, Rig, light, simulated

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


def consumed(**change: object) -> Audit:
    """The source's consumer is otherwise."""
    return replace(FINE, source=replace(SOURCED, consumers=(replace(GOOD, **change),)))  # type: ignore[arg-type]


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


MISSPELT = consumed(dead_letter_queue="nemo12-event-dlq")
RETRIES = consumed(max_retries=3)
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


# ---- what comes back, and what is left behind


def test_a_critical_break_that_was_mended_and_comes_back_is_news_again() -> None:
    """Also under an ack: dead letters die unseen anew."""
    with light(WEBHOOK, RULES) as rig:
        both = consumed(dead_letter_queue="", max_retries=3)
        audit(rig, *[RETRIES] * 2, *[both] * 6, *[RETRIES] * 6)
        assert told(rig) == [Reason.FIRST, Reason.SEVERITY_RAISED]
        audit(rig, *[both] * 3)
        assert told(rig)[2:] == [Reason.GROWN]
        assert KIND.NO_DEAD_LETTER_QUEUE in kinds(rig)


def test_the_end_still_names_where_dead_letters_went_earlier_in_the_incident() -> None:
    with light(WEBHOOK, RULES) as rig:
        astray = consumed(dead_letter_queue="nemo12-event-dlq", max_retries=3)
        other = consumed(dead_letter_queue="nemo12-events-dlqq", max_retries=3)
        audit(rig, *[astray] * 2, *[other] * 2, *[RETRIES] * 2, FINE)
        assert told(rig)[-1] is Reason.RESOLVED
        said = json.dumps(rig.speaker.posts[-1].payload.blocks)
        assert "lie in `nemo12-event-dlq`" in said or "lie in nemo12-event-dlq:" in said
        assert "nemo12-events-dlqq" in said
