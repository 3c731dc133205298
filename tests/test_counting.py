"""Which part of a Worker's log is counted, and what number an answer holds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlqwatch.daemon.publishing import Counter
from dlqwatch.decide.counting import LAG_MS, OLDEST_MS, Window, due_window, is_over, read_count
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.telemetry import Telemetry
from dlqwatch.errors import CloudflareError
from dlqwatch.model import DAY, HOUR, MINUTE, SECOND, PublishWatch, Rule, SampleReason
from dlqwatch.rows import Incident
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.telemetry import SimLogs
from tests.rig import LightRig, light

WATCH = PublishWatch("nemo12-api", "EVENT_PUBLISH_FAILED", 5 * MINUTE)
AT = 1_794_000_000_000 // HOUR * HOUR


# ---- windows


def test_the_first_window_is_the_last_whole_one() -> None:
    due = due_window(None, 5 * MINUTE, AT + LAG_MS + MINUTE)
    assert due == Window(AT - 5 * MINUTE, AT)


def test_nothing_is_due_while_lines_may_still_come() -> None:
    assert due_window(AT, 5 * MINUTE, AT + 5 * MINUTE + LAG_MS - 1) is None
    assert due_window(AT, 5 * MINUTE, AT + 5 * MINUTE + LAG_MS) == Window(AT, AT + 5 * MINUTE)


def test_what_an_outage_left_is_one_window() -> None:
    due = due_window(AT, 5 * MINUTE, AT + 3 * HOUR + LAG_MS)
    assert due == Window(AT, AT + 3 * HOUR)


def test_no_further_back_than_the_log_keeps_its_lines() -> None:
    now = AT + 30 * DAY + MINUTE
    due = due_window(AT, 5 * MINUTE, now)
    assert due is not None
    assert 0 <= due.start - (now - OLDEST_MS) < 5 * MINUTE
    assert due.start % (5 * MINUTE) == 0


def test_a_window_is_over_by_cloudflares_clock_in_whole_seconds() -> None:
    window = Window(AT - MINUTE, AT)
    assert is_over(window, AT + LAG_MS)
    assert is_over(window, AT + LAG_MS - SECOND + 1)
    assert not is_over(window, AT + LAG_MS - SECOND)


# ---- answers


def answer(*groups: object, status: str = "COMPLETED") -> dict[str, object]:
    calculation = {"calculation": "count", "aggregates": list(groups)}
    return {"run": {"status": status}, "calculations": [calculation]}


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (answer({"count": 7.0, "value": 7, "sampleInterval": 1}), 7),
        (answer({"count": 2.5}), 3),
        (answer({"value": 0.2}), 1),
        (answer({"count": 1, "value": 10, "sampleInterval": 10}), 10),
        (answer({"count": "7", "value": 4}), 4),
        (answer({"count": 1}, {"count": 2}), 3),
        (answer(), 0),
        ({"calculations": []}, 0),
        ({"calculations": [{"aggregates": [{"count": 0}]}]}, 0),
    ],
)
def test_a_number_is_read_and_never_too_small(result: object, lines: int) -> None:
    assert read_count(result) == lines


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        {},
        {"events": {"count": 3}},
        {"calculations": None},
        {"calculations": [{}]},
        {"calculations": [{"aggregates": None}]},
        {"calculations": [7]},
        answer({}),
        answer(None),
        answer({"count": None, "value": "7"}),
        answer({"count": True}),
        answer({"count": -1}),
        answer({"count": float("nan")}),
        answer({"count": 1e30}),
        answer({"count": 0}, {"count": -1}),
        answer({"count": 0}, status="STARTED"),
    ],
    ids=str,
)
def test_an_answer_that_is_not_understood_is_no_calm_zero(result: object) -> None:
    with pytest.raises(CloudflareError) as caught:
        read_count(result)
    assert caught.value.reason is SampleReason.NONSENSE


# ---- each line once, whatever happens


class OurClock:
    """A machine's clock that can be set, beside Cloudflare's, which can't."""

    def __init__(self, true: HandClock) -> None:
        self._true = true
        self.off_ms = 0

    def now(self) -> int:
        return self._true.now() + self.off_ms

    def monotonic(self) -> float:
        return self._true.monotonic()


