"""`dlqwatch test-alert`: 0 only if Slack confirmed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.model import DestinationKind
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import BOT_TOKEN, CHANNEL, SimSlack
from tests.cli_world import sections, write_config

Capture = pytest.CaptureFixture[str]
WEBHOOK, BOT = DestinationKind.WEBHOOK, DestinationKind.BOT
KINDS = (WEBHOOK, BOT)


@pytest.fixture
def slack() -> Iterator[SimSlack]:
    with SimSlack() as slack:
        yield slack


def try_it(
    tmp_path: Path,
    slack: SimSlack | None,
    capsys: Capture,
    kind: DestinationKind = BOT,
    *,
    more: str = "",
) -> tuple[int, list[dict[str, Any]]]:
    config = write_config(tmp_path, sections(None, slack, kind), more=more)
    code = main(["test-alert", "--json", "--config", str(config)])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", KINDS)
def test_a_marked_message_arrives_and_is_confirmed(
    tmp_path: Path, slack: SimSlack, capsys: Capture, kind: DestinationKind
) -> None:
    code, (said,) = try_it(tmp_path, slack, capsys, kind)
    (message,) = slack.messages()
    assert code == 0
    assert (said["name"], said["confirmed"], said["do"]) == ("slack", True, None)
    assert message.text.startswith("🧪 Test from dlqwatch")
    if kind is BOT:
        assert (said["channel"], said["ts"]) == (CHANNEL, message.ts)


@pytest.mark.parametrize(
    ("kind", "fault", "code"),
    [
        (BOT, Fault.json({"ok": False, "error": "not_in_channel"}), 1),
        (BOT, Fault.json({"ok": False, "error": "invalid_auth"}), 1),
        (BOT, Fault.rate_limited(3), 3),
        (BOT, Fault.status(500), 3),
        (BOT, Fault.html(200), 3),
        (BOT, Fault.close(after=True), 3),
        (WEBHOOK, Fault.status(404, "no_service"), 1),
        (WEBHOOK, Fault.status(410, "channel_is_archived"), 1),
        (WEBHOOK, Fault.status(302, headers={"Location": "/docs"}), 1),
        (WEBHOOK, Fault.status(200, "not ok"), 3),
        (WEBHOOK, Fault.rate_limited(3), 3),
        (WEBHOOK, Fault.truncated(), 3),
    ],
)
def test_anything_but_a_confirmation_fails_and_is_not_tried_again(
    tmp_path: Path,
    slack: SimSlack,
    capsys: Capture,
    kind: DestinationKind,
    fault: Fault,
    code: int,
) -> None:
    slack.fail(fault)
    got, (said,) = try_it(tmp_path, slack, capsys, kind)
    assert (got, said["confirmed"]) == (code, False)
    assert said["reason"]
    assert said["do"]
    assert len(slack.requests) == 1


def test_nobody_there_is_said(tmp_path: Path, capsys: Capture) -> None:
    code, (said,) = try_it(tmp_path, None, capsys)
    assert (code, said["reason"]) == (3, "connection refused")


def test_every_destination_is_tried_though_the_first_is_dead(
    tmp_path: Path, slack: SimSlack, capsys: Capture
) -> None:
    slack.bots[BOT_TOKEN].error = "token_revoked"
    more = f'[slack.fallback]\nwebhook_url = "{slack.webhook_url}"\n'
    code, (first, second) = try_it(tmp_path, slack, capsys, more=more)
    assert code == 1
    assert (first["name"], first["confirmed"]) == ("slack", False)
    assert (second["name"], second["confirmed"]) == ("slack.fallback", True)
    assert "slack.fallback" in slack.messages()[0].text


def test_people_read_the_reason_and_the_cure(
    tmp_path: Path, slack: SimSlack, capsys: Capture
) -> None:
    slack.channels[CHANNEL].member = False
    assert main(["test-alert", "--config", str(write_config(tmp_path, sections(None, slack)))]) == 1
    what, do = capsys.readouterr().out.splitlines()
    assert what == f"✗ slack {CHANNEL}: refused: not_in_channel"
    assert "/invite" in do


def test_people_read_that_it_is_confirmed(tmp_path: Path, slack: SimSlack, capsys: Capture) -> None:
    assert main(["test-alert", "--config", str(write_config(tmp_path, sections(None, slack)))]) == 0
    assert capsys.readouterr().out.startswith(f"✓ slack {CHANNEL}: confirmed by Slack")


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_shown_whatever_fails(
    tmp_path: Path, slack: SimSlack, capsys: Capture, kind: DestinationKind
) -> None:
    slack.fail(Fault.status(500, BOT_TOKEN + slack.webhook_url))
    main(["test-alert", "--config", str(write_config(tmp_path, sections(None, slack, kind)))])
    out, err = capsys.readouterr()
    for secret in (BOT_TOKEN, slack.webhook_url, slack.webhook_url.rsplit("/", 1)[1]):
        assert secret not in out + err
