"""How memory and a file that went different ways become one history again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dlqwatch.decide.world import in_order
from dlqwatch.model import HOUR, NoticeStatus, Resolution
from dlqwatch.rows import (
    TABLES,
    Change,
    Hour,
    Incident,
    Meta,
    Notice,
    Prune,
    Queue,
    Row,
    Span,
    change_key,
)

ID_TABLES = tuple(table for table in TABLES if table.KEY == ("id",))


def database_id(rows: Iterable[Row]) -> str | None:
    """The random id that names a database; None: it is new."""
    return next((r.value for r in rows if isinstance(r, Meta) and r.name == "id"), None)


def caught_up(
    changes: Iterable[Change], live: Iterable[Row], found: Iterable[Row], now: int
) -> tuple[Change, ...]:
    """What brings a file that holds `found` up to memory: every live row, then the changes.

    What is open in the file alone came to its end while another file was written, or none.
    """
    rows: dict[object, Change] = {change_key(row): row for row in live}
    rows.update({change_key(change): change for change in changes})
    for row in found:
        ended = _ended(row, now)
        if ended is not None:
            rows.setdefault(change_key(ended), ended)
    return in_order(rows.values())


def _ended(row: Row, now: int) -> Row | None:
    if isinstance(row, Incident) and row.resolved_at is None:
        over = Resolution.UNKNOWN
        facts = replace(row.facts, resolved_at=now, resolution=over)
        return replace(row, resolved_at=now, resolution=over, facts=facts)
    if isinstance(row, Notice) and row.status is NoticeStatus.PENDING:
        return replace(row, status=NoticeStatus.SUPERSEDED)
    return None


@dataclass(frozen=True, slots=True)
class Filing:
    """What memory calls otherwise than a file that it could not read at the start.

    `queues`: the file's id of memory's; `hours`: what the file held of hours that memory began.
    """

    queues: Mapping[int, int] = field(default_factory=dict)
    hours: Mapping[tuple[int, int], Hour] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Iterable[Row], live: Iterable[Row]) -> Filing:
        rows = list(found)
        theirs = {q.name: q.id for q in rows if isinstance(q, Queue)}
        mine = [q for q in live if isinstance(q, Queue)]
        return cls(
            {q.id: theirs[q.name] for q in mine if q.name in theirs},
            {(h.queue, h.hour): h for h in rows if isinstance(h, Hour)},
        )

    def filed(self, change: Change) -> Change:
        """The change as the file must have it."""
        match change:
            case Queue():
                return replace(change, id=self.queues.get(change.id, change.id))
            case Span() | Prune():
                return replace(change, queue=self.queues.get(change.queue, change.queue))
            case Hour():
                mine = replace(change, queue=self.queues.get(change.queue, change.queue))
                return _both(mine, self.hours.get((mine.queue, mine.hour)))
        return change


def _both(one: Hour, other: Hour | None) -> Hour:
    if other is None:
        return one
    return replace(
        one,
        polls=one.polls + other.polls,
        failed=one.failed + other.failed,
        covered_ms=min(HOUR, one.covered_ms + other.covered_ms),
        low=min((n for n in (one.low, other.low) if n is not None), default=None),
        high=max((n for n in (one.high, other.high) if n is not None), default=None),
        oldest_ms=max((n for n in (one.oldest_ms, other.oldest_ms) if n is not None), default=None),
    )
