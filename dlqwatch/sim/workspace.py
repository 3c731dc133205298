"""A Slack workspace: channels, webhooks, tokens with scopes, and the messages in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dlqwatch.model import Clock
from dlqwatch.sim.blockkit import pings
from dlqwatch.sim.server import SimServer

BOT_TOKEN = "xoxb-simulated-sImUlAtEdBoTtOkEn0123456"  # no scanner takes it for a real one
CHANNEL = "C0123456789"
BOT_SCOPES = frozenset({"chat:write", "channels:read", "channels:history"})

Blocks = tuple[dict[str, Any], ...]


class SlackError(Exception):
    """A refusal, by its word. `retry_after` (s) makes it a 429; `more` goes into the answer."""

    def __init__(self, word: str, *, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(word)
        self.word = word
        self.retry_after = retry_after
        self.more = more


@dataclass(frozen=True, slots=True)
class Call:
    """One request: a Web API method or "webhook", the channel it is for, when (ms)."""

    method: str
    channel: str
    at: int


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message as it stands now. `edits` holds the (text, blocks) it had before, oldest first."""

    ts: str
    channel: str
    text: str
    blocks: Blocks | None
    thread_ts: str | None  # set on replies only
    reply_broadcast: bool
    metadata: Mapping[str, Any] | None
    via: str  # "webhook" or "bot"
    author: str  # the bot's ID
    posted_at: int
    edited_at: int | None = None
    edits: tuple[tuple[str, Blocks | None], ...] = ()
    attachments: Blocks = ()

    @property
    def pings(self) -> tuple[str, ...]:
        """Whom it notifies: `!here`, `!subteam^S1`, `@U1`."""
        return pings(self.text, self.blocks)

    def as_answered(self, *, full: bool) -> dict[str, Any]:
        """The message object of an answer; metadata's payload only when `full`."""
        shown: dict[str, Any] = {
            "type": "message",
            "ts": self.ts,
            "text": self.text,
            "bot_id": self.author,
            "team": "T0SIM",
        }
        if self.blocks is not None:
            shown["blocks"] = list(self.blocks)
        if self.attachments:
            shown["attachments"] = list(self.attachments)
        if self.thread_ts:
            shown["thread_ts"] = self.thread_ts
        if self.reply_broadcast:
            shown["subtype"] = "thread_broadcast"
        if self.edited_at is not None:
            shown["edited"] = {"user": self.author, "ts": f"{self.edited_at // 1000}.000000"}
        if self.metadata:
            shown["metadata"] = (
                dict(self.metadata) if full else {"event_type": self.metadata["event_type"]}
            )
        return shown


@dataclass(slots=True)
class SimChannel:
    """A channel. `refusal` is the error that every post to it gets; the rest as Slack's words."""

    id: str
    name: str = "alerts"
    private: bool = False
    archived: bool = False
    member: bool = True  # the bots are in it
    refusal: str = ""

    def as_answered(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "is_channel": not self.private,
            "is_private": self.private,
            "is_archived": self.archived,
            "is_member": self.member,
        }


@dataclass(slots=True)
class SimWebhook:
    """An incoming webhook. `error`: what it says instead (`no_service`, `invalid_token`, …)."""

    channel: str
    error: str = ""


@dataclass(slots=True)
class SimBot:
    """A bot token. `error`: what every call with it gets (`token_revoked`, …)."""

    bot_id: str
    scopes: set[str] = field(default_factory=lambda: set(BOT_SCOPES))
    error: str = ""


