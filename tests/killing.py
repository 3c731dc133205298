"""A daemon that dies at a chosen call, over a real file and a scripted Slack, in virtual time.

Only the death is unreal: it is raised at the edge, past everything that catches `Exception`, and
then the world is thrown away and the file opened anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dlqwatch.daemon.courier import Courier
from dlqwatch.daemon.polling import Poller
from dlqwatch.decide.inputs import Started
from dlqwatch.decide.outcomes import Answer, Probe
from dlqwatch.decide.reading import QueueSettings
from dlqwatch.decide.world import Plan, World
from dlqwatch.edges.http import shared_ssl_context
from dlqwatch.edges.slack import Bot, Speaker, Webhook
from dlqwatch.edges.store import Remembered, Store, connect, select
from dlqwatch.edges.store_keeper import Renewed
from dlqwatch.engine import Engine
from dlqwatch.errors import StoreError
from dlqwatch.facts import Payload
from dlqwatch.model import (
    DAY,
    MINUTE,
    SECOND,
    Destination,
    DestinationKind,
    QueueRules,
    Sample,
    SampleKind,
    StoreTrouble,
)
from dlqwatch.rows import Change, Delivery, Incident, Notice, Row
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack, SlackMessage
from dlqwatch.sim.wire import Request

T = TypeVar("T")

QUEUE = "nemo12-events-dlq"
RULES = QueueRules(QUEUE, poll_ms=30 * SECOND, group_ms=MINUTE)
CONTEXT = shared_ssl_context()
DOWN_S = 2.0  # from a death to the next start


class Death(BaseException):
    """The process ends here."""


class Reaper:
    """Kills before or after the nth calls of an edge; calls are counted over all lives."""

    def __init__(self, edge: str, moment: str, at: Iterable[int]) -> None:
        self._edge, self._moment, self._at = edge, moment, frozenset(at)
        self._calls = 0
        self.deaths = 0
        self.armed = True

    def pass_through(self, edge: str, call: Callable[[], T]) -> T:
        if not self.armed or edge != self._edge:
            return call()
        self._calls += 1
        doomed = self._calls in self._at
        if doomed and self._moment == "before":
            self._kill()
        try:
            return call()
        finally:  # also where the call failed
            if doomed:
                self._kill()

    def _kill(self) -> None:
        self.deaths += 1
        raise Death


class MortalStore:
    """The store, at each call of which the process may die. `lossy` spoils what is written."""

    def __init__(
        self, store: Store, reaper: Reaper, lossy: Callable[[Change], Change] = lambda c: c
    ) -> None:
        self._store, self._reaper, self._lossy = store, reaper, lossy

    failing = False
    renewed: Renewed | None = None
    unopened: StoreError | None = None
    where = "dlqwatch.db"

    def rejoin(self, live: object) -> tuple[Row, ...] | None:
        return None

    def commands(self) -> list[Row] | None:
        return self._store.commands()

    def load(self) -> Remembered:
        return self._reaper.pass_through("store", self._store.load)

    def write(self, changes: Iterable[Change], live: object, *, wait_ms: int = 500) -> None:
        kept = [self._lossy(change) for change in changes]
        self._reaper.pass_through("store", lambda: self._write(kept, wait_ms))

    def _write(self, changes: list[Change], wait_ms: int) -> None:
        if self.failing:
            raise StoreError("the disk is full", trouble=StoreTrouble.FULL)
        self._store.write(changes, wait_ms=wait_ms)

    def close(self) -> None:
        self._store.close()


class MortalSpeaker:
    """Slack, at each call of which the process may die."""

    def __init__(self, speaker: Speaker, reaper: Reaper) -> None:
        self._speaker, self._reaper = speaker, reaper

    def post(
        self,
        payload: Payload,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        receipt: object = None,
    ) -> Answer:
        assert receipt is None or isinstance(receipt, dict)
        return self._reaper.pass_through(
            "slack",
            lambda: self._speaker.post(
                payload, thread_ts=thread_ts, broadcast=broadcast, receipt=receipt
            ),
        )

    def probe(self) -> Probe:
        return self._reaper.pass_through("slack", self._speaker.probe)

    def edit(self, channel: str, ts: str, payload: Payload) -> Answer:
        return self._reaper.pass_through("slack", lambda: self._speaker.edit(channel, ts, payload))

    def look(self, key: str, *, since: int, thread_ts: str | None = None) -> Answer:
        return self._reaper.pass_through(
            "slack", lambda: self._speaker.look(key, since=since, thread_ts=thread_ts)
        )


class Backlog:
    """Cloudflare as a poller sees it: `depth` messages, the oldest written at `oldest_at`."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock
        self.depth = 0
        self.oldest_at: int | None = None

    def find_queue(self, name: str) -> str:
        return "0" * 32

    def queue(self, queue_id: str) -> QueueSettings:
        return QueueSettings(QUEUE, 4 * DAY, False, (), ())

    def metrics(self, queue_id: str) -> Sample:
        now = self._clock.now()
        return Sample(now, SampleKind.COMPLETE, self.depth, 100 * self.depth, self.oldest_at)

    def hold(self, depth: int) -> None:
        if depth == 0:
            self.oldest_at = None
        elif self.oldest_at is None:
            self.oldest_at = self._clock.now()
        self.depth = depth


