"""What a person must do about a Slack destination that refuses, in English. Pure."""

from __future__ import annotations

from dlqwatch.decide.outcomes import Answer
from dlqwatch.model import Outcome
from dlqwatch.words.commands import TRIAL

_BOT = "Put a valid bot token into slack.bot_token (Slack app: OAuth & Permissions)"
_SCOPE = "Give the Slack app the scope {scope} and install it again"
_INVITE = "Invite the app into the channel: /invite @<the app's name>"
_CHANNEL = "Correct slack.channel (the channel's ID, in its details in Slack)"
_UNARCHIVE = "Unarchive the channel in Slack, or name another one"
_WEBHOOK = "Make a new incoming webhook in Slack and put its address into slack.webhook_url"
_ALLOW = "Ask a Slack admin to let the app post into this channel, or name another one"

# The word is looked for in what Slack said; the first that fits.
_CURES: tuple[tuple[str, str], ...] = (
    ("missing_scope", _SCOPE.format(scope="chat:write")),
    ("channel_is_archived", _UNARCHIVE),
    ("is_archived", _UNARCHIVE),
    ("not_in_channel", _INVITE),
    ("404 channel_not_found", _WEBHOOK),
    ("channel_not_found", f"{_CHANNEL}; if it is private: {_INVITE[0].lower()}{_INVITE[1:]}"),
    ("team_not_found", _CHANNEL),
    ("restricted_action", _ALLOW),
    ("posting_to_general_channel_denied", _ALLOW),
    ("action_prohibited", _ALLOW),
    ("no_permission", _ALLOW),
    ("access_denied", _ALLOW),
    ("accesslimited", _ALLOW),
    ("invalid_auth", f"{_BOT}; if it is valid: the app may limit from where it is used"),
    ("not_authed", _BOT),
    ("account_inactive", _BOT),
    ("token_revoked", _BOT),
    ("token_expired", f"{_BOT}, from an app without token rotation"),
    ("not_allowed_token_type", f"{_BOT}: it begins with xoxb-"),
    ("redirected", "Correct slack.api_base_url, or what stands between dlqwatch and Slack"),
    ("unknown_method", "Correct slack.api_base_url"),
    ("no such webhook", _WEBHOOK),
    ("no_service", _WEBHOOK),
    ("no_active_hooks", _WEBHOOK),
    ("no_team", _WEBHOOK),
    ("invalid_token", _WEBHOOK),
)
_OTHER = f"Look the word up in Slack's reference, mend it, then run {TRIAL}"


def cure(error: str) -> str:
    """The next step, one line. `error`: what an attempt or a probe came to."""
    said = next((words for word, words in _CURES if word in error), None)
    if said is None and error.startswith(("HTTP 403", "HTTP 404", "HTTP 410")):
        said = _WEBHOOK
    return said if said is not None else _OTHER


def scope_note(scopes: tuple[str, ...]) -> str:
    """What is missed without scopes that posting doesn't need."""
    return (
        f"{_SCOPE.format(scope=' and '.join(scopes))}: without, dlqwatch can't look a lost answer "
        "up, and sends a marked second copy"
    )


def attempt(answer: Answer) -> tuple[str, str]:
    """What one attempt came to, and the next step ("" where there is nothing to do)."""
    error = answer.error
    match answer.outcome:
        case Outcome.DELIVERED:
            return "confirmed by Slack: the test message is in its channel", ""
        case Outcome.TEMPORARY if "ratelimited" in error or "429" in error:
            return f"Slack asks to wait ({error})", f"Wait a minute, then: {TRIAL}"
        case Outcome.TEMPORARY:
            return f"not sent: {error}", "Check DNS, proxy and firewall of this machine."
        case Outcome.AMBIGUOUS:
            return (
                f"not confirmed: {error}; it may have arrived all the same",
                f"Look into the channel, then: {TRIAL}",
            )
        case Outcome.PAYLOAD:
            return f"Slack refused what the message says: {error}", "This may be a fault: report it"
        case _:
            return f"refused: {error}", f"{cure(error)}. Then: {TRIAL}"
