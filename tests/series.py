"""A language for what a queue did, and what people were told of its depth: one line in, one out.

In, a word a poll, in the order they happen (`*k` repeats a word):

    7          a complete reading of 7 messages
    ?7         a partial one: 7 messages, their age unknown
    7~3h       a complete one whose oldest message is 3 h old (else they arrived with the incident)
    _          a poll that failed
    .          a tick at which Cloudflare could not be asked (Retry-After)

and between polls, taking no time:

    down, up   Slack refuses connections, and works again
    restart    the process dies and another begins
    +1h, -1h   the wall clock is set forward or back

Out, a word a message that Slack confirmed: `first:3@0 grown:5@15m resolved:0!@20m` is the reason,
the depth it told, `!` where it was critical, and the time since the first poll.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dlqwatch.decide.inputs import TimePassed
from dlqwatch.decide.outcomes import not_sent
from dlqwatch.durations import parse_duration, show_duration
from dlqwatch.errors import CloudflareError
from dlqwatch.facts import DepthFacts
from dlqwatch.model import (
    DAY,
    DestinationKind,
    NoticeStatus,
    QueueRules,
    Sample,
    SampleKind,
    SampleReason,
    Severity,
)
from dlqwatch.rows import Notice
from tests.fakes import UNREACHABLE
from tests.rig import QUEUE, WEBHOOK, LightRig, light

_WORD = re.compile(r"(?P<word>[^*\s]+)(?:\*(?P<times>\d+))?")
_READING = re.compile(r"(?P<part>\?)?(?P<depth>\d+)(?:~(?P<age>\w+))?")
TIME_ONLY = "."


def told(
    series: str,
    *,
    kind: DestinationKind = WEBHOOK,
    retention_ms: int | None = 4 * DAY,
    **rules: Any,
) -> str:
    """What people were told of this series. `rules`: fields of `QueueRules`."""
    with playing(series, kind=kind, retention_ms=retention_ms, **rules) as play:
        return play.told()


class playing:  # noqa: N801, reads as a word of the language
    """The series, played; its rig stays open to be looked at or played on."""

    def __init__(
        self,
        series: str,
        *,
        kind: DestinationKind = WEBHOOK,
        retention_ms: int | None = 4 * DAY,
        **rules: Any,
    ) -> None:
        self._rules = replace(QueueRules(QUEUE), **rules)
        self._series = series
        self._manager = light(kind, self._rules)
        self._retention_ms = retention_ms

    def __enter__(self) -> playing:
        self.rig: LightRig = self._manager.__enter__()
        self.rig.queues.retention_ms = self._retention_ms
        self._offset = self.rig.clock.now()  # the wall clock at the first poll
        self._oldest: int | None = None
        self._aged: tuple[str, int | None] = ("", None)
        self._first = True
        self.play(self._series)
        return self

    def __exit__(self, *error: object) -> None:
        self._manager.__exit__(None, None, None)

    def play(self, series: str) -> None:
        """Go on with more of it."""
        for word in words(series):
            self._one(word)

    def told(self) -> str:
        """What Slack confirmed so far."""
        done = [
            n
            for n in self.rig.notices()
            if n.status is NoticeStatus.DELIVERED and isinstance(n.facts, DepthFacts)
        ]
        return " ".join(self._shown(n) for n in sorted(done, key=lambda n: n.id))

    def _one(self, word: str) -> None:
        rig = self.rig
        if word == "down":
            rig.speaker.weather = not_sent("connection refused")
        elif word == "up":
            rig.speaker.weather = "ok"
        elif word == "restart":
            rig.restart()
        elif word[0] in "+-":
            seconds = parse_duration(word[1:]) / 1000
            rig.clock.step(seconds if word[0] == "+" else -seconds)
        else:
            if not self._first:
                rig.run(self._rules.poll_ms / 1000 - 0.001, polling=False)
                rig.clock.move(0.001)
            self._first = False
            if word == TIME_ONLY:
                rig.engine.submit(TimePassed(QUEUE))
                rig.settle()
            else:
                rig.queues.says[QUEUE] = self._reading(word)
                rig.tick()

    def _reading(self, word: str) -> Sample | CloudflareError:
        if word == "_":
            return UNREACHABLE
        match = _READING.fullmatch(word)
        if match is None:
            raise ValueError(f"no word of the language: {word!r}")
        depth = int(match["depth"])
        now = self.rig.clock.now()
        if depth == 0:
            self._oldest = None
        elif self._oldest is None:
            self._oldest = now
        if match["part"]:
            reason = SampleReason.AGE_UNKNOWN
            return Sample(0, SampleKind.PARTIAL, depth, depth * 100, None, reason)
        oldest = self._oldest
        if match["age"]:  # the same word again: the same message, grown older
            before, oldest = self._aged
            if before != word or oldest is None:
                oldest = now - parse_duration(match["age"])
            self._aged = (word, oldest)
        if oldest is not None and oldest > now:  # our clock went back: as read_metrics has it
            reason = SampleReason.AGE_IN_FUTURE
            return Sample(0, SampleKind.PARTIAL, depth, depth * 100, None, reason)
        return Sample(0, SampleKind.COMPLETE, depth, depth * 100, oldest)

    def _shown(self, notice: Notice) -> str:
        facts = notice.facts
        assert isinstance(facts, DepthFacts)
        critical = "!" if notice.severity is Severity.CRITICAL else ""
        at = (notice.delivered_at or 0) - self._offset
        return f"{notice.reason}:{facts.depth}{critical}@{short(at)}"


def untimed(told: str) -> str:
    """The same without the times."""
    return re.sub(r"@\S+", "", told)


def words(series: str) -> Iterator[str]:
    """The words of a series, each as often as it happens."""
    for match in _WORD.finditer(series):
        yield from [match["word"]] * int(match["times"] or 1)


def short(ms: int) -> str:
    """0, 30s, 15m, 1h30m, -1h; what is less than a second is left out."""
    sign, seconds = ("-", -ms // 1000) if ms < 0 else ("", ms // 1000)
    return sign + (show_duration(seconds * 1000) if seconds else "0")
