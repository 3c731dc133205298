"""A daemon that counts failures to publish, against a scripted Cloudflare, driven by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dlqwatch.daemon.publishing import Counter
from dlqwatch.edges.telemetry import Telemetry
from dlqwatch.model import (
    MINUTE,
    SECOND,
    DestinationKind,
    PublishWatch,
    QueueRules,
    Rule,
    State,
)
from dlqwatch.rows import Alert, Incident
from dlqwatch.sim.cloudflare import READ_TOKEN
from dlqwatch.sim.wire import Request
from tests.rig import QUEUE, WEBHOOK, SimRig, simulated

WORKER, NEEDLE = "nemo12-api", "EVENT_PUBLISH_FAILED"
WATCH = PublishWatch(WORKER, NEEDLE, 5 * MINUTE)
ALLOWED = {"queues_read", "workers_observability_read"}
CONFIG = f'[publish_failures]\nworker = "{WORKER}"\n'


def asks_logs(request: Request) -> bool:
    return request.path.endswith("/telemetry/query")


class Watched:
    """A daemon that counts, driven by hand."""

    def __init__(self, rig: SimRig) -> None:
        self.rig = rig
        rig.cf.tokens[READ_TOKEN] = set(ALLOWED)
        self.restart(WATCH)

    def restart(self, watch: PublishWatch | None) -> None:
        self.rig.restart(plan=replace(self.rig.plan, publish=watch))
        if watch is not None:
            logs = Telemetry(self.rig.queues, self.rig.clock)  # type: ignore[arg-type]
            self.counter = Counter(self.rig.engine, logs, watch, self.rig.clock, 5.0)

    def fails(self, n: int = 1, *, late_s: int = 0, ago_s: float = 0) -> None:
        """The Worker fails to publish so many events now."""
        at = self.rig.clock.now() - round(ago_s * 1000)
        for i in range(n):
            text = f"{NEEDLE} type=GoalSet key={i}"
            self.rig.cf.logs.write(WORKER, text, at, late_ms=late_s * SECOND)

    def passes(self, minutes: int) -> None:
        for _ in range(minutes):
            self.rig.run(60)
            self.counter.tick()
            self.rig.settle()

    def incidents(self) -> list[Incident]:
        return self.rig.rows(Incident, f"rule = '{Rule.PUBLISH_FAILURES}' ORDER BY id")

    @property
    def state(self) -> State:
        (alert,) = [a for a in self.rig.rows(Alert) if a.rule is Rule.PUBLISH_FAILURES]
        return alert.state

    def said(self) -> list[str]:
        return [m.text.split("\n")[0] for m in self.rig.slack.messages() if "publish" in m.text]

    def asked(self) -> int:
        return sum(asks_logs(r) for r in self.rig.cf.requests)


@contextmanager
def watched(tmp_path: Path, kind: DestinationKind = WEBHOOK) -> Iterator[Watched]:
    with simulated(tmp_path, kind, QueueRules(QUEUE, poll_ms=MINUTE)) as rig:
        yield Watched(rig)
