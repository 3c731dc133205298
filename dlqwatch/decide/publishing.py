"""The publish_failures rule (S12): events that never reached a queue, counted in a Worker's log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from dlqwatch.decide.alerting import Timing
from dlqwatch.decide.counting import Window, due_window
from dlqwatch.decide.incidents import Judgement, abandon, judge, show
from dlqwatch.decide.inputs import PublishCounted
from dlqwatch.decide.quieting import notice_ack, shown
from dlqwatch.decide.telling import tell
from dlqwatch.decide.world import Draft, open_incident
from dlqwatch.facts import IncidentKind, PublishFacts
from dlqwatch.model import HOUR, Condition, PublishWatch, Resolution, Rule, Severity
from dlqwatch.rows import Alert, Incident, Meta

COUNTED_TO = "publish_counted_to"  # a Meta: worker, needle and up to where they are counted
QUIET_MS = HOUR  # no failure for so long: it is over


def next_window(watch: PublishWatch, known: Iterable[Meta], at: int) -> Window | None:
    """What of the log is to be counted at `at` (Cloudflare's time); None: nothing yet."""
    meta = next((m for m in known if m.name == COUNTED_TO), None)
    worker, needle, counted_to = json.loads(meta.value) if meta is not None else ("", "", 0)
    same = (worker, needle) == (watch.worker, watch.needle)
    return due_window(counted_to if same else None, watch.interval_ms, at)


def counted(draft: Draft, event: PublishCounted) -> None:
    """Judge a part of the log; without one, what falls due by time is told all the same."""
    watch = draft.plan.publish
    if watch is None:
        return
    if event.window is not None:
        mark = json.dumps([watch.worker, watch.needle, event.window.end])
        draft.put(Meta(COUNTED_TO, mark))
    before = open_incident(draft, draft.get(Alert, Rule.PUBLISH_FAILURES, watch.worker))
    condition = _condition(event, before)
    incident = judge(
        draft,
        Judgement(
            Rule.PUBLISH_FAILURES,
            watch.worker,
            condition,
            Timing(hold_ms=0, keep_ms=0),
            because=f"{event.count} in the log",
        ),
        first=_first(draft, watch, event),
        update=lambda open_: _update(open_.facts, event, draft.now),
    )
    if incident is None:
        return
    if before is None and event.window is not None:
        # it began with the window, not when the window was counted
        began = min(incident.opened_at, event.window.start)
        facts = replace(incident.facts, opened_at=began)
        incident = draft.put(replace(incident, opened_at=began, facts=facts))
    if incident.resolved_at is None:
        facts = incident.facts
        if condition is Condition.UNKNOWN:  # else the alert has seen to it
            facts = _update(facts, event, draft.now)
        incident = notice_ack(draft, incident)
        incident = show(draft, incident, shown(draft, incident, facts, draft.now))
    tell(draft, incident, incident.facts, draft.plan.alerts)


def started(draft: Draft) -> None:
    """A Worker that left the configuration is no longer watched."""
    watch = draft.plan.publish
    for alert in list(draft.all(Alert)):
        watched = watch is not None and alert.subject == watch.worker
        if alert.rule is Rule.PUBLISH_FAILURES and not watched:
            abandon(draft, alert, Resolution.UNWATCHED, draft.plan.alerts)
    meta = draft.get(Meta, COUNTED_TO)
    if watch is None and meta is not None:  # what went by until it is watched again stays uncounted
        draft.delete(meta)


def _condition(event: PublishCounted, incident: Incident | None) -> Condition:
    if event.window is None:
        return Condition.UNKNOWN
    if event.count > 0:
        return Condition.YES
    if incident is None or not isinstance(incident.facts, PublishFacts):
        return Condition.NO
    facts = incident.facts
    quiet_since = facts.window_to if facts.count else facts.window_from
    return Condition.NO if event.window.end - quiet_since >= QUIET_MS else Condition.UNKNOWN


def _first(draft: Draft, watch: PublishWatch, event: PublishCounted) -> PublishFacts:
    window = event.window or Window(draft.now, draft.now)
    return PublishFacts(
        at=draft.now,
        opened_at=draft.now,
        severity=Severity.WARNING,
        worker=watch.worker,
        needle=watch.needle,
        count=event.count,
        total=event.count,
        window_from=window.start,
        window_to=window.end,
        runbook_url=draft.plan.alerts.runbook_url,
    )


def _update(old: IncidentKind, event: PublishCounted, now: int) -> IncidentKind:
    """`window_from` of a count of 0 is since when there was none; more zeros are no news."""
    count, window = event.count, event.window
    if not isinstance(old, PublishFacts) or window is None:
        return old
    if count == 0 and old.count == 0:
        return old
    return replace(
        old,
        at=now,
        count=count,
        total=old.total + count,
        window_from=window.start if count else old.window_to,
        window_to=window.end,
    )
