"""A scripted Slack: the Web API's message methods and incoming webhooks.

Answers as Slack documents them: HTTP 200 with `ok` from the Web API, a plain word from a webhook.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from dlqwatch.sim.webapi import WebApiServer
from dlqwatch.sim.wire import Answer, Request
from dlqwatch.sim.workspace import BOT_TOKEN, CHANNEL, SlackError, SlackMessage

__all__ = ["BOT_TOKEN", "CHANNEL", "SimSlack", "SlackMessage"]

_STRUCTURED = ("blocks", "attachments", "metadata")  # JSON inside a form
_HELP = "/docs/messaging/webhooks"
_WEBHOOK_STATUS = {  # what a webhook says, and with which status
    "invalid_token": 403,
    "action_prohibited": 403,
    "channel_not_found": 404,
    "no_service": 404,
    "no_active_hooks": 404,
    "no_team": 404,
    "channel_is_archived": 410,
    "rollup_error": 500,
}


class SimSlack(WebApiServer):
    """Slack at `api_url` (bot) and `webhook_url`. `messages()` is what people would see.

    Switches: `one_per_second` (a channel's second message within a second is a 429),
    `edit_window_s` (older messages can't be edited), `missing_parent` (the error for a reply to a
    message that isn't there; None: it becomes an ordinary message, its answer has no `thread_ts`).
    """

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    # -- HTTP

    def words(self, code: int, request: Request) -> Answer:
        if request.path.startswith("/services/"):
            if code == 429:
                return Answer.of({"retry_after": 1, "ok": False, "error": "rate_limited"})
            word = next((w for w, status in _WEBHOOK_STATUS.items() if status == code), None)
            return Answer.text(word or ("invalid_payload" if code < 500 else "rollup_error"))
        error = "ratelimited" if code == 429 else "internal_error"
        return Answer.of({"ok": False, "error": error})

    def answer(self, request: Request) -> Answer:
        if request.path == _HELP:
            return Answer.text(
                "<!DOCTYPE html><html><body>Sending messages using incoming webhooks</body></html>",
                html=True,
            )
        if request.path.startswith("/services/"):
            return self._webhook(request)
        if not request.path.startswith("/api/"):
            return Answer.text("<!DOCTYPE html><html><body>Not found</body></html>", 404, html=True)
        args = _unpacked(request.args)
        headers: dict[str, str] = {}
        try:
            bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
            token = bearer or str(args.get("token", ""))
            scopes = self._authenticate(token)
            headers = {"x-oauth-scopes": ",".join(sorted(scopes))}
            result = self.call(request.path.removeprefix("/api/"), args, token)
        except SlackError as error:
            if error.retry_after is not None:
                headers["Retry-After"] = str(error.retry_after)
            status = 429 if error.retry_after is not None else 200
            return Answer.of({"ok": False, "error": error.word, **error.more}, status, headers)
        return Answer.of({"ok": True, **result}, headers=headers)

    # -- webhook

    def _webhook(self, request: Request) -> Answer:
        hook = self._hooks.get(request.path)
        if hook is None or request.method != "POST":
            return Answer.text("", 302, html=True, headers={"Location": f"{self.url}{_HELP}"})
        try:
            if hook.error:
                raise SlackError(hook.error)
            channel = self.channels[hook.channel]
            if channel.archived:
                raise SlackError("channel_is_archived")
            sent: Any = request.json
            if "payload" in request.args and sent is None:
                sent = json.loads(request.args["payload"])
            if not request.body:
                raise SlackError("no_text")
            if not isinstance(sent, dict):
                raise SlackError("invalid_payload")
            self._store(channel, sent, via="webhook", author="B0SIMHOOK")
        except ValueError:
            return Answer.text("invalid_payload", 400)
        except SlackError as error:
            if error.retry_after is not None:
                limited = {"retry_after": error.retry_after, "ok": False, "error": "rate_limited"}
                return Answer.of(limited, 429, {"Retry-After": str(error.retry_after)})
            return Answer.text(error.word, _WEBHOOK_STATUS.get(error.word, 400))
        return Answer.text("ok")


def _unpacked(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments with the JSON inside a form read; what can't be read stays a string."""
    for name in _STRUCTURED:
        if isinstance(args.get(name), str):
            with suppress(ValueError):
                args[name] = json.loads(args[name])
    return args
