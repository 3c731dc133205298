"""What people read about events that were never published, in English."""

from __future__ import annotations

from dlqwatch.facts import PublishFacts, Telling
from dlqwatch.model import Resolution
from dlqwatch.words.en_common import ending, headline, times, unwatched
from dlqwatch.words.facts import is_over
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import counted


def line(telling: Telling, facts: PublishFacts, ink: Ink) -> str:
    """How many events of which worker, and between when."""
    worker, needle = ink.name(facts.worker), ink.name(facts.needle)
    total = max(facts.total, facts.count)
    if facts.resolution is Resolution.UNWATCHED:
        return unwatched(worker, ink)
    if is_over(telling):  # a loss: it ended, but nothing of it was made good
        gone = ink.strong(f"{counted(total, 'event')} {_was(total)} never published")
        since = ink.when(facts.window_to if facts.count else facts.window_from)
        sentence = f"No {needle} of {worker} since {since}: {gone} and can't be brought back"
        return ending(telling, "🟢", "", sentence, ink)
    if facts.count > 0:
        many = ink.strong(counted(facts.count, "event"))
        never = f"{many} of {worker} {_was(facts.count)} never published ({needle})"
        span = f"between {ink.when(facts.window_from)} and {ink.when(facts.window_to)}"
    else:
        many = ink.strong(counted(total, "event"))
        never = f"{many} of {worker} {_was(total)} never published ({needle})"
        span = f"since {ink.when(facts.opened_at)}, none after {ink.when(facts.window_from)}"
    return headline(telling, facts, f"{never} {span}: only the log has them", ink, news="more")


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def notes(telling: Telling, facts: PublishFacts, ink: Ink) -> list[str]:
    """That they are gone, where to look, and how sure the number is."""
    if facts.resolution is Resolution.UNWATCHED:
        return []
    where = (
        "Which they were is in the Worker's log: in Cloudflare's dashboard open "
        f"{ink.name(facts.worker)}, Observability, and filter for {ink.name(facts.needle)}."
    )
    said = (
        []
        if is_over(telling)
        else [
            "These events are gone: they never reached a queue, so nothing retries them and none "
            "becomes a dead letter."
        ]
    )
    return [
        *said,
        where,
        "The number is Cloudflare's estimate; where the Worker's log is sampled, there may be "
        "more.",
    ]


def fields(telling: Telling, facts: PublishFacts, ink: Ink) -> list[tuple[str, str]]:
    """The numbers of the last window and of the whole."""
    since = [("Since it began", counted(max(facts.total, facts.count), "event"))]
    if not is_over(telling):
        since.insert(0, ("Last window", counted(facts.count, "event")))
    return [*since, *times(telling, facts, ink)]
