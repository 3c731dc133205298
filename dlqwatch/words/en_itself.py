"""What dlqwatch says about itself, in English: starts, the log's start line, test messages."""

from __future__ import annotations

from dlqwatch.facts import StartedFacts, Telling
from dlqwatch.model import Reason
from dlqwatch.words.commands import TRIAL
from dlqwatch.words.ink import PLAIN, Ink
from dlqwatch.words.units import duration, listed, tidy


def line(telling: Telling, facts: StartedFacts, ink: Ink) -> str:
    """The first line of a start, and of a start after an end that was not clean."""
    if telling.reason is Reason.UNCLEAN_END:
        mark, did = "🟠", f"{ink.strong('runs again')} after a crash or a kill"
        if facts.unclean_ends > 1:
            did += f", the last of {facts.unclean_ends:,} in a row"
        if facts.last_seen_at is not None:
            did += f", last alive {ink.when(facts.last_seen_at)}"
    else:
        mark, did = "🟢", ink.strong("started")
    return f"{mark} dlqwatch {ink.name(facts.version)} {did}: {_watched(facts, ink)}"


def _watched(facts: StartedFacts, ink: Ink) -> str:
    if not facts.queues:
        return "no queue is watched"
    names = listed([ink.name(queue) for queue in facts.queues], 3)
    are = "is" if len(facts.queues) == 1 else "are"
    return f"{names} {are} watched from now on, read every {duration(facts.poll_ms)}"


def start_line(facts: StartedFacts) -> str:
    """The log's start line: who runs, what is watched, and what is not kept."""
    where = f" on {tidy(facts.host)}" if facts.host else ""
    first = f"dlqwatch {tidy(facts.version)} started{where}: {_watched(facts, PLAIN)}"
    return "; ".join([first, *_not_kept(facts, PLAIN)])


def _not_kept(facts: StartedFacts, ink: Ink) -> list[str]:
    said = []
    if facts.not_kept:
        names = listed([ink.name(name) for name in facts.not_kept], 5)
        said.append(f"QG-009 is not kept for {names}: the first dead letter is not told at once")
    if facts.not_acted_on:
        keys = listed([ink.name(key) for key in facts.not_acted_on], 10)
        said.append(f"set, but this version does not act on it yet: {keys}")
    return said


def notes(telling: Telling, facts: StartedFacts, ink: Ink) -> list[str]:
    """The sentences below the first line of a start."""
    said = []
    if telling.reason is Reason.UNCLEAN_END:
        said += _unclean(telling, facts)
    elif facts.database_new:
        said.append("Its database is new: nothing from before is known.")
    if facts.version_before:
        said.append(f"The version before was {ink.name(facts.version_before)}.")
    if facts.host:
        said.append(f"It runs on {ink.name(facts.host)}.")
    said += [f"{line[0].upper()}{line[1:]}." for line in _not_kept(facts, ink)]
    return said


def _unclean(telling: Telling, facts: StartedFacts) -> list[str]:
    said = []
    if facts.unclean_ends > 1:
        said.append(
            "It keeps ending so: look at its log, at the host's memory and at what stops the "
            "container."
        )
    meanwhile = ""
    if facts.last_seen_at is not None:
        meanwhile = f"For {duration(telling.created_at - facts.last_seen_at)} nothing was watched. "
    return [*said, f"{meanwhile}What landed meanwhile is told after the first reading."]


def fields(_telling: Telling, _facts: StartedFacts, _ink: Ink) -> list[tuple[str, str]]:
    """A start has no numbers."""
    return []


def newer_line(version: str, ink: Ink) -> str:
    """The first line of what is said when a newer version wrote the database."""
    return (
        f"🔴 {ink.strong('Nothing is watched:')} dlqwatch {ink.name(version)} can't read its "
        "database, which a newer version wrote"
    )


def newer_note(what: str, do: str, at: int, ink: Ink) -> str:
    """What stands below it."""
    return f"{ink.quote(what)}\nWhat to do: {tidy(do)}\nSaid once, {ink.when(at)}"


def trial_line(destination: str, ink: Ink) -> str:
    """The first line of a test message."""
    name = ink.name(destination)
    return (
        f"🧪 {ink.strong('Test from dlqwatch:')} nothing is wrong, alerts reach this place ({name})"
    )


def trial_note(sent_at: int, ink: Ink) -> str:
    """What stands below it."""
    return f"Sent by {ink.code(TRIAL)}, {ink.when(sent_at)}"
