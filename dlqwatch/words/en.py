"""The way to all sentences of a Slack message, in English.

Sentences are made from facts and an `Ink`, which knows how a place shows names, weight, commands
and moments. Nothing here knows of blocks or of escaping: that is words/slack.py. Each kind of
facts has its words in a module of its own; what all have in common is here and in en_common.py.
The short phrases of a status are in en_status.py, the cures for Slack in en_cures.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dlqwatch.facts import (
    BlindFacts,
    DepthFacts,
    Facts,
    IncidentFacts,
    PublishFacts,
    StartedFacts,
    StoreFacts,
    Telling,
    WiringFacts,
)
from dlqwatch.model import MINUTE, Reason
from dlqwatch.words import en_blind, en_depth, en_itself, en_publish, en_store, en_wiring
from dlqwatch.words.commands import CHECK, HISTORY, STATUS, ack_of, history_of
from dlqwatch.words.en_common import quieted
from dlqwatch.words.en_itself import newer_line, newer_note, start_line, trial_line, trial_note
from dlqwatch.words.facts import is_over
from dlqwatch.words.ink import Ink

__all__ = [
    "LAST_RESORT",
    "context",
    "fields",
    "first_line",
    "late",
    "links",
    "newer_line",
    "newer_note",
    "notes",
    "start_line",
    "trial_line",
    "trial_note",
]

LATE_MS = MINUTE  # a message sent this long after its decision says so
DASHBOARD = "Open the queues in Cloudflare"
RUNBOOK = "Runbook"
LAST_RESORT = f"🟠 dlqwatch has news but could not put it into words: run {STATUS}"

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Kind(Generic[F]):
    """The words of one kind of facts."""

    line: Callable[[Telling, F, Ink], str]
    notes: Callable[[Telling, F, Ink], list[str]]
    fields: Callable[[Telling, F, Ink], list[tuple[str, str]]]
    next: str = STATUS  # the command to run while it lasts
    queues: bool = True  # Cloudflare's page of queues is a place to act


KINDS: dict[type[Facts], Kind[Any]] = {
    DepthFacts: Kind(en_depth.line, en_depth.notes, en_depth.fields),
    WiringFacts: Kind(en_wiring.line, en_wiring.notes, en_wiring.fields, next=CHECK),
    BlindFacts: Kind(en_blind.line, en_blind.notes, en_blind.fields, next=CHECK),
    StoreFacts: Kind(en_store.line, en_store.notes, en_store.fields, queues=False),
    PublishFacts: Kind(en_publish.line, en_publish.notes, en_publish.fields, queues=False),
    StartedFacts: Kind(en_itself.line, en_itself.notes, en_itself.fields),
}


def first_line(telling: Telling, ink: Ink) -> str:
    """The line that must be enough to act on: what, since when or by when, what to do."""
    line = KINDS[type(telling.facts)].line(telling, telling.facts, ink)
    if telling.repeat or telling.reason is Reason.RESTARTED:
        line += " (possible repeat)"
    return line


def late(telling: Telling, ink: Ink) -> str:
    """Says that the message comes late; empty when it doesn't."""
    if telling.sent_at - telling.created_at <= LATE_MS:
        return ""
    return f"Late: decided {ink.when(telling.created_at)}, sent {ink.when(telling.sent_at)}"


def notes(telling: Telling, ink: Ink) -> list[str]:
    """Whole sentences below the first line, the most needed first; often none."""
    facts = telling.facts
    said = [late(telling, ink)]
    if isinstance(facts, IncidentFacts):
        if telling.reason is Reason.FIRST_AND_RESOLVED:
            said.append("This is the first message about it: none got through while it lasted.")
        elif telling.reason is Reason.RESTARTED and not is_over(telling):
            said.append(
                "dlqwatch restarted before it could save what it had told, so it tells it again."
            )
        said += quieted(telling, facts, ink)
    said += KINDS[type(facts)].notes(telling, facts, ink)
    return [line for line in said if line]


def fields(telling: Telling, ink: Ink) -> list[tuple[str, str]]:
    """The numbers, each with its title, the most needed first. None for a start."""
    return KINDS[type(telling.facts)].fields(telling, telling.facts, ink)


def context(telling: Telling, ink: Ink) -> list[str]:
    """The small print: the gate, the incident, when it was read, and the command to run next."""
    facts, incident = telling.facts, telling.incident
    if isinstance(facts, StartedFacts):
        unclean = telling.reason is Reason.UNCLEAN_END
        return [f"Next: {ink.code(STATUS if unclean else CHECK)}"]
    said = []
    if isinstance(facts, DepthFacts):
        said.append("QG-009" if facts.qg009 else "QG-009 is not kept for this queue")
    if incident is not None:
        said.append(f"#{incident}")
    said.append(f"{'Read' if isinstance(facts, DepthFacts) else 'As of'} {ink.when(facts.at)}")
    ended = HISTORY if incident is None else history_of(incident)
    said.append(f"Next: {ink.code(ended if is_over(telling) else KINDS[type(facts)].next)}")
    reminds = telling.reason is Reason.REPEAT and not is_over(telling) and not facts.acked_by
    if reminds and incident is not None:
        said.append(f"Quiet the reminders: {ink.code(ack_of(incident))}")
    return said


def links(telling: Telling) -> list[tuple[str, str]]:
    """Addresses to go to, each with its label; an address may be empty or none."""
    facts = telling.facts
    said = [(telling.dashboard_url, DASHBOARD)] if KINDS[type(facts)].queues else []
    if isinstance(facts, IncidentFacts):
        said.append((facts.runbook_url, RUNBOOK))
    return said
