"""Cloudflare and Slack as objects in memory, for tests that need thousands of runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from dlqwatch.decide.outcomes import Answer, Probe
from dlqwatch.decide.reading import QueueSettings
from dlqwatch.edges.store import Store
from dlqwatch.edges.store_keeper import Renewed
from dlqwatch.errors import CloudflareError, StoreError
from dlqwatch.facts import Payload
from dlqwatch.model import DAY, Clock, NoticeStatus, Outcome, Sample, SampleKind, SampleReason
from dlqwatch.rows import Change, Notice, Row
from dlqwatch.words.slack import receipt_key

UNREACHABLE = CloudflareError(SampleReason.UNREACHABLE, "no way to Cloudflare")


@dataclass
class FakeQueues:
    """What a poller asks. `says` holds each queue's answer: a sample (its time is put right when
    it is read) or the error that is raised; `ids` the id of each name, or the error."""

    clock: Clock
    says: dict[str, Sample | CloudflareError] = field(default_factory=dict)
    ids: dict[str, str | CloudflareError] = field(default_factory=dict)
    retention_ms: int | None = 4 * DAY
    settings: CloudflareError | None = None  # what reading the settings raises
    calls: list[str] = field(default_factory=list)

    def find_queue(self, name: str) -> str:
        self.calls.append(f"find {name}")
        found = self.ids.get(name, name)
        if isinstance(found, CloudflareError):
            raise found
        return found

    def metrics(self, queue_id: str) -> Sample:
        self.calls.append(f"read {queue_id}")
        answer = self.says.get(queue_id, Sample(0, SampleKind.COMPLETE, 0, 0))
        if isinstance(answer, CloudflareError):
            raise answer
        return replace(answer, at=self.clock.now())

    def queue(self, queue_id: str) -> QueueSettings:
        self.calls.append(f"audit {queue_id}")
        if self.settings is not None:
            raise self.settings
        return QueueSettings(queue_id, self.retention_ms, None, None, None)


@dataclass
class Posted:
    """A message in the fake Slack. `key` is a bot's receipt; a webhook leaves none."""

    ts: str
    at: int
    payload: Payload
    thread_ts: str | None
    broadcast: bool
    key: str | None
    edits: list[Payload] = field(default_factory=list)


Script = Answer | Literal["ok", "lost", "stored and lost"]


@dataclass
class FakeSpeaker:
    """A destination. `script` is used up a post at a time; then every post meets `weather`.

    "lost": nothing arrived and no answer came. "stored and lost": it arrived, no answer came.
    """

    clock: Clock
    bot: bool
    weather: Script = "ok"
    script: deque[Script] = field(default_factory=deque)
    edit_weather: Answer | None = None
    look_weather: Answer | None = None
    threads: bool = True  # False: an answer to a reply lacks `thread_ts`
    posts: list[Posted] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)
    stored_and_lost: int = 0

    def post(
        self,
        payload: Payload,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        receipt: Mapping[str, object] | None = None,
    ) -> Answer:
        now = self.clock.now()
        self.calls.append(("post", now))
        meets = self.script.popleft() if self.script else self.weather
        if isinstance(meets, Answer):
            return meets
        threaded = self.bot and thread_ts is not None and self.threads
        if meets != "lost":
            ts = f"{len(self.posts) + 1}.0"
            where = thread_ts if threaded else None
            self.posts.append(Posted(ts, now, payload, where, broadcast, receipt_key(receipt)))
        if meets != "ok":
            self.stored_and_lost += meets == "stored and lost"
            return Answer(Outcome.AMBIGUOUS, "no answer")
        ts = self.posts[-1].ts if self.bot else ""
        return Answer(Outcome.DELIVERED, channel="C1" if self.bot else "", ts=ts, threaded=threaded)

    def edit(self, channel: str, ts: str, payload: Payload) -> Answer:
        self.calls.append(("edit", self.clock.now()))
        if self.edit_weather is not None:
            return self.edit_weather
        if isinstance(self.weather, Answer):
            return self.weather
        next(p for p in self.posts if p.ts == ts).edits.append(payload)
        return Answer(Outcome.DELIVERED, channel=channel, ts=ts)

    def probe(self) -> Probe:
        return Probe(Answer(Outcome.DELIVERED))

    def look(self, key: str, *, since: int, thread_ts: str | None = None) -> Answer:
        self.calls.append(("look", self.clock.now()))
        if self.look_weather is not None:
            return self.look_weather
        found = next((p for p in self.posts if p.key == key), None)
        if found is None:
            return Answer(Outcome.TARGET_GONE, "not there")
        threaded = found.thread_ts is not None
        return Answer(Outcome.DELIVERED, channel="C1", ts=found.ts, threaded=threaded)

    def copies(self, key: str) -> int:
        """How often a notice stands in the channel."""
        return sum(p.key == key for p in self.posts)


class FailingJournal:
    """A journal in front of a real one that fails while `failing`.

    `delivered`: the notices that were confirmed, in the order in which that was written.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.failing = False
        self.waits: list[int] = []  # the wait each write was given
        self.delivered: list[Notice] = []

    renewed: Renewed | None = None
    unopened: StoreError | None = None
    where = "dlqwatch.db"

    def rejoin(self, live: Callable[[], Iterable[Row]]) -> tuple[Row, ...] | None:
        return None

    def commands(self) -> list[Row] | None:
        return self.inner.commands()

    def write(
        self,
        changes: Iterable[Change],
        live: Callable[[], Iterable[Row]],
        *,
        wait_ms: int = 500,
    ) -> None:
        self.waits.append(wait_ms)
        if self.failing:
            raise StoreError("the disk is full", "Free some space.")
        known = list(changes)
        self.inner.write(known, **({} if wait_ms is None else {"wait_ms": wait_ms}))
        self.delivered += [
            c for c in known if isinstance(c, Notice) and c.status is NoticeStatus.DELIVERED
        ]

    def close(self) -> None:
        self.inner.close()
