"""The Web API's methods: arguments and token in, what goes beside `ok: true` out.

A refusal is a `SlackError`. Who may do what, and when, is as Slack documents it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dlqwatch.model import Clock
from dlqwatch.sim.blockkit import MAX_ATTACHMENTS, MAX_MARKDOWN, judge
from dlqwatch.sim.workspace import SimChannel, SlackError, SlackMessage, WorkspaceServer

UPDATE_TEXT = 4_000  # documented for chat.update
SPLIT_TEXT = 4_000  # a longer text without blocks becomes several messages
HISTORY_SCOPES = ("channels:history", "groups:history")
READ_SCOPES = ("channels:read", "groups:read")


class WebApiServer(WorkspaceServer):
    """Posting, editing and reading. Switches: see `SimSlack`."""

    def __init__(self, clock: Clock | None = None, *, port: int = 0) -> None:
        super().__init__(clock, port=port)
        self.one_per_second = False
        self.edit_window_s: float | None = None
        self.missing_parent: str | None = None
        self.metadata_limit = 16_000  # bytes of JSON; Slack has a limit and documents none
        self._posted_at: dict[str, float] = {}  # by channel, monotonic seconds

    def call(self, method: str, args: dict[str, Any], token: str) -> dict[str, Any]:
        methods = {
            "auth.test": self._auth_test,
            "chat.postMessage": self._post_message,
            "chat.update": self._update,
            "chat.delete": self._delete,
            "chat.getPermalink": self._permalink,
            "conversations.info": self._info,
            "conversations.history": self._history,
            "conversations.replies": self._replies,
        }
        if method not in methods:
            raise SlackError("unknown_method", req_method=method)
        return methods[method](args, token)

    # -- posting and editing

    def _throttle(self, channel: SimChannel) -> None:
        if self.one_per_second:
            now = self.clock.monotonic()
            if now < self._posted_at.get(channel.id, now - 1) + 1:
                raise SlackError("ratelimited", retry_after=1)
            self._posted_at[channel.id] = now

    def _content(self, args: dict[str, Any]) -> tuple[str, Any, list[Any]]:
        """Text, blocks (None: not sent) and attachments, judged."""
        text, markdown = args.get("text") or "", args.get("markdown_text")
        blocks = args.get("blocks") if args.get("blocks") != [] else None
        attachments = args.get("attachments") or []
        if not isinstance(text, str) or not isinstance(attachments, list):
            raise SlackError("invalid_arguments")
        if markdown is not None:
            if text or blocks:
                raise SlackError("markdown_text_conflict")
            if len(markdown) > MAX_MARKDOWN:
                raise SlackError("msg_too_long")
            text = markdown
        if blocks is not None and not isinstance(blocks, list):
            raise SlackError("invalid_blocks_format")
        if len(attachments) > MAX_ATTACHMENTS:
            raise SlackError("too_many_attachments")
        if not text.strip() and not blocks and not attachments:
            raise SlackError("no_text")
        wrong = judge(blocks, attachments)
        if wrong:
            told = {"messages": [f"[ERROR] {words}" for words in wrong]}
            raise SlackError("invalid_blocks", errors=wrong, response_metadata=told)
        return text, blocks, attachments

    def _metadata(self, args: dict[str, Any]) -> Any:
        metadata = args.get("metadata")
        if metadata is None or metadata == {}:
            return metadata
        if not (
            isinstance(metadata, dict)
            and isinstance(metadata.get("event_type"), str)
            and isinstance(metadata.get("event_payload"), dict)
        ):
            raise SlackError("invalid_metadata_format")
        if len(json.dumps(metadata)) > self.metadata_limit:
            raise SlackError("metadata_too_large")
        return metadata

    def _store(
        self, channel: SimChannel, args: dict[str, Any], *, via: str, author: str
    ) -> SlackMessage:
        text, blocks, attachments = self._content(args)
        self._throttle(channel)
        thread_ts = args.get("thread_ts")
        if thread_ts:
            parent = self._find(channel.id, str(thread_ts))
            if parent is None and self.missing_parent:
                raise SlackError(self.missing_parent)
            thread_ts = (parent.thread_ts or parent.ts) if parent else None
        parts = [text]
        if blocks is None and len(text) > SPLIT_TEXT:
            parts = [text[i : i + SPLIT_TEXT] for i in range(0, len(text), SPLIT_TEXT)]
        metadata = self._metadata(args) if via == "bot" else None  # undocumented for webhooks
        stored = [
            self._add(
                channel.id,
                part,
                None if blocks is None else tuple(blocks),
                attachments=tuple(attachments),
                thread_ts=thread_ts or None,
                reply_broadcast=bool(thread_ts) and _true(args.get("reply_broadcast")),
                metadata=metadata or None,
                via=via,
                author=author,
            )
            for part in parts
        ]
        return stored[0]

    def _post_message(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        self._need(token, ("chat:write",))
        channel = self._channel(args)
        if not channel.member and (
            channel.private or "chat:write.public" not in self.scopes(token)
        ):
            raise SlackError("channel_not_found" if channel.private else "not_in_channel")
        if channel.archived:
            raise SlackError("is_archived")
        if channel.refusal:
            raise SlackError(channel.refusal)
        message = self._store(channel, args, via="bot", author=self.bot_id(token))
        return {"channel": channel.id, "ts": message.ts, "message": message.as_answered(full=True)}

    def _own(self, args: dict[str, Any], token: str, cannot: str) -> SlackMessage:
        self._need(token, ("chat:write",))
        channel = self._channel(args)
        message = self._find(channel.id, str(args.get("ts", "")))
        if message is None:
            raise SlackError("message_not_found")
        if message.author != self.bot_id(token):
            raise SlackError(cannot)
        if channel.archived:
            raise SlackError("is_inactive")
        return message

    def _update(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        message = self._own(args, token, "cant_update_message")
        age_ms = self.clock.now() - message.posted_at
        if self.edit_window_s is not None and age_ms > self.edit_window_s * 1000:
            raise SlackError("edit_window_closed")
        kept = {} if "attachments" in args else {"attachments": list(message.attachments)}
        text, blocks, attachments = self._content({**args, **kept})
        if len(text) > UPDATE_TEXT:
            raise SlackError("msg_too_long")
        metadata = self._metadata(args)
        edited = self._edit(
            message,
            # text without blocks removes the blocks; blocks alone keep the text
            text=text if "text" in args or "markdown_text" in args else message.text,
            blocks=None if blocks is None else tuple(blocks),
            attachments=tuple(attachments),
            metadata=message.metadata if metadata is None else (metadata or None),
        )
        answered = edited.as_answered(full=True)
        return {
            "channel": edited.channel,
            "ts": edited.ts,
            "text": edited.text,
            "message": answered,
        }

    def _delete(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        message = self._own(args, token, "cant_delete_message")
        self.remove(message.ts, message.channel)
        return {"channel": message.channel, "ts": message.ts}

    # -- reading

    def _permalink(self, args: dict[str, Any], token: str) -> dict[str, Any]:  # noqa: ARG002
        channel = self._channel(args)
        ts = str(args.get("message_ts", ""))
        if self._find(channel.id, ts) is None:
            raise SlackError("message_not_found")
        link = f"https://sim.slack.com/archives/{channel.id}/p{ts.replace('.', '')}"
        return {"channel": channel.id, "permalink": link}

    def _auth_test(self, args: dict[str, Any], token: str) -> dict[str, Any]:  # noqa: ARG002
        return {
            "url": "https://sim.slack.com/",
            "team": "Simulated",
            "user": "dlqwatch",
            "team_id": "T0SIM",
            "user_id": "U0SIMBOT",
            "bot_id": self.bot_id(token),
            "is_enterprise_install": False,
        }

    def _readable(self, args: dict[str, Any], token: str, scopes: tuple[str, str]) -> SimChannel:
        channel = self._channel(args)
        self._need(token, scopes[1:] if channel.private else scopes[:1])
        if channel.private and not channel.member:
            raise SlackError("channel_not_found")
        return channel

    def _info(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        return {"channel": self._readable(args, token, READ_SCOPES).as_answered()}

    def _history(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        channel = self._readable(args, token, HISTORY_SCOPES)
        if not channel.member:
            raise SlackError("not_in_channel")
        seen = [m for m in self.messages(channel.id) if not m.thread_ts or m.reply_broadcast]
        return self._page(list(reversed(seen)), args)

    def _replies(self, args: dict[str, Any], token: str) -> dict[str, Any]:
        channel = self._readable(args, token, HISTORY_SCOPES)
        if not channel.member:
            raise SlackError("not_in_channel")
        parent = self._find(channel.id, str(args.get("ts", "")))
        if parent is None:
            raise SlackError("thread_not_found")
        root = parent.thread_ts or parent.ts
        thread = [m for m in self.messages(channel.id) if root in (m.ts, m.thread_ts)]
        return self._page(thread, args, root=root)

    def _page(
        self, messages: Sequence[SlackMessage], args: dict[str, Any], root: str = ""
    ) -> dict[str, Any]:
        """One page within `oldest`, `latest` and `inclusive`; `root` is always inside."""
        inclusive = _true(args.get("inclusive"))
        oldest, latest = (_number(args.get(name)) for name in ("oldest", "latest"))
        inside = [
            m
            for m in messages
            if m.ts == root
            or (
                (not oldest or float(m.ts) > oldest or (inclusive and float(m.ts) == oldest))
                and (not latest or float(m.ts) < latest or (inclusive and float(m.ts) == latest))
            )
        ]
        limit = min(int(_number(args.get("limit"))) or 100, 999)
        cursor = str(args.get("cursor") or "")
        number = cursor.removeprefix("next:")
        if cursor and not number.isdigit():
            raise SlackError("invalid_cursor")
        start = int(number or 0)
        shown = inside[start : start + limit]
        full = _true(args.get("include_all_metadata"))
        roots = {m.thread_ts for m in self.messages()}  # a parent with replies names itself
        more = start + limit < len(inside)
        return {
            "messages": [
                m.as_answered(full=full) | ({"thread_ts": m.ts} if m.ts in roots else {})
                for m in shown
            ],
            "has_more": more,
            "response_metadata": {"next_cursor": f"next:{start + limit}" if more else ""},
        }


def _true(value: Any) -> bool:
    return value in (True, 1, "1", "true", "True")


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        raise SlackError("invalid_arguments") from None
