"""What `check` finds of the wiring: the daemon's own audit, once, of each queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dlqwatch.cli.asking import Asked
from dlqwatch.cli.checking import Check, Result
from dlqwatch.daemon import disposable
from dlqwatch.daemon.auditing import Look
from dlqwatch.decide.deviations import deviations, judged
from dlqwatch.decide.healthy import Present
from dlqwatch.decide.reading import Audit
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import DeviationKind
from dlqwatch.rows import Queue
from dlqwatch.words import en_check
from dlqwatch.words.units import tidy

CALLS = 6  # the queue; the source by name and in the whole list; its settings and its backlog
GRACE_S = 0.5

Found = tuple[Audit, CloudflareError | None]


def check_wiring(
    cloudflare: Cloudflare, asked: Sequence[Asked], present: Present, now: int, timeout_s: float
) -> Iterator[Check]:
    """A line for each deviation, with its cure; one where all is right."""
    seen = [one for one in asked if one.error is None or isinstance(one.error, QueueNotListed)]
    looks = [_looker(cloudflare, one, timeout_s) for one in seen]
    found = disposable.side_by_side(looks, CALLS * timeout_s + GRACE_S)
    for one, result in zip(seen, found, strict=True):
        if isinstance(result, Exception):
            if not isinstance(result, disposable.GivenUp):
                raise result
            result = Audit(), None
        yield from _checks(one, result, present, now)


def _looker(cloudflare: Cloudflare, one: Asked, timeout_s: float) -> Callable[[], Found]:
    def look() -> Found:
        looked = Look(cloudflare, one.rules, timeout_s)
        return looked.read(one.queue_id), looked.trouble

    return look


def _checks(one: Asked, found: Found, present: Present, now: int) -> Iterator[Check]:
    rules = one.rules
    audit, trouble = found
    name = f"wiring of {tidy(rules.name)}"
    queue = present.queue(rules.name) or Queue(0, rules.name, now)
    wrong = deviations(audit, queue, rules, now)
    for deviation in wrong:
        yield Check(name, Result.BAD, en_check.deviation(deviation), deviation.cure)
    asked = set(DeviationKind) - {DeviationKind.QUEUE_MISSING}
    if one.queue_id is None:  # said already
        asked -= {DeviationKind.UNEXPECTED_CONSUMER, DeviationKind.RETENTION_CUT}
        asked -= {DeviationKind.RETENTION_SHORT}
    if asked - judged(audit, rules):
        why = trouble.what if trouble is not None else "Cloudflare didn't say all of it"
        yield Check(name, Result.UNKNOWN, f"could not be read whole: {why}", "Run check again.")
    elif not wrong and one.queue_id is not None:
        yield Check(name, Result.OK, en_check.wired(rules))
    if not rules.source:
        yield Check("S6, S13", Result.NOTE, en_check.no_source(rules))
