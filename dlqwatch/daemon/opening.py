"""The journal at a start: waited for while locked, told of when a newer version wrote it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from dlqwatch import __version__
from dlqwatch.config.settings import Settings
from dlqwatch.daemon import disposable
from dlqwatch.decide.outcomes import Answer
from dlqwatch.edges.http import shared_ssl_context
from dlqwatch.edges.lockfile import Lock
from dlqwatch.edges.speakers import speaker
from dlqwatch.edges.store import BUSY_MS, Remembered
from dlqwatch.edges.store_keeper import Keeper
from dlqwatch.errors import NewerSchema, StoreError
from dlqwatch.facts import Payload
from dlqwatch.model import Clock, Outcome, StoreTrouble
from dlqwatch.words.slack import render_newer

log = logging.getLogger("dlqwatch")

LOCKED_S = 70  # a start waits so long for a database that somebody else locks; `health` allows 90
GIVE_UP_S = 10.0

Post = Callable[[Payload], Answer]


def remembered(keeper: Keeper, clock: Clock, stop: threading.Event) -> Remembered | None:
    """What the journal remembers; None: told to stop meanwhile.

    A locked file is waited for, but not for ever: then the queues are watched without it.
    """
    until = clock.monotonic() + LOCKED_S
    said = False
    while True:
        try:
            return keeper.start(wait_ms=0 if said else BUSY_MS)
        except StoreError as error:
            if error.trouble is not StoreTrouble.LOCKED:
                raise
            if clock.monotonic() >= until:
                log.error("%s; starting without what it holds", error.what)
                return keeper.start_unread(error)
            if not said:
                log.warning("%s; waiting for it, %d s at most", error.what, LOCKED_S)
                said = True
        if stop.wait(1.0):
            return None


def posts(settings: Settings, clock: Clock) -> list[Post]:
    """How to post to each destination, the first one first."""
    context = shared_ssl_context()
    names = [destination.name for destination in settings.destinations()]
    return [speaker(settings, name, context, clock).post for name in names]


def tell_newer(error: NewerSchema, lock: Lock, to: Sequence[Post], clock: Clock) -> None:
    """Say once, at the first destination that confirms, that the queues aren't watched.

    The pulse remembers it: a restart policy tries again and again.
    """
    if lock.pulse.newer == error.schema:
        return
    payload = render_newer(error.what, error.do, __version__, clock.now())
    for post in to:
        try:
            answer = disposable.call(lambda post=post: post(payload), GIVE_UP_S)  # type: ignore[misc]
        except Exception as failed:  # its text may hold a secret
            log.error("a message about it could not be sent (%s)", type(failed).__name__)
            continue
        if answer.outcome is Outcome.DELIVERED:
            lock.told_newer(error.schema)
            return
        log.error("a message about it could not be sent: %s", answer.error or answer.outcome)
