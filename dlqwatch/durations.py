"""Lengths of time as people write them: `30s`, `5m`, `4h`, `2d`, `1h30m`. Milliseconds inside."""

from __future__ import annotations

import re

from dlqwatch.model import DAY, HOUR, MINUTE, SECOND

_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND}
# Nine digits are enough for thirty years of seconds, and keep int() cheap.
_DURATION = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)

_EXAMPLES = '"30s", "5m" or "1h30m"'


def parse_duration(value: object, *, lowest: int = 0, highest: int | None = None) -> int:
    """The duration in ms. `lowest` and `highest` are the allowed range, in ms.

    Raises ValueError with words for people; they never repeat the value.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"a duration needs a unit (s, m, h or d) and quotes, such as {_EXAMPLES}")
    if not isinstance(value, str):
        raise ValueError(f"expected a duration such as {_EXAMPLES}")
    text = value.strip()
    if _NUMBER.fullmatch(text):
        raise ValueError(f"a duration needs a unit (s, m, h or d), such as {_EXAMPLES}")
    allowed = f"allowed is {_range(lowest, highest)}"
    if text.startswith("-"):
        raise ValueError(f"a duration can't be negative: {allowed}")
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        raise ValueError(
            f"expected a duration such as {_EXAMPLES}"
            " (whole numbers, the largest unit first: d, h, m, s)"
        )
    parts = zip(match.groups(default="0"), _UNITS.values(), strict=True)
    ms = sum(int(number) * unit for number, unit in parts)
    if ms < lowest:
        raise ValueError(f"too short: {allowed}")
    if highest is not None and ms > highest:
        raise ValueError(f"too long: {allowed}")
    return ms


def show_duration(ms: int) -> str:
    """A duration in the form `parse_duration` reads: `5400000` is `1h30m`. Whole seconds only."""
    left, parts = ms, []
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _range(lowest: int, highest: int | None) -> str:
    if highest is None:
        return f"{show_duration(lowest)} or more"
    return f"{show_duration(lowest)} to {show_duration(highest)}"
