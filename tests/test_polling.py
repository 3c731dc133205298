"""One tick of one queue: what is asked of Cloudflare, and what becomes of what it said."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from dlqwatch.daemon.polling import Poller
from dlqwatch.errors import CloudflareError, QueueNotListed
from dlqwatch.facts import DepthFacts
from dlqwatch.model import DAY, HOUR, MINUTE, QueueRules, Sample, SampleKind, SampleReason, State
from dlqwatch.rows import Queue, Span
from tests.fakes import UNREACHABLE, FakeQueues
from tests.rig import QUEUE, WEBHOOK, LightRig, light

OTHER = "another-dlq"
GONE = CloudflareError(SampleReason.QUEUE_GONE, "HTTP 404, code 10104: Queue not found")
REFUSED = CloudflareError(SampleReason.BAD_TOKEN, "HTTP 403, code 10000: Authentication error")


@pytest.fixture
def rig() -> Iterator[LightRig]:
    with light() as found:
        found.queues.calls.clear()
        yield found


def newest(rig: LightRig) -> Span:
    return max(rig.rows(Span), key=lambda s: s.id)


def rate_limited(rig: LightRig, seconds: int) -> CloudflareError:
    until = rig.clock.now() + seconds * 1000
    return CloudflareError(SampleReason.RATE_LIMITED, "HTTP 429", retry_at=until)


# ---- the queue's id


def test_the_id_is_looked_up_once_and_kept_over_a_restart(rig: LightRig) -> None:
    rig.run(90)
    rig.restart()
    rig.run(90)
    assert rig.queues.calls.count(f"find {QUEUE}") == 1


def test_the_settings_are_read_before_the_first_reading(rig: LightRig) -> None:
    rig.holds(3)
    rig.tick()
    assert rig.queues.calls == [f"find {QUEUE}", f"audit {QUEUE}", f"read {QUEUE}"]
    facts = rig.notices()[0].facts
    assert isinstance(facts, DepthFacts)
    assert facts.retention_ms == 4 * DAY


def test_an_id_that_is_gone_is_looked_up_again_once(rig: LightRig) -> None:
    rig.tick()
    rig.queues.says[QUEUE] = GONE
    rig.queues.calls.clear()
    rig.queues.ids[QUEUE] = "new-id"
    rig.queues.says["new-id"] = Sample(0, SampleKind.COMPLETE, 2, 9, rig.clock.now())
    rig.tick()
    assert [c.split()[0] for c in rig.queues.calls] == ["read", "find", "audit", "read"]
    assert rig.told() == ["first"]
    rig.queues.calls.clear()
    rig.tick()
    assert rig.queues.calls == ["read new-id"]


def test_an_id_that_stays_gone_fails_and_is_looked_up_once_a_tick(rig: LightRig) -> None:
    rig.tick()
    rig.queues.says[QUEUE] = GONE
    rig.queues.calls.clear()
    rig.tick()
    assert rig.queues.calls.count(f"find {QUEUE}") == 1
    assert (newest(rig).kind, newest(rig).reason) == (SampleKind.FAILED, SampleReason.QUEUE_GONE)


def test_a_name_no_list_has_is_kept_with_its_nearest_and_looked_for_at_each_tick(
    rig: LightRig,
) -> None:
    rig.holds(3)
    rig.tick()
    rig.queues.says[QUEUE] = GONE
    rig.queues.ids[QUEUE] = QueueNotListed(QUEUE, ("nemo12-events",), 12)
    rig.run(60)
    (queue,) = rig.rows(Queue)
    assert (queue.cloudflare_id, queue.nearest) == (None, '["nemo12-events"]')
    assert newest(rig).reason is SampleReason.QUEUE_NOT_LISTED
    assert rig.state is State.UNKNOWN
    assert rig.told() == ["first", "lost"], "what lay in it is lost with it"
    rig.queues.calls.clear()
    rig.tick()
    assert rig.queues.calls == [f"find {QUEUE}"]
    del rig.queues.ids[QUEUE]
    rig.holds(3)
    rig.run(60)
    (queue,) = rig.rows(Queue)
    assert (queue.cloudflare_id, queue.nearest) == (QUEUE, "")


# ---- its settings


def test_the_settings_are_read_each_audit_interval(rig: LightRig) -> None:
    rig.run(1501)
    audits = [c for c in rig.queues.calls if c.startswith("audit")]
    assert len(audits) == 6  # at 0, 5, … 25 min


def test_settings_that_cannot_be_read_spoil_no_reading_and_are_asked_for_sooner(
    rig: LightRig,
) -> None:
    rig.queues.settings = REFUSED
    rig.holds(3)
    rig.tick()
    assert rig.told() == ["first"]
    rig.run(60)
    assert rig.queues.calls.count(f"audit {QUEUE}") >= 2
    rig.queues.settings = None
    rig.run(60)
    assert rig.rows(Queue)[0].retention_ms == 4 * DAY


def test_settings_that_cannot_be_read_are_logged_once(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.queues.settings = UNREACHABLE
    rig.run(600)
    said = [r.message for r in caplog.records if "retention can't be read" in r.message]
    assert len(said) == 1


def test_a_retention_once_read_is_kept_while_it_cannot_be_read(rig: LightRig) -> None:
    rig.tick()
    rig.queues.settings = UNREACHABLE
    rig.run(1200)
    assert rig.rows(Queue)[0].retention_ms == 4 * DAY


def test_a_retention_that_changes_moves_the_deadline(rig: LightRig) -> None:
    rig.holds(3)
    rig.tick()
    rig.queues.retention_ms = DAY
    rig.run(301)
    facts = rig.incidents()[0].facts
    assert isinstance(facts, DepthFacts)
    assert facts.retention_ms == DAY


def test_a_block_while_reading_the_settings_is_a_block(rig: LightRig) -> None:
    rig.queues.settings = rate_limited(rig, 120)
    rig.tick()
    assert newest(rig).reason is SampleReason.RATE_LIMITED
    rig.queues.settings = None
    rig.queues.calls.clear()
    rig.run(119)
    assert rig.queues.calls == []
    rig.run(2)
    assert rig.queues.calls != []


# ---- failures


def test_while_cloudflare_asks_to_wait_reminders_still_fall_due() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, repeat_ms=2 * MINUTE)) as rig:
        rig.holds(1)
        rig.tick()
        rig.queues.says[QUEUE] = rate_limited(rig, 600)
        rig.run(30)
        rig.queues.calls.clear()
        rig.run(300)
        assert rig.queues.calls == []
        assert rig.told() == ["first", "repeat", "repeat"]


def test_a_tick_without_asking_leaves_no_sample(rig: LightRig) -> None:
    rig.queues.says[QUEUE] = rate_limited(rig, 600)
    rig.tick()
    before = rig.rows(Span)
    rig.run(300)
    assert rig.rows(Span) == before


def test_failures_in_a_row_are_one_span_with_the_newest_words(rig: LightRig) -> None:
    for ray in ("a", "b", "c"):
        rig.queues.says[QUEUE] = CloudflareError(SampleReason.SERVER_ERROR, f"HTTP 500 (ray {ray})")
        rig.tick()
        rig.clock.move(30)
    spans = [s for s in rig.rows(Span) if s.kind is SampleKind.FAILED]
    assert [(s.polls, s.detail) for s in spans] == [(3, "HTTP 500 (ray c)")]


def test_readings_with_a_gap_between_are_two_spans(rig: LightRig) -> None:
    rig.run(61)
    rig.clock.move(61)
    rig.run(61)
    assert [s.polls for s in rig.rows(Span)] == [3, 3]


def test_trouble_is_logged_when_it_begins_changes_and_ends(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for answer in (UNREACHABLE, REFUSED, Sample(0, SampleKind.COMPLETE, 0, 0)):
        rig.queues.says[QUEUE] = answer
        rig.run(300)
    said = [(r.levelname, r.message) for r in caplog.records if r.name == "dlqwatch.polling"]
    assert said == [
        ("WARNING", f"{QUEUE}: failed reading, unreachable: no way to Cloudflare"),
        ("WARNING", f"{QUEUE}: failed reading, bad_token: {REFUSED.what}"),
        ("INFO", f"{QUEUE}: read again: 0"),
    ]


def test_one_queue_that_fails_keeps_none_other_back() -> None:
    with light(WEBHOOK, QueueRules(QUEUE), QueueRules(OTHER)) as rig:
        rig.queues.says[QUEUE] = UNREACHABLE
        rig.holds(2, OTHER)
        rig.tick()
        assert rig.told() == ["first"]
        assert rig.alert(QUEUE).state is State.UNKNOWN
        assert rig.alert(OTHER).state is State.FIRING


def test_each_queue_is_polled_at_its_own_interval() -> None:
    slow = QueueRules(OTHER, poll_ms=2 * MINUTE, audit_ms=HOUR)
    with light(WEBHOOK, QueueRules(QUEUE, audit_ms=HOUR), slow) as rig:
        rig.run(601)
        assert rig.queues.calls.count(f"read {QUEUE}") == 21
        assert rig.queues.calls.count(f"read {OTHER}") == 6


@pytest.mark.parametrize("where", ["find_queue", "queue", "metrics"])
def test_a_call_that_hangs_is_given_up_and_is_a_failure(rig: LightRig, where: str) -> None:
    released = threading.Event()

    class Hanging(FakeQueues):
        def __getattribute__(self, name: str) -> object:
            if name == where:
                return lambda _: released.wait(10)
            return object.__getattribute__(self, name)

    rules = rig.plan.queues[QUEUE]
    poller = Poller(rig.engine, Hanging(rig.clock), rules, rig.clock, timeout_s=0.05)
    began = time.monotonic()
    poller.tick()
    assert time.monotonic() - began < 2 * (0.05 + 0.5)
    released.set()
    kind = SampleKind.COMPLETE if where == "queue" else SampleKind.FAILED
    assert newest(rig).kind is kind
    if kind is SampleKind.FAILED:
        assert newest(rig).reason is SampleReason.TIMEOUT
