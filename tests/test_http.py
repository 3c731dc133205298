"""What becomes of a request: broken connections, redirects, proxies, secrets."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator

import pytest

from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http, HttpFailure, shared_ssl_context
from dlqwatch.errors import CloudflareError, ConfigError
from dlqwatch.model import SampleReason
from tests.loopback import (
    OK,
    TIMEOUT,
    Behaviour,
    drips,
    fails,
    read_request,
    resets,
    says,
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
        pytest.param(lambda connection, over: None, id="closes at once"),
        pytest.param(says(b""), id="closes after the request"),
        pytest.param(says(OK[:20]), id="closes inside the headers"),
        pytest.param(says(OK[:-1]), id="closes inside the body"),
        pytest.param(resets, id="resets"),
        pytest.param(says(b"SSH-2.0-OpenSSH_9\r\n\r\n"), id="speaks something else"),
        pytest.param(says(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000), id="endless header"),
    ],
)
def test_a_connection_that_breaks_is_unreachable(http: Http, behave: Behaviour) -> None:
    with serving(behave) as server:
        failure = fails(http, server.url)
    assert failure.kind == "unreachable"
    assert failure.detail


def test_a_refused_connection_is_unreachable(http: Http) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    failure = fails(http, f"http://127.0.0.1:{port}")
    assert failure.kind == "unreachable"
    assert "refused" in failure.detail


@pytest.mark.parametrize("host", ["nowhere.invalid", "x" * 70, "a..b"])
def test_a_name_that_is_no_host_is_unreachable(http: Http, host: str) -> None:
    with pytest.raises(HttpFailure) as caught:
        http.request("GET", f"http://{host}/", timeout_s=10)
    assert caught.value.kind == "unreachable"


def test_a_server_without_tls_is_unreachable_over_https(http: Http) -> None:
    with serving(lambda connection, over: connection.sendall(OK)) as server:
        assert fails(http, f"https://127.0.0.1:{server.port}").kind == "unreachable"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(http: Http, status: int) -> None:
    head = f"HTTP/1.1 {status} Moved\r\nLocation: /help\r\nContent-Length: 0\r\n\r\n".encode()
    with serving(says(head)) as server:
        answer = http.request("GET", server.url, timeout_s=5)
        assert server.connections == 1
    assert (answer.status, answer.headers["location"]) == (status, "/help")


def test_no_cookie_is_brought_back() -> None:
    http = Http(trust_env=False)
    requests: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        while request := read_request(connection):
            requests.append(request)
            connection.sendall(OK.replace(b"Content", b"Set-Cookie: __cf_bm=1\r\nContent"))

    with serving(behave) as server:
        for _ in range(2):
            http.request("GET", server.url, timeout_s=5)
        http.close()
    assert len(requests) == 2
    assert b"cookie" not in requests[1].lower()


def test_a_proxy_of_the_environment_is_used_and_bound_by_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with serving(drips(b"HTTP/1.1 200 OK\r\nX-A: ", b"x")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        proxied = Http()
        for scheme in ("http", "https"):
            assert fails(proxied, f"{scheme}://api.test/").kind == "timeout"
        proxied.close()
        assert proxy.connections == 2


def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://user:canary@127.0.0.1:1")
    with pytest.raises(ConfigError) as caught:
        Http()
    assert "ALL_PROXY" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_certificate_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(ConfigError, match=r"/nowhere/ca\.pem"):
        shared_ssl_context()


def test_the_ssl_context_is_the_one_that_was_passed_in() -> None:
    context = ssl.create_default_context()
    http = Http(ssl_context=context, trust_env=False)
    assert http.ssl_context is context
    http.close()


@pytest.mark.parametrize("value", ["canary\nx", "canaryü", "canary\0"])
def test_a_header_that_cannot_be_sent_is_not_quoted(http: Http, value: str) -> None:
    with serving(says(OK)) as server, pytest.raises(HttpFailure) as caught:
        http.request("GET", server.url, timeout_s=5, headers={"Authorization": value})
    assert "canary" not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://x/", "http://[", "http://x:99999/"])
def test_an_address_that_is_none_is_a_failure(http: Http, url: str) -> None:
    with pytest.raises(HttpFailure):
        http.request("GET", url, timeout_s=5)


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (drips(b"HTTP/1.1 200 OK\r\n\r\n", b" "), SampleReason.TIMEOUT),
        (resets, SampleReason.UNREACHABLE),
        (drips(b"HTTP/1.1 200 OK\r\n\r\n", b" " * (1 << 21)), SampleReason.TOO_LARGE),
        (says(b"HTTP/1.1 302 F\r\nContent-Length: 0\r\n\r\n"), SampleReason.REDIRECTED),
    ],
    ids=["drip", "reset", "large", "redirect"],
)
def test_a_failure_on_the_wire_is_a_reason_and_leaks_no_token(
    http: Http, behave: Behaviour, reason: SampleReason, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(behave) as server:
        cloudflare = Cloudflare(
            base_url=server.url,
            account_id="acc",
            token="canary-4711",
            timeout_s=TIMEOUT,
            clock=SystemClock(),
            http=http,
        )
        with pytest.raises(CloudflareError) as caught:
            cloudflare.metrics("0" * 32)
    assert caught.value.reason is reason
    assert "canary" not in f"{caught.value} {caught.value!r} {caplog.text}"


def test_a_request_after_the_end_is_a_failure_not_a_crash() -> None:
    http = Http(trust_env=False)
    http.close()
    with pytest.raises(HttpFailure):
        http.request("GET", "http://127.0.0.1:1/", timeout_s=1)


def test_the_systems_clock_is_in_milliseconds() -> None:
    clock = SystemClock()
    assert abs(clock.now() - time.time() * 1000) < 1000
    assert abs(clock.monotonic() - time.monotonic()) < 1
