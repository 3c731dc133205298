"""What `check` tries at Cloudflare: clock, token, permission, each queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dlqwatch.cli import tables
from dlqwatch.cli.asking import Asked, ask_all, bounded, cloudflare_of
from dlqwatch.cli.checking import Check, Result, Show
from dlqwatch.cli.checking_wiring import check_wiring
from dlqwatch.config.settings import Settings
from dlqwatch.decide.counting import last_window
from dlqwatch.decide.deviations import CLOCK_MS, TOKEN_DAYS
from dlqwatch.decide.healthy import Present
from dlqwatch.decide.reading import TokenInfo
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.edges.telemetry import Telemetry
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import DAY, Clock, PublishWatch, SampleReason
from dlqwatch.words import en_check, en_status
from dlqwatch.words.units import duration, tidy

# what only a person cures; anything else may pass by itself
PERSONS = frozenset({SampleReason.BAD_TOKEN, SampleReason.BAD_ACCOUNT})
UNREACHED = frozenset({SampleReason.UNREACHABLE, SampleReason.TIMEOUT})


def check_cloudflare(
    settings: Settings, present: Present, clock: Clock, http: Http, show: Show
) -> None:
    """Shows each line as soon as it is known."""
    cloudflare = cloudflare_of(settings, clock, http)
    timeout_s = settings.cloudflare.timeout / 1000
    token: TokenInfo | CloudflareError
    try:
        # the user's address and then the account's: two requests
        token = bounded(cloudflare.verify_token, 2 * timeout_s)
    except CloudflareError as error:
        token = error
        if error.reason in UNREACHED:  # each further request would only wait as long
            show(Check("Cloudflare", Result.UNKNOWN, error.what, error.do))
            return
    asked = ask_all(cloudflare, settings.rules(), clock, timeout_s, with_settings=True)
    show(_clock(cloudflare))
    show(_token(token, asked, clock.now()))
    show(_permission(asked))
    for check in _queues(asked, clock.now()):
        show(check)
    for check in check_wiring(cloudflare, asked, present, clock.now(), timeout_s):
        show(check)
    show(_published(cloudflare, settings.publish_watch(), clock, timeout_s))


def _clock(cloudflare: Cloudflare) -> Check:
    if cloudflare.date_seen is None:
        return Check("clock", Result.UNKNOWN, "no answer of Cloudflare's told the time")
    theirs, ours = cloudflare.date_seen
    off = ours - theirs
    words = en_check.clock(off)
    if abs(off) < CLOCK_MS:
        return Check("clock", Result.OK, words)
    return Check(
        "clock", Result.BAD, words, "Set this machine's clock (NTP): ages and deadlines are wrong."
    )


def _works(asked: Sequence[Asked]) -> bool:
    """Did Cloudflare take the token for what watching needs?"""
    return any(
        one.error is None or isinstance(one.error, QueueNotListed) or one.settings is not None
        for one in asked
    )


def _token(token: TokenInfo | CloudflareError, asked: Sequence[Asked], now: int) -> Check:
    if isinstance(token, CloudflareError):
        if _works(asked):
            return Check("token", Result.OK, "works; when it expires could not be read")
        result = Result.BAD if token.reason in PERSONS else Result.UNKNOWN
        return Check("token", result, token.what, token.do)
    if token.status != "active":
        return Check("token", Result.BAD, f"is {token.status}", "Make a new one, with Queues Read.")
    if token.expires_at is None:
        return Check("token", Result.OK, "is active and has no end")
    ends = f"is active until {tables.local(token.expires_at, now)}"
    left = f"{ends} (in {duration(token.expires_at - now)})"
    if token.expires_at - now >= TOKEN_DAYS * DAY:
        return Check("token", Result.OK, left)
    return Check("token", Result.BAD, left, "Renew it now: without it dlqwatch is blind.")


def _permission(asked: Sequence[Asked]) -> Check:
    name = "permission Queues Read"
    refused = next((o.error for o in asked if o.error and o.error.reason in PERSONS), None)
    if refused is not None:
        return Check(name, Result.BAD, refused.what, refused.do)
    if _works(asked):
        return Check(name, Result.OK, "given: Cloudflare answers what watching asks")
    said = next((o.error for o in asked if o.error is not None), None)
    return Check(name, Result.UNKNOWN, said.what if said is not None else "no queue could be read")


def _queues(asked: Sequence[Asked], now: int) -> Iterator[Check]:
    for one in asked:
        name = f"queue {tidy(one.rules.name)}"
        if one.error is not None:
            missing = isinstance(one.error, QueueNotListed)
            bad = missing or one.error.reason in PERSONS
            yield Check(name, Result.BAD if bad else Result.UNKNOWN, one.error.what, one.error.do)
            continue
        if one.sample.depth is None and one.sample.reason is not None:
            words = f"{en_status.SAMPLE_REASONS[one.sample.reason]}: {one.sample.detail}"
            yield Check(name, Result.UNKNOWN, words, "Asked again at each poll.")
            continue
        retention = one.settings.retention_ms if one.settings is not None else None
        words = en_check.queue(one.sample, retention, now, lambda ms: tables.local(ms, now))
        if one.sample.reason is not None:
            words += f" ({en_status.SAMPLE_REASONS[one.sample.reason]})"
        yield Check(name, Result.OK, words)


def _published(
    cloudflare: Cloudflare, watch: PublishWatch | None, clock: Clock, timeout_s: float
) -> Check:
    """The last whole window of the Worker's log; the queues are watched whatever comes of it."""
    if watch is None:
        return Check("S12", Result.NOTE, en_check.UNPUBLISHED_UNCOUNTED)
    logs = Telemetry(cloudflare, clock)
    window = last_window(watch.interval_ms, logs.log_time())
    try:
        count = bounded(lambda: logs.count(watch.worker, watch.needle, window), timeout_s)
    except CloudflareError as error:
        result = Result.BAD if error.reason in PERSONS else Result.UNKNOWN
        return Check("S12", result, error.what, error.do)
    return Check("S12", Result.OK, en_check.published(count, watch))
