"""What people read about a dead-letter queue that holds messages, in English."""

from __future__ import annotations

from dlqwatch.facts import DepthFacts, Telling
from dlqwatch.model import Reason, Severity
from dlqwatch.words import en_depth_end
from dlqwatch.words.en_common import times
from dlqwatch.words.en_depth_end import departed, lost_many
from dlqwatch.words.facts import deadline, is_loss, is_over, oldest_age, peak_of, retention_of
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import duration, letters, size


def line(telling: Telling, facts: DepthFacts, ink: Ink) -> str:
    """What, how many, how old, by when."""
    name = ink.name(telling.subject)
    if telling.reason is Reason.LOST or (is_over(telling) and is_loss(facts)):
        left = f"{facts.depth:,} left, {_urgency(facts, telling.sent_at, ink)}"
        return en_depth_end.lost(telling, facts, name, left, ink)
    if is_over(telling):
        return en_depth_end.over(telling, facts, name, ink)
    if not facts.seen:
        name += f" (last seen {ink.when(facts.at)})"
    return _firing(telling, facts, name, ink)


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


def notes(telling: Telling, facts: DepthFacts, ink: Ink) -> list[str]:
    """Whole sentences below the first line, the most needed first; often none."""
    said = []
    if telling.reason is Reason.LOST or is_over(telling):
        said += en_depth_end.notes(facts)
    if is_over(telling) or facts.depth <= 0:
        return said
    if not facts.seen:
        seen = ink.when(facts.at)
        said.append(f"The queue can't be read now: these are the numbers last seen, {seen}.")
    if oldest_age(facts, telling.sent_at) is None:
        said.append("Cloudflare did not say how old the oldest is.")
    if retention_of(facts) is None:
        said.append(
            "How long this queue keeps a message could not be read yet: 4 days unless changed, "
            "24 hours on Cloudflare's free plan."
        )
    return said


def fields(telling: Telling, facts: DepthFacts, ink: Ink) -> list[tuple[str, str]]:
    """The numbers, each with its title, the most needed first."""
    now = telling.sent_at
    many = lost_many(facts)
    lost = [("Lost", many)] if many else []
    rest = departed(facts)
    title = "Left otherwise" if lost else "How they left" if is_over(telling) else "Left so far"
    gone = [*lost, *([(title, "\n".join(rest))] if rest else [])]
    if is_over(telling):
        return [*gone, ("Most at once", f"{peak_of(facts):,}"), *times(telling, facts, ink)]
    age, by = oldest_age(facts, now), deadline(facts, now)
    old = "age unknown"
    if age is not None and facts.oldest_at is not None:
        old = f"{duration(age)} old, from {ink.when(facts.oldest_at)}"
    left = "not known yet"
    if by is not None:
        left = f"in {duration(by - now)}" if by > now else "past: may be deleted at any moment"
        left = f"{ink.when(by)} ({left})"
    return [
        *gone,
        ("Dead letters" if facts.seen else "Dead letters, last seen", f"{facts.depth:,}"),
        *([("Oldest", old), ("Handle before", left)] if facts.depth > 0 else []),
        ("Size", size(facts.bytes)),
        ("Most at once", f"{peak_of(facts):,}"),
        *times(telling, facts, ink),
    ]
