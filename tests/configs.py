"""Configurations that the settings' tests start from, and how they load them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dlqwatch.config.settings import Settings, load
from dlqwatch.errors import ConfigError

ACCOUNT = "0123456789abcdef0123456789abcdef"
TOKEN = "canary-api-token"
HOOK = "https://hooks.slack.com/services/T0CANARY/B0CANARY/canary"
CLOUDFLARE = f'[cloudflare]\naccount_id = "{ACCOUNT}"\napi_token = "{TOKEN}"\n'
SLACK = f'[slack]\nwebhook_url = "{HOOK}"\n'
BASE = CLOUDFLARE + SLACK  # five lines: what a test adds starts at line 6


def settings(
    tmp_path: Path,
    text: str = BASE,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> Settings:
    """`text` as config.toml, `files` as the secrets directory, loaded."""
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    secrets = tmp_path / "secrets"
    for name, content in (files or {}).items():
        secrets.mkdir(exist_ok=True)
        (secrets / name).write_text(content, encoding="utf-8")
    return load(path, env or {}, secrets_dir=str(secrets))


def refusal(
    tmp_path: Path,
    text: str = BASE,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> list[str]:
    """The lines of the refusal, with the test's own folder left out; [] if it loads."""
    try:
        settings(tmp_path, text, env, files)
    except ConfigError as error:
        return error.what.replace(f"{tmp_path}/", "").splitlines()
    return []
