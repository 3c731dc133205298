"""What people read about a dead-letter queue and about dlqwatch, word for word."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone
from enum import StrEnum

import pytest

from dlqwatch.facts import Telling
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    DestinationState,
    NoticeStatus,
    Reason,
    Resolution,
    SampleReason,
    State,
)
from dlqwatch.words import en, en_status, units
from dlqwatch.words import slack as words
from tests.wording import (
    CRITICAL,
    DUE,
    FIRING,
    FIRST,
    HELD,
    NOW,
    OVER,
    QUEUE,
    STARTED,
    all_text,
    as_shown,
    mrkdwn,
    push,
    tell,
)

# ---- the first line alone can be acted on

FIRST_LINES = [
    (tell(Reason.FIRST, FIRING), f"🟠 3 dead letters {HELD}"),
    (
        tell(Reason.FIRST, replace(FIRING, depth=1)),
        f"🟠 1 dead letter in {QUEUE}, 2 h 5 min old: {DUE}",
    ),
    (
        tell(Reason.FIRST, replace(CRITICAL, depth=1_200)),
        f"🔴 Critical: 1,200 dead letters {HELD}",
    ),
    (
        tell(Reason.GROWN, replace(FIRING, depth=5, told_depth=3)),
        f"🟠 2 more dead letters in {QUEUE}: now 5 (was 3), oldest 2 h 5 min old: {DUE}",
    ),
    (
        tell(Reason.GROWN, replace(CRITICAL, depth=4, told_depth=3)),
        f"🔴 Critical: 1 more dead letter in {QUEUE}: now 4 (was 3), oldest 2 h 5 min old: {DUE}",
    ),
    (
        tell(Reason.GROWN, replace(FIRING, depth=4, told_depth=5)),
        f"🟠 More landed in {QUEUE} after some had left: now 4 dead letters, "
        f"oldest 2 h 5 min old: {DUE}",
    ),
    (tell(Reason.SEVERITY_RAISED, CRITICAL), f"🔴 Now critical: 3 dead letters {HELD}"),
    (
        tell(
            Reason.EXPIRY_NEAR,
            replace(CRITICAL, oldest_at=NOW - 3 * DAY - 18 * HOUR - 2 * MINUTE, mark_ms=6 * HOUR),
        ),
        f"🔴 Critical: under 6 h left for the oldest of 3 dead letters in {QUEUE}, 3 d 18 h old: "
        "handle before 2026-11-30 02:56 UTC (in 5 h 58 min)",
    ),
    (
        tell(Reason.EXPIRY_NEAR, replace(CRITICAL, depth=1, oldest_at=NOW - 5 * DAY, mark_ms=HOUR)),
        f"🔴 Critical: no time left for 1 dead letter in {QUEUE}, 5 d old: "
        "past its deadline, may be deleted at any moment",
    ),
    (tell(Reason.REPEAT, FIRING), f"🟠 Still 3 dead letters {HELD}"),
    (
        tell(Reason.REPEAT, replace(CRITICAL, oldest_at=NOW - 5 * DAY)),
        f"🔴 Critical: still 3 dead letters in {QUEUE}, oldest 5 d old: "
        "past its deadline, may be deleted at any moment",
    ),
    (tell(Reason.RESTARTED, FIRING), f"🟠 Still 3 dead letters {HELD} (possible repeat)"),
    (tell(Reason.SILENCE_ENDED, FIRING), f"🟠 Silence over, still 3 dead letters {HELD}"),
    (
        tell(Reason.FIRST, replace(FIRING, depth=0)),
        f"🟠 No dead letter in {QUEUE} at the last reading, not confirmed yet",
    ),
    (
        tell(Reason.RESOLVED, OVER),
        f"✅ {QUEUE} is empty again after 1 h 20 min with up to 5 dead letters; "
        "why they left is not known",
    ),
    (
        tell(Reason.RESOLVED, replace(OVER, peak_depth=1)),
        f"✅ {QUEUE} is empty again after 1 h 20 min with 1 dead letter; why it left is not known",
    ),
    (
        tell(Reason.RESOLVED, replace(OVER, resolution=Resolution.HANDLED)),
        f"✅ Resolved: {QUEUE} is empty again after 1 h 20 min with up to 5 dead letters; "
        "handled through dlqwatch",
    ),
    (
        tell(Reason.RESOLVED, replace(OVER, resolution=Resolution.REMOVED)),
        f"✅ Resolved: {QUEUE} is empty again after 1 h 20 min with up to 5 dead letters; "
        "taken out elsewhere before their deadline",
    ),
    (
        tell(Reason.RESOLVED, replace(OVER, depth=2, threshold=5, peak_depth=9)),
        f"✅ {QUEUE} is below its threshold of 5 again (2 left) after 1 h 20 min "
        "with up to 9 dead letters; why they left is not known",
    ),
    (
        tell(Reason.FIRST_AND_RESOLVED, OVER),
        f"✅ Already over: {QUEUE} held up to 5 dead letters for 1 h 20 min and is empty again; "
        "why they left is not known",
    ),
    (
        tell(Reason.LOST, replace(CRITICAL, depth=2, lost=3)),
        f"❌ Lost: at least 3 dead letters in {QUEUE} passed their deadline and are gone; "
        f"2 left, oldest 2 h 5 min old: {DUE}",
    ),
    (
        tell(Reason.LOST, replace(OVER, lost=1, resolution=Resolution.EXPIRED)),
        f"❌ Lost: at least 1 dead letter in {QUEUE} passed its deadline and is gone; "
        "over after 1 h 20 min; the queue is empty",
    ),
    (
        tell(Reason.LOST, replace(FIRING, resolved_at=NOW, resolution=Resolution.DELETED)),
        f"❌ Lost: the queue {QUEUE} was deleted with 3 dead letters in it",
    ),
    (
        tell(Reason.RESOLVED, replace(FIRING, resolved_at=NOW, resolution=Resolution.UNWATCHED)),
        f"⚪ No longer watched: {QUEUE} left dlqwatch's configuration with 3 dead letters in it",
    ),
    (
        tell(Reason.FIRST, replace(FIRING, oldest_at=None)),
        f"🟠 3 dead letters in {QUEUE}, age unknown: deadline not known, handle soon",
    ),
    (
        tell(Reason.FIRST, replace(FIRING, retention_ms=None)),
        f"🟠 3 dead letters in {QUEUE}, oldest 2 h 5 min old: deadline not known yet, handle soon",
    ),
    (tell(Reason.DRILL, FIRING), f"🟠 3 dead letters {HELD}"),
    (
        tell(Reason.STARTED, STARTED),
        f"🟢 dlqwatch 0.1.0 started: {QUEUE} is watched from now on, read every 30 s",
    ),
    (
        tell(Reason.STARTED, replace(STARTED, queues=tuple(f"q{n}" for n in range(60)))),
        "🟢 dlqwatch 0.1.0 started: q0, q1, q2 and 57 more are watched from now on, "
        "read every 30 s",
    ),
    (
        tell(Reason.UNCLEAN_END, replace(STARTED, queues=("a", "b"))),
        "🟠 dlqwatch 0.1.0 runs again after a crash or a kill: a and b are watched from now on, "
        "read every 30 s",
    ),
]


@pytest.mark.parametrize(
    ("telling", "line"),
    FIRST_LINES,
    ids=[f"{telling.reason}-{n}" for n, (telling, _) in enumerate(FIRST_LINES)],
)
def test_a_first_line_says_what_how_many_how_old_and_by_when(telling: Telling, line: str) -> None:
    """Each reason's first line, word for word; blocks and push notification say the same."""
    payload = words.render(telling)
    in_blocks = re.sub(r"[*`]", "", as_shown(mrkdwn(payload)[0])).split("\n")[0]
    assert (push(telling)[0], in_blocks) == (line, line)


