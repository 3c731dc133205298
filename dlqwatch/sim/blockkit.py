"""Slack's documented Block Kit limits for messages: judge a payload, and say whom it would ping.

Lengths are characters. Each problem is worded as Slack words it, with a JSON pointer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

MAX_BLOCKS = 50
MAX_SECTION_TEXT = 3_000
MAX_FIELDS = 10
MAX_FIELD_TEXT = 2_000
MAX_HEADER = 150
MAX_CONTEXT_ELEMENTS = 10
MAX_CONTEXT_TEXT = 3_000
MAX_ACTIONS = 25
MAX_BUTTON_TEXT = 75
MAX_URL = 3_000
MAX_VALUE = 2_000
MAX_ID = 255
MAX_ALT = 2_000
MAX_TITLE = 2_000
MAX_MARKDOWN = 12_000
MAX_ATTACHMENTS = 100
MAX_FOOTER = 300

_UNCHECKED = {"video", "file", "table", "context_actions", "input"}  # allowed, not ours to judge
_RICH = {"rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted"}
_PING = re.compile(r"<(![a-z]+(?:\^[^>|]*)?|@[UW][A-Z0-9]*)(?:\|[^>]*)?>")
_BARE_PING = re.compile(r"(?<![\w`])@(here|channel|everyone)\b")


class _Judge:
    def __init__(self) -> None:
        self.found: list[str] = []
        self.block_ids: set[str] = set()
        self.markdown = 0

    def bad(self, words: str, pointer: str) -> None:
        self.found.append(f"{words} [json-pointer:{pointer}]")

    def only(self, thing: Mapping[str, Any], keys: str, at: str) -> None:
        for key in thing:
            if key not in {"type", *keys.split()}:
                self.bad(f"invalid additional property: {key}", at)

    def words(self, value: Any, most: int, at: str, least: int = 1) -> None:
        if not isinstance(value, str):
            self.bad("must provide a string", at)
        elif len(value) < least:
            self.bad(f"must be more than {least - 1} characters", at)
        elif len(value) > most:
            self.bad(f"must be less than {most + 1} characters", at)

    def optional(self, thing: Mapping[str, Any], key: str, most: int, at: str) -> None:
        if key in thing:
            self.words(thing[key], most, f"{at}/{key}")

    def text(self, value: Any, most: int, at: str, *, plain: bool = False) -> None:
        """A text object."""
        if not isinstance(value, dict):
            self.bad("must provide an object", at)
            return
        kind = value.get("type")
        if kind not in (("plain_text",) if plain else ("plain_text", "mrkdwn")):
            self.bad(f"unsupported type: {kind}", f"{at}/type")
            return
        self.only(value, "text emoji" if kind == "plain_text" else "text verbatim", at)
        self.words(value.get("text"), most, f"{at}/text")

    def url(self, value: Any, at: str) -> None:
        self.words(value, MAX_URL, at)
        if isinstance(value, str):
            try:
                parts = urlsplit(value)
                good = parts.scheme in ("http", "https") and bool(parts.hostname)
            except ValueError:
                good = False
            if not good or re.search(r"\s", value):
                self.bad("Invalid URL", at)

    def blocks(self, value: Any, at: str) -> None:
        if not isinstance(value, list):
            self.bad("must be an array", at)
            return
        if len(value) > MAX_BLOCKS:
            self.bad(f"no more than {MAX_BLOCKS} items allowed", at)
        for number, block in enumerate(value):
            self.block(block, f"{at}/{number}")

    def block(self, block: Any, at: str) -> None:
        if not isinstance(block, dict):
            self.bad("must provide an object", at)
            return
        kind = block.get("type")
        self.optional(block, "block_id", MAX_ID, at)
        block_id = block.get("block_id")
        if isinstance(block_id, str):
            if block_id in self.block_ids:
                self.bad(f"block_id already exists: {block_id}", f"{at}/block_id")
            self.block_ids.add(block_id)
        checks = {
            "section": self.section,
            "header": self.header,
            "context": self.context,
            "actions": self.actions,
            "image": self.image_block,
            "divider": lambda block, at: self.only(block, "block_id", at),
            "markdown": self.markdown_block,
            "rich_text": self.rich_text,
        }
        if isinstance(kind, str) and kind in checks:
            checks[kind](block, at)
        elif kind not in _UNCHECKED:
            self.bad(f"unsupported type: {kind}", f"{at}/type")

    def items(self, block: Mapping[str, Any], key: str, most: int, at: str) -> list[Any]:
        value = block.get(key)
        if not isinstance(value, list):
            self.bad(f"missing required field: {key}", at)
            return []
        if not value:
            self.bad("no less than 1 items allowed", f"{at}/{key}")
        if len(value) > most:
            self.bad(f"no more than {most} items allowed", f"{at}/{key}")
        return value

    def section(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "text fields accessory block_id expand", at)
        if "text" in block:
            self.text(block["text"], MAX_SECTION_TEXT, f"{at}/text")
        elif "fields" not in block:
            self.bad("missing required field: text", at)
        if "fields" in block:
            for number, item in enumerate(self.items(block, "fields", MAX_FIELDS, at)):
                self.text(item, MAX_FIELD_TEXT, f"{at}/fields/{number}")
        if "accessory" in block:
            self.element(block["accessory"], f"{at}/accessory")

    def header(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "text block_id level", at)
        self.text(block.get("text"), MAX_HEADER, f"{at}/text", plain=True)

    def context(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "elements block_id", at)
        for number, item in enumerate(self.items(block, "elements", MAX_CONTEXT_ELEMENTS, at)):
            where = f"{at}/elements/{number}"
            if isinstance(item, dict) and item.get("type") == "image":
                self.image(item, where)
            else:
                self.text(item, MAX_CONTEXT_TEXT, where)

    def actions(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "elements block_id", at)
        seen: set[Any] = set()
        for number, item in enumerate(self.items(block, "elements", MAX_ACTIONS, at)):
            where = f"{at}/elements/{number}"
            self.element(item, where)
            action_id = item.get("action_id") if isinstance(item, dict) else None
            if isinstance(action_id, str):
                if action_id in seen:
                    self.bad(f"action_id already exists: {action_id}", f"{where}/action_id")
                seen.add(action_id)

    def element(self, item: Any, at: str) -> None:
        if not isinstance(item, dict):
            self.bad("must provide an object", at)
            return
        self.optional(item, "action_id", MAX_ID, at)
        if item.get("type") == "image":
            self.image(item, at)
        elif item.get("type") == "button":
            self.only(item, "text url value action_id style confirm accessibility_label", at)
            self.text(item.get("text"), MAX_BUTTON_TEXT, f"{at}/text", plain=True)
            self.optional(item, "value", MAX_VALUE, at)
            self.optional(item, "accessibility_label", 75, at)
            if "url" in item:
                self.url(item["url"], f"{at}/url")
            if item.get("style", "primary") not in ("primary", "danger"):
                self.bad("must be one of: primary, danger", f"{at}/style")
        elif not isinstance(item.get("type"), str):
            self.bad("missing required field: type", at)

    def image(self, item: dict[str, Any], at: str) -> None:
        if ("image_url" in item) is ("slack_file" in item):
            self.bad("must have exactly one of: image_url, slack_file", at)
        if "image_url" in item:
            self.url(item["image_url"], f"{at}/image_url")
        if "alt_text" not in item:
            self.bad("missing required field: alt_text", at)
        self.optional(item, "alt_text", MAX_ALT, at)

    def image_block(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "image_url slack_file alt_text title block_id", at)
        self.image(block, at)
        if "title" in block:
            self.text(block["title"], MAX_TITLE, f"{at}/title", plain=True)

    def markdown_block(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "text block_id", at)
        self.words(block.get("text"), MAX_MARKDOWN, f"{at}/text")
        before, self.markdown = self.markdown, self.markdown + len(str(block.get("text", "")))
        if before <= MAX_MARKDOWN < self.markdown and before:
            self.bad(f"markdown must be less than {MAX_MARKDOWN + 1} characters in total", at)

    def rich_text(self, block: dict[str, Any], at: str) -> None:
        self.only(block, "elements block_id", at)
        for number, item in enumerate(self.items(block, "elements", 1_000, at)):
            kind = item.get("type") if isinstance(item, dict) else None
            if kind not in _RICH:
                self.bad(f"unsupported type: {kind}", f"{at}/elements/{number}/type")


def judge(blocks: Any = None, attachments: Any = None) -> list[str]:
    """What Slack would refuse, in Slack's form: `words [json-pointer:/blocks/0/text/text]`.

    Empty: it would take them. `None` stands for an argument that wasn't sent.
    """
    judge = _Judge()
    if blocks is not None:
        judge.blocks(blocks, "/blocks")
    for number, item in enumerate(attachments or ()):
        at = f"/attachments/{number}"
        if not isinstance(item, dict):
            judge.bad("must provide an object", at)
            continue
        if "blocks" in item:
            judge.blocks(item["blocks"], f"{at}/blocks")
        if "footer" in item:
            judge.words(item["footer"], MAX_FOOTER, f"{at}/footer", least=0)
    return judge.found


def pings(text: str, blocks: Sequence[Mapping[str, Any]] | None = None) -> tuple[str, ...]:
    """Whom a message would notify: `!here`, `!subteam^S1`, `@U1`, …, each once.

    `<!…>` and `<@…>` count in `text` and in mrkdwn; a bare `@here` only in mrkdwn that isn't
    `verbatim`, because there Slack makes a mention of it by itself.
    """
    found = _PING.findall(text)

    def look(thing: Any) -> None:
        if isinstance(thing, list | tuple):
            for item in thing:
                look(item)
        elif isinstance(thing, Mapping):
            kind, words = thing.get("type"), thing.get("text")
            if kind == "mrkdwn" and isinstance(words, str):
                found.extend(_PING.findall(words))
                if not thing.get("verbatim"):
                    found.extend(f"!{name}" for name in _BARE_PING.findall(words))
            named = {"broadcast": ("!", "range"), "user": ("@", "user_id")}
            named["usergroup"] = ("!subteam^", "usergroup_id")
            if kind in named:
                found.append(named[kind][0] + str(thing.get(named[kind][1])))
            for item in thing.values():
                look(item)

    look(list(blocks or ()))
    # <!date^…> tells a time and pings nobody
    return tuple(dict.fromkeys(who for who in found if not who.startswith("!date")))
