"""The sections of the settings: which keys there are, their defaults, what each may be.

The attributes are the file's keys, described in `config.example.toml`; every length of time is
an int in ms, every address is checked. Nothing changes a section once it is made.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    model_validator,
)

from dlqwatch.config import checks
from dlqwatch.config.errors import refuse
from dlqwatch.config.file import DEFAULT_DATABASE
from dlqwatch.config.holder import Holder, Section, Token, TokenFile, Webhook, WebhookFile
from dlqwatch.durations import parse_duration
from dlqwatch.model import DAY, HOUR, MINUTE, SECOND, Destination, DestinationKind, QueueRules


def _duration(lowest: int, highest: int) -> BeforeValidator:
    return BeforeValidator(lambda v: parse_duration(v, lowest=lowest, highest=highest))


def _whole(lowest: int, highest: int) -> BeforeValidator:
    return BeforeValidator(lambda v: checks.whole(v, lowest, highest))


Poll = Annotated[int, _duration(SECOND, DAY)]
FromZero = Annotated[int, _duration(0, 366 * DAY)]
FromSecond = Annotated[int, _duration(SECOND, 366 * DAY)]
Marks = Annotated[tuple[FromSecond, ...], AfterValidator(lambda v: tuple(sorted(set(v))[::-1]))]
Address = Annotated[str, AfterValidator(checks.optional_address)]


class Cloudflare(Holder):
    """`[cloudflare]`."""

    secret_keys = ("api_token", "operator_token")

    account_id: Annotated[str, AfterValidator(checks.account_id)]
    api_token: Token | None = None
    api_token_file: TokenFile | None = None
    operator_token: Token | None = None
    operator_token_file: TokenFile | None = None
    api_base_url: Annotated[
        str, AfterValidator(checks.service_address), AfterValidator(lambda v: v.rstrip("/"))
    ] = "https://api.cloudflare.com/client/v4"
    timeout: Annotated[int, _duration(SECOND, 30 * SECOND)] = 10 * SECOND

    @model_validator(mode="after")
    def _check(self) -> Self:
        problems = list(self._both())
        if not self._has("api_token"):
            words = "is required: a token with the permission Queues Read (or api_token_file)"
            problems.append((("api_token",), words))
        refuse(problems)
        self._remember()
        return self

    def read_api_token(self) -> str:
        """The watching token; from its file again each time, if it lies in one.

        Raises ConfigError if the file can't be used now.
        """
        return self._read("api_token") or ""

    def read_operator_token(self) -> str | None:
        """The token with Queues Write, if there is one; as `read_api_token`."""
        return self._read("operator_token")


class SlackTarget(Holder):
    """`[slack.fallback]`, and what `[slack]` has in common with it."""

    secret_keys = ("bot_token", "webhook_url")

    webhook_url: Webhook | None = None
    webhook_url_file: WebhookFile | None = None
    bot_token: Token | None = None
    bot_token_file: TokenFile | None = None
    channel: Annotated[str, AfterValidator(checks.channel)] = ""
    mention_critical: tuple[Annotated[str, AfterValidator(checks.mention)], ...] = ()
    api_base_url: Annotated[
        str, AfterValidator(checks.service_address), AfterValidator(lambda v: v.rstrip("/") + "/")
    ] = "https://slack.com/api/"

    @model_validator(mode="after")
    def _check(self) -> Self:
        hook, bot = self._has("webhook_url"), self._has("bot_token")
        problems = list(self._both())
        if hook and bot:
            problems.append(((), "set webhook_url alone, or bot_token and channel, not both"))
        elif hook and self.channel:
            words = "a webhook has its own channel: remove it, or use bot_token"
            problems.append((("channel",), words))
        elif bot and not self.channel:
            words = 'is required beside bot_token: the channel\'s ID, such as "C0123456789"'
            problems.append((("channel",), words))
        elif self.channel and not bot:
            problems.append((("bot_token",), "is required beside channel (or bot_token_file)"))
        elif not hook and not bot:
            problems.append(((), "set webhook_url, or bot_token and channel"))
        refuse(problems)
        self._remember()
        return self

    @property
    def kind(self) -> DestinationKind:
        return DestinationKind.BOT if self._has("bot_token") else DestinationKind.WEBHOOK

    def read_bot_token(self) -> str | None:
        """The bot's token, if it is a bot; from its file again each time. Raises ConfigError."""
        return self._read("bot_token")

    def read_webhook_url(self) -> str | None:
        """The webhook's secret address, if it is one; as `read_bot_token`."""
        return self._read("webhook_url")

    def destination(self, name: str) -> Destination:
        """As the model has it. The fingerprint changes with the address, not with a new token."""
        if self.kind is DestinationKind.BOT:
            address = f"{self.api_base_url} {self.channel}"
        else:
            address = self.read_webhook_url() or ""
        digest = hashlib.sha256(f"{self.kind} {address}".encode()).hexdigest()
        return Destination(
            name=name,
            kind=self.kind,
            fingerprint=digest[:12],
            channel=self.channel,
            mentions=self.mention_critical,
        )


