"""What a person must do at Slack before a destination works again, in English."""

from __future__ import annotations

import re

from dlqwatch.decide.outcomes import Answer
from dlqwatch.model import Outcome
from dlqwatch.words.commands import TRIAL

_PASTE = (
    "Copy the app's bot token (xoxb-…, api.slack.com/apps, OAuth & Permissions) into {at}.bot_token"
)
_ADMIN = "Ask a Slack workspace admin to {admin}, or take another channel in {at}.channel"
_HOOK = (
    "Make a new incoming webhook in the Slack app, for a channel that exists, and put its address "
    "into {at}.webhook_url"
)
_OUTDATED = "Look at {at}.api_base_url, then for a newer dlqwatch: Slack doesn't know this call"


def _admin(what: str) -> str:
    return _ADMIN.replace("{admin}", what)


_API = {
    "invalid_auth": f"{_PASTE}; if it is right, the app doesn't allow this host's address",
    "not_authed": _PASTE,
    "invalid_token": _PASTE,
    "account_inactive": f"The app was removed or its user switched off: install it again. {_PASTE}",
    "token_revoked": f"The token was revoked: install the app again to make a new one. {_PASTE}",
    "token_expired": f"Tokens of this app expire (token rotation): make an app without. {_PASTE}",
    "not_allowed_token_type": f"This is another kind of token. {_PASTE}",
    "missing_scope": "Give the Slack app the scopes chat:write, channels:read and channels:history "
    "(groups:read and groups:history for a private channel), and install it again",
    "no_permission": _admin("let the app post"),
    "access_denied": _admin("let the app post"),
    "accesslimited": _admin("let the app into this workspace"),
    "channel_not_found": "Look at {at}.channel: it must be the channel's ID (C…), in the app's own "
    "workspace; a private channel must invite the app: /invite @app",
    "not_in_channel": "Invite the app into the channel: type /invite @app there",
    "is_archived": "The channel is archived: unarchive it, or take another in {at}.channel",
    "restricted_action": _admin("let the app post in this channel"),
    "restricted_action_read_only_channel": _admin("let the app post: the channel is read-only"),
    "restricted_action_thread_only_channel": _admin("let the app post outside of threads"),
    "restricted_action_non_threadable_channel": _admin("allow threads in this channel"),
    "ekm_access_denied": _admin("give the encryption keys of this channel back"),
    "team_access_not_granted": _admin("grant the app to this workspace of the organisation"),
    "team_not_found": "The token is of a whole organisation: install the app in the channel's "
    "workspace, and put that bot token into {at}.bot_token",
    "two_factor_setup_required": _admin("set two-factor sign-in up for the app's owner"),
    "enterprise_is_restricted": _admin("allow the app in the organisation"),
    "deprecated_endpoint": _OUTDATED,
    "method_deprecated": _OUTDATED,
    "unknown_method": _OUTDATED,
}
_WEBHOOK = {
    "invalid_token": _HOOK,
    "no_service": f"The webhook was removed or switched off. {_HOOK}",
    "no_service_id": f"The address has no webhook in it. {_HOOK}",
    "no_active_hooks": f"The webhook was removed or switched off. {_HOOK}",
    "no_team": f"The workspace is gone. {_HOOK}",
    "team_disabled": f"The workspace is switched off. {_HOOK}",
    "channel_not_found": f"The webhook's channel is gone. {_HOOK}",
    "channel_is_archived": f"The channel is archived: unarchive it. Or: {_HOOK}",
    "action_prohibited": "A workspace admin has limited who may post there: ask one to let the "
    f"webhook post. Or: {_HOOK}",
    "posting_to_general_channel_denied": f"The webhook may not post in #general. {_HOOK}",
}
_STATUSES = {
    401: f"Slack refuses. {_HOOK}",
    403: f"Slack refuses: the webhook was revoked, or may not post there. {_HOOK}",
    404: f"The webhook doesn't exist any more. {_HOOK}",
    410: f"The webhook's channel is gone or archived: unarchive it. Or: {_HOOK}",
}
_NO_SUCH_HOOK = f"Slack knows no such webhook: the address is mistyped or old. {_HOOK}"
_NO_SUCH_API = (
    "Look at {at}.api_base_url (https://slack.com/api/), and whether a proxy or a sign-in page "
    "stands between"
)
_UNKNOWN = "Look Slack's word up at docs.slack.dev, mend it, and run " + TRIAL

_HTTP = re.compile(r"HTTP (\d{3})(?: (\w+))?")


def cure(error: str, *, destination: str, webhook: bool | None = None) -> str:
    """One sentence of what a person must do about `error`, as decide/outcomes.py words it.

    `destination`: "slack" or "slack.fallback", as the configuration names it. An error that isn't
    known has a general answer. `webhook` None: told by the error. Plain text, no secret.
    """
    if webhook is None:
        webhook = error.startswith("HTTP ") and not error.endswith("redirected")
    return f"{_sentence(error, webhook).replace('{at}', destination)}."


def _sentence(error: str, webhook: bool) -> str:
    http = _HTTP.match(error)
    if not webhook:
        return _NO_SUCH_API if http else _API.get(error, _UNKNOWN)
    status, word = (int(http[1]), http[2] or "") if http else (0, error)
    if word in _WEBHOOK:
        return _WEBHOOK[word]
    if 300 <= status < 400:
        return _NO_SUCH_HOOK
    return _STATUSES.get(status, _HOOK if 400 <= status < 500 else _UNKNOWN)


def scope_note(scopes: tuple[str, ...]) -> str:
    """What is missed without scopes that posting doesn't need."""
    wanted = " and ".join(scopes)
    return (
        f"Give the Slack app the scope {wanted} and install it again: without, dlqwatch can't "
        "look a lost answer up, and sends a marked second copy"
    )


def attempt(answer: Answer, *, destination: str, webhook: bool | None = None) -> tuple[str, str]:
    """What one attempt came to, and the next step ("" where there is nothing to do)."""
    error = answer.error
    said = cure(error, destination=destination, webhook=webhook)
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
            return f"refused: {error}", f"{said} Then: {TRIAL}"
