"""What `dlqwatch check` finds, in English. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dlqwatch.durations import show_duration
from dlqwatch.facts import Deviation
from dlqwatch.model import PublishWatch, QueueRules, Sample
from dlqwatch.words.en_wiring import TITLES
from dlqwatch.words.units import duration, letters, tidy


def not_kept(not_acted_on: Sequence[str]) -> list[tuple[str, str]]:
    """A name and a sentence for each key without effect."""
    return [(key, "is set, but this version does not act on it yet") for key in not_acted_on]


def deviation(found: Deviation) -> str:
    """One thing that is wired otherwise than it should be."""
    now = tidy(found.is_)
    return f"{TITLES[found.kind]}: is {now}, expected {tidy(found.expected)}"


def wired(rules: QueueRules) -> str:
    """All is as it should be."""
    if not rules.source:
        return "no consumer takes from it, and it keeps messages long enough"
    return (
        f"the consumer of {tidy(rules.source)} leads here after {rules.max_retries} retries, "
        "nothing else takes from here, and nothing waits too long"
    )


def no_source(rules: QueueRules) -> str:
    """Why S6 and S13 aren't kept for a queue."""
    name = tidy(rules.name)
    return f"not kept for {name}: whose dead letters land there isn't known (source is not set)"


NO_FALLBACK = (
    "kept as far as one destination goes: when Slack refuses it, notices wait until a person "
    "mends it ([slack.fallback] is not set)"
)
FALLBACK = "kept: what [slack] doesn't take goes to [slack.fallback]"


def heartbeat(host: str, fail_host: str, every_ms: int) -> tuple[bool, str]:
    """Whether S8 is kept, and why (not). Hosts alone: who has the addresses can fake our life."""
    if not host:
        why = "nobody outside notices when dlqwatch and its host are gone"
        return False, f"not kept: {why} ([heartbeat] url is not set)"
    words = f"{tidy(host)} hears every {duration(every_ms)} that dlqwatch lives"
    if not fail_host:
        return True, f"{words}; silence is all it hears while Slack takes no notices (no fail_url)"
    return True, f"{words}, and {tidy(fail_host)} at once when Slack takes no notices"


def gate(rules: QueueRules) -> tuple[bool, str]:
    """Whether QG-009 is kept for a queue, and why (not)."""
    name = tidy(rules.name)
    if rules.keeps_qg009:
        return True, f"kept for {name}: told at the first sight of a message"
    why = []
    if rules.threshold != 1:
        why.append(f"threshold is {rules.threshold:,}, not 1")
    if rules.hold_ms:
        why.append(f"hold_duration is {show_duration(rules.hold_ms)}, not 0s")
    return False, f"not kept for {name}: {' and '.join(why)}"


def queue(sample: Sample, retention_ms: int | None, now: int, when: Callable[[int], str]) -> str:
    """What a reading says: depth, age, retention."""
    depth = sample.depth or 0
    words = "empty" if depth == 0 else letters(depth)
    if depth and sample.oldest_at is not None:
        words += f", the oldest {duration(now - sample.oldest_at)} old"
        if retention_ms is not None:
            words += f", handle before {when(sample.oldest_at + retention_ms)}"
    keeps = "unknown" if retention_ms is None else duration(retention_ms)
    return f"{words}; keeps a message for {keeps}"


UNPUBLISHED_UNCOUNTED = (
    "not kept: events that were never published aren't counted ([publish_failures] is not set)"
)


def published(count: int | None, watch: PublishWatch) -> str:
    """How many failures to publish the log has in its last whole window."""
    worker = tidy(watch.worker)
    if count is None:
        return f"the log of {worker} can be asked"
    many = "1 line" if count == 1 else f"{count:,} lines"
    where = f"the last whole {show_duration(watch.interval_ms)} of the log of {worker}"
    return f"{many} with {tidy(watch.needle)} in {where}"


def clock(off_ms: int) -> str:
    """How far our clock is from Cloudflare's."""
    if abs(off_ms) < 2000:  # a Date has whole seconds, and the answer was on its way
        return "agrees with Cloudflare's"
    return f"{duration(abs(off_ms))} {'ahead of' if off_ms > 0 else 'behind'} Cloudflare's"
