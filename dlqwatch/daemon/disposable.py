"""Calls in threads of their own that are given up when they take too long.

Name resolution can't be bounded from outside, and slack_sdk's timeout is one of each socket
operation: the thread is left behind, and a daemon thread never holds up the process's end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from dlqwatch.errors import CloudflareError
from dlqwatch.model import SampleReason

T = TypeVar("T")

GRACE_S = 0.25  # beyond a request's own deadline: only a hung name resolution gets there


class GivenUp(Exception):
    """The call did not end in time. What it does from now on goes unnoticed."""


def call(function: Callable[[], T], seconds: float) -> T:
    """The function's result, or its exception, or GivenUp after `seconds`."""
    return _Call(function).end(seconds)


def ask_cloudflare(function: Callable[[], T], timeout_s: float) -> T:
    """The answer to a request with a deadline of its own. Raises CloudflareError."""
    try:
        return call(function, timeout_s + GRACE_S)
    except GivenUp:
        raise CloudflareError(
            SampleReason.TIMEOUT,
            f"no answer from Cloudflare within {timeout_s:g} s; its name may not resolve",
            "Check DNS and the way out of this container.",
        ) from None


def side_by_side(functions: Iterable[Callable[[], T]], seconds: float) -> list[T | Exception]:
    """Each function's result or exception, all within `seconds`: GivenUp for what is late."""
    ends = time.monotonic() + seconds
    results: list[T | Exception] = []
    for running in [_Call(function) for function in functions]:
        try:
            results.append(running.end(max(0.0, ends - time.monotonic())))
        except Exception as error:
            results.append(error)
    return results


class _Call(Generic[T]):
    """One call, begun at once."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._done = threading.Event()
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        threading.Thread(target=self._work, name="disposable", daemon=True).start()

    def _work(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:
            self._errors.append(error)
        self._done.set()

    def end(self, seconds: float) -> T:
        if not self._done.wait(seconds):
            raise GivenUp
        if self._errors:
            raise self._errors[0]
        return self._results[0]