def test_every_reason_has_a_message_for_every_kind_of_facts() -> None:
    """A reason that no sentence of its own is made for still tells the state of things."""
    for reason in Reason:
        assert QUEUE in words.render(tell(reason, FIRING)).text
        assert "dlqwatch 0.1.0" in words.render(tell(reason, STARTED)).text


# ---- what stands around it


def test_a_top_message_has_the_numbers_the_links_the_gate_and_the_next_command() -> None:
    """All that a person needs to begin is in one message."""
    seen = all_text(words.render(FIRST))
    assert "*Oldest*\n2 h 5 min old, from 2026-11-29 18:53 UTC" in seen
    assert "*Handle before*\n2026-12-03 18:53 UTC (in 3 d 21 h)" in seen
    assert "*Size*\n4.2 kB" in seen
    assert "*Severity*\n🟠 Warning" in seen
    assert "*Open since*\n2026-11-29 18:58 UTC" in seen
    assert f"<{FIRST.dashboard_url}|Open the queues in Cloudflare>" in seen
    assert "<https://wiki.example/dlq?a=1&b=2|Runbook>" in seen
    assert "QG-009 · #12 · Read 2026-11-29 20:58 UTC · Next: `dlqwatch status`" in seen


def test_a_reply_in_a_thread_is_its_first_line_and_the_small_print() -> None:
    """The numbers stand in the thread's parent already."""
    payload = words.render(replace(FIRST, reason=Reason.REPEAT, in_thread=True))
    assert payload.blocks is not None
    assert [block["type"] for block in payload.blocks] == ["section", "context"]
    assert "fields" not in payload.blocks[0]


