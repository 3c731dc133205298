"""What the daemon knows, and a draft of what it will know next.

The world is the truth while the process runs. `advance` only reads it: it writes into a
`Draft`, whose changes the engine then applies to the world and to the journal alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from dlqwatch.model import Destination, NoticeStatus, PublishWatch, QueueRules, State
from dlqwatch.rows import (
    COMMAND_TABLES,
    TABLES,
    Alert,
    Card,
    Change,
    Delete,
    Delivery,
    FallRow,
    Hour,
    Incident,
    Key,
    Meta,
    Notice,
    Prune,
    Row,
    Span,
    Transition,
)

R = TypeVar("R", bound=Row)

UNSURE_AT = "unsure_at"  # a Meta: what was told before this start (ms) is not known
RETRY_AT = "cloudflare_retry_at"  # a Meta: Cloudflare asked for no call before this time (ms)

WRITTEN_ONLY: tuple[type[Row], ...] = (Transition, FallRow)  # never asked for again
HOURS_KEPT = 26  # of each queue in memory


@dataclass(frozen=True, slots=True)
class Plan:
    """The configuration, in the words of decisions."""

    queues: Mapping[str, QueueRules]
    destinations: tuple[Destination, ...] = ()
    version: str = ""
    fingerprint: str = ""
    not_acted_on: tuple[str, ...] = ()
    keep_samples_ms: int = 90 * 86_400_000
    alerts: QueueRules = field(default_factory=lambda: QueueRules(""))  # for dlqwatch itself
    publish: PublishWatch | None = None

    def destination(self, name: str) -> Destination:
        return next(d for d in self.destinations if d.name == name)


class View(Protocol):
    """Rows as they stand."""

    @property
    def plan(self) -> Plan: ...

    def get(self, table: type[R], *key: int | str | None) -> R | None: ...

    def all(self, table: type[R]) -> Iterable[R]: ...


class World:
    """Everything in memory: what a decision may still need, and nothing else."""

    def __init__(self, plan: Plan, last_ids: Mapping[type[Row], int] | None = None) -> None:
        self._plan = plan
        self.last_ids: dict[type[Row], int] = dict(last_ids or {})
        self._rows: dict[type[Row], dict[Key, Row]] = {}

    @property
    def plan(self) -> Plan:
        return self._plan

    def get(self, table: type[R], *key: int | str | None) -> R | None:
        return cast("R | None", self._rows.get(table, {}).get(cast("Key", key)))

    def all(self, table: type[R]) -> Iterator[R]:
        return iter(cast("list[R]", list(self._rows.get(table, {}).values())))

    def load(self, rows: Iterable[Row]) -> None:
        """Take over what the journal remembers. Not a change: nothing is written."""
        for row in rows:
            self._put(row)

    def apply(self, changes: Iterable[Change]) -> None:
        """Make changes true, then forget what no decision will ask for again."""
        for change in changes:
            if isinstance(change, Delete):
                self._rows.get(change.table, {}).pop(change.key, None)
            elif not isinstance(change, Prune):
                self._put(change)
        self._forget()

    def replace(self, tables: tuple[type[Row], ...], rows: Iterable[Row]) -> None:
        """Take over what the commands wrote. Not a change: nothing is written."""
        for table in tables:
            self._rows.pop(table, None)
        self.load(rows)

    def live_rows(self) -> Iterator[Row]:
        """Every row in memory: what a new database file starts from."""
        for table, rows in self._rows.items():
            if table not in COMMAND_TABLES:
                yield from list(rows.values())

    def _put(self, row: Row) -> None:
        table = type(row)
        if table.KEY == ("id",):
            number = cast("int", row.identity[0])
            self.last_ids[table] = max(self.last_ids.get(table, 0), number)
            if table in WRITTEN_ONLY:
                return  # written, never asked for
        if isinstance(row, Span | Hour):
            self._keep_newest(row)
        self._rows.setdefault(table, {})[row.identity] = row

    def _keep_newest(self, row: Span | Hour) -> None:
        """Only a queue's newest span is extended; a clock that goes back returns to an hour."""
        rows = self._rows.get(type(row), {})
        same = [k for k, r in rows.items() if cast("Span | Hour", r).queue == row.queue]
        keep = 1 if isinstance(row, Span) else HOURS_KEPT
        for key in [k for k in same if k != row.identity][: max(0, len(same) - keep + 1)]:
            del rows[key]

    def _forget(self) -> None:
        notices = self._rows.get(Notice, {})
        for notice in list(self.all(Notice)):
            if notice.status is not NoticeStatus.PENDING:
                del notices[notice.identity]
        deliveries = self._rows.get(Delivery, {})
        for delivery in list(self.all(Delivery)):
            if (delivery.notice,) not in notices:
                del deliveries[delivery.identity]
        waiting = {n.incident for n in self.all(Notice)}
        for incident in list(self.all(Incident)):
            if incident.resolved_at is None or incident.id in waiting:
                continue
            cards = [c for c in self.all(Card) if c.incident == incident.id]
            if any(wants_edit(card, incident) for card in cards):
                continue
            del self._rows[Incident][incident.identity]
            for card in cards:
                del self._rows[Card][card.identity]


