"""`dlqwatch check`: tries what watching needs, and says what to do where it fails."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.config.settings import NOT_BUILT
from dlqwatch.model import DAY, DestinationKind
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import BOT_TOKEN, SimSlack
from dlqwatch.words import en_check
from tests.cli_world import alive, database, left_behind, now, sections, write_config
from tests.rig import QUEUE

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def cf() -> Iterator[SimCloudflare]:
    with SimCloudflare() as cf:
        cf.create_pair()
        yield cf


@pytest.fixture
def slack() -> Iterator[SimSlack]:
    with SimSlack() as slack:
        yield slack


def check(config: Path, capsys: Capture) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and the checks by name."""
    code = main(["check", "--json", "--config", str(config)])
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is (code == 0)
    found: dict[str, list[dict[str, Any]]] = {}
    for one in said["checks"]:
        assert list(one) == ["name", "result", "what", "do"]
        found.setdefault(one["name"], []).append(one)
    return code, found


def test_all_is_fine(tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture) -> None:
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 0
    assert {c["result"] for cs in found.values() for c in cs} == {"ok", "note"}
    assert found["clock"][0]["what"] == "agrees with Cloudflare's"
    assert "keeps a message for 4 d" in found[f"queue {QUEUE}"][0]["what"]
    assert "#alerts" in found["slack"][0]["what"]
    assert "told at the first sight" in found["QG-009"][0]["what"]
    assert slack.messages() == []
    assert not database(tmp_path).exists()