def test_an_incident_that_is_over_points_to_its_history() -> None:
    """`status` would show nothing of it any more."""
    seen = all_text(words.render(tell(Reason.RESOLVED, OVER)))
    assert "Next: `dlqwatch history --incident 12`" in seen
    assert "*Lasted*\n1 h 20 min" in seen
    assert "*Most at once*\n5" in seen


def test_an_end_of_unknown_cause_is_not_called_resolved() -> None:
    """It may have been a loss, and says so."""
    seen = all_text(words.render(tell(Reason.RESOLVED, OVER)))
    assert "Resolved" not in seen
    assert "If nobody took them out, Cloudflare may have deleted them as too old." in seen


@pytest.mark.parametrize("reason", [Reason.RESOLVED, Reason.FIRST_AND_RESOLVED, Reason.LOST])
@pytest.mark.parametrize("over", [{"lost": 2}, {"resolution": Resolution.EXPIRED}])
def test_a_loss_is_never_told_as_an_ordinary_end(reason: Reason, over: dict[str, object]) -> None:
    """Whatever the reason of the notice, lost letters are the first thing said."""
    facts = replace(OVER, **over)  # type: ignore[arg-type]
    seen = all_text(words.render(tell(reason, facts)))
    assert seen.startswith("❌ Lost:")
    assert "✅" not in seen
    assert "Resolved" not in seen


def test_an_unknown_age_is_never_a_number() -> None:
    """Cloudflare's 0 for "unknown" is not 56 years, and a moment in the future is no age."""
    for oldest_at in (None, 0, NOW + HOUR):
        seen = all_text(words.render(tell(Reason.FIRST, replace(FIRING, oldest_at=oldest_at))))
        assert "*Oldest*\nage unknown" in seen
        assert "*Handle before*\nnot known yet" in seen
        assert "1970" not in seen


def test_an_unknown_retention_says_what_is_usual() -> None:
    """Without a deadline a person needs to know how soon it may be."""
    seen = all_text(words.render(tell(Reason.FIRST, replace(FIRING, retention_ms=None))))
    assert "could not be read yet: 4 days unless changed, 24 hours on Cloudflare's free" in seen


def test_a_queue_whose_rules_break_the_gate_says_so() -> None:
    """A threshold above one lets the first dead letter lie untold."""
    seen = all_text(words.render(tell(Reason.FIRST, replace(FIRING, qg009=False))))
    assert "QG-009 is not kept for this queue" in seen


