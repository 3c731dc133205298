"""A call in a thread of its own that is given up when it takes too long.

Name resolution can't be bounded from outside, and slack_sdk's timeout is one of each socket
operation: the thread is left behind, and a daemon thread never holds up the process's end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class GivenUp(Exception):
    """The call did not end in time. What it does from now on goes unnoticed."""


def call(function: Callable[[], T], seconds: float) -> T:
    """The function's result, or its exception, or GivenUp after `seconds`."""
    done = threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        done.set()

    threading.Thread(target=work, name="disposable", daemon=True).start()
    if not done.wait(seconds):
        raise GivenUp
    if errors:
        raise errors[0]
    return results[0]
