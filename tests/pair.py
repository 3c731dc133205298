"""A daemon with two destinations and a Slack behind each, driven by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.daemon.courier import Courier
from dlqwatch.decide.outcomes import Answer, Probe, not_sent
from dlqwatch.decide.world import Plan
from dlqwatch.edges import store_commands
from dlqwatch.edges.store import Store
from dlqwatch.model import Destination, DestinationKind, NoticeStatus, Outcome, QueueRules
from dlqwatch.rows import DestinationRow, Notice
from dlqwatch.sim.clocks import HandClock
from tests.fakes import FakeQueues, FakeSpeaker
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig

FIRST, SECOND = "slack", "slack.fallback"
TEAM = "<!subteam^S0123456789>"
KIND_PAIRS = ((WEBHOOK, WEBHOOK), (BOT, WEBHOOK), (WEBHOOK, BOT), (BOT, BOT))

Kinds = tuple[DestinationKind, DestinationKind]
both_kinds = pytest.mark.parametrize("kinds", KIND_PAIRS)

REVOKED = Answer(Outcome.NEEDS_PERSON, "token_revoked")
REFUSED = not_sent("connection refused")


@dataclass
class Slack(FakeSpeaker):
    """A destination that also answers probes: by its weather, or by `probe_weather`."""

    probe_weather: Answer | None = None

    def probe(self) -> Probe:
        self.calls.append(("probe", self.clock.now()))
        if self.probe_weather is not None:
            return Probe(self.probe_weather)
        if self.weather == "ok":
            return Probe(Answer(Outcome.DELIVERED))
        if isinstance(self.weather, Answer) and self.weather.outcome is Outcome.NEEDS_PERSON:
            return Probe(self.weather)
        return Probe(Answer(Outcome.TEMPORARY, "no answer"))

    @property
    def lines(self) -> list[str]:
        """The first line of every message that stands there."""
        return [p.payload.text.split("\n")[0] for p in self.posts]

    def attempts(self) -> int:
        return sum(name == "post" for name, _ in self.calls)


class Pair(LightRig):
    """`a` is the first destination, `b` the fallback."""

    a: Slack
    b: Slack

    def start(self, **how: Any) -> None:
        super().start(**how)
        each = {FIRST: self.a, SECOND: self.b}
        self.couriers = [
            Courier(self.engine, d, each[d.name], self.clock, give_up_s=self._give_up_s)
            for d in self.plan.destinations
        ]

    def told_by(self, name: str) -> list[str]:
        """The reasons of what this destination confirmed, in that order."""
        done = [n for n in self.notices() if n.delivered_by == name]
        return [n.reason.value for n in sorted(done, key=lambda n: (n.delivered_at or 0, n.id))]

    def place(self, name: str) -> DestinationRow:
        return next(d for d in self.rows(DestinationRow) if d.name == name)

    def waiting(self) -> list[Notice]:
        return [n for n in self.rows(Notice) if n.status is NoticeStatus.PENDING]


def plan_of_two(kinds: Kinds, rules: QueueRules) -> Plan:
    """A configuration of one queue and two destinations."""
    places = tuple(
        Destination(name, kind, f"at {name}", "C1" if kind is BOT else "", (TEAM,))
        for name, kind in zip((FIRST, SECOND), kinds, strict=True)
    )
    return Plan({rules.name: rules}, places, version="0.1.0")


@contextmanager
def pair(
    kinds: Kinds = (WEBHOOK, WEBHOOK),
    rules: QueueRules | None = None,
    *,
    path: Path | None = None,
) -> Iterator[Pair]:
    """Such a daemon, its own first message already told. `path`: with a file, not in memory."""
    clock = HandClock()
    kept = Store(Path(":memory:")) if path is None else None
    rig = Pair.__new__(Pair)
    rig.a, rig.b = (Slack(clock, kind is BOT) for kind in kinds)
    Pair.__init__(
        rig,
        plan_of_two(kinds, rules or QueueRules(QUEUE)),
        clock,
        FakeQueues(clock),
        rig.a,
        lambda: kept if kept is not None else Store(path or Path()),
    )
    try:
        rig.run(10, polling=False)
        for slack in (rig.a, rig.b):
            slack.posts.clear()
            slack.calls.clear()
        rig._next_poll = dict.fromkeys(rig.pollers, clock.monotonic())
        yield rig
    finally:
        rig.store.close()


def fire(rig: Pair, depth: int = 3) -> None:
    """So many dead letters lie there from now on, and are read."""
    rig.holds(depth)
    rig.tick()


class Quiet:
    """Silences and acks as the commands write them: by a connection of their own."""

    def __init__(self, rig: Pair, path: Path) -> None:
        self._rig, self._path = rig, path

    def silence(self, seconds: float, rule: str = "", subject: str = QUEUE) -> None:
        now = self._rig.clock.now()
        store_commands.silence(
            self._path,
            rule=rule,
            subject=subject,
            starts_at=now,
            ends_at=now + round(seconds * 1000),
            by="lan",
            reason="planned work",
        )

    def unsilence(self) -> None:
        store_commands.unsilence(self._path, QUEUE, now=self._rig.clock.now(), by="lan")

    def ack(self, incident: int = 1, note: str = "looking") -> None:
        now = self._rig.clock.now()
        store_commands.ack(self._path, incident, now=now, by="minh", note=note)


@contextmanager
def quietable(
    tmp_path: Path, kind: DestinationKind = WEBHOOK, **rules: Any
) -> Iterator[tuple[Pair, Quiet]]:
    """A daemon over a file, and the commands that quiet it. Only its first destination matters."""
    path = tmp_path / "dlqwatch.db"
    with pair((kind, WEBHOOK), replace(QueueRules(QUEUE), **rules), path=path) as rig:
        yield rig, Quiet(rig, path)
