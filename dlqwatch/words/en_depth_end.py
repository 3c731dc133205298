"""How dead letters leave a queue, and how an incident of them ends, in English."""

from __future__ import annotations

from dataclasses import replace

from dlqwatch.facts import DepthFacts, Telling
from dlqwatch.model import Reason, Resolution
from dlqwatch.words.en_common import lasted, unwatched
from dlqwatch.words.facts import is_loss, is_over, peak_of
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import letters


def over(telling: Telling, facts: DepthFacts, name: str, ink: Ink) -> str:
    """The first line of an end without a loss."""
    if facts.resolution is Resolution.UNWATCHED:
        return unwatched(name, ink, f" with {ink.strong(letters(facts.depth))} in it")
    # Unknown may be a loss: only a known good end is called resolved.
    known = facts.resolution not in (None, Resolution.UNKNOWN)
    mark = f"✅ {ink.strong('Resolved:')}" if known else "✅"
    peak, long = peak_of(facts), lasted(telling, facts)
    held = ("up to " if peak > 1 else "") + letters(peak)
    still = f"is below its threshold of {facts.threshold:,} again ({facts.depth:,} left)"
    now = ink.strong("is empty again") if facts.depth <= 0 else ink.strong(still)
    why = _why_over(facts)
    if telling.reason is Reason.FIRST_AND_RESOLVED:
        return f"{mark} Already over: {name} held {held} for {long} and {now}{why}"
    return f"{mark} {name} {now} after {long} with {held}{why}"


def _why_over(facts: DepthFacts) -> str:
    ways = departed(facts)
    if len(ways) > 1:
        return f"; {', '.join(ways)}"
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


def departed(facts: DepthFacts) -> list[str]:
    """How many left in which way, the worst first; those lost are not among them."""
    ways = [
        (facts.left_unknown, "left and why is not known"),
        (facts.removed, "taken out elsewhere"),
        (facts.handled, "handled through dlqwatch"),
    ]
    return [f"{count:,} {how}" for count, how in ways if count > 0]


def lost_many(facts: DepthFacts) -> str:
    """ "at least 3", "between 3 and 7", "up to 7"; empty where none is known to be lost."""
    most = facts.lost_at_most
    if most is not None and most > max(0, facts.lost):
        return f"between {facts.lost:,} and {most:,}" if facts.lost > 0 else f"up to {most:,}"
    return f"at least {facts.lost:,}" if facts.lost > 0 else ""


def lost(telling: Telling, facts: DepthFacts, name: str, left: str, ink: Ink) -> str:
    """The first line of a loss. `left`: what is still in the queue and by when."""
    if facts.resolution is Resolution.DELETED:
        return f"❌ {ink.strong('Lost:')} {_deleted(facts, name, ink)}"
    many = lost_many(facts)
    one = facts.lost == 1 and many == "at least 1"
    what = ink.strong(f"{many} dead letter{'' if one else 's'}".strip())
    be = ("its", "is") if one else ("their", "are")
    if facts.lost > 0 or not many:
        fate = f"passed {be[0]} deadline and {be[1]} gone"
        line = f"❌ {ink.strong('Lost:')} {what} in {name} {fate}"
    else:
        line = f"❌ {ink.strong('Perhaps lost:')} {what} in {name} may be gone, past their deadline"
    ways = departed(facts)
    if ways and is_over(telling):
        line += f"; besides, {', '.join(ways)}"
    line += f"; over after {lasted(telling, facts)}" if is_over(telling) else ""
    return f"{line}; the queue is empty" if facts.depth <= 0 else f"{line}; {left}"


def _deleted(facts: DepthFacts, name: str, ink: Ink) -> str:
    deleted = f"the queue {name} was deleted"
    if facts.depth > 0:
        deleted += f" with {ink.strong(letters(facts.depth))} in it"
    else:
        deleted += "; it was empty when last seen"
    before = replace(
        facts,
        lost=max(0, facts.lost - facts.depth),
        lost_at_most=None if facts.lost_at_most is None else facts.lost_at_most - facts.depth,
    )
    many = lost_many(before)
    return f"{deleted}; lost before that: {many}" if many else deleted


def notes(facts: DepthFacts) -> list[str]:
    """What a person can still do, and how sure it is."""
    if facts.resolution is Resolution.UNWATCHED:
        return []
    if facts.resolution is Resolution.DELETED:
        return [
            "They can't be brought back. Messages that fail from now on have nowhere to go until "
            "the queue is made again."
        ]
    if is_loss(facts):
        most = facts.lost_at_most
        gap = most is not None and most > facts.lost
        return [
            "Cloudflare deletes what reaches the end of its retention and says nothing: the number "
            f"follows from the readings{', which have a gap' if gap else ''}. What is left of "
            "these messages is in the log of the consumer that could not handle them."
        ]
    if facts.resolution in (None, Resolution.UNKNOWN):
        them = "it" if peak_of(facts) == 1 else "them"
        return [f"If nobody took {them} out, Cloudflare may have deleted {them} as too old."]
    return []
