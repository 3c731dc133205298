"""The daemon without its threads: a real engine, store, pollers and couriers, driven by hand.

`Rig` owns one clock that stands still until it is moved. `simulated` speaks real HTTP to the
scripted services; `light` keeps Cloudflare, Slack and the database in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dlqwatch.daemon.auditing import Auditor
from dlqwatch.daemon.courier import Courier
from dlqwatch.daemon.polling import Poller, Queues
from dlqwatch.decide.inputs import Started
from dlqwatch.decide.world import Plan, World
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.edges.slack import Bot, Speaker, Webhook
from dlqwatch.edges.store import Store, select
from dlqwatch.engine import Engine
from dlqwatch.model import (
    Destination,
    DestinationKind,
    NoticeStatus,
    QueueRules,
    Rule,
    Sample,
    SampleKind,
    State,
)
from dlqwatch.rows import Alert, Card, Delivery, DestinationRow, Incident, Notice, Row
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.slack import BOT_TOKEN, CHANNEL, SimSlack, SlackMessage
from tests.fakes import FailingJournal, FakeQueues, FakeSpeaker

QUEUE = "nemo12-events-dlq"
SLACK = "slack"
WEBHOOK, BOT = DestinationKind.WEBHOOK, DestinationKind.BOT
KINDS = (WEBHOOK, BOT)
TEAM = "<!subteam^S0123456789>"
# that it started, can't see, can't write, and that it can again
OF_ITSELF = re.compile(r"\W*(?:\w[\w ]*: )?dlqwatch ")
MANY_STEPS = 1000  # at one moment: a courier that never rests is a fault

R = TypeVar("R", bound=Row)


def plan_for(kind: DestinationKind, *rules: QueueRules, address: str = "one") -> Plan:
    """A configuration of these queues and one destination."""
    destination = Destination(SLACK, kind, address, CHANNEL if kind is BOT else "", (TEAM,))
    watched = rules or (QueueRules(QUEUE),)
    return Plan({r.name: r for r in watched}, (destination,), version="0.1.0")


class Rig:
    """A daemon of which nothing moves by itself."""

    def __init__(
        self,
        plan: Plan,
        clock: HandClock,
        queues: Queues,
        speaker: Speaker,
        open_store: Callable[[], Store],
        *,
        give_up_s: float = 10.0,
        timeout_s: float = 5.0,
    ) -> None:
        self.plan = plan
        self.clock = clock
        self.queues = queues
        self.speaker = speaker
        self._open_store = open_store
        self._give_up_s = give_up_s
        self._timeout_s = timeout_s
        self.start()

    # -- life and death

    def start(self, *, behind: bool = False, seen_at: int | None = None) -> None:
        """Open the database and begin. `behind`: the last process could not write everything;
        `seen_at`: its last sign of life, if its end was not clean."""
        self.store = self._open_store()
        self.journal = FailingJournal(self.store)
        self.world = self.remembered()
        self.engine = Engine(self.world, self.journal, self.clock)
        self.engine.submit(Started("5eed", "watch-1", behind, seen_at))
        self.couriers = [
            Courier(self.engine, d, self.speaker, self.clock, give_up_s=self._give_up_s)
            for d in self.plan.destinations
        ]
        self.pollers = {
            rules.name: Poller(self.engine, self.queues, rules, self.clock, self._timeout_s)
            for rules in self.plan.queues.values()
        }
        self._next_poll = dict.fromkeys(self.pollers, self.clock.monotonic())

    def restart(
        self, *, plan: Plan | None = None, behind: bool = False, seen_at: int | None = None
    ) -> None:
        """The process dies here; another begins with what the file holds."""
        if self.store.path != Path(":memory:"):
            self.store.close()
        self.plan = plan or self.plan
        self.start(behind=behind, seen_at=seen_at)

    def remembered(self) -> World:
        """The world as a start would find it in the file."""
        remembered = self.store.load()
        world = World(self.plan, remembered.last_ids)
        world.load(remembered.rows)
        return world

    # -- time

    def poll(self, queue: str | None = None) -> None:
        """One tick of this poller, or of all; nothing is sent yet. Starts their interval anew."""
        for name, poller in self.pollers.items():
            if queue in (None, name):
                poller.tick()
                after = self.plan.queues[name].poll_ms / 1000
                self._next_poll[name] = self.clock.monotonic() + after

    def settle(self) -> None:
        """Send what is due at this moment."""
        for courier in self.couriers:
            for _ in range(MANY_STEPS):
                if not courier.step():
                    break
            else:
                raise AssertionError("a courier that never rests")

    def tick(self) -> None:
        """Poll, then send what is due."""
        self.poll()
        self.settle()

    def run(self, seconds: float, *, polling: bool = True) -> None:
        """Let time pass: each queue is polled at its interval, what falls due is sent."""
        end = self.clock.monotonic() + seconds
        while True:
            here = self.clock.monotonic()
            due = [self.engine.due_in_ms(c.name) for c in self.plan.destinations]
            waits = [ms / 1000 for ms in due if ms is not None]
            if polling:
                waits += [max(0.0, at - here) for at in self._next_poll.values()]
            wait = min(waits, default=seconds)
            if here + wait > end:
                self.clock.move(end - here)
                return
            self.clock.move(wait)
            if polling:
                self._poll_due()
            self.settle()

    def _poll_due(self) -> None:
        now = self.clock.monotonic() + 1e-6  # moves are added up in floats
        for name, at in list(self._next_poll.items()):
            if at <= now:
                self.poll(name)

    # -- what can be seen

    def rows(self, table: type[R], where: str = "1") -> list[R]:
        """Rows of the database, also those that memory has forgotten."""
        return select(self.store._db, table, where)

    def notices(self) -> list[Notice]:
        """Every notice of an incident, in the order they were made."""
        return self.rows(Notice, "incident IS NOT NULL ORDER BY id")

    def told(self) -> list[str]:
        """The reasons of the notices that Slack confirmed, in that order."""
        mine = {i.id for i in self.incidents()}
        done = [
            n
            for n in self.notices()
            if n.status is NoticeStatus.DELIVERED and (n.incident is None or n.incident in mine)
        ]
        return [n.reason.value for n in sorted(done, key=lambda n: (n.delivered_at or 0, n.id))]

    def incidents(self, rule: Rule = Rule.DEPTH) -> list[Incident]:
        """Those of a rule, in the order they opened."""
        return self.rows(Incident, f"rule = '{rule}' ORDER BY id")

    def told_of(self, rule: Rule) -> list[Notice]:
        """The notices of a rule's incidents that Slack confirmed."""
        mine = {i.id for i in self.incidents(rule)}
        done = [n for n in self.notices() if n.status is NoticeStatus.DELIVERED]
        return [n for n in done if n.incident in mine]

    def alert(self, queue: str = QUEUE) -> Alert:
        return next(a for a in self.rows(Alert) if (a.rule, a.subject) == (Rule.DEPTH, queue))

    @property
    def state(self) -> State:
        return self.alert().state

    def delivery(self, notice: Notice) -> Delivery:
        return next(d for d in self.rows(Delivery) if d.notice == notice.id)

    def pending(self) -> list[Notice]:
        return [n for n in self.notices() if n.status is NoticeStatus.PENDING]

    def card(self) -> Card:
        (card,) = self.rows(Card)
        return card

    def destination(self) -> DestinationRow:
        (row,) = self.rows(DestinationRow)
        return row


