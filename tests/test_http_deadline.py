"""One request, one deadline, one size cap: against real sockets that misbehave."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from dlqwatch.edges.http import Http, HttpFailure
from tests.loopback import (
    OK,
    SLACK,
    TIMEOUT,
    Behaviour,
    drip,
    drips,
    fails,
    read_request,
    says,
    says_nothing,
    serving,
)


@pytest.fixture(scope="module")
def http() -> Iterator[Http]:
    http = Http(trust_env=False)
    yield http
    http.close()


@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(says_nothing, id="accepts and says nothing"),
        pytest.param(drips(b"", b"H"), id="drips the status line"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\nX-A: ", b"x"), id="drips a header"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\n", b"X-A: x\r\n"), id="drips headers"),
        pytest.param(drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="drips 100 Continue"),
        pytest.param(
            drips(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x"), id="drips the body"
        ),
        pytest.param(
            drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
            id="drips chunks",
        ),
    ],
)
def test_an_answer_that_does_not_come_whole_ends_at_the_deadline(
    http: Http, behave: Behaviour
) -> None:
    with serving(behave) as server:
        assert fails(http, server.url).kind == "timeout"


def test_a_tls_handshake_that_hangs_ends_at_the_deadline(http: Http) -> None:
    with serving(says_nothing) as server:
        failure = fails(http, f"https://127.0.0.1:{server.port}")
    assert failure.kind == "timeout"
    assert "connecting" in failure.detail


def test_a_tls_handshake_that_drips_ends_at_the_deadline(http: Http) -> None:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        drip(connection, over, b"\x16\x03\x03\x40\x00", b"\x02")

    with serving(behave) as server:
        assert fails(http, f"https://127.0.0.1:{server.port}").kind == "timeout"


@contextmanager
def black_hole(host: str, port: int = 0) -> Iterator[int]:
    """A listener whose queue is full: it answers no SYN, as a firewall that drops."""
    with socket.create_server((host, port), backlog=0) as listener, ExitStack() as waiting:
        port = listener.getsockname()[1]
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex((host, port))
        yield port


def test_a_connection_that_is_never_accepted_ends_at_the_deadline(http: Http) -> None:
    with black_hole("127.0.0.1") as port:
        failure = fails(http, f"http://127.0.0.1:{port}")
    assert failure.kind == "timeout"
    assert "connecting" in failure.detail


def test_all_addresses_of_a_name_share_one_deadline() -> None:
    several = Http(trust_env=False, addresses=lambda host, port: ["127.0.0.1"] * 20)
    with black_hole("127.0.0.1") as port:
        assert fails(several, f"http://api.test:{port}").kind == "timeout"
    several.close()


def test_a_dead_first_address_leaves_time_for_the_second() -> None:
    both = Http(trust_env=False, addresses=lambda host, port: ["127.0.0.2", "127.0.0.1"])
    with serving(says(OK)) as server, black_hole("127.0.0.2", server.port):
        answer = both.request("GET", f"http://api.test:{server.port}", timeout_s=TIMEOUT)
    assert answer.body == b"ok"
    both.close()


def test_a_look_up_that_ends_after_the_deadline_is_not_followed_by_a_request() -> None:
    """Its thread has been given up by then, and the next poll may be under way."""
    late = threading.Event()

    def addresses(host: str, port: int) -> list[str]:
        late.wait(TIMEOUT)
        return ["127.0.0.1"]

    hung = Http(trust_env=False, addresses=addresses)
    with serving(says(OK)) as server:
        with pytest.raises(HttpFailure) as caught:
            hung.request("GET", f"http://api.test:{server.port}", timeout_s=TIMEOUT / 2)
        assert server.connections == 0
    assert caught.value.kind == "timeout"
    hung.close()


def test_a_deadline_is_the_requests_own_also_on_a_connection_that_is_used_again(
    http: Http,
) -> None:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        read_request(connection)
        connection.sendall(OK)
        read_request(connection)
        drip(connection, over, b"HTTP/1.1 200 OK\r\nX-A: ", b"x")

    with serving(behave) as server:
        assert http.request("GET", server.url, timeout_s=5).body == b"ok"
        assert fails(http, server.url).kind == "timeout"
        assert server.connections == 1


def test_a_slow_taker_of_a_large_request_ends_at_the_deadline(http: Http) -> None:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        while not over.wait(0.05):
            connection.recv(1024)

    with serving(behave) as server:
        began = time.monotonic()
        with pytest.raises(HttpFailure) as caught:
            http.request("POST", server.url, timeout_s=TIMEOUT, content=b"x" * (16 << 20))
        assert time.monotonic() - began <= TIMEOUT + SLACK
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 9999999\r\n\r\n", b"\r\n"],
    ids=["announced", "unannounced"],
)
def test_an_answer_over_the_cap_is_too_large(head: bytes) -> None:
    small = Http(trust_env=False, size_cap=1000)
    with serving(drips(b"HTTP/1.1 200 OK\r\n" + head, b"x" * 600)) as server:
        assert fails(small, server.url).kind == "too_large"
    small.close()


def test_an_answer_at_the_cap_comes_through() -> None:
    small = Http(trust_env=False, size_cap=2)
    with serving(says(OK)) as server:
        assert small.request("GET", server.url, timeout_s=5).body == b"ok"
    small.close()
