"""Text from outside made harmless to print, log and store."""

from __future__ import annotations


def plain(text: str, limit: int = 200) -> str:
    """One line of printable characters, at most `limit` long.

    Controls, line breaks and lone surrogates (JSON lets them in, UTF-8 can't hold them) become
    spaces; runs of spaces become one; what is cut off ends in an ellipsis.
    """
    cut = text[: 4 * limit]
    line = " ".join("".join(c if c.isprintable() else " " for c in cut).split())
    return line if len(line) <= limit and cut == text else line[: limit - 1].rstrip() + "…"
