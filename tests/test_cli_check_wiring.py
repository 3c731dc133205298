"""`dlqwatch check` looks at the wiring as the daemon does, and says how to put it right."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.model import DAY
from dlqwatch.sim.cloudflare import SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.queues import worker_consumer
from dlqwatch.sim.slack import SimSlack
from tests.cli_world import left_behind, sections, write_config
from tests.rig import QUEUE

Capture = pytest.CaptureFixture[str]
SOURCE = "nemo12-events"
WIRING = f"wiring of {QUEUE}"


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
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(capsys.readouterr().out)["checks"]:
        found.setdefault(one["name"], []).append(one)
    return code, found


def test_a_healthy_account_is_one_line(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 0
    (wiring,) = found[WIRING]
    assert wiring["result"] == "ok"
    assert f"the consumer of {SOURCE} leads here after 5 retries" in wiring["what"]


def test_a_broken_account_is_a_line_each_with_is_expected_and_cure(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.queue(SOURCE).consumers = [worker_consumer("nemo12-api", "nemo12-event-dlq", max_retries=2)]
    cf.queue(SOURCE).delivery_paused = True
    cf.land(SOURCE, age_s=7_200)
    cf.queue(QUEUE).consumers = [worker_consumer("stray")]
    cf.queue(QUEUE).retention_s = 60
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 1
    lines = {one["what"] for one in found[WIRING]}
    for what in (
        f"Other dead-letter queue: is nemo12-event-dlq, expected {QUEUE}",
        "Retries: is 2, expected 5",
        "Delivery paused: is paused, expected delivering",
        "Oldest in the source: is over 2h old, expected at most 1h",
        "Consumer of the dead-letter queue: is stray, expected no consumer",
        "Retention too short: is 1m, expected at least 2m",
    ):
        assert what in lines
    assert all(one["result"] == "bad" and one["do"] for one in found[WIRING])


def test_a_retention_less_than_the_daemon_saw_before_is_bad(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    config = write_config(tmp_path, sections(cf, slack))
    cf.queue(QUEUE).retention_s = DAY // 1000
    assert check(config, capsys)[0] == 0, "nothing else was ever seen"
    with left_behind(tmp_path) as rig:
        rig.tick()
    code, found = check(config, capsys)
    assert code == 1
    assert found[WIRING][0]["what"] == "Retention cut: is 1d, expected 4d"


def test_a_misspelt_queue_shows_where_dead_letters_go(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    more = f'[[queues]]\nname = "nemo12-event-dlq"\nsource = "{SOURCE}"\n'
    code, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    assert code == 1
    (wiring,) = found["wiring of nemo12-event-dlq"]
    assert wiring["what"] == f"Other dead-letter queue: is {QUEUE}, expected nemo12-event-dlq"


def test_a_queue_without_a_source_says_what_is_not_kept(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    more = f'[[queues]]\nname = "{QUEUE}"\n'
    code, found = check(write_config(tmp_path, sections(cf, slack), more=more), capsys)
    assert code == 0
    assert found[WIRING][0]["result"] == "ok"
    assert found["S6, S13"][0]["result"] == "note"
    assert "source is not set" in found["S6, S13"][0]["what"]


def test_what_could_not_be_read_is_said(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    source = cf.queue(SOURCE).id
    cf.fail(Fault.status(500), when=lambda request: source in request.path)
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 3
    (wiring,) = found[WIRING]
    assert wiring["result"] == "unknown"
    assert "HTTP 500" in wiring["what"]


def test_a_source_that_hangs_is_given_up_in_time(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    source = cf.queue(SOURCE).id
    cf.fail(Fault.hang(), when=lambda request: source in request.path)
    text = sections(cf, slack).replace('timeout = "2s"', 'timeout = "1s"')
    began = time.monotonic()
    code, found = check(write_config(tmp_path, text), capsys)
    assert code == 3
    assert found[WIRING][0]["result"] == "unknown"
    assert time.monotonic() - began < 3


def test_while_cloudflare_is_away_the_wiring_is_not_asked_for(
    tmp_path: Path, cf: SimCloudflare, slack: SimSlack, capsys: Capture
) -> None:
    cf.fail(Fault.status(500))
    code, found = check(write_config(tmp_path, sections(cf, slack)), capsys)
    assert code == 3
    assert WIRING not in found
