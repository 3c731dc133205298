"""One attempt at a destination, and what its answer means. Both kinds are first class."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol
from urllib.error import URLError

from slack_sdk.errors import SlackApiError

from dlqwatch.decide.outcomes import (
    Answer,
    Probe,
    answer_lost,
    api_answer,
    bot_probe,
    not_sent,
    webhook_answer,
    webhook_probe,
)
from dlqwatch.decide.retry_after import parse_retry_after
from dlqwatch.edges.slack_wire import BotWire, WebhookWire
from dlqwatch.errors import ConfigError
from dlqwatch.facts import Payload
from dlqwatch.model import Clock, Outcome
from dlqwatch.words.slack import receipt_key

LOOK_BACK_S = 120  # our clock and Slack's may differ by a minute before anyone is told
LOOK_PAGES = 5
LOOK_LIMIT = 100

# The token works, but may not read this channel's history. Anything else may pass.
MAY_NOT_LOOK = frozenset(
    {
        "missing_scope",
        "not_in_channel",
        "channel_not_found",
        "no_permission",
        "access_denied",
        "not_allowed_token_type",
        "unknown_method",
        "method_deprecated",
    }
)


class Speaker(Protocol):
    """A destination as the courier sees it. No call raises."""

    def post(
        self,
        payload: Payload,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        receipt: Mapping[str, object] | None = None,
    ) -> Answer: ...

    def edit(self, channel: str, ts: str, payload: Payload) -> Answer: ...

    def probe(self) -> Probe: ...

    def look(self, key: str, *, since: int, thread_ts: str | None = None) -> Answer: ...


class Webhook:
    """An incoming webhook: separate messages, nothing to edit, nothing to look up."""

    def __init__(self, url: Callable[[], str], context: ssl.SSLContext, clock: Clock) -> None:
        self._url = url
        self._context = context
        self._clock = clock

    def post(
        self,
        payload: Payload,
        *,
        thread_ts: str | None = None,  # noqa: ARG002
        broadcast: bool = False,  # noqa: ARG002
        receipt: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> Answer:
        """Post one message."""
        body: dict[str, Any] = {
            "text": payload.text,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if payload.blocks is not None:
            body["blocks"] = list(payload.blocks)
        try:
            answer = WebhookWire(self._url(), self._context).send_dict(body)
        except Exception as error:
            return _no_answer(error)
        retry = _header(answer.headers, "retry-after")
        return webhook_answer(
            answer.status_code, answer.body, parse_retry_after(retry, self._clock.now())
        )

    def probe(self) -> Probe:
        """Is the webhook there? An empty message, which Slack refuses: nothing is posted."""
        try:
            answer = WebhookWire(self._url(), self._context).send_dict({"text": None})
        except Exception as error:
            return Probe(replace(_no_answer(error), outcome=Outcome.TEMPORARY))
        retry = _header(answer.headers, "retry-after")
        return webhook_probe(
            answer.status_code, answer.body, parse_retry_after(retry, self._clock.now())
        )

    def edit(self, channel: str, ts: str, payload: Payload) -> Answer:  # noqa: ARG002
        """A webhook can't edit; no card of it is ever made."""
        return Answer(Outcome.TARGET_GONE, "a webhook can't edit")

    def look(self, key: str, *, since: int, thread_ts: str | None = None) -> Answer:  # noqa: ARG002
        """A webhook can't look."""
        return Answer(Outcome.NEEDS_PERSON, "a webhook can't look")


