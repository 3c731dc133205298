"""HTTP/1.1 as the scripted services speak it, well or badly, on a socket of this machine."""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Event, Lock, Thread, current_thread
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from dlqwatch.model import Clock
from dlqwatch.sim.faults import End, Fault

CONTROL = "/_sim/"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. `at` is the sim's clock, in ms; header names are lower case."""

    method: str
    path: str  # without the query
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    at: int

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def args(self) -> dict[str, Any]:
        """Arguments from the query and from a JSON or form body, the body's last."""
        found: dict[str, Any] = {name: values[-1] for name, values in self.query.items()}
        if "x-www-form-urlencoded" in self.headers.get("content-type", ""):
            form = parse_qs(self.body.decode("utf-8", "replace"), keep_blank_values=True)
            return found | {name: values[-1] for name, values in form.items()}
        sent = self.json
        return found | sent if isinstance(sent, dict) else found


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
        """A JSON answer. NaN goes out as the literal `NaN`, as a careless service sends it."""
        return Answer(status, json.dumps(value).encode(), headers=headers or {})

    @staticmethod
    def text(
        words: str,
        status: int = 200,
        *,
        html: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A plain or HTML answer."""
        kind = "text/html; charset=utf-8" if html else "text/plain; charset=utf-8"
        return Answer(status, words.encode(), kind, headers or {})


class Owner(Protocol):
    """What the wire needs of the service behind it."""

    clock: Clock
    crashes: list[Exception]

    def arrived(self, request: Request) -> Fault | None: ...
    def carried_out(self, request: Request) -> Answer: ...
    def controlled(self, request: Request) -> Answer: ...
    def words(self, code: int, request: Request) -> Answer: ...


class Listener(ThreadingHTTPServer):
    """One span of listening. `end` leaves no socket and no thread behind."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: Owner, port: int) -> None:
        self.owner = owner
        self.gone = Event()  # set at the end: whatever waits, stops
        self._open: set[Any] = set()
        self._threads_here: set[Thread] = set()
        self._guard = Lock()
        super().__init__(("127.0.0.1", port), _Handler)
        self._accepting = Thread(target=self._accept, daemon=True, name=f"sim:{self.server_port}")

    def server_bind(self) -> None:
        # HTTPServer's own asks DNS for the machine's name, which can take seconds
        TCPServer.server_bind(self)
        self.server_name = "127.0.0.1"
        self.server_port = self.server_address[1]

    def run(self) -> None:
        self._accepting.start()

    def end(self) -> None:
        self.gone.set()
        with suppress(OSError):  # wakes the accepting thread, on every system alike
            socket.create_connection(("127.0.0.1", self.server_port), timeout=5).close()
        self._accepting.join(5)
        self.server_close()
        with self._guard:
            still_open, threads = list(self._open), list(self._threads_here)
        for connection in still_open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            if thread is not current_thread():  # a control request may have asked for the end
                thread.join(5)

    def _accept(self) -> None:
        while not self.gone.is_set():
            self.handle_request()

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        return not self.gone.is_set()

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = Thread(
            target=self._one,
            args=(request, client_address),
            daemon=True,
            name=f"sim:{self.server_port}:connection",
        )
        with self._guard:
            self._open.add(request)
            self._threads_here.add(thread)
        thread.start()

    def _one(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._guard:
                self._open.discard(request)
                self._threads_here.discard(current_thread())

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A client that went away is part of the play; anything else is the sim's own fault."""
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.owner.crashes.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet: the request log is the server's `requests`."""

    def _serve(self) -> None:
        owner = self.server.owner
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        url = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=url.path,
            query=parse_qs(url.query, keep_blank_values=True),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
            at=owner.clock.now(),
        )
        if url.path.startswith(CONTROL):
            self._send(owner.controlled(request), Fault())
            return
        fault = owner.arrived(request) or Fault()
        answer = owner.carried_out(request) if fault.after else None
        if fault.delay_s and self.server.gone.wait(fault.delay_s):
            self.close_connection = True
            return
        if fault.end is not End.ANSWER:
            self._end(fault.end)
        elif fault.code is None:
            self._send(answer or owner.carried_out(request), fault)
        else:
            self._send(owner.words(fault.code, request), fault)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def _end(self, end: End) -> None:
        self.close_connection = True
        if end is End.HANG:
            # ends when the client closes, or when the listener shuts the socket down
            with suppress(OSError):
                while self.connection.recv(1024):
                    pass
        elif end is End.RESET:
            linger = struct.pack("ii", 1, 0)  # close with RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.rfile.close()  # the file holds the socket open
            self.connection.close()

    def _send(self, answer: Answer, fault: Fault) -> None:
        status = answer.status if fault.code is None else fault.code
        body = answer.body if fault.body is None else fault.body
        headers = {
            "Date": formatdate(self.server.owner.clock.now() / 1000, usegmt=True),
            "Content-Type": answer.content_type,
            **answer.headers,
            "Content-Length": str(len(body)),
        }
        for name, value in fault.headers:
            headers = {k: v for k, v in headers.items() if k.lower() != name.lower()}
            headers[name] = value
            if name.lower() == "content-length":
                self.close_connection = True
        drips = bool(fault.drip_headers_s or fault.drip_body_s)
        if self.close_connection or drips:
            self.close_connection = True
            headers["Connection"] = "close"
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "Unknown"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        if not drips:
            self.wfile.write(head + body)
            return
        self._drip(head, fault.drip_headers_s)
        self._drip(body, fault.drip_body_s)

    def _drip(self, data: bytes, seconds: float) -> None:
        if not seconds:
            self.wfile.write(data)
            return
        for at in range(len(data)):
            if self.server.gone.wait(seconds):
                return
            self.wfile.write(data[at : at + 1])
