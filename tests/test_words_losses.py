"""What people read when dead letters leave: lost, taken out, handled, or nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlqwatch.facts import DepthFacts
from dlqwatch.model import DAY, HOUR, MINUTE, Reason, Resolution
from dlqwatch.words import slack as words
from tests.wording import CRITICAL, DUE, FIRING, NOW, OVER, QUEUE, all_text, push, tell

EXPIRED = replace(OVER, lost=3, resolution=Resolution.EXPIRED)
EMPTY_AGAIN = f"{QUEUE} is empty again after 1 h 20 min with up to 5 dead letters"
LINES = [
    (
        Reason.LOST,
        replace(CRITICAL, depth=2, lost=3, lost_at_most=7, handled=1),
        f"❌ Lost: between 3 and 7 dead letters in {QUEUE} passed their deadline and are gone; "
        f"2 left, oldest 2 h 5 min old: {DUE}",
    ),
    (
        Reason.LOST,
        replace(EXPIRED, lost=1, lost_at_most=2),
        f"❌ Lost: between 1 and 2 dead letters in {QUEUE} passed their deadline and are gone; "
        "over after 1 h 20 min; the queue is empty",
    ),
    (
        Reason.RESOLVED,
        replace(EXPIRED, left_unknown=1, removed=2, handled=4),
        f"❌ Lost: at least 3 dead letters in {QUEUE} passed their deadline and are gone; besides, "
        "1 left and why is not known, 2 taken out elsewhere, 4 handled through dlqwatch; "
        "over after 1 h 20 min; the queue is empty",
    ),
    (
        Reason.RESOLVED,
        replace(OVER, lost=0, lost_at_most=7),
        f"❌ Perhaps lost: up to 7 dead letters in {QUEUE} may be gone, past their deadline; "
        "over after 1 h 20 min; the queue is empty",
    ),
    (
        Reason.RESOLVED,
        replace(OVER, resolution=Resolution.REMOVED, removed=2, handled=3),
        f"✅ Resolved: {EMPTY_AGAIN}; 2 taken out elsewhere, 3 handled through dlqwatch",
    ),
    (
        Reason.RESOLVED,
        replace(OVER, left_unknown=1, removed=4),
        f"✅ {EMPTY_AGAIN}; 1 left and why is not known, 4 taken out elsewhere",
    ),
    (
        Reason.RESOLVED,
        replace(OVER, resolution=Resolution.HANDLED, handled=5),
        f"✅ Resolved: {EMPTY_AGAIN}; handled through dlqwatch",
    ),
    (
        Reason.LOST,
        replace(FIRING, depth=0, resolved_at=NOW, resolution=Resolution.DELETED),
        f"❌ Lost: the queue {QUEUE} was deleted; it was empty when last seen",
    ),
    (
        Reason.LOST,
        replace(FIRING, resolved_at=NOW, resolution=Resolution.DELETED, lost=3),
        f"❌ Lost: the queue {QUEUE} was deleted with 3 dead letters in it",
    ),
    (
        Reason.REPEAT,
        replace(FIRING, seen=False, at=NOW - HOUR),
        f"🟠 Still 3 dead letters in {QUEUE} (last seen 2026-11-29 19:58 UTC), "
        f"oldest 2 h 5 min old: {DUE}",
    ),
    (
        Reason.EXPIRY_NEAR,
        replace(
            CRITICAL, seen=False, at=NOW - HOUR, mark_ms=HOUR, oldest_at=NOW - 4 * DAY + 50 * MINUTE
        ),
        f"🔴 Critical: under 1 h left for the oldest of 3 dead letters in {QUEUE} "
        "(last seen 2026-11-29 19:58 UTC), 3 d 23 h old: "
        "handle before 2026-11-29 21:48 UTC (in 50 min)",
    ),
]


@pytest.mark.parametrize(
    ("reason", "facts", "line"), LINES, ids=[f"{row[0]}-{n}" for n, row in enumerate(LINES)]
)
def test_the_worst_that_became_of_dead_letters_is_said_first(
    reason: Reason, facts: DepthFacts, line: str
) -> None:
    """Word for word."""
    assert push(tell(reason, facts))[0] == line


def test_a_loss_says_that_it_is_inferred_and_where_to_look() -> None:
    """Cloudflare tells nobody; a gap in the readings makes it a range."""
    seen = all_text(words.render(tell(Reason.LOST, EXPIRED)))
    assert "the number follows from the readings. What is left of these messages is in the" in seen
    assert "*Lost*\nat least 3" in seen
    seen = all_text(words.render(tell(Reason.LOST, replace(EXPIRED, lost_at_most=7))))
    assert "follows from the readings, which have a gap." in seen
    assert "*Lost*\nbetween 3 and 7" in seen


@pytest.mark.parametrize("most", [None, 0, 3])
def test_a_range_that_is_none_is_at_least(most: int | None) -> None:
    """No "between 3 and 3"."""
    assert "at least 3" in push(tell(Reason.LOST, replace(EXPIRED, lost_at_most=most)))[0]


def test_an_open_alert_shows_how_some_left_so_far() -> None:
    """On the card, among the numbers."""
    facts = replace(FIRING, removed=1, handled=2)
    seen = all_text(words.render_card(tell(Reason.FIRST, facts)))
    assert "*Left so far*\n1 taken out elsewhere\n2 handled through dlqwatch" in seen
    assert "Left" not in all_text(words.render_card(tell(Reason.FIRST, FIRING)))


def test_a_deleted_queue_says_what_happens_next() -> None:
    """Messages that fail from now on have no place."""
    facts = replace(FIRING, resolved_at=NOW, resolution=Resolution.DELETED)
    seen = all_text(words.render(tell(Reason.LOST, facts)))
    assert "have nowhere to go until the queue is made again" in seen


def test_numbers_last_seen_are_never_shown_as_the_present() -> None:
    """Also among the numbers below."""
    seen = all_text(words.render(tell(Reason.REPEAT, replace(FIRING, seen=False))))
    assert "The queue can't be read now: these are the numbers last seen" in seen
    assert "*Dead letters, last seen*\n3" in seen
    assert "last seen" not in all_text(words.render(tell(Reason.REPEAT, FIRING)))
