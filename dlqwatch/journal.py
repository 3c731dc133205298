"""What still has to be written, and how writing fares.

The journal follows memory. Where it can't, rows wait here, keyed by table and id, and are
written when it can; how that goes is an input of its own, so that its loss is an alert too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from dlqwatch.decide.inputs import StoreLooked
from dlqwatch.decide.world import in_order
from dlqwatch.edges.store_keeper import Renewed
from dlqwatch.errors import StoreError
from dlqwatch.model import StoreTrouble
from dlqwatch.rows import Change, Row, change_key

log = logging.getLogger("dlqwatch.journal")

BUSY_MS = 500


class Keeping(Protocol):
    """What is needed of the store."""

    renewed: Renewed | None
    unopened: StoreError | None

    @property
    def where(self) -> str: ...

    def rejoin(self, live: Callable[[], Iterable[Row]]) -> tuple[Row, ...] | None: ...

    def write(
        self, changes: Iterable[Change], live: Callable[[], Iterable[Row]], *, wait_ms: int = ...
    ) -> None: ...

    def commands(self) -> list[Row] | None: ...

    def close(self) -> None: ...


class Journal:
    """Guarded by the engine's lock, like the store behind it."""

    def __init__(self, store: Keeping, live: Callable[[], Iterable[Row]], now: int) -> None:
        self._store = store
        self._live = live
        self._waiting: dict[object, Change] = {}
        self._error = store.unopened
        self._failing_since = now if store.unopened is not None else None
        self._ok_since: int | None = None

    @property
    def behind(self) -> bool:
        """Do rows wait in memory because they can't be written?"""
        return bool(self._waiting) or self._failing_since is not None

    def write(self, changes: Iterable[Change], now: int) -> None:
        """Write these and all that waits; or keep them waiting."""
        for change in changes:
            key = change_key(change)
            self._waiting.pop(key, None)
            self._waiting[key] = change
        if not self._waiting:
            return
        # a failing journal is only probed: nobody may wait for it
        wait_ms = BUSY_MS if self._failing_since is None else 0
        try:
            self._store.write(in_order(self._waiting.values()), self._live, wait_ms=wait_ms)
        except StoreError as error:
            if self._failing_since is None:
                self._failing_since = now
                log.error("history isn't being written: %s", error)
            self._error, self._ok_since = error, None
            return
        if self._failing_since is not None:
            log.warning("history is written again, with %d rows that waited", len(self._waiting))
        if self._ok_since is None or self._failing_since is not None:
            self._ok_since = now
        self._failing_since = None
        self._waiting.clear()

    def rejoin(self) -> tuple[Row, ...] | None:
        """What a file holds that the start could not read, once it can be; else None."""
        return self._store.rejoin(self._live)

    def commands(self) -> list[Row] | None:
        """What the commands wrote, if it may have changed; None: it hasn't, or can't be read."""
        try:
            return self._store.commands()
        except StoreError:
            return None

    def look(self) -> StoreLooked:
        """How the journal fares, for the rule that watches it."""
        renewed = self._store.renewed
        error = self._error if self._failing_since is not None else None
        trouble: StoreTrouble | None = error.trouble if error is not None else None
        if error is None and renewed is not None:
            trouble = renewed.trouble
        return StoreLooked(
            failing_since=self._failing_since,
            ok_since=self._ok_since,
            trouble=trouble,
            detail=error.what if error is not None else "",
            path=self._store.where,
            waiting=len(self._waiting),
            renewed_at=renewed.at if renewed is not None else None,
            kept_aside=renewed.kept_aside if renewed is not None else "",
        )

    def close(self) -> None:
        self._store.close()
