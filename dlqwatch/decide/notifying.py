"""Whether to tell, and why: the first line of the table that fits, at most one notice a tick.

What was told last changes only when a destination confirms it, with the facts of that notice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlqwatch.decide.judging import marks, time_left
from dlqwatch.decide.quieting import acked
from dlqwatch.facts import DepthFacts, Facts, IncidentKind, PublishFacts
from dlqwatch.model import HOUR, QueueRules, Reason, Severity
from dlqwatch.rows import Incident


@dataclass(frozen=True, slots=True)
class Situation:
    """An incident and the notices already made of it, at one moment.

    `waiting` holds the facts of its notice that is made and not posted yet: it can still take
    newer ones. `unsettled`: a notice of it was posted and its answer isn't known. `silenced`: a
    silence holds now, since `silenced_since`; what it held back is remembered in `incident.held`.
    """

    incident: Incident
    facts: IncidentKind
    rules: QueueRules
    now: int
    waiting: IncidentKind | None = None
    unsettled: bool = False
    posted_lost: int = 0  # the losses that an unsettled notice tells
    silenced: bool = False
    silenced_since: int = 0

    @property
    def over(self) -> bool:
        return self.incident.resolved_at is not None

    @property
    def told(self) -> bool:
        return self.incident.first_told_at is not None

    @property
    def group_due(self) -> bool:
        return self._since_told() >= self.rules.group_ms - self.rules.poll_ms // 2

    @property
    def repeat_due(self) -> bool:
        critical = self.incident.severity is Severity.CRITICAL
        interval = self.rules.repeat_critical_ms if critical else self.rules.repeat_ms
        return self._since_told() >= interval - self.rules.poll_ms // 2

    def _since_told(self) -> int:
        told_at = self.incident.told_at
        return 0 if told_at is None else self.now - told_at


def lost_of(facts: Facts | None) -> int:
    """How many are lost, or may be."""
    return max(facts.lost, facts.lost_at_most or 0) if isinstance(facts, DepthFacts) else 0


def _lost(s: Situation) -> bool:
    noted = max(s.incident.told_lost, s.posted_lost)
    if not s.over:  # what waits is superseded by the last word: that must tell the loss itself
        noted = max(noted, lost_of(s.waiting))
    if lost_of(s.facts) <= noted:
        return False
    return noted == 0 or s.over or s.waiting is not None or s.group_due


def _resolved(s: Situation) -> bool:
    return s.over and (s.told or s.unsettled)


def _hushed(s: Situation) -> bool:
    throughout = s.silenced and s.incident.opened_at >= s.silenced_since
    return s.over and throughout and not lost_of(s.facts)


def _over(s: Situation) -> bool:
    return s.over


def _must_wait(s: Situation) -> bool:
    return s.unsettled


def _last_mark(s: Situation) -> bool:
    last = min(s.rules.expiry_warnings_ms, default=None)
    return s.silenced and s.facts.mark_ms == last and _expiry_near(s)


def _nothing_more_to_hold(s: Situation) -> bool:
    return s.silenced and s.incident.held


def _first(s: Situation) -> bool:
    return not s.told and s.waiting is None


def _silence_ended(s: Situation) -> bool:
    return s.incident.held and not s.silenced


def _expiry_near(s: Situation) -> bool:
    known = s.incident.told_mark_ms
    if s.waiting is not None and s.waiting.mark_ms is not None:
        known = s.waiting.mark_ms
    mark = s.facts.mark_ms
    return mark is not None and (known is None or mark < known)


def _severity_raised(s: Situation) -> bool:
    known = s.waiting.severity if s.waiting is not None else s.incident.told_severity
    return known is not None and s.incident.severity.rank > known.rank


def _grown(s: Situation) -> bool:
    # what was put in a notice that nobody confirmed stays news, once that notice is settled
    noted = s.waiting is not None
    low = s.incident.low if noted else s.incident.told_low
    topics = s.incident.noted_topics if noted else s.incident.told_topics
    if isinstance(s.facts, DepthFacts):
        news = low is not None and s.facts.depth > low
    elif isinstance(s.facts, PublishFacts):
        news = low is not None and s.facts.total > low
    else:
        news = not set(s.facts.topics) <= set(topics)
    # what is not posted yet takes the news at once: the interval is for people's peace
    return news and (s.waiting is not None or s.group_due)


def _repeat(s: Situation) -> bool:
    return s.told and s.waiting is None and s.repeat_due and not acked(s.incident)


# Lines without a reason end the search: nothing is told.
TABLE: tuple[tuple[Reason | None, Callable[[Situation], bool]], ...] = (
    (Reason.LOST, _lost),  # passes a silence
    (Reason.RESOLVED, _resolved),  # passes a silence
    (None, _hushed),  # opened and closed inside a silence without a loss: history only
    (Reason.FIRST_AND_RESOLVED, _over),
    (None, _must_wait),  # its facts are frozen: what is newer waits until it is settled
    (Reason.EXPIRY_NEAR, _last_mark),  # passes a silence
    (None, _nothing_more_to_hold),
    (Reason.FIRST, _first),
    (Reason.SILENCE_ENDED, _silence_ended),
    (Reason.EXPIRY_NEAR, _expiry_near),
    (Reason.SEVERITY_RAISED, _severity_raised),
    (Reason.GROWN, _grown),
    (Reason.REPEAT, _repeat),
)


# The end of what was open before the silence began is told, and so is that of a loss.
PASS_SILENCE = frozenset({Reason.LOST, Reason.RESOLVED, Reason.FIRST_AND_RESOLVED})


def why_tell(situation: Situation) -> Reason | None:
    """The reason to tell people something now, or None."""
    return next((reason for reason, fits in TABLE if fits(situation)), None)


def passes_silence(reason: Reason, situation: Situation) -> bool:
    """Is this told although a silence holds?"""
    return reason in PASS_SILENCE or (reason is Reason.EXPIRY_NEAR and _last_mark(situation))


def stronger(one: Reason, other: Reason) -> Reason:
    """Of two reasons that share a notice, the one people must hear."""
    return min(one, other, key=lambda reason: reason.rank)


def mentions(reason: Reason, facts: IncidentKind) -> bool:
    """On becoming critical, on marks of six hours or less and on a loss; on nothing else."""
    if reason is Reason.LOST:
        return True
    if reason is Reason.EXPIRY_NEAR:
        return facts.mark_ms is not None and facts.mark_ms <= 6 * HOUR
    critical = facts.severity is Severity.CRITICAL
    return critical and reason in (Reason.FIRST, Reason.SEVERITY_RAISED)


def became_critical_unsaid(incident: Incident) -> bool:
    """Did it become critical while a silence held that back?"""
    told = incident.told_severity is Severity.CRITICAL
    return incident.severity is Severity.CRITICAL and not told


def rearmed_mark(
    told_mark_ms: int | None, facts: DepthFacts, rules: QueueRules, now: int
) -> int | None:
    """Marks are told anew once the time left is above the widest of them."""
    left = time_left(facts.oldest_at, facts.retention_ms, now)
    if told_mark_ms is None or left is None or facts.retention_ms is None:
        return told_mark_ms
    widest = max(marks(rules, facts.retention_ms), default=0)
    return None if left > widest else told_mark_ms