class WorkspaceServer(SimServer):
    """What Slack keeps. `channels` and `bots` may be changed by hand."""

    def __init__(self, clock: Clock | None = None, *, port: int = 0) -> None:
        super().__init__(clock, port=port)
        self.channel = CHANNEL
        self.bot_token = BOT_TOKEN
        self.channels: dict[str, SimChannel] = {CHANNEL: SimChannel(CHANNEL)}
        self.bots: dict[str, SimBot] = {BOT_TOKEN: SimBot("B0SIMBOT1")}
        self._hooks: dict[str, SimWebhook] = {}
        self._messages: dict[str, SlackMessage] = {}  # by ts, which orders them too
        self._last_us = 0
        self._hook_path = self._new_hook(CHANNEL)

    # -- what a test or a person does

    @property
    def webhook_url(self) -> str:
        """The first webhook, into `channel`. Its path is the secret."""
        return f"{self.url}{self._hook_path}"

    def webhook(self, url: str | None = None) -> SimWebhook:
        """The webhook behind an address (the first one's): set its `error`."""
        return self._hooks[(url or self.webhook_url).removeprefix(self.url)]

    def add_channel(
        self, channel_id: str, name: str = "alerts", *, private: bool = False, member: bool = True
    ) -> SimChannel:
        """Another channel."""
        with self._changed:
            self.channels[channel_id] = SimChannel(channel_id, name, private=private, member=member)
            return self.channels[channel_id]

    def add_webhook(self, channel: str = CHANNEL) -> str:
        """Another webhook; its address."""
        return f"{self.url}{self._new_hook(channel)}"

    def add_bot(self, token: str, scopes: set[str] | None = None) -> SimBot:
        """Another bot, with its own token."""
        with self._changed:
            bot = SimBot(f"B0SIMBOT{len(self.bots) + 1}", set(scopes or BOT_SCOPES))
            self.bots[token] = bot
            return bot

    def messages(self, channel: str | None = None) -> list[SlackMessage]:
        """All messages, replies included, in the order they were posted."""
        with self._changed:
            return [m for m in self._messages.values() if channel in (None, m.channel)]

    def remove(self, ts: str, channel: str | None = None) -> None:
        """Someone deletes a message; replies to it stay."""
        with self._changed:
            if self._find(channel or self.channel, ts) is None:
                raise LookupError(f"there is no message {ts}")
            del self._messages[ts]
            self._changed.notify_all()

    @property
    def times(self) -> list[Call]:
        """Every request so far: what it asked, of which channel, and when."""
        with self._changed:
            return [self._as_call(request) for request in self.requests]

    def _as_call(self, request: Any) -> Call:
        hook = self._hooks.get(request.path)
        if hook is not None:
            return Call("webhook", hook.channel, request.at)
        channel = str(request.args.get("channel", ""))
        return Call(request.path.removeprefix("/api/"), channel, request.at)

    # -- for the API

    def _new_hook(self, channel: str) -> str:
        if channel not in self.channels:
            raise LookupError(f"there is no channel {channel}: add_channel first")
        number = len(self._hooks) + 1
        path = f"/services/T0SIMTEAM/B0SIMHOOK{number}/sImUlAtEdWeBhOoKsEcReT{number:02d}"
        self._hooks[path] = SimWebhook(channel)
        return path

    def scopes(self, token: str) -> set[str]:
        return self.bots[token].scopes

    def bot_id(self, token: str) -> str:
        return self.bots[token].bot_id

    def _authenticate(self, token: str) -> set[str]:
        if not token:
            raise SlackError("not_authed")
        bot = self.bots.get(token)
        if bot is None:
            raise SlackError("invalid_auth")
        if bot.error:
            raise SlackError(bot.error)
        return bot.scopes

    def _need(self, token: str, scopes: tuple[str, ...]) -> None:
        granted = self.scopes(token)
        for scope in scopes:
            if scope not in granted:
                provided = ",".join(sorted(granted))
                raise SlackError("missing_scope", needed=scope, provided=provided)

    def _channel(self, args: Mapping[str, Any]) -> SimChannel:
        channel = self.channels.get(str(args.get("channel", "")))
        if channel is None:
            raise SlackError("channel_not_found")
        return channel

    def _find(self, channel: str, ts: str) -> SlackMessage | None:
        message = self._messages.get(ts)
        return message if message is not None and message.channel == channel else None

    def _add(self, channel: str, text: str, blocks: Blocks | None, **more: Any) -> SlackMessage:
        now = self.clock.now()
        # unique and increasing also when the clock steps back
        self._last_us = max(now * 1000, self._last_us + 1)
        ts = f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"
        message = SlackMessage(ts, channel, text, blocks, posted_at=now, **more)
        self._messages[ts] = message
        return message

    def _edit(self, message: SlackMessage, **new: Any) -> SlackMessage:
        before = (*message.edits, (message.text, message.blocks))
        edited = replace(message, edits=before, edited_at=self.clock.now(), **new)
        self._messages[message.ts] = edited
        return edited

    # -- control

    def act(self, method: str, action: str, args: dict[str, Any]) -> Any:
        if (method, action) == ("GET", "messages"):
            return [asdict(m) for m in self.messages(args.get("channel"))]
        if method == "POST" and action in ("channel", "webhook", "bot"):
            things: dict[str, Any] = {
                "channel": self.channels[self.channel],
                "webhook": self.webhook(),
                "bot": self.bots[self.bot_token],
            }
            for name, value in args.items():
                if not hasattr(things[action], name):
                    raise LookupError(f"a {action} has no {name}")
                setattr(things[action], name, set(value) if name == "scopes" else value)
            return {}
        if (method, action) == ("GET", "state"):
            return {
                "channels": [c.as_answered() for c in self.channels.values()],
                "messages": len(self._messages),
            }
        return super().act(method, action, args)
