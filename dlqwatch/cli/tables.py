"""How the commands show things: times, JSON, tables. rich is imported only to draw."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dlqwatch.words.units import duration, has_moment

if TYPE_CHECKING:
    from rich.console import Console

GOOD, BAD, WARN, QUIET = "green", "bold red", "yellow", "dim"
KEEP_WIDTH = 12  # a column isn't made narrower than this while another can be …
KEEP_WORD = 32  # … nor than its longest word, up to here: a queue's name stays in one piece
SPARKS = "▁▂▃▄▅▆▇█"


def utc(ms: int | None) -> str | None:
    """A time for programs: ISO 8601 in UTC, to the millisecond."""
    if ms is None or not has_moment(ms):
        return None
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local(ms: int | None, now: int, *, seconds: bool = False, headed: bool = False) -> str:
    """A time for people, local with its zone; the year only where it isn't this one.

    `headed`: the column's head names the zone of now (`zone`), so only another is named again.
    """
    if ms is None or not has_moment(ms):
        return "–"
    at, here = (datetime.fromtimestamp(t / 1000, UTC).astimezone() for t in (ms, now))
    year = "" if at.year == here.year else " %Y"
    named = "" if headed and at.tzname() == here.tzname() else " %Z"
    return at.strftime(f"%-d %b{year} %H:%M{':%S' if seconds else ''}{named}")


def zone(now: int) -> str:
    """The name of the local time zone as it is now."""
    return datetime.fromtimestamp(now / 1000, UTC).astimezone().strftime("%Z")


def ago(ms: int | None, now: int) -> str:
    """ "12 s ago", "in 3 d", "now": in one unit."""
    if ms is None:
        return "–"
    if abs(now - ms) < 1000:
        return "now"
    long = " ".join(duration(abs(now - ms)).split()[:2])
    return f"{long} ago" if ms < now else f"in {long}"


def print_json(value: Any) -> None:
    """For programs. ASCII only, so that no terminal's encoding can spoil it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def console() -> Console:
    """What people read: colours only on a terminal, and none where NO_COLOR is set."""
    from rich.console import Console

    for stream in (sys.stdout, sys.stderr):  # an old encoding must not hide the rest
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich itself would end the process; cli/main.py knows better

    # what comes from outside is data: no markup, no emoji codes, nothing guessed
    return Screen(markup=False, emoji=False, highlight=False)


Cell = str | tuple[str, str]  # text, or text and its style


def table(
    out: Console, columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: str = ""
) -> None:
    """A plain table. `right`: the columns (by name, with spaces between) that hold numbers."""
    from rich.table import Table
    from rich.text import Text

    cells = [[Text(*((c, "") if isinstance(c, str) else c)) for c in row] for row in rows]
    columnwise = list(zip(columns, *(map(str, row) for row in cells), strict=True))
    widths = [max(map(len, column)) for column in columnwise]
    words = [max(len(w) for c in column for w in c.split() or [""]) for column in columnwise]
    gap = 2 if sum(widths) + 2 * len(widths) - 2 <= out.width else 1
    kept = [
        min(width, max(KEEP_WIDTH, min(word, KEEP_WORD)))
        for width, word in zip(widths, words, strict=True)
    ]
    if sum(kept) + gap * (len(kept) - 1) > out.width:
        kept = [1] * len(kept)
    drawn = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style=QUIET)
    for at, name in enumerate(columns):
        numbers = name in right.split()
        drawn.add_column(
            name,
            justify="right" if numbers else "left",
            no_wrap=numbers or kept[at] == widths[at],
            # what doesn't fit goes on in the next line: a name that is cut can't be searched for
            overflow="fold",
            min_width=kept[at],
        )
    for row in cells:
        drawn.add_row(*row)
    out.print(drawn)


def line(out: Console, text: str, style: str = "", *, indent: int = 0) -> None:
    """A sentence. On a terminal it is wrapped, and its further lines stand below its first words;
    elsewhere it stays one line, which can be searched for."""
    from rich.text import Text

    if not out.is_terminal:
        out.print(Text(" " * indent + text, style), soft_wrap=True)
        return
    hang = indent if indent else 2
    for at, part in enumerate(Text(text, style).wrap(out, max(20, out.width - hang))):
        part.rstrip()
        out.print(Text(" " * (hang if at else indent)) + part, soft_wrap=True)


def sparkline(values: Sequence[int | None]) -> str:
    """A line of bars from 0 to the greatest value; None, where nothing was read, is a gap."""
    most = max((v for v in values if v is not None), default=0)
    top = len(SPARKS) - 1
    return "".join(" " if v is None else SPARKS[-(-v * top // most) if most else 0] for v in values)
