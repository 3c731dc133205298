"""The header `Retry-After`, in every form it comes in."""

from __future__ import annotations

import math
import re
from datetime import UTC
from email.utils import parsedate_to_datetime

from dlqwatch.model import HOUR, SECOND

LONGEST = HOUR  # a service that asks for more is asked again after this

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")


def parse_http_date(value: str | None) -> int | None:
    """An HTTP date (any of the three forms of RFC 9110) in ms since 1970; None if it is none."""
    try:
        moment = parsedate_to_datetime(value or "")
        if moment.tzinfo is None:  # the asctime form has no zone and means UTC
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * SECOND)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_retry_after(value: str | None, now: int) -> int | None:
    """When the next call may be made, in ms since 1970; None if the header is absent or garbage.

    Whole seconds, seconds with a fraction, an HTTP date; the longest of several, when a proxy
    added its own. Never before `now`, never after `now` + `LONGEST`.
    """
    text = (value or "").strip()
    parts = [part.strip() for part in text.split(",")]
    if all(_SECONDS.fullmatch(part) for part in parts):
        seconds = max(float(part) for part in parts)
        return now + math.ceil(min(seconds * SECOND, LONGEST))
    date = parse_http_date(text)
    return None if date is None else min(max(date, now), now + LONGEST)
