"""May the outside heartbeat be sent (S8)? Pure.

A heartbeat says two things: the loop runs, and nobody is owed news. Where Slack is what fails,
the receiver of `fail_url` is the one way out that is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from dlqwatch.decide.blinding import SUBJECT, queue_of
from dlqwatch.decide.healthy import UNTOLD_MS
from dlqwatch.decide.liveness import health_limit_s
from dlqwatch.decide.quieting import active_silence
from dlqwatch.decide.world import View
from dlqwatch.model import MINUTE, NoticeStatus, Reason, Rule
from dlqwatch.rows import Incident, Notice, Queue


@dataclass(frozen=True, slots=True)
class Watched:
    """How a queue's polls go, in monotonic seconds. `silent_s`: None before the first tick."""

    queue: str
    silent_s: float | None  # since a tick last finished
    unseen_s: float  # since it was last read well, or since the process began


class Beat(StrEnum):
    """What the receiver should hear."""

    ALIVE = "alive"
    FAILING = "failing"  # people are owed news and Slack doesn't take it
    NOTHING = "nothing"  # silence is the message


@dataclass(frozen=True, slots=True)
class Pulse:
    """`why` is empty while all is well."""

    beat: Beat
    why: str = ""


def pulse(view: View, watched: Iterable[Watched], now: int) -> Pulse:
    """What to tell the receiver now."""
    late = min((n.created_at for n in view.all(Notice) if _overdue(n, now)), default=None)
    if late is not None:
        return Pulse(Beat.FAILING, f"a notice has waited for {(now - late) // MINUTE} min")
    for each in watched:
        rules = view.plan.queues[each.queue]
        if each.silent_s is None:
            return Pulse(Beat.NOTHING, f"no tick of {each.queue} has finished yet")
        if each.silent_s > health_limit_s(rules.poll_ms / 1000):
            why = f"no tick of {each.queue} has finished for {each.silent_s:.0f} s"
            return Pulse(Beat.NOTHING, why)
        if each.unseen_s * 1000 > rules.blind_after_ms and not _known(view, each.queue, now):
            why = f"nobody knows yet that {each.queue} can't be read"
            return Pulse(Beat.NOTHING, why)
    return Pulse(Beat.ALIVE)


def trouble(status: int, body: bytes) -> str:
    """Why a receiver's answer doesn't count as heard; "" if it does.

    Redirects aren't followed, so what stands behind one never heard. Healthchecks answers 200
    to an address it doesn't know (any more), and says so in the body.
    """
    if 300 <= status < 400:
        return f"it answers with a redirect (HTTP {status}): set the address it leads to"
    if not 200 <= status < 300:
        return f"HTTP {status}"
    if body[:64].strip().lower() == b"ok (not found)":
        return "it doesn't know this address"
    return ""


def _overdue(notice: Notice, now: int) -> bool:
    """People wait for this one. Of what "reconnected" says, another destination told them."""
    owed = notice.status is NoticeStatus.PENDING and notice.reason is not Reason.RECONNECTED
    return owed and now - notice.created_at > UNTOLD_MS


def _known(view: View, queue: str, now: int) -> bool:
    """Have people heard that it can't be read, or said that they don't want to?"""
    if any(q.name == queue and q.nearest for q in view.all(Queue)):
        return True  # it isn't in the account's list: that is the wiring rule's to tell
    if active_silence(view, Rule.BLIND, SUBJECT, now) is not None:
        return True
    return any(
        queue in map(queue_of, incident.told_topics)
        for incident in view.all(Incident)
        if incident.rule is Rule.BLIND and incident.resolved_at is None
    )
