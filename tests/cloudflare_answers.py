"""Cloudflare's answers as respx gives them, and a client to hear them."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http

NOW = 1_789_998_400_000  # Mon, 21 Sep 2026 13:46:40 GMT
BASE = "https://api.test/client/v4"
QUEUES = f"{BASE}/accounts/acc/queues"
QUEUE_ID = "0123456789abcdef0123456789abcdef"
METRICS = f"{QUEUES}/{QUEUE_ID}/metrics"
TOKEN = "canary-token-4711"
HTML = "<html><title>Sorry</title></html>"


class StandingClock:
    def now(self) -> int:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def cloudflare_with(http: Http, token: str | Callable[[], str]) -> Cloudflare:
    return Cloudflare(
        base_url=BASE + "/",
        account_id="acc",
        token=token,
        timeout_s=5,
        clock=StandingClock(),
        http=http,
    )


def success(result: object, **more: object) -> httpx.Response:
    return httpx.Response(
        200, json={"success": True, "errors": [], "messages": [], "result": result, **more}
    )


def refusal(status: int, code: int, message: str = "no", **headers: str) -> httpx.Response:
    return httpx.Response(
        status,
        json={
            "success": False,
            "errors": [{"code": code, "message": message}],
            "messages": [],
            "result": None,
        },
        headers={"cf-ray": "8c0ffee-AMS", **headers},
    )
