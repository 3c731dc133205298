"""What a destination is sent next, and when it is tried again.

The order of one incident's notices is kept; incidents don't wait for each other.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

from dlqwatch.decide.world import View, wants_edit
from dlqwatch.model import (
    MINUTE,
    SECOND,
    DestinationKind,
    NoticeStatus,
    Reason,
    Rule,
)
from dlqwatch.rows import Card, Delivery, DestinationRow, Incident, Notice

EDIT_PACE_MS = 200  # an edit has a limit of its own (50 a minute): a reply needn't wait for it
PACE_MS = SECOND  # Slack: one message a second per channel and per webhook
LOOK_AFTER_MS = 10 * SECOND  # a message just accepted may not be in the history yet
LOST_STEPS_MS = (5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE)
BACKOFF_STEPS_MS = (SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE)
PERSON_MS = MINUTE  # a destination that needs a person is tried slowly
PROBE_MS = 15 * MINUTE  # one that broke is found before the next dead letter finds it

EDIT_URGENCY = 2
STARTED_URGENCY = 3
PROBE_URGENCY = 4

# Of all others a possible second copy is worth more than the chance that none arrived.
NOT_REPEATED = frozenset({Reason.GROWN, Reason.REPEAT, Reason.DRILL})


@dataclass(frozen=True, slots=True)
class Post:
    """Post this notice. `card`: the parent to reply to, if there is one."""

    notice: Notice
    delivery: Delivery
    incident: Incident | None
    card: Card | None


@dataclass(frozen=True, slots=True)
class Look:
    """It may have been posted: look for it in the channel, and in the card's thread."""

    notice: Notice
    delivery: Delivery
    card: Card | None
    since: int


@dataclass(frozen=True, slots=True)
class Edit:
    """The card shows less than is known: edit it."""

    incident: Incident
    card: Card


@dataclass(frozen=True, slots=True)
class Probe:
    """Nothing was sent for a while, or it needs a person: does it work, without posting?"""

    destination: DestinationRow


Job = Post | Look | Edit | Probe


def backoff_ms(failures: int, key: str) -> int:
    """When to try again after so many failures: steps to a minute, a fifth of it spread by key."""
    step = BACKOFF_STEPS_MS[min(max(failures, 1), len(BACKOFF_STEPS_MS)) - 1]
    share = zlib.crc32(f"{key}/{failures}".encode()) % 1000
    return step * 4 // 5 + step * 2 // 5 * share // 1000


def lost_again_ms(lost_answers: int) -> int:
    """When to repeat a message whose answer was lost: 5 s, 30 s, 2 min, then every 10 min."""
    return LOST_STEPS_MS[min(max(lost_answers, 1), len(LOST_STEPS_MS)) - 1]


@dataclass(frozen=True, slots=True)
class _Candidate:
    due: int
    urgency: int
    number: int
    job: Job


def next_job(view: View, name: str, now: int) -> Job | None:
    """What the destination should be sent now: of all that is due, the most urgent."""
    due = [c for c in _candidates(view, name) if c.due <= now]
    best = min(due, key=lambda c: (c.urgency, c.number), default=None)
    return best.job if best is not None else None


def next_due(view: View, name: str) -> int | None:
    """When the destination has something to do next, ms since 1970; None: nothing waits."""
    return min((c.due for c in _candidates(view, name)), default=None)


def _candidates(view: View, name: str) -> list[_Candidate]:
    destination = view.get(DestinationRow, name)
    free_at = destination.free_at if destination is not None else 0
    edits = _edits(view, name)
    found = [
        _Candidate(max(edit.card.next_at, free_at), EDIT_URGENCY, number, edit)
        for number, edit in edits.items()
    ]
    if destination is not None:
        found.append(
            _Candidate(max(destination.probe_at, free_at), PROBE_URGENCY, 0, Probe(destination))
        )
    begun: set[int] = set()
    for notice in sorted(view.all(Notice), key=lambda n: n.id):
        delivery = view.get(Delivery, notice.id, name)
        if notice.status is not NoticeStatus.PENDING or delivery is None:
            continue
        if notice.incident is not None:
            if notice.incident in begun:
                continue  # an earlier word of the same incident goes first
            begun.add(notice.incident)
        job = _for_notice(view, name, notice, delivery)
        due = max(delivery.next_at, free_at)
        if isinstance(job, Look):
            due = max(due, job.since + LOOK_AFTER_MS)
        edit = edits.get(notice.incident or 0)
        first = edit if edit and isinstance(job, Post) and edit.card.next_at <= due else job
        found.append(_Candidate(due, _urgency(notice, job), notice.id, first))
    return found


def _edits(view: View, name: str) -> dict[int, Edit]:
    """The stale cards of a destination, by incident."""
    edits: dict[int, Edit] = {}
    for card in view.all(Card):
        incident = view.get(Incident, card.incident)
        if card.destination == name and incident is not None and wants_edit(card, incident):
            edits[incident.id] = Edit(incident, card)
    return edits


def _for_notice(view: View, name: str, notice: Notice, delivery: Delivery) -> Job:
    kind = view.plan.destination(name).kind
    incident = None if notice.incident is None else view.get(Incident, notice.incident)
    card = None if notice.incident is None else view.get(Card, notice.incident, name)
    if delivery.posting_since is not None and kind is DestinationKind.BOT and not delivery.blind:
        return Look(notice, delivery, card, delivery.posting_since)
    usable = card is not None and not card.gone and not card.frozen
    return Post(notice, delivery, incident, card if usable else None)


def _urgency(notice: Notice, job: Job) -> int:
    """Depth first; what says that dlqwatch started yields to every alert."""
    if notice.incident is None:
        return STARTED_URGENCY
    if isinstance(job, Post) and job.incident is not None and job.incident.rule is Rule.DEPTH:
        return 0
    return 1


def pace(row: DestinationRow, now: int) -> DestinationRow:
    """Something was just sent: nothing more within a second."""
    return replace(row, free_at=max(row.free_at, now + PACE_MS))
