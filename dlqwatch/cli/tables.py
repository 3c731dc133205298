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
SPARKS = "▁▂▃▄▅▆▇█"


def utc(ms: int | None) -> str | None:
    """A time for programs: ISO 8601 in UTC, to the millisecond."""
    if ms is None or not has_moment(ms):
        return None
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local(ms: int | None, now: int, *, seconds: bool = False) -> str:
    """A time for people, local with its zone; the year only where it isn't this one."""
    if ms is None or not has_moment(ms):
        return "–"
    at = datetime.fromtimestamp(ms / 1000, UTC).astimezone()
    year = "" if at.year == datetime.fromtimestamp(now / 1000, UTC).astimezone().year else " %Y"
    return at.strftime(f"%-d %b{year} %H:%M{':%S' if seconds else ''} %Z")


def ago(ms: int | None, now: int) -> str:
    """ "12 s ago", "in 3 d 4 h", "now"."""
    if ms is None:
        return "–"
    if abs(now - ms) < 1000:
        return "now"
    return f"{duration(now - ms)} ago" if ms < now else f"in {duration(ms - now)}"


def print_json(value: Any) -> None:
    """For programs. ASCII only, so that no terminal's encoding can spoil it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def console() -> Console:
    """What people read: colours only on a terminal, and none where NO_COLOR is set."""
    from rich.console import Console

    for stream in (sys.stdout, sys.stderr):  # an old encoding must not hide the rest
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # what comes from outside is data: no markup, no emoji codes, nothing guessed
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=False)


Cell = str | tuple[str, str]  # text, or text and its style


def table(
    out: Console, columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: str = ""
) -> None:
    """A plain table. `right`: the columns (by name, with spaces between) that hold numbers."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET)
    for name in columns:
        # what doesn't fit goes on in the next line: a name that is cut can't be searched for
        numbers = name in right.split()
        drawn.add_column(
            name, overflow="fold", justify="right" if numbers else "left", no_wrap=numbers
        )
    for row in rows:
        drawn.add_row(*(Text(*((c, "") if isinstance(c, str) else c)) for c in row))
    out.print(drawn)


def line(out: Console, text: str, style: str = "", *, indent: int = 0) -> None:
    """A sentence, wrapped at the terminal's width, its further lines indented."""
    from rich.padding import Padding
    from rich.text import Text

    out.print(Padding(Text(text, style), (0, 0, 0, indent)))


def sparkline(values: Sequence[int | None]) -> str:
    """A line of bars from 0 to the greatest value; None, where nothing was read, is a gap."""
    most = max((v for v in values if v is not None), default=0)
    top = len(SPARKS) - 1
    return "".join(" " if v is None else SPARKS[-(-v * top // most) if most else 0] for v in values)
