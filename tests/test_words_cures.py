"""What a person is told to do at Slack, for each answer that only a person can cure."""

from __future__ import annotations

import re

import pytest

from dlqwatch.decide.outcomes import API_ERRORS, api_answer, webhook_answer
from dlqwatch.model import Outcome
from dlqwatch.words.en_cures import cure

PERSON = [name for name, outcome in API_ERRORS.items() if outcome is Outcome.NEEDS_PERSON]
UNKNOWN = cure("no_such_word", destination="slack", webhook=False)
HOOK_WORDS = (
    *((403, word) for word in ("action_prohibited", "posting_to_general_channel_denied")),
    *((404, word) for word in ("no_service", "no_service_id", "no_active_hooks", "no_team")),
    *((403, "invalid_token"), (404, "channel_not_found"), (410, "channel_is_archived")),
    *((403, "team_disabled"), (302, ""), (401, ""), (403, ""), (404, ""), (410, ""), (418, "")),
)


@pytest.mark.parametrize("name", PERSON)
def test_every_api_error_that_needs_a_person_has_its_own_cure(name: str) -> None:
    """One sentence or two, that name what to change; never the general answer."""
    said = cure(name, destination="slack", webhook=False)
    assert said != UNKNOWN
    assert "{" not in said
    assert said.endswith(".")
    assert len(said) < 300


@pytest.mark.parametrize(("status", "word"), HOOK_WORDS)
def test_every_webhook_answer_that_needs_a_person_says_what_to_make_anew(
    status: int, word: str
) -> None:
    """From the error exactly as the table of outcomes words it."""
    answer = webhook_answer(status, word)
    assert answer.outcome is Outcome.NEEDS_PERSON
    said = cure(answer.error, destination="slack.fallback", webhook=True)
    assert "Make a new incoming webhook" in said
    assert "slack.fallback.webhook_url" in said
    assert "{" not in said


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, "posting_to_general_channel_denied", "may not post in #general"),
        (404, "no_service", "was removed or switched off"),
        (404, "channel_not_found", "The webhook's channel is gone"),
        (404, "<html>", "The webhook doesn't exist any more"),
        (410, "channel_is_archived", "The channel is archived: unarchive it"),
        (302, "", "the address is mistyped or old"),
    ],
)
def test_slacks_own_word_tells_more_than_the_status(status: int, body: str, words: str) -> None:
    """Where there is none, the status has to do."""
    error = webhook_answer(status, body).error
    assert words in cure(error, destination="slack", webhook=True)


def test_the_cure_names_the_destinations_own_keys() -> None:
    """Of two destinations the right one is mended."""
    said = cure("token_revoked", destination="slack.fallback", webhook=False)
    assert said.startswith("The token was revoked: install the app again to make a new one.")
    assert "slack.fallback.bot_token" in said
    assert re.search(r"slack\.(?!fallback|com)", said.replace("api.slack.com", "")) is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("not_in_channel", "/invite @app"),
        ("missing_scope", "chat:write"),
        ("is_archived", "unarchive it, or take another in slack.channel"),
        ("channel_not_found", "slack.channel: it must be the channel's ID"),
        ("invalid_auth", "Copy the app's bot token"),
    ],
)
def test_the_commonest_troubles_say_exactly_what_to_type(error: str, words: str) -> None:
    """What people meet first."""
    assert words in cure(error, destination="slack", webhook=False)


def test_a_redirect_of_the_api_points_to_the_address() -> None:
    """A proxy or a mistyped address, not a channel."""
    error = api_answer(302, None).error
    assert "slack.api_base_url" in cure(error, destination="slack", webhook=False)


@pytest.mark.parametrize("webhook", [True, False])
@pytest.mark.parametrize("error", ["", "unknown error x{at}y", "HTTP", "HTTP 999", "HTTP 200 ok"])
def test_an_unknown_answer_still_says_how_to_go_on(error: str, webhook: bool) -> None:
    """Never an exception, never an empty line."""
    assert len(cure(error, destination="slack", webhook=webhook)) > 40
