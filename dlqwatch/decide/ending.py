"""The last word goes wherever a word of the incident was confirmed, to each place once.

Each place has a last word of its own, so that one that fails doesn't take it from another.
"""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide.telling import make_notice
from dlqwatch.decide.world import Draft, pending_notices, perhaps_posted
from dlqwatch.facts import DepthFacts, IncidentFacts
from dlqwatch.model import NoticeStatus, Reason
from dlqwatch.rows import Delivery, Incident, Notice

_LAST_WORDS = frozenset({Reason.RESOLVED, Reason.FIRST_AND_RESOLVED})


def is_last(notice: Notice) -> bool:
    """Does it tell the end of its incident? A loss can be the last word too."""
    over = isinstance(notice.facts, IncidentFacts) and notice.facts.resolved_at is not None
    return notice.reason in _LAST_WORDS or (notice.reason is Reason.LOST and over)


def ways(draft: Draft, notice: int) -> list[Delivery]:
    """A notice on its way to each destination."""
    return [d for d in draft.all(Delivery) if d.notice == notice]


def other_ways(draft: Draft, delivery: Delivery) -> list[Delivery]:
    """The same notice on its way to other destinations."""
    return [d for d in ways(draft, delivery.notice) if d.destination != delivery.destination]


def own_end(draft: Draft, incident: Incident, notice: Notice, destination: str) -> Notice:
    """The notice that `destination` confirmed: the end, told in the stead of one that fails.

    That one is still owed its own last word and may have a copy already: the notice stays with it,
    and what was confirmed here becomes a notice of its own.
    """
    owed = [w for w in ways(draft, notice.id) if w.destination in incident.told_by]
    if not _repeats(notice) or destination in incident.told_by or not owed:
        return notice
    told = replace(_say_end(draft, incident, destination), created_at=notice.created_at)
    way = draft.get(Delivery, notice.id, destination)
    if way is not None:
        draft.delete(way)
        draft.put(replace(way, notice=told.id))
    return told


def end_wherever_told(draft: Draft, incident: Incident, notice: Notice, destination: str) -> None:
    """A word was confirmed only after the end, or after last words were made for others."""
    wanted = {destination} | {
        way.destination
        for way in ways(draft, notice.id)
        if way.posting_since is not None or way.lost_answers
    }
    wanted -= set(incident.told_by)  # those have theirs
    for end in _ends(draft, incident):
        planned = ways(draft, end.id)
        home = next(d.name for d in draft.plan.destinations if d.name in _names(planned))
        if perhaps_posted(draft, end):
            wanted -= _names(planned)
        elif home not in (*wanted, *incident.told_by):
            draft.put(replace(end, status=NoticeStatus.SUPERSEDED))
        else:
            wanted.discard(home)
            for way in planned:
                if way.destination in wanted:  # it gets one of its own
                    draft.delete(way)
    for name in sorted(wanted):
        _say_end(draft, incident, name)


def also_ended(draft: Draft, incident: Incident, destination: str, *, last: bool) -> None:
    """A destination confirmed a notice that another had confirmed before. `last`: the end."""
    own = [n for n in _ends(draft, incident) if destination in _names(ways(draft, n.id))]
    if not last and not own:
        _say_end(draft, incident, destination)


def _ends(draft: Draft, incident: Incident) -> list[Notice]:
    return [n for n in pending_notices(draft, incident.id) if _repeats(n)]


def _repeats(notice: Notice) -> bool:
    """A last word after others."""
    return is_last(notice) and notice.reason is not Reason.FIRST_AND_RESOLVED


def _names(planned: list[Delivery]) -> set[str]:
    return {way.destination for way in planned}


def _say_end(draft: Draft, incident: Incident, name: str) -> Notice:
    facts, severity = incident.facts, incident.severity
    lost = isinstance(facts, DepthFacts) and facts.lost > 0
    reason = Reason.LOST if lost else Reason.RESOLVED
    return make_notice(draft, reason, facts, severity, incident.id, name, mention=lost)
