"""The scripted Slack answers as Slack does, to slack_sdk too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from slack_sdk import WebClient, WebhookClient
from slack_sdk.errors import SlackApiError

from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import CHANNEL, SimSlack
from tests.sims import SECTION, hook, refused, word

TOO_LONG = [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """slack_sdk reads the environment; loopback must not go through a developer's proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def slack(clock: HandClock) -> Iterator[SimSlack]:
    with SimSlack(clock) as server:
        yield server


@pytest.fixture
def bot(slack: SimSlack) -> WebClient:
    return WebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[], timeout=5)


# -- what the fact sheets say of an unguarded slack_sdk


def test_an_unguarded_client_posts_twice_when_the_peer_closes_after_storing(
    slack: SimSlack,
) -> None:
    unguarded = WebClient(slack.bot_token, base_url=slack.api_url)
    slack.fail(Fault.close(after=True), times=1)
    unguarded.chat_postMessage(channel=CHANNEL, text="one alert")
    assert [m.text for m in slack.messages()] == ["one alert", "one alert"]


def test_a_client_without_retry_handlers_posts_once(slack: SimSlack, bot: WebClient) -> None:
    slack.fail(Fault.close(after=True), times=1)
    with pytest.raises(ConnectionError):
        bot.chat_postMessage(channel=CHANNEL, text="one alert")
    assert len(slack.messages()) == 1


def test_an_unguarded_webhook_client_takes_a_mistyped_address_for_success(
    slack: SimSlack,
) -> None:
    """It follows the 302 to the help page: status 200, and nobody was told."""
    got = WebhookClient(slack.webhook_url + "x").send(text="lost")
    assert got.status_code == 200
    assert got.body != "ok"
    assert slack.messages() == []
    assert [r.method for r in slack.requests] == ["POST", "GET"]


# -- webhooks


def test_a_webhook_posts_and_says_ok(slack: SimSlack, clock: HandClock) -> None:
    assert hook(slack, {"text": "hi", "blocks": SECTION}) == (200, "ok")
    (message,) = slack.messages()
    assert (message.text, message.via, message.channel) == ("hi", "webhook", CHANNEL)
    assert message.blocks == tuple(SECTION)
    assert message.posted_at == clock.now()


def test_a_webhook_takes_what_slack_sdk_sends(slack: SimSlack) -> None:
    got = WebhookClient(slack.webhook_url).send(text="hi", blocks=SECTION)
    assert (got.status_code, got.body) == (200, "ok")


def test_a_webhooks_metadata_is_not_kept(slack: SimSlack) -> None:
    """Slack doesn't document it for webhooks: nothing may rest on it."""
    metadata = {"event_type": "a", "event_payload": {}}
    hook(slack, {"text": "hi", "metadata": metadata})
    assert slack.messages()[0].metadata is None


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ({}, (400, "no_text")),
        ({"text": ""}, (400, "no_text")),
        (None, (400, "no_text")),  # httpx sends no body
        ([1], (400, "invalid_payload")),
        ({"text": "x", "blocks": TOO_LONG}, (400, "invalid_blocks")),
        ({"text": "x", "blocks": "x"}, (400, "invalid_blocks_format")),
        ({"text": "x", "attachments": [{}] * 101}, (400, "too_many_attachments")),
    ],
)
def test_a_webhook_refuses_in_plain_words(slack: SimSlack, sent: Any, answer: Any) -> None:
    assert hook(slack, sent) == answer
    assert slack.messages() == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("invalid_token", 403),
        ("action_prohibited", 403),
        ("no_service", 404),
        ("channel_not_found", 404),
        ("rollup_error", 500),
    ],
)
def test_a_broken_webhook_says_so_with_its_status(slack: SimSlack, error: str, status: int) -> None:
    slack.webhook().error = error
    assert hook(slack, {}) == (status, error)


def test_a_webhook_into_an_archived_channel_is_gone(slack: SimSlack) -> None:
    slack.channels[CHANNEL].archived = True
    assert hook(slack, {}) == (410, "channel_is_archived")


