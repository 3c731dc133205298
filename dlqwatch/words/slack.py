"""Slack messages from facts: blocks, the push notification's text, the receipt. Pure, no clock.

Two shapes: a full message (what stands in the channel) and a reply in an incident's thread, which
is its first line, what goes with it and the small print. `text` is what a phone shows: the first
line, that it comes late if it does, and the mentions.

Text from outside is tidied and truncated first and escaped last, stands in a code span wherever
Slack reads markup, and each mrkdwn object is `verbatim`, so that Slack makes no mention or link of
it (docs.slack.dev, formatting-message-text, "Automatic parsing"). Limits of Block Kit hold by
construction: a line that would pass one is left out whole, so no entity or `<…>` is ever cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from dlqwatch.facts import Payload, Telling
from dlqwatch.model import Reason
from dlqwatch.words import en
from dlqwatch.words.facts import is_over
from dlqwatch.words.ink import Ink, long
from dlqwatch.words.units import has_moment, moment, tidy

TEXT_LIMIT = 3_000  # Slack splits a text of about 4,000 into several messages
SECTION_LIMIT = 3_000
FIELD_LIMIT = 2_000
CONTEXT_LIMIT = 3_000
URL_LIMIT = 1_000
MENTIONS_LIMIT = 500
SECTIONS = 3  # Slack refuses blocks that are too long together; the most needed comes first

RECEIPT_EVENT = "dlqwatch_notice"
RECEIPT_KEY = "dlqwatch_key"

# Slack's documented forms: a member, a user group, and three words for everyone.
_MENTION = re.compile(r"<(?:@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!here|!channel|!everyone)>")


def render(telling: Telling) -> Payload:
    """The whole message: a reply is compact, anything else is full."""
    blocks = _sections(telling)
    if not telling.in_thread:
        fields = en.fields(telling, BLOCK)
        if fields:
            texts = (_fit([f"*{title}*", value], FIELD_LIMIT) for title, value in fields)
            blocks.append({"type": "section", "fields": [_mrkdwn(text) for text in texts]})
        links = _links(telling)
        if links:
            blocks.append(_section(_fit([links], SECTION_LIMIT)))
    small = _fit([" · ".join(en.context(telling, BLOCK))], CONTEXT_LIMIT)
    blocks.append({"type": "context", "elements": [_mrkdwn(small)]})
    return Payload(text=_push(telling), blocks=tuple(blocks))


def render_card(telling: Telling) -> Payload:
    """A bot's parent message as it should stand now: the incident's present state, no mentions."""
    return render(
        replace(
            telling,
            reason=Reason.RESOLVED if is_over(telling) else Reason.FIRST,
            created_at=telling.sent_at,
            in_thread=False,
            repeat=False,
            mentions=(),
        )
    )


def render_plain(telling: Telling) -> Payload:
    """One text without blocks: after Slack refused the blocks, or when `render` failed.

    Never raises: the last resort is a fixed sentence.
    """
    try:
        return Payload(
            text=_fit(
                [
                    en.first_line(telling, TEXT),
                    en.late(telling, TEXT),
                    _mentions(telling.mentions),
                    " · ".join(en.context(telling, TEXT)),
                    _links(telling),
                ],
                TEXT_LIMIT,
            )
        )
    except Exception:
        return Payload(text=_fit([en.LAST_RESORT, _mentions(telling.mentions)], TEXT_LIMIT))


def render_test(destination: str, sent_at: int) -> Payload:
    """The marked message of `dlqwatch test-alert`. `destination` is "slack" or "slack.fallback"."""
    block = _section(f"{en.trial_line(destination, BLOCK)}\n{en.trial_note(sent_at, BLOCK)}")
    return Payload(text=en.trial_line(destination, TEXT), blocks=(block,))


def render_newer(what: str, do: str, version: str, at: int) -> Payload:
    """The one message of a start that can't read its database: nothing is watched."""
    block = _section(f"{en.newer_line(version, BLOCK)}\n{en.newer_note(what, do, at, BLOCK)}")
    return Payload(text=en.newer_line(version, TEXT), blocks=(block,))


