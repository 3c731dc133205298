"""The real process: `dlqwatch run` against scripted services, by its clock and its exit codes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlqwatch.cli.health import trouble
from dlqwatch.model import DestinationKind
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SlackMessage
from tests.killing import is_post
from tests.process import PATIENCE_S, QUEUE, Daemon, Place, place

LATE_MS = 1_000  # by how much a promise may be late
TRIES = 5  # a loaded machine may miss one; a daemon that is late misses all


@pytest.fixture
def where(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path, DestinationKind.WEBHOOK) as found:
        yield found


def test_it_polls_within_a_second_of_its_start_and_tells_within_a_second_of_that(
    where: Place,
) -> None:
    where.cloudflare.land(QUEUE)
    tries: list[tuple[int, int, int]] = []
    while len(tries) < TRIES and not any(map(_prompt, tries)):
        where.database.unlink(missing_ok=True)
        said = len(where.slack.messages())
        where.cloudflare.requests.clear()
        with where.daemon() as daemon:
            [polled, *_] = where.wait_polls()
            daemon.wait_line(r"told incident #1 \(first\)")
            first = next(m for m in where.slack.messages()[said:] if "dead letter in" in m.text)
        tries.append((polled - daemon.began_ms, first.posted_at - polled, _imports_ms()))

    assert any(map(_prompt, tries)), tries


def _prompt(measured: tuple[int, int, int]) -> bool:
    """A machine so busy that Python itself starts slowly may take twice that."""
    to_poll, to_tell, imports = measured
    return to_poll <= max(LATE_MS, 2 * imports) and to_tell <= LATE_MS


def _imports_ms() -> int:
    """How long this machine now takes to start Python and load what the daemon loads."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import dlqwatch.daemon.run"], check=True)
    return round((time.monotonic() - began) * 1000)


def test_a_message_is_in_slack_within_a_poll_interval_and_a_second(hooked: Place) -> None:
    took = []
    with hooked.daemon() as daemon:
        daemon.wait_line("started")
        hooked.wait_polls(2)
        for tries in range(TRIES):
            landed = hooked.cloudflare.land(QUEUE)[0].at
            daemon.wait_line(rf"told incident #{tries + 1} \(first\)")
            took.append(hooked.slack.messages()[-1].posted_at - landed)
            if took[-1] <= 1_000 + LATE_MS:
                break
            hooked.cloudflare.drain(QUEUE)
            daemon.wait_line(rf"told incident #{tries + 1} \(resolved\)")

    assert min(took) <= 1_000 + LATE_MS


def test_the_card_follows_at_once_and_growth_is_told_after_the_group_interval(
    where: Place,
) -> None:
    """Under PYTHONOPTIMIZE=2, as in the image: nothing may hang on an assert or a docstring."""
    where.alerts["group_interval"] = "5s"
    with where.daemon(env={"PYTHONOPTIMIZE": "2"}) as daemon:
        where.wait_polls()
        where.cloudflare.land(QUEUE, 3)
        first = where.wait_said("3 dead letters")
        daemon.wait_line(r"told incident #1 \(first\)")
        where.cloudflare.land(QUEUE, 2)
        assert where.slack.wait_for(lambda: "5 dead" in _card(where).text, PATIENCE_S)
        edited = _card(where).edited_at or 0
        grown = where.wait_said("2 more dead letters")
        assert edited < grown
        assert 4_000 <= grown - first <= 5_000 + 1_000 + LATE_MS

        daemon.wait_line(r"told incident #1 \(grown\)")
        daemon.wait_line("told of itself")
        said = len(where.slack.messages())
        where.cloudflare.take(QUEUE, 3)
        assert where.slack.wait_for(lambda: "2 dead" in _card(where).text, PATIENCE_S)
        where.wait_polls(2)
        assert len(where.slack.messages()) == said, "a fall is nothing to say aloud"

        where.cloudflare.drain(QUEUE)
        daemon.wait_line(r"told incident #1 \(resolved\)")
        end = where.slack.messages()[-1].text
        assert re.search(r"is empty again after \d+ s with up to 5 dead letters", end)
        assert daemon.terminate()[0] == 0


def _card(where: Place) -> SlackMessage:
    return next(m for m in where.slack.messages() if m.thread_ts is None and "dead" in m.text)


def hang_both(where: Place, fault: Fault) -> None:
    """Both services stop answering while each is being asked."""
    where.slack.fail(fault)
    where.cloudflare.land(QUEUE)
    assert where.slack.wait_for(lambda: any(map(is_post, where.slack.requests)), PATIENCE_S)
    where.cloudflare.fail(fault)
    where.wait_polls()


def test_sigterm_ends_it_with_0_and_a_start_after_that_is_silent(where: Place) -> None:
    where.cloudflare.land(QUEUE)
    with where.daemon() as daemon:
        daemon.wait_line(r"told incident #1 \(first\)")
        daemon.wait_line(r"told of itself")
        code, took = daemon.terminate()
    assert code == 0
    assert took <= 5
    said = len(where.slack.messages())
    with where.daemon():
        where.wait_polls(2)
    assert len(where.slack.messages()) == said


@pytest.mark.parametrize(
    "fault", [Fault.hang(), Fault.drip_headers(0.2)], ids=["silence", "a drip of headers"]
)
def test_sigterm_ends_it_within_5_s_while_both_services_hang(where: Place, fault: Fault) -> None:
    where.timeout = "10s"
    with where.daemon() as daemon:
        hang_both(where, fault)
        code, took = daemon.terminate()
    assert code == 0
    assert took <= 5


