"""slack_sdk's clients, with what bites an alerter taken out.

- No retries of their own: the default handler posts twice when the peer closes after reading.
- Redirects are not followed: Slack answers an unknown webhook with a 302 to a page of help, whose
  200 would look like a sent message, and urllib would carry the bot token to another host.
- Their logger is silent: it writes the webhook's address, a secret, at INFO.
- One shared TLS context: each send would read the CA bundle anew, 20 ms of CPU.
- NO_PROXY is honoured, as by every other client.

`WebClient._perform_urllib_http_request_internal` and `WebhookClient._perform_http_request_internal`
are slack_sdk's own seams for the one HTTP call (3.48); a test fails if a release moves them.
"""

from __future__ import annotations

import logging
from ssl import SSLContext
from typing import Any
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from slack_sdk.web import WebClient
from slack_sdk.webhook import WebhookClient, WebhookResponse

TIMEOUT_S = 5  # a socket operation, not a deadline: the courier's thread has that
BODY_LIMIT = 1 << 20

_silent = logging.getLogger("dlqwatch.slack.wire")
_silent.setLevel(logging.CRITICAL + 1)
_silent.propagate = False


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Never: the answer is the 302 itself."""


def _opener(context: SSLContext) -> OpenerDirector:
    return build_opener(_NoRedirects, HTTPSHandler(context=context))


class BotWire(WebClient):
    """The Web API, one POST a call."""

    def __init__(self, token: str, base_url: str, context: SSLContext) -> None:
        super().__init__(
            token=token,
            base_url=base_url,
            timeout=TIMEOUT_S,
            ssl=context,
            retry_handlers=[],
            logger=_silent,
        )
        self._opener = _opener(context)

    def _perform_urllib_http_request_internal(
        self,
        url: str,  # noqa: ARG002
        req: Request,
    ) -> dict[str, Any]:
        with self._opener.open(req, timeout=self.timeout) as answer:
            body = answer.read(BODY_LIMIT).decode(answer.headers.get_content_charset() or "utf-8")
            return {"status": answer.status, "headers": answer.headers, "body": body}


class WebhookWire(WebhookClient):
    """An incoming webhook, one POST a call."""

    def __init__(self, url: str, context: SSLContext) -> None:
        super().__init__(url=url, timeout=TIMEOUT_S, ssl=context, retry_handlers=[], logger=_silent)
        self._opener = _opener(context)

    def _perform_http_request_internal(self, url: str, req: Request) -> WebhookResponse:
        with self._opener.open(req, timeout=self.timeout) as answer:
            body = answer.read(BODY_LIMIT).decode(answer.headers.get_content_charset() or "utf-8")
            return WebhookResponse(
                url=url, status_code=answer.status, body=body, headers=dict(answer.headers)
            )
