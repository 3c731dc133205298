"""Each odd answer of Slack on a real socket gets its meaning, and no secret escapes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from dlqwatch.daemon import disposable
from dlqwatch.decide.outcomes import (
    Answer,
    answer_lost,
    not_sent,
)
from dlqwatch.edges.http import Http
from dlqwatch.edges.slack import Bot, Speaker, Webhook
from dlqwatch.errors import ConfigError
from dlqwatch.facts import Payload
from dlqwatch.model import DestinationKind, Outcome
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import BOT_TOKEN, CHANNEL, SimSlack
from dlqwatch.words.slack import receipt
from tests.rig import BOT, KINDS, WEBHOOK, speaker_to

DELIVERED, TEMPORARY, AMBIGUOUS = Outcome.DELIVERED, Outcome.TEMPORARY, Outcome.AMBIGUOUS
PAYLOAD, NEEDS_PERSON, TARGET_GONE = Outcome.PAYLOAD, Outcome.NEEDS_PERSON, Outcome.TARGET_GONE
HELLO = Payload("3 dead letters")
LATER = datetime(2026, 11, 29, 12, 0, 5, tzinfo=UTC)

# ---- on real sockets


@dataclass
class Line:
    """A speaker and the scripted Slack it speaks to."""

    slack: SimSlack
    speaker: Speaker
    clock: HandClock
    http: Http
    caplog: pytest.LogCaptureFixture

    def post(self, thread_ts: str | None = None, *, within_s: float = 8.0) -> Answer:
        """One post that ends in time, leaves one request, no exception and no secret.

        `within_s` leaves slack_sdk the time to try again by itself, if it is let.
        """
        before = len(self.slack.requests)
        try:
            answer = disposable.call(
                lambda: self.speaker.post(HELLO, thread_ts=thread_ts), within_s
            )
        except disposable.GivenUp:
            answer = answer_lost("given up")
        assert len(self.slack.requests) == before + 1
        for secret in (BOT_TOKEN, self.slack.webhook_url, "sImUlAtEd"):
            assert secret not in self.caplog.text
            assert secret not in repr(answer)
        return answer


@pytest.fixture
def http() -> Iterator[Http]:
    made = Http()
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def line(
    request: pytest.FixtureRequest, http: Http, caplog: pytest.LogCaptureFixture
) -> Iterator[Line]:
    yield from connected(request.param, http, caplog)


@pytest.fixture
def bot(http: Http, caplog: pytest.LogCaptureFixture) -> Iterator[Line]:
    yield from connected(BOT, http, caplog)


@pytest.fixture
def hook(http: Http, caplog: pytest.LogCaptureFixture) -> Iterator[Line]:
    yield from connected(WEBHOOK, http, caplog)


def connected(
    kind: DestinationKind, http: Http, caplog: pytest.LogCaptureFixture
) -> Iterator[Line]:
    caplog.set_level(logging.DEBUG)
    clock = HandClock()
    with SimSlack(clock) as slack:
        yield Line(slack, speaker_to(slack, kind, http, clock), clock, http, caplog)


def test_a_good_answer_is_delivered(line: Line) -> None:
    assert line.post().outcome is DELIVERED
    (message,) = line.slack.messages()
    assert message.text == "3 dead letters"


ODD: dict[str, tuple[Fault, Outcome]] = {
    "close": (Fault.close(), AMBIGUOUS),
    "close_after": (Fault.close(after=True), AMBIGUOUS),
    "reset": (Fault.reset(), AMBIGUOUS),
    "reset_after": (Fault.reset(after=True), AMBIGUOUS),
    "truncated": (Fault.truncated(), AMBIGUOUS),
    "short": (Fault.short_body(), AMBIGUOUS),
    "not_utf8": (Fault.not_utf8(), AMBIGUOUS),
    "empty": (Fault.status(200, b""), AMBIGUOUS),
    "no_keys": (Fault.json({}), AMBIGUOUS),
    "a_list": (Fault.json([1]), AMBIGUOUS),
    "null": (Fault.json(None), AMBIGUOUS),
    "html": (Fault.html(200), AMBIGUOUS),
    "plain": (Fault.status(200, "hello", content_type="text/plain"), AMBIGUOUS),
    "html_503": (Fault.html(503), AMBIGUOUS),
    "500": (Fault.status(500), AMBIGUOUS),
    "html_403": (Fault.html(403), NEEDS_PERSON),
    "429": (Fault.rate_limited(), TEMPORARY),
}


@pytest.mark.parametrize(("fault", "outcome"), ODD.values(), ids=ODD.keys())
def test_an_odd_answer(line: Line, fault: Fault, outcome: Outcome) -> None:
    line.slack.fail(fault)
    assert line.post().outcome is outcome


ENDLESS: dict[str, Fault] = {
    "hang": Fault.hang(),
    "hang_after": Fault.hang(after=True),
    "drip_body": Fault.drip_body(0.3),
    "drip_head": Fault.drip_headers(0.1),
    "late": Fault.delay(2),
}


@pytest.mark.parametrize("fault", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_answer_without_an_end_is_given_up(line: Line, fault: Fault) -> None:
    line.slack.fail(fault)
    assert line.post(within_s=0.4).outcome is AMBIGUOUS


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(line: Line, code: int) -> None:
    with SimSlack() as elsewhere:
        line.slack.fail(Fault.redirect(f"{elsewhere.url}/docs/messaging/webhooks", code))
        assert line.post().outcome is NEEDS_PERSON
        assert elsewhere.requests == []


def test_an_unknown_webhook_is_no_success(hook: Line) -> None:
    url = hook.slack.webhook_url + "x"
    wrong = Webhook(lambda: url, hook.http.ssl_context, hook.clock)
    hook.speaker = wrong
    assert hook.post().outcome is NEEDS_PERSON


@pytest.mark.parametrize(
    ("header", "wait_ms"),
    [("3", 3_000), ("2.5", 2_500), (format_datetime(LATER, usegmt=True), 5_000)],
)
def test_retry_after_is_understood_in_every_form(line: Line, header: str, wait_ms: int) -> None:
    start = int(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp() * 1000)
    line.clock.step((start - line.clock.now()) / 1000)
    line.slack.fail(Fault.rate_limited(header))
    answer = line.post()
    assert answer.outcome is TEMPORARY
    assert answer.retry_at is not None
    assert wait_ms <= answer.retry_at - start <= wait_ms + 1000


def test_a_refused_connection_was_not_sent(line: Line) -> None:
    line.slack.refuse()
    answer = line.speaker.post(HELLO)
    assert (answer.outcome, answer.error) == (TEMPORARY, "connection refused")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("invalid_blocks", PAYLOAD),
        ("not_in_channel", NEEDS_PERSON),
        ("fatal_error", AMBIGUOUS),
        ("message_limit_exceeded", TEMPORARY),
        ("cannot_reply_to_message", TARGET_GONE),
    ],
)
def test_ok_false_with_200_is_what_its_error_says(bot: Line, error: str, outcome: Outcome) -> None:
    bot.slack.fail(Fault.json({"ok": False, "error": error}))
    answer = bot.post()
    assert (answer.outcome, answer.error) == (outcome, error)


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("no_service", NEEDS_PERSON), ("invalid_token", NEEDS_PERSON), ("rollup_error", AMBIGUOUS)],
)
def test_a_webhook_that_was_revoked_says_so(hook: Line, word: str, outcome: Outcome) -> None:
    hook.slack.webhook().error = word
    answer = hook.post()
    assert answer.outcome is outcome
    assert word in answer.error


def test_an_archived_channel_needs_a_person(line: Line) -> None:
    line.slack.channels[CHANNEL].archived = True
    answer = line.post()
    assert answer.outcome is NEEDS_PERSON
    assert "archived" in answer.error


def test_a_reply_to_a_message_that_is_gone_says_so_or_becomes_a_message(bot: Line) -> None:
    assert not bot.post(thread_ts="1.000001").threaded
    bot.slack.missing_parent = "cannot_reply_to_message"
    assert bot.post(thread_ts="1.000001").outcome is TARGET_GONE


def test_a_secret_that_cannot_be_read_now_is_tried_again(http: Http) -> None:
    def unreadable() -> str:
        raise ConfigError("/run/secrets/slack can't be read")

    clock = HandClock()
    speakers: list[Speaker] = [
        Webhook(unreadable, http.ssl_context, clock),
        Bot(unreadable, CHANNEL, "http://127.0.0.1:9/api/", http.ssl_context, clock),
    ]
    for speaker in speakers:
        answer = speaker.post(HELLO)
        assert answer == not_sent("/run/secrets/slack can't be read")


@pytest.mark.parametrize("secret", ["xoxb-1\n-canary", "xoxb-1\x07canary", "", "xoxb-ünïcode"])
def test_a_token_that_no_header_can_carry_is_not_shown(
    bot: Line, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = Bot(lambda: secret, CHANNEL, bot.slack.api_url, bot.http.ssl_context, bot.clock)
    answer = wrong.post(HELLO)
    assert answer.outcome is not DELIVERED
    assert "canary" not in caplog.text + answer.error


# ---- looking it up


def keyed(bot: Line, key: str, thread_ts: str | None = None) -> Answer:
    answer = bot.speaker.post(HELLO, receipt=receipt(key, 1), thread_ts=thread_ts)
    assert answer.outcome is DELIVERED
    return answer


def test_a_message_is_found_by_its_receipt_in_the_channel_and_in_its_thread(bot: Line) -> None:
    since = bot.clock.now()
    parent = keyed(bot, "1-db")
    reply = keyed(bot, "2-db", thread_ts=parent.ts)
    for _ in range(150):  # more than a page
        bot.speaker.post(HELLO)
    found = bot.speaker.look("1-db", since=since)
    assert (found.outcome, found.ts, found.threaded) == (DELIVERED, parent.ts, False)
    found = bot.speaker.look("2-db", since=since, thread_ts=parent.ts)
    assert (found.outcome, found.ts, found.threaded) == (DELIVERED, reply.ts, True)
    assert bot.speaker.look("3-db", since=since, thread_ts=parent.ts).outcome is TARGET_GONE
    assert bot.speaker.look("1-other", since=since).outcome is TARGET_GONE


@pytest.mark.parametrize("ahead_s", [-60, 60])
def test_a_message_is_found_though_our_clock_is_a_minute_off_slacks(
    bot: Line, ahead_s: int
) -> None:
    keyed(bot, "1-db")
    since = bot.clock.now() + ahead_s * 1000
    assert bot.speaker.look("1-db", since=since).outcome is DELIVERED


UNSEEING: dict[str, tuple[Fault, Outcome]] = {
    "missing_scope": (Fault.json({"ok": False, "error": "missing_scope"}), NEEDS_PERSON),
    "not_in_channel": (Fault.json({"ok": False, "error": "not_in_channel"}), NEEDS_PERSON),
    "internal_error": (Fault.json({"ok": False, "error": "internal_error"}), TEMPORARY),
    "invalid_auth": (Fault.json({"ok": False, "error": "invalid_auth"}), TEMPORARY),
    "429": (Fault.rate_limited(30), TEMPORARY),
    "500": (Fault.status(500), TEMPORARY),
    "close": (Fault.close(), TEMPORARY),
    "truncated": (Fault.truncated(), TEMPORARY),
    "html": (Fault.html(200), TEMPORARY),
    "no_messages": (Fault.json({"ok": True}), TEMPORARY),
    "null_messages": (Fault.json({"ok": True, "messages": None}), TEMPORARY),
}


@pytest.mark.parametrize(("fault", "outcome"), UNSEEING.values(), ids=UNSEEING.keys())
def test_a_look_that_did_not_see_is_never_an_empty_channel(
    bot: Line, fault: Fault, outcome: Outcome
) -> None:
    keyed(bot, "1-db")
    bot.slack.fail(fault)
    assert bot.speaker.look("1-db", since=bot.clock.now()).outcome is outcome


def test_a_thread_whose_parent_is_gone_is_looked_for_in_the_channel_too(bot: Line) -> None:
    since = bot.clock.now()
    keyed(bot, "1-db")
    assert bot.speaker.look("1-db", since=since, thread_ts="1.000001").outcome is DELIVERED


def test_a_channel_too_busy_to_be_read_to_its_end_is_not_an_empty_one(bot: Line) -> None:
    since = bot.clock.now()
    keyed(bot, "1-db")
    for _ in range(520):
        bot.slack._add(CHANNEL, "chatter", None, thread_ts=None, reply_broadcast=False,
                       metadata=None, via="bot", author="B1")  # fmt: skip
    assert bot.speaker.look("1-db", since=since).outcome is NEEDS_PERSON