class Slack(SlackTarget):
    """`[slack]`."""

    fallback: SlackTarget | None = None


class Alerts(Section):
    """`[alerts]`: the defaults of every queue."""

    poll_interval: Poll = 30 * SECOND
    threshold: Annotated[int, _whole(1, 10**9)] = 1
    hold_duration: FromZero = 0
    keep_firing_for: FromZero = 60 * SECOND
    group_interval: FromSecond = 15 * MINUTE
    repeat_interval: FromSecond = 24 * HOUR
    repeat_interval_critical: FromSecond = 4 * HOUR
    critical_depth: Annotated[int, _whole(1, 10**9)] = 100
    critical_age: Annotated[str, BeforeValidator(checks.critical_age)] = "50%"
    expiry_warnings: Marks = (24 * HOUR, 6 * HOUR, HOUR)
    blind_after: FromSecond = 5 * MINUTE
    audit_interval: FromSecond = 5 * MINUTE
    source_max_age: FromSecond = HOUR
    runbook_url: Address = ""


QueueName = Annotated[str, AfterValidator(checks.queue_name)]


class Queue(Alerts):
    """One of `[[queues]]`. Any key of `[alerts]` may be set again; what isn't set is `[alerts]`'.

    So read the rules of a queue from `Settings.rules()`, not from here.
    """

    name: QueueName
    source: Annotated[str, AfterValidator(checks.optional_queue_name)] = ""
    max_retries: Annotated[int, _whole(0, 100)] = 5
    retention: Annotated[int | None, _duration(MINUTE, 14 * DAY)] = None
    consumer: bool = False

    def rules(self, alerts: Alerts) -> QueueRules:
        """What holds for this queue: its own keys over those of `[alerts]`."""

        def of(key: str) -> Any:
            return getattr(self if key in self.model_fields_set else alerts, key)

        share, age_ms = checks.critical_age_parts(of("critical_age"))
        return QueueRules(
            name=self.name,
            source=self.source,
            max_retries=self.max_retries,
            poll_ms=of("poll_interval"),
            threshold=of("threshold"),
            hold_ms=of("hold_duration"),
            keep_ms=of("keep_firing_for"),
            group_ms=of("group_interval"),
            repeat_ms=of("repeat_interval"),
            repeat_critical_ms=of("repeat_interval_critical"),
            critical_depth=of("critical_depth"),
            critical_age_share=share,
            critical_age_ms=age_ms,
            expiry_warnings_ms=of("expiry_warnings"),
            blind_after_ms=of("blind_after"),
            audit_ms=of("audit_interval"),
            source_max_age_ms=of("source_max_age"),
            retention_ms=self.retention,
            may_have_consumer=self.consumer,
            runbook_url=of("runbook_url"),
        )


class Heartbeat(Section):
    """`[heartbeat]`. The addresses are half a secret (whoever has one can fake our life)."""

    url: Annotated[Address, Field(repr=False)] = ""
    fail_url: Annotated[Address, Field(repr=False)] = ""
    interval: Annotated[int, _duration(SECOND, DAY)] = MINUTE

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.url and self.url == self.fail_url:
            words = "the same address as url: a failure would pass for a sign of life"
            refuse([(("fail_url",), words)])
        return self


class Server(Section):
    """`[server]`."""

    listen: Annotated[str, AfterValidator(checks.listen)] = "127.0.0.1:8080"


class Database(Section):
    """`[database]`."""

    path: Annotated[str, AfterValidator(checks.file_path)] = DEFAULT_DATABASE
    keep_samples: Annotated[int, _duration(HOUR, 3660 * DAY)] = 90 * DAY


class PublishFailures(Section):
    """`[publish_failures]`: what never reached the queue, counted in the Worker's log."""

    worker: QueueName
    needle: Annotated[str, Field(min_length=1)] = "EVENT_PUBLISH_FAILED"
    interval: Annotated[int, _duration(MINUTE, DAY)] = 5 * MINUTE
