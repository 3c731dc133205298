"""The scripted Cloudflare answers with Cloudflare's shapes, permissions and codes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import MISSING, READ_TOKEN, WRITE_TOKEN, SimCloudflare
from dlqwatch.sim.queues import worker_consumer
from tests.sims import Caller

DLQ = "nemo12-events-dlq"
DAY_S = 86_400


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


def test_metrics_are_three_floats(cf: SimCloudflare, call: Caller, clock: HandClock) -> None:
    cf.land(DLQ, 2, age_s=60)
    cf.land(DLQ, 1)
    text = call(f"{at(cf)}/metrics").text
    result = json.loads(text)["result"]
    assert '"backlog_count": 3.0' in text
    assert result["oldest_message_timestamp_ms"] == clock.now() - 60_000
    assert result["backlog_bytes"] > 300


def test_an_empty_queue_is_zero_in_all_three(cf: SimCloudflare, call: Caller) -> None:
    assert set(call.result(f"{at(cf)}/metrics").values()) == {0.0}


def test_messages_vanish_when_their_retention_is_over(
    cf: SimCloudflare, call: Caller, clock: HandClock
) -> None:
    cf.land(DLQ, 2, age_s=DAY_S)
    cf.land(DLQ, 1)
    clock.move(3 * DAY_S - 1)
    assert call.result(f"{at(cf)}/metrics")["backlog_count"] == 3
    clock.move(1)
    assert call.result(f"{at(cf)}/metrics")["backlog_count"] == 1
    assert cf.queue(DLQ).expired == 2


def test_a_retention_that_is_cut_takes_what_is_too_old(cf: SimCloudflare) -> None:
    cf.land(DLQ, 1, age_s=7_200)
    cf.queue(DLQ).retention_s = 3_600
    assert cf.depth(DLQ) == 0


def test_take_removes_the_oldest(cf: SimCloudflare) -> None:
    young = cf.land(DLQ, 1)
    old = cf.land(DLQ, 1, age_s=100)
    assert cf.take(DLQ, 1) == old
    assert cf.drain(DLQ) == young


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, "null"),
        ("7", '"7"'),
        (True, "true"),
        (-1, "-1"),
        (1e30, "1e+30"),
        (math.nan, "NaN"),
        (7.0, "7.0"),
        (2.5, "2.5"),
        (0, "0"),
    ],
)
def test_metrics_can_be_nonsense(cf: SimCloudflare, call: Caller, value: Any, seen: str) -> None:
    cf.land(DLQ, 1)
    cf.set_metrics(DLQ, backlog_count=value)
    assert f'"backlog_count": {seen}' in call(f"{at(cf)}/metrics").text
    cf.clear_metrics(DLQ)
    assert call.result(f"{at(cf)}/metrics")["backlog_count"] == 1


def test_a_metric_can_be_missing(cf: SimCloudflare, call: Caller) -> None:
    cf.set_metrics(DLQ, backlog_count=MISSING, more=1)
    got = call.result(f"{at(cf)}/metrics")
    assert "backlog_count" not in got
    assert got["more"] == 1


def test_a_queue_shows_its_settings_and_consumers(cf: SimCloudflare, call: Caller) -> None:
    source = call.result(at(cf, "nemo12-events"))
    assert source["queue_name"] == "nemo12-events"
    assert source["consumers_total_count"] == 1
    (consumer,) = source["consumers"]
    assert (consumer["script"], consumer["type"]) == ("nemo12-api", "worker")
    assert consumer["dead_letter_queue"] == DLQ
    assert consumer["settings"]["max_retries"] == 5
    assert source["settings"] == {
        "delivery_delay": 0,
        "delivery_paused": False,
        "message_retention_period": 345_600,
    }
    assert call.result(at(cf))["consumers"] == []


def test_an_unset_dead_letter_queue_is_an_empty_string() -> None:
    assert worker_consumer("w")["dead_letter_queue"] == ""


def test_the_list_has_pages(cf: SimCloudflare, call: Caller) -> None:
    for number in range(43):
        cf.create_queue(f"q{number}")
    first = call("/queues").json()
    assert first["result_info"] == {
        "count": 20,
        "page": 1,
        "per_page": 20,
        "total_count": 45,
        "total_pages": 3,
    }
    assert len(call.result("/queues", page=3)) == 5
    assert call.result("/queues", page=4) == []
    assert len(call.result("/queues", per_page=100)) == 45
    cf.per_page_works = False
    assert len(call.result("/queues", per_page=100)) == 20


def test_the_name_filter_can_be_one_that_does_not_filter(cf: SimCloudflare, call: Caller) -> None:
    assert [q["queue_name"] for q in call.result("/queues", name=DLQ)] == [DLQ]
    cf.name_filter = False
    assert len(call.result("/queues", name=DLQ)) == 2


def test_an_unknown_queue_is_404_10104(cf: SimCloudflare, call: Caller) -> None:
    path = at(cf)
    cf.delete_queue(DLQ)
    assert call.refused(f"{path}/metrics") == (404, 10104)
    assert call.refused(f"/queues/{'0' * 32}") == (404, 10104)


@pytest.mark.parametrize("path", ["/queues/not-hex/metrics", "/nope", "/queues/{id}/nope"])
def test_a_bad_route_is_404_7003(cf: SimCloudflare, call: Caller, path: str) -> None:
    assert call.refused(path.replace("{id}", cf.queue(DLQ).id)) == (404, 7003)


def test_a_malformed_account_is_no_route_and_a_foreign_one_is_refused(
    cf: SimCloudflare, call: Caller
) -> None:
    cf.account_id = "nope"
    assert call.refused("/queues") == (404, 7003)
    path = f"{cf.base_url}/accounts/{'f' * 32}/queues"
    got = call.client.get(path, headers={"Authorization": f"Bearer {READ_TOKEN}"})
    assert (got.status_code, got.json()["errors"][0]["code"]) == (403, 10000)


def test_tokens_are_refused_as_cloudflare_refuses_them(
    cf: SimCloudflare, call: Caller, clock: HandClock
) -> None:
    call.token = "wrong-token"
    assert call.refused("/queues") == (401, 10000)
    call.token = "wrong token"
    assert call.refused("/queues") == (400, 6003)
    call.token = READ_TOKEN
    cf.tokens[READ_TOKEN] = {"dns_read"}
    assert call.refused("/queues") == (403, 10000)
    cf.tokens[READ_TOKEN] = {"queues_read"}
    cf.token_expires[READ_TOKEN] = clock.now() + 1_000
    call.result("/queues")
    clock.move(1)
    assert call.refused("/queues") == (401, 10000)
    assert call.client.get(cf.base_url).json()["errors"][0]["code"] == 9106


def test_reading_needs_read_and_peeking_needs_write(cf: SimCloudflare, call: Caller) -> None:
    call.token = READ_TOKEN
    for path in ("/queues", at(cf), f"{at(cf)}/metrics"):
        call.result(path)
    for path in ("messages/peek", "messages/purge", "messages", "messages/batch", "purge"):
        assert call.refused(f"{at(cf)}/{path}", {}) == (403, 10000)


def test_verify_has_an_address_for_each_kind_of_token(
    cf: SimCloudflare, call: Caller, clock: HandClock
) -> None:
    """An account-owned token is refused at the user's address though it is good."""
    user = f"{cf.base_url}/user/tokens/verify"
    headers = {"Authorization": f"Bearer {WRITE_TOKEN}"}
    cf.token_expires[WRITE_TOKEN] = clock.now() + 1_000
    good = call.client.get(user, headers=headers).json()
    assert good["result"]["status"] == "active"
    assert good["result"]["expires_on"].endswith("Z")
    assert good["messages"][0]["code"] == 10000
    cf.tokens["cfat_abcdefghijklmnop"] = {"queues_read"}
    call.token = "cfat_abcdefghijklmnop"
    assert call.result("/tokens/verify")["status"] == "active"
    refused = call.client.get(user, headers={"Authorization": f"Bearer {call.token}"})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (401, 1000)


def test_every_answer_names_its_ray_its_date_and_the_limit(
    cf: SimCloudflare, call: Caller, clock: HandClock
) -> None:
    for got in (call("/queues"), call("/nope")):
        assert got.headers["cf-ray"]
        assert parsedate_to_datetime(got.headers["date"]).timestamp() == clock.now() // 1000
        assert got.headers["ratelimit"].startswith('"default";r=')


def test_the_limit_blocks_every_call_for_five_minutes(
    cf: SimCloudflare, call: Caller, clock: HandClock
) -> None:
    cf.rate_limit = 3
    for _ in range(3):
        call.result("/queues")
    got = call("/queues")
    assert (got.status_code, got.headers["retry-after"]) == (429, "300")
    clock.move(299.5)
    assert call("/queues").headers["retry-after"] == "1"
    clock.move(0.5)
    call.result("/queues")


def test_events_look_like_nemo12s(cf: SimCloudflare) -> None:
    one, two = (m.body for m in cf.land(DLQ, 2))
    assert list(one) == [
        "event_id",
        "idempotency_key",
        "type",
        "occurred_at",
        "producer",
        "version",
        "payload",
    ]
    assert one["event_id"] != two["event_id"]
    assert one["idempotency_key"] != two["idempotency_key"]
