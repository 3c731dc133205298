"""What becomes of a notice and a card at each step of their way to Slack."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.ending import also_ended, end_wherever_told, is_last, other_ways, own_end
from dlqwatch.decide.inputs import Answered, Edited, Looked, Posting, Probed
from dlqwatch.decide.notifying import lost_of
from dlqwatch.decide.outcomes import EDITING_FORBIDDEN, Answer
from dlqwatch.decide.sending import (
    EDIT_PACE_MS,
    NOT_REPEATED,
    PACE_MS,
    PERSON_MS,
    PROBE_MS,
    backoff_ms,
    lost_again_ms,
)
from dlqwatch.decide.world import Draft, pending_notices, perhaps_posted
from dlqwatch.facts import DepthFacts, IncidentKind, StartedFacts
from dlqwatch.model import DestinationKind, DestinationState, NoticeStatus, Outcome, Reason
from dlqwatch.rows import Card, Delivery, DestinationRow, Incident, Notice


def posting(draft: Draft, event: Posting) -> None:
    """Committed before the POST: from now on, Slack may have it."""
    delivery = draft.get(Delivery, event.notice, event.destination)
    if delivery is None:
        return
    draft.put(replace(delivery, posting_since=draft.now, attempts=delivery.attempts + 1))


def answered(draft: Draft, event: Answered) -> None:
    """A POST ended. Only a definite answer clears `posting_since`."""
    notice = draft.get(Notice, event.notice)
    delivery = draft.get(Delivery, event.notice, event.destination)
    _note_destination(draft, event.destination, event.answer)
    if notice is not None and delivery is not None:
        settle(draft, notice, delivery, event.answer)
    elif event.answer.outcome is Outcome.DELIVERED:
        _also_told(draft, event)


def settle(draft: Draft, notice: Notice, delivery: Delivery, answer: Answer) -> None:
    """What one answer means for a notice. `delivery.posting_since` is still set."""
    now = draft.now
    tried = replace(delivery, outcome=answer.outcome, error=answer.error)
    definite = replace(tried, posting_since=None)
    if answer.outcome is Outcome.DELIVERED:
        draft.put(definite)
        _delivered(draft, notice, delivery.destination, answer)
    elif answer.outcome is Outcome.AMBIGUOUS:
        lost(draft, notice, tried)
    elif answer.outcome is Outcome.PAYLOAD:
        wait = 0 if not delivery.plain else PERSON_MS
        # without the receipt that Slack refused there is nothing to look for
        blind = delivery.blind or "metadata" in answer.error
        draft.put(replace(definite, plain=True, blind=blind, next_at=now + wait))
        _catch_up(draft, notice)
    elif answer.outcome is Outcome.TARGET_GONE:
        card = draft.get(Card, notice.incident, delivery.destination)
        if card is not None and not card.gone:
            draft.put(replace(card, gone=True))
            draft.put(replace(definite, next_at=now))
        else:  # nothing of ours was gone: Slack refuses this post itself
            draft.put(replace(definite, next_at=now + PERSON_MS))
        _catch_up(draft, notice)
    else:
        wait = (
            PERSON_MS
            if answer.outcome is Outcome.NEEDS_PERSON
            else backoff_ms(delivery.attempts, notice.key)
        )
        retry_at = answer.retry_at if answer.retry_at is not None else 0
        draft.put(replace(definite, next_at=max(now + wait, retry_at)))
        _catch_up(draft, notice)


def lost(draft: Draft, notice: Notice, delivery: Delivery) -> None:
    """The answer of a POST never came. It doesn't count as delivered and doesn't end anything."""
    bot = draft.plan.destination(delivery.destination).kind is DestinationKind.BOT
    if bot and not delivery.blind:
        draft.put(delivery)  # posting_since stays: the channel's history is looked at first
        return
    if notice.reason in NOT_REPEATED:
        if other_ways(draft, delivery):
            draft.delete(delivery)  # the other destination still tries
        else:
            draft.put(replace(notice, status=NoticeStatus.DEAD))
            draft.put(replace(delivery, posting_since=None))
        incident = draft.get(Incident, notice.incident) if notice.incident else None
        if incident is not None:  # the attempt counts for the intervals
            draft.put(replace(incident, told_at=draft.now))
        return
    count = delivery.lost_answers + 1
    draft.put(
        replace(
            delivery,
            posting_since=None,
            lost_answers=count,
            next_at=draft.now + lost_again_ms(count),
        )
    )


def looked(draft: Draft, event: Looked) -> None:
    """The history was searched for a notice whose answer was lost."""
    notice = draft.get(Notice, event.notice)
    delivery = draft.get(Delivery, event.notice, event.destination)
    if notice is None or delivery is None:
        return
    outcome = event.answer.outcome
    if outcome is Outcome.DELIVERED:
        settle(draft, notice, delivery, event.answer)
        _note_destination(draft, event.destination, event.answer)
    elif outcome is Outcome.TARGET_GONE:  # it is not there: nothing was posted
        draft.put(replace(delivery, posting_since=None, next_at=draft.now))
        _catch_up(draft, notice)
    elif outcome is Outcome.NEEDS_PERSON:  # we may not look: go on as with a webhook
        lost(draft, notice, replace(delivery, blind=True, error=event.answer.error))
    else:  # for the moment: looking comes before any second attempt
        wait = backoff_ms(delivery.attempts, notice.key)
        retry_at = event.answer.retry_at or 0
        draft.put(replace(delivery, next_at=max(draft.now + wait, retry_at)))


def edited(draft: Draft, event: Edited) -> None:
    """An edit of a card ended. It is state: what failed is simply done again later."""
    card = draft.get(Card, event.incident, event.destination)
    if card is None:
        return
    _note_destination(draft, event.destination, event.answer, pace_ms=EDIT_PACE_MS)
    outcome = event.answer.outcome
    if outcome is Outcome.DELIVERED:
        draft.put(replace(card, shown_rev=max(card.shown_rev, event.rev), failures=0, next_at=0))
    elif outcome is Outcome.PAYLOAD or event.answer.error in EDITING_FORBIDDEN:
        draft.put(replace(card, frozen=True))
    elif outcome is Outcome.TARGET_GONE:
        draft.put(replace(card, gone=True))
    else:
        failures = card.failures + 1
        wait = backoff_ms(failures, card.ts)
        retry_at = event.answer.retry_at or 0
        draft.put(replace(card, failures=failures, next_at=max(draft.now + wait, retry_at)))


def probed(draft: Draft, event: Probed) -> None:
    """A destination was tried without posting."""
    row = draft.get(DestinationRow, event.destination)
    if row is None:
        return
    if event.answer.outcome in (Outcome.DELIVERED, Outcome.NEEDS_PERSON):
        _note_destination(draft, event.destination, event.answer, posted=False)
    else:  # it says nothing
        draft.put(replace(row, probe_at=draft.now + PROBE_MS))


def _delivered(draft: Draft, notice: Notice, destination: str, answer: Answer) -> None:
    incident = draft.get(Incident, notice.incident) if notice.incident else None
    if incident is not None:
        notice = own_end(draft, incident, notice, destination)
    draft.put(
        replace(
            notice,
            status=NoticeStatus.DELIVERED,
            delivered_at=draft.now,
            delivered_by=destination,
        )
    )
    facts = notice.facts
    if incident is None or isinstance(facts, StartedFacts):
        return
    draft.put(_told(incident, facts, destination, draft.now))
    _keep_card(draft, incident.id, destination, answer, facts.rev)
    if incident.resolved_at is not None and not is_last(notice):
        end_wherever_told(draft, incident, notice, destination)


def _keep_card(draft: Draft, incident: int, destination: str, answer: Answer, rev: int) -> None:
    bot = draft.plan.destination(destination).kind is DestinationKind.BOT
    if not bot or not answer.ts:
        return
    card = draft.get(Card, incident, destination)
    if card is None or card.gone or (not answer.threaded and not card.frozen):
        draft.put(Card(incident, destination, answer.channel, answer.ts, shown_rev=rev))


def _also_told(draft: Draft, event: Answered) -> None:
    """The other destination was quicker with the same notice; this one has a copy too."""
    incident = draft.get(Incident, event.incident) if event.incident is not None else None
    if incident is None:
        return
    told_by = tuple(sorted({*incident.told_by, event.destination}))
    incident = draft.put(replace(incident, told_by=told_by))
    _keep_card(draft, incident.id, event.destination, event.answer, 0)
    if incident.resolved_at is not None:
        also_ended(draft, incident, event.destination, last=event.last)


def _told(incident: Incident, facts: IncidentKind, destination: str, now: int) -> Incident:
    """What people know now: the facts of the notice that was confirmed."""
    known = replace(
        incident,
        first_told_at=now if incident.first_told_at is None else incident.first_told_at,
        told_at=now,
        told_by=tuple(sorted({*incident.told_by, destination})),
        told_severity=facts.severity,
        told_low=incident.low,
        told_topics=tuple(sorted({*incident.told_topics, *facts.topics})),
        told_mark_ms=facts.mark_ms if facts.mark_ms is not None else incident.told_mark_ms,
    )
    if isinstance(facts, DepthFacts):
        return replace(
            known, told_depth=facts.depth, told_lost=max(known.told_lost, lost_of(facts))
        )
    return known


def _catch_up(draft: Draft, notice: Notice) -> None:
    """It is certain that this first word was not posted. Over meanwhile: one message tells both."""
    if notice.reason is not Reason.FIRST or perhaps_posted(draft, notice):
        return
    ends = [n for n in pending_notices(draft, notice.incident) if is_last(n)]
    if not ends:
        return
    draft.put(replace(notice, status=NoticeStatus.SUPERSEDED))
    if ends[0].reason is Reason.RESOLVED:
        draft.put(replace(ends[0], reason=Reason.FIRST_AND_RESOLVED))
    for end in ends[1:]:
        draft.put(replace(end, status=NoticeStatus.SUPERSEDED))


def _note_destination(
    draft: Draft, name: str, answer: Answer, *, posted: bool = True, pace_ms: int = PACE_MS
) -> None:
    """How the destination fares, and when it may be sent something again."""
    row = draft.get(DestinationRow, name)
    if row is None:
        return
    state = {
        Outcome.TEMPORARY: DestinationState.FAILING,
        Outcome.AMBIGUOUS: DestinationState.FAILING,
        Outcome.NEEDS_PERSON: DestinationState.NEEDS_PERSON,
    }.get(answer.outcome, DestinationState.OK)
    ok = state is DestinationState.OK
    failures = 0 if ok else row.failures + 1
    wait = pace_ms if posted else 0
    if state is DestinationState.FAILING:
        wait = max(PACE_MS, backoff_ms(failures, name))
    elif state is DestinationState.NEEDS_PERSON:
        wait = PERSON_MS
    bot = draft.plan.destination(name).kind is DestinationKind.BOT
    # an empty POST to a webhook proves little: it is not asked as often
    soon = bot and state is DestinationState.NEEDS_PERSON
    draft.put(
        replace(
            row,
            state=state,
            since=row.since if state is row.state else draft.now,
            reason="" if ok else answer.error,
            last_ok_at=draft.now if posted and ok else row.last_ok_at,
            failures=failures,
            free_at=max(draft.now + wait, answer.retry_at or 0),
            probe_at=draft.now + (PERSON_MS if soon else PROBE_MS),
        )
    )