class FakeCloudflare:
    """Answers `post` from a log. `fails`: so many answers get lost on their way."""

    def __init__(self, true: HandClock, ours: OurClock) -> None:
        self.logs = SimLogs()
        self.fails = 0
        self.date_seen: tuple[int, int] | None = None
        self._true, self._ours = true, ours

    def post(self, path: str, doing: str, sent: dict[str, Any]) -> dict[str, Any]:
        result = self.logs.query(sent, self._true.now())
        if self.fails:
            self.fails -= 1
            raise CloudflareError(SampleReason.UNREACHABLE, f"{doing}: {path} lost")
        self.polled()
        return {"result": result}

    def polled(self) -> None:
        """Any answer tells the time, in whole seconds."""
        self.date_seen = (self._true.now() // SECOND * SECOND, self._ours.now())


class Spy(Telemetry):
    """Remembers which windows were counted."""

    def __init__(self, cloudflare: FakeCloudflare, clock: OurClock) -> None:
        super().__init__(cast(Cloudflare, cloudflare), clock)
        self.windows: list[Window] = []

    def count(self, worker: str, needle: str, window: Window) -> int | None:
        found = super().count(worker, needle, window)
        if found is not None:
            self.windows.append(window)
        return found


@dataclass
class Life:
    """A daemon that counts, its log, and what befalls it."""

    rig: LightRig
    watch: PublishWatch

    def __post_init__(self) -> None:
        self.ours = OurClock(self.rig.clock)
        self.cloudflare = FakeCloudflare(self.rig.clock, self.ours)
        self.spy = Spy(self.cloudflare, self.ours)
        self.restart()

    def restart(self) -> None:
        self.rig.restart(plan=replace(self.rig.plan, publish=self.watch))
        self.rig.engine._clock = self.ours
        self.counter = Counter(self.rig.engine, self.spy, self.watch, self.ours, 5.0)

    def line(self, late_s: int) -> None:
        at = self.rig.clock.now()
        self.cloudflare.logs.write(WATCH.worker, f"{WATCH.needle} x", at, late_ms=late_s * SECOND)

    def passes(self, minutes: int, *, polls: bool = True) -> None:
        for _ in range(minutes):
            self.rig.clock.move(60)
            if polls:
                self.cloudflare.polled()
            self.counter.tick()

    def befall(self, what: str, number: int) -> None:
        match what:
            case "line":
                self.line(number % (LAG_MS // SECOND))
            case "minutes":
                self.passes(number)
            case "blind minutes":
                self.passes(number, polls=False)
            case "restart":
                self.restart()
            case "fail":
                self.cloudflare.fails = number
            case "step":
                self.ours.off_ms += (number - 20) * 10 * MINUTE
            case "years":
                self.ours.off_ms = 0 if self.ours.off_ms else 3650 * DAY


WHAT = ("line", "line", "minutes", "blind minutes", "restart", "fail", "step", "years")
befallen = st.lists(
    st.tuples(st.sampled_from(WHAT), st.integers(0, 40), st.integers(0, 59_999)), max_size=25
)


@settings(max_examples=60, deadline=None)
@given(befallen, st.sampled_from([MINUTE, 5 * MINUTE, HOUR]))
def test_each_line_is_counted_once_whatever_befalls(
    events: list[tuple[str, int, int]], interval_ms: int
) -> None:
    """Restarts, lost answers, late lines, our clock set at will: the totals are the log's."""
    with light() as rig:
        life = Life(rig, replace(WATCH, interval_ms=interval_ms))
        life.passes(1)
        for what, number, more_ms in events:
            rig.clock.move(more_ms / 1000)
            life.befall(what, number)
        life.cloudflare.fails = 0
        life.passes(2 * interval_ms // MINUTE + 5)
        windows = life.spy.windows
        for one, next_ in itertools.pairwise(windows):
            assert one.end == next_.start
        begin, end = windows[0].start, windows[-1].end
        assert end + interval_ms + LAG_MS + 2 * MINUTE > rig.clock.now()
        lines = [line for line in life.cloudflare.logs.lines if begin <= line.at < end]
        found = rig.rows(Incident, f"rule = '{Rule.PUBLISH_FAILURES}'")
        assert sum(getattr(i.facts, "total", 0) for i in found) == len(lines)
