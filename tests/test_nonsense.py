"""What went wrong for others when a queue says zero, nothing or nonsense, end to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlqwatch.model import (
    QueueRules,
    SampleKind,
    SampleReason,
    State,
)
from dlqwatch.rows import Queue, Span
from dlqwatch.sim.cloudflare import MISSING, READ_TOKEN
from dlqwatch.sim.faults import Fault
from tests.rig import BOT, QUEUE, SimRig, simulated


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[SimRig]:
    with simulated(tmp_path, BOT) as found:
        yield found


def newest(rig: SimRig) -> Span:
    return max(rig.rows(Span), key=lambda s: s.id)


# ---- zero, nothing, nonsense


def test_half_an_hour_of_server_errors_does_not_resolve_an_alert(rig: SimRig) -> None:
    rig.cf.land(QUEUE, 3)
    rig.run(60)
    rig.cf.fail(Fault.status(500))
    rig.run(1800)
    assert rig.state is State.FIRING
    assert rig.told() == ["first"]
    rig.cf.heal()
    rig.cf.drain(QUEUE)
    rig.run(120)
    assert rig.told() == ["first", "resolved"]


def test_a_count_without_an_age_fires_and_never_says_56_years(rig: SimRig) -> None:
    rig.cf.set_metrics(QUEUE, backlog_count=7.0, backlog_bytes=900.0, oldest_message_timestamp_ms=0)
    rig.tick()
    (message,) = rig.messages()
    shown = f"{message.text} {message.blocks}"
    assert "7 dead letters" in message.text
    assert "age unknown" in message.text
    assert "year" not in shown
    assert "1970" not in shown
    assert (newest(rig).kind, newest(rig).reason) == (SampleKind.PARTIAL, SampleReason.AGE_UNKNOWN)


NONSENSE: dict[str, Any] = {
    "missing": MISSING,
    "null": None,
    "text": "7",
    "true": True,
    "false": False,
    "negative": -1,
    "minus_zero_point_one": -0.1,
    "absurd": 1e30,
    "nan": float("nan"),
    "infinite": float("inf"),
    "a_list": [0],
    "an_object": {"value": 0},
}


@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_nonsense_count_is_a_failure_and_never_a_calm_zero(rig: SimRig, value: Any) -> None:
    rig.cf.land(QUEUE, 3)
    rig.tick()
    rig.cf.set_metrics(QUEUE, backlog_count=value)
    rig.run(300)
    assert newest(rig).reason is SampleReason.NONSENSE
    assert newest(rig).depth is None
    assert rig.state is State.FIRING
    assert rig.told() == ["first"]


@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_nonsense_count_from_the_first_poll_leaves_the_alert_unknown(
    rig: SimRig, value: Any
) -> None:
    rig.cf.set_metrics(QUEUE, backlog_count=value)
    rig.run(300)
    assert rig.state is State.UNKNOWN
    assert rig.messages() == []


@pytest.mark.parametrize(
    "override",
    [
        {"backlog_bytes": 100},
        {"oldest_message_timestamp_ms": 1},
        {"backlog_bytes": None},
        {"backlog_bytes": -1},
        {"oldest_message_timestamp_ms": MISSING},
        {"oldest_message_timestamp_ms": "soon"},
    ],
    ids=["bytes", "age", "null_bytes", "negative_bytes", "no_age_key", "text_age"],
)
def test_an_empty_queue_beside_remains_does_not_resolve(
    rig: SimRig, override: dict[str, Any]
) -> None:
    rig.cf.land(QUEUE, 3)
    rig.tick()
    rig.cf.drain(QUEUE)
    rig.cf.set_metrics(QUEUE, **override)
    rig.run(300)
    assert newest(rig).kind is SampleKind.PARTIAL
    assert rig.told() == ["first"]
    rig.cf.clear_metrics(QUEUE)
    rig.run(120)
    assert rig.told() == ["first", "resolved"]


def test_an_oldest_message_in_the_future_is_told_without_an_age(rig: SimRig) -> None:
    rig.cf.land(QUEUE, 2)
    rig.cf.set_metrics(QUEUE, oldest_message_timestamp_ms=rig.clock.now() + 3_600_000)
    rig.tick()
    assert newest(rig).reason is SampleReason.AGE_IN_FUTURE
    assert "age unknown" in rig.messages()[0].text


@pytest.mark.parametrize(("count", "depth"), [(7.0, 7), (2.5, 3), (0.2, 1), (0.0, 0), (1e9, 10**9)])
def test_a_count_as_a_float_is_read_up_and_is_complete(
    rig: SimRig, count: float, depth: int
) -> None:
    now = rig.clock.now()
    old = {"backlog_bytes": 9.0, "oldest_message_timestamp_ms": float(now - 1000)} if depth else {}
    rig.cf.set_metrics(QUEUE, backlog_count=count, **old)
    rig.tick()
    assert (newest(rig).kind, newest(rig).depth) == (SampleKind.COMPLETE, depth)
    assert rig.state is (State.FIRING if depth else State.INACTIVE)


def test_success_false_with_200_is_a_failure_that_keeps_cloudflares_words(rig: SimRig) -> None:
    refused = {
        "success": False,
        "errors": [{"code": 10250, "message": "Queue is overloaded, try later"}],
        "messages": [],
        "result": None,
    }
    rig.cf.land(QUEUE)
    rig.tick()
    rig.cf.fail(Fault.json(refused))
    rig.run(90)
    assert newest(rig).kind is SampleKind.FAILED
    assert "Queue is overloaded, try later" in newest(rig).detail
    assert "10250" in newest(rig).detail
    assert rig.state is State.FIRING


NO_ANSWERS: dict[str, Fault] = {
    "html_502": Fault.html(502),
    "html_200": Fault.html(200),
    "empty_200": Fault.status(200, b""),
    "truncated": Fault.truncated(),
    "not_utf8": Fault.not_utf8(),
    "a_list": Fault.json([1]),
    "no_keys": Fault.json({}),
    "null_result": Fault.json({"success": True, "errors": [], "messages": [], "result": None}),
    "success_with_errors": Fault.json({"success": True, "errors": [{"code": 1}], "result": {}}),
    "redirect": Fault.redirect("http://127.0.0.1:9/"),
    "close": Fault.close(),
    "reset": Fault.reset(),
    "short": Fault.short_body(),
    "403": Fault.status(403),
    "404": Fault.status(404),
}


@pytest.mark.parametrize("fault", NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_an_answer_that_is_none_changes_nothing(rig: SimRig, fault: Fault) -> None:
    rig.cf.land(QUEUE)
    rig.tick()
    rig.cf.drain(QUEUE)
    rig.cf.fail(fault)
    rig.run(300)
    assert newest(rig).kind is SampleKind.FAILED
    assert rig.state is State.FIRING
    assert rig.told() == ["first"]


def test_a_queue_on_the_second_page_is_found(rig: SimRig) -> None:
    rig.cf.per_page_works = rig.cf.name_filter = False
    for number in range(45):
        rig.cf.create_queue(f"another-{number:02d}")
    rig.cf.delete_queue(QUEUE)
    rig.cf.create_queue(QUEUE)  # listed last now
    rig.cf.land(QUEUE, 2)
    rig.tick()
    assert rig.told() == ["first"]


def test_a_misspelt_queue_stays_unknown_and_its_nearest_names_are_kept(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT, QueueRules("nemo12-event-dlq")) as rig:
        rig.run(300)
        (queue,) = rig.rows(Queue)
        assert rig.alert("nemo12-event-dlq").state is State.UNKNOWN
        assert QUEUE in queue.nearest
        assert newest(rig).reason is SampleReason.QUEUE_NOT_LISTED
        assert QUEUE in newest(rig).detail
        rig.cf.create_queue("nemo12-event-dlq")
        rig.cf.land("nemo12-event-dlq")
        rig.run(60)
        assert rig.told() == ["first"]
        assert rig.rows(Queue)[0].nearest == ""


def test_a_queue_made_anew_under_its_name_is_found_again_and_what_it_held_is_lost(
    rig: SimRig,
) -> None:
    rig.cf.land(QUEUE, 2)
    rig.tick()
    rig.cf.delete_queue(QUEUE)
    rig.cf.create_queue(QUEUE)
    rig.run(120)
    assert rig.told() == ["first", "lost"]


def test_a_block_of_300_s_is_obeyed_to_the_second_also_over_a_restart(rig: SimRig) -> None:
    rig.tick()
    rig.cf.fail(Fault.rate_limited(300), times=1)
    rig.run(30)
    blocked = rig.clock.now()
    rig.cf.requests.clear()
    rig.cf.land(QUEUE)
    rig.run(100)
    rig.restart()
    rig.run(199)
    assert rig.cf.requests == []
    rig.run(40)
    assert min(r.at for r in rig.cf.requests) >= blocked + 300_000
    assert rig.told() == ["first"]


def test_a_block_without_a_time_waits_300_s(rig: SimRig) -> None:
    rig.tick()
    rig.cf.fail(Fault.rate_limited(), times=1)
    rig.run(30)
    rig.cf.requests.clear()
    rig.run(299)
    assert rig.cf.requests == []
    rig.run(31)
    assert rig.cf.requests != []


def test_a_block_ends_even_when_the_clock_goes_back(rig: SimRig) -> None:
    rig.tick()
    rig.clock.step(10 * 365 * 86_400)
    rig.cf.fail(Fault.rate_limited(300), times=1)
    rig.run(30)
    rig.clock.step(-10 * 365 * 86_400)
    rig.cf.requests.clear()
    rig.run(360)
    assert rig.cf.requests != []


def test_a_block_ends_even_when_the_clock_goes_back_between_two_processes(rig: SimRig) -> None:
    rig.tick()
    rig.clock.step(10 * 365 * 86_400)
    rig.cf.fail(Fault.rate_limited(300), times=1)
    rig.run(30)
    rig.clock.step(-10 * 365 * 86_400)
    rig.restart()
    rig.cf.requests.clear()
    rig.run(3700)
    assert rig.cf.requests != []


def test_a_wrong_token_from_the_first_poll_is_never_an_empty_queue(rig: SimRig) -> None:
    rig.cf.land(QUEUE)
    del rig.cf.tokens[READ_TOKEN]
    rig.run(300)
    assert rig.state is State.UNKNOWN
    assert newest(rig).reason is SampleReason.BAD_TOKEN
    rig.cf.tokens[READ_TOKEN] = {"queues_read"}
    rig.run(60)
    assert rig.told() == ["first"]
