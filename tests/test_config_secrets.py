"""Secrets: from keys, variables and files; read again; never shown."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

from dlqwatch.config.sections import Cloudflare
from dlqwatch.config.settings import Settings
from dlqwatch.errors import ConfigError
from tests.configs import ACCOUNT, BASE, CLOUDFLARE, HOOK, SLACK, TOKEN, refusal, settings

NO_TOKEN = f'[cloudflare]\naccount_id = "{ACCOUNT}"\n'
EMPTY = "is empty: fill it in, or remove it"


def test_a_secret_comes_from_a_variable_a_named_file_or_the_secrets_directory(
    tmp_path: Path,
) -> None:
    file = tmp_path / "token"
    file.write_text(f"  {TOKEN}\r\n")
    key = f'api_token_file = "{file}"\n'
    assert settings(tmp_path, NO_TOKEN + key + SLACK).cloudflare.read_api_token() == TOKEN
    named = {"DLQWATCH_CLOUDFLARE__API_TOKEN_FILE": str(file)}
    assert settings(tmp_path, NO_TOKEN + SLACK, named).cloudflare.read_api_token() == TOKEN
    given = {"DLQWATCH_CLOUDFLARE__API_TOKEN": "in-env"}
    assert settings(tmp_path, NO_TOKEN + SLACK, given).cloudflare.read_api_token() == "in-env"
    files = {"dlqwatch_cloudflare__api_token": f"{TOKEN}\n", "unrelated": "x"}
    assert settings(tmp_path, NO_TOKEN + SLACK, None, files).cloudflare.read_api_token() == TOKEN


def test_a_higher_source_wins_whichever_of_the_two_keys_it_uses(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file")
    by_file = {"DLQWATCH_CLOUDFLARE__API_TOKEN_FILE": str(file)}
    assert settings(tmp_path, BASE, by_file).cloudflare.read_api_token() == "from-file"
    text = NO_TOKEN + f'api_token_file = "{file}"\n' + SLACK
    by_value = {"DLQWATCH_CLOUDFLARE__API_TOKEN": "from-env"}
    assert settings(tmp_path, text, by_value).cloudflare.read_api_token() == "from-env"
    files = {"dlqwatch_cloudflare__api_token": "from-dir"}
    assert settings(tmp_path, BASE, None, files).cloudflare.read_api_token() == "from-dir"
    assert settings(tmp_path, BASE, by_value, files).cloudflare.read_api_token() == "from-env"


def test_both_keys_of_one_secret_in_one_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    text = CLOUDFLARE + f'api_token_file = "{tmp_path}/token"\n' + SLACK
    both = "api_token and api_token_file are both set: keep one"
    assert refusal(tmp_path, text) == [f"config.toml:4: cloudflare.api_token_file: {both}"]


def test_a_changed_secret_file_is_read_again_and_both_values_are_redacted(tmp_path: Path) -> None:
    files = {"dlqwatch_cloudflare__api_token": "first-canary"}
    found = settings(tmp_path, NO_TOKEN + SLACK, None, files)
    file = tmp_path / "secrets" / "dlqwatch_cloudflare__api_token"
    assert found.cloudflare.read_api_token() == "first-canary"
    file.write_text("second-canary\n")
    assert found.cloudflare.read_api_token() == "second-canary"
    assert {"first-canary", "second-canary"} <= set(found.secrets())
    file.unlink()
    with pytest.raises(ConfigError, match=r"api_token_file: .*no such file"):
        found.cloudflare.read_api_token()


def test_a_link_that_leaves_the_secrets_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("from-link")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "dlqwatch_cloudflare__api_token").symlink_to(tmp_path / "elsewhere")
    assert settings(tmp_path, BASE).cloudflare.read_api_token() == "from-link"


def test_a_file_in_the_secrets_directory_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "secrets" / "dlqwatch_slack__bot_token").mkdir(parents=True)
    (tmp_path / "secrets" / "dlqwatch_cloudflare__api_token").symlink_to(tmp_path / "gone")
    place = "secrets/dlqwatch_cloudflare__api_token"
    assert f"{place}: a link to a file that isn't there" in refusal(tmp_path)
    assert any("dlqwatch_slack__bot_token: a directory" in line for line in refusal(tmp_path))


def test_a_misspelt_file_in_the_secrets_directory_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, BASE, None, {"dlqwatch_cloudflare__api_tokn": "x"}) == [
        "secrets/dlqwatch_cloudflare__api_tokn: unknown secret file,"
        " did you mean dlqwatch_cloudflare__api_token?"
    ]


def test_a_secrets_directory_that_is_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("a file")
    assert refusal(tmp_path) == []


SECRET_VALUES = {
    "empty": ("", EMPTY),
    "blank": ("  ", EMPTY),
    "a space": ("Bearer canary", 'holds a space or line break: the token alone, without "Bearer"'),
    "a line break": (
        "canary\\ncanary",
        'holds a space or line break: the token alone, without "Bearer"',
    ),
    "a control character": ("canary\\u0007x", "holds a control character: no token does"),
    "not ASCII": ("canary…", "holds a character that is not ASCII: no token does"),
    "far too long": ("canary" * 1000, "is longer than 4096 characters: no token is"),
}


@pytest.mark.parametrize(("value", "words"), SECRET_VALUES.values(), ids=SECRET_VALUES.keys())
def test_a_token_that_can_not_be_one_is_refused_unseen(
    tmp_path: Path, value: str, words: str
) -> None:
    lines = refusal(tmp_path, NO_TOKEN + f'api_token = "{value}"\n' + SLACK)
    assert lines == [f"config.toml:3: cloudflare.api_token: {words}"]


WEBHOOKS = {
    "no scheme": ("hooks.slack.com/services/canary", "expected a full address"),
    "no host": ("https:///services/canary", "expected a full address"),
    "another scheme": ("ftp://hooks.slack.com/canary", "expected a full address"),
    "a port that is none": ("https://hooks.slack.com:canary/x", "expected a full address"),
    "a password": ("https://me:canary@hooks.slack.com/x", "must not hold a user name"),
    "in clear": ("http://hooks.slack.com/services/canary", "http would send the secret in clear"),
    "like loopback": ("http://127.0.0.1.canary.example/x", "http would send the secret in clear"),
    "half": ("https://hooks.slack.com/", "only half of an address"),
}


@pytest.mark.parametrize(("value", "words"), WEBHOOKS.values(), ids=WEBHOOKS.keys())
def test_a_webhook_that_can_not_be_one_is_refused_unseen(
    tmp_path: Path, value: str, words: str
) -> None:
    (line,) = refusal(tmp_path, CLOUDFLARE + f'[slack]\nwebhook_url = "{value}"\n')
    assert line.startswith("config.toml:5: slack.webhook_url: ")
    assert words in line
    assert "canary" not in line


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:1", "[::1]:1", "127.1.2.3"])
def test_a_webhook_on_loopback_may_use_http(tmp_path: Path, host: str) -> None:
    assert refusal(tmp_path, CLOUDFLARE + f'[slack]\nwebhook_url = "http://{host}/hook"\n') == []


def test_each_way_a_secret_file_fails_has_its_own_words(tmp_path: Path) -> None:
    def told(path: str) -> str:
        text = NO_TOKEN + f'api_token_file = "{path}"\n' + SLACK
        (line,) = refusal(tmp_path, text)
        return line.removeprefix("config.toml:3: cloudflare.api_token_file: ")

    for name, content in {"empty": b" \n", "bytes": b"\xff\xfe", "two": b"can ary"}.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    assert told(f"{tmp_path}/none") == "none: no such file"
    assert told(f"{tmp_path}/empty") == "empty: the file is empty"
    assert told(f"{tmp_path}/bytes") == "bytes: the file is not text"
    assert told(f"{tmp_path}/two").startswith("two: holds a space or line break")
    assert told(f"{tmp_path}/pipe") == "pipe: not a regular file"
    assert told(f"{tmp_path}/empty/x").startswith("empty/x: no such file (a part of its path")
    assert told("/").startswith("/: a directory, not a file")
    assert told("/nul\\u0000") == "/nul\0: not a possible path"
    assert told("") == "is empty: it takes the path of a file"


def test_a_secret_in_the_place_of_its_file_s_path_is_not_shown(tmp_path: Path) -> None:
    for value in (TOKEN, HOOK, "canary" * 100):
        (line,) = refusal(tmp_path, CLOUDFLARE + f'[slack]\nwebhook_url_file = "{value}"\n')
        assert "takes the path of a file, not the secret itself" in line
        assert "canary" not in line.lower()


LEAKY = {
    "beside a missing key": BASE.replace("account_id", "account"),
    "of the wrong type": BASE + "bot_token = 12345\n",
    "in a list": BASE.replace(f'"{TOKEN}"', f'["{TOKEN}"]'),
    "in another key": BASE.replace(ACCOUNT, TOKEN),
    "in a channel": CLOUDFLARE + f'[slack]\nbot_token = "xoxb-canary"\nchannel = "{TOKEN}"\n',
    "in an address": CLOUDFLARE + f'api_base_url = "{TOKEN}"\n' + SLACK,
    "in a duration": CLOUDFLARE + f'timeout = "{TOKEN}"\n' + SLACK,
    "in a number": BASE + f'[alerts]\nthreshold = "{TOKEN}"\n',
    "in broken TOML": BASE + "x y\n",
    "in an open string": BASE + f'bot_token = "{TOKEN}\n',
    "set twice": BASE + f'webhook_url = "{HOOK}"\n',
    "as a table": f'cloudflare = "{TOKEN}"\n' + SLACK,
    "as a queue": f'queues = ["{TOKEN}"]\n' + BASE,
}


@pytest.mark.parametrize("text", LEAKY.values(), ids=LEAKY.keys())
def test_no_error_shows_a_secret_not_even_its_traceback(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings(tmp_path, text)
    error = refused.value
    shown = "".join([*traceback.format_exception(error), str(error), repr(error), str(vars(error))])
    assert "canary" not in shown.lower()
    chained = error.__cause__ or error.__context__
    assert chained is None or "canary" not in repr(chained).lower()


@pytest.mark.parametrize(
    "name", ["DLQWATCH_CLOUDFLARE", "DLQWATCH_QUEUES", "DLQWATCH_TOKEN", "DLQWATCH_SLACK__CHANNEL"]
)
def test_no_error_shows_the_value_of_a_variable(tmp_path: Path, name: str) -> None:
    (line, *_) = lines = refusal(tmp_path, BASE, {name: TOKEN})
    assert line.startswith(f"{name}: ")
    assert "canary" not in "".join(lines)


def test_sections_made_directly_show_no_secret_in_their_errors_either() -> None:
    table = {"api_token": TOKEN, "operator_token": [TOKEN]}
    for model, data in ((Cloudflare, table), (Settings, {"cloudflare": table, "x": TOKEN})):
        with pytest.raises(ValidationError) as refused:
            model.model_validate(data)
        assert "canary" not in f"{refused.value} {refused.value!r}"


def test_settings_show_no_secret_however_they_are_printed(tmp_path: Path) -> None:
    text = BASE + '[slack.fallback]\nbot_token = "xoxb-canary"\nchannel = "C0123456789"\n'
    found = settings(tmp_path, text)
    shown = [repr(found), str(found), str(found.model_dump()), found.model_dump_json()]
    shown += [repr(found.slack), str(found.destinations()), found.fingerprint(), f"{vars(found)}"]
    assert "canary" not in "".join(shown).lower()


def test_every_secret_and_a_webhook_s_path_is_known_for_redaction(tmp_path: Path) -> None:
    text = (
        CLOUDFLARE
        + 'operator_token = "op-canary"\n'
        + SLACK
        + '[slack.fallback]\nbot_token = "xoxb-canary"\nchannel = "C0123456789"\n'
    )
    found = settings(tmp_path, text)
    assert set(found.secrets()) == {
        TOKEN, "op-canary", HOOK, "/services/T0CANARY/B0CANARY/canary", "xoxb-canary",
    }  # fmt: skip
    assert found.secrets()[0] == HOOK
    assert found.cloudflare.read_operator_token() == "op-canary"
