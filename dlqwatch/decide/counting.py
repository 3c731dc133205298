"""Which part of a Worker's log is counted next, and what an answer's number is. Pure.

Windows are whole, [k·interval, (k+1)·interval), by Cloudflare's clock: the log's times are its
own, so that ours may step without a line being counted twice or never. Each count begins where
the last one that succeeded ended; what an outage left over is caught up in one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dlqwatch.decide.plain import plain
from dlqwatch.errors import CloudflareError
from dlqwatch.model import DAY, MINUTE, SECOND, SampleReason

LAG_MS = 2 * MINUTE  # lines reach the log late
OLDEST_MS = 7 * DAY  # the log keeps no line for longer (Cloudflare's page on Workers Logs)
MOST_LINES = 10**12


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the log: from `start` to just before `end`, both in Cloudflare's ms."""

    start: int
    end: int


def last_window(interval_ms: int, at: int) -> Window:
    """The last one of which every line has had time to come, at `at` (Cloudflare's time)."""
    end = (at - LAG_MS) // interval_ms * interval_ms
    return Window(end - interval_ms, end)


def due_window(counted_to: int | None, interval_ms: int, at: int) -> Window | None:
    """What is to be counted at `at` (Cloudflare's time); None: nothing yet.

    `counted_to`: up to where the log is counted; None: it never was.
    """
    last = last_window(interval_ms, at)
    start = last.start if counted_to is None else counted_to
    oldest = -((OLDEST_MS - at) // interval_ms) * interval_ms  # rounded up to a whole window
    start = max(start, oldest)
    return Window(start, last.end) if start < last.end else None


def is_over(window: Window, date: int) -> bool:
    """Had all lines of the window time to come, when Cloudflare said that it was `date`?

    A `Date` has whole seconds: it may lie almost one behind.
    """
    return date + SECOND > window.end + LAG_MS


def read_count(result: object) -> int:
    """How many lines there are, from `result` of a telemetry query for one count.

    An estimate where the log is sampled; rounded up. Raises CloudflareError where no number can
    be believed: an answer that isn't understood is never a calm 0. A list without a group is 0.
    """
    if not isinstance(result, dict):
        raise _nonsense("result is not an object")
    run = result.get("run")
    status = run.get("status") if isinstance(run, dict) else None
    if isinstance(status, str) and status.upper() != "COMPLETED":
        raise _nonsense(f"the query's status is {plain(status, 40)}, not COMPLETED")
    calculations = result.get("calculations")
    if not isinstance(calculations, list):
        raise _nonsense("result.calculations is not a list")
    total = 0
    for calculation in calculations[:1]:  # one was asked for
        groups = calculation.get("aggregates") if isinstance(calculation, dict) else None
        if not isinstance(groups, list):
            raise _nonsense("result.calculations[0].aggregates is not a list")
        total += sum(_lines(group) for group in groups)
    return total


def _lines(group: object) -> int:
    """The greater of `count` and `value`: both are described as the number, neither in full."""
    fields = group if isinstance(group, dict) else {}
    found = [_believed(fields.get(key)) for key in ("count", "value")]
    believed = [number for number in found if number is not None]
    if not believed:
        raise _nonsense("an aggregate has neither a count nor a value that can be true")
    return max(believed)


def _believed(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return math.ceil(value) if 0 <= value <= MOST_LINES else None


def _nonsense(what: str) -> CloudflareError:
    return CloudflareError(SampleReason.NONSENSE, what)
