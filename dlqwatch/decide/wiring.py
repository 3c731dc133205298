"""The wiring rule (S6, S13): is what must be true for dead letters to be seen, true?

A look (an audit, the account's list) can judge some kinds of deviation. Two looks in a row make
one count; what a look can't judge stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.decide import deviations
from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.incidents import Judgement, judge, raise_severity, show
from dlqwatch.decide.quieting import notice_ack, shown
from dlqwatch.decide.reading import Audit
from dlqwatch.decide.telling import forget, tell
from dlqwatch.decide.world import Draft, open_incident
from dlqwatch.facts import Deviation, IncidentKind, WiringFacts
from dlqwatch.model import Condition, DeviationKind, QueueRules, Rule, Severity
from dlqwatch.rows import Alert, Queue

AT_ONCE = frozenset({DeviationKind.QUEUE_MISSING})
# Where dead letters went meanwhile is worth knowing after the end.
STRAYING = frozenset({DeviationKind.OTHER_DEAD_LETTER_QUEUE, DeviationKind.NO_DEAD_LETTER_QUEUE})


def audited(draft: Draft, queue: Queue, rules: QueueRules, audit: Audit) -> None:
    """Judge an audit."""
    found = deviations.deviations(audit, queue, rules, draft.now)
    _looked(draft, queue, rules, found, deviations.judged(audit, rules))


def missing(draft: Draft, queue: Queue, rules: QueueRules, nearest: tuple[str, ...]) -> None:
    """A fully read list doesn't have the queue: told at once."""
    _looked(draft, queue, rules, (deviations.missing(rules.name, nearest),), AT_ONCE)


def found(draft: Draft, queue: Queue, rules: QueueRules) -> None:
    """The account's list has the queue."""
    _looked(draft, queue, rules, (), AT_ONCE)


def time_passed(draft: Draft, rules: QueueRules) -> None:
    """Reminders fall due by time."""
    if _open(draft, rules):
        _judge(draft, rules, Condition.UNKNOWN, ())


def _looked(
    draft: Draft,
    queue: Queue,
    rules: QueueRules,
    found: tuple[Deviation, ...],
    judged: frozenset[DeviationKind],
) -> None:
    told = _open(draft, rules)
    known = {*queue.deviations, *AT_ONCE, *(d.kind for d in told)}
    standing = (
        *(d for d in told if d.kind not in judged),
        *(d for d in found if d.kind in known),
    )
    unjudged = [kind for kind in queue.deviations if kind not in judged]
    seen = dict.fromkeys([*unjudged, *(d.kind for d in found)])
    draft.put(replace(queue, deviations=tuple(seen)))
    if standing:
        _judge(draft, rules, Condition.YES, standing)
    elif not seen and (told or judged - AT_ONCE):
        _judge(draft, rules, Condition.NO, ())
    else:
        time_passed(draft, rules)


def _open(draft: Draft, rules: QueueRules) -> tuple[Deviation, ...]:
    """What the open incident says."""
    incident = open_incident(draft, draft.get(Alert, Rule.WIRING, rules.name))
    if incident is None or not isinstance(incident.facts, WiringFacts):
        return ()
    return incident.facts.deviations


def _judge(
    draft: Draft, rules: QueueRules, condition: Condition, found: tuple[Deviation, ...]
) -> None:
    critical = any(d.critical for d in found)
    facts = WiringFacts(
        at=draft.now,
        opened_at=draft.now,
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        runbook_url=rules.runbook_url,
        source=rules.source,
        deviations=found,
        topics=tuple(d.kind.value for d in found),
    )
    incident = judge(
        draft,
        Judgement(
            Rule.WIRING,
            rules.name,
            condition,
            Timing(hold_ms=0, keep_ms=0),
            because=", ".join(d.kind for d in found) or "as it should be",
        ),
        first=facts,
        update=lambda open_: _update(open_.facts, facts),
    )
    if incident is None:
        return
    if incident.resolved_at is None:
        judged = facts.severity if found else incident.severity
        if found:
            standing = {d.kind for d in found}
            grave = {str(kind) for kind in deviations.CRITICAL - standing}
            incident = forget(draft, incident, grave.__contains__)
        incident = notice_ack(draft, raise_severity(incident, judged))
        incident = show(draft, incident, shown(draft, incident, incident.facts, draft.now))
    tell(draft, incident, incident.facts, rules)


def _update(old: IncidentKind, new: WiringFacts) -> IncidentKind:
    """The last words still name what was wrong."""
    if not isinstance(old, WiringFacts) or not new.deviations:
        return old
    standing = set(new.deviations)
    strayed = dict.fromkeys([*old.strayed, *(d for d in old.deviations if d.kind in STRAYING)])
    return replace(
        old,
        at=new.at,
        deviations=new.deviations,
        topics=new.topics,
        source=new.source,
        strayed=tuple(d for d in strayed if d not in standing),
    )
