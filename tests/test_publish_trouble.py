"""What keeps failures to publish (S12) from being counted, and that it holds up nothing."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.model import (
    SECOND,
    State,
)
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack
from tests.cli_world import sections, write_config
from tests.configs import BASE, refusal, settings
from tests.process import PATIENCE_S, Daemon, place
from tests.rig import QUEUE
from tests.watched import ALLOWED, CONFIG, NEEDLE, WORKER, asks_logs, watched


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("permission", "Workers Observability too: Read"),
        ("changed", "Cloudflare may have changed this API"),
        ("gone", "Cloudflare may have changed this API"),
    ],
)
def test_what_keeps_it_from_counting_is_logged_once_and_holds_up_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str, words: str
) -> None:
    """No permission, another answer, another address: the queue is watched all the same."""
    with watched(tmp_path) as it:
        it.fails(5)
        if broken == "permission":
            it.rig.cf.tokens[READ_TOKEN] = {"queues_read"}
        elif broken == "changed":
            it.rig.cf.logs.changed = {"rows": [{"n": 5}]}
        else:
            it.rig.cf.fail(Fault.json({"success": False, "errors": []}, 404), when=asks_logs)
        with caplog.at_level(logging.WARNING, "dlqwatch.publishing"):
            it.passes(30)
        lines = [r.getMessage() for r in caplog.records if r.name == "dlqwatch.publishing"]
        assert len(lines) == 1
        assert words in lines[0]
        assert it.state is State.UNKNOWN
        assert it.asked() <= 7  # once an interval
        it.rig.cf.land(QUEUE, 2)
        it.passes(1)
        assert any("2 dead letters" in m.text for m in it.rig.slack.messages())


def test_too_many_calls_of_this_kind_hold_back_this_kind_alone(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.rig.cf.fail(Fault.rate_limited(1800), times=1, when=asks_logs)
        it.passes(1)
        it.rig.cf.land(QUEUE)
        it.passes(28)
        assert it.asked() == 1
        assert any("1 dead letter" in m.text for m in it.rig.slack.messages())
        it.passes(4)
        assert it.asked() > 1


def test_while_cloudflare_blocks_the_polls_the_log_is_not_asked(tmp_path: Path) -> None:
    with watched(tmp_path) as it:
        it.rig.cf.fail(Fault.rate_limited(600), times=1, when=lambda r: not asks_logs(r))
        it.passes(9)
        assert it.asked() == 0
        it.passes(3)
        assert it.asked() >= 1


# ---- the commands and the configuration


def check(tmp_path: Path, cf: SimCloudflare, capsys: pytest.CaptureFixture[str], more: str) -> Any:
    with SimSlack() as slack:
        config = write_config(tmp_path, sections(cf, slack), more=more)
        main(["check", "--json", "--config", str(config)])
    (said,) = [c for c in json.loads(capsys.readouterr().out)["checks"] if c["name"] == "S12"]
    return said


def test_check_says_what_the_log_holds_or_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SimCloudflare() as cf:
        cf.create_pair()
        said = check(tmp_path, cf, capsys, "")
        assert (said["result"], "not set" in said["what"]) == ("note", True)
        said = check(tmp_path, cf, capsys, CONFIG)
        assert said["result"] == "bad"
        assert "Workers Observability" in said["do"]
        cf.tokens[READ_TOKEN] = set(ALLOWED)
        said = check(tmp_path, cf, capsys, CONFIG)
        assert said["result"] == "ok"
        assert "0 lines with EVENT_PUBLISH_FAILED in the last whole 5m" in said["what"]
        cf.logs.changed = {}
        said = check(tmp_path, cf, capsys, CONFIG)
        assert said["result"] == "unknown"


def test_counting_is_part_of_the_budget_of_calls(tmp_path: Path) -> None:
    """597 calls in five minutes are few enough, and five more are not."""
    every = ("1s", "2s", "3s", "7s", "100s")
    queues = "".join(f'[[queues]]\nname = "{n}"\npoll_interval = "{n}"\n' for n in every)
    text = BASE + '[alerts]\naudit_interval = "1h"\n' + queues
    assert settings(tmp_path, text).publish_watch() is None
    (said,) = refusal(tmp_path, f'{text}{CONFIG}interval = "1m"\n')
    assert "603 calls" in said
    assert "and 5 for publish_failures" in said


# ---- the real process


def test_the_real_daemon_counts_beside_its_polls_and_is_not_held_up(tmp_path: Path) -> None:
    """While the log's API hangs a dead letter is told at the next poll, and the end is prompt."""
    with place(tmp_path) as where:
        cf = where.cloudflare
        cf.tokens[READ_TOKEN] = set(ALLOWED)
        for seconds in range(0, 900, 10):
            cf.logs.write(WORKER, NEEDLE, cf.clock.now() - seconds * SECOND)
        where.timeout = "20s"
        config = where.config()
        config.write_text(config.read_text() + CONFIG + 'interval = "1m"\n')
        cf.fail(Fault.hang(), when=asks_logs)
        with Daemon(config) as daemon:
            assert cf.wait_for(lambda: any(asks_logs(r) for r in cf.requests), PATIENCE_S)
            landed = cf.land(QUEUE)[0].at
            assert where.wait_said("1 dead letter") - landed <= 2_500
            code, took = daemon.terminate()
            assert code == 0
            assert took < 5.5
        cf.heal()
        with Daemon(config):
            where.wait_said("6 events of nemo12-api were never published")
