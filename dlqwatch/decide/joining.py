"""A file that the start could not read can be read at last: what it holds joins what memory knows.

Memory is newer: what both have an open incident of goes on in memory's. All else goes on as it
stands in the file, as after any start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from dlqwatch.decide import depth
from dlqwatch.decide.incidents import close
from dlqwatch.decide.inputs import Rejoined
from dlqwatch.decide.starting import under_way
from dlqwatch.decide.world import Draft
from dlqwatch.model import NoticeStatus, Resolution, Rule, State
from dlqwatch.rows import Alert, Card, Delivery, Incident, Meta, Notice, Row

R = TypeVar("R", bound=Row)

OF_THE_FILE = frozenset({"id", "born_at"})  # Metas that name the database, not the process


def rejoined(draft: Draft, event: Rejoined) -> None:
    """Take over what was open, waiting or shown when the process before ended."""
    for meta in _all(event, Meta):
        if meta.name in OF_THE_FILE or draft.get(Meta, meta.name) is None:
            draft.put(meta)
    for incident in _all(event, Incident):
        draft.put(incident)
    for notice in _all(event, Notice):
        # what a start said of itself then is no news now
        over = notice.incident is None
        draft.put(replace(notice, status=NoticeStatus.SUPERSEDED) if over else notice)
    for row in (*_all(event, Delivery), *_all(event, Card)):
        draft.put(row)
    goes_on = {_alert(draft, alert) for alert in _all(event, Alert)}
    for incident in _all(event, Incident):
        if incident.resolved_at is None and incident.id not in goes_on:
            _end(draft, incident)
    under_way(draft, _all(event, Delivery))


def _alert(draft: Draft, alert: Alert) -> int | None:
    """The incident of the file that goes on, if one does."""
    mine = draft.get(Alert, alert.rule, alert.subject)
    if mine is not None and mine.state is State.FIRING:
        return None
    if mine is not None and alert.state is not State.FIRING:
        return None
    draft.put(alert)
    if alert.rule is Rule.DEPTH and alert.subject not in draft.plan.queues:
        depth.unwatch(draft, alert)
    return alert.incident


def _end(draft: Draft, incident: Incident) -> None:
    """Memory has one of its own, and people were told of that."""
    close(draft, incident, Resolution.UNKNOWN)
    for notice in list(draft.all(Notice)):
        if notice.incident == incident.id and notice.status is NoticeStatus.PENDING:
            draft.put(replace(notice, status=NoticeStatus.SUPERSEDED))


def _all(event: Rejoined, table: type[R]) -> Iterable[R]:
    return [row for row in event.rows if isinstance(row, table)]