def test_what_waits_for_slack_is_kept_over_sigterm(hooked: Place) -> None:
    hooked.slack.refuse()
    hooked.cloudflare.land(QUEUE, 3)
    with hooked.daemon() as daemon:
        daemon.wait_line("slack: temporary")
        hooked.wait_polls()
        assert daemon.terminate()[0] == 0
    assert hooked.slack.messages() == []
    hooked.slack.start()
    with hooked.daemon() as daemon:
        daemon.wait_line(r"told incident #1 \(first\)")
    assert sum("3 dead letters" in m.text for m in hooked.slack.messages()) == 1


def test_a_second_daemon_on_the_same_database_is_refused_and_told_who_holds_it(
    where: Place,
) -> None:
    with where.daemon() as holder:
        where.wait_polls()
        with where.daemon() as second:
            assert second.wait() == 2
            second.wait_line(f"pid {holder.pid} ")
        where.wait_polls()  # the holder is not disturbed


def test_a_queue_that_hangs_delays_no_other(where: Place) -> None:
    where.cloudflare.create_queue("other-dlq")
    where.queues = (QUEUE, "other-dlq")
    where.alerts["poll_interval"] = "2s"  # two at 1 s would be half of Cloudflare's limit
    where.timeout = "10s"
    hung = where.cloudflare.queue(QUEUE).id
    where.cloudflare.fail(Fault.hang(), when=lambda r: hung in r.path)
    with where.daemon() as daemon:
        where.wait_polls(2, "other-dlq")
        landed = where.cloudflare.land("other-dlq")[0].at
        daemon.wait_line(r"told incident #1 \(first\)")
    took = where.wait_said("dead letter in other-dlq") - landed
    assert took <= 5_000, "it waited for the queue that hangs"


def test_after_a_standstill_it_polls_at_once(where: Place) -> None:
    """As after a host's sleep: SIGSTOP, SIGCONT. The next poll was due in half a minute."""
    where.alerts["poll_interval"] = "30s"
    with where.daemon() as daemon:
        daemon.wait_line("unknown -> inactive")  # the tick itself may still be under way
        daemon.signal(signal.SIGSTOP)
        where.slack.wait_for(lambda: False, 5.5)  # the time itself is what is tested
        landed = where.cloudflare.land(QUEUE)[0].at
        daemon.signal(signal.SIGCONT)
        daemon.wait_line("stood still")
        assert where.wait_said("1 dead letter in") - landed <= 5_000


def test_health_is_good_beside_a_daemon_and_bad_without_one(where: Place) -> None:
    with where.daemon() as daemon:
        where.wait_polls()
        where.wait_polls()
        assert where.command("health").returncode == 0
        assert trouble(where.database, time.monotonic() + 80) is None
        assert "no tick has finished" in (trouble(where.database, time.monotonic() + 100) or "")
        daemon.kill()
        dead = where.command("health")
    assert dead.returncode == 1
    assert f"pid {daemon.pid}" in dead.stderr


def test_health_stays_good_while_cloudflare_has_asked_to_wait(where: Place) -> None:
    where.cloudflare.fail(Fault.rate_limited(300))
    with where.daemon() as daemon:
        daemon.wait_line("rate_limited")
        pulses = {_tick(where)}
        deadline = time.monotonic() + PATIENCE_S
        while len(pulses) < 3 and time.monotonic() < deadline:
            threading.Event().wait(0.1)
            pulses.add(_tick(where))
    assert len(pulses) >= 3, "a tick that waits out a Retry-After has finished"
    assert len(where.cloudflare.requests) <= 3, "it went on asking"


def _tick(where: Place) -> float:
    found = json.loads(where.database.with_name("dlqwatch.db.lock").read_bytes())
    return float(found["tick"])


def test_its_log_is_one_json_object_a_line(hooked: Place) -> None:
    with hooked.daemon("--log-format", "json", "--log-level", "debug") as daemon:
        hooked.wait_polls()
        hooked.cloudflare.fail(Fault.html(502), 1)
        hooked.slack.fail(Fault.status(500), 1)
        hooked.cloudflare.land(QUEUE)
        daemon.wait_line(r"told incident #1 \(first\)")
        assert daemon.terminate()[0] == 0
    lines = [json.loads(line) for line in daemon.lines]
    assert len(lines) >= 4
    assert all({"at", "level", "logger", "message"} <= line.keys() for line in lines)


def test_it_is_quiet_when_all_is_well(where: Place) -> None:
    with where.daemon() as daemon:
        daemon.wait_line("told of itself")
        where.wait_polls(2)
        before = len(daemon.lines)
        where.wait_polls(4)
        assert daemon.lines[before:] == []
        assert before <= 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[alerts]\npoll_intervall = '5s'\n", "poll_interval"),
        ("[alerts]\npoll_interval = '-5s'\n", "poll_interval"),
        ("[alerts\n", "config.toml"),
    ],
)
def test_a_configuration_that_cannot_be_used_ends_with_2_and_words(
    tmp_path: Path, text: str, says: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="utf-8")
    with Daemon(config) as daemon:
        assert daemon.wait() == 2
        daemon.wait_line(says)
        assert not any("Traceback" in line for line in daemon.lines)
