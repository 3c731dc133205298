"""What people read about queues that are wired otherwise than they must be, in English."""

from __future__ import annotations

from dlqwatch.facts import Deviation, Telling, WiringFacts
from dlqwatch.model import DeviationKind, Resolution
from dlqwatch.words.en_common import ending, headline, lasted, times, unwatched
from dlqwatch.words.facts import is_over
from dlqwatch.words.ink import Ink

SENTENCES = {
    DeviationKind.NO_DEAD_LETTER_QUEUE: "no dead-letter queue is set for {source}: what fails "
    "there is deleted unseen and never reaches {queue}",
    DeviationKind.OTHER_DEAD_LETTER_QUEUE: "dead letters of {source} go to {now}, not to {queue}: "
    "they die unseen",
    DeviationKind.QUEUE_MISSING: "the queue {queue} doesn't exist: dead letters have no place "
    "where anyone sees them",
    DeviationKind.UNEXPECTED_CONSUMER: "a consumer ({now}) takes dead letters out of {queue} "
    "before anyone sees them",
    DeviationKind.NO_SOURCE: "the source queue {source} doesn't exist: nothing can reach {queue}",
    DeviationKind.NO_CONSUMER: "nothing consumes {source}: its messages wait until Cloudflare "
    "deletes them, and never become dead letters",
    DeviationKind.RETENTION_CUT: "dead letters in {queue} are kept for {now} only, not for "
    "{expected}: they may be deleted sooner",
    DeviationKind.RETENTION_SHORT: "dead letters in {queue} are kept for {now} only: too short "
    "for dlqwatch to see them all",
    DeviationKind.SOURCE_OLD: "messages grow old in {source} and may be deleted before they are "
    "handled: the oldest is {now}, expected {expected}",
    DeviationKind.PAUSED: "delivery of {source} is paused: its messages wait, and are deleted "
    "when they are too old",
    DeviationKind.MAX_RETRIES: "max_retries of {source} is {now}, expected {expected}: messages "
    "become dead letters too soon or too late",
    DeviationKind.TOKEN_ENDS: "dlqwatch's Cloudflare API token has {now} left: after that it "
    "sees nothing",
    DeviationKind.CLOCK_OFF: "the clock of dlqwatch's host is off ({now}): ages and deadlines may "
    "be wrong",
}
"""What it means, as a first line has it. The gravest first: the order is meaning."""

TITLES = {
    DeviationKind.NO_DEAD_LETTER_QUEUE: "Dead-letter queue",
    DeviationKind.OTHER_DEAD_LETTER_QUEUE: "Other dead-letter queue",
    DeviationKind.QUEUE_MISSING: "Queue missing",
    DeviationKind.UNEXPECTED_CONSUMER: "Consumer of the dead-letter queue",
    DeviationKind.NO_SOURCE: "Source queue",
    DeviationKind.NO_CONSUMER: "Consumer of the source",
    DeviationKind.RETENTION_CUT: "Retention cut",
    DeviationKind.RETENTION_SHORT: "Retention too short",
    DeviationKind.SOURCE_OLD: "Oldest in the source",
    DeviationKind.PAUSED: "Delivery paused",
    DeviationKind.MAX_RETRIES: "Retries",
    DeviationKind.TOKEN_ENDS: "Life of the API token",
    DeviationKind.CLOCK_OFF: "Clock",
}
"""What deviates, in a word or two."""

_COMMANDS = ("npx ", "wrangler ", "dlqwatch ")


def line(telling: Telling, facts: WiringFacts, ink: Ink) -> str:
    """The gravest deviation in plain words, and how many there are besides."""
    queue = ink.name(telling.subject)
    if facts.resolution is Resolution.UNWATCHED:
        return unwatched(queue, ink)
    if is_over(telling):
        long = lasted(telling, facts)
        sentence = f"the wiring of {queue} was put right after {long}"
        return ending(telling, "✅", "Resolved:", sentence, ink)
    ordered = by_gravity(facts.deviations)
    if not ordered:
        return headline(telling, facts, f"something about {queue} is wired wrongly", ink)
    worst, more = ordered[0], len(ordered) - 1
    sentence = SENTENCES[worst.kind].format(
        source=ink.name(facts.source) if facts.source.strip() else "its source queue",
        queue=queue,
        now=_value(worst.is_, ink),
        expected=_value(worst.expected, ink),
    )
    if more:
        sentence += f" (and {more} more fault{'' if more == 1 else 's'})"
    return headline(telling, facts, sentence, ink, news="more is wrong")


def by_gravity(deviations: tuple[Deviation, ...]) -> list[Deviation]:
    """The gravest first: what deletes messages unseen, then the order of the table above."""
    order = list(SENTENCES)
    return sorted(deviations, key=lambda d: (not d.critical, order.index(d.kind)))


def _value(text: str, ink: Ink) -> str:
    return ink.name(text) if text.strip() else "none"


def notes(telling: Telling, facts: WiringFacts, ink: Ink) -> list[str]:
    """Each deviation: is, expected, how to put it right. After the end, where to look."""
    if facts.resolution is Resolution.UNWATCHED:
        return []
    ordered = by_gravity(facts.deviations)
    if is_over(telling):
        return _aftermath(by_gravity((*facts.strayed, *facts.deviations)), ink)
    return [_listed(deviation, ink) for deviation in ordered]


def _listed(deviation: Deviation, ink: Ink) -> str:
    mark = "🔴" if deviation.critical else "🟠"
    now, wanted = _value(deviation.is_, ink), _value(deviation.expected, ink)
    said = f"{mark} {ink.strong(TITLES[deviation.kind])}: is {now}, expected {wanted}"
    cure = deviation.cure.strip()
    if not cure:
        return said
    shown = ink.quote(cure) if cure.startswith(_COMMANDS) else ink.prose(cure)
    return f"{said}. Put it right: {shown}"


def _aftermath(ordered: list[Deviation], ink: Ink) -> list[str]:
    said = [
        f"Dead letters of that time lie in {ink.name(deviation.is_)}: handle them there before "
        "they are deleted."
        for deviation in ordered
        if deviation.kind is DeviationKind.OTHER_DEAD_LETTER_QUEUE and deviation.is_.strip()
    ]
    if any(deviation.kind is DeviationKind.NO_DEAD_LETTER_QUEUE for deviation in ordered):
        said.append("Dead letters of that time are gone, and nobody can count them.")
    return said


def fields(telling: Telling, facts: WiringFacts, ink: Ink) -> list[tuple[str, str]]:
    """Since when, and how grave."""
    source = [("Source", ink.name(facts.source))] if facts.source.strip() else []
    return [*source, *times(telling, facts, ink)]
