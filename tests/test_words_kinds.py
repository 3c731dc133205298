"""What people read about blindness, wiring, the history and events never published."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import pytest

from dlqwatch.facts import Facts, IncidentKind, SeenQueue, Telling
from dlqwatch.model import (
    HOUR,
    DeviationKind,
    Reason,
    Resolution,
    SampleReason,
    Severity,
    StoreTrouble,
)
from dlqwatch.words import en, en_blind, en_store, en_wiring
from dlqwatch.words import slack as words
from tests.wording import (
    ASTRAY,
    BLIND,
    BLIND_PERSON,
    FIRING,
    NOW,
    PUBLISH,
    PUBLISHED,
    QUEUE,
    RETRIES,
    SIGHT,
    STARTED,
    STORE,
    STORED,
    UNSEEN,
    WIRED,
    WIRING,
    all_text,
    as_shown,
    judge,
    mrkdwn,
    push,
    tell,
)

KIND_OF_FACTS = (FIRING, BLIND, WIRING, STORE, PUBLISH, STARTED)

# ---- the first line alone can be acted on

UNSEEN_FOR = f"has not seen {QUEUE} since 2026-11-29 19:53 UTC (1 h 5 min)"
ASTRAY_LINE = (
    f"dead letters of nemo12-events go to nemo12-event-dlq, not to {QUEUE}: they die unseen"
)
KIND_LINES = [
    (
        tell(Reason.FIRST, BLIND),
        f"🟠 dlqwatch {UNSEEN_FOR}: Cloudflare answered with a server error; it keeps asking",
    ),
    (
        tell(Reason.FIRST, BLIND_PERSON),
        f"🔴 Critical: dlqwatch {UNSEEN_FOR}: Cloudflare refused the API token; "
        "only a person can cure it",
    ),
    (
        tell(Reason.SEVERITY_RAISED, replace(BLIND, severity=Severity.CRITICAL)),
        f"🔴 Now critical: dlqwatch {UNSEEN_FOR}: Cloudflare answered with a server error; "
        "it keeps asking",
    ),
    (
        tell(Reason.REPEAT, BLIND),
        f"🟠 Still: dlqwatch {UNSEEN_FOR}: Cloudflare answered with a server error; "
        "it keeps asking",
    ),
    (
        tell(
            Reason.GROWN,
            replace(
                BLIND,
                unseen=(
                    replace(UNSEEN, name="a"),
                    replace(UNSEEN, name="b", reason=SampleReason.BAD_TOKEN, since=NOW - 2 * HOUR),
                ),
                needs_person=True,
            ),
        ),
        "🟠 News: dlqwatch has not seen a and b since 2026-11-29 18:58 UTC (2 h): Cloudflare "
        "refused the API token, and 1 other cause; only a person can cure it",
    ),
    (
        tell(Reason.RESOLVED, SIGHT),
        f"🟢 dlqwatch can see again, after 1 h 5 min: 3 dead letters in {QUEUE} (2 before)",
    ),
    (
        tell(
            Reason.FIRST_AND_RESOLVED,
            replace(SIGHT, found=(SeenQueue(name=QUEUE, depth=0, before=3),)),
        ),
        f"🟢 Already over: dlqwatch can see again, after 1 h 5 min: no dead letter in {QUEUE} "
        "(3 before)",
    ),
    (tell(Reason.FIRST, WIRING), f"🔴 Critical: {ASTRAY_LINE} (and 1 more fault)"),
    (
        tell(Reason.GROWN, WIRING),
        f"🔴 Critical, more is wrong: {ASTRAY_LINE} (and 1 more fault)",
    ),
    (
        tell(Reason.REPEAT, replace(WIRING, severity=Severity.WARNING, deviations=(RETRIES,))),
        "🟠 Still: max_retries of nemo12-events is 3, expected 5: messages become dead letters "
        "too soon or too late",
    ),
    (
        tell(Reason.SILENCE_ENDED, replace(WIRING, deviations=(ASTRAY,))),
        f"🔴 Critical, silence over, still: {ASTRAY_LINE}",
    ),
    (
        tell(Reason.RESOLVED, WIRED),
        f"✅ Resolved: the wiring of {QUEUE} was put right after 1 h",
    ),
    (
        tell(Reason.RESOLVED, replace(WIRED, resolution=Resolution.UNWATCHED)),
        f"⚪ No longer watched: {QUEUE} left dlqwatch's configuration",
    ),
    (
        tell(Reason.FIRST, STORE),
        "🔴 Critical: dlqwatch can't write its history: the disk is full (/data/dlqwatch.db)",
    ),
    (
        tell(
            Reason.FIRST,
            replace(STORE, trouble=StoreTrouble.CORRUPT, kept_aside="/data/dlqwatch.db.aside"),
        ),
        "🔴 Critical: dlqwatch's history was damaged and is begun anew (/data/dlqwatch.db)",
    ),
    (
        tell(Reason.RESOLVED, STORED),
        "✅ Resolved: dlqwatch writes its history again after 12 min: what waited was written, "
        "nothing is lost",
    ),
    (
        tell(Reason.RESOLVED, replace(STORED, trouble=StoreTrouble.DELETED)),
        "🟢 dlqwatch writes its history again after 12 min, in a new file, what stood only in the "
        "deleted one is lost",
    ),
    (
        tell(Reason.RESOLVED, replace(STORED, kept_aside="/data/dlqwatch.db.aside")),
        "🟢 dlqwatch writes its history again after 12 min, in a new file, what is older lies in "
        "the damaged one",
    ),
    (
        tell(Reason.FIRST, PUBLISH),
        "🟠 12 events of nemo12-api were never published (EVENT_PUBLISH_FAILED) between "
        "2026-11-29 20:48 UTC and 2026-11-29 20:53 UTC: only the log has them",
    ),
    (
        tell(Reason.FIRST, replace(PUBLISH, count=1, total=1)),
        "🟠 1 event of nemo12-api was never published (EVENT_PUBLISH_FAILED) between "
        "2026-11-29 20:48 UTC and 2026-11-29 20:53 UTC: only the log has them",
    ),
    (
        tell(Reason.REPEAT, replace(PUBLISH, count=0)),
        "🟠 Still: 40 events of nemo12-api were never published (EVENT_PUBLISH_FAILED) since "
        "2026-11-29 19:38 UTC, none after 2026-11-29 20:48 UTC: only the log has them",
    ),
    (
        tell(Reason.RESOLVED, PUBLISHED),
        "🟢 No EVENT_PUBLISH_FAILED of nemo12-api since 2026-11-29 20:48 UTC: 40 events were never "
        "published and can't be brought back",
    ),
    (
        tell(Reason.RESOLVED, replace(PUBLISHED, resolution=Resolution.UNWATCHED)),
        "⚪ No longer watched: nemo12-api left dlqwatch's configuration",
    ),
]


@pytest.mark.parametrize(
    ("telling", "line"),
    KIND_LINES,
    ids=[f"{type(t.facts).__name__}-{t.reason}-{n}" for n, (t, _) in enumerate(KIND_LINES)],
)
def test_a_first_line_says_what_since_when_and_what_to_do(telling: Telling, line: str) -> None:
    """Word for word; blocks and push notification say the same."""
    payload = words.render(telling)
    in_blocks = re.sub(r"[*`]", "", as_shown(mrkdwn(payload)[0])).split("\n")[0]
    assert (push(telling)[0], in_blocks) == (line, line)
    judge(payload)


def test_every_kind_of_facts_has_words_for_every_reason() -> None:
    """A kind that is added needs a module; a reason without a sentence tells the state."""
    assert set(en.KINDS) == set(get_args(Facts)) == {type(facts) for facts in KIND_OF_FACTS}
    for facts in KIND_OF_FACTS:
        for reason in Reason:
            assert len(push(tell(reason, facts))[0]) > 30


@pytest.mark.parametrize("facts", [FIRING, BLIND, WIRING, STORE, PUBLISH])
def test_critical_is_a_word_and_not_only_a_colour(facts: IncidentKind) -> None:
    """In the first line of each kind of alert."""
    for severity, shown in ((Severity.CRITICAL, True), (Severity.WARNING, False)):
        line = push(tell(Reason.FIRST, replace(facts, severity=severity)))[0]
        assert ("Critical" in line, line[0] == "🔴") == (shown, shown)


# ---- blind


def test_blindness_says_what_to_do_what_it_means_and_what_cloudflare_said() -> None:
    """A bad token and a missing permission look the same: both are named, and `check` first."""
    seen = all_text(words.render(tell(Reason.FIRST, BLIND_PERSON)))
    assert "The token is bad or lacks the permission Queues Read" in seen
    assert "Run `dlqwatch check` before rolling the token: Cloudflare's own authorization" in seen
    assert "Until it sees again, nobody is told of new dead letters there." in seen
    assert (
        f"• `{QUEUE}`: last seen with 3 dead letters, not seen since 2026-11-29 19:53 UTC: "
        "`reading the depth: HTTP 401, code 10000: Authentication error (ray 8f1)`"
    ) in seen


def test_different_causes_have_each_its_cure_and_like_ones_share_theirs() -> None:
    """Ten queues behind one outage need one sentence."""
    reasons = [SampleReason.NOT_JSON, SampleReason.REDIRECTED, SampleReason.UNREACHABLE]
    unseen = tuple(replace(UNSEEN, reason=reason) for reason in reasons)
    seen = all_text(words.render(tell(Reason.FIRST, replace(BLIND, unseen=unseen))))
    assert seen.count("Something other than Cloudflare's API answers") == 1
    assert "Cloudflare could not be reached: Look at the network, DNS and proxy" in seen


def test_sixty_unseen_queues_are_ten_and_a_number() -> None:
    """The rest is in `status`; the message stays within Slack's limits."""
    name, detail = "q" * 60, "reading the depth: " * 30
    unseen = tuple(replace(UNSEEN, name=f"{name}{n}", detail=detail) for n in range(60))
    payload = words.render(tell(Reason.FIRST, replace(BLIND, unseen=unseen)))
    seen = all_text(payload)
    assert seen.count("• `qqq") == 10
    assert "… and 50 more queues." in seen
    judge(payload)


