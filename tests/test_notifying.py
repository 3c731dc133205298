"""Whether to tell, and why: the table, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.decide.notifying import (
    TABLE,
    Situation,
    mentions,
    rearmed_mark,
    stronger,
    why_tell,
)
from dlqwatch.model import DAY, HOUR, MINUTE, QueueRules, Reason, Resolution, Severity
from dlqwatch.rows import Incident
from tests.rig import QUEUE
from tests.specimens import FACTS, NOW, UNTOLD

RULES = QueueRules(QUEUE)
TOLD = replace(
    UNTOLD,
    first_told_at=NOW - HOUR,
    told_at=NOW - MINUTE,
    told_depth=3,
    told_severity=Severity.WARNING,
    low=3,
    told_low=3,
)
LONG_AGO = {"told_at": NOW - HOUR}
OVER: dict[str, Any] = {"resolved_at": NOW, "resolution": Resolution.UNKNOWN}
CRITICAL = Severity.CRITICAL


@dataclass(frozen=True)
class Case:
    """A situation, made of what differs from the plain one, and the reason it gives."""

    reason: Reason | None
    incident: Incident = TOLD
    facts: dict[str, Any] = field(default_factory=dict)
    but: dict[str, Any] = field(default_factory=dict)  # of the incident
    waiting: dict[str, Any] | None = None
    unsettled: bool = False
    silenced: bool = False

    @property
    def situation(self) -> Situation:
        return Situation(
            replace(self.incident, **self.but),
            replace(FACTS, **self.facts),
            RULES,
            NOW,
            waiting=None if self.waiting is None else replace(FACTS, **self.waiting),
            unsettled=self.unsettled,
            silenced=self.silenced,
        )


CASES: dict[str, Case] = {
    "nothing new": Case(None),
    # lost
    "a first loss, at once": Case(Reason.LOST, facts={"lost": 2}),
    "a first loss, although a word is unsettled": Case(
        Reason.LOST, facts={"lost": 2}, unsettled=True
    ),
    "a first loss, through a silence": Case(Reason.LOST, facts={"lost": 2}, silenced=True),
    "another loss within the interval": Case(None, facts={"lost": 3}, but={"told_lost": 2}),
    "another loss after the interval": Case(
        Reason.LOST, facts={"lost": 3}, but={"told_lost": 2, **LONG_AGO}
    ),
    "another loss at the close": Case(Reason.LOST, facts={"lost": 3}, but={"told_lost": 2, **OVER}),
    "another loss while one waits": Case(
        Reason.LOST, facts={"lost": 3}, but={"told_lost": 2}, waiting={"lost": 2}
    ),
    "a loss that waits already": Case(None, facts={"lost": 2}, waiting={"lost": 2}),
    # over
    "over and told": Case(Reason.RESOLVED, but=OVER),
    "over and perhaps told": Case(Reason.RESOLVED, UNTOLD, but=OVER, unsettled=True),
    "over, through a silence": Case(Reason.RESOLVED, but=OVER, silenced=True),
    "over and never told": Case(Reason.FIRST_AND_RESOLVED, UNTOLD, but=OVER),
    "over while the first word waits": Case(
        Reason.FIRST_AND_RESOLVED, UNTOLD, but=OVER, waiting={}
    ),
    "over inside a silence that held it back": Case(
        None, UNTOLD, but={**OVER, "held": True}, silenced=True
    ),
    "over after a silence that held it back": Case(
        Reason.FIRST_AND_RESOLVED, UNTOLD, but={**OVER, "held": True}
    ),
    # must wait
    "critical while a word is unsettled": Case(
        None, but={"severity": CRITICAL}, facts={"severity": CRITICAL}, unsettled=True
    ),
    "a reminder while a word is unsettled": Case(
        None, but={"told_at": NOW - 2 * DAY}, unsettled=True
    ),
    # silence
    "the last mark, through a silence": Case(
        Reason.EXPIRY_NEAR, facts={"mark_ms": HOUR}, silenced=True
    ),
    "the last mark, told already": Case(
        None, facts={"mark_ms": HOUR}, but={"told_mark_ms": HOUR, "held": True}, silenced=True
    ),
    "an earlier mark in a silence that holds something back": Case(
        None, facts={"mark_ms": 6 * HOUR}, but={"held": True}, silenced=True
    ),
    "a silence has ended": Case(Reason.SILENCE_ENDED, but={"held": True}),
    "a silence held the first word and has ended": Case(Reason.FIRST, UNTOLD, but={"held": True}),
    # first
    "firing and never told": Case(Reason.FIRST, UNTOLD),
    "firing and its first word waits": Case(None, UNTOLD, waiting={}),
    # expiry near
    "a first mark": Case(Reason.EXPIRY_NEAR, facts={"mark_ms": 24 * HOUR}),
    "a nearer mark": Case(
        Reason.EXPIRY_NEAR, facts={"mark_ms": HOUR}, but={"told_mark_ms": 6 * HOUR}
    ),
    "the same mark": Case(None, facts={"mark_ms": 6 * HOUR}, but={"told_mark_ms": 6 * HOUR}),
    "a farther mark": Case(None, facts={"mark_ms": 24 * HOUR}, but={"told_mark_ms": 6 * HOUR}),
    "a mark that waits already": Case(None, facts={"mark_ms": HOUR}, waiting={"mark_ms": HOUR}),
    "a nearer mark while another waits": Case(
        Reason.EXPIRY_NEAR, facts={"mark_ms": HOUR}, waiting={"mark_ms": 6 * HOUR}
    ),
    # severity
    "critical now": Case(Reason.SEVERITY_RAISED, but={"severity": CRITICAL}),
    "critical and told so": Case(None, but={"severity": CRITICAL, "told_severity": CRITICAL}),
    "critical while a warning waits": Case(
        Reason.SEVERITY_RAISED, UNTOLD, but={"severity": CRITICAL}, waiting={}
    ),
    "critical while that waits already": Case(
        None, but={"severity": CRITICAL}, waiting={"severity": CRITICAL}
    ),
    # grown
    "more after the interval": Case(Reason.GROWN, facts={"depth": 4}, but=LONG_AGO),
    "more within the interval": Case(None, facts={"depth": 4}),
    "more, half an interval of polls early": Case(
        Reason.GROWN, facts={"depth": 4}, but={"told_at": NOW - 15 * MINUTE + 15_000}
    ),
    "more, a little too early": Case(
        None, facts={"depth": 4}, but={"told_at": NOW - 15 * MINUTE + 15_001}
    ),
    "as many": Case(None, facts={"depth": 3}, but=LONG_AGO),
    "fewer": Case(None, facts={"depth": 2}, but=LONG_AGO),
    "more than the lowest since": Case(
        Reason.GROWN, facts={"depth": 3}, but={"told_low": 2, **LONG_AGO}
    ),
    "more while a word waits": Case(Reason.GROWN, facts={"depth": 4}, waiting={}),
    # repeat
    "a reminder's time": Case(Reason.REPEAT, but={"told_at": NOW - DAY}),
    "a critical reminder's time": Case(
        Reason.REPEAT,
        but={
            "told_at": NOW - 4 * HOUR,
            "severity": CRITICAL,
            "told_severity": CRITICAL,
        },
    ),
    "a warning after a critical reminder's time": Case(None, but={"told_at": NOW - 4 * HOUR}),
    "a reminder's time while a word waits": Case(None, but={"told_at": NOW - DAY}, waiting={}),
    "a reminder's time with an ack": Case(None, but={"told_at": NOW - DAY, "acked_depth": 3}),
    "never told is no reminder": Case(None, UNTOLD, but={"told_at": NOW - DAY}, waiting={}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_line_of_the_table(case: Case) -> None:
    assert why_tell(case.situation) is case.reason


def line_of(case: Case) -> int | None:
    fitting = (number for number, (_, fits) in enumerate(TABLE) if fits(case.situation))
    return next(fitting, None)


def test_every_line_of_the_table_has_a_case() -> None:
    assert {line_of(case) for case in CASES.values()} == {None, *range(len(TABLE))}


@pytest.mark.parametrize(
    ("reason", "facts", "whom"),
    [
        (Reason.LOST, {}, True),
        (Reason.FIRST, {}, False),
        (Reason.FIRST, {"severity": CRITICAL}, True),
        (Reason.SEVERITY_RAISED, {"severity": CRITICAL}, True),
        (Reason.EXPIRY_NEAR, {"mark_ms": 24 * HOUR, "severity": CRITICAL}, False),
        (Reason.EXPIRY_NEAR, {"mark_ms": 6 * HOUR, "severity": CRITICAL}, True),
        (Reason.EXPIRY_NEAR, {"mark_ms": HOUR, "severity": CRITICAL}, True),
        (Reason.EXPIRY_NEAR, {"mark_ms": None, "severity": CRITICAL}, False),
        (Reason.GROWN, {"severity": CRITICAL}, False),
        (Reason.REPEAT, {"severity": CRITICAL}, False),
        (Reason.RESOLVED, {"severity": CRITICAL}, False),
        (Reason.FIRST_AND_RESOLVED, {"severity": CRITICAL}, False),
        (Reason.RESTARTED, {"severity": CRITICAL}, False),
        (Reason.DRILL, {"severity": CRITICAL}, False),
    ],
)
def test_whom_a_reason_mentions(reason: Reason, facts: dict[str, Any], whom: bool) -> None:
    assert mentions(reason, replace(FACTS, **facts)) is whom


reasons = st.sampled_from(Reason)


@given(reasons, reasons, reasons)
def test_of_two_reasons_the_stronger_one_is_heard(one: Reason, two: Reason, three: Reason) -> None:
    assert stronger(one, two) is stronger(two, one)
    assert stronger(one, two) in (one, two)
    assert stronger(one, stronger(two, three)) is stronger(stronger(one, two), three)


def test_a_first_word_stays_a_first_word_whatever_is_added() -> None:
    for weaker in (Reason.GROWN, Reason.SEVERITY_RAISED, Reason.EXPIRY_NEAR, Reason.REPEAT):
        assert stronger(Reason.FIRST, weaker) is Reason.FIRST
    assert stronger(Reason.FIRST, Reason.LOST) is Reason.LOST


def test_marks_are_armed_again_only_above_the_widest() -> None:
    for left, told in ((25 * HOUR, None), (24 * HOUR, HOUR), (7 * HOUR, HOUR)):
        facts = replace(FACTS, oldest_at=NOW - 4 * DAY + left)
        assert rearmed_mark(HOUR, facts, RULES, NOW) == told
    assert rearmed_mark(HOUR, replace(FACTS, oldest_at=None), RULES, NOW) == HOUR
    assert rearmed_mark(HOUR, replace(FACTS, retention_ms=None), RULES, NOW) == HOUR
    assert rearmed_mark(None, FACTS, RULES, NOW) is None
