"""config.example.toml is the manual: complete, true, and it loads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from dlqwatch.config.sections import PublishFailures, SlackTarget
from dlqwatch.config.settings import SCHEMA, Settings
from dlqwatch.config.variables import all_variables
from dlqwatch.durations import parse_duration
from tests.configs import ACCOUNT, HOOK, TOKEN, refusal, settings

TEXT = (Path(__file__).parent.parent / "config.example.toml").read_text(encoding="utf-8")
# A key or a table that is commented out has no space behind the "#"; a sentence has.
WHOLE: dict[str, Any] = tomllib.loads(re.sub(r"^#(?=[a-z_\[])", "", TEXT, flags=re.M))
FILLED = (
    TEXT.replace('account_id = ""', f'account_id = "{ACCOUNT}"', 1)
    .replace('api_token = ""', f'api_token = "{TOKEN}"', 1)
    .replace('webhook_url = ""', f'webhook_url = "{HOOK}"', 1)
)


def test_it_loads_once_the_three_lines_are_filled_in_and_changes_no_default(
    tmp_path: Path,
) -> None:
    minimal = f'[cloudflare]\naccount_id = "{ACCOUNT}"\napi_token = "{TOKEN}"\n[slack]\n'
    plain = settings(tmp_path, minimal + f'webhook_url = "{HOOK}"\n')
    assert settings(tmp_path, FILLED).fingerprint() == plain.fingerprint()


def test_it_loads_with_every_comment_taken_away_that_has_a_value(tmp_path: Path) -> None:
    text = re.sub(r"^#(?=[a-z_]+ = )(?!.* = \"\")", "", FILLED, flags=re.M)
    text = re.sub(r"^#(?=\[\[queues)", "", text, flags=re.M)
    blocks = [b for b in text.split("\n\n") if not re.search(r"^#\[", b, re.M)]
    assert refusal(tmp_path, "\n\n".join(blocks)) == []


def test_it_shows_every_key_and_no_other() -> None:
    def keys(table: dict[str, Any], at: str = "") -> set[str]:
        found = set()
        for name, inner in table.items():
            first = inner[0] if isinstance(inner, list) and inner else inner
            is_table = isinstance(first, dict)
            found |= keys(first, f"{at}{name}.") if is_table else {f"{at}{name}"}
        return found

    every = {
        ".".join(map(str, path))
        for path in all_variables(SCHEMA).values()
        if not isinstance(_at(SCHEMA, path), dict | list)
    }
    # the rest of a queue's are those of [alerts]
    own = {f"queues.{key}" for key in ("name", "source", "max_retries", "retention", "consumer")}
    assert keys(WHOLE) == every | own


def test_every_default_it_shows_is_the_code_s() -> None:
    shown = {name: dict(table) for name, table in WHOLE.items() if name != "queues"}
    fallback = shown["slack"].pop("fallback")
    for name, table in shown.items():
        field = Settings.model_fields[name]
        model = PublishFailures if name == "publish_failures" else field.annotation
        _same(table, model)
    _same(fallback, SlackTarget)
    (queue,) = WHOLE["queues"]
    unset = {key: None if value == "" else value for key, value in queue.items()}
    assert [q.model_dump(include=set(queue)) for q in _default_queues()] == [unset]


def test_every_key_has_a_meaning_or_stands_under_one_that_has() -> None:
    """The keys without a comment are those whose table, twin or value says it all."""
    bare = {
        match[1] for line in TEXT.splitlines() if (match := re.match(r"#?([a-z_]+) = [^#]*$", line))
    }
    assert bare <= {
        "api_base_url", "operator_token_file", "webhook_url_file", "bot_token_file", "interval",
        "path", "name", "webhook_url", "bot_token", "channel", "mention_critical",
    }  # fmt: skip


def _default_queues() -> tuple[Any, ...]:
    return tuple(Settings.model_fields["queues"].default)


def _at(schema: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        schema = schema[part]
    return schema


def _same(table: dict[str, Any], model: Any) -> None:
    for key, value in table.items():
        default = model.model_fields[key].get_default()
        if model.model_fields[key].is_required() or default is None:
            assert value == "", key
        elif isinstance(default, int) and isinstance(value, str):
            assert parse_duration(value) == default, key
        elif key == "expiry_warnings":
            assert tuple(map(parse_duration, value)) == default
        elif isinstance(default, tuple):
            assert tuple(value) == default, key
        else:
            assert value == default, key
