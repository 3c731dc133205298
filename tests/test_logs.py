"""The log's lines: one record is one line (or an indented block), and no secret is in it."""

from __future__ import annotations

import json
import logging
import sys
from urllib.parse import quote

import pytest

from dlqwatch.daemon.logs import HIDDEN, Redacting, RedactingJson, redact

TOKEN = 'canary"tok\\en+/=&%'  # quoted differently by JSON, by a URL and by repr
HOOK = "https://hooks.slack.com/services/T0CANARY/B0CANARY/sEcReTcAnArY"
SECRETS = (HOOK, "/services/T0CANARY/B0CANARY/sEcReTcAnArY", TOKEN)


def line(message: str, *, style: type[Redacting] = Redacting, error: bool = False) -> str:
    trace = sys.exc_info() if error else None
    record = logging.LogRecord("dlqwatch.x", logging.INFO, "x.py", 1, message, None, trace)
    return style(lambda: SECRETS).format(record)


@pytest.mark.parametrize(
    "form",
    [TOKEN, json.dumps(TOKEN), repr(TOKEN), quote(TOKEN), quote(TOKEN, safe=""), f"Bearer {TOKEN}"],
)
@pytest.mark.parametrize("style", [Redacting, RedactingJson])
def test_a_secret_is_hidden_however_it_is_quoted(form: str, style: type[Redacting]) -> None:
    said = line(f"before {form} after", style=style)

    assert HIDDEN in said
    assert "canary" not in said
    assert "before" in said
    assert "after" in said


@pytest.mark.parametrize(
    "unknown",
    [
        "https://hooks.slack.com/services/T1/B1/unknownCanary",
        "/services/T1/B1/unknownCanary",
        "xoxb-1-2-unknownCanary",
        "https://hooks.slack.com/workflows/T1/A1/2/unknownCanary",
    ],
)
def test_what_only_looks_like_a_secret_of_slack_is_hidden_too(unknown: str) -> None:
    assert "unknownCanary" not in redact(f"sent to {unknown}, later", ())


@pytest.mark.parametrize("url", [HOOK, "https://hooks.slack.com/services/T1/B1/other"])
@pytest.mark.parametrize("frame", ['"{}"', "'{}'", "{}\nnext", "{}\\", '{{"u": "{}"}}', "{}\u2028"])
def test_a_hidden_address_leaves_the_json_line_whole(url: str, frame: str) -> None:
    found = json.loads(line(frame.format(url), style=RedactingJson))

    assert HIDDEN in found["message"]
    assert "sEcReT" not in found["message"]


@pytest.mark.parametrize("style", [Redacting, RedactingJson])
def test_a_secret_in_a_traceback_is_hidden(style: type[Redacting]) -> None:
    try:
        raise ValueError(f"no answer from {HOOK} for {TOKEN}")
    except ValueError:
        said = line("it failed", style=style, error=True)

    assert "ValueError" in said
    assert "canary" not in said.lower().replace("canary_", "")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_line_break_from_outside_cannot_begin_a_line_of_its_own(end: str) -> None:
    forged = "2026-01-01 00:00:00+0000 INFO all is well"
    said = line(f"queue{end}{forged}")

    assert all(part.startswith("  ") for part in said.splitlines()[1:])
    assert "\r" not in said
    assert len(line(f"queue{end}{forged}", style=RedactingJson).splitlines()) == 1


def test_a_colour_or_a_bell_from_outside_does_not_reach_the_terminal() -> None:
    assert "\x1b" not in line("queue \x1b[2J\x07")
