"""The scripted Slack's threads, edits and history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient

from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.slack import CHANNEL, SimSlack
from tests.sims import SECTION, hook, word


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


def test_a_reply_names_its_thread(slack: SimSlack, bot: WebClient) -> None:
    parent = bot.chat_postMessage(channel=CHANNEL, text="parent")
    reply = bot.chat_postMessage(
        channel=CHANNEL, text="reply", thread_ts=parent["ts"], reply_broadcast=True
    )
    assert reply["message"]["thread_ts"] == parent["ts"]
    assert slack.messages()[1].thread_ts == parent["ts"]
    assert slack.messages()[1].reply_broadcast
    assert slack.messages()[0].thread_ts is None


def test_a_reply_to_a_message_that_is_gone_lacks_its_thread(
    slack: SimSlack, bot: WebClient
) -> None:
    parent = bot.chat_postMessage(channel=CHANNEL, text="parent")
    slack.remove(parent["ts"])
    reply = bot.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=parent["ts"])
    assert "thread_ts" not in reply["message"]
    slack.missing_parent = "cannot_reply_to_message"
    args = {"channel": CHANNEL, "text": "x", "thread_ts": parent["ts"]}
    assert word(bot.chat_postMessage, **args) == "cannot_reply_to_message"


@pytest.mark.filterwarnings("ignore:.*text.*:UserWarning")
def test_an_edit_with_text_alone_takes_the_blocks_away(
    slack: SimSlack, bot: WebClient, clock: HandClock
) -> None:
    metadata = {"event_type": "a", "event_payload": {"k": "1"}}
    sent: dict[str, Any] = {
        "channel": CHANNEL,
        "text": "1",
        "blocks": SECTION,
        "metadata": metadata,
    }
    ts = bot.chat_postMessage(**sent)["ts"]
    clock.move(5)
    bot.chat_update(channel=CHANNEL, ts=ts, text="2")
    (message,) = slack.messages()
    assert (message.text, message.blocks, message.metadata) == ("2", None, metadata)
    assert message.edits == (("1", tuple(SECTION)),)
    assert message.edited_at == clock.now()
    bot.chat_update(channel=CHANNEL, ts=ts, blocks=SECTION, metadata={})
    (message,) = slack.messages()
    assert (message.text, message.blocks, message.metadata) == ("2", tuple(SECTION), None)


def test_an_edit_is_refused_for_slacks_reasons(
    slack: SimSlack, bot: WebClient, clock: HandClock
) -> None:
    ts = bot.chat_postMessage(channel=CHANNEL, text="1")["ts"]
    hook(slack, {"text": "not the bot's"})
    edit = {"channel": CHANNEL, "ts": ts, "text": "2"}
    assert word(bot.chat_update, **edit | {"ts": "1.000000"}) == "message_not_found"
    assert word(bot.chat_update, **edit | {"text": "x" * 4_001}) == "msg_too_long"
    foreign = slack.messages()[1].ts
    assert word(bot.chat_update, **edit | {"ts": foreign}) == "cant_update_message"
    slack.channels[CHANNEL].archived = True
    assert word(bot.chat_update, **edit) == "is_inactive"
    slack.channels[CHANNEL].archived = False
    slack.edit_window_s = 60
    clock.move(61)
    assert word(bot.chat_update, **edit) == "edit_window_closed"
    assert slack.messages()[0].text == "1"


def test_a_deleted_message_is_gone(slack: SimSlack, bot: WebClient) -> None:
    ts = bot.chat_postMessage(channel=CHANNEL, text="1")["ts"]
    assert bot.chat_getPermalink(channel=CHANNEL, message_ts=ts)["permalink"].endswith(
        ts.replace(".", "")
    )
    bot.chat_delete(channel=CHANNEL, ts=ts)
    assert slack.messages() == []
    assert word(bot.chat_getPermalink, channel=CHANNEL, message_ts=ts) == "message_not_found"
    assert word(bot.chat_delete, channel=CHANNEL, ts=ts) == "message_not_found"


# -- looking back


@pytest.fixture
def five(slack: SimSlack, bot: WebClient, clock: HandClock) -> list[str]:
    """Five messages a second apart; the third and fourth are replies, the fourth broadcast."""
    stamps: list[str] = []
    for number in range(5):
        thread: dict[str, Any] = {}
        if number in (2, 3):
            thread = {"thread_ts": stamps[1], "reply_broadcast": number == 3}
        metadata = {"event_type": "alert", "event_payload": {"key": str(number)}}
        sent = {"channel": CHANNEL, "text": str(number), "metadata": metadata, **thread}
        stamps.append(bot.chat_postMessage(**sent)["ts"])
        clock.move(1)
    return stamps


def texts(got: Any) -> list[str]:
    return [m["text"] for m in got["messages"]]


def test_history_is_newest_first_and_without_replies(bot: WebClient, five: list[str]) -> None:
    got = bot.conversations_history(channel=CHANNEL)
    assert texts(got) == ["4", "3", "1", "0"]
    assert got["messages"][1]["subtype"] == "thread_broadcast"
    assert got["messages"][2]["thread_ts"] == five[1]  # a parent with replies names itself
    assert got["has_more"] is False


def test_history_keeps_to_its_bounds(bot: WebClient, five: list[str]) -> None:
    bounds: dict[str, Any] = {"channel": CHANNEL, "oldest": five[0], "latest": five[4]}
    assert texts(bot.conversations_history(**bounds)) == ["3", "1"]
    assert texts(bot.conversations_history(**bounds, inclusive=True)) == ["4", "3", "1", "0"]


def test_history_has_pages(bot: WebClient, five: list[str]) -> None:
    first = bot.conversations_history(channel=CHANNEL, limit=3)
    assert (texts(first), first["has_more"]) == (["4", "3", "1"], True)
    cursor = first["response_metadata"]["next_cursor"]
    second = bot.conversations_history(channel=CHANNEL, limit=3, cursor=cursor)
    assert (texts(second), second["has_more"]) == (["0"], False)
    assert word(bot.conversations_history, channel=CHANNEL, cursor="x") == "invalid_cursor"


def test_metadata_comes_whole_only_when_asked_for(bot: WebClient, five: list[str]) -> None:
    part = bot.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
    assert part["metadata"] == {"event_type": "alert"}
    whole = bot.conversations_history(channel=CHANNEL, limit=1, include_all_metadata=True)
    assert whole["messages"][0]["metadata"]["event_payload"] == {"key": "4"}


def test_replies_are_the_parent_and_its_thread_oldest_first(
    bot: WebClient, five: list[str]
) -> None:
    assert texts(bot.conversations_replies(channel=CHANNEL, ts=five[1])) == ["1", "2", "3"]
    later = bot.conversations_replies(channel=CHANNEL, ts=five[1], oldest=five[2])
    assert texts(later) == ["1", "3"]
    assert word(bot.conversations_replies, channel=CHANNEL, ts="1.0") == "thread_not_found"


def test_history_needs_membership(slack: SimSlack, bot: WebClient) -> None:
    slack.channels[CHANNEL].member = False
    assert word(bot.conversations_history, channel=CHANNEL) == "not_in_channel"
