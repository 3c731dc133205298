"""What dlqwatch asks Cloudflare: depth, settings, token."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
import respx

from dlqwatch.decide.reading import TokenInfo
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.errors import CloudflareError
from dlqwatch.model import MINUTE, SampleKind, SampleReason
from tests.cloudflare_answers import (
    BASE,
    HTML,
    METRICS,
    NOW,
    QUEUE_ID,
    QUEUES,
    TOKEN,
    cloudflare_with,
    refusal,
    success,
)


@pytest.fixture(scope="module")
def http() -> Iterator[Http]:
    http = Http()
    yield http
    http.close()


@pytest.fixture
def cloudflare(http: Http) -> Cloudflare:
    return cloudflare_with(http, TOKEN)


@pytest.fixture
def api() -> Iterator[respx.MockRouter]:
    with respx.mock(assert_all_called=True) as router:
        yield router


def test_the_depth_is_read_with_the_token_in_its_header(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    route = api.get(METRICS).mock(
        return_value=success(
            {
                "backlog_count": 7.0,
                "backlog_bytes": 900.0,
                "oldest_message_timestamp_ms": NOW - 1000.0,
            }
        )
    )
    sample = cloudflare.metrics(QUEUE_ID)
    assert (sample.at, sample.kind, sample.depth) == (NOW, SampleKind.COMPLETE, 7)
    assert (sample.bytes, sample.oldest_at) == (900, NOW - 1000)
    sent = route.calls.last.request
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"
    assert sent.headers["accept-encoding"] == "identity"


def test_a_nonsense_count_is_a_failed_sample_not_an_exception(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    api.get(METRICS).mock(return_value=success({"backlog_count": "7"}))
    sample = cloudflare.metrics(QUEUE_ID)
    assert (sample.kind, sample.reason) == (SampleKind.FAILED, SampleReason.NONSENSE)


def test_a_message_with_an_error_code_on_success_is_no_error(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    """Cloudflare says "token is valid" with code 10000 in `messages`."""
    answer = success(
        {"backlog_count": 0, "backlog_bytes": 0, "oldest_message_timestamp_ms": 0},
    )
    body = json.loads(answer.content)
    body["messages"] = [{"code": 10000, "message": "This API Token is valid and active"}]
    api.get(METRICS).mock(return_value=httpx.Response(200, json=body))
    assert cloudflare.metrics(QUEUE_ID).kind is SampleKind.COMPLETE


def test_a_queues_settings_come_from_its_own_address(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    api.get(f"{QUEUES}/{QUEUE_ID}").mock(
        return_value=success(
            {"queue_name": "a-dlq", "settings": {"message_retention_period": 60}, "consumers": []}
        )
    )
    settings = cloudflare.queue(QUEUE_ID)
    assert (settings.name, settings.retention_ms, settings.consumers) == ("a-dlq", MINUTE, ())


USER = f"{BASE}/user/tokens/verify"
ACCOUNT = f"{BASE}/accounts/acc/tokens/verify"
ACTIVE = {"id": "x", "status": "active", "expires_on": "2026-09-21T13:46:40Z"}


def test_a_users_token_is_verified_at_the_users_address(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    api.get(USER).mock(return_value=success(ACTIVE))
    assert cloudflare.verify_token() == TokenInfo("active", NOW)


def test_an_accounts_token_is_verified_at_the_accounts_address(
    api: respx.MockRouter, http: Http
) -> None:
    api.get(ACCOUNT).mock(return_value=success(ACTIVE))
    assert cloudflare_with(http, "cfat_abc").verify_token() == TokenInfo("active", NOW)


@pytest.mark.parametrize("status", [401, 403])
def test_an_accounts_token_without_the_prefix_is_good_too(
    api: respx.MockRouter, cloudflare: Cloudflare, status: int
) -> None:
    api.get(USER).mock(return_value=refusal(status, 1000))
    api.get(ACCOUNT).mock(return_value=success(ACTIVE))
    assert cloudflare.verify_token().status == "active"


@pytest.mark.parametrize("second", [refusal(401, 10000), refusal(404, 7003)], ids=["401", "404"])
def test_a_token_that_both_addresses_refuse_is_bad_in_the_users_words(
    api: respx.MockRouter, cloudflare: Cloudflare, second: httpx.Response
) -> None:
    api.get(USER).mock(return_value=refusal(401, 1000, "Invalid API Token"))
    api.get(ACCOUNT).mock(return_value=second)
    with pytest.raises(CloudflareError, match="Invalid API Token") as caught:
        cloudflare.verify_token()
    assert caught.value.reason is SampleReason.BAD_TOKEN


def test_a_second_address_that_is_down_is_no_verdict(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    api.get(USER).mock(return_value=refusal(401, 1000))
    api.get(ACCOUNT).mock(return_value=httpx.Response(502, html=HTML))
    with pytest.raises(CloudflareError) as caught:
        cloudflare.verify_token()
    assert caught.value.reason is SampleReason.SERVER_ERROR
