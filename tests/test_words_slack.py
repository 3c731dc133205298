"""Messages as Slack gets them: late, repeated, mentioning, of names from outside, within limits."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    Reason,
)
from dlqwatch.sim.blockkit import pings
from dlqwatch.words import en
from dlqwatch.words import slack as words
from dlqwatch.words.commands import commands
from tests.test_words import FIRST_LINES
from tests.test_words_kinds import KIND_LINES
from tests.wording import (
    CRITICAL,
    DUE,
    FIRING,
    FIRST,
    HELD,
    NOW,
    OVER,
    QUEUE,
    TEAM,
    all_text,
    as_shown,
    judge,
    mrkdwn,
    push,
    tell,
    texts_of,
)

# ---- late, repeated, mentioned


def test_a_late_message_says_when_it_was_decided_and_sent() -> None:
    """In the push notification too: its numbers are old."""
    late = replace(FIRST, created_at=NOW - 6 * HOUR)
    line = "Late: decided 2026-11-29 14:58 UTC, sent 2026-11-29 20:58 UTC"
    assert push(late)[1] == line
    assert line in as_shown(mrkdwn(words.render(late))[0])
    assert line in as_shown(words.render_plain(late).text)


def test_a_minute_is_not_late() -> None:
    """Only what is older than that is."""
    assert "Late" not in all_text(words.render(replace(FIRST, created_at=NOW - MINUTE)))
    assert "Late" in all_text(words.render(replace(FIRST, created_at=NOW - MINUTE - 1)))


def test_time_left_and_age_are_those_of_the_moment_of_sending() -> None:
    """A notice that waited six hours must not promise six hours too many."""
    late = replace(FIRST, sent_at=NOW + 6 * HOUR)
    assert push(late)[0] == (
        f"🟠 3 dead letters in {QUEUE}, oldest 8 h 5 min old: "
        "handle before 2026-12-03 18:53 UTC (in 3 d 15 h)"
    )


def test_a_possible_repeat_is_marked_wherever_it_is_read() -> None:
    """Blocks, push notification and plain text."""
    again = replace(FIRST, repeat=True)
    assert push(again)[0].endswith("(possible repeat)")
    assert "(possible repeat)" in mrkdwn(words.render(again))[0]
    assert "(possible repeat)" in words.render_plain(again).text
    assert "(possible repeat)" not in all_text(words.render(FIRST))


def test_mentions_stand_on_a_line_of_their_own_where_they_ping() -> None:
    """At the end of the first section, and in the text for those who see nothing else."""
    payload = words.render(tell(Reason.SEVERITY_RAISED, CRITICAL, mentions=(TEAM, "<@U1>")))
    assert mrkdwn(payload)[0].split("\n")[-1] == f"{TEAM} <@U1>"
    assert payload.text.split("\n")[-1] == f"{TEAM} <@U1>"
    assert pings("", payload.blocks) == pings(payload.text) == ("!subteam^S0123456789", "@U1")


def test_nobody_is_mentioned_who_was_not_named_in_a_form_that_pings() -> None:
    """A half mention would be printed, or carry something else into the message."""
    payload = words.render(replace(FIRST, mentions=("@ops", "<!subteam^S1", f"{TEAM} x", "")))
    assert "ops" not in payload.text
    assert "subteam" not in "\n".join([payload.text, *mrkdwn(payload)])


def test_too_many_mentions_never_cost_the_message() -> None:
    """Those that fit are whole."""
    payload = words.render(replace(FIRST, mentions=(TEAM,) * 500))
    assert push(FIRST)[0] in as_shown(payload.text)
    assert set(payload.text.split("\n")[-1].split(" ")) == {TEAM}
    judge(payload)


def test_a_card_shows_the_present_state_whatever_its_last_notice_was() -> None:
    """It is state: no reason, no mention, not late, not a repeat."""
    for reason in Reason:
        odd = tell(
            reason,
            replace(CRITICAL, told_depth=1),
            mentions=(TEAM,),
            repeat=True,
            in_thread=True,
            created_at=NOW - DAY,
        )
        card = words.render_card(odd)
        if reason not in (Reason.RESOLVED, Reason.FIRST_AND_RESOLVED):
            assert as_shown(card.text) == f"🔴 Critical: 3 dead letters {HELD}"
        assert "subteam" not in all_text(card)
        assert card.blocks is not None
        assert any("fields" in block for block in card.blocks)


def test_a_card_of_an_incident_that_is_over_says_so() -> None:
    """`resolved_at` decides, and a loss stays a loss."""
    assert words.render_card(tell(Reason.GROWN, OVER)).text.startswith("✅")
    assert words.render_card(tell(Reason.GROWN, replace(OVER, lost=1))).text.startswith("❌ Lost:")


# ---- names and addresses from outside are data

NASTY = "<!channel> @here & *x*"


def test_a_name_that_looks_like_a_mention_pings_nobody() -> None:
    """It is escaped, in a code span, and Slack is told not to look for mentions itself."""
    payload = words.render(replace(FIRST, subject=NASTY))
    raw = "\n".join([payload.text, *mrkdwn(payload)])
    assert "<!channel>" not in raw
    assert f"`{'&lt;!channel&gt; @here &amp; *x*'}`" in raw
    assert NASTY in as_shown(payload.text)
    assert pings(payload.text, payload.blocks) == ()
    for part in texts_of(payload):
        assert part["verbatim"] is True


def test_quotes_and_ampersands_show_as_themselves() -> None:
    """Slack knows three entities; a fourth would be printed."""
    payload = words.render(replace(FIRST, subject="a\"b'c&d"))
    assert "a\"b'c&amp;d" in payload.text
    assert "`a\"b'c&amp;d`" in mrkdwn(payload)[0]


def test_a_name_cannot_leave_its_code_span_or_its_line() -> None:
    """Backticks, line breaks and marks that turn the text around are made harmless."""
    first = mrkdwn(words.render(replace(FIRST, subject="a`b\nc\u202ed\ud800")))[0].split("\n")[0]
    assert "`a'b�c�d�`" in first


def test_a_name_of_5000_characters_is_cut_and_the_rest_is_said() -> None:
    """The deadline must not fall off the end."""
    for letter in ("q", "&", "<"):
        long = replace(FIRST, subject=letter * 5_000)
        assert push(long)[0].endswith(f"{letter}…, oldest 2 h 5 min old: {DUE}")
        judge(words.render(long))


@pytest.mark.parametrize(
    "url",
    ["", "https://", "http:///x", "ftp://host/x", "https://a b/", "https://[x", "wiki", "x\n"],
)
def test_an_address_that_is_none_makes_no_link(url: str) -> None:
    """Half an address in a message can cost the message."""
    payload = words.render(tell(Reason.FIRST, replace(FIRING, runbook_url=url), dashboard_url=url))
    assert "Runbook" not in all_text(payload)
    assert "Cloudflare>" not in all_text(payload)


def test_an_address_cannot_leave_its_link() -> None:
    """`|` and `>` end a link in Slack."""
    url = "https://wiki.example/a|b>c<!channel>"
    payload = words.render(tell(Reason.FIRST, replace(FIRING, runbook_url=url)))
    link = next(text for text in mrkdwn(payload) if "Runbook" in text)
    assert "<https://wiki.example/a%7Cb%3Ec%3C!channel%3E|Runbook>" in link


def test_a_text_names_only_commands_that_are_listed() -> None:
    """So that a test which runs each of the list runs each that a person can be told to run."""
    listed, named = commands(12), set()
    tellings = [telling for telling, _ in [*FIRST_LINES, *KIND_LINES]]
    tellings += [replace(telling, incident=None) for telling in tellings]
    for payload in [*map(words.render, tellings), words.render_test("slack", NOW)]:
        named |= set(re.findall(r"`(dlqwatch [^`]+)`", all_text(payload)))
    assert named == set(listed)


# ---- plain text, tests, receipts


def test_plain_text_has_what_is_needed_when_the_blocks_were_refused() -> None:
    """First line, mentions, the incident, the next command and where to go."""
    plain = words.render_plain(tell(Reason.FIRST, CRITICAL, mentions=(TEAM,)))
    assert plain.blocks is None
    assert as_shown(plain.text).split("\n") == [
        f"🔴 Critical: 3 dead letters {HELD}",
        TEAM,
        "QG-009 · #12 · Read 2026-11-29 20:58 UTC · Next: dlqwatch status",
        f"<{FIRST.dashboard_url}|Open the queues in Cloudflare> · "
        "<https://wiki.example/dlq?a=1&b=2|Runbook>",
    ]


def test_facts_that_no_sentence_can_be_made_of_still_give_a_line() -> None:
    """The last resort names the command that shows the state."""
    broken = replace(FIRST, facts=None, mentions=(TEAM,))  # type: ignore[arg-type]
    assert words.render_plain(broken).text == f"{en.LAST_RESORT}\n{TEAM}"


def test_a_test_message_is_marked_as_one() -> None:
    """Nobody should get up for it."""
    payload = words.render_test("slack.fallback", NOW)
    assert payload.text == (
        "🧪 Test from dlqwatch: nothing is wrong, alerts reach this place (slack.fallback)"
    )
    judge(payload)


def test_a_receipt_is_found_again_by_its_key() -> None:
    """Only in our own metadata, whatever else stands in a channel."""
    receipt = words.receipt("ab12-7", 12)
    assert receipt == {
        "event_type": "dlqwatch_notice",
        "event_payload": {"dlqwatch_key": "ab12-7", "incident": 12},
    }
    assert words.receipt_key(receipt) == "ab12-7"
    assert words.receipt_key(words.receipt("k", None)) == "k"
    ours, foreign = {"event_type": "dlqwatch_notice"}, receipt | {"event_type": "o"}
    others: list[object] = [None, "x", [], {}, ours, foreign]
    for other in others:
        assert words.receipt_key(other) is None
