"""What each answer of Slack means, in one table.

Names and statuses are from Slack's pages on incoming webhooks, chat.postMessage and
chat.update, and from public reports where the pages are silent. Classify by status first,
words second; a name nobody knows is temporary, tried on, and named loudly in the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dlqwatch.model import Outcome


@dataclass(frozen=True, slots=True)
class Answer:
    """One attempt's end, classified."""

    outcome: Outcome
    error: str = ""  # Slack's own word or our class of failure; never an exception's text
    retry_at: int | None = None
    channel: str = ""
    ts: str = ""
    threaded: bool = True  # False: a reply that Slack made a message of its own


POINTER_LIMIT = 160
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")  # of an error, as Slack writes them
_ID = re.compile(r"[A-Za-z0-9._-]{1,60}")  # a channel's or a message's


def _all(outcome: Outcome, names: str) -> dict[str, Outcome]:
    return dict.fromkeys(names.split(), outcome)


API_ERRORS: Mapping[str, Outcome] = {
    **_all(
        Outcome.NEEDS_PERSON,
        "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope "
        "not_allowed_token_type no_permission access_denied accesslimited channel_not_found "
        "not_in_channel is_archived restricted_action restricted_action_read_only_channel "
        "restricted_action_thread_only_channel restricted_action_non_threadable_channel "
        "ekm_access_denied team_access_not_granted two_factor_setup_required "
        "enterprise_is_restricted deprecated_endpoint method_deprecated team_not_found "
        "invalid_token unknown_method",
    ),
    **_all(
        Outcome.PAYLOAD,
        "invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long no_text "
        "too_many_attachments attachment_payload_limit_exceeded invalid_metadata_format "
        "invalid_metadata_schema metadata_too_large metadata_must_be_sent_from_app "
        "markdown_text_conflict invalid_arguments invalid_arg_name invalid_array_arg "
        "invalid_charset invalid_form_data invalid_post_type missing_post_type",
    ),
    **_all(
        Outcome.TEMPORARY,
        "ratelimited rate_limited message_limit_exceeded team_added_to_org org_login_required "
        "external_channel_migrating",
    ),
    # the pages say of fatal_error that part of it may have succeeded
    **_all(Outcome.AMBIGUOUS, "internal_error fatal_error service_unavailable request_timeout"),
    **_all(
        Outcome.TARGET_GONE,
        "message_not_found cant_update_message edit_window_closed is_inactive "
        "cannot_reply_to_message restricted_action_thread_locked block_mismatch thread_not_found",
    ),
}

# The edit is refused for good, but the message is still there.
EDITING_FORBIDDEN = frozenset({"cant_update_message", "edit_window_closed", "block_mismatch"})

WEBHOOK_PAYLOAD = frozenset(
    {
        "invalid_payload",
        "no_text",
        "too_many_attachments",
        "invalid_blocks",
        "invalid_blocks_format",
        "missing_text_or_fallback_or_attachments",
        "user_not_found",
        "msg_too_long",
    }
)


def webhook_answer(status: int, body: str, retry_at: int | None = None) -> Answer:
    """An incoming webhook's answer. Delivered is status 200 and a body of exactly `ok`."""
    word = body.strip()
    name = word if word and len(word) <= 60 and word.replace("_", "").isalnum() else ""
    error = f"HTTP {status}" + (f" {name}" if name else "")
    if status == 200:
        if body == "ok":
            return Answer(Outcome.DELIVERED)
        return Answer(Outcome.AMBIGUOUS, f"{error}: the body is not Slack's `ok`")
    if status == 429:
        return Answer(Outcome.TEMPORARY, error, retry_at)
    if 300 <= status < 400:  # an unknown webhook is redirected to a page of help
        return Answer(Outcome.NEEDS_PERSON, f"{error}: no such webhook")
    if status in (408,) or status >= 500 or status < 200:
        return Answer(Outcome.AMBIGUOUS, error, retry_at)
    if 400 <= status < 500:
        if name in WEBHOOK_PAYLOAD or status == 413:
            return Answer(Outcome.PAYLOAD, error)
        return Answer(Outcome.NEEDS_PERSON, error)
    return Answer(Outcome.AMBIGUOUS, error)