class LightRig(Rig):
    """All in memory: for thousands of runs."""

    queues: FakeQueues
    speaker: FakeSpeaker

    def holds(self, depth: int, queue: str = QUEUE, *, age_ms: int = 0) -> None:
        """From now on Cloudflare says this depth, with the oldest so old now."""
        oldest_at = self.clock.now() - age_ms if depth else None
        self.queues.says[queue] = Sample(0, SampleKind.COMPLETE, depth, depth * 100, oldest_at)

    def posted(self, *, itself: bool = False) -> list[str]:
        """The first line of every message in Slack; `itself`: also what dlqwatch says of itself."""
        lines = (p.payload.text.split("\n")[0] for p in self.speaker.posts)
        return [line for line in lines if itself or not _of_itself(line)]

    def attempts(self, what: str = "post") -> list[float]:
        """When Slack was called, in seconds since the first of all calls since the start."""
        times = [at for name, at in self.speaker.calls if name == what]
        return [(at - times[0]) / 1000 for at in times]


def _of_itself(text: str) -> bool:
    return text.startswith("🟢") or OF_ITSELF.match(text) is not None


@contextmanager
def light(
    kind: DestinationKind = WEBHOOK, *rules: QueueRules, started: bool = True
) -> Iterator[LightRig]:
    """A daemon in memory. `started`: its own first message is already told."""
    clock = HandClock()
    store = Store(Path(":memory:"))
    try:
        rig = LightRig(
            plan_for(kind, *rules),
            clock,
            FakeQueues(clock),
            FakeSpeaker(clock, kind is BOT),
            lambda: store,
        )
        if started:
            rig.run(10, polling=False)
            rig.speaker.posts.clear()
            rig.speaker.calls.clear()
            rig._next_poll = dict.fromkeys(rig.pollers, clock.monotonic())
        yield rig
    finally:
        store.close()


