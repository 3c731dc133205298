"""`dlqwatch poll`: one reading of each queue, straight from Cloudflare."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.cli.main import main
from dlqwatch.daemon.disposable import GivenUp, side_by_side
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from tests.cli_world import database, sections, write_config
from tests.rig import QUEUE

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def cf() -> Iterator[SimCloudflare]:
    with SimCloudflare() as cf:
        cf.create_pair()
        yield cf


def poll(
    tmp_path: Path, cf: SimCloudflare | None, capsys: Capture, *, more: str = ""
) -> tuple[int, list[dict[str, Any]]]:
    config = write_config(tmp_path, sections(cf, None), more=more)
    code = main(["poll", "--json", "--config", str(config)])
    return code, json.loads(capsys.readouterr().out)


def test_an_empty_queue_is_0(tmp_path: Path, cf: SimCloudflare, capsys: Capture) -> None:
    code, (queue,) = poll(tmp_path, cf, capsys)
    assert code == 0
    assert list(queue) == [
        "name", "depth", "bytes", "oldest_at", "polled_at", "sample", "reason", "detail",
        "threshold", "at_threshold",
    ]  # fmt: skip
    assert (queue["name"], queue["depth"], queue["sample"]) == (QUEUE, 0, "complete")
    assert queue["at_threshold"] is False


def test_a_message_is_1(tmp_path: Path, cf: SimCloudflare, capsys: Capture) -> None:
    cf.land(QUEUE, 3)
    code, (queue,) = poll(tmp_path, cf, capsys)
    assert (code, queue["depth"], queue["at_threshold"]) == (1, 3, True)
    assert queue["oldest_at"].endswith("Z")


def test_below_its_threshold_is_0(tmp_path: Path, cf: SimCloudflare, capsys: Capture) -> None:
    cf.land(QUEUE, 3)
    code, (queue,) = poll(tmp_path, cf, capsys, more="[alerts]\nthreshold = 4\n")
    assert (code, queue["depth"], queue["threshold"]) == (0, 3, 4)


def test_a_count_without_an_age_is_at_the_threshold_all_the_same(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture
) -> None:
    cf.land(QUEUE, 2)
    cf.set_metrics(QUEUE, oldest_message_timestamp_ms=0)
    code, (queue,) = poll(tmp_path, cf, capsys)
    assert (code, queue["sample"], queue["reason"]) == (1, "partial", "age_unknown")


def test_a_zero_that_can_not_be_believed_is_3(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture
) -> None:
    cf.set_metrics(QUEUE, backlog_bytes=500)
    code, (queue,) = poll(tmp_path, cf, capsys)
    assert (code, queue["reason"]) == (3, "empty_with_remains")


@pytest.mark.parametrize("fault", [Fault.status(500), Fault.html(), Fault.close()])
def test_what_could_not_be_read_is_3_and_null(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture, fault: Fault
) -> None:
    cf.land(QUEUE, 3)
    cf.fail(fault, when=lambda request: "metrics" in request.path)
    code, (queue,) = poll(tmp_path, cf, capsys)
    assert (code, queue["sample"], queue["depth"]) == (3, "failed", None)
    assert queue["reason"]


def test_one_at_its_threshold_outweighs_one_unread(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture
) -> None:
    cf.land(QUEUE)
    more = f'[[queues]]\nname = "not-there"\n[[queues]]\nname = "{QUEUE}"\n'
    code, (missing, full) = poll(tmp_path, cf, capsys, more=more)
    assert code == 1
    assert (missing["reason"], full["depth"]) == ("queue_not_listed", 1)


def test_nobody_there_is_3_within_the_timeout(tmp_path: Path, capsys: Capture) -> None:
    began = time.monotonic()
    code, (queue,) = poll(tmp_path, None, capsys)
    assert (code, queue["reason"]) == (3, "unreachable")
    assert time.monotonic() - began < 3


def test_a_missing_queue_names_the_nearest_and_what_to_do(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture
) -> None:
    config = write_config(
        tmp_path, sections(cf, None), more='[[queues]]\nname = "nemo12-event-dlq"\n'
    )
    assert main(["poll", "--config", str(config)]) == 3
    out = capsys.readouterr().out
    assert f'nearest: "{QUEUE}"' in out
    assert "npx wrangler queues create nemo12-event-dlq" in out


def test_people_see_depth_and_age(tmp_path: Path, cf: SimCloudflare, capsys: Capture) -> None:
    cf.land(QUEUE, 12, age_s=7300)
    assert main(["poll", "--config", str(write_config(tmp_path, sections(cf, None)))]) == 1
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["queue", "depth", "threshold", "oldest", "size", "reading"]
    assert row.split()[:6] == [QUEUE, "12", "1", "2", "h", "ago"]


def test_no_database_is_touched_and_no_token_shown(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture
) -> None:
    cf.tokens.clear()
    assert main(["poll", "--config", str(write_config(tmp_path, sections(cf, None)))]) == 3
    out, err = capsys.readouterr()
    assert "Queues Read" in out
    assert READ_TOKEN not in out + err
    assert not database(tmp_path).exists()


def test_sixty_queues_are_read_side_by_side(
    tmp_path: Path, cf: SimCloudflare, capsys: Capture
) -> None:
    """Each metrics call takes 0.2 s: one after the other it would be 12 s."""
    names = [f"dlq-{n:02}" for n in range(60)]
    for name in names:
        cf.create_queue(name)
    cf.fail(Fault.delay(0.2), when=lambda request: "metrics" in request.path)
    more = "".join(f'[[queues]]\nname = "{name}"\n' for name in names)
    more += '[alerts]\npoll_interval = "1m"\naudit_interval = "1h"\n'
    began = time.monotonic()
    code, found = poll(tmp_path, cf, capsys, more=more)
    assert (code, [q["name"] for q in found]) == (0, names)
    assert time.monotonic() - began < 6


def test_calls_side_by_side_end_together_and_keep_their_order() -> None:
    def slow() -> str:
        time.sleep(5)
        return "late"

    def bad() -> str:
        raise ValueError("no")

    began = time.monotonic()
    first, second, third = side_by_side([slow, bad, lambda: "done"], 0.2)
    assert time.monotonic() - began < 1
    assert isinstance(first, GivenUp)
    assert isinstance(second, ValueError)
    assert third == "done"
