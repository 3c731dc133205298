"""What each answer of Slack means, as tables; on real sockets: test_outcomes_wire.py."""

from __future__ import annotations

import pytest

from dlqwatch.decide.outcomes import (
    EDITING_FORBIDDEN,
    answer_lost,
    api_answer,
    not_sent,
    webhook_answer,
)
from dlqwatch.model import Outcome

DELIVERED, TEMPORARY, AMBIGUOUS = Outcome.DELIVERED, Outcome.TEMPORARY, Outcome.AMBIGUOUS
PAYLOAD, NEEDS_PERSON, TARGET_GONE = Outcome.PAYLOAD, Outcome.NEEDS_PERSON, Outcome.TARGET_GONE

# ---- the tables, as Slack's pages and public reports have them

API: dict[Outcome, str] = {
    NEEDS_PERSON: """invalid_auth not_authed account_inactive token_revoked token_expired
        missing_scope not_allowed_token_type no_permission access_denied accesslimited
        channel_not_found not_in_channel is_archived restricted_action
        restricted_action_read_only_channel restricted_action_thread_only_channel
        restricted_action_non_threadable_channel ekm_access_denied team_access_not_granted
        two_factor_setup_required enterprise_is_restricted deprecated_endpoint method_deprecated""",
    PAYLOAD: """invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long no_text
        too_many_attachments attachment_payload_limit_exceeded invalid_metadata_format
        invalid_metadata_schema metadata_too_large metadata_must_be_sent_from_app
        markdown_text_conflict invalid_arguments invalid_arg_name invalid_array_arg invalid_charset
        invalid_form_data invalid_post_type""",
    TEMPORARY: """ratelimited rate_limited message_limit_exceeded team_added_to_org
        org_login_required external_channel_migrating""",
    AMBIGUOUS: "internal_error fatal_error service_unavailable request_timeout",
    TARGET_GONE: """message_not_found cant_update_message edit_window_closed is_inactive
        cannot_reply_to_message restricted_action_thread_locked block_mismatch""",
}


@pytest.mark.parametrize(
    ("outcome", "error"), [(o, error) for o, errors in API.items() for error in errors.split()]
)
def test_an_error_of_the_web_api(outcome: Outcome, error: str) -> None:
    answer = api_answer(200, {"ok": False, "error": error})
    assert (answer.outcome, answer.error) == (outcome, error)


WEBHOOK_ROWS: list[tuple[int, str, Outcome]] = [
    (200, "ok", DELIVERED),
    (200, "OK", AMBIGUOUS),
    (200, "ok\n", AMBIGUOUS),
    (200, "", AMBIGUOUS),
    (200, "<html>welcome</html>", AMBIGUOUS),
    (200, '{"ok":true}', AMBIGUOUS),
    (204, "", AMBIGUOUS),
    (302, "", NEEDS_PERSON),
    (307, "", NEEDS_PERSON),
    (400, "invalid_payload", PAYLOAD),
    (400, "no_text", PAYLOAD),
    (400, "user_not_found", PAYLOAD),
    (400, "too_many_attachments", PAYLOAD),
    (400, "invalid_blocks", PAYLOAD),
    (400, "invalid_blocks_format", PAYLOAD),
    (400, "missing_text_or_fallback_or_attachments", PAYLOAD),
    (400, "something_new", NEEDS_PERSON),
    (400, "<html>", NEEDS_PERSON),
    (401, "", NEEDS_PERSON),
    (403, "action_prohibited", NEEDS_PERSON),
    (403, "posting_to_general_channel_denied", NEEDS_PERSON),
    (403, "invalid_token", NEEDS_PERSON),
    (403, "team_disabled", NEEDS_PERSON),
    (404, "channel_not_found", NEEDS_PERSON),
    (404, "no_service", NEEDS_PERSON),
    (404, "no_service_id", NEEDS_PERSON),
    (404, "no_active_hooks", NEEDS_PERSON),
    (404, "no_team", NEEDS_PERSON),
    (408, "", AMBIGUOUS),
    (410, "channel_is_archived", NEEDS_PERSON),
    (413, "", PAYLOAD),
    (429, '{"retry_after":1,"ok":false,"error":"rate_limited"}', TEMPORARY),
    (500, "rollup_error", AMBIGUOUS),
    (502, "<html>", AMBIGUOUS),
    (503, "", AMBIGUOUS),
]


@pytest.mark.parametrize(("status", "body", "outcome"), WEBHOOK_ROWS)
def test_an_answer_of_a_webhook(status: int, body: str, outcome: Outcome) -> None:
    assert webhook_answer(status, body).outcome is outcome


@pytest.mark.parametrize(
    ("status", "data", "outcome"),
    [
        (200, {"ok": True, "ts": "1.2", "channel": "C1"}, DELIVERED),
        (200, {"ok": True}, DELIVERED),
        (200, {"ok": 1}, AMBIGUOUS),
        (200, {"ok": "true"}, AMBIGUOUS),
        (500, {"ok": True}, AMBIGUOUS),
        (200, {}, AMBIGUOUS),
        (200, None, AMBIGUOUS),
        (200, [1], AMBIGUOUS),
        (200, {"ok": False}, AMBIGUOUS),
        (200, {"ok": False, "error": None}, AMBIGUOUS),
        (200, {"ok": False, "error": "Received a response in a non-JSON format"}, AMBIGUOUS),
        (200, {"ok": False, "error": "brand_new_error"}, TEMPORARY),
        (302, {}, NEEDS_PERSON),
        (307, {}, NEEDS_PERSON),
        (401, {}, NEEDS_PERSON),
        (403, None, NEEDS_PERSON),
        (404, None, NEEDS_PERSON),
        (429, {}, TEMPORARY),
        (429, {"ok": False, "error": "ratelimited"}, TEMPORARY),
        (500, {"ok": False, "error": "internal_error"}, AMBIGUOUS),
        (503, None, AMBIGUOUS),
    ],
)
def test_an_answer_of_the_web_api(status: int, data: object, outcome: Outcome) -> None:
    assert api_answer(status, data).outcome is outcome


def test_an_unknown_error_is_named_and_shortened() -> None:
    assert api_answer(200, {"ok": False, "error": "brand_new"}).error == "unknown error brand_new"
    long = api_answer(200, {"ok": False, "error": "x" * 5000})
    assert len(long.error) < 200


def test_an_id_that_can_be_none_is_not_kept() -> None:
    good = api_answer(200, {"ok": True, "channel": "C0123", "ts": "1794000000.000100"})
    assert (good.channel, good.ts) == ("C0123", "1794000000.000100")
    for odd in ("\ud800", "", " ", "1" * 100, 5, None, ["C1"], "a\nb"):
        answer = api_answer(200, {"ok": True, "channel": odd, "ts": odd})
        assert (answer.outcome, answer.channel, answer.ts) == (DELIVERED, "", "")


def test_a_webhooks_words_are_kept_only_where_they_are_a_word() -> None:
    assert webhook_answer(410, "channel_is_archived").error == "HTTP 410 channel_is_archived"
    assert webhook_answer(502, "<html>secret</html>").error == "HTTP 502"


def test_no_connection_is_no_message_and_no_answer_may_be_one() -> None:
    assert not_sent("x").outcome is TEMPORARY
    assert answer_lost("x").outcome is AMBIGUOUS


def test_what_forbids_an_edit_is_of_the_kind_that_leaves_the_message() -> None:
    assert all(api_answer(200, {"ok": False, "error": e}).outcome is TARGET_GONE
               for e in EDITING_FORBIDDEN)  # fmt: skip
