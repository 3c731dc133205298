"""How a place shows the parts of a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlqwatch.words.units import moment, tidy

LONG = 300  # a sentence from outside has more to say than a name


@dataclass(frozen=True, slots=True)
class Ink:
    """How one place shows the parts of a sentence."""

    name: Callable[[str], str]  # a name or a value from outside
    quote: Callable[[str], str]  # a sentence or a command from outside, word for word
    prose: Callable[[str], str]  # our own sentence that may hold names from outside
    strong: Callable[[str], str]
    code: Callable[[str], str]  # a command of ours
    when: Callable[[int], str]  # a moment, ms since 1970


def long(text: str) -> str:
    """Text from outside on one line, as long as a sentence may be."""
    return tidy(text, LONG)


def _same(text: str) -> str:
    return text


PLAIN = Ink(name=tidy, quote=long, prose=long, strong=_same, code=_same, when=moment)
"""For logs and terminals: no markup, moments in UTC."""