def test_an_unknown_webhook_redirects_to_a_page_that_says_200(slack: SimSlack) -> None:
    with httpx.Client(trust_env=False) as client:
        got = client.post(slack.webhook_url + "x", json={"text": "x"})
        assert got.status_code == 302
        page = client.get(got.headers["location"])
    assert (page.status_code, page.headers["content-type"][:9]) == (200, "text/html")


def test_a_second_webhook_has_its_own_channel(slack: SimSlack) -> None:
    slack.add_channel("C2")
    hook(slack, {"text": "x"}, slack.add_webhook("C2"))
    assert [m.text for m in slack.messages("C2")] == ["x"]
    assert slack.messages(CHANNEL) == []


# -- posting


def test_a_bots_message_has_a_ts_of_its_own(slack: SimSlack, bot: WebClient) -> None:
    """Unique and increasing, also within a millisecond and when the clock goes back."""
    stamps = [bot.chat_postMessage(channel=CHANNEL, text=str(n))["ts"] for n in range(2)]
    assert isinstance(slack.clock, HandClock)
    slack.clock.step(-3_600)
    stamps.append(bot.chat_postMessage(channel=CHANNEL, text="2")["ts"])
    assert stamps == sorted(set(stamps))
    assert [m.ts for m in slack.messages()] == stamps


def test_form_and_json_arguments_are_the_same(slack: SimSlack) -> None:
    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    args = {"channel": CHANNEL, "text": "x", "blocks": SECTION}
    with httpx.Client(trust_env=False, headers=headers) as client:
        client.post(f"{slack.api_url}chat.postMessage", json=args)
        form = {**args, "blocks": json.dumps(SECTION)}
        client.post(f"{slack.api_url}chat.postMessage", data=form)
    first, second = slack.messages()
    assert (first.text, first.blocks) == (second.text, second.blocks) == ("x", tuple(SECTION))


def test_invalid_blocks_name_the_place(slack: SimSlack, bot: WebClient) -> None:
    data = refused(bot.chat_postMessage, channel=CHANNEL, text="x", blocks=TOO_LONG)
    told = "must be less than 151 characters [json-pointer:/blocks/0/text/text]"
    assert data["error"] == "invalid_blocks"
    assert data["errors"] == [told]
    assert data["response_metadata"]["messages"] == [f"[ERROR] {told}"]
    assert slack.messages() == []


@pytest.mark.filterwarnings("ignore:.*text.*:UserWarning")
@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({}, "no_text"),
        ({"text": " "}, "no_text"),
        ({"text": "x", "markdown_text": "x"}, "markdown_text_conflict"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"text": "x", "attachments": [{"text": "x"}] * 101}, "too_many_attachments"),
        ({"text": "x", "metadata": {"event_type": "a"}}, "invalid_metadata_format"),
        (
            {"text": "x", "metadata": {"event_type": "a", "event_payload": {"k": "x" * 20_000}}},
            "metadata_too_large",
        ),
        ({"text": "x", "channel": "#alerts"}, "channel_not_found"),
    ],
)
def test_a_payload_slack_would_not_take_is_refused(
    slack: SimSlack, bot: WebClient, args: dict[str, Any], error: str
) -> None:
    assert word(bot.chat_postMessage, **{"channel": CHANNEL, **args}) == error
    assert slack.messages() == []


def test_a_long_text_becomes_several_messages(slack: SimSlack, bot: WebClient) -> None:
    got = bot.chat_postMessage(channel=CHANNEL, text="x" * 4_001)
    assert [len(m.text) for m in slack.messages()] == [4_000, 1]
    assert got["ts"] == slack.messages()[0].ts


def test_a_channel_refuses_for_its_own_reasons(slack: SimSlack, bot: WebClient) -> None:
    channel = slack.channels[CHANNEL]
    post: dict[str, Any] = {"channel": CHANNEL, "text": "x"}
    channel.refusal = "restricted_action_read_only_channel"
    assert word(bot.chat_postMessage, **post) == "restricted_action_read_only_channel"
    channel.refusal = ""
    channel.archived = True
    assert word(bot.chat_postMessage, **post) == "is_archived"
    channel.archived = False
    channel.member = False
    assert word(bot.chat_postMessage, **post) == "not_in_channel"
    slack.scopes(slack.bot_token).add("chat:write.public")
    bot.chat_postMessage(**post)
    channel.private = True
    assert word(bot.chat_postMessage, **post) == "channel_not_found"


