"""A scripted Cloudflare: the Queues part of its API with real queue semantics, and Workers' logs.

Shapes, permissions and error codes as Cloudflare documents them and as wrangler reads them.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from dlqwatch.model import Clock
from dlqwatch.sim.account import MISSING, AccountServer
from dlqwatch.sim.queues import SimMessage, SimQueue, iso, pushed
from dlqwatch.sim.telemetry import BadQuery, SimLogs
from dlqwatch.sim.wire import Answer, Request

__all__ = ["MISSING", "READ_TOKEN", "WRITE_TOKEN", "SimCloudflare"]

READ_TOKEN = "sim-read-7Yq2mXw0TzKc4vBn8sLd"
WRITE_TOKEN = "sim-write-R5dHj9Pf3uGa6eVk1oZi"

_READ = {"queues_read", "queues_write", "workers_scripts_read", "workers_scripts_write"}
_WRITE = {"queues_write", "workers_scripts_write"}
_LOGS = {"workers_observability_read", "workers_observability_write"}  # reports differ
_WINDOW_MS = 300_000
_HEX = re.compile(r"[0-9a-f]{32}")
_TOKEN = re.compile(r"Bearer [!-~]+")


class Refusal(Exception):
    """An error answer: status, `errors[]` and headers."""

    def __init__(
        self, status: int, code: int, words: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(words)
        self.status = status
        self.errors = [{"code": code, "message": words, **more}]
        self.headers = headers or {}


class SimCloudflare(AccountServer):
    """Cloudflare's API at `base_url`, for one account.

    `tokens` maps a token to its permissions; change it to take some away. Switches: `name_filter`
    (the list's `?name=` works; unproven for the real one), `per_page_works`, `peek_encoding`,
    `rate_limit` (1200 switches the block on: that many calls in 300 s, then 429 for 300 s).
    """

    def __init__(
        self,
        clock: Clock | None = None,
        account_id: str = "0123456789abcdef0123456789abcdef",
        page_size: int = 20,
        *,
        port: int = 0,
    ) -> None:
        super().__init__(clock, port=port)
        self.account_id = account_id
        self.page_size = page_size
        self.tokens: dict[str, set[str]] = {
            READ_TOKEN: {"queues_read"},
            WRITE_TOKEN: {"queues_read", "queues_write"},
        }
        self.logs = SimLogs()
        self.token_expires: dict[str, int] = {}  # ms since 1970; what is past is refused
        self.name_filter = True
        self.per_page_works = True
        self.peek_encoding = "text"
        self.rate_limit: int | None = None
        self._calls: dict[str, list[int]] = {}
        self._blocked_until: dict[str, int] = {}
        self._rays = count(0x8F00000000000001)

    @property
    def base_url(self) -> str:
        return f"{self.url}/client/v4"

    # -- what a client asks

    def words(self, code: int, request: Request) -> Answer:  # noqa: ARG002
        named = {
            401: (10000, "Authentication error"),
            403: (10000, "Authentication error"),
            404: (10104, "Queue not found"),
            429: (971, "Please wait and consider throttling your request speed"),
        }
        number, words = named.get(code, (15000, "Internal server error"))
        return self._refused(Refusal(code, number, words))

    def _refused(self, refusal: Refusal) -> Answer:
        failure = {"success": False, "errors": refusal.errors, "messages": [], "result": None}
        return Answer.of(failure, refusal.status, self._headers() | refusal.headers)

    def _headers(self, left: int = 1200) -> dict[str, str]:
        return {
            "cf-ray": f"{next(self._rays):x}-SIM",
            "Server": "cloudflare",
            "Ratelimit": f'"default";r={left};t=300',
            "Ratelimit-Policy": '"default";q=1200;w=300',
        }

    def answer(self, request: Request) -> Answer:
        try:
            token, granted = self._authenticate(request)
            left = self._throttle(token)
            body = self._route(request, token, granted)
        except Refusal as refusal:
            return self._refused(refusal)
        return Answer.of(
            {"success": True, "errors": [], "messages": [], **body}, headers=self._headers(left)
        )

    def _authenticate(self, request: Request) -> tuple[str, set[str]]:
        header = request.headers.get("authorization", "")
        if not header:
            raise Refusal(400, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers")
        if not _TOKEN.fullmatch(header):
            chain = [{"code": 6111, "message": "Invalid format for Authorization header"}]
            raise Refusal(400, 6003, "Invalid request headers", error_chain=chain)
        token = header.removeprefix("Bearer ")
        expires = self.token_expires.get(token)
        if token not in self.tokens or (expires is not None and expires <= self.clock.now()):
            if request.path.endswith("/tokens/verify"):
                raise Refusal(401, 1000, "Invalid API Token")
            raise Refusal(401, 10000, "Authentication error")
        return token, self.tokens[token]

    def _throttle(self, token: str) -> int:
        """Count this call; how many are left in the window."""
        if self.rate_limit is None:
            return 1200
        now = self.clock.now()
        calls = [at for at in self._calls.get(token, []) if at > now - _WINDOW_MS]
        self._calls[token] = calls
        if now >= self._blocked_until.get(token, 0) and len(calls) >= self.rate_limit:
            self._blocked_until[token] = now + _WINDOW_MS
        blocked_ms = self._blocked_until.get(token, 0) - now
        if blocked_ms > 0:
            words = (
                f"More than {self.rate_limit} requests per 300 seconds reached. "
                "Please wait and consider throttling your request speed"
            )
            raise Refusal(429, 971, words, {"Retry-After": str(-(-blocked_ms // 1000))})
        calls.append(now)
        return self.rate_limit - len(calls)

    def _route(self, request: Request, token: str, granted: set[str]) -> dict[str, Any]:
        parts = request.path.removeprefix("/client/v4/").split("/")
        method = request.method
        if parts == ["user", "tokens", "verify"]:
            return self._verify(token, of_account=False)
        if parts[0] != "accounts" or len(parts) < 3 or not _HEX.fullmatch(parts[1]):
            raise self._no_route(request)
        if parts[1] != self.account_id:
            raise Refusal(403, 10000, "Authentication error")
        if parts[2:] == ["tokens", "verify"]:
            return self._verify(token, of_account=True)
        if (method, parts[2:]) == ("POST", ["workers", "observability", "telemetry", "query"]):
            self._need(granted, _LOGS)
            return self._count_lines(request)
        if parts[2] != "queues" or (len(parts) > 3 and not _HEX.fullmatch(parts[3])):
            raise self._no_route(request)
        tail = "/".join(parts[4:])
        if method == "GET" and len(parts) == 3:
            self._need(granted, _READ)
            return self._list(request)
        reads = {("GET", ""), ("GET", "metrics"), ("GET", "purge")}
        writes = {"messages/peek", "messages/purge", "messages", "messages/batch", "purge"}
        if (method, tail) not in reads and not (method == "POST" and tail in writes):
            raise self._no_route(request)
        self._need(granted, _READ if (method, tail) in reads else _WRITE)
        found = [q for q in self._queues.values() if q.id == parts[3]]
        if not found:
            raise Refusal(404, 10104, "Queue not found")
        return {"result": self._of_queue(found[0], method, tail, request.json)}

    @staticmethod
    def _no_route(request: Request) -> Refusal:
        return Refusal(
            404,
            7003,
            f"Could not route to {request.path}, perhaps your object identifier is invalid?",
        )

    @staticmethod
    def _need(granted: set[str], any_of: set[str]) -> None:
        if not granted & any_of:
            raise Refusal(403, 10000, "Authentication error")

    def _verify(self, token: str, *, of_account: bool) -> dict[str, Any]:
        # the user's address refuses an account-owned token though it is good
        if token.startswith("cfat_") is not of_account:
            raise Refusal(401, 1000, "Invalid API Token")
        result: dict[str, Any] = {"id": "5e3f0000000000000000000000000001", "status": "active"}
        if token in self.token_expires:
            result["expires_on"] = iso(self.token_expires[token])
        note = {"code": 10000, "message": "This API Token is valid and active", "type": None}
        return {"result": result, "messages": [note]}

    def _count_lines(self, request: Request) -> dict[str, Any]:
        try:
            return {"result": self.logs.query(request.json, self.clock.now())}
        except BadQuery as bad:
            raise Refusal(400, 7400, str(bad)) from None

    def _list(self, request: Request) -> dict[str, Any]:
        names = request.query.get("name", [])
        queues = [
            q for q in self._queues.values() if not (self.name_filter and names) or q.name in names
        ]
        asked = request.query.get("per_page", [""])[-1]
        size = int(asked) if self.per_page_works and asked.isdigit() and asked != "0" else 0
        size = min(size or self.page_size, 100)
        number = request.query.get("page", ["1"])[-1]
        page = max(int(number), 1) if number.isdigit() else 1
        shown = queues[(page - 1) * size : page * size]
        info = {
            "count": len(shown),
            "page": page,
            "per_page": size,
            "total_count": len(queues),
            "total_pages": -(-len(queues) // size),
        }
        return {"result": [q.as_listed() for q in shown], "result_info": info}

    def _of_queue(self, queue: SimQueue, method: str, tail: str, sent: Any) -> Any:
        now = self.clock.now()
        if tail == "":
            return queue.as_listed()
        if tail == "metrics":
            merged = queue.metrics(now) | queue.metrics_override
            return {name: value for name, value in merged.items() if value is not MISSING}
        if method == "GET":
            started = "" if queue.purged_at is None else iso(queue.purged_at)
            return {"started_at": started, "completed": "true"}
        if not isinstance(sent, dict):
            raise Refusal(400, 10208, "Body is not JSON")
        if tail == "messages/peek":
            return {"messages": self._peek(queue, sent.get("batch_size", 5))}
        if tail == "messages/purge":
            return self._purge_refs(queue, sent.get("refs"))
        if tail == "purge":
            if sent.get("delete_messages_permanently") is not True:
                raise Refusal(400, 10207, "delete_messages_permanently must be true")
            queue.messages.clear()
            queue.purged_at = now
            return queue.as_listed()
        return self._push(queue, sent, batch=tail == "messages/batch")

    def _peek(self, queue: SimQueue, size: Any) -> list[dict[str, Any]]:
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 100:
            raise Refusal(400, 10207, "batch_size must be between 1 and 100")
        live = queue.live(self.clock.now())
        return [m.peeked(self.peek_encoding) for m in live[:size]]

    def _purge_refs(self, queue: SimQueue, refs: Any) -> dict[str, Any]:
        if not isinstance(refs, list) or not all(isinstance(r, dict) and "ref" in r for r in refs):
            raise Refusal(400, 10207, "refs must be a list of objects with a ref")
        queue.expire(self.clock.now())
        asked = {r["ref"] for r in refs}
        unknown = asked - {m.ref for m in queue.messages}
        queue.messages = [m for m in queue.messages if m.ref not in asked]
        return {"errors": [], "warnings": dict.fromkeys(sorted(unknown), "message not found")}

    def _push(self, queue: SimQueue, sent: dict[str, Any], *, batch: bool) -> dict[str, Any]:
        now = self.clock.now()
        items = sent.get("messages") if batch else [sent]
        if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
            raise Refusal(400, 10207, "messages must be a list of objects")
        if not 1 <= len(items) <= 100:
            raise Refusal(400, 10206, "A batch has 1 to 100 messages")
        made: list[SimMessage] = []
        for item in items:
            message = pushed(item, now, sent.get("delay_seconds"))
            if isinstance(message, tuple):
                raise Refusal(400, *message)
            made.append(message)
        if sum(len(m.raw) for m in made) > 256_000:
            raise Refusal(400, 10205, "Batch is too large")
        for message in made:
            queue.add(message)
        return {"metadata": {"metrics": queue.metrics(now)}}