@dataclass
class Draft:
    """The world as one input changes it, before anybody else sees that."""

    world: View
    now: int
    last_ids: Mapping[type[Row], int]
    _changes: dict[tuple[object, ...], Change] = field(default_factory=dict)
    _ids: dict[type[Row], int] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return self.world.plan

    def get(self, table: type[R], *key: int | str | None) -> R | None:
        change = self._changes.get((table, key))
        if change is None:
            return self.world.get(table, *key)
        return None if isinstance(change, Delete) else cast("R", change)

    def all(self, table: type[R]) -> Iterator[R]:
        seen: set[Key] = set()
        for row in self.world.all(table):
            seen.add(row.identity)
            current = self.get(table, *row.identity)
            if current is not None:
                yield current
        for change in list(self._changes.values()):
            if isinstance(change, table) and change.identity not in seen:
                yield change

    def put(self, row: R) -> R:
        if self.get(type(row), *row.identity) != row:
            self._changes[(type(row), row.identity)] = row
        return row

    def is_new(self, row: Row) -> bool:
        """Was it made by this very input?"""
        return self.world.get(type(row), *row.identity) is None

    def delete(self, row: Row) -> None:
        self._changes[(type(row), row.identity)] = Delete(type(row), row.identity)

    def prune(self, queue: int, before: int) -> None:
        self._changes[(Prune, (queue,))] = Prune(queue, before)

    def next_id(self, table: type[Row]) -> int:
        self._ids[table] = self._ids.get(table, self.last_ids.get(table, 0)) + 1
        return self._ids[table]

    def changes(self) -> tuple[Change, ...]:
        """Every change of this draft, in an order the journal can write."""
        return in_order(self._changes.values())


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """In an order that foreign keys and "one open incident" allow: closes before opens."""
    return tuple(sorted(changes, key=_order))


def _order(change: Change) -> tuple[int, int]:
    if isinstance(change, Delete):
        return (-2, 0)
    if isinstance(change, Prune):
        return (-1, 0)
    opens = isinstance(change, Incident) and change.resolved_at is None
    return (TABLES.index(type(change)), 1 if opens else 0)


def wants_edit(card: Card, incident: Incident) -> bool:
    """Does this card show less than is known?"""
    return card.shown_rev < incident.rev and not card.frozen and not card.gone


def asked_to_wait(view: View, now: int) -> bool:
    """Did Cloudflare ask for no call before a time that is still to come?"""
    meta = view.get(Meta, RETRY_AT)
    return meta is not None and int(meta.value) > now


def open_incident(view: View, alert: Alert | None) -> Incident | None:
    if alert is None or alert.state is not State.FIRING or alert.incident is None:
        return None
    return view.get(Incident, alert.incident)


def pending_notices(view: View, incident: int | None) -> list[Notice]:
    """The incident's notices that are not settled yet, the oldest first."""
    return sorted(
        (
            n
            for n in view.all(Notice)
            if n.incident == incident and n.status is NoticeStatus.PENDING
        ),
        key=lambda n: n.id,
    )


def perhaps_posted(view: View, notice: Notice) -> bool:
    """May a copy of it already be in Slack?"""
    return any(
        d.posting_since is not None or d.lost_answers > 0
        for d in view.all(Delivery)
        if d.notice == notice.id
    )
