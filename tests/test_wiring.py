"""S6, S13: the wiring. What is, what should be, and how to put it right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlqwatch.decide.deviations import deviations, judged
from dlqwatch.decide.reading import Audit, Consumer, QueueSettings
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    DeviationKind,
    QueueRules,
)
from dlqwatch.rows import Kept, Queue
from tests.rig import QUEUE

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
    KIND.TOKEN_ENDS: (replace(FINE, token_ends_at=NOW + 13 * DAY + HOUR), "13 d"),
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
