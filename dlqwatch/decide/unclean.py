"""Ends that were not clean: how many in a row, and whether people are told of this one."""

from __future__ import annotations

from dlqwatch.decide.world import Draft
from dlqwatch.model import HOUR
from dlqwatch.rows import Meta

ENDS = "unclean_ends"  # Metas: how many in a row,
AT = "unclean_at"  # … when the newest was found,
TOLD_AT = "unclean_told_at"  # … when a notice of one was made last

SELDOM_MS = HOUR  # a crash loop is told at most so often


def count(draft: Draft, last_seen_at: int | None) -> int:
    """How many ends in a row were unclean, the last one too; 0: that one was clean.

    A process that ran for an hour was no part of a row.
    """
    if last_seen_at is None:
        if _number(draft, ENDS):
            draft.put(Meta(ENDS, "0"))
        return 0
    apart = last_seen_at - _number(draft, AT) >= HOUR
    ends = 1 if apart else _number(draft, ENDS) + 1
    draft.put(Meta(ENDS, str(ends)))
    draft.put(Meta(AT, str(draft.now)))
    return ends


def may_be_told(draft: Draft) -> bool:
    """Was none told within the hour? A time in the future says nothing: the clock went back."""
    return not 0 <= draft.now - _number(draft, TOLD_AT) < SELDOM_MS


def is_told(draft: Draft) -> None:
    draft.put(Meta(TOLD_AT, str(draft.now)))


def _number(draft: Draft, name: str) -> int:
    row = draft.get(Meta, name)
    return int(row.value) if row is not None else 0
