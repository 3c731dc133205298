"""Who silenced an alert, who took it on, how to quiet it; and a start after a crash."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlqwatch.facts import IncidentKind
from dlqwatch.model import HOUR, MINUTE, Reason
from dlqwatch.words import slack as words
from tests.wording import (
    BLIND,
    FIRING,
    NOW,
    OVER,
    PUBLISH,
    QUEUE,
    STARTED,
    STORE,
    WIRING,
    all_text,
    judge,
    push,
    tell,
)


@pytest.mark.parametrize("facts", [FIRING, BLIND, WIRING, STORE, PUBLISH])
def test_who_silenced_and_who_took_it_on_stand_on_every_card(facts: IncidentKind) -> None:
    """So that nobody is woken for what someone is at already."""
    quiet = replace(
        facts,
        silenced_until=NOW + HOUR,
        silenced_by="An",
        acked_by="Linh",
        ack_note="replaying <!channel>",
    )
    for payload in (
        words.render_card(tell(Reason.FIRST, quiet)),
        words.render(tell(Reason.GROWN, quiet)),
    ):
        seen = all_text(payload)
        assert "Silenced until 2026-11-29 21:58 UTC by `An`." in seen
        assert "Acknowledged by `Linh`: `replaying <!channel>`" in seen
        judge(payload)


def test_a_silence_that_has_ended_is_not_shown_as_holding() -> None:
    """Facts are frozen when it is decided, not when it is sent."""
    quiet = replace(FIRING, silenced_until=NOW - 1, silenced_by="An")
    assert "Silenced" not in all_text(words.render(tell(Reason.FIRST, quiet)))


def test_the_end_of_a_silence_says_what_it_held_back() -> None:
    """Alerts that came and went inside it."""
    for held, line in ((1, "1 other alert of it"), (3, "3 other alerts of it")):
        seen = all_text(words.render(tell(Reason.SILENCE_ENDED, replace(FIRING, held=held))))
        assert f"While it was silenced, {line} opened and ended untold." in seen
    assert "During" not in all_text(words.render(tell(Reason.SILENCE_ENDED, FIRING)))


def test_only_a_reminder_says_how_to_quiet_it() -> None:
    """Not the first word, not the end, not what someone took on already."""
    said = "Quiet the reminders: `dlqwatch ack 12 --by NAME`"
    for facts in (FIRING, BLIND, WIRING, STORE, PUBLISH):
        assert said in all_text(words.render(tell(Reason.REPEAT, facts)))
        assert said not in all_text(words.render(tell(Reason.FIRST, facts)))
    for quiet in (OVER, replace(FIRING, acked_by="An")):
        assert "Quiet the" not in all_text(words.render(tell(Reason.REPEAT, quiet)))
    assert "Quiet the" not in all_text(words.render(tell(Reason.REPEAT, FIRING, incident=None)))


def test_a_start_after_a_crash_says_since_when_nothing_was_watched() -> None:
    """And whether it is a habit."""
    facts = replace(STARTED, last_seen_at=NOW - 9 * MINUTE, unclean_ends=3)
    telling = tell(Reason.UNCLEAN_END, facts, incident=None)
    assert push(telling)[0] == (
        "🟠 dlqwatch 0.1.0 runs again after a crash or a kill, the last of 3 in a row, last alive "
        f"2026-11-29 20:49 UTC: {QUEUE} is watched from now on, read every 30 s"
    )
    seen = all_text(words.render(telling))
    assert "For 9 min nothing was watched. What landed meanwhile is told" in seen
    assert "It keeps ending so: look at its log" in seen
    once = replace(facts, unclean_ends=1)
    assert "in a row" not in all_text(words.render(tell(Reason.UNCLEAN_END, once)))
