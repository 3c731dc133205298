"""One HTTP request with one deadline and one size cap. The only module that imports httpx.

httpx bounds each socket operation, not the request: an answer that drips a byte a second never
ends (encode/httpx#1450). So the operations themselves are clamped, below httpx, to what is left
of the request's deadline. Only a hung DNS look-up can't be interrupted; whoever calls gives its
thread up, and the thread makes no connection when it comes back too late.
"""

from __future__ import annotations

import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Literal

import httpcore
import httpx

from dlqwatch import __version__
from dlqwatch.decide.plain import plain
from dlqwatch.errors import ConfigError

SIZE_CAP = 1 << 20  # bytes; a page of 100 queues is about a tenth of it
WRITE_BYTES = 16 << 10

Addresses = Callable[[str, int], list[str]]

_WHILE = {
    httpx.ConnectTimeout: "while connecting",
    httpx.ReadTimeout: "while waiting for the answer",
    httpx.WriteTimeout: "while sending",
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer that came whole. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpFailure(Exception):
    """No whole answer. `detail` is for people; it holds no header and no address."""

    def __init__(self, kind: Literal["unreachable", "timeout", "too_large"], detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


class _Deadline(threading.local):
    """When this thread's request must have ended, by the monotonic clock."""

    ends = math.inf

    def clamp(self, timeout: float | None, expired: type[Exception]) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise expired("the request's deadline has passed")
        return left if timeout is None else min(left, timeout)


class _Stream(httpcore.NetworkStream):
    """A connection each of whose operations ends by the deadline of the request it serves."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.clamp(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), WRITE_BYTES):  # a slow taker must not renew it
            left = self._deadline.clamp(timeout, httpcore.WriteTimeout)
            self._inner.write(buffer[start : start + WRITE_BYTES], left)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = self._deadline.clamp(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    """Connects by the deadline, however many addresses a name has."""

    def __init__(self, deadline: _Deadline, addresses: Addresses) -> None:
        self._deadline = deadline
        self._addresses = addresses

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = self._addresses(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the host's name can't be looked up: {error}") from None
        failure: Exception = httpcore.ConnectError("the host's name has no address")
        for tried, address in enumerate(addresses):
            # an equal share of what is left: a dead first address must not starve the next
            left = self._deadline.clamp(timeout, httpcore.ConnectTimeout)
            share = left / (len(addresses) - tried)
            try:
                stream = super().connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream, self._deadline)
        raise failure


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, in the system's order. Raises OSError or UnicodeError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def shared_ssl_context() -> ssl.SSLContext:
    """The TLS settings that all of dlqwatch shares; loading the certificates is not cheap.

    OpenSSL ignores an SSL_CERT_FILE that isn't there, and then trusts nobody: ConfigError.
    """
    named = os.environ.get("SSL_CERT_FILE")
    if named and not os.access(named, os.R_OK):
        raise ConfigError(
            f"SSL_CERT_FILE names {named}, which can't be read",
            "Correct the variable, or unset it to use the system's certificates.",
        )
    return ssl.create_default_context()


class Http:
    """One client for life, safe to share between threads. `close()` it.

    `trust_env`: obey HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. `addresses`: how a host's
    name is looked up. Raises ConfigError where
    those, or SSL_CERT_FILE, can't be used.
    """

    def __init__(
        self,
        *,
        ssl_context: ssl.SSLContext | None = None,
        trust_env: bool = True,
        size_cap: int = SIZE_CAP,
        addresses: Addresses = look_up,
    ) -> None:
        self.ssl_context = ssl_context if ssl_context is not None else shared_ssl_context()
        self._size_cap = size_cap
        self._deadline = _Deadline()
        try:
            self._client = httpx.Client(
                verify=self.ssl_context,
                trust_env=trust_env,
                follow_redirects=False,
                # unpacking is how a small answer becomes a large one
                headers={"User-Agent": f"dlqwatch/{__version__}", "Accept-Encoding": "identity"},
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            # its text may hold a proxy's password
            raise ConfigError(
                f"a proxy named in the environment can't be used ({type(error).__name__})",
                "Set HTTPS_PROXY, HTTP_PROXY and ALL_PROXY to http://host:port; SOCKS isn't "
                "supported.",
            ) from None
        # a request carries nothing of those before it
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for transport in (self._client._transport, *self._client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):  # None is for what goes past a proxy
                transport._pool._network_backend = _Backend(self._deadline, addresses)

    def request(
        self,
        method: str,
        url: str,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> HttpAnswer:
        """The whole answer, of any status, within `timeout_s` from now. Raises HttpFailure.

        Redirects are answers. No text of httpx's is passed on where it may quote a header.
        """
        if self._client.is_closed:  # a thread that was given up may come back after the end
            raise HttpFailure("unreachable", "dlqwatch is ending")
        self._deadline.ends = time.monotonic() + timeout_s
        try:
            with self._client.stream(
                method, url, headers=headers, params=params, content=content, timeout=timeout_s
            ) as response:
                body = bytearray()
                for chunk in response.iter_raw():  # a chunk size would wait to fill it
                    body += chunk
                    if len(body) > self._size_cap:
                        raise HttpFailure(
                            "too_large", f"the answer is larger than {self._size_cap:,} bytes"
                        )
                return HttpAnswer(response.status_code, _lower(response.headers), bytes(body))
        except httpx.TimeoutException as error:
            where = _WHILE.get(type(error), "while waiting for a connection")
            raise HttpFailure(
                "timeout", f"no whole answer within {timeout_s:g} s; it ended {where}"
            ) from None
        except (
            httpx.LocalProtocolError,
            httpx.InvalidURL,
            httpx.UnsupportedProtocol,
            UnicodeError,
        ):
            raise HttpFailure(
                "unreachable", "the request can't be sent: its address or a header is malformed"
            ) from None
        except httpx.HTTPError as error:
            raise HttpFailure("unreachable", plain(str(error)) or type(error).__name__) from None
        finally:
            self._deadline.ends = math.inf

    def close(self) -> None:
        """Closes all connections; a later request is an HttpFailure."""
        self._client.close()


def _lower(headers: httpx.Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
