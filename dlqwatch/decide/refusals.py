"""Whether Cloudflare answered, and if not, why: a closed set of reasons.

Decided by the HTTP status first, then by `errors[].code`, and never by the words. The
envelope and the codes: Cloudflare's API reference, its page on Queues' error codes, and public
reports where those are silent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from dlqwatch.decide.plain import plain
from dlqwatch.decide.retry_after import parse_retry_after
from dlqwatch.errors import CloudflareAnswer, CloudflareError
from dlqwatch.model import MINUTE, SampleReason

BLOCK = 5 * MINUTE  # how long Cloudflare's limit blocks when it doesn't say

# a header that is missing or malformed is refused with 400, not 401
TOKEN_CODES = frozenset({1000, 1001, 6003, 6103, 6111, 9106, 9109, 10000, 10106})
QUEUE_CODES = frozenset({10104, 10107})  # no such queue; not an id of a queue

_PERSON = {
    SampleReason.BAD_TOKEN: (
        "Check the API token: it must be active, belong to this account and have the permission "
        "Queues Read (a wrong token and a missing permission look the same from outside)."
    ),
    SampleReason.BAD_ACCOUNT: "Check cloudflare.account_id: Cloudflare has no such account.",
    SampleReason.QUEUE_GONE: (
        "The queue was deleted, or made anew under another id: it is looked up by its name again. "
        "If it is gone, create it, or take it out of [[queues]]."
    ),
    SampleReason.RATE_LIMITED: (
        "No call is made until the block is over. The limit of 1,200 calls in 5 minutes is shared "
        "by everything the token's owner does; a token owned by the account has its own."
    ),
    SampleReason.REDIRECTED: (
        "Redirects aren't followed. Check cloudflare.api_base_url, and whether a proxy or a "
        "sign-in page stands between."
    ),
    SampleReason.SERVER_ERROR: (
        "Cloudflare, or a proxy before it, has trouble: asked again at the next poll. See "
        "www.cloudflarestatus.com."
    ),
    SampleReason.NOT_JSON: (
        "This isn't Cloudflare's API talking. Check cloudflare.api_base_url, and whether a proxy "
        "or a sign-in page stands between."
    ),
    SampleReason.REFUSED: (
        "Asked again at the next poll. Cloudflare's support can look the ray id up."
    ),
}
_PERSON_BY_CODE = {
    10252: "Queues is disabled for this account: look at the account's plan and billing.",
    10253: "The free plan's operations of today are used up: they come back at midnight UTC, or "
    "with a paid plan.",
}


def open_envelope(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    doing: str,
    now: int,
    secret: str,
) -> Mapping[str, object]:
    """Cloudflare's envelope (`result`, `result_info`) of an answer that is a success.

    `headers` with names in lower case; `doing` names the call for people; `secret`
    is taken out of what is quoted, because a proxy may echo what it was sent. A success is a 2xx,
    `success` true and `errors` empty: the documentation's own sample of an error says
    `success: true`. Raises CloudflareError for everything else.
    """
    is_json, parsed = _parse(body)
    envelope = parsed if isinstance(parsed, dict) else {}
    errors = envelope.get("errors")
    if 200 <= status < 300 and envelope.get("success") is True and not errors:
        return envelope
    codes, words = _codes_and_words(errors)
    answered = envelope.get("success") is False or bool(codes or words)
    answer = CloudflareAnswer(
        status=status,
        code=codes[0] if codes else None,
        message=plain("; ".join(words[:3]).replace(secret, "***")),
        ray=plain(headers.get("cf-ray", ""), 40),
    )
    reason = _reason(status, frozenset(codes), is_json, answered, "cf-mitigated" in headers)
    said = answer.message
    if not said and is_json:
        said = 'an answer without "success": true'
    elif not said:
        said = f"{plain(headers.get('content-type', ''), 40) or 'something'} instead of JSON"
    retry_at = None
    if reason is SampleReason.RATE_LIMITED:
        retry_at = parse_retry_after(headers.get("retry-after"), now)
        retry_at = now + BLOCK if retry_at is None else retry_at
    raise CloudflareError(
        reason,
        f"{doing}: HTTP {status}"
        + (f", code {answer.code}" if answer.code is not None else "")
        + f": {said}"
        + (f" (ray {answer.ray})" if answer.ray else ""),
        next((_PERSON_BY_CODE[c] for c in codes if c in _PERSON_BY_CODE), _PERSON[reason]),
        answer=answer,
        retry_at=retry_at,
    )


def _reason(
    status: int, codes: frozenset[int], is_json: bool, answered: bool, mitigated: bool
) -> SampleReason:
    """`answered`: the body is Cloudflare's own error envelope. Only that makes a 401, 403 or
    404 a matter of our token or account; as HTML they are an outage."""
    if 200 <= status < 300:
        return SampleReason.REFUSED if is_json else SampleReason.NOT_JSON
    if 300 <= status < 400:
        return SampleReason.REDIRECTED
    if status == 429:
        return SampleReason.RATE_LIMITED
    if status >= 500 or mitigated:  # mitigated: a firewall's challenge, not the API
        return SampleReason.SERVER_ERROR
    if not answered:
        return SampleReason.NOT_JSON
    if status in (401, 403) or codes & TOKEN_CODES:
        return SampleReason.BAD_TOKEN
    if codes & QUEUE_CODES:
        return SampleReason.QUEUE_GONE
    return SampleReason.BAD_ACCOUNT if status == 404 else SampleReason.REFUSED


def _parse(body: bytes) -> tuple[bool, object]:
    try:
        return True, json.loads(body)
    except (ValueError, RecursionError):
        return False, None


def _codes_and_words(errors: object) -> tuple[list[int], list[str]]:
    """All codes (a chain's too, after its head) and messages of `errors`, tolerantly."""
    codes: list[int] = []
    words: list[str] = []
    for error in errors if isinstance(errors, list) else ():
        if not isinstance(error, dict):
            continue
        code, message = error.get("code"), error.get("message")
        if isinstance(code, int) and not isinstance(code, bool):
            codes.append(code)
        if isinstance(message, str) and message.strip():
            words.append(message)
        deeper_codes, _ = _codes_and_words(error.get("error_chain"))
        codes.extend(deeper_codes)
    return codes, words
