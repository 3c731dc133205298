"""Every way in which Cloudflare gives no usable answer has a reason and its words."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
import respx

from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.errors import CloudflareError, ConfigError
from dlqwatch.model import HOUR, MINUTE, SECOND, SampleReason
from tests.cloudflare_answers import (
    HTML,
    METRICS,
    NOW,
    QUEUE_ID,
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


def refused_metrics(
    api: respx.MockRouter, cloudflare: Cloudflare, answer: httpx.Response
) -> CloudflareError:
    api.get(METRICS).mock(return_value=answer)
    with pytest.raises(CloudflareError) as caught:
        cloudflare.metrics(QUEUE_ID)
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (400, 6003, SampleReason.BAD_TOKEN),
        (400, 6111, SampleReason.BAD_TOKEN),
        (400, 9106, SampleReason.BAD_TOKEN),
        (400, 1001, SampleReason.BAD_TOKEN),
        (401, 1000, SampleReason.BAD_TOKEN),
        (401, 10000, SampleReason.BAD_TOKEN),
        (403, 10000, SampleReason.BAD_TOKEN),
        (403, 9109, SampleReason.BAD_TOKEN),
        (403, 10023, SampleReason.BAD_TOKEN),
        (404, 10106, SampleReason.BAD_TOKEN),
        (404, 7003, SampleReason.BAD_ACCOUNT),
        (404, 7000, SampleReason.BAD_ACCOUNT),
        (404, 10104, SampleReason.QUEUE_GONE),
        (404, 10107, SampleReason.QUEUE_GONE),
        (400, 10107, SampleReason.QUEUE_GONE),
        (400, 10207, SampleReason.REFUSED),
        (400, 0, SampleReason.REFUSED),
        (409, 11004, SampleReason.REFUSED),
        (429, 10250, SampleReason.RATE_LIMITED),
        (429, 10251, SampleReason.RATE_LIMITED),
        (429, 10252, SampleReason.RATE_LIMITED),
        (429, 10253, SampleReason.RATE_LIMITED),
        (429, 971, SampleReason.RATE_LIMITED),
        (429, 10000, SampleReason.RATE_LIMITED),
        (500, 15000, SampleReason.SERVER_ERROR),
        (503, 10000, SampleReason.SERVER_ERROR),
        (200, 10000, SampleReason.REFUSED),
        (301, 10000, SampleReason.REDIRECTED),
    ],
)
def test_a_refusal_has_a_reason_and_keeps_cloudflares_words(
    api: respx.MockRouter, cloudflare: Cloudflare, status: int, code: int, reason: SampleReason
) -> None:
    error = refused_metrics(api, cloudflare, refusal(status, code, "Because I say so"))
    assert error.reason is reason
    assert (error.answer.status, error.answer.code) == (status, code)
    assert (error.answer.message, error.answer.ray) == ("Because I say so", "8c0ffee-AMS")
    assert error.what == (
        f"reading the depth: HTTP {status}, code {code}: Because I say so (ray 8c0ffee-AMS)"
    )
    assert error.do
    assert (error.retry_at is not None) is (reason is SampleReason.RATE_LIMITED)


def test_a_refused_token_names_the_permission_and_both_causes(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    error = refused_metrics(api, cloudflare, refusal(403, 10000, "Authentication error"))
    assert "Queues Read" in error.do
    assert "missing permission" in error.do


def test_the_code_behind_a_chain_counts_too(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    body = {
        "success": False,
        "errors": [
            {
                "code": 1,
                "message": "Invalid request headers",
                "error_chain": [{"code": 6111, "message": "Invalid format"}],
            }
        ],
    }
    error = refused_metrics(api, cloudflare, httpx.Response(400, json=body))
    assert error.reason is SampleReason.BAD_TOKEN
    assert error.answer.message == "Invalid request headers"


@pytest.mark.parametrize(
    "body",
    [
        {"success": False, "errors": [{"code": 7, "message": "no"}], "result": None},
        {"success": False, "errors": [], "result": {"backlog_count": 0}},
        {"success": True, "errors": [{"code": 7, "message": "no"}], "result": {}},
        {"success": True, "errors": "no", "result": {}},
        {"success": "true", "errors": [], "result": {}},
        {"success": 1, "errors": [], "result": {}},
        {"errors": [], "result": {"backlog_count": 0}},
        {"backlog_count": 0},
        [],
        0,
        None,
        "ok",
    ],
    ids=str,
)
def test_a_200_that_is_no_clear_success_is_refused(
    api: respx.MockRouter, cloudflare: Cloudflare, body: object
) -> None:
    content = json.dumps(body).encode()
    error = refused_metrics(api, cloudflare, httpx.Response(200, content=content))
    assert error.reason is SampleReason.REFUSED


@pytest.mark.parametrize(
    "content",
    [b"", b"ok", HTML.encode(), b'{"success": tru', b"\xff\xfe\x00", b"[" * 200_000, b"1" * 9_999],
    ids=["empty", "text", "html", "cut off", "bytes", "deep", "long"],
)
def test_a_200_that_is_not_json_is_a_failure(
    api: respx.MockRouter, cloudflare: Cloudflare, content: bytes
) -> None:
    error = refused_metrics(api, cloudflare, httpx.Response(200, content=content))
    assert error.reason is SampleReason.NOT_JSON


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_html_is_no_verdict_on_the_token_or_the_account(
    api: respx.MockRouter, cloudflare: Cloudflare, status: int
) -> None:
    error = refused_metrics(api, cloudflare, httpx.Response(status, html=HTML))
    assert error.reason is SampleReason.NOT_JSON
    assert "text/html" in error.what


def test_a_firewalls_challenge_is_an_outage(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    error = refused_metrics(
        api,
        cloudflare,
        httpx.Response(403, html=HTML, headers={"cf-mitigated": "challenge", "cf-ray": "77"}),
    )
    assert error.reason is SampleReason.SERVER_ERROR
    assert error.answer.ray == "77"


@pytest.mark.parametrize("status", [500, 502, 520, 524])
def test_a_5xx_in_html_is_a_server_error(
    api: respx.MockRouter, cloudflare: Cloudflare, status: int
) -> None:
    error = refused_metrics(api, cloudflare, httpx.Response(status, html=HTML))
    assert error.reason is SampleReason.SERVER_ERROR


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("300", 300 * SECOND),
        ("1.5", 1_500),
        ("Mon, 21 Sep 2026 13:47:40 GMT", MINUTE),
        ("999999", HOUR),
        ("soon", 300 * SECOND),
        (None, 300 * SECOND),
        ("0", 0),
    ],
)
def test_a_429_says_when_to_ask_again(
    api: respx.MockRouter, cloudflare: Cloudflare, header: str | None, wait: int
) -> None:
    headers = {} if header is None else {"Retry-After": header}
    error = refused_metrics(api, cloudflare, httpx.Response(429, html=HTML, headers=headers))
    assert (error.reason, error.retry_at) == (SampleReason.RATE_LIMITED, NOW + wait)


def test_a_used_up_free_plan_is_named(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    assert "free plan" in refused_metrics(api, cloudflare, refusal(429, 10253)).do


def test_the_words_of_a_refusal_are_one_short_line(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    body = {
        "success": False,
        "errors": [{"code": 7, "message": "a\n\x1b[31m\ud800b" + "x" * 9_999}],
    }
    error = refused_metrics(api, cloudflare, httpx.Response(400, content=json.dumps(body).encode()))
    assert len(error.answer.message) <= 200
    assert error.answer.message.isprintable()


def test_a_token_that_is_echoed_stays_secret(api: respx.MockRouter, cloudflare: Cloudflare) -> None:
    error = refused_metrics(api, cloudflare, refusal(400, 6003, f"bad header: Bearer {TOKEN}"))
    assert TOKEN not in f"{error} {error!r} {error.answer!r}"
    assert error.answer.message == "bad header: Bearer ***"


@pytest.mark.parametrize("token", ["", "two\nlines", "tail\n", "ünïcode", "with space", "nul\0"])
def test_a_token_no_header_can_carry_is_refused_without_being_shown(http: Http, token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cloudflare_with(http, token)
    with pytest.raises(CloudflareError) as caught_late:
        cloudflare_with(http, lambda: token).metrics(QUEUE_ID)
    assert caught_late.value.reason is SampleReason.BAD_TOKEN
    for shown in (str(caught.value), str(caught_late.value)):
        assert not token or token.strip() not in shown


def test_a_token_that_is_read_anew_is_used_at_the_next_call(
    api: respx.MockRouter, http: Http
) -> None:
    tokens = iter(["old", "new"])
    route = api.get(METRICS).mock(return_value=success({"backlog_count": 0}))
    cloudflare = cloudflare_with(http, lambda: next(tokens))
    cloudflare.metrics(QUEUE_ID)
    cloudflare.metrics(QUEUE_ID)
    assert [call.request.headers["authorization"] for call in route.calls] == [
        "Bearer old",
        "Bearer new",
    ]


def test_a_token_file_that_is_gone_is_a_bad_token(http: Http) -> None:
    def read() -> str:
        raise FileNotFoundError(2, "No such file or directory", "/run/secrets/t")

    with pytest.raises(CloudflareError, match="/run/secrets/t") as caught:
        cloudflare_with(http, read).metrics(QUEUE_ID)
    assert caught.value.reason is SampleReason.BAD_TOKEN


def test_the_date_of_the_last_answer_is_kept_even_of_a_refusal(
    api: respx.MockRouter, cloudflare: Cloudflare
) -> None:
    assert cloudflare.date_seen is None
    refused_metrics(api, cloudflare, refusal(500, 15000, date="Mon, 21 Sep 2026 13:45:40 GMT"))
    assert cloudflare.date_seen == (NOW - MINUTE, NOW)


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), SampleReason.UNREACHABLE),
        (httpx.ReadError("reset"), SampleReason.UNREACHABLE),
        (httpx.RemoteProtocolError("gone"), SampleReason.UNREACHABLE),
        (httpx.ProxyError("407"), SampleReason.UNREACHABLE),
        (httpx.ConnectTimeout("slow"), SampleReason.TIMEOUT),
        (httpx.PoolTimeout("slow"), SampleReason.TIMEOUT),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_answer_is_a_failure_with_advice(
    api: respx.MockRouter, cloudflare: Cloudflare, raised: Exception, reason: SampleReason
) -> None:
    api.get(METRICS).mock(side_effect=raised)
    with pytest.raises(CloudflareError) as caught:
        cloudflare.metrics(QUEUE_ID)
    assert caught.value.reason is reason
    assert caught.value.do
