"""The wall clock went back: what was planned and what is measured goes back with it."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.incidents import past_facts
from dlqwatch.decide.world import RETRY_AT, Draft
from dlqwatch.rows import (
    Alert,
    Card,
    Delivery,
    DestinationRow,
    Incident,
    Meta,
    Notice,
    Queue,
)


def stepped_back(draft: Draft, by_ms: int) -> None:
    """Shift due times and the starts of intervals by a backward step (`by_ms` > 0).

    A forward step needs nothing: what became due is due, once.
    """

    def moved(at: int) -> int:
        return max(0, at - by_ms)

    def moved_if(at: int | None) -> int | None:
        return None if at is None else moved(at)

    retry_at = draft.get(Meta, RETRY_AT)
    if retry_at is not None:
        draft.put(replace(retry_at, value=str(moved(int(retry_at.value)))))
    started_at = draft.get(Meta, "started_at")
    if started_at is not None:  # blindness is counted from it
        draft.put(replace(started_at, value=str(moved(int(started_at.value)))))
    for delivery in list(draft.all(Delivery)):
        draft.put(
            replace(
                delivery,
                next_at=moved(delivery.next_at),
                posting_since=moved_if(delivery.posting_since),
            )
        )
    for row in list(draft.all(DestinationRow)):
        draft.put(replace(row, free_at=moved(row.free_at), probe_at=moved(row.probe_at)))
    for card in list(draft.all(Card)):
        draft.put(replace(card, next_at=moved(card.next_at)))
    for alert in list(draft.all(Alert)):
        draft.put(replace(alert, since=moved(alert.since), clear_since=moved_if(alert.clear_since)))
    for notice in list(draft.all(Notice)):  # how long it has waited decides where it goes
        draft.put(replace(notice, created_at=moved(notice.created_at)))
    for queue in list(draft.all(Queue)):
        draft.put(replace(queue, good_at=moved_if(queue.good_at)))
    for incident in list(draft.all(Incident)):
        if incident.resolved_at is None:
            facts = incident.facts
            # what lies in the past may be from before the clock leapt ahead: that stays true
            opened_at = moved(incident.opened_at)
            if incident.opened_at <= draft.now:
                opened_at = incident.opened_at
            read_at = max(moved(facts.at), opened_at)
            shifted = replace(facts, at=read_at, opened_at=opened_at)
            draft.put(
                replace(
                    incident,
                    opened_at=opened_at,
                    facts=past_facts(shifted, draft.now),
                    told_at=moved_if(incident.told_at),
                    first_told_at=moved_if(incident.first_told_at),
                )
            )
