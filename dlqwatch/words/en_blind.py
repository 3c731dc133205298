"""What people read when dlqwatch can't see, and when it sees again, in English.

Sight that returns is never told in words that could mean that dead letters were resolved.
"""

from __future__ import annotations

from dlqwatch.facts import BlindFacts, SeenQueue, Telling, UnseenQueue
from dlqwatch.model import SampleReason
from dlqwatch.words.commands import CHECK
from dlqwatch.words.en_common import SEVERITIES, ending, headline
from dlqwatch.words.en_status import SAMPLE_REASONS
from dlqwatch.words.facts import blind_since, ended_at, is_over
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import duration, letters, listed

LISTED = 10

_BELIEVED = "Nothing: the count is believed all the same."
_NOT_CLOUDFLARE = (
    "Something other than Cloudflare's API answers: look at cloudflare.api_base_url, and whether "
    "a proxy or a sign-in page stands between. If not, it is an outage: www.cloudflarestatus.com."
)
_UNREADABLE = (
    "If it lasts, look for a newer dlqwatch, and ask Cloudflare's support with the ray id."
)
CURES = {
    SampleReason.BAD_TOKEN: "The token is bad or lacks the permission Queues Read: Cloudflare's "
    "answer to both is the same. Run {check} before rolling the token: Cloudflare's own "
    "authorization has failed for an hour before.",
    SampleReason.BAD_ACCOUNT: "Correct cloudflare.account_id: Cloudflare has no such account.",
    SampleReason.QUEUE_NOT_LISTED: "Correct the name in [[queues]], or create the queue.",
    SampleReason.QUEUE_GONE: "It is looked up by its name again. If it is gone, create it, or take "
    "it out of [[queues]].",
    SampleReason.REDIRECTED: _NOT_CLOUDFLARE,
    SampleReason.NOT_JSON: _NOT_CLOUDFLARE,
    SampleReason.REFUSED: "Cloudflare's words below say why; its support can look up the ray id.",
    SampleReason.RATE_LIMITED: "No call is made until the block is over. The limit, 1,200 calls in "
    "5 minutes, is shared by all that the token's owner does: find what else calls, or use a token "
    "that the account owns.",
    SampleReason.UNREACHABLE: "Look at the network, DNS and proxy of dlqwatch's host.",
    SampleReason.TIMEOUT: "Look at the network of dlqwatch's host and www.cloudflarestatus.com.",
    SampleReason.SERVER_ERROR: "Nothing but to wait: look at www.cloudflarestatus.com.",
    SampleReason.TOO_LARGE: _UNREADABLE,
    SampleReason.NONSENSE: _UNREADABLE,
    SampleReason.AGE_UNKNOWN: _BELIEVED,
    SampleReason.AGE_IN_FUTURE: _BELIEVED,
    SampleReason.EMPTY_WITH_REMAINS: _BELIEVED,
    SampleReason.BYTES_UNKNOWN: _BELIEVED,
}
"""What to do, for each cause; `{check}` is a command. What a person must cure comes first."""


def line(telling: Telling, facts: BlindFacts, ink: Ink) -> str:
    """Which queues, since when, why, and whether a person must act."""
    if is_over(telling):
        return _sight(telling, facts, ink)
    names = listed([ink.name(queue.name) for queue in facts.unseen], 3) or "its queues"
    since = blind_since(facts)
    cant = f"dlqwatch {ink.strong('has not seen')} {names}"
    sentence = f"{cant} since {ink.when(since)} ({duration(telling.sent_at - since)})"
    causes = _causes(facts)
    if causes:
        sentence += f": {SAMPLE_REASONS[causes[0]]}"
        others = len(causes) - 1
        if others:
            sentence += f", and {others} other cause{'' if others == 1 else 's'}"
    if facts.needs_person:
        sentence += f"; {ink.strong('only a person can cure it')}"
    else:
        sentence += "; it keeps asking"
    return headline(telling, facts, sentence, ink)


