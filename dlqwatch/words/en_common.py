"""What the words of every kind of alert have in common, in English."""

from __future__ import annotations

from dlqwatch.facts import IncidentFacts, Telling
from dlqwatch.model import Reason, Severity
from dlqwatch.words.facts import ended_at, is_over
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import duration

SEVERITIES = {Severity.WARNING: "🟠 Warning", Severity.CRITICAL: "🔴 Critical"}
_LEADS = {
    Reason.REPEAT: "still",
    Reason.RESTARTED: "still",
    Reason.SILENCE_ENDED: "silence over, still",
}


def headline(
    telling: Telling, facts: IncidentFacts, sentence: str, ink: Ink, news: str = "news"
) -> str:
    """A firing alert's first line, from a sentence that begins in lower case and not with a name.

    Critical differs from warning by a word too, for those who don't see the dot's colour. `news`
    leads in what has come on top of what was told.
    """
    lead = news if telling.reason is Reason.GROWN else _LEADS.get(telling.reason, "")
    if facts.severity is Severity.CRITICAL:
        word = "Now critical" if telling.reason is Reason.SEVERITY_RAISED else "Critical"
        label = f"{word}, {lead}:" if lead else f"{word}:"
        return f"🔴 {ink.strong(label)} {sentence}"
    if lead:
        return f"🟠 {ink.strong(f'{lead[0].upper()}{lead[1:]}:')} {sentence}"
    own = sentence.startswith("dlqwatch")
    return f"🟠 {sentence}" if own else f"🟠 {sentence[0].upper()}{sentence[1:]}"


def ending(telling: Telling, mark: str, word: str, sentence: str, ink: Ink) -> str:
    """The first line of an end. `word`, "Resolved:", may be empty."""
    if telling.reason is Reason.FIRST_AND_RESOLVED:
        word = "Already over:"
    return f"{mark} {ink.strong(word)} {sentence}" if word else f"{mark} {sentence}"


def unwatched(name: str, ink: Ink, held: str = "") -> str:
    """The first line when what was watched left the configuration."""
    label = ink.strong("No longer watched:")
    return f"⚪ {label} {name} left dlqwatch's configuration{held}"


def lasted(telling: Telling, facts: IncidentFacts) -> str:
    """How long the incident was open."""
    return duration(ended_at(telling) - facts.opened_at)


def times(telling: Telling, facts: IncidentFacts, ink: Ink) -> list[tuple[str, str]]:
    """The fields of every alert: severity and since when, or how long."""
    severity = SEVERITIES[facts.severity]
    if not is_over(telling):
        return [("Severity", severity), ("Open since", ink.when(facts.opened_at))]
    return [
        ("Lasted", lasted(telling, facts)),
        ("Open since", ink.when(facts.opened_at)),
        ("Over since", ink.when(ended_at(telling))),
        ("Severity was", severity),
    ]


def quieted(telling: Telling, facts: IncidentFacts, ink: Ink) -> list[str]:
    """Who holds the alert back, and who has taken it on."""
    said = []
    if facts.silenced_until is not None and facts.silenced_until > telling.sent_at:
        by = f" by {ink.name(facts.silenced_by)}" if facts.silenced_by.strip() else ""
        said.append(f"Silenced until {ink.when(facts.silenced_until)}{by}.")
    if facts.acked_by.strip():
        note = f": {ink.quote(facts.ack_note)}" if facts.ack_note.strip() else "."
        said.append(f"Acknowledged by {ink.name(facts.acked_by)}{note}")
    if facts.held > 0 and telling.reason in (Reason.FIRST, Reason.SILENCE_ENDED):
        one = facts.held == 1
        many = "1 other alert of it" if one else f"{facts.held:,} other alerts of it"
        said.append(f"While it was silenced, {many} opened and ended untold.")
    return said