def receipt(key: str, incident: int | None) -> dict[str, object]:
    """Message metadata by which a bot finds its own message again; `key` is the notice's.

    Every member of the workspace can read it: scalars only, nothing secret.
    """
    payload: dict[str, object] = {RECEIPT_KEY: key}
    if incident is not None:
        payload["incident"] = incident
    return {"event_type": RECEIPT_EVENT, "event_payload": payload}


def receipt_key(metadata: object) -> str | None:
    """The notice's key in a message's metadata as Slack gives it; None where it is not ours."""
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != RECEIPT_EVENT:
        return None
    payload = metadata.get("event_payload")
    key = payload.get(RECEIPT_KEY) if isinstance(payload, Mapping) else None
    return key if isinstance(key, str) else None


# ---- parts of a message


def _sections(telling: Telling) -> list[dict[str, object]]:
    """First line and notes in a few sections; mentions end the first, "…" stands for the rest."""
    mentions = _mentions(telling.mentions)
    texts: list[str] = []
    lines = [en.first_line(telling, BLOCK), *en.notes(telling, BLOCK)]
    while lines and len(texts) < SECTIONS:
        room = SECTION_LIMIT - len(f"\n…\n{mentions}")
        fitting = _fitting(lines, room)
        texts.append("\n".join(lines[:fitting]))
        lines = lines[max(1, fitting) :]
    if lines:
        texts[-1] += "\n…"
    texts[0] = f"{texts[0]}\n{mentions}" if mentions else texts[0]
    return [_section(text) for text in texts if text]


def _fitting(lines: list[str], limit: int) -> int:
    """How many lines, from the first on, fit one below the other."""
    count = total = 0
    while count < len(lines) and total + len(lines[count]) <= limit:
        total += len(lines[count]) + 1
        count += 1
    return count


def _push(telling: Telling) -> str:
    lines = [
        en.first_line(telling, TEXT),
        en.late(telling, TEXT),
        _mentions(telling.mentions),
    ]
    return _fit(lines, TEXT_LIMIT)


def _links(telling: Telling) -> str:
    links = [_link(url, label) for url, label in en.links(telling)]
    return " · ".join(link for link in links if link)


def _mentions(mentions: Iterable[str]) -> str:
    """Whole mentions only, as many as there is room for; anything else is not a mention."""
    kept = ""
    for mention in mentions:
        if _MENTION.fullmatch(mention) and len(kept) + len(mention) < MENTIONS_LIMIT:
            kept = f"{kept} {mention}".strip()
    return kept


def _link(url: str, label: str) -> str:
    """A link, or nothing for what isn't http(s)://host."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return ""
    if not good or len(url) > URL_LIMIT or not url.isprintable() or " " in url:
        return ""
    safe = url.replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")
    return f"<{_escape(safe)}|{label}>"


def _section(text: str) -> dict[str, object]:
    return {"type": "section", "text": _mrkdwn(text)}


def _mrkdwn(text: str) -> dict[str, object]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _fit(lines: Iterable[str], limit: int) -> str:
    """The lines that have something to say, one below the other, while there is room."""
    text = ""
    for line in lines:
        longer = f"{text}\n{line}" if text else line
        if line and len(longer) <= limit:
            text = longer
    return text


# ---- how Slack shows names and moments


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return f"`{text}`"


def _date(ms: int) -> str:
    if not has_moment(ms):
        return moment(ms)
    return f"<!date^{ms // 1000}^{{date_short_pretty}} {{time}}|{moment(ms)}>"


def _foreign(text: str) -> str:
    return _code(_escape(text.replace("`", "'")))


TEXT = Ink(
    name=lambda text: _escape(tidy(text)),
    quote=lambda text: _escape(long(text)),
    prose=lambda text: _escape(long(text)),
    strong=lambda text: text,
    code=lambda text: text,
    when=_date,
)
BLOCK = Ink(
    name=lambda text: _foreign(tidy(text)),
    quote=lambda text: _foreign(long(text)),
    prose=lambda text: _escape(long(text).replace("`", "'")),
    strong=lambda text: f"*{text}*",
    code=_code,
    when=_date,
)