def test_without_a_second_destination_it_says_how_far_s9_is_kept(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    _, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert found["S9"][0]["result"] == "note"
    more = f'[slack.fallback]\nwebhook_url = "{slack.webhook_url}"\n'
    _, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    assert found["S9"][0]["result"] == "ok"


def test_without_a_heartbeat_it_says_that_s8_is_not_kept(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    _, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert found["S8"][0]["result"] == "note"
    assert "not kept" in found["S8"][0]["what"]
    more = '[heartbeat]\nurl = "https://hc.example/canary"\n'
    _, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    assert found["S8"][0]["result"] == "ok"
    assert "hc.example hears every 1 min" in found["S8"][0]["what"]
    assert "canary" not in found["S8"][0]["what"]
    more += 'fail_url = "https://fail.example/canary"\n'
    _, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    assert "fail.example at once" in found["S8"][0]["what"]


def test_every_key_without_effect_is_told_once() -> None:
    said = en_check.not_kept(NOT_BUILT)
    for key in NOT_BUILT:
        assert sum(key == name or f"{key} " in f"{words} " for name, words in said) >= 1


def test_a_configuration_that_can_not_be_used_is_2(tmp_path: Path, capsys: Capture) -> None:
    config = write_config(tmp_path, "[cloudflare]\n")
    code, found = check(config, capsys)
    assert code == 2
    assert found["configuration"][0]["result"] == "bad"
    assert "config.toml" in found["configuration"][0]["what"]
    assert main(["check", "--config", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().out.startswith("✗ configuration: ")


def test_a_place_where_no_database_can_be_is_bad(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    config = write_config(tmp_path, sections(cf, slack))
    config.write_text(config.read_text().replace(str(database(tmp_path)), "/nowhere/x.db"))
    code, found = check(config, capsys)
    assert code == 1
    assert "the directory /nowhere for the database doesn't exist" in found["database"][0]["what"]
    assert found["database"][0]["do"]


def test_the_daemon_that_holds_the_database_is_named(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    config = write_config(tmp_path, sections(cf, slack))
    with left_behind(tmp_path) as rig, alive(tmp_path):
        rig.tick()
        code, found = check(config, capsys)
    assert code == 0
    assert "a daemon runs with it (pid " in found["database"][0]["what"]


@pytest.mark.parametrize(("off_s", "result"), [(-58, "ok"), (-70, "bad"), (58, "ok"), (70, "bad")])
def test_a_clock_a_minute_off_cloudflares_is_bad(
    tmp_path: Path, slack: SimSlack, capsys: Capture, off_s: int, result: str
) -> None:
    with SimCloudflare(HandClock(now() + off_s * 1000)) as cf:
        cf.create_pair()
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + off_s))
        cf.fail(Fault(headers=(("Date", date),)))
        _, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    (clock,) = found["clock"]
    assert clock["result"] == result
    assert ("behind" if off_s > 0 else "ahead of") in clock["what"]


@pytest.mark.parametrize(("days", "result"), [(30, "ok"), (15, "ok"), (13, "bad")])
def test_a_token_that_ends_within_two_weeks_is_bad(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture, days: int, result: str
) -> None:
    cf.token_expires[READ_TOKEN] = now() + days * DAY
    _, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert found["token"][0]["result"] == result
    assert "is active until" in found["token"][0]["what"]


def test_a_token_that_can_not_be_verified_passes_if_the_metrics_call_works(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    """Some good tokens are unknown to both addresses."""
    cf.fail(Fault.status(401), when=lambda request: "verify" in request.path)
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 0
    assert found["token"][0]["what"] == "works; when it expires could not be read"


def test_a_token_of_the_account_passes(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.tokens["cfat_owned"] = {"queues_read"}
    text = sections(cf, slack).replace(READ_TOKEN, "cfat_owned")
    assert check(write_config(tmp_path, text), capsys)[0] == 0


def test_a_wrong_token_is_bad_in_every_line_it_matters(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.tokens.clear()
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 1
    assert found["token"][0]["result"] == "bad"
    assert found["permission Queues Read"][0]["result"] == "bad"
    assert "Queues Read" in found["permission Queues Read"][0]["do"]


def test_a_token_without_the_permission_is_bad(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.tokens[READ_TOKEN] = {"dns_read"}
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 1
    assert found["token"][0]["result"] == "ok"  # active, and yet of no use
    assert found["permission Queues Read"][0]["result"] == "bad"


def test_a_queue_that_is_not_there_names_the_nearest(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    more = '[[queues]]\nname = "nemo12-event-dlq"\n'
    code, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    (queue,) = found["queue nemo12-event-dlq"]
    assert (code, queue["result"]) == (1, "bad")
    assert f'"{QUEUE}"' in queue["what"]
    assert found["permission Queues Read"][0]["result"] == "ok"


def test_a_rule_that_does_not_keep_the_gate_is_said_and_not_bad(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    more = '[alerts]\nthreshold = 5\nhold_duration = "10m"\n'
    code, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    (gate,) = found["QG-009"]
    assert (code, gate["result"]) == (0, "note")
    assert "threshold is 5, not 1 and hold_duration is 10m, not 0s" in gate["what"]


def test_an_unreachable_cloudflare_is_3_and_asked_once(
    tmp_path: Path, slack: SimSlack, capsys: Capture
) -> None:
    code, found = check(write_config(tmp_path, sections(None, slack)), capsys)
    assert code == 3
    assert found["Cloudflare"][0]["result"] == "unknown"
    assert f"queue {QUEUE}" not in found
    assert found["slack"][0]["result"] == "ok"


def test_a_cloudflare_that_hangs_is_3_within_bounds(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.fail(Fault.hang())
    text = sections(cf, slack).replace('timeout = "2s"', 'timeout = "1s"')
    began = time.monotonic()
    code, _ = check(write_config(tmp_path, text), capsys)
    assert code == 3
    assert time.monotonic() - began < 2.5


def test_an_outage_is_3(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.fail(Fault.status(500))
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 3
    assert found["token"][0]["result"] == "unknown"
    assert found[f"queue {QUEUE}"][0]["result"] == "unknown"


def test_a_slack_that_refuses_is_bad_and_its_cure_said(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    slack.bots[BOT_TOKEN].error = "token_revoked"
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert (code, found["slack"][0]["result"]) == (1, "bad")
    assert "slack.bot_token" in found["slack"][0]["do"]


def test_scopes_missing_for_look_ups_are_a_note(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    slack.bots[BOT_TOKEN].scopes = {"chat:write"}
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    works, note = found["slack"]
    assert (code, works["result"], note["result"]) == (0, "ok", "note")
    assert "channels:history" in note["what"]


def test_a_webhook_is_only_as_good_as_can_be_told(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    config = write_config(tmp_path, sections(cf, slack, DestinationKind.WEBHOOK))
    code, found = check(config, capsys)
    assert code == 0
    assert "as far as can be told without posting" in found["slack"][0]["what"]
    assert "dlqwatch test-alert" in found["slack"][0]["what"]
    slack.webhook().error = "no_service"
    assert check(config, capsys)[0] == 1
    assert slack.messages() == []


def test_the_fallback_is_tried_too(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    more = f'[slack.fallback]\nwebhook_url = "{slack.url}/services/T0/B0/mistyped"\n'
    code, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    assert (code, found["slack.fallback"][0]["result"]) == (1, "bad")


def test_people_see_a_sign_for_each_line(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.land(QUEUE, 2)
    slack.bots[BOT_TOKEN].error = "invalid_auth"
    assert main(["check", "--config", str(write_config(tmp_path, sections(cf, slack)))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert {line[0] for line in lines} == {"✓", "✗", "–", " "}
    assert any(line.startswith(f"✓ queue {QUEUE}: 2 dead letters, the oldest") for line in lines)


def test_no_secret_is_shown(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.fail(Fault.status(500, READ_TOKEN), times=2)
    slack.fail(Fault.status(500, BOT_TOKEN))
    for more in ([], ["--json"]):
        main(["check", "--config", str(write_config(tmp_path, sections(cf, slack))), *more])
        out, err = capsys.readouterr()
        assert READ_TOKEN not in out + err
        assert BOT_TOKEN not in out + err


def test_what_keeps_everything_from_being_asked_is_a_line_too(
    tmp_path: Path,
    cf: SimCloudflare,
    slack: SimSlack,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert (code, found["services"][0]["result"]) == (1, "bad")
    assert "SSL_CERT_FILE" in found["services"][0]["what"]
    assert found["QG-009"]