def test_what_does_not_fit_is_marked_as_left_out() -> None:
    """Slack refuses blocks that are too long; nothing is dropped without a sign."""
    unseen = (replace(UNSEEN, detail="&" * 900),) * 10
    payload = words.render(tell(Reason.FIRST, replace(BLIND, unseen=unseen)))
    sections = [text for text in mrkdwn(payload) if "•" in text]
    assert sections[-1].endswith("\n…")
    assert sum(map(len, sections)) < 9_000
    judge(payload)


def test_a_queue_never_read_and_one_last_seen_empty_say_so() -> None:
    """Unknown is not 0."""
    unseen = (replace(UNSEEN, last_depth=None), replace(UNSEEN, name="b", last_depth=0))
    seen = all_text(words.render(tell(Reason.FIRST, replace(BLIND, unseen=unseen))))
    assert f"• `{QUEUE}`: never read, not seen since" in seen
    assert "• `b`: last seen empty, not seen since" in seen


def test_sight_that_returns_never_reads_as_dead_letters_resolved() -> None:
    """Not in the message, not in the card, whatever was found; and no green tick."""
    for depth, before in ((0, 3), (3, 0), (0, 0), (5, None)):
        facts = replace(SIGHT, found=(SeenQueue(name=QUEUE, depth=depth, before=before),))
        for payload in (
            words.render(tell(Reason.RESOLVED, facts)),
            words.render_card(tell(Reason.RESOLVED, facts)),
        ):
            seen = all_text(payload)
            assert "esolved" not in seen
            assert "✅" not in seen
            assert ("alerts on dead letters go on" in seen) == bool(depth or before)


