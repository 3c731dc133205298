"""What a story with deaths in it left behind, held to what was promised (see killing.py)."""

from __future__ import annotations

import re
from collections import Counter

from dlqwatch.model import DestinationKind, NoticeStatus
from dlqwatch.sim.slack import SlackMessage
from tests.killing import Told

REPEAT = "(possible repeat)"
WORDS = (
    ("started", re.compile("dlqwatch .*started")),
    ("again", re.compile("runs again after a crash or a kill")),
    ("resolved", re.compile("is empty again")),
    ("grown", re.compile(r"\d more dead letters? in|more landed in")),
    ("first", re.compile(r"[35] dead letters in")),
)


def first_text(message: SlackMessage) -> str:
    """What it said when it was posted: a card is edited later."""
    return message.edits[0][0] if message.edits else message.text


def word(message: SlackMessage) -> str:
    """Which of the story's words a message is."""
    text = first_text(message)
    return next((name for name, pattern in WORDS if pattern.search(text)), f"odd: {text}")


def broken(told: Told) -> list[str]:
    """Every promise that this story broke, in words; [] if it kept them all."""
    words = Counter(word(m) for m in told.messages)
    wrong = [f"{name} was never told" for name in ("first", "resolved") if not words[name]]
    wrong += [name for name in words if name.startswith("odd")]
    wrong += _copies(told)
    wrong += _history(told, words)
    return wrong


def _copies(told: Told) -> list[str]:
    by_word: dict[str, list[SlackMessage]] = {}
    for message in told.messages:
        by_word.setdefault(word(message), []).append(message)
    extra = sum(len(copies) - 1 for copies in by_word.values())
    if told.kind is DestinationKind.BOT:
        wrong = [f"{name}: {len(c)} copies" for name, c in by_word.items() if len(c) > 1]
        wrong += [f"{name} was never told" for name in ("started", "grown") if name not in by_word]
        card = by_word.get("first", [None])[0]
        if card is not None and word_now(card) != "resolved":
            wrong.append("the card doesn't show the end")
        return wrong
    wrong = []
    if extra > told.deaths + told.lost_answers:
        wrong.append(f"{extra} extra copies for {told.deaths} deaths")
    for name, copies in by_word.items():
        if sum(REPEAT not in first_text(m) for m in copies) > 1:
            wrong.append(f"{name}: a copy that isn't marked")
    return wrong


def word_now(message: SlackMessage) -> str:
    return next((name for name, pattern in WORDS if pattern.search(message.text)), "odd")


def _history(told: Told, words: Counter[str]) -> list[str]:
    wrong = []
    if [(i.peak_depth, i.resolved_at is None) for i in told.incidents] != [(5, False)]:
        wrong.append("history doesn't hold one ended incident with a peak of 5")
    allowed = {NoticeStatus.DELIVERED}
    if told.kind is DestinationKind.WEBHOOK:  # growth may be given up, and told anew later
        allowed.add(NoticeStatus.DEAD)
    attempts: Counter[str] = Counter()
    for notice in told.notices:
        name = str(notice.reason)
        if notice.status not in allowed:
            wrong.append(f"history: {name} is {notice.status}")
        if notice.status is NoticeStatus.DELIVERED and not words[name]:
            wrong.append(f"history: {name} is delivered, and isn't in Slack")
        attempts[name] += sum(d.attempts for d in told.deliveries if d.notice == notice.id)
    wrong += [
        f"history: {name} has {words[name]} copies from {count} attempts"
        for name, count in attempts.items()
        if count < words[name]
    ]
    alive = Counter(str(n.reason) for n in told.notices if n.status is not NoticeStatus.DEAD)
    wrong += [f"history has {n} notices of {name}" for name, n in alive.items() if n > 1]
    wrong += [f"history has no {name}" for name in words if name not in attempts]
    return wrong
