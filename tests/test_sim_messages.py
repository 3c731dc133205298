"""The scripted Cloudflare's messages: peeked, purged, pushed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import SimCloudflare
from tests.sims import Caller

DLQ = "nemo12-events-dlq"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def cf(clock: HandClock) -> Iterator[SimCloudflare]:
    with SimCloudflare(clock) as server:
        server.create_pair()
        yield server


@pytest.fixture
def call(cf: SimCloudflare) -> Iterator[Caller]:
    with httpx.Client(trust_env=False) as client:
        yield Caller(cf, client)


def at(cf: SimCloudflare, name: str = DLQ) -> str:
    return f"/queues/{cf.queue(name).id}"


def test_peek_shows_the_oldest_and_removes_nothing(cf: SimCloudflare, call: Caller) -> None:
    cf.land(DLQ, 7)
    peeked = call.result(f"{at(cf)}/messages/peek", {})["messages"]
    assert len(peeked) == 5
    assert set(peeked[0]) == {"id", "body", "attempts", "metadata", "ref", "timestamp_ms"}
    assert json.loads(peeked[0]["body"])["producer"] == "api"
    assert peeked[0]["metadata"]["CF-Content-Type"] == "json"
    assert len(call.result(f"{at(cf)}/messages/peek", {"batch_size": 100})["messages"]) == 7
    assert call.refused(f"{at(cf)}/messages/peek", {"batch_size": 101}) == (400, 10207)
    assert cf.depth(DLQ) == 7


@pytest.mark.parametrize(
    ("encoding", "body"), [("text", '{"a": 1}'), ("base64", "eyJhIjogMX0="), ("object", {"a": 1})]
)
def test_peek_encodes_bodies_in_each_way_that_is_reported(
    cf: SimCloudflare, call: Caller, encoding: str, body: Any
) -> None:
    cf.peek_encoding = encoding
    cf.land(DLQ, bodies=[{"a": 1}])
    assert call.result(f"{at(cf)}/messages/peek", {})["messages"][0]["body"] == body


def test_purge_by_ref_removes_that_one_and_warns_of_an_unknown(
    cf: SimCloudflare, call: Caller
) -> None:
    first, second = cf.land(DLQ, 2)
    refs = [{"ref": first.ref}, {"ref": "gone"}]
    got = call.result(f"{at(cf)}/messages/purge", {"refs": refs})
    assert (got["errors"], list(got["warnings"])) == ([], ["gone"])
    assert cf.drain(DLQ) == [second]


def test_pushing_adds_and_answers_with_metrics(cf: SimCloudflare, call: Caller) -> None:
    path = f"{at(cf)}/messages"
    got = call.result(path, {"body": {"a": 1}, "content_type": "json"})
    assert got["metadata"]["metrics"]["backlog_count"] == 1
    batch = {"messages": [{"body": "x", "content_type": "text"}] * 2}
    call.result(f"{path}/batch", batch)
    assert cf.depth(DLQ) == 3


@pytest.mark.parametrize(
    ("path", "sent", "code"),
    [
        ("", {"content_type": "json"}, 10207),
        ("", {"body": 1, "content_type": "text"}, 10207),
        ("", {"body": "x" * 128_001, "content_type": "text"}, 10204),
        ("", {"body": 1, "delay_seconds": 86_401}, 10202),
        ("/batch", {"messages": [{"body": 1}] * 101}, 10206),
        ("/batch", {"messages": [{"body": "x" * 127_000}] * 3}, 10205),
        ("", [1], 10208),
    ],
)
def test_a_bad_push_is_refused_with_its_code(
    cf: SimCloudflare, call: Caller, path: str, sent: Any, code: int
) -> None:
    assert call.refused(f"{at(cf)}/messages{path}", sent) == (400, code)
    assert cf.depth(DLQ) == 0


def test_a_delayed_message_is_seen_when_its_delay_is_over(
    cf: SimCloudflare, call: Caller, clock: HandClock
) -> None:
    call.result(f"{at(cf)}/messages", {"body": 1, "delay_seconds": 10})
    assert cf.depth(DLQ) == 0
    clock.move(10)
    assert cf.depth(DLQ) == 1


def test_purging_a_queue_needs_to_be_meant(cf: SimCloudflare, call: Caller) -> None:
    cf.land(DLQ, 2)
    assert call.refused(f"{at(cf)}/purge", {}) == (400, 10207)
    call.result(f"{at(cf)}/purge", {"delete_messages_permanently": True})
    assert cf.depth(DLQ) == 0
    assert call.result(f"{at(cf)}/purge")["started_at"] != ""