def test_sight_lists_what_was_found_the_deepest_first() -> None:
    """Beside what was there before."""
    found = tuple(SeenQueue(name=f"q{n}", depth=n, before=(None, 1, 0, 9)[n]) for n in range(4))
    seen = all_text(words.render(tell(Reason.RESOLVED, replace(SIGHT, found=found))))
    assert (
        "• *3 dead letters* in `q3` (9 before)\n"
        "• *2 dead letters* in `q2` (none before)\n"
        "• *1 dead letter* in `q1` (as before)\n"
        "• *no dead letter* in `q0` (never seen before)"
    ) in seen
    assert "*Blind for*\n1 h 5 min" in seen


# ---- wiring


def test_each_deviation_says_is_expected_and_how_to_put_it_right() -> None:
    """The gravest first; a command stands alone in a code span, a sentence doesn't."""
    lines = as_shown(mrkdwn(words.render(tell(Reason.FIRST, WIRING)))[0]).split("\n")
    assert lines[1:] == [
        f"🔴 *Other dead-letter queue*: is `nemo12-event-dlq`, expected `{QUEUE}`. "
        f"Put it right: `{ASTRAY.cure}`",
        "🟠 *Retries*: is `3`, expected `5`. "
        "Put it right: Set max_retries to 5 in the consumer's wrangler.jsonc and deploy it.",
    ]


@pytest.mark.parametrize("kind", DeviationKind)
def test_every_deviation_has_a_sentence_that_names_its_queue(kind: DeviationKind) -> None:
    """As the only one it is the first line; without values it still reads."""
    deviation = replace(ASTRAY, kind=kind)
    line = push(tell(Reason.FIRST, replace(WIRING, deviations=(deviation,))))[0]
    assert ("nemo12-events" in line) or kind in (DeviationKind.TOKEN_ENDS, DeviationKind.CLOCK_OFF)
    assert "{" not in line
    bare = replace(WIRING, source="", deviations=(replace(deviation, is_="", cure=""),))
    assert "(no name)" not in all_text(words.render(tell(Reason.FIRST, bare)))


