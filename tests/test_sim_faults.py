"""The scripted services misbehave at the socket exactly as they are told to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack


@pytest.fixture
def cf() -> Iterator[SimCloudflare]:
    with SimCloudflare() as server:
        yield server


def ask(cf: SimCloudflare, timeout: float = 5.0) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=timeout) as client:
        return client.get(
            f"{cf.base_url}/accounts/{cf.account_id}/queues",
            headers={"Authorization": f"Bearer {READ_TOKEN}"},
        )


def raw(cf: SimCloudflare) -> socket.socket:
    """A socket that has sent a whole request."""
    port = urlsplit(cf.url).port
    assert port is not None
    peer = socket.create_connection(("127.0.0.1", port), timeout=5)
    peer.sendall(
        f"GET /client/v4/accounts/{cf.account_id}/queues HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {READ_TOKEN}\r\n\r\n".encode()
    )
    return peer


def threads_of(cf: SimCloudflare) -> list[threading.Thread]:
    name = f"sim:{urlsplit(cf.url).port}"
    return [t for t in threading.enumerate() if t.name.split(":connection")[0] == name]


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        (Fault.status(500, "boom"), 500, b"boom"),
        (Fault.status(200, b""), 200, b""),
        (Fault.json({}), 200, b"{}"),
        (Fault.json([1]), 200, b"[1]"),
        (Fault.truncated(), 200, b'{"ok": tr'),
        (Fault.not_utf8(), 200, b'{"ok": "\xff\xfe"}'),
    ],
)
def test_a_scripted_body_arrives_byte_for_byte(
    cf: SimCloudflare, fault: Fault, status: int, body: bytes
) -> None:
    cf.fail(fault)
    got = ask(cf)
    assert (got.status_code, got.content) == (status, body)


def test_html_is_labelled_html(cf: SimCloudflare) -> None:
    cf.fail(Fault.html(502))
    got = ask(cf)
    assert got.status_code == 502
    assert got.headers["content-type"].startswith("text/html")
    assert got.text.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("code", [302, 307])
def test_a_redirect_names_its_target(cf: SimCloudflare, code: int) -> None:
    cf.fail(Fault.redirect("http://127.0.0.1:9/", code))
    got = ask(cf)
    assert (got.status_code, got.headers["location"]) == (code, "http://127.0.0.1:9/")


@pytest.mark.parametrize("value", [3, 2.5, "Sun, 29 Nov 2026 12:00:00 GMT"])
def test_retry_after_goes_out_as_given(cf: SimCloudflare, value: int | float | str) -> None:
    cf.fail(Fault.rate_limited(value))
    got = ask(cf)
    assert (got.status_code, got.headers["retry-after"]) == (429, str(value))
    assert got.json()["success"] is False


def test_a_bare_status_speaks_the_services_own_words(cf: SimCloudflare) -> None:
    cf.fail(Fault.status(503))
    assert ask(cf).json()["errors"][0]["code"] == 15000


def test_close_ends_the_connection_without_a_byte(cf: SimCloudflare) -> None:
    cf.fail(Fault.close())
    with raw(cf) as peer:
        assert peer.recv(10) == b""


def test_reset_is_a_real_reset(cf: SimCloudflare) -> None:
    cf.fail(Fault.reset())
    with raw(cf) as peer, pytest.raises(ConnectionResetError):
        peer.recv(10)


def test_hang_reads_and_never_answers(cf: SimCloudflare) -> None:
    cf.fail(Fault.hang())
    with raw(cf) as peer:
        assert cf.wait_for(lambda: len(cf.requests) == 1)
        peer.settimeout(0.2)
        with pytest.raises(TimeoutError):
            peer.recv(10)


def test_a_hanging_connection_ends_when_its_client_goes(cf: SimCloudflare) -> None:
    cf.fail(Fault.hang())
    with raw(cf):
        assert cf.wait_for(lambda: len(cf.requests) == 1)
        serving = [t for t in threads_of(cf) if t.name.endswith(":connection")]
    assert serving
    for thread in serving:
        thread.join(5)
        assert not thread.is_alive()


def test_a_short_body_is_shorter_than_it_says(cf: SimCloudflare) -> None:
    cf.fail(Fault.short_body())
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        ask(cf)


def test_a_dripping_head_comes_one_byte_at_a_time(cf: SimCloudflare) -> None:
    cf.fail(Fault.drip_headers(0.03))
    with raw(cf) as peer:
        assert [peer.recv(100) for _ in range(5)] == [b"H", b"T", b"T", b"P", b"/"]


def test_a_dripping_body_follows_a_whole_head(cf: SimCloudflare) -> None:
    cf.fail(Fault.drip_body(0.03))
    with raw(cf) as peer:
        head = peer.recv(4096)
        assert head.endswith(b"\r\n\r\n")
        assert peer.recv(100) == b"{"
        assert peer.recv(100) == b'"'


def test_a_drip_outlasts_a_timeout_for_each_read(cf: SimCloudflare) -> None:
    """The reason for a total deadline: httpx's timeout alone never ends this."""
    cf.fail(Fault.drip_body(0.005), times=1)
    began = time.monotonic()
    assert ask(cf, timeout=0.2).status_code == 200
    assert time.monotonic() - began > 0.4


