"""When a service says to come back, and text from outside made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.decide.plain import plain
from dlqwatch.decide.retry_after import parse_retry_after
from dlqwatch.model import DAY, HOUR, MINUTE, SECOND

NOW = 1_790_000_000_000


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("0", 0),
        ("3", 3 * SECOND),
        (" 300 ", 300 * SECOND),
        ("1.5", 1_500),
        ("0.0001", 1),
        ("120, 60", 120 * SECOND),
        ("3600", HOUR),
        ("3601", HOUR),
        ("9" * 500, HOUR),
    ],
)
def test_retry_after_in_seconds(value: str, after: int) -> None:
    assert parse_retry_after(value, NOW) == NOW + after


@pytest.mark.parametrize(
    "value",
    [
        "Mon, 21 Sep 2026 13:46:40 GMT",
        "Monday, 21-Sep-26 13:46:40 GMT",
        "Mon Sep 21 13:46:40 2026",
        "Mon, 21 Sep 2026 15:46:40 +0200",
    ],
)
def test_retry_after_as_a_date_in_every_form(value: str) -> None:
    moment = 1_789_998_400_000
    assert parse_retry_after(value, moment - MINUTE) == moment
    assert parse_retry_after(value, moment + MINUTE) == moment + MINUTE, "a past date is now"
    assert parse_retry_after(value, moment - DAY) == moment - DAY + HOUR, "at most an hour"


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        " ",
        "soon",
        "-5",
        "nan",
        "inf",
        "1e3",
        "1_000",
        "٣",
        "5s",
        "3,",
        "Mon, 99 Sep 2026",
    ],
)
def test_a_retry_after_that_says_nothing_is_none(value: str | None) -> None:
    assert parse_retry_after(value, NOW) is None


@given(st.text())
def test_no_retry_after_crashes_or_passes_its_bounds(value: str) -> None:
    at = parse_retry_after(value, NOW)
    assert at is None or NOW <= at <= NOW + HOUR


def test_text_from_outside_is_one_printable_line() -> None:
    assert plain("a\r\n\x1b[31mb\ud800  c\t") == "a [31mb c"
    assert plain("x" * 500, 10) == "x" * 9 + "…"
    assert plain("short", 5) == "short"
