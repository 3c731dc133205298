"""What Slack refuses for what it says, or what can't be put into words, is told all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.daemon.courier import Courier
from dlqwatch.decide.outcomes import Answer, api_answer
from dlqwatch.facts import Facts, Telling
from dlqwatch.model import MINUTE, Outcome, QueueRules
from dlqwatch.rows import Card
from dlqwatch.sim.faults import Fault
from tests.pair import FIRST, fire, pair
from tests.rig import BOT, QUEUE, WEBHOOK, simulated

POINTER = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
REFUSAL = {
    "ok": False,
    "error": "invalid_blocks",
    "response_metadata": {"messages": [f"[ERROR] {POINTER}", "[ERROR] and more"]},
}


def test_slacks_pointer_to_what_is_wrong_is_kept() -> None:
    answer = api_answer(200, REFUSAL)
    assert answer == Answer(Outcome.PAYLOAD, f"invalid_blocks: {POINTER}")


@pytest.mark.parametrize(
    "told", [None, [], {}, {"messages": None}, {"messages": []}, {"messages": "text"}]
)
def test_without_a_pointer_the_name_alone_is_kept(told: object) -> None:
    answer = api_answer(200, {**REFUSAL, "response_metadata": told})
    assert answer.error == "invalid_blocks"


def test_a_pointer_is_shortened_and_stays_on_its_line() -> None:
    long = {**REFUSAL, "response_metadata": {"messages": ["x\ny\x1b[31m" * 1000]}}
    error = api_answer(200, long).error
    assert len(error) < 200
    assert error.isprintable()


def test_what_else_slack_says_is_named_by_its_name_alone() -> None:
    """The cures and the rules for edits go by the name."""
    for name in ("is_archived", "message_not_found", "ratelimited"):
        assert api_answer(200, {**REFUSAL, "error": name}).error == name


def test_refused_blocks_are_told_as_plain_text_and_the_log_says_what_was_wrong(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with simulated(tmp_path, BOT) as rig:
        rig.cf.land(QUEUE)
        rig.slack.fail(Fault.json(REFUSAL), when=lambda r: bool(r.args.get("blocks")))
        rig.poll()
        rig.run(2, polling=False)
        (message,) = rig.messages()
        assert "1 dead letter" in message.text
        assert not message.blocks
    assert POINTER in caplog.text


@pytest.mark.parametrize("error", ["invalid_metadata_format", "metadata_must_be_sent_from_app"])
def test_where_slack_refuses_the_receipt_the_message_comes_without_it(error: str) -> None:
    with pair((BOT, WEBHOOK)) as rig:
        rig.a.script.append(Answer(Outcome.PAYLOAD, error))
        fire(rig)
        rig.run(2, polling=False)
        assert rig.told_by(FIRST) == ["first"]
        assert [p.key for p in rig.a.posts] == [None]


def test_a_message_without_a_receipt_is_repeated_marked_and_not_looked_for() -> None:
    with pair((BOT, WEBHOOK)) as rig:
        rig.a.script += [Answer(Outcome.PAYLOAD, "metadata_too_large"), "lost"]
        fire(rig)
        rig.run(30, polling=False)
        assert rig.told_by(FIRST) == ["first"]
        assert "(possible repeat)" in rig.a.lines[0]
        assert "look" not in [name for name, _ in rig.a.calls]


class Unheard:
    """Facts of a kind that no words know."""


class Speechless(Courier):
    """A courier whose cards can't be rendered."""

    def _telling(self, facts: Facts, incident: Any, job: Any = None) -> Telling:
        telling = super()._telling(facts, incident, job)
        return telling if job is not None else replace(telling, facts=Unheard())  # type: ignore[arg-type]


def test_a_card_that_cannot_be_rendered_never_stops_a_notice() -> None:
    with pair((BOT, WEBHOOK), QueueRules(QUEUE, group_ms=MINUTE)) as rig:
        rig.couriers[0] = Speechless(rig.engine, rig.plan.destinations[0], rig.a, rig.clock)
        fire(rig)
        rig.run(60)
        rig.holds(7)
        rig.poll()
        at = rig.clock.now()
        rig.run(3, polling=False)
        assert rig.told_by(FIRST) == ["first", "grown"]
        assert (rig.notices()[-1].delivered_at or 0) - at <= 1000
        assert "dlqwatch status" in rig.a.posts[0].edits[-1].text


def test_a_card_whose_edit_is_refused_for_what_it_says_never_stops_a_notice() -> None:
    with pair((BOT, WEBHOOK), QueueRules(QUEUE, group_ms=MINUTE)) as rig:
        fire(rig)
        rig.a.edit_weather = Answer(Outcome.PAYLOAD, "invalid_blocks")
        rig.run(60)
        rig.holds(7)
        rig.poll()
        rig.run(3, polling=False)
        assert rig.told_by(FIRST) == ["first", "grown"]
        assert rig.rows(Card)[0].frozen
