"""An answer that can't be read may be of a message that was posted: it is never "not posted"."""

from __future__ import annotations

import pytest

from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.http import shared_ssl_context
from dlqwatch.edges.slack import Bot, Speaker, Webhook
from dlqwatch.facts import Payload
from dlqwatch.model import DestinationKind, Outcome
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack

UNREADABLE = {
    "truncated": Fault.truncated(after=True),
    "shorter than it says": Fault.short_body(after=True),
    "not UTF-8": Fault.not_utf8(after=True),
    "HTML with 200": Fault.html(200, after=True),
    "empty": Fault.status(200, b"", after=True),
    "no object": Fault.json([1], after=True),
    "an object without ok": Fault.json({}, after=True),
    "words in place of an error's name": Fault.json(
        {"ok": False, "error": "Something went wrong"}, after=True
    ),
}


@pytest.mark.parametrize("kind", list(DestinationKind))
@pytest.mark.parametrize("fault", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_answer_that_cannot_be_read_is_ambiguous(kind: DestinationKind, fault: Fault) -> None:
    with SimSlack() as slack:
        context, clock = shared_ssl_context(), SystemClock()
        speaker: Speaker = (
            Webhook(lambda: slack.webhook_url, context, clock)
            if kind is DestinationKind.WEBHOOK
            else Bot(lambda: slack.bot_token, slack.channel, slack.api_url, context, clock)
        )
        slack.fail(fault, 1)
        answer = speaker.post(Payload("hello"))

        assert len(slack.messages()) == 1
        assert answer.outcome is Outcome.AMBIGUOUS


def test_a_name_of_an_error_that_nobody_knows_is_tried_again() -> None:
    with SimSlack() as slack:
        bot = Bot(
            lambda: slack.bot_token,
            slack.channel,
            slack.api_url,
            shared_ssl_context(),
            SystemClock(),
        )
        slack.fail(Fault.json({"ok": False, "error": "brand_new_error"}), 1)
        answer = bot.post(Payload("hello"))

    assert answer.outcome is Outcome.TEMPORARY
    assert "brand_new_error" in answer.error
