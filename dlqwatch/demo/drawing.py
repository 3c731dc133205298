"""Slack messages drawn in a terminal, from their real blocks, as a person would see them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dlqwatch.sim.slack import SlackMessage

_MARK = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|<(?P<token>[^<>\n]+)>"
    r"|(?<!\w)\*(?P<bold>\S(?:[^*\n]*\S)?)\*(?!\w)"
    r"|(?<!\w)_(?P<italic>\S(?:[^_\n]*\S)?)_(?!\w)"
    r"|(?<!\w)~(?P<strike>\S(?:[^~\n]*\S)?)~(?!\w)"
)
_DATE = re.compile(r"!date\^(?P<at>\d+)\^(?P<form>[^|^]+)(?:\^[^|]*)?\|(?P<fallback>.*)")
_STYLES = {"bold": "bold", "italic": "italic", "strike": "strike"}


def message(shown: SlackMessage, channel: str, now: int) -> RenderableType:
    """One message as it stands in the channel or, indented, in a thread. `now`: ms since 1970."""
    head = Text.assemble(
        ("dlqwatch", "bold"), "  ", (" APP ", "reverse dim"), "  ", (_hour(shown.posted_at), "dim")
    )
    body = list(_body(shown, now))
    if shown.edited_at is not None:
        body.append(Text("(edited)", "dim"))
    if shown.thread_ts is None:
        return Panel(Group(head, *body), title=f"#{channel}", title_align="left")
    where = f"also sent to #{channel}" if shown.reply_broadcast else "in the thread only"
    reply = Panel(Group(head, *body), title=f"↳ reply, {where}", title_align="left")
    return Padding(reply, (0, 0, 0, 4))


def push(shown: SlackMessage, now: int) -> Text:
    """The message as a phone's lock screen shows it: `text` alone."""
    return mrkdwn(shown.text, now)


def mrkdwn(source: str, now: int, style: str = "") -> Text:
    """Slack's markup: weights, code, links, mentions and dates in the reader's own zone."""
    drawn, at = Text(), 0
    for mark in _MARK.finditer(source):
        drawn.append(_unescaped(source[at : mark.start()]), style)
        at = mark.end()
        kind, inside = str(mark.lastgroup), str(mark[str(mark.lastgroup)])
        if kind == "code":
            drawn.append(_unescaped(inside), f"{style} cyan".strip())
        elif kind == "token":
            drawn.append_text(_token(inside, now, style))
        else:
            drawn.append_text(mrkdwn(inside, now, f"{style} {_STYLES[kind]}".strip()))
    return drawn.append(_unescaped(source[at:]), style)


def _body(shown: SlackMessage, now: int) -> Iterator[RenderableType]:
    if shown.blocks is None:
        yield mrkdwn(shown.text, now)
        return
    for block in shown.blocks:
        yield from _block(block, now)


def _block(block: Mapping[str, Any], now: int) -> Iterator[RenderableType]:
    match block:
        case {"type": "header", "text": text}:
            yield Text(str(text["text"]), "bold")
        case {"type": "section"}:
            if "text" in block:
                yield _text(block["text"], now)
            if "fields" in block:
                yield _columns([_text(field, now) for field in block["fields"]])
        case {"type": "context", "elements": elements}:
            small = [_text(element, now, "dim") for element in elements if "text" in element]
            yield Text("  ").join(small)
        case {"type": "divider"}:
            yield Text("─" * 20, "dim")
        case {"type": kind}:  # nothing is left out without a word
            yield Text(f"[{kind}]", "dim")


def _columns(texts: list[Text]) -> Table:
    table = Table.grid(expand=True, padding=(0, 2, 0, 0))
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    for i in range(0, len(texts), 2):
        table.add_row(*texts[i : i + 2])
    return table


def _text(item: Mapping[str, Any], now: int, style: str = "") -> Text:
    if item["type"] == "plain_text":
        return Text(str(item["text"]), style)
    return mrkdwn(str(item["text"]), now, style)


def _token(inside: str, now: int, style: str) -> Text:
    when = _DATE.fullmatch(inside)
    if when:
        return Text(_moment(int(when["at"]), when["form"], now) or when["fallback"], style)
    target, _, label = inside.partition("|")
    if target.startswith(("!", "@", "#")):
        name = label or target.lstrip("!@#").removeprefix("subteam^")
        sign = "#" if target.startswith("#") else "@"
        return Text(f"{sign}{name.lstrip('@#')}", f"{style} bold yellow".strip())
    url = _unescaped(target)
    return Text(_unescaped(label) or url, f"{style} underline blue link {url}".strip())


def _moment(seconds: int, form: str, now: int) -> str | None:
    """A date token in its form; None for a form that isn't known here (its fallback holds)."""
    at = datetime.fromtimestamp(seconds, UTC).astimezone()
    today = datetime.fromtimestamp(now / 1000, UTC).astimezone().date()
    shown = form.replace("{date_short_pretty}", _day(at.date(), today))
    shown = shown.replace("{time}", f"{at:%H:%M}").replace("{time_secs}", f"{at:%H:%M:%S}")
    return None if "{" in shown else shown


def _day(day: date, today: date) -> str:
    pretty = {0: "today", 1: "tomorrow", -1: "yesterday"}.get((day - today) // timedelta(days=1))
    return pretty or f"{day:%b} {day.day}, {day.year}"


def _hour(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC).astimezone():%H:%M}"


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