def test_tokens_are_refused_as_slack_refuses_them(slack: SimSlack, bot: WebClient) -> None:
    assert word(WebClient(base_url=slack.api_url).auth_test) == "not_authed"
    assert word(WebClient("xoxb-no", base_url=slack.api_url).auth_test) == "invalid_auth"
    slack.bots[slack.bot_token].error = "token_revoked"
    assert word(bot.auth_test) == "token_revoked"


def test_a_missing_scope_is_named(slack: SimSlack, bot: WebClient) -> None:
    slack.bots[slack.bot_token].scopes = {"chat:write"}
    data = refused(bot.conversations_history, channel=CHANNEL)
    assert (data["needed"], data["provided"]) == ("channels:history", "chat:write")
    assert refused(bot.conversations_info, channel=CHANNEL)["needed"] == "channels:read"
    slack.bots[slack.bot_token].scopes = set()
    assert word(bot.chat_postMessage, channel=CHANNEL, text="x") == "missing_scope"


def test_auth_test_and_info_say_who_and_where(slack: SimSlack, bot: WebClient) -> None:
    assert bot.auth_test()["bot_id"] == slack.bot_id(slack.bot_token)
    slack.channels[CHANNEL].archived = True
    channel = bot.conversations_info(channel=CHANNEL)["channel"]
    assert (channel["id"], channel["is_archived"], channel["is_member"]) == (CHANNEL, True, True)
    assert word(bot.conversations_info, channel="CNONE") == "channel_not_found"
    assert word(bot.api_call, api_method="chat.nope") == "unknown_method"


def test_one_message_a_second_when_switched_on(
    slack: SimSlack, bot: WebClient, clock: HandClock
) -> None:
    slack.one_per_second = True
    bot.chat_postMessage(channel=CHANNEL, text="1")
    with pytest.raises(SlackApiError) as caught:
        bot.chat_postMessage(channel=CHANNEL, text="2")
    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "1"
    assert caught.value.response["error"] == "ratelimited"
    status, body = hook(slack, {"text": "3"})
    assert (status, json.loads(body)["error"]) == (429, "rate_limited")
    clock.move(1)
    assert hook(slack, {"text": "4"}) == (200, "ok")
    assert [m.text for m in slack.messages()] == ["1", "4"]


# -- what the sim keeps for its user


def test_times_say_what_was_asked_of_which_channel_and_when(
    slack: SimSlack, bot: WebClient, clock: HandClock
) -> None:
    bot.chat_postMessage(channel=CHANNEL, text="1")
    clock.move(2)
    hook(slack, {"text": "2"})
    first, second = slack.times
    assert (first.method, first.channel) == ("chat.postMessage", CHANNEL)
    assert (second.method, second.at - first.at) == ("webhook", 2_000)


def test_a_fault_can_be_for_anything_with_blocks(slack: SimSlack, bot: WebClient) -> None:
    slack.fail(
        Fault.json({"ok": False, "error": "invalid_blocks"}), when=lambda r: "blocks" in r.args
    )
    assert word(bot.chat_postMessage, channel=CHANNEL, text="x", blocks=SECTION) == "invalid_blocks"
    bot.chat_postMessage(channel=CHANNEL, text="x")
    assert len(slack.messages()) == 1


def test_a_bare_429_speaks_as_the_one_who_was_asked(slack: SimSlack, bot: WebClient) -> None:
    slack.fail(Fault.rate_limited(3))
    assert word(bot.auth_test) == "ratelimited"
    status, body = hook(slack, {"text": "x"})
    assert (status, json.loads(body)["error"]) == (429, "rate_limited")


def test_a_message_knows_whom_it_pings(slack: SimSlack) -> None:
    hook(slack, {"text": "<!subteam^S1> look"})
    hook(slack, {"text": "&lt;!channel&gt; @here"})
    assert [m.pings for m in slack.messages()] == [("!subteam^S1",), ()]
