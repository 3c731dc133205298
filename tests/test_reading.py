"""What Cloudflare's numbers mean: never a calm zero out of nonsense."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.decide.reading import (
    Consumer,
    Producer,
    QueueSettings,
    failed,
    nearest_names,
    read_metrics,
    read_queue,
    read_token,
)
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.model import DAY, HOUR, MINUTE, Sample, SampleKind, SampleReason

NOW = 1_790_000_000_000


def metrics(
    count: object = 7, size: object = 512, oldest: object = NOW - HOUR
) -> dict[str, object]:
    return {
        "backlog_count": count,
        "backlog_bytes": size,
        "oldest_message_timestamp_ms": oldest,
    }


def test_a_count_with_an_age_is_complete() -> None:
    assert read_metrics(metrics(), NOW) == Sample(
        NOW, SampleKind.COMPLETE, depth=7, bytes=512, oldest_at=NOW - HOUR
    )


def test_three_zeros_are_a_complete_empty_queue() -> None:
    assert read_metrics(metrics(0, 0, 0), NOW) == Sample(
        NOW, SampleKind.COMPLETE, depth=0, bytes=0, oldest_at=None
    )


@pytest.mark.parametrize(
    ("count", "depth"), [(7, 7), (7.0, 7), (2.5, 3), (0.2, 1), (1e9, 10**9), (1, 1)]
)
def test_a_count_is_rounded_up_never_down_to_empty(count: object, depth: int) -> None:
    sample = read_metrics(metrics(count), NOW)
    assert (sample.kind, sample.depth) == (SampleKind.COMPLETE, depth)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_zero_in_any_spelling_is_zero(zero: object) -> None:
    sample = read_metrics(metrics(zero, zero, zero), NOW)
    assert (sample.kind, sample.depth) == (SampleKind.COMPLETE, 0)


@pytest.mark.parametrize(
    "count",
    [
        None,
        "7",
        "",
        True,
        False,
        -1,
        -0.5,
        1e30,
        10**9 + 1,
        10**400,
        math.nan,
        math.inf,
        -math.inf,
        [],
        {},
        {"value": 7},
    ],
    ids=lambda value: repr(value)[:12],
)
def test_a_count_that_cannot_be_true_is_a_failure_that_names_the_key(count: object) -> None:
    sample = read_metrics(metrics(count), NOW)
    assert (sample.kind, sample.reason) == (SampleKind.FAILED, SampleReason.NONSENSE)
    assert (sample.depth, sample.bytes, sample.oldest_at) == (None, None, None)
    assert "backlog_count" in sample.detail
    assert len(sample.detail) <= 200


def test_a_count_that_is_missing_is_a_failure() -> None:
    fields = metrics()
    del fields["backlog_count"]
    sample = read_metrics(fields, NOW)
    assert (sample.kind, sample.reason) == (SampleKind.FAILED, SampleReason.NONSENSE)
    assert sample.detail == "backlog_count is missing"


@pytest.mark.parametrize("result", [None, [], "ok", 7, True])
def test_a_result_that_is_no_object_is_a_failure(result: object) -> None:
    sample = read_metrics(result, NOW)
    assert (sample.kind, sample.reason) == (SampleKind.FAILED, SampleReason.NONSENSE)


def test_python_json_of_nan_is_a_failure_too() -> None:
    sample = read_metrics(json.loads('{"backlog_count": NaN}'), NOW)
    assert sample.kind is SampleKind.FAILED


@pytest.mark.parametrize("size", [None, "9", True, -1, math.nan, math.inf, 1e30, []])
def test_nonsense_bytes_leave_a_partial_sample(size: object) -> None:
    sample = read_metrics(metrics(size=size), NOW)
    assert (sample.kind, sample.reason) == (SampleKind.PARTIAL, SampleReason.BYTES_UNKNOWN)
    assert (sample.depth, sample.bytes, sample.oldest_at) == (7, None, NOW - HOUR)
    assert "backlog_bytes" in sample.detail


def test_missing_bytes_leave_a_partial_sample_even_of_an_empty_queue() -> None:
    fields = metrics(0, 0, 0)
    del fields["backlog_bytes"]
    sample = read_metrics(fields, NOW)
    assert (sample.kind, sample.reason) == (SampleKind.PARTIAL, SampleReason.BYTES_UNKNOWN)
    assert sample.depth == 0


@pytest.mark.parametrize("oldest", [0, 0.0, None, "none", True, -1, math.nan])
def test_an_oldest_time_of_zero_or_nonsense_is_an_unknown_age_not_56_years(oldest: object) -> None:
    sample = read_metrics(metrics(oldest=oldest), NOW)
    assert (sample.kind, sample.reason) == (SampleKind.PARTIAL, SampleReason.AGE_UNKNOWN)
    assert (sample.depth, sample.bytes, sample.oldest_at) == (7, 512, None)
    assert "oldest_message_timestamp_ms" in sample.detail


@pytest.mark.parametrize("oldest", [NOW + MINUTE + 1, NOW + DAY, 1e30])
def test_an_oldest_time_in_the_future_is_partial(oldest: object) -> None:
    sample = read_metrics(metrics(oldest=oldest), NOW)
    assert (sample.kind, sample.reason) == (SampleKind.PARTIAL, SampleReason.AGE_IN_FUTURE)
    assert (sample.depth, sample.oldest_at) == (7, None)


@pytest.mark.parametrize("ahead", [1, MINUTE])
def test_an_oldest_time_a_little_ahead_of_our_clock_is_now(ahead: int) -> None:
    sample = read_metrics(metrics(oldest=NOW + ahead), NOW)
    assert (sample.kind, sample.oldest_at) == (SampleKind.COMPLETE, NOW)


@pytest.mark.parametrize(
    ("size", "oldest"), [(9, 0), (0, NOW - HOUR), (9, NOW - HOUR), (0.5, 0), (0, NOW + DAY)]
)
def test_an_empty_count_beside_bytes_or_an_age_is_partial(size: object, oldest: object) -> None:
    sample = read_metrics(metrics(0, size, oldest), NOW)
    assert (sample.kind, sample.reason) == (SampleKind.PARTIAL, SampleReason.EMPTY_WITH_REMAINS)
    assert sample.depth == 0
    assert sample.oldest_at is None or sample.oldest_at <= NOW


def test_an_empty_count_with_an_unreadable_age_does_not_close_anything() -> None:
    sample = read_metrics(metrics(0, 0, None), NOW)
    assert (sample.kind, sample.depth) == (SampleKind.PARTIAL, 0)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
_KEYS = ("backlog_count", "backlog_bytes", "oldest_message_timestamp_ms")


@given(st.dictionaries(st.sampled_from(_KEYS), _ANY) | _ANY)
def test_whatever_comes_is_a_sample_that_fits_its_kind(result: object) -> None:
    sample = read_metrics(result, NOW)
    assert (sample.depth is None) is (sample.kind is SampleKind.FAILED)
    assert (sample.reason is None) is (sample.kind is SampleKind.COMPLETE)
    assert sample.oldest_at is None or 0 < sample.oldest_at <= NOW
    sample.detail.encode()
    if sample.kind is SampleKind.COMPLETE and sample.depth == 0:
        assert isinstance(result, dict)
        assert [result[key] for key in _KEYS] == [0, 0, 0]


def test_a_failed_sample_keeps_why_and_no_depth() -> None:
    error = CloudflareError(SampleReason.SERVER_ERROR, "reading the depth: HTTP 502 (ray 8a)", "x")
    assert failed(error, NOW) == Sample(
        NOW,
        SampleKind.FAILED,
        reason=SampleReason.SERVER_ERROR,
        detail="reading the depth: HTTP 502 (ray 8a)",
    )


def test_a_failed_sample_of_a_queue_that_is_not_listed_names_the_nearest() -> None:
    sample = failed(QueueNotListed("a-dql", ("a-dlq",), 3), NOW)
    assert sample.reason is SampleReason.QUEUE_NOT_LISTED
    assert '"a-dlq"' in sample.detail


def test_the_nearest_names_come_best_first_whatever_their_case() -> None:
    names = ["orders", "nemo12-events", "Nemo12-Events-DLQ", "nemo12-mail-dlq", "zebra"]
    assert nearest_names("nemo12-event-dlq", names)[0] == "Nemo12-Events-DLQ"
    assert nearest_names("nemo12-event-dlq", names, n=1) == ("Nemo12-Events-DLQ",)
    assert "zebra" not in nearest_names("nemo12-event-dlq", names)
    assert nearest_names("anything", []) == ()


QUEUE = {
    "queue_name": "nemo12-events",
    "settings": {"message_retention_period": 345600.0, "delivery_paused": False},
    "producers": [{"type": "worker", "script": "nemo12-web"}],
    "consumers": [
        {
            "type": "worker",
            "script": "nemo12-api",
            "dead_letter_queue": "nemo12-events-dlq",
            "settings": {"max_retries": 5.0, "batch_size": 25},
        },
        {"type": "worker", "script_name": "other", "dead_letter_queue": ""},
    ],
}


def test_a_queues_settings_are_read_under_either_name_of_the_script() -> None:
    assert read_queue(QUEUE) == QueueSettings(
        name="nemo12-events",
        retention_ms=4 * DAY,
        delivery_paused=False,
        consumers=(
            Consumer("nemo12-api", "worker", "nemo12-events-dlq", 5),
            Consumer("other", "worker", "", None),
        ),
        producers=(Producer("nemo12-web", "worker"),),
    )


@pytest.mark.parametrize("result", [None, [], 7, {}, {"settings": [], "consumers": {}}])
def test_settings_that_are_not_there_are_none(result: object) -> None:
    assert read_queue(result) == QueueSettings(None, None, None, None, None)


@pytest.mark.parametrize("retention", [None, "4d", True, 0, -60, math.nan, math.inf, 1e30])
def test_a_retention_that_cannot_be_is_unknown(retention: object) -> None:
    read = read_queue({"settings": {"message_retention_period": retention}})
    assert read.retention_ms is None


@given(st.dictionaries(st.sampled_from([*QUEUE, "x"]), _ANY) | _ANY)
def test_no_queue_settings_crash(result: object) -> None:
    read_queue(result)
    read_token(result)


@pytest.mark.parametrize(
    ("expires", "at"),
    [
        ("2026-09-21T13:46:40Z", 1_789_998_400_000),
        ("2026-09-21T13:46:40.000000+00:00", 1_789_998_400_000),
        ("2026-09-21T13:46:40", 1_789_998_400_000),
        ("never", None),
        (None, None),
        (7, None),
    ],
)
def test_a_tokens_expiry(expires: object, at: int | None) -> None:
    token = read_token({"status": "active", "expires_on": expires})
    assert (token.status, token.expires_at) == ("active", at)