class SimRig(Rig):
    """A file, and real HTTP to the scripted services."""

    cf: SimCloudflare
    slack: SimSlack

    def audit(self, queue: str = QUEUE) -> None:
        """Read how a queue is wired, as the daemon does at its audits, and tell."""
        engine, of_us = self.engine, queue == next(iter(self.plan.queues))
        cloudflare, rules = self.queues, self.plan.queues[queue]
        assert isinstance(cloudflare, Cloudflare)
        Auditor(engine, cloudflare, rules, self._timeout_s, of_us=of_us).tick()
        self.settle()

    def messages(self, *, itself: bool = False) -> list[SlackMessage]:
        """What people see in the channel; `itself`: also what dlqwatch says of itself."""
        return [m for m in self.slack.messages() if itself or not _of_itself(m.text)]

    def calls(self) -> list[str]:
        return [call.method for call in self.slack.times]


@contextmanager
def simulated(
    tmp_path: Path,
    kind: DestinationKind = BOT,
    *rules: QueueRules,
    started: bool = True,
    give_up_s: float = 10.0,
) -> Iterator[SimRig]:
    """A daemon against the scripted Cloudflare and Slack. `started`: as for `light`."""
    clock = HandClock()
    with SimCloudflare(clock) as cf, SimSlack(clock) as slack:
        cf.create_pair()
        http = Http()
        cloudflare = Cloudflare(
            base_url=cf.base_url,
            account_id=cf.account_id,
            token=READ_TOKEN,
            timeout_s=5.0,
            clock=clock,
            http=http,
        )
        rig = SimRig(
            plan_for(kind, *rules),
            clock,
            cloudflare,
            speaker_to(slack, kind, http, clock),
            lambda: Store(tmp_path / "dlqwatch.db"),
            give_up_s=give_up_s,
        )
        rig.cf, rig.slack = cf, slack
        try:
            if started:
                rig.run(10, polling=False)
                slack.requests.clear()
                rig._next_poll = dict.fromkeys(rig.pollers, clock.monotonic())
            yield rig
        finally:
            http.close()
            rig.store.close()


def speaker_to(slack: SimSlack, kind: DestinationKind, http: Http, clock: HandClock) -> Speaker:
    """The real edge to the scripted Slack."""
    if kind is BOT:
        return Bot(lambda: BOT_TOKEN, CHANNEL, slack.api_url, http.ssl_context, clock)
    return Webhook(lambda: slack.webhook_url, http.ssl_context, clock)