def api_answer(status: int, data: object, retry_at: int | None = None) -> Answer:
    """A Web API method's answer. Delivered is HTTP 200 with `ok: true`."""
    if status == 429:
        return Answer(Outcome.TEMPORARY, "ratelimited", retry_at)
    if 300 <= status < 400:
        return Answer(Outcome.NEEDS_PERSON, f"HTTP {status}: redirected")
    body = data if isinstance(data, Mapping) else {}
    error = body.get("error")
    if status == 200 and body.get("ok") is True:
        message = body.get("message")
        threaded = isinstance(message, Mapping) and bool(message.get("thread_ts"))
        return Answer(
            Outcome.DELIVERED,
            channel=_id(body.get("channel")),
            ts=_id(body.get("ts")),
            threaded=threaded,
        )
    if isinstance(error, str) and error in API_ERRORS:
        outcome = API_ERRORS[error]
        where = _pointer(body) if outcome is Outcome.PAYLOAD else ""
        return Answer(outcome, f"{error}: {where}" if where else error, retry_at)
    # slack_sdk makes such a body of anything that isn't JSON, with a sentence as its error
    if status == 200 and body.get("ok") is False and _NAME.fullmatch(str(error)):
        return Answer(Outcome.TEMPORARY, f"unknown error {error}", retry_at)
    if status in (401, 403, 404, 410):
        return Answer(Outcome.NEEDS_PERSON, f"HTTP {status}")
    return Answer(Outcome.AMBIGUOUS, f"HTTP {status}: not an answer of Slack's Web API")


@dataclass(frozen=True, slots=True)
class Probe:
    """What can be told of a destination without posting.

    Its outcome: delivered (nothing speaks against it), needs a person, or temporary (not known).
    """

    answer: Answer
    about: str = ""  # what was found there, for people: the channel's name, the team
    lacks: tuple[str, ...] = ()  # scopes for looking lost answers up; posting works without


def webhook_probe(status: int, body: str, retry_at: int | None = None) -> Probe:
    """An empty POST's answer. Only a redirect, 403, 404 and 410 say that a webhook is broken."""
    answer = webhook_answer(status, body, retry_at)
    if 300 <= status < 400 or status in (403, 404, 410):
        return Probe(answer)
    if status in (200, 400):  # 400: the webhook is there and refuses the empty message
        return Probe(Answer(Outcome.DELIVERED))
    return Probe(Answer(Outcome.TEMPORARY, answer.error, answer.retry_at))


def bot_probe(
    auth: Answer,
    identity: Mapping[str, object],
    info: Answer,
    channel: Mapping[str, object],
    scopes: frozenset[str] | None,
) -> Probe:
    """What auth.test and conversations.info say together.

    `scopes` None: Slack did not list them. conversations.info needs a scope that posting doesn't:
    without it the channel is only known once something was posted.
    """
    names = [str(identity[k]) for k in ("user", "team") if identity.get(k)]
    about = " in ".join(names)
    if channel.get("name"):
        about = f"#{channel['name']}, as {about}" if about else f"#{channel['name']}"
    lacks = () if scopes is None else _lacking(scopes, channel.get("is_private"))

    def judged(outcome: Outcome, error: str = "", retry_at: int | None = None) -> Probe:
        return Probe(Answer(outcome, error, retry_at), about, lacks)

    for answer in (auth, info):
        unsure = answer is info and answer.error == "missing_scope"
        if answer.outcome is Outcome.NEEDS_PERSON and not unsure:
            return judged(Outcome.NEEDS_PERSON, answer.error)
        if answer.outcome not in (Outcome.DELIVERED, Outcome.NEEDS_PERSON):
            return judged(Outcome.TEMPORARY, answer.error, answer.retry_at)
    if scopes is not None and "chat:write" not in scopes:
        return judged(Outcome.NEEDS_PERSON, "missing_scope")
    if channel.get("is_archived") is True:
        return judged(Outcome.NEEDS_PERSON, "is_archived")
    public = channel.get("is_private") is not True
    anywhere = public and (scopes is None or "chat:write.public" in scopes)
    if channel.get("is_member") is False and not anywhere:
        return judged(Outcome.NEEDS_PERSON, "not_in_channel")
    return judged(Outcome.DELIVERED)


def _lacking(scopes: frozenset[str], private: object) -> tuple[str, ...]:
    """The scopes that are missing for reading a channel and its history."""
    kind = "groups" if private is True else "channels"
    if private is None and any(s.startswith("groups:") for s in scopes):
        kind = "groups"  # which kind of channel it is could not be read
    return tuple(s for s in (f"{kind}:read", f"{kind}:history") if s not in scopes)


def _pointer(body: Mapping[str, object]) -> str:
    """What Slack finds wrong with a message, and where: its first complaint, shortened."""
    told = body.get("response_metadata")
    said = told.get("messages") if isinstance(told, Mapping) else None
    first = said[0] if isinstance(said, list) and said else ""
    printable = "".join(c if c.isprintable() else " " for c in str(first))
    return printable.removeprefix("[ERROR]").strip()[:POINTER_LIMIT]


def _id(value: object) -> str:
    """An ID that can be kept and sent back; "" for what is none (no card is made of that)."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def not_sent(what: str) -> Answer:
    """The request can't have reached Slack: no connection, no name."""
    return Answer(Outcome.TEMPORARY, what)


def answer_lost(what: str) -> Answer:
    """The request may have reached Slack; its answer did not reach us."""
    return Answer(Outcome.AMBIGUOUS, what)
