"""What hangs below every timeout (a name that never resolves) is given up, and life goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlqwatch.daemon.courier import Courier
from dlqwatch.daemon.polling import Poller
from dlqwatch.decide.inputs import Reading, Started
from dlqwatch.decide.outcomes import Answer, Probe, answer_lost
from dlqwatch.decide.reading import QueueSettings
from dlqwatch.decide.world import Plan, World
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.edges.store_keeper import Keeper
from dlqwatch.engine import Engine
from dlqwatch.facts import Payload
from dlqwatch.model import (
    Destination,
    DestinationKind,
    Outcome,
    QueueRules,
    Sample,
    SampleKind,
    SampleReason,
)
from dlqwatch.rows import Delivery, Queue, Span

TIMEOUT_S = 0.3
LATE_S = 0.5
RULES = QueueRules("nemo12-events-dlq", poll_ms=1_000)
CLOCK = SystemClock()


class Hanging:
    """A Cloudflare and a Slack no call of which ends before the test does."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def find_queue(self, name: str) -> str:
        self.over.wait(30)
        return ""

    def queue(self, queue_id: str) -> QueueSettings:
        self.over.wait(30)
        return QueueSettings(None, None, None, None, None)

    def metrics(self, queue_id: str) -> Sample:
        self.over.wait(30)
        return Sample(0, SampleKind.COMPLETE, 0, 0)

    def post(self, payload: Payload, **how: object) -> Answer:
        self.over.wait(30)
        return answer_lost("the test is over")

    def edit(self, channel: str, ts: str, payload: Payload) -> Answer:
        return self.post(payload)

    def probe(self) -> Probe:
        self.over.wait(30)
        return Probe(answer_lost("the test is over"))

    def look(self, key: str, *, since: int, thread_ts: str | None = None) -> Answer:
        self.over.wait(30)
        return answer_lost("the test is over")


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    found = Hanging()
    yield found
    found.over.set()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    keeper = Keeper(tmp_path / "dlqwatch.db", CLOCK)
    keeper.start()
    destination = Destination("slack", DestinationKind.WEBHOOK, "f1")
    found = Engine(World(Plan({RULES.name: RULES}, (destination,), "1")), keeper, CLOCK)
    found.submit(Started("base"))
    yield found
    found.close()


def test_a_poll_that_hangs_below_its_timeout_ends_as_a_timeout(
    engine: Engine, hanging: Hanging
) -> None:
    poller = Poller(engine, hanging, RULES, CLOCK, TIMEOUT_S)
    began = time.monotonic()
    poller.tick()

    assert time.monotonic() - began <= TIMEOUT_S + LATE_S
    [span] = engine.rows(Span)
    assert (span.kind, span.reason, span.depth) == (SampleKind.FAILED, SampleReason.TIMEOUT, None)


def test_a_name_that_never_resolves_ends_as_a_timeout(engine: Engine, hanging: Hanging) -> None:
    """Through the real client: only the look-up of the name hangs."""
    asked = threading.Event()

    def addresses(host: str, port: int) -> list[str]:
        asked.set()
        hanging.over.wait(30)
        raise OSError("the test is over")

    http = Http(trust_env=False, addresses=addresses)
    cloudflare = Cloudflare(
        base_url="http://cloudflare.invalid/client/v4",
        account_id="0" * 32,
        token=lambda: "token",
        timeout_s=TIMEOUT_S,
        clock=CLOCK,
        http=http,
    )
    began = time.monotonic()
    Poller(engine, cloudflare, RULES, CLOCK, TIMEOUT_S).tick()
    took = time.monotonic() - began
    http.close()

    assert asked.is_set()
    assert took <= TIMEOUT_S + LATE_S
    assert [s.reason for s in engine.rows(Span)] == [SampleReason.TIMEOUT]
    assert [q.cloudflare_id for q in engine.rows(Queue)] == [None]


def test_a_slack_that_hangs_below_its_timeout_is_given_up_as_perhaps_posted(
    engine: Engine, hanging: Hanging
) -> None:
    now = CLOCK.now()
    engine.submit(Reading(RULES.name, Sample(now, SampleKind.COMPLETE, 3, 300, now)))
    courier = Courier(engine, engine.plan.destination("slack"), hanging, CLOCK, give_up_s=TIMEOUT_S)
    began = time.monotonic()
    assert courier.step()

    assert time.monotonic() - began <= TIMEOUT_S + LATE_S
    tried = [d for d in engine.rows(Delivery) if d.attempts]
    assert [(d.outcome, d.lost_answers) for d in tried] == [(Outcome.AMBIGUOUS, 1)]