def _causes(facts: BlindFacts) -> list[SampleReason]:
    """The different causes, those that only a person cures first."""
    present = {queue.reason for queue in facts.unseen}
    return [reason for reason in CURES if reason in present]


def _sight(telling: Telling, facts: BlindFacts, ink: Ink) -> str:
    found = [_found(queue, ink) for queue in _deepest_first(facts)]
    long = _blind_for(telling, facts)
    if not found:  # they left the configuration, or the account
        gone = listed([ink.name(queue.name) for queue in facts.unseen], 3)
        said = f"dlqwatch no longer looks for what it could not see for {long}: {gone}"
        return ending(telling, "🟢", "", said, ink)
    again = f"dlqwatch {ink.strong('can see again')}, after {long}: {listed(found, 3)}"
    return ending(telling, "🟢", "", again, ink)


def _blind_for(telling: Telling, facts: BlindFacts) -> str:
    return duration(ended_at(telling) - blind_since(facts))


def _deepest_first(facts: BlindFacts) -> list[SeenQueue]:
    return sorted(facts.found, key=lambda queue: -queue.depth)


def _found(queue: SeenQueue, ink: Ink) -> str:
    now = "no dead letter" if queue.depth <= 0 else letters(queue.depth)
    if queue.before is None:
        before = "never seen before"
    elif max(0, queue.before) == max(0, queue.depth):
        before = "as before"
    else:
        before = f"{queue.before:,} before" if queue.before > 0 else "none before"
    return f"{ink.strong(now)} in {ink.name(queue.name)} ({before})"


def notes(telling: Telling, facts: BlindFacts, ink: Ink) -> list[str]:
    """What to do, what it means, and each queue with Cloudflare's own words."""
    if is_over(telling):
        return _found_notes(facts, ink)
    causes = _causes(facts)
    cures: dict[str, SampleReason] = {}
    for reason in causes:
        cures.setdefault(CURES[reason], reason)
    said = []
    for cure, reason in cures.items():
        cause = SAMPLE_REASONS[reason] if len(cures) > 1 else "What to do"
        said.append(f"{cause[0].upper()}{cause[1:]}: {cure.format(check=ink.code(CHECK))}")
    said.append(
        "Until it sees again, nobody is told of new dead letters there. Open alerts stay open, "
        "with what was last seen."
    )
    said += [_unseen(queue, ink) for queue in facts.unseen[:LISTED]]
    if len(facts.unseen) > LISTED:
        said.append(f"… and {len(facts.unseen) - LISTED} more queues.")
    return said


def _unseen(queue: UnseenQueue, ink: Ink) -> str:
    if queue.last_depth is None:
        last = "never read"
    elif queue.last_depth <= 0:
        last = "last seen empty"
    else:
        last = f"last seen with {letters(queue.last_depth)}"
    said = f"• {ink.name(queue.name)}: {last}, not seen since {ink.when(queue.since)}"
    return f"{said}: {ink.quote(queue.detail)}" if queue.detail.strip() else said


def _found_notes(facts: BlindFacts, ink: Ink) -> list[str]:
    said = []
    found = _deepest_first(facts)
    if len(found) > 3:
        said += [f"• {_found(queue, ink)}" for queue in found[:LISTED]]
        if len(found) > LISTED:
            said.append(f"… and {len(found) - LISTED} more queues.")
    if any(queue.depth > 0 or (queue.before or 0) > 0 for queue in found):
        said.append(
            "This is only about sight: alerts on dead letters go on, and say themselves what "
            "became of them."
        )
    return said


def fields(telling: Telling, facts: BlindFacts, ink: Ink) -> list[tuple[str, str]]:
    """How many queues, and since when: they were unseen before the alert opened."""
    since = ("Not seen since", ink.when(blind_since(facts)))
    severity = SEVERITIES[facts.severity]
    if is_over(telling):
        blind = ("Blind for", _blind_for(telling, facts))
        return [
            blind,
            since,
            ("Seen since", ink.when(ended_at(telling))),
            ("Severity was", severity),
        ]
    return [("Queues not seen", f"{len(facts.unseen):,}"), since, ("Severity", severity)]
