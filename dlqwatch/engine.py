"""The one place where state changes.

The engine owns the lock, the moment (`now`), the world and the journal's connection. Memory is
the truth; the journal follows. Where it can't, the rows wait here and are written when it can.
Under the lock: no HTTP, no Slack, no rendering.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from dlqwatch.decide.advancing import advance, cloudflare_retry_at
from dlqwatch.decide.inputs import (
    ClockStepped,
    Input,
    Posting,
    Reading,
    Rejoined,
    Started,
    TimePassed,
)
from dlqwatch.decide.sending import Job, Post, next_due, next_job
from dlqwatch.decide.world import Plan, View, World
from dlqwatch.journal import Journal, Keeping
from dlqwatch.model import Clock, Rule, State
from dlqwatch.rows import Ack, Change, Queue, Row, Silence, Transition

log = logging.getLogger("dlqwatch.engine")

R = TypeVar("R", bound=Row)
T = TypeVar("T")

STEP_MS = 2_000  # wall and monotonic clocks that part by more than this: the clock was set


class Engine:
    """Feeds every input through `advance` and applies its rows to memory and journal alike."""

    def __init__(
        self,
        world: World,
        store: Keeping,
        clock: Clock,
        *,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._world = world
        self._journal = Journal(store, world.live_rows, clock.now())
        self._clock = clock
        self._wake = wake
        self._lock = threading.Lock()
        self._last = (clock.now(), clock.monotonic())

    @property
    def plan(self) -> Plan:
        return self._world.plan

    def submit(self, event: Input) -> tuple[Change, ...]:
        """One input, one transaction. `now` is read inside the lock."""
        with self._lock:
            tick = isinstance(event, Reading | TimePassed)
            if tick:
                self._rejoin()
            if tick or isinstance(event, Started):
                self._take_commands()
            changes = self._advance(event)
            if tick:
                self._advance(self._journal.look())
        self._wake()
        return changes

    def begin(self, destination: str) -> Job | None:
        """What this destination should be sent now. That a POST begins is committed first."""
        with self._lock:
            now = self._now()
            job = next_job(self._world, destination, now)
            if isinstance(job, Post):
                self._apply(advance(self._world, Posting(job.notice.id, destination), now))
            return job

    def due_in_ms(self, destination: str) -> int | None:
        """How long until the destination has something to do; None: nothing waits."""
        with self._lock:
            now = self._now()  # first: due times move with a clock that went back
            due = next_due(self._world, destination)
            return None if due is None else max(0, due - now)

    def cloudflare_wait_ms(self) -> int:
        """How long Cloudflare asked us to wait; 0: it may be called."""
        with self._lock:
            now = self._now()
            return max(0, cloudflare_retry_at(self._world, now) - now)

    def queue(self, name: str) -> Queue:
        """What is remembered of a watched queue."""
        with self._lock:
            return next(q for q in self._world.all(Queue) if q.name == name)

    def rows(self, table: type[R]) -> list[R]:
        """The live rows of a table, for reading only."""
        with self._lock:
            return list(self._world.all(table))

    def ask(self, question: Callable[[View], T]) -> T:
        """What a pure question about the world comes to. It keeps everybody waiting: be brief."""
        with self._lock:
            return question(self._world)

    @property
    def last_ids(self) -> dict[str, int]:
        """The newest id of each table that has one, by its name."""
        with self._lock:
            return {table.TABLE: newest for table, newest in self._world.last_ids.items()}

    @property
    def behind(self) -> bool:
        """Do rows wait in memory because the journal can't be written?"""
        return self._journal.behind

    def close(self) -> None:
        """Write what still waits, if possible, and close the journal."""
        with self._lock:
            self._journal.write((), self._clock.now())
            self._journal.close()

    def _rejoin(self) -> None:
        """What the journal's file holds, if the start could not read it and it can be now."""
        rows = self._journal.rejoin()
        if rows is not None:
            self._advance(Rejoined(rows))

    def _take_commands(self) -> None:
        """Silences and acks that a command wrote since the last tick."""
        rows = self._journal.commands()
        if rows is not None:
            self._world.replace((Silence, Ack), rows)

    def _advance(self, event: Input) -> tuple[Change, ...]:
        changes = advance(self._world, event, self._now())
        self._apply(changes)
        return changes

    def _now(self) -> int:
        """The moment of this input. A clock that went back is noticed before it is used."""
        wall, mono = self._clock.now(), self._clock.monotonic()
        last_wall, last_mono = self._last
        self._last = (wall, mono)
        step = (wall - last_wall) - round((mono - last_mono) * 1000)
        if step < -STEP_MS:
            log.warning("the clock went back by %.1f s: planned times go back with it", -step / 1e3)
            self._apply(advance(self._world, ClockStepped(-step), wall))
        return wall

    def _apply(self, changes: tuple[Change, ...]) -> None:
        self._world.apply(changes)
        for change in changes:
            if isinstance(change, Transition):
                # that all is well with dlqwatch itself is no news at each first look
                calm = change.rule is not Rule.DEPTH and change.old is State.UNKNOWN
                log.log(
                    logging.DEBUG if calm and change.new is State.INACTIVE else logging.INFO,
                    "%s %s: %s -> %s (%s)",
                    change.rule,
                    change.subject,
                    change.old,
                    change.new,
                    change.because,
                )
        self._journal.write(changes, self._last[0])
