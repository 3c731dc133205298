"""Real sockets on loopback that misbehave, and how long a request may take against them."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from dlqwatch.edges.http import Http, HttpFailure

TIMEOUT = 0.3
SLACK = 0.5  # by how much an end may be late
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Behaviour = Callable[[socket.socket, threading.Event], None]


class Server:
    """Hands each connection to `behave`, in a thread of its own, until the test is over."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = 0
        self._threads[0].start()

    def _accept(self) -> None:
        while not self._over.is_set():
            connection, _ = self._listener.accept()
            if self._over.is_set():
                connection.close()
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._behave(connection, self._over)
            except OSError:
                return  # the client went away, as it should

    def close(self) -> None:
        self._over.set()
        socket.create_connection(("127.0.0.1", self.port)).close()
        for thread in self._threads:
            thread.join(5)
            assert not thread.is_alive()
        self._listener.close()


@contextmanager
def serving(behave: Behaviour) -> Iterator[Server]:
    server = Server(behave)
    try:
        yield server
    finally:
        server.close()


def read_request(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        chunk = connection.recv(4096)
        if not chunk:
            break
        got += chunk
    return got


def drip(connection: socket.socket, over: threading.Event, start: bytes, drop: bytes) -> None:
    """For three seconds at most: a client without a deadline then fails its test, late."""
    connection.sendall(start)
    for _ in range(60):
        if over.wait(0.05):
            return
        connection.sendall(drop)


def says(answer: bytes) -> Behaviour:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        read_request(connection)
        connection.sendall(answer)

    return behave


def drips(start: bytes, drop: bytes) -> Behaviour:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        read_request(connection)
        drip(connection, over, start, drop)

    return behave


def says_nothing(connection: socket.socket, over: threading.Event) -> None:
    over.wait(3)


def resets(connection: socket.socket, over: threading.Event) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def fails(http: Http, url: str) -> HttpFailure:
    """The failure of a GET, which ends in time."""
    began = time.monotonic()
    with pytest.raises(HttpFailure) as caught:
        http.request("GET", url, timeout_s=TIMEOUT)
    assert time.monotonic() - began <= TIMEOUT + SLACK
    return caught.value