def test_critical_differs_from_warning_without_its_colour() -> None:
    """By a word, for those who don't see the colour of a dot."""
    assert "Critical" in push(tell(Reason.REPEAT, CRITICAL))[0]
    assert "Critical" not in all_text(words.render(tell(Reason.REPEAT, FIRING)))


def test_a_start_says_what_is_watched_and_what_is_not() -> None:
    """What isn't kept or isn't built yet is told at the start, not found out later."""
    facts = replace(
        STARTED, version_before="0.0.9", not_kept=("slow-dlq",), not_acted_on=("heartbeat.url",)
    )
    seen = all_text(words.render(tell(Reason.STARTED, facts, incident=None)))
    assert "Its database is new: nothing from before is known." in seen
    assert "The version before was `0.0.9`." in seen
    assert "QG-009 is not kept for `slow-dlq`" in seen
    assert "does not act on it yet: `heartbeat.url`." in seen
    assert "It runs on `watch-1`." in seen
    assert "Next: `dlqwatch check`" in seen


def test_the_logs_start_line_is_one_plain_line() -> None:
    """No markup, and a name with a line break can't begin a second line."""
    facts = replace(STARTED, queues=("a\nb",), not_kept=("a\nb",))
    assert en.start_line(facts) == (
        "dlqwatch 0.1.0 started on watch-1: a�b is watched from now on, read every 30 s; "
        "QG-009 is not kept for a�b: the first dead letter is not told at once"
    )


# ---- words and units


def test_lengths_of_time_are_two_units_at_most_and_rounded_down() -> None:
    """The time that is left is never told as longer than it is."""
    shown = [units.duration(n) for n in (-5, 0, 999, 1_000, 65_000, 600_000, 659_999, HOUR - 1)]
    assert shown[:3] == ["less than a second"] * 3
    assert shown[3:] == ["1 s", "1 min 5 s", "10 min", "10 min", "59 min"]
    assert units.duration(2 * HOUR + 5 * MINUTE + 59_999) == "2 h 5 min"
    assert units.duration(4 * DAY - 1) == "3 d 23 h"
    assert units.duration(3 * DAY + 59 * MINUTE) == "3 d"


def test_one_dead_letter_is_one_and_none_or_more_are_letters() -> None:
    """Right also with a thousand of them."""
    assert [units.letters(n) for n in (0, 1, 2, 1_000)] == [
        "0 dead letters",
        "1 dead letter",
        "2 dead letters",
        "1,000 dead letters",
    ]


def test_sizes_and_moments_read_as_people_write_them() -> None:
    """Decimal units; a moment names its zone; what no calendar has is not invented."""
    assert [units.size(n) for n in (None, -1, 0, 999, 4_213, 999_999, 2_500_000)] == [
        "unknown",
        "unknown",
        "0 B",
        "999 B",
        "4.2 kB",
        "1.0 MB",
        "2.5 MB",
    ]
    assert units.moment(NOW) == "2026-11-29 20:58 UTC"
    assert units.moment(NOW, timezone(timedelta(hours=7), "+07")) == "2026-11-30 03:58 +07"
    assert units.moment(10**18) == "an unknown time"


def test_every_state_reason_and_outcome_has_its_phrase() -> None:
    """A new member of a closed set needs its words before it can be shown."""
    tables: list[tuple[type[StrEnum], object]] = [
        (State, en_status.STATES),
        (NoticeStatus, en_status.NOTICE_STATUSES),
        (DestinationState, en_status.DESTINATION_STATES),
        (Resolution, en_status.RESOLUTIONS),
        (Reason, en_status.REASONS),
        (SampleReason, en_status.SAMPLE_REASONS),
    ]
    for kind, table in tables:
        assert isinstance(table, dict)
        assert set(table) == set(kind)
        assert len(set(table.values())) == len(table)
