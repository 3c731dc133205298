"""The log of an account's Workers, as far as counting its lines goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


class BadQuery(ValueError):
    """A query that the real API would not take."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """`at`: its time in the log; `seen_at`: since when it can be found. Both in ms."""

    worker: str
    text: str
    at: int
    seen_at: int


class SimLogs:
    """Log lines of Workers. `sampling` 10: every tenth line is kept, and stands for ten.

    `changed`, once set, is the `result` whatever is asked: an API that isn't what it was.
    """

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.sampling = 1
        self.changed: Any = None
        self.counted: list[tuple[int, int]] = []  # the timeframes that were answered

    def write(self, worker: str, text: str, at: int, *, late_ms: int = 0) -> None:
        """A Worker logs something."""
        self.lines.append(LogLine(worker, text, at, at + late_ms))

    def query(self, sent: Any, now: int) -> Any:
        """The `result` of one query. Raises BadQuery."""
        if self.changed is not None:
            return self.changed
        start, end, worker, needle = _read(sent)
        found = [
            line
            for line in self.lines
            if start <= line.at < end
            and line.seen_at <= now
            and line.worker == worker
            and needle in line.text
        ]
        self.counted.append((start, end))
        count = math.ceil(len(found) / self.sampling) * self.sampling
        groups = [{"count": float(count), "value": count, "sampleInterval": self.sampling}]
        return {
            "run": {"id": "sim", "dry": True, "status": "COMPLETED"},
            "calculations": [{"calculation": "count", "aggregates": groups if found else []}],
            "statistics": {"elapsed": 0.01, "rows_read": len(self.lines), "bytes_read": 0},
        }


def _read(sent: Any) -> tuple[int, int, str, str]:
    """Timeframe, Worker and needle of a query for one count."""
    try:
        if not isinstance(sent["queryId"], str) or sent["view"] != "calculations":
            raise BadQuery("queryId and view must be set")
        timeframe, parameters = sent["timeframe"], sent["parameters"]
        start, end = timeframe["from"], timeframe["to"]
        (only,) = parameters["filters"]
        (calculation,) = parameters["calculations"]
        needle = parameters["needle"]
        if (only["key"], only["operation"]) != ("$metadata.service", "eq") or needle["isRegex"]:
            raise BadQuery("this filter isn't simulated")
        if calculation["operator"] != "count" or not start < end:
            raise BadQuery("this calculation isn't simulated")
    except (KeyError, TypeError, ValueError) as error:
        raise BadQuery(str(error)) from None
    return start, end, only["value"], needle["value"]