class Bot:
    """A bot token and a channel: cards that are edited, threads, and a history to look at."""

    def __init__(
        self,
        token: Callable[[], str],
        channel: str,
        base_url: str,
        context: ssl.SSLContext,
        clock: Clock,
    ) -> None:
        self._token = token
        self._channel = channel
        self._base_url = base_url
        self._context = context
        self._clock = clock

    def post(
        self,
        payload: Payload,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        receipt: Mapping[str, object] | None = None,
    ) -> Answer:
        """chat.postMessage. A reply without `broadcast` reaches only who follows the thread."""
        arguments: dict[str, Any] = {
            "channel": self._channel,
            **_content(payload),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if thread_ts is not None:
            arguments["thread_ts"] = thread_ts
            arguments["reply_broadcast"] = broadcast
        if receipt is not None:
            arguments["metadata"] = dict(receipt)
        answer, _, _ = self._call("chat.postMessage", arguments)
        return answer

    def edit(self, channel: str, ts: str, payload: Payload) -> Answer:
        """chat.update. `channel` is the ID that the post's answer gave."""
        answer, _, _ = self._call(
            "chat.update", {"channel": channel or self._channel, "ts": ts, **_content(payload)}
        )
        return answer

    def probe(self) -> Probe:
        """Does the token work, is the channel there and open to it, which scopes are missing?"""
        auth, identity, headers = self._call("auth.test", {})
        if auth.outcome is not Outcome.DELIVERED:
            return bot_probe(auth, {}, Answer(Outcome.DELIVERED), {}, None)
        listed = _header(headers, "x-oauth-scopes")
        scopes = None if listed is None else frozenset(s.strip() for s in listed.split(","))
        info, data, _ = self._call("conversations.info", {"channel": self._channel}, read=True)
        channel = data.get("channel")
        return bot_probe(
            auth, identity, info, channel if isinstance(channel, Mapping) else {}, scopes
        )

    def look(self, key: str, *, since: int, thread_ts: str | None = None) -> Answer:
        """Is the message with this receipt in the channel (or the thread) since `since` (ms)?

        DELIVERED: yes, with its ts. TARGET_GONE: no. NEEDS_PERSON: this token may not look.
        """
        places: list[tuple[str, dict[str, Any]]] = [("conversations.history", {})]
        if thread_ts is not None:
            places.insert(0, ("conversations.replies", {"ts": thread_ts}))
        for method, extra in places:
            answer = self._search(method, extra, key, since)
            if answer.outcome is not Outcome.TARGET_GONE:
                return answer
        return Answer(Outcome.TARGET_GONE, "not in the channel")

    def _search(self, method: str, extra: dict[str, Any], key: str, since: int) -> Answer:
        cursor = ""
        for _ in range(LOOK_PAGES):
            arguments: dict[str, Any] = {
                "channel": self._channel,
                "oldest": f"{since / 1000 - LOOK_BACK_S:.6f}",
                "include_all_metadata": True,
                "limit": LOOK_LIMIT,
                **extra,
            }
            if cursor:
                arguments["cursor"] = cursor
            answer, data, _ = self._call(method, arguments, read=True)
            if answer.outcome is not Outcome.DELIVERED:
                if answer.error in MAY_NOT_LOOK:
                    return Answer(Outcome.NEEDS_PERSON, f"{method}: {answer.error}")
                if answer.outcome is Outcome.TARGET_GONE:
                    return answer
                return Answer(
                    Outcome.TEMPORARY, f"{method}: {answer.error}", retry_at=answer.retry_at
                )
            messages = data.get("messages")
            if not isinstance(messages, list):
                return Answer(Outcome.TEMPORARY, f"{method}: no list of messages")
            found = _with_receipt(messages, key)
            if found is not None:
                return Answer(
                    Outcome.DELIVERED,
                    channel=self._channel,
                    ts=str(found.get("ts", "")),
                    threaded=found.get("thread_ts") not in (None, found.get("ts")),
                )
            metadata = data.get("response_metadata")
            cursor = str(metadata.get("next_cursor") or "") if isinstance(metadata, Mapping) else ""
            if not cursor:
                return Answer(Outcome.TARGET_GONE, "not there")
        return Answer(Outcome.NEEDS_PERSON, f"{method}: too many messages to look through")

    def _call(
        self, method: str, arguments: dict[str, Any], *, read: bool = False
    ) -> tuple[Answer, Mapping[str, Any], Mapping[str, Any]]:
        """The answer's meaning, its body and its headers."""
        now = self._clock.now()
        how: dict[str, Any] = {"params": arguments} if read else {"json": arguments}
        try:
            wire = BotWire(self._token(), self._base_url, self._context)
            response = wire.api_call(method, **how)
        except SlackApiError as error:
            response = error.response
        except Exception as error:
            return _no_answer(error), {}, {}
        data = response.data if isinstance(response.data, dict) else {}
        retry_at = parse_retry_after(_header(response.headers, "retry-after"), now)
        return api_answer(response.status_code, data, retry_at), data, response.headers


def _content(payload: Payload) -> dict[str, Any]:
    """Text alone must also take away the blocks that an edited message had."""
    return {"text": payload.text, "blocks": list(payload.blocks or ())}


def _with_receipt(messages: list[Any], key: str) -> Mapping[str, Any] | None:
    for message in messages:
        if isinstance(message, Mapping) and receipt_key(message.get("metadata")) == key:
            return message
    return None


def _header(headers: Mapping[str, Any], name: str) -> str | None:
    for key, value in headers.items():
        if key.lower() == name:
            return str(value[0] if isinstance(value, list) and value else value)
    return None


def _no_answer(error: Exception) -> Answer:
    """Could Slack have seen it? Only the class is told: the text may hold a secret."""
    if isinstance(error, ConfigError):  # its secret's file can't be read now
        return not_sent(error.what)
    reason = error.reason if isinstance(error, URLError) else error
    name = type(reason).__name__
    if isinstance(error, URLError):
        # urllib wraps what happens before the answer is awaited
        if isinstance(reason, socket.gaierror):
            return not_sent("the name can't be resolved")
        if isinstance(reason, ConnectionRefusedError):
            return not_sent("connection refused")
        if isinstance(reason, ssl.SSLCertVerificationError):
            return not_sent("its certificate isn't trusted")
        if isinstance(reason, TimeoutError):
            return not_sent("no connection in time")
        if isinstance(reason, OSError) and not isinstance(reason, ConnectionError):
            return not_sent(f"no connection ({name})")
    return answer_lost(f"no answer ({name})")