class Lives:
    """One daemon after another over one file, as the clock is moved."""

    def __init__(
        self,
        kind: DestinationKind,
        path: Path,
        slack: SimSlack,
        clock: HandClock,
        reaper: Reaper,
        lossy: Callable[[Change], Change] = lambda c: c,
    ) -> None:
        self._path, self._clock, self._reaper, self._lossy = path, clock, reaper, lossy
        self.backlog = Backlog(clock)
        webhook, token = slack.webhook_url, slack.bot_token
        self._speaker: Speaker = (
            Webhook(lambda: webhook, CONTEXT, clock)
            if kind is DestinationKind.WEBHOOK
            else Bot(lambda: token, slack.channel, slack.api_url, CONTEXT, clock)
        )
        self._destination = Destination("slack", kind, "f1", slack.channel)
        self._store: Store | None = None
        self._store_fails = self._behind = False
        self._next_poll = clock.now()

    def run_until(self, at: int) -> None:
        """Live, die and live again until the clock shows `at`."""
        while self._clock.now() < at:
            try:
                if self._store is None:
                    self._start()
                self._step(at)
            except Death:
                self.stop()
                self._clock.move(DOWN_S)
                self._next_poll = self._clock.now()

    def first_poll_in(self, seconds: float) -> None:
        """The first poll's answer takes a moment, as over a network."""
        self._next_poll = self._clock.now() + round(seconds * 1000)

    def store_fails(self, fails: bool) -> None:
        """From now on nothing can be written, or everything again."""
        self._store_fails = self._journal.failing = fails

    def settled(self) -> bool:
        return not self._engine.rows(Notice)

    def stop(self) -> None:
        """The world is thrown away. Closing a connection writes nothing."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _start(self) -> None:
        self._store = Store(self._path)
        self._journal = journal = MortalStore(self._store, self._reaper, self._lossy)
        journal.failing = self._store_fails
        remembered = journal.load()
        world = World(Plan({QUEUE: RULES}, (self._destination,), "1"), remembered.last_ids)
        world.load(remembered.rows)
        self._engine = Engine(world, journal, self._clock)
        self._engine.submit(Started("base", journal_behind=self._behind))
        self._poller = Poller(self._engine, self.backlog, RULES, self._clock, 5.0)
        speaker = MortalSpeaker(self._speaker, self._reaper)
        self._courier = Courier(self._engine, self._destination, speaker, self._clock)

    def _step(self, at: int) -> None:
        if self._clock.now() >= self._next_poll:
            self._next_poll = self._clock.now() + RULES.poll_ms
            self._poller.tick()
            self._behind = self._engine.behind  # what the pulse beside the file says from now on
        while self._courier.step():
            pass
        due = self._engine.due_in_ms("slack")
        nearest = min(self._next_poll, at, self._clock.now() + (1 << 40 if due is None else due))
        self._clock.move(max(1, nearest - self._clock.now()) / 1000)


@dataclass(frozen=True)
class Told:
    """What a story left behind."""

    kind: DestinationKind
    deaths: int
    lost_answers: int
    messages: Sequence[SlackMessage]
    notices: Sequence[Notice]
    deliveries: Sequence[Delivery]
    incidents: Sequence[Incident]


def is_post(request: Request) -> bool:
    return request.path.endswith("chat.postMessage") or request.path.startswith("/services/")


def tell(
    kind: DestinationKind,
    path: Path,
    reaper: Reaper,
    *,
    rough: bool = True,
    lossy: Callable[[Change], Change] = lambda c: c,
) -> Told:
    """Start, three land, five, drained, resolved. `rough`: a 429, then an answer that is lost
    after Slack took the first word, and one lost before it took the last.
    """
    clock = HandClock()
    began = clock.now()
    with SimSlack(clock) as slack:
        lives = Lives(kind, path, slack, clock, reaper, lossy)
        try:
            lives.run_until(began + 45 * SECOND)
            if rough:
                slack.fail(Fault.rate_limited(3), 1, is_post)
                slack.fail(Fault.close(after=True), 1, is_post)
            lives.backlog.hold(3)
            lives.run_until(began + 105 * SECOND)
            lives.backlog.hold(5)
            lives.run_until(began + 190 * SECOND)
            if rough:
                slack.fail(Fault.reset(), 1, is_post)
            lives.backlog.hold(0)
            lives.run_until(began + 300 * SECOND)
            reaper.armed = False
            for minutes in range(6, 60):
                lives.run_until(began + minutes * MINUTE)
                if lives.settled():
                    break
        finally:
            lives.stop()
        messages = slack.messages()
    db = connect(path)
    try:
        return Told(
            kind,
            reaper.deaths,
            1 if rough else 0,
            messages,
            select(db, Notice, "1"),
            select(db, Delivery, "1"),
            select(db, Incident, "1"),
        )
    finally:
        db.close()
