"""One kind of misbehaviour a peer can show, as data. Which bytes it costs is `server.py`'s part."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class End(StrEnum):
    """How the exchange ends once the request has been read."""

    ANSWER = "answer"
    HANG = "hang"  # nothing, until the client or the server gives up
    CLOSE = "close"  # FIN, without a byte
    RESET = "reset"  # RST, without a byte


@dataclass(frozen=True, slots=True)
class Fault:
    """What the client sees instead of a good answer.

    `code` None sends the true answer, only later or slower. `body` None is what the service
    itself says with that code. A header here replaces the server's own of that name: a
    `Content-Length` that lies makes a short body (the connection ends after what there is).
    `after` True: the request's effect happens first (the message is stored), then the fault.
    Times are seconds of the real clock.
    """

    code: int | None = None
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    end: End = End.ANSWER
    delay_s: float = 0.0
    drip_headers_s: float = 0.0  # one byte each so many seconds
    drip_body_s: float = 0.0
    after: bool = False

    @staticmethod
    def status(
        code: int,
        body: str | bytes | None = None,
        *,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
        after: bool = False,
    ) -> Fault:
        """Any status with any raw body (truncated, empty, not UTF-8)."""
        named = dict(headers or {})
        if content_type:
            named["Content-Type"] = content_type
        raw = body.encode() if isinstance(body, str) else body
        return Fault(code=code, body=raw, headers=tuple(named.items()), after=after)

    @staticmethod
    def json(value: Any, code: int = 200, *, after: bool = False) -> Fault:
        """Any JSON value, such as `{"ok": false, "error": …}`, `{}` or `[1]`."""
        return Fault.status(code, json.dumps(value), content_type="application/json", after=after)

    @staticmethod
    def rate_limited(retry_after: int | float | str | None = None, *, after: bool = False) -> Fault:
        """429; `retry_after` goes out as given (`3`, `2.5`, an HTTP date), None: no such header."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return Fault.status(429, headers=headers, after=after)

    @staticmethod
    def html(code: int = 502, *, after: bool = False) -> Fault:
        """What a proxy in front of the service says."""
        page = f"<!DOCTYPE html><html><head><title>{code}</title></head><body>Bad</body></html>"
        return Fault.status(code, page, content_type="text/html; charset=UTF-8", after=after)

    @staticmethod
    def redirect(url: str, code: int = 302) -> Fault:
        """302 or 307 to somewhere else."""
        return Fault.status(code, b"", headers={"Location": url})

    @staticmethod
    def truncated(*, after: bool = False) -> Fault:
        """200 and half of a JSON document."""
        return Fault.status(
            200, '{"ok": tr', content_type="application/json; charset=utf-8", after=after
        )

    @staticmethod
    def short_body(*, after: bool = False) -> Fault:
        """200 and fewer bytes than `Content-Length` says."""
        return Fault.status(200, '{"ok"', headers={"Content-Length": "999"}, after=after)

    @staticmethod
    def not_utf8(*, after: bool = False) -> Fault:
        """200, labelled UTF-8, and isn't."""
        return Fault.status(
            200, b'{"ok": "\xff\xfe"}', content_type="application/json; charset=utf-8", after=after
        )

    @staticmethod
    def delay(seconds: float, *, after: bool = False) -> Fault:
        """The true answer, late."""
        return Fault(delay_s=seconds, after=after)

    @staticmethod
    def hang(*, after: bool = False) -> Fault:
        """Accept, read, never answer."""
        return Fault(end=End.HANG, after=after)

    @staticmethod
    def close(*, after: bool = False) -> Fault:
        """Read the request and close."""
        return Fault(end=End.CLOSE, after=after)

    @staticmethod
    def reset(*, after: bool = False) -> Fault:
        """Read the request and reset the connection."""
        return Fault(end=End.RESET, after=after)

    @staticmethod
    def drip_headers(seconds: float) -> Fault:
        """The true answer, its head one byte each `seconds`."""
        return Fault(drip_headers_s=seconds)

    @staticmethod
    def drip_body(seconds: float) -> Fault:
        """The true answer, its body one byte each `seconds`."""
        return Fault(drip_body_s=seconds)


MAKERS: dict[str, Callable[..., Fault]] = {
    "status": Fault.status,
    "json": Fault.json,
    "rate_limited": Fault.rate_limited,
    "html": Fault.html,
    "redirect": Fault.redirect,
    "truncated": Fault.truncated,
    "short_body": Fault.short_body,
    "not_utf8": Fault.not_utf8,
    "delay": Fault.delay,
    "hang": Fault.hang,
    "close": Fault.close,
    "reset": Fault.reset,
    "drip_headers": Fault.drip_headers,
    "drip_body": Fault.drip_body,
}
"""The faults a control request can name; the other keys are the maker's arguments."""