def test_the_gravest_deviation_is_told_in_the_first_line() -> None:
    """What deletes messages unseen comes before everything else."""
    assert set(en_wiring.SENTENCES) == set(en_wiring.TITLES) == set(DeviationKind)
    deviations = tuple(
        replace(ASTRAY, kind=kind, critical=kind is DeviationKind.RETENTION_CUT)
        for kind in DeviationKind
    )
    assert en_wiring.by_gravity(deviations)[0].kind is DeviationKind.RETENTION_CUT
    assert en_wiring.by_gravity((RETRIES, replace(ASTRAY, critical=False)))[1] is RETRIES


def test_a_wiring_put_right_says_where_dead_letters_went_meanwhile() -> None:
    """Someone has to look there before they are deleted."""
    seen = all_text(words.render(tell(Reason.RESOLVED, WIRED)))
    assert "Dead letters of that time lie in `nemo12-event-dlq`: handle them there" in seen
    none = replace(ASTRAY, kind=DeviationKind.NO_DEAD_LETTER_QUEUE, is_="")
    seen = all_text(words.render(tell(Reason.RESOLVED, replace(WIRED, deviations=(none,)))))
    assert "Dead letters of that time are gone, and nobody can count them." in seen


def test_a_cure_with_a_name_from_outside_pings_nobody() -> None:
    """It is data, in a code span or in a sentence."""
    for cure in ("npx wrangler <!channel>", "Ask <!channel> & `x`"):
        bad = replace(ASTRAY, cure=cure, is_="<!here>", expected="@everyone")
        payload = words.render(tell(Reason.FIRST, replace(WIRING, deviations=(bad,))))
        raw = "\n".join([payload.text, *mrkdwn(payload)])
        assert "<!channel>" not in raw
        assert "<!here>" not in raw
        judge(payload)


# ---- the store


@pytest.mark.parametrize("trouble", StoreTrouble)
def test_every_trouble_of_the_store_says_what_to_do_and_that_alerts_go_out(
    trouble: StoreTrouble,
) -> None:
    """History is at risk, not the alerts; a restart would forget what waits."""
    seen = all_text(words.render(tell(Reason.FIRST, replace(STORE, trouble=trouble))))
    assert f"{en_store.TROUBLES[trouble]} (/data/dlqwatch.db)" in seen
    assert f"What to do: {en_store.CURES[trouble]}" in seen
    assert "Alerts still go out" in seen
    assert "41 rows wait in memory and are written when it works again. Don't restart" in seen
    assert "*SQLite says*\n`database or disk is full`" in seen


def test_a_damaged_file_says_where_it_lies() -> None:
    """Now and at the end: someone may still read it."""
    for facts in (STORE, STORED):
        aside = replace(facts, trouble=StoreTrouble.CORRUPT, kept_aside="/data/x.aside")
        seen = all_text(words.render(tell(Reason.FIRST, aside)))
        assert "The damaged file was kept as `/data/x.aside`" in seen


def test_lost_history_is_not_called_resolved() -> None:
    """What can't come back is said instead."""
    for facts in (replace(STORED, trouble=StoreTrouble.DELETED), replace(STORED, kept_aside="/x")):
        assert "Resolved" not in all_text(words.render(tell(Reason.RESOLVED, facts)))


def test_trouble_here_does_not_point_to_cloudflares_queues() -> None:
    """A link that can't help is in the way."""
    for facts in (STORE, PUBLISH):
        assert "Open the queues" not in all_text(words.render(tell(Reason.FIRST, facts)))
    assert "Open the queues" in all_text(words.render(tell(Reason.FIRST, WIRING)))


# ---- publish failures


def test_unpublished_events_are_gone_and_the_log_is_named() -> None:
    """And the number is an estimate, a lower bound."""
    seen = all_text(words.render(tell(Reason.FIRST, PUBLISH)))
    assert "These events are gone: they never reached a queue" in seen
    assert "open `nemo12-api`, Observability, and filter for `EVENT_PUBLISH_FAILED`" in seen
    assert "Cloudflare's estimate; where the Worker's log is sampled, there may be more" in seen
    assert "*Since it began*\n40 events" in seen


def test_the_end_of_publish_failures_is_not_called_resolved() -> None:
    """Nothing of it was made good."""
    seen = all_text(words.render(tell(Reason.RESOLVED, PUBLISHED)))
    assert "Resolved" not in seen
    assert "filter for `EVENT_PUBLISH_FAILED`" in seen


# ---- all of them


def test_every_cause_of_blindness_and_trouble_of_the_store_has_its_words() -> None:
    """A new member of a closed set needs its words before it can be told."""
    assert set(en_blind.CURES) == set(SampleReason)
    assert set(en_store.CURES) == set(en_store.TROUBLES) == set(StoreTrouble)
