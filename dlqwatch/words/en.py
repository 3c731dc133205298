"""What people read in Slack about a dead-letter queue, in English, and the way to all sentences.

Sentences are made from facts and an `Ink`, which knows how a place shows names, weight, commands
and moments. Nothing here knows of blocks or of escaping: that is words/slack.py. Sentences about
dlqwatch itself are in en_itself.py, the short phrases of a status in en_status.py.
"""

from __future__ import annotations

from dlqwatch.facts import DepthFacts, StartedFacts, Telling
from dlqwatch.model import MINUTE, Reason, Resolution, Severity
from dlqwatch.words.commands import CHECK, HISTORY, STATUS, history_of
from dlqwatch.words.en_itself import start_line, started, started_notes, trial_line, trial_note
from dlqwatch.words.facts import (
    deadline,
    ended_at,
    is_loss,
    is_over,
    oldest_age,
    peak_of,
    retention_of,
)
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import duration, letters, size

__all__ = [
    "DASHBOARD",
    "LAST_RESORT",
    "RUNBOOK",
    "context",
    "fields",
    "first_line",
    "late",
    "notes",
    "start_line",
    "trial_line",
    "trial_note",
]

LATE_MS = MINUTE  # a message sent this long after its decision says so

# ---- dead letters: the first line


def first_line(telling: Telling, ink: Ink) -> str:
    """The line that must be enough to act on: what, how many, how old, by when."""
    facts = telling.facts
    name = ink.name(telling.subject)
    if isinstance(facts, StartedFacts):
        line = started(telling.reason, facts, ink)
    elif telling.reason is Reason.LOST or (is_over(telling) and is_loss(facts)):
        line = f"❌ {ink.strong('Lost:')} {_lost(telling, facts, name, ink)}"
    elif is_over(telling):
        line = _over(telling, facts, name, ink)
    else:
        line = _firing(telling, facts, name, ink)
    if telling.repeat or telling.reason is Reason.RESTARTED:
        line += " (possible repeat)"
    return line


def _firing(telling: Telling, facts: DepthFacts, name: str, ink: Ink) -> str:
    held = ink.strong(letters(facts.depth))
    urgency = _urgency(facts, telling.sent_at, ink)
    here = f"{held} in {name}, {urgency}"
    told = facts.told_depth
    match telling.reason:
        case _ if facts.depth <= 0:  # it closes only when that has lasted
            sentence = f"no dead letter in {name} at the last reading, not confirmed yet"
        case Reason.GROWN if told is not None and told < facts.depth:
            more = ink.strong(letters(facts.depth - told, "more "))
            now = f"now {ink.strong(f'{facts.depth:,}')} (was {told:,})"
            sentence = f"{more} in {name}: {now}, {urgency}"
        case Reason.GROWN:  # some left before others landed: the number alone would hide it
            sentence = f"more landed in {name} after some had left: now {held}, {urgency}"
        case Reason.EXPIRY_NEAR:
            sentence = _near(facts, name, telling.sent_at, ink)
        case Reason.REPEAT | Reason.RESTARTED:
            sentence = f"still {here}"
        case Reason.SILENCE_ENDED:
            sentence = f"silence over, still {here}"
        case _:
            sentence = here
    if facts.severity is Severity.CRITICAL:
        now_critical = telling.reason is Reason.SEVERITY_RAISED
        return f"🔴 {ink.strong('Now critical:' if now_critical else 'Critical:')} {sentence}"
    return f"🟠 {sentence[0].upper()}{sentence[1:]}"


def _urgency(facts: DepthFacts, now: int, ink: Ink) -> str:
    age = oldest_age(facts, now)
    if age is None:
        return "age unknown: deadline not known, handle soon"
    return f"{'' if facts.depth == 1 else 'oldest '}{duration(age)} old: {_due(facts, now, ink)}"


def _due(facts: DepthFacts, now: int, ink: Ink) -> str:
    by = deadline(facts, now)
    if by is None:
        return "deadline not known yet, handle soon"
    if by <= now:
        return "past its deadline, may be deleted at any moment"
    return f"handle before {ink.strong(ink.when(by))} (in {duration(by - now)})"


def _near(facts: DepthFacts, name: str, now: int, ink: Ink) -> str:
    by = deadline(facts, now)
    if by is not None and by <= now:
        left = "no time left"
    else:
        left = f"under {duration(facts.mark_ms)} left" if facts.mark_ms else "little time left"
    one = facts.depth == 1
    what = letters(1) if one else f"the oldest of {letters(facts.depth)}"
    age = oldest_age(facts, now)
    old = "age unknown" if age is None else f"{duration(age)} old"
    return f"{ink.strong(left)} for {what} in {name}, {old}: {_due(facts, now, ink)}"


# ---- dead letters: the end


def _over(telling: Telling, facts: DepthFacts, name: str, ink: Ink) -> str:
    if facts.resolution is Resolution.UNWATCHED:
        held = ink.strong(letters(facts.depth))
        head = f"⚪ {ink.strong('No longer watched:')}"
        return f"{head} {name} left dlqwatch's configuration with {held} in it"
    # Unknown may be a loss: only a known good end is called resolved.
    known = facts.resolution not in (None, Resolution.UNKNOWN)
    mark = f"✅ {ink.strong('Resolved:')}" if known else "✅"
    peak, long = peak_of(facts), duration(ended_at(telling) - facts.opened_at)
    held = ("up to " if peak > 1 else "") + letters(peak)
    still = f"is below its threshold of {facts.threshold:,} again ({facts.depth:,} left)"
    now = ink.strong("is empty again") if facts.depth <= 0 else ink.strong(still)
    why = _why_over(facts)
    if telling.reason is Reason.FIRST_AND_RESOLVED:
        return f"{mark} Already over: {name} held {held} for {long} and {now}{why}"
    return f"{mark} {name} {now} after {long} with {held}{why}"


