"""Numbers into short words: lengths of time, moments, sizes, counts, names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from dlqwatch.model import DAY, HOUR, MINUTE, SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND))
NAME_LIMIT = 80  # a queue's name has at most 63 characters; what is longer came from a mistake


def duration(ms: int) -> str:
    """A length of time in at most two units, rounded down: "2 h 5 min", "3 d", "45 s".

    Seconds are left out from ten minutes on. Below one second, and for a negative length (a clock
    that stepped), it is "less than a second".
    """
    if ms < SECOND:
        return "less than a second"
    if ms >= 10 * MINUTE:
        ms -= ms % MINUTE
    first = next(i for i, (_, size) in enumerate(_UNITS) if ms >= size)
    words = []
    for unit, size in _UNITS[first : first + 2]:
        count, ms = divmod(ms, size)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words)


def moment(ms: int, zone: tzinfo = UTC) -> str:
    """A moment with its zone, to the minute: "2026-11-29 20:58 UTC"."""
    try:
        at = (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone)
    except (OverflowError, ValueError):
        return "an unknown time"
    return f"{at:%Y-%m-%d %H:%M} {at.tzname() or 'UTC'}"


def has_moment(ms: int) -> bool:
    """Whether a calendar has this moment, from 1970 to the year 9999."""
    return 0 <= ms < 253_402_300_800_000


def size(count: int | None) -> str:
    """Bytes in decimal units: "512 B", "4.2 kB"; "unknown" for none or a negative number."""
    if count is None or count < 0:
        return "unknown"
    if count < 1_000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1_000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1_000:,.1f} TB"


def counted(count: int, noun: str) -> str:
    """ "1 row", "3 rows", "1,000 rows"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def letters(count: int, more: str = "") -> str:
    """ "1 dead letter", "3 dead letters", with `more`="more " "2 more dead letters"."""
    return counted(count, f"{more}dead letter")


def tidy(text: str, limit: int = NAME_LIMIT) -> str:
    """Text from outside on one line, visible and no longer than `limit` characters.

    Line breaks, control characters, lone surrogates and marks that turn the direction of writing
    become "�".
    """
    clean = "".join(c if c.isprintable() else "�" for c in text[: limit + 1])
    if len(clean) > limit:
        clean = clean[: limit - 1] + "…"
    return clean if clean.strip() else "(no name)"


def listed(names: Sequence[str], most: int) -> str:
    """The first `most` names as a list for people: "a, b and c", "a, b, c and 57 more"."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
