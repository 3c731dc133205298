"""What `poll` and `check` ask Cloudflare themselves, within bounds. No database is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dlqwatch.config.settings import Settings
from dlqwatch.daemon import disposable
from dlqwatch.decide.reading import QueueSettings, failed
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.errors import CloudflareError
from dlqwatch.model import Clock, QueueRules, Sample, SampleReason

T = TypeVar("T")

GRACE_S = 0.5  # beyond the requests' own deadlines: only a hung name resolution gets there


@dataclass(frozen=True, slots=True)
class Asked:
    """What one queue's reading came to. `error` is set exactly when the sample failed for it."""

    rules: QueueRules
    sample: Sample
    settings: QueueSettings | None = None
    error: CloudflareError | None = None
    queue_id: str | None = None


def cloudflare_of(settings: Settings, clock: Clock, http: Http) -> Cloudflare:
    """The account of the settings. The token is read anew from its file, if it lies in one."""
    return Cloudflare(
        base_url=settings.cloudflare.api_base_url,
        account_id=settings.cloudflare.account_id,
        token=settings.cloudflare.read_api_token,
        timeout_s=settings.cloudflare.timeout / 1000,
        clock=clock,
        http=http,
    )


def ask_all(
    cloudflare: Cloudflare,
    rules: Sequence[QueueRules],
    clock: Clock,
    timeout_s: float,
    *,
    with_settings: bool = False,
) -> list[Asked]:
    """Every queue's reading, side by side: none waits for another."""
    calls = 4 if with_settings else 3  # the list, by name and whole; settings; metrics
    asked = disposable.side_by_side(
        [_asker(cloudflare, one, clock, with_settings=with_settings) for one in rules],
        calls * timeout_s + GRACE_S,
    )
    return [
        found if isinstance(found, Asked) else _failed(one, found, clock, timeout_s)
        for one, found in zip(rules, asked, strict=True)
    ]


def bounded(function: Callable[[], T], timeout_s: float) -> T:
    """One call to Cloudflare. Raises CloudflareError also where it had to be given up."""
    try:
        return disposable.call(function, timeout_s + GRACE_S)
    except disposable.GivenUp:
        raise late(timeout_s) from None


def late(timeout_s: float) -> CloudflareError:
    """The error of a call that had to be given up."""
    return CloudflareError(
        SampleReason.TIMEOUT,
        f"no answer from Cloudflare within {timeout_s:g} s; its name may not resolve",
        "Check DNS and the way out of this machine.",
    )


def _asker(
    cloudflare: Cloudflare, rules: QueueRules, clock: Clock, *, with_settings: bool
) -> Callable[[], Asked]:
    def ask() -> Asked:
        settings, queue_id = None, None
        try:
            queue_id = cloudflare.find_queue(rules.name)
            if with_settings:
                settings = cloudflare.queue(queue_id)
            return Asked(rules, cloudflare.metrics(queue_id), settings, None, queue_id)
        except CloudflareError as error:
            return Asked(rules, failed(error, clock.now()), settings, error, queue_id)

    return ask


def _failed(rules: QueueRules, error: Exception, clock: Clock, timeout_s: float) -> Asked:
    if not isinstance(error, disposable.GivenUp):
        raise error
    said = late(timeout_s)
    return Asked(rules, failed(said, clock.now()), None, said)