def _why_over(facts: DepthFacts) -> str:
    one = peak_of(facts) == 1
    match facts.resolution:
        case Resolution.HANDLED:
            return "; handled through dlqwatch"
        case Resolution.REMOVED:
            return f"; taken out elsewhere before {'its' if one else 'their'} deadline"
        case Resolution.UNKNOWN | None:
            return f"; why {'it' if one else 'they'} left is not known"
        case Resolution.DRILL:
            return "; it was a drill"
        case _:
            return ""


def _lost(telling: Telling, facts: DepthFacts, name: str, ink: Ink) -> str:
    if facts.resolution is Resolution.DELETED:
        gone = ink.strong(letters(facts.lost if facts.lost > 0 else facts.depth))
        return f"the queue {name} was deleted with {gone} in it"
    many = f"at least {letters(facts.lost)}" if facts.lost > 0 else "dead letters"
    be = ("its", "is") if facts.lost == 1 else ("their", "are")
    line = f"{ink.strong(many)} in {name} passed {be[0]} deadline and {be[1]} gone"
    if facts.depth <= 0:
        return f"{line}; the queue is empty"
    return f"{line}; {facts.depth:,} left, {_urgency(facts, telling.sent_at, ink)}"


# ---- what stands below the first line


def late(telling: Telling, ink: Ink) -> str:
    """Says that the message comes late; empty when it doesn't."""
    if telling.sent_at - telling.created_at <= LATE_MS:
        return ""
    return f"Late: decided {ink.when(telling.created_at)}, sent {ink.when(telling.sent_at)}"


def notes(telling: Telling, ink: Ink) -> list[str]:
    """Whole sentences below the first line, the most needed first; often none."""
    facts = telling.facts
    said = [late(telling, ink)]
    if isinstance(facts, StartedFacts):
        said += started_notes(telling.reason, facts, ink)
    elif is_over(telling):
        if telling.reason is Reason.FIRST_AND_RESOLVED:
            said.append("This is the first message about it: none got through while it lasted.")
        if facts.resolution in (None, Resolution.UNKNOWN) and not is_loss(facts):
            them = "it" if peak_of(facts) == 1 else "them"
            said.append(
                f"If nobody took {them} out, Cloudflare may have deleted {them} as too old."
            )
    elif facts.depth > 0:
        if telling.reason is Reason.RESTARTED:
            said.append(
                "dlqwatch restarted before it could save what it had told, so it tells it again."
            )
        if oldest_age(facts, telling.sent_at) is None:
            said.append("Cloudflare did not say how old the oldest is.")
        if retention_of(facts) is None:
            said.append(
                "How long this queue keeps a message could not be read yet: 4 days unless changed, "
                "24 hours on Cloudflare's free plan."
            )
    return [line for line in said if line]


def fields(telling: Telling, ink: Ink) -> list[tuple[str, str]]:
    """The numbers, each with its title, the most needed first. None for dlqwatch itself."""
    facts, now = telling.facts, telling.sent_at
    if not isinstance(facts, DepthFacts):
        return []
    severity = "🔴 Critical" if facts.severity is Severity.CRITICAL else "🟠 Warning"
    lost = [("Lost", f"at least {facts.lost:,}")] if facts.lost > 0 else []
    if is_over(telling):
        return [
            *lost,
            ("Most at once", f"{peak_of(facts):,}"),
            ("Lasted", duration(ended_at(telling) - facts.opened_at)),
            ("Open since", ink.when(facts.opened_at)),
            ("Over since", ink.when(ended_at(telling))),
            ("Severity was", severity),
        ]
    age, by = oldest_age(facts, now), deadline(facts, now)
    old = "age unknown"
    if age is not None and facts.oldest_at is not None:
        old = f"{duration(age)} old, from {ink.when(facts.oldest_at)}"
    left = "not known yet"
    if by is not None:
        left = f"in {duration(by - now)}" if by > now else "past: may be deleted at any moment"
        left = f"{ink.when(by)} ({left})"
    return [
        *lost,
        ("Dead letters", f"{facts.depth:,}"),
        *([("Oldest", old), ("Handle before", left)] if facts.depth > 0 else []),
        ("Size", size(facts.bytes)),
        ("Most at once", f"{peak_of(facts):,}"),
        ("Severity", severity),
        ("Open since", ink.when(facts.opened_at)),
    ]


def context(telling: Telling, ink: Ink) -> list[str]:
    """The small print: the gate, the incident, when it was read, and the command to run next."""
    facts, incident = telling.facts, telling.incident
    if isinstance(facts, StartedFacts):
        unclean = telling.reason is Reason.UNCLEAN_END
        return [f"Next: {ink.code(STATUS if unclean else CHECK)}"]
    said = ["QG-009" if facts.qg009 else "QG-009 is not kept for this queue"]
    if incident is not None:
        said.append(f"#{incident}")
    said.append(f"Read {ink.when(facts.at)}")
    ended = HISTORY if incident is None else history_of(incident)
    said.append(f"Next: {ink.code(ended if is_over(telling) else STATUS)}")
    return said


DASHBOARD = "Open the queues in Cloudflare"
RUNBOOK = "Runbook"
LAST_RESORT = f"🟠 dlqwatch has news but could not put it into words: run {STATUS}"
