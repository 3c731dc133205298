"""A Cloudflare account's queues, and what a test or a person does to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dlqwatch.model import Clock
from dlqwatch.sim.queues import (
    DEFAULT_RETENTION_S,
    SimMessage,
    SimQueue,
    envelope,
    worker_consumer,
)
from dlqwatch.sim.server import SimServer

MISSING: Any = object()
"""As a value in `set_metrics`: the key isn't there."""


class AccountServer(SimServer):
    """The queues. Every change wakes `wait_for`; a queue that isn't there is a LookupError."""

    def __init__(self, clock: Clock | None = None, *, port: int = 0) -> None:
        super().__init__(clock, port=port)
        self._queues: dict[str, SimQueue] = {}

    def create_queue(
        self,
        name: str,
        *,
        retention_s: int = DEFAULT_RETENTION_S,
        consumers: Iterable[dict[str, Any]] = (),
        delivery_paused: bool = False,
    ) -> SimQueue:
        """A new, empty queue. Consumers: see `queues.worker_consumer`."""
        with self._changed:
            if name in self._queues:
                raise ValueError(f'there is already a queue named "{name}"')
            queue = SimQueue(
                name,
                self.clock.now(),
                retention_s,
                delivery_paused,
                consumers=list(consumers),
            )
            self._queues[name] = queue
            self._changed.notify_all()
            return queue

    def create_pair(
        self, source: str = "nemo12-events", dlq: str = "nemo12-events-dlq"
    ) -> tuple[SimQueue, SimQueue]:
        """A source queue with its consumer, and the dead-letter queue it names."""
        consumer = worker_consumer("nemo12-api", dlq)
        return self.create_queue(source, consumers=[consumer]), self.create_queue(dlq)

    def delete_queue(self, name: str) -> None:
        with self._changed:
            del self._queues[self.queue(name).name]
            self._changed.notify_all()

    def queue(self, name: str) -> SimQueue:
        """The queue itself: set its `retention_s`, `delivery_paused` or `consumers` by hand."""
        with self._changed:
            if name not in self._queues:
                raise LookupError(f'there is no queue named "{name}"')
            return self._queues[name]

    def land(
        self, name: str, n: int = 1, *, age_s: float = 0.0, bodies: Sequence[Any] | None = None
    ) -> list[SimMessage]:
        """`n` messages arrive, written `age_s` ago; nemo12 events, or one for each of `bodies`."""
        with self._changed:
            queue = self.queue(name)
            at = self.clock.now() - int(age_s * 1000)
            what = list(bodies) if bodies is not None else [envelope(at) for _ in range(n)]
            kinds: dict[type, str] = {str: "text", bytes: "bytes"}
            landed = [SimMessage(body, at, kinds.get(type(body), "json")) for body in what]
            for message in landed:
                queue.add(message)
            self._changed.notify_all()
            return landed

    def take(self, name: str, n: int = 1) -> list[SimMessage]:
        """Someone removes the oldest `n`."""
        with self._changed:
            queue = self.queue(name)
            taken = queue.live(self.clock.now())[:n]
            gone = {m.ref for m in taken}
            queue.messages = [m for m in queue.messages if m.ref not in gone]
            self._changed.notify_all()
            return taken

    def drain(self, name: str) -> list[SimMessage]:
        """Someone removes everything."""
        return self.take(name, self.depth(name))

    def depth(self, name: str) -> int:
        """How many messages are there now."""
        with self._changed:
            return len(self.queue(name).live(self.clock.now()))

    def set_metrics(self, name: str, **override: Any) -> None:
        """Put these values into the metrics' `result` as they are (nonsense too) until cleared.

        `MISSING` leaves a key out; unknown keys are added.
        """
        with self._changed:
            self.queue(name).metrics_override = override

    def clear_metrics(self, name: str) -> None:
        self.set_metrics(name)

    # -- control

    def act(self, method: str, action: str, args: dict[str, Any]) -> Any:
        if method == "POST" and action in ("land", "take", "drain", "create-queue", "delete-queue"):
            name = args.pop("queue", "nemo12-events-dlq")
            actions: dict[str, Callable[..., Any]] = {
                "land": self.land,
                "take": self.take,
                "drain": self.drain,
                "create-queue": self.create_queue,
                "delete-queue": self.delete_queue,
            }
            done = actions[action](name, **args)
            return {"count": len(done)} if isinstance(done, list) else {}
        if (method, action) == ("GET", "state"):
            now = self.clock.now()
            return {
                q.name: {"id": q.id, "expired": q.expired, **q.metrics(now)}
                for q in self._queues.values()
            }
        return super().act(method, action, args)
