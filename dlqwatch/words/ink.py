"""How a place shows the parts of a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlqwatch.words.units import moment, tidy


@dataclass(frozen=True, slots=True)
class Ink:
    """How one place shows the parts of a sentence."""

    name: Callable[[str], str]  # text from outside
    strong: Callable[[str], str]
    code: Callable[[str], str]  # a command
    when: Callable[[int], str]  # a moment, ms since 1970


def _same(text: str) -> str:
    return text


PLAIN = Ink(name=tidy, strong=_same, code=_same, when=moment)
"""For logs and terminals: no markup, moments in UTC."""
