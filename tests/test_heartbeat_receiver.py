"""S8: the receivers of heartbeats, the real process beside them, and the settings."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlqwatch.daemon.logs import redact
from dlqwatch.decide.beating import trouble
from dlqwatch.edges.heartbeat import Receiver
from dlqwatch.edges.http import Http
from tests.configs import BASE, refusal, settings
from tests.loopback import (
    OK,
    SLACK,
    TIMEOUT,
    Behaviour,
    drips,
    read_request,
    resets,
    says,
    says_nothing,
    serving,
)
from tests.process import place
from tests.rig import QUEUE

URL = "https://hc.example/canary-beat"


@pytest.fixture
def http() -> Iterator[Http]:
    found = Http(trust_env=False)
    yield found
    found.close()


# ---- the receiver

ANSWERS: dict[str, tuple[int, bytes, bool]] = {
    "Healthchecks": (200, b"OK", True),
    "Healthchecks, deleted check": (200, b"OK (not found)", False),
    "Cronitor": (200, b"OK\n", True),
    "Uptime Kuma": (200, b'{"ok":true}', True),
    "Uptime Kuma, unknown token": (404, b'{"ok":false,"msg":"Monitor not found"}', False),
    "Better Stack": (200, b"", True),
    "accepted": (202, b"", True),
    "a redirect": (301, b"", False),
    "too many": (429, b"", False),
    "out of order": (503, b"", False),
}


@pytest.mark.parametrize(("status", "body", "heard"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_heard_or_not(status: int, body: bytes, heard: bool) -> None:
    assert (trouble(status, body) == "") is heard


@pytest.mark.parametrize(
    "path",
    [
        "/uuid-0f3a",
        "/uuid-0f3a/fail",
        "/p/key/dlqwatch?state=run&env=production",
        "/p/key/dlqwatch?state=fail",
        "/api/push/tOkEn5AbCd?status=up&msg=OK&ping=",
        "/api/push/tOkEn5AbCd?status=down&msg=Slack%20is%20away",
    ],
)
def test_exactly_the_configured_address_is_asked_for(path: str, http: Http) -> None:
    asked: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        asked.append(read_request(connection))
        connection.sendall(OK)

    with serving(behave) as server:
        assert Receiver(http, 2.0).call(server.url + path) == ""
    assert asked[0].startswith(f"GET {path} HTTP/1.1\r\n".encode())


def test_a_redirect_is_not_followed_and_not_heard(http: Http) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    with serving(says(answer)) as server:
        said = Receiver(http, 2.0).call(f"{server.url}/canary")
        assert server.connections == 1
    assert "redirect" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    "behave",
    [says_nothing, resets, drips(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")],
    ids=["silence", "a reset", "a drip"],
)
def test_a_receiver_that_fails_is_given_up_in_time_without_its_address(
    behave: Behaviour, http: Http
) -> None:
    with serving(behave) as server:
        began = time.monotonic()
        said = Receiver(http, TIMEOUT).call(f"{server.url}/canary")
        assert time.monotonic() - began <= TIMEOUT + SLACK
    assert said
    assert "canary" not in said
    assert "127.0.0.1" not in said


# ---- the real process


def test_the_process_beats_while_a_hanging_receiver_delays_nothing(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        asked.append(read_request(connection))
        connection.sendall(OK)

    with place(tmp_path) as where, serving(behave) as server:
        where.more = f'[heartbeat]\nurl = "{server.url}/canary-beat"\ninterval = "1s"\n'
        with where.daemon("--log-level", "DEBUG") as daemon:
            where.wait_polls(4)
            assert daemon.terminate()[0] == 0
        assert 2 <= len(asked) <= 6
        assert asked[0].startswith(b"GET /canary-beat HTTP/1.1\r\n")
        assert not any("canary-beat" in line for line in daemon.lines)

    with place(tmp_path) as where, serving(says_nothing) as server:
        where.more = f'[heartbeat]\nurl = "{server.url}/canary-beat"\ninterval = "1s"\n'
        with where.daemon() as daemon:
            polls = where.wait_polls(4)
            where.cloudflare.land(QUEUE)
            daemon.wait_line(r"told incident #1 \(first\)")
            assert polls[-1] - polls[0] <= 3 * 1_000 + 2_000
            code, took = daemon.terminate()
        assert code == 0
        assert took <= 3, "it isn't waited for"


# ---- the settings


def test_a_fail_url_like_url_is_refused(tmp_path: Path) -> None:
    """A failure would pass for a sign of life."""
    more = f'[heartbeat]\nurl = "{URL}"\nfail_url = "{URL}"\n'
    [line] = refusal(tmp_path, BASE + more)
    assert "config.toml:8: heartbeat.fail_url: the same address as url" in line
    assert "canary-beat" not in line


def test_the_addresses_are_secrets_also_without_their_host(tmp_path: Path) -> None:
    more = f'[heartbeat]\nurl = "{URL}"\n'
    more += 'fail_url = "https://up.example/api/push/tOkEn5AbCd?status=down"\n'
    found = settings(tmp_path, BASE + more).secrets()
    line = redact(f"GET {URL} and /api/push/tOkEn5AbCd?status=down and /canary-beat-x", found)
    assert "canary" not in line.replace("/canary-beat-x", "")
    assert "tOkEn5AbCd" not in line
    assert URL not in repr(settings(tmp_path, BASE + more))
