"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.durations import parse_duration, show_duration
from dlqwatch.model import DAY, HOUR, MINUTE, SECOND


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("30s", 30 * SECOND),
        ("90s", 90 * SECOND),
        ("5m", 5 * MINUTE),
        ("4h", 4 * HOUR),
        ("2d", 2 * DAY),
        ("1h30m", 90 * MINUTE),
        ("1d2h3m4s", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND),
        (" 30s\n", 30 * SECOND),
    ],
)
def test_a_duration_is_read_in_milliseconds(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("value", [30, 0, 1.5, "45", "-5", "+5", "2.5"])
def test_a_bare_number_is_asked_for_its_unit(value: object) -> None:
    with pytest.raises(ValueError, match="needs a unit"):
        parse_duration(value)


@pytest.mark.parametrize(
    "value",
    ["", " ", "s", "5 m", "5M", "30sec", "1.5h", "30m1h", "1m1m", "5ms", "٣s", "PT30S", "1:30"],
)
def test_other_spellings_are_refused_with_an_example(value: str) -> None:
    with pytest.raises(ValueError, match='such as "30s", "5m" or "1h30m"'):
        parse_duration(value)


@pytest.mark.parametrize("value", [None, True, False, [], {}, b"30s"])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-5s", "a duration can't be negative: allowed is 1s to 1d"),
        ("0s", "too short: allowed is 1s to 1d"),
        ("1d1s", "too long: allowed is 1s to 1d"),
    ],
)
def test_a_refusal_names_the_allowed_range(text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        parse_duration(text, lowest=SECOND, highest=DAY)
    assert str(refused.value) == words


def test_a_range_without_an_end_is_named_as_such() -> None:
    with pytest.raises(ValueError, match="allowed is 1m or more"):
        parse_duration("59s", lowest=MINUTE)


def test_thousands_of_digits_are_refused_without_being_repeated() -> None:
    with pytest.raises(ValueError, match="expected a duration") as refused:
        parse_duration("9" * 5000 + "s")
    assert "999" not in str(refused.value)


@given(st.integers(0, 10**9))
def test_what_is_shown_is_read_back_the_same(seconds: int) -> None:
    assert parse_duration(show_duration(seconds * SECOND)) == seconds * SECOND


@pytest.mark.parametrize(("ms", "text"), [(0, "0s"), (90 * MINUTE, "1h30m"), (60_000, "1m")])
def test_a_duration_is_shown_in_the_shortest_form(ms: int, text: str) -> None:
    assert show_duration(ms) == text
