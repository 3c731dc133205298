"""The settings: `config.toml`, environment, secret files. All may read them; nothing changes them.

`find_config` and `load` are the way in. Sections and keys: `sections.py`.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from dlqwatch.config.errors import Sources, explain, refuse, schema_of, unknown_key
from dlqwatch.config.file import find_config, parse_toml, read_text
from dlqwatch.config.lines import KeyPath, key_lines
from dlqwatch.config.secrets import SECRETS_DIR
from dlqwatch.config.sections import (
    Alerts,
    Cloudflare,
    Database,
    Heartbeat,
    PublishFailures,
    Queue,
    Server,
    Slack,
)
from dlqwatch.config.sources import Variables, from_secrets_dir, higher_wins
from dlqwatch.config.variables import check_variables
from dlqwatch.durations import show_duration
from dlqwatch.errors import ConfigError
from dlqwatch.model import MINUTE, SECOND, Destination, PublishWatch, QueueRules

__all__ = ["Settings", "find_config", "load"]

# Cloudflare allows 1,200 calls per 5 minutes to all tokens of one person together; half is left
# to the people and their other tools.
CALLS_WINDOW = 5 * MINUTE
CALLS_ALLOWED = 600
CALLS_PER_AUDIT = 4  # settings twice (one for the poll), the source, its backlog

# Keys whose promise isn't built yet: validated, and told by `check` and at the start.
NOT_BUILT = (
    "cloudflare.operator_token",
    "cloudflare.operator_token_file",
    "server.listen",
)


class Settings(BaseSettings):
    """All settings, checked. Made by `load`; made directly it takes its arguments alone."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=False
    )

    cloudflare: Cloudflare
    slack: Slack
    alerts: Alerts = Alerts()
    queues: tuple[Queue, ...] = Field(
        default=(Queue(name="nemo12-events-dlq", source="nemo12-events", max_retries=5),)
    )
    heartbeat: Heartbeat = Heartbeat()
    server: Server = Server()
    database: Database = Database()
    publish_failures: PublishFailures | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse([*_queue_problems(self), *_budget_problems(self), *_slack_problems(self)])
        return self

    def rules(self) -> tuple[QueueRules, ...]:
        """What holds for each queue, in the file's order."""
        return tuple(queue.rules(self.alerts) for queue in self.queues)

    def daemon_rules(self) -> QueueRules:
        """`[alerts]` alone, for what concerns dlqwatch itself."""
        return Queue(name="dlqwatch").rules(self.alerts)

    def publish_watch(self) -> PublishWatch | None:
        """What is counted in a Worker's log; None: nothing."""
        found = self.publish_failures
        return PublishWatch(found.worker, found.needle, found.interval) if found else None

    def destinations(self) -> tuple[Destination, ...]:
        """`slack`, then `slack.fallback` if there is one. Raises ConfigError as `read_…` does."""
        found = [self.slack.destination("slack")]
        if self.slack.fallback is not None:
            found.append(self.slack.fallback.destination("slack.fallback"))
        return tuple(found)

    def secrets(self) -> tuple[str, ...]:
        """Every secret seen so far, earlier contents of secret files too, the longest first.

        For redaction: reads no file, so it may be asked anew for every line. An address's path
        and query are some as well, since libraries log them without the host.
        """
        holders = [self.cloudflare, self.slack, self.slack.fallback]
        seen = {value for holder in holders if holder is not None for value in holder.seen()}
        seen |= {self.heartbeat.url, self.heartbeat.fail_url} - {""}
        addresses = [urlsplit(value) for value in seen if "://" in value]
        parts = {part for address in addresses for part in (address.path, address.query)}
        return tuple(sorted(seen | {part for part in parts if len(part) > 15}, key=len)[::-1])

    def not_acted_on(self) -> tuple[str, ...]:
        """The keys somebody has set whose promise isn't built yet."""
        return tuple(key for key in NOT_BUILT if self._is_set(key))

    def fingerprint(self) -> str:
        """Changes when any setting but the value of a secret does."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _is_set(self, key: str) -> bool:
        here: Any = self
        for name in key.split("."):
            if name not in here.model_fields_set:
                return False
            here = getattr(here, name)
        return bool(here)


def _queue_problems(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    if not settings.queues:
        yield ("queues",), "at least one queue must be watched"
    seen: dict[str, int] = {}
    for index, queue in enumerate(settings.queues):
        first = seen.setdefault(queue.name, index)
        if first != index:
            yield ("queues", index, "name"), f"the same queue as queues[{first}]"
        if queue.source == queue.name:
            words = "the dead-letter queue itself: it takes the queue whose dead letters land there"
            yield ("queues", index, "source"), words
        rules = queue.rules(settings.alerts)
        if rules.blind_after_ms < rules.poll_ms:
            key = "blind_after" if "blind_after" in queue.model_fields_set else "poll_interval"
            own = key in queue.model_fields_set
            yield (
                ("queues", index, key) if own else ("alerts", key),
                f"blind_after ({show_duration(rules.blind_after_ms)}) is shorter than poll_interval"
                f" ({show_duration(rules.poll_ms)}): between two polls dlqwatch would seem blind",
            )


def _budget_problems(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    rules = settings.rules()
    polls = sum(CALLS_WINDOW / r.poll_ms for r in rules)
    audits = sum(CALLS_PER_AUDIT * CALLS_WINDOW / r.audit_ms for r in rules)
    watch = settings.publish_watch()
    counts = CALLS_WINDOW / watch.interval_ms if watch is not None else 0.0
    if polls + audits + counts < CALLS_ALLOWED:
        return
    left = CALLS_ALLOWED - audits - counts
    seconds = int(len(rules) * CALLS_WINDOW / SECOND / left) + 1 if left > 0 else 0
    what = (
        f"a poll_interval of {show_duration(seconds * SECOND)} for all would do"
        if seconds
        else "raise audit_interval first"
    )
    yield (
        ("alerts", "poll_interval"),
        f"{len(rules)} queue{'s' if len(rules) != 1 else ''} would make"
        f" {polls + audits + counts:.0f} calls"
        f" to Cloudflare per 5 minutes ({polls:.0f} polls, one per poll_interval, and"
        f" {audits:.0f} for audits, {CALLS_PER_AUDIT} per audit_interval"
        + (f", and {counts:.0f} for publish_failures" if watch is not None else "")
        + "); they must stay under"
        f" {CALLS_ALLOWED}, half of Cloudflare's limit: {what}",
    )


def _slack_problems(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    fingerprints = [d.fingerprint for d in settings.destinations()]
    if len(set(fingerprints)) < len(fingerprints):
        yield ("slack", "fallback"), "the same address as [slack]: it would break with it"


SCHEMA = schema_of(Settings)


def load(
    path: Path,
    env: Mapping[str, str] | None = None,
    *,
    secrets_dir: str = SECRETS_DIR,
) -> Settings:
    """The settings: environment over secret files over `path`.

    Raises ConfigError that holds every problem found, one line each; never a secret.
    """
    text = read_text(path)
    toml = copy.deepcopy(parse_toml(path, text))
    variables, problems = check_variables(os.environ if env is None else env, SCHEMA)
    files, file_places, file_problems = from_secrets_dir(secrets_dir, SCHEMA)
    problems += file_problems
    sources = Sources(str(path), key_lines(text), SCHEMA, frozenset(variables), file_places)
    # pydantic-settings takes a file's tables in any case; its own refusal sees to the others.
    for name in [name for name in toml if name not in SCHEMA and name.lower() in SCHEMA]:
        del toml[name]
        problems.append(f"{sources.place((name,))}{unknown_key((name,), SCHEMA)}")
    higher_wins(SCHEMA, variables, files, toml)

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
            dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
            file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (
                init_settings,
                Variables(settings_cls, variables),
                Variables(settings_cls, files),
                InitSettingsSource(settings_cls, toml),
            )

    Loaded.__name__ = Settings.__name__
    settings: Settings | None = None
    try:
        settings = Loaded()  # type: ignore[call-arg]
    except ValidationError as error:
        problems += explain(error, sources)
    if settings is None or problems:
        raise ConfigError("\n".join(problems))
    return settings