def test_a_delay_sends_the_true_answer_late(cf: SimCloudflare) -> None:
    cf.fail(Fault.delay(0.2))
    began = time.monotonic()
    assert ask(cf).json()["success"] is True
    assert time.monotonic() - began >= 0.2


def test_refused_connections_are_refused_until_healed(cf: SimCloudflare) -> None:
    before = cf.url
    cf.refuse()
    with pytest.raises(httpx.ConnectError):
        ask(cf)
    cf.heal()
    assert cf.url == before
    assert ask(cf).status_code == 200


def test_faults_are_used_up_in_order_and_as_often_as_said(cf: SimCloudflare) -> None:
    cf.fail(Fault.status(500), times=2)
    cf.fail(Fault.status(503), times=1)
    assert [ask(cf).status_code for _ in range(4)] == [500, 500, 503, 200]


def test_a_fault_meets_only_the_requests_it_is_for(cf: SimCloudflare) -> None:
    cf.fail(Fault.status(500), when=lambda request: request.path.endswith("/metrics"))
    assert ask(cf).status_code == 200


def test_heal_forgets_the_faults(cf: SimCloudflare) -> None:
    cf.fail(Fault.status(500))
    assert ask(cf).status_code == 500
    cf.heal()
    assert ask(cf).status_code == 200


@pytest.mark.parametrize("after", [True, False])
def test_after_means_that_the_effect_happens_before_the_fault(after: bool) -> None:
    with SimSlack() as slack, httpx.Client(trust_env=False) as client:
        slack.fail(Fault.close(after=after))
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(slack.webhook_url, json={"text": "hello"})
        assert len(slack.messages()) == after


@pytest.mark.parametrize(
    "fault", [Fault.hang(), Fault.delay(60), Fault.drip_body(60), Fault.drip_headers(60)]
)
def test_closing_releases_whoever_waits_and_leaves_nothing(fault: Fault) -> None:
    with SimCloudflare() as cf:
        cf.fail(fault)
        with raw(cf) as peer:
            assert cf.wait_for(lambda: len(cf.requests) == 1)
            began = time.monotonic()
            cf.close()
            assert time.monotonic() - began < 1
            peer.settimeout(1)
            while peer.recv(4096):  # ends: the connection is closed
                pass
    assert threads_of(cf) == []


def test_an_idle_keep_alive_connection_does_not_outlive_the_server() -> None:
    with httpx.Client(trust_env=False) as client:
        with SimCloudflare() as cf:
            client.get(cf.base_url)
        assert threads_of(cf) == []


def test_wait_for_ends_when_it_happens(cf: SimCloudflare) -> None:
    cf.create_queue("q")
    threading.Timer(0.05, cf.land, ("q",)).start()
    began = time.monotonic()
    assert cf.wait_for(lambda: cf.depth("q") == 1, 10)
    assert time.monotonic() - began < 5
    assert not cf.wait_for(lambda: cf.depth("q") == 2, 0.05)


def test_requests_are_kept_with_all_that_was_sent() -> None:
    clock = HandClock()
    with SimCloudflare(clock) as cf:
        cf.create_queue("q")
        ask(cf)
    (request,) = cf.requests
    assert (request.method, request.at) == ("GET", clock.now())
    assert request.headers["authorization"] == f"Bearer {READ_TOKEN}"


def test_a_fault_of_the_simulation_itself_is_loud() -> None:
    """A bug in the sim must not pass for a scripted 500."""
    cf = SimCloudflare().start()
    cf.create_queue("q").messages = None  # type: ignore[assignment]
    path = f"/accounts/{cf.account_id}/queues/{cf.queue('q').id}/metrics"
    with httpx.Client(trust_env=False) as client:
        headers = {"Authorization": f"Bearer {READ_TOKEN}"}
        assert client.get(cf.base_url + path, headers=headers).status_code == 500
    with pytest.raises(RuntimeError, match="simulation itself"):
        cf.close()
