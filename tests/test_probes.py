"""What can be told of a Slack destination without posting."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from dlqwatch.decide.outcomes import Answer, Probe, bot_probe, webhook_probe
from dlqwatch.edges.slack import Bot, Webhook
from dlqwatch.model import Outcome
from dlqwatch.sim.clocks import SystemClock
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import BOT_TOKEN, CHANNEL, SimSlack
from dlqwatch.words.en_cures import attempt, cure

CONTEXT = ssl.create_default_context()
OK = Answer(Outcome.DELIVERED)
PERSON, UNSURE = Outcome.NEEDS_PERSON, Outcome.TEMPORARY
ALL = frozenset({"chat:write", "channels:read", "channels:history"})
MEMBER: dict[str, object] = {"name": "alerts", "is_member": True, "is_private": False}


@pytest.fixture
def slack() -> Iterator[SimSlack]:
    with SimSlack() as slack:
        yield slack


def bot(slack: SimSlack, token: str = BOT_TOKEN, channel: str = CHANNEL) -> Probe:
    return Bot(lambda: token, channel, slack.api_url, CONTEXT, SystemClock()).probe()


def webhook(slack: SimSlack, url: str = "") -> Probe:
    return Webhook(lambda: url or slack.webhook_url, CONTEXT, SystemClock()).probe()


# -- webhook


def test_a_webhook_that_works_is_there_and_nothing_is_posted(slack: SimSlack) -> None:
    assert webhook(slack).answer == OK
    assert slack.messages() == []


def test_a_webhook_that_slack_does_not_know_needs_a_person(slack: SimSlack) -> None:
    """Slack redirects to a page of help; nobody goes there."""
    found = webhook(slack, f"{slack.url}/services/T0/B0/mistyped")
    assert found.answer.outcome is PERSON
    assert [r.method for r in slack.requests] == ["POST"]


@pytest.mark.parametrize("error", ["no_service", "channel_is_archived", "invalid_token"])
def test_a_webhook_that_slack_refuses_needs_a_person(slack: SimSlack, error: str) -> None:
    slack.webhook().error = error
    found = webhook(slack).answer
    assert found.outcome is PERSON
    assert error in found.error


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (302, PERSON), (403, PERSON), (404, PERSON), (410, PERSON),
        (400, Outcome.DELIVERED), (200, Outcome.DELIVERED),
        (401, UNSURE), (408, UNSURE), (429, UNSURE), (500, UNSURE), (503, UNSURE),
    ],
)  # fmt: skip
def test_what_a_status_says_of_a_webhook(status: int, outcome: Outcome) -> None:
    assert webhook_probe(status, "whatever").answer.outcome is outcome


@pytest.mark.parametrize("fault", [Fault.rate_limited(3), Fault.status(500), Fault.close()])
def test_trouble_on_the_way_says_nothing_of_a_webhook(slack: SimSlack, fault: Fault) -> None:
    slack.fail(fault)
    assert webhook(slack).answer.outcome is UNSURE


def test_a_slack_that_refuses_connections_says_nothing_of_a_webhook(slack: SimSlack) -> None:
    url = slack.webhook_url
    slack.refuse()
    assert webhook(slack, url).answer.outcome is UNSURE


# -- bot


def test_a_bot_that_works_names_its_channel_and_posts_nothing(slack: SimSlack) -> None:
    found = bot(slack)
    assert found == Probe(OK, "#alerts, as dlqwatch in Simulated")
    assert slack.messages() == []


@pytest.mark.parametrize("error", ["token_revoked", "account_inactive", "invalid_auth"])
def test_a_token_that_slack_refuses_needs_a_person(slack: SimSlack, error: str) -> None:
    slack.bots[BOT_TOKEN].error = error
    assert bot(slack).answer == Answer(PERSON, error)
    assert len(slack.requests) == 1


def test_an_archived_channel_needs_a_person(slack: SimSlack) -> None:
    slack.channels[CHANNEL].archived = True
    assert bot(slack).answer == Answer(PERSON, "is_archived")


def test_a_channel_without_the_bot_needs_a_person(slack: SimSlack) -> None:
    slack.channels[CHANNEL].member = False
    assert bot(slack).answer == Answer(PERSON, "not_in_channel")


def test_a_bot_that_may_post_anywhere_need_not_be_in_the_channel(slack: SimSlack) -> None:
    slack.channels[CHANNEL].member = False
    slack.bots[BOT_TOKEN].scopes.add("chat:write.public")
    assert bot(slack).answer == OK


def test_a_channel_that_is_not_there_needs_a_person(slack: SimSlack) -> None:
    assert bot(slack, channel="C0NOWHERE").answer == Answer(PERSON, "channel_not_found")


def test_a_bot_that_may_not_write_needs_a_person(slack: SimSlack) -> None:
    slack.bots[BOT_TOKEN].scopes.discard("chat:write")
    assert bot(slack).answer == Answer(PERSON, "missing_scope")


def test_scopes_that_only_look_ups_need_are_named(slack: SimSlack) -> None:
    slack.bots[BOT_TOKEN].scopes = {"chat:write"}
    found = bot(slack)
    assert found.answer == OK
    assert found.lacks == ("channels:read", "channels:history")
    slack.bots[BOT_TOKEN].scopes |= {"channels:read"}
    assert bot(slack).lacks == ("channels:history",)


def test_a_private_channel_needs_the_scopes_of_groups(slack: SimSlack) -> None:
    slack.channels[CHANNEL].private = True
    slack.bots[BOT_TOKEN].scopes = {"chat:write", "groups:read"}
    assert bot(slack).lacks == ("groups:history",)


@pytest.mark.parametrize("path", ["auth.test", "conversations.info"])
@pytest.mark.parametrize(
    "fault", [Fault.rate_limited(3), Fault.status(500), Fault.close(), Fault.html(503)]
)
def test_trouble_on_the_way_says_nothing_of_a_bot(slack: SimSlack, path: str, fault: Fault) -> None:
    slack.fail(fault, when=lambda request: path in request.path)
    assert bot(slack).answer.outcome is UNSURE


def test_a_retry_after_is_handed_on(slack: SimSlack) -> None:
    slack.fail(Fault.rate_limited(3))
    retry_at = bot(slack).answer.retry_at
    assert retry_at is not None
    assert 0 < retry_at - SystemClock().now() <= 3_000


def test_scopes_that_slack_does_not_list_are_not_said_to_be_missing() -> None:
    assert bot_probe(OK, {}, OK, MEMBER, None) == Probe(OK, "#alerts")
    outside = {**MEMBER, "is_member": False}
    assert (
        bot_probe(OK, {}, OK, outside, None).answer == OK
    )  # it may post anywhere, for all we know
    assert bot_probe(OK, {}, OK, outside, ALL).answer.error == "not_in_channel"


# -- cures


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("not_in_channel", "/invite"),
        ("is_archived", "unarchive"),
        ("HTTP 410 channel_is_archived", "unarchive"),
        ("channel_not_found", "slack.channel"),
        ("HTTP 404 channel_not_found", "new incoming webhook"),
        ("invalid_auth", "slack.bot_token"),
        ("missing_scope", "chat:write"),
        ("HTTP 302: no such webhook", "new incoming webhook"),
        ("HTTP 403 invalid_token", "new incoming webhook"),
        ("HTTP 404", "new incoming webhook"),
        ("HTTP 302: redirected", "api_base_url"),
        ("something_new", "docs.slack.dev"),
    ],
)
def test_a_refusal_has_its_cure(error: str, word: str) -> None:
    assert word in cure(error, destination="slack")


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.DELIVERED])
def test_every_attempt_that_was_not_confirmed_has_a_next_step(outcome: Outcome) -> None:
    what, do = attempt(Answer(outcome, "some_error"), destination="slack")
    assert "some_error" in what
    assert do
