"""S8: the outside heartbeat says that the loop runs and that nobody is owed news."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from dlqwatch.config.sections import Heartbeat
from dlqwatch.daemon.heart import Heart
from dlqwatch.decide.beating import Beat, Watched, pulse
from dlqwatch.decide.inputs import RateLimited
from dlqwatch.decide.outcomes import Answer
from dlqwatch.decide.world import Plan, World
from dlqwatch.facts import BlindFacts, UnseenQueue
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    DestinationState,
    NoticeStatus,
    Outcome,
    QueueRules,
    Reason,
    Rule,
    SampleReason,
    Severity,
)
from dlqwatch.rows import DestinationRow, Incident, Notice, Queue, Row, Silence
from tests.fakes import UNREACHABLE
from tests.loopback import (
    SLACK,
)
from tests.rig import QUEUE, WEBHOOK, LightRig, light

OTHER = "other-dlq"
URL = "https://hc.example/canary-beat"
FAIL_URL = "https://hc.example/canary-beat/fail"
DOWN = Answer(Outcome.TEMPORARY, "http 500")


@dataclass
class FakeReceiver:
    """Notes what it is asked for; says `answer`."""

    timeout_s: float = 1.0
    answer: str = ""
    heard: list[str] = field(default_factory=list)

    def call(self, url: str) -> str:
        self.heard.append("fail" if url == FAIL_URL else "alive")
        return self.answer


class Beating:
    """A daemon in memory with a heart, driven by hand: a look each second."""

    def __init__(self, rig: LightRig, settings: Heartbeat) -> None:
        self.rig = rig
        self.receiver = FakeReceiver()
        self.heart = Heart(rig.engine, settings, self.receiver, rig.clock)
        self.polling = True

    def run(self, seconds: int) -> list[str]:
        """What the receiver heard meanwhile."""
        before = len(self.receiver.heard)
        for _ in range(seconds):
            polls = self.rig.clock.monotonic() >= min(self.rig._next_poll.values())
            if polls and self.polling:
                self.rig.poll()
                for queue in self.rig.pollers:
                    self.heart.ticked(queue)
            self.rig.settle()
            self.heart.step()
            self.rig.clock.move(1)
        return self.receiver.heard[before:]


def beating(url: str = URL, fail_url: str = FAIL_URL, every_ms: int = MINUTE) -> Heartbeat:
    return Heartbeat.model_construct(url=url, fail_url=fail_url, interval=every_ms)


@pytest.fixture
def beat() -> Iterator[Beating]:
    with light(WEBHOOK, QueueRules(QUEUE, poll_ms=30 * SECOND)) as rig:
        yield Beating(rig, beating())


def test_it_beats_each_interval_while_all_is_well(beat: Beating) -> None:
    assert beat.run(600) == ["alive"] * 10


def test_an_alert_that_fires_and_is_told_is_no_reason_to_stop(beat: Beating) -> None:
    beat.rig.holds(7)
    assert beat.run(600) == ["alive"] * 10


def test_it_does_not_beat_before_every_queue_had_a_tick(beat: Beating) -> None:
    """A process that dies at each start is silent outside."""
    beat.polling = False
    assert beat.run(300) == []
    beat.polling = True
    assert beat.run(1) == ["alive"]


def test_a_loop_that_stalls_is_silence(beat: Beating) -> None:
    beat.run(61)
    beat.polling = False
    assert len(beat.run(90)) <= 2
    assert beat.run(600) == []
    beat.polling = True
    assert beat.run(1) == ["alive"], "and life is told at once"


def test_one_stalled_queue_among_live_ones_is_silence() -> None:
    rules = (QueueRules(QUEUE), QueueRules(OTHER))
    with light(WEBHOOK, *rules) as rig:
        beat = Beating(rig, beating())
        beat.run(60)
        for _ in range(10):
            rig.clock.move(30)
            beat.heart.ticked(QUEUE)
        heard = len(beat.receiver.heard)
        beat.heart.step()
        assert len(beat.receiver.heard) == heard


def test_a_notice_that_waits_for_five_minutes_calls_fail_url_at_once(beat: Beating) -> None:
    """The one way out that is not Slack."""
    beat.run(30)
    beat.rig.speaker.weather = DOWN
    beat.rig.holds(3)
    assert beat.run(300) == ["alive"] * 5
    assert beat.run(2) == ["fail"]
    assert beat.run(600) == ["fail"] * 10
    beat.rig.speaker.weather = "ok"
    assert beat.run(61)[0] == "alive", "and so is the end"


@pytest.mark.parametrize("step", [-3600.0, -1e8])
def test_a_clock_that_goes_back_does_not_put_off_fail_url(beat: Beating, step: float) -> None:
    beat.run(30)
    beat.rig.speaker.weather = DOWN
    beat.rig.holds(3)
    beat.run(240)
    beat.rig.clock.step(step)
    assert "fail" in beat.run(70)


def test_without_a_fail_url_a_notice_that_waits_is_silence() -> None:
    with light(WEBHOOK) as rig:
        beat = Beating(rig, beating(fail_url=""))
        beat.run(30)
        rig.speaker.weather = DOWN
        rig.holds(3)
        beat.run(310)
        assert beat.run(600) == []


def test_a_fail_url_alone_is_called_and_nothing_else() -> None:
    with light(WEBHOOK) as rig:
        beat = Beating(rig, beating(url=""))
        assert beat.heart.wanted
        assert beat.run(300) == []
        rig.speaker.weather = DOWN
        rig.holds(3)
        assert set(beat.run(400)) == {"fail"}
        assert not Heart(rig.engine, beating("", ""), beat.receiver, rig.clock).wanted


def test_a_broken_destination_alone_is_no_silence(beat: Beating) -> None:
    """Nobody is owed anything: the rest is `status`'s to say."""
    (row,) = beat.rig.engine.rows(DestinationRow)
    beat.rig.engine._world.load([replace(row, state=DestinationState.NEEDS_PERSON)])
    assert beat.run(120) == ["alive"] * 2


def test_a_daemon_that_is_blind_beats_on_once_people_were_told(beat: Beating) -> None:
    beat.run(31)
    beat.rig.queues.says[QUEUE] = UNREACHABLE
    assert len(beat.run(1800)) >= 29


def test_a_daemon_that_is_blind_and_mute_is_silent_then_calls_fail_url(beat: Beating) -> None:
    beat.run(31)
    beat.rig.queues.says[QUEUE] = UNREACHABLE
    beat.rig.speaker.weather = DOWN
    beat.run(270)
    heard = beat.run(270)
    assert len(heard) <= 1, "nobody knows that it can't be read"
    assert set(beat.run(180)) == {"fail"}


# ---- blindness: decided on rows

NOW = 1_794_000_000_000
UNSEEN_S = 301.0


def world(*rows: Row) -> World:
    found = World(Plan({QUEUE: QueueRules(QUEUE), OTHER: QueueRules(OTHER)}))
    found.load(rows)
    return found


def beats(view: World, *, silent_s: float = 1.0, unseen_s: float = UNSEEN_S) -> Beat:
    """With one queue as said, the other well."""
    watched = (Watched(OTHER, 1.0, 1.0), Watched(QUEUE, silent_s, unseen_s))
    return pulse(view, watched, NOW).beat


def blind(*queues: str, told: bool = True, over: bool = False) -> Incident:
    unseen = tuple(
        UnseenQueue(name=q, reason=SampleReason.TIMEOUT, detail="", since=NOW) for q in queues
    )
    facts = BlindFacts(at=NOW, opened_at=NOW, severity=Severity.WARNING, unseen=unseen)
    topics = tuple(f"{q} network" for q in queues) if told else ()
    found = Incident(9, Rule.BLIND, "dlqwatch", NOW, Severity.WARNING, facts)
    return replace(found, told_topics=topics, resolved_at=NOW if over else None)


def silence(rule: str, *, ends_at: int = NOW + HOUR) -> Silence:
    return Silence(1, rule, "dlqwatch", NOW - HOUR, ends_at, by="an", reason="maintenance")


def waiting(reason: Reason, *, for_ms: int = 5 * MINUTE + 1) -> Notice:
    incident = blind(QUEUE)
    return Notice(1, "1-ab", 9, reason, Severity.WARNING, incident.facts, NOW - for_ms)


@pytest.mark.parametrize(
    ("notice", "beat"),
    [
        (waiting(Reason.FIRST), Beat.FAILING),
        (waiting(Reason.FIRST, for_ms=5 * MINUTE), Beat.ALIVE),
        (replace(waiting(Reason.FIRST), status=NoticeStatus.DELIVERED), Beat.ALIVE),
        (waiting(Reason.RECONNECTED), Beat.ALIVE),  # another destination told them
    ],
)
def test_only_news_that_people_wait_for_is_owed(notice: Notice, beat: Beat) -> None:
    assert beats(world(blind(QUEUE), notice)) is beat


BLINDNESS: dict[str, tuple[World, Beat]] = {
    "nobody knows": (world(), Beat.NOTHING),
    "decided, not delivered": (world(blind(QUEUE, told=False)), Beat.NOTHING),
    "told": (world(blind(QUEUE)), Beat.ALIVE),
    "told of both": (world(blind(OTHER, QUEUE)), Beat.ALIVE),
    "told, and its name has a space": (world(blind(f"{QUEUE} x", QUEUE)), Beat.ALIVE),
    "told of another whose name begins alike": (world(blind(f"{QUEUE} x")), Beat.NOTHING),
    "told of another queue alone": (world(blind(OTHER)), Beat.NOTHING),
    "told, and over since": (world(blind(QUEUE, over=True)), Beat.NOTHING),
    "silenced": (world(silence("blind")), Beat.ALIVE),
    "silenced once": (world(silence("blind", ends_at=NOW - 1)), Beat.NOTHING),
    "something else is silenced": (world(silence("wiring")), Beat.NOTHING),
    "not in the list: wiring, not blind": (
        world(Queue(1, QUEUE, NOW, nearest='["x-dlq"]')),
        Beat.ALIVE,
    ),
}


@pytest.mark.parametrize(("view", "beat"), BLINDNESS.values(), ids=BLINDNESS.keys())
def test_a_queue_unseen_beyond_blind_after_is_silence_until_people_know(
    view: World, beat: Beat
) -> None:
    assert beats(view) is beat


def test_a_queue_unseen_for_less_is_nobodys_concern() -> None:
    assert beats(world(), unseen_s=300.0) is Beat.ALIVE


def test_a_stalled_loop_is_silence_also_where_blindness_was_told() -> None:
    assert beats(world(blind(QUEUE)), silent_s=90.0) is Beat.ALIVE
    assert beats(world(blind(QUEUE)), silent_s=91.0) is Beat.NOTHING


def test_why_names_the_queue() -> None:
    found = pulse(world(), (Watched(QUEUE, 1.0, UNSEEN_S),), NOW)
    assert QUEUE in found.why
    assert QUEUE in pulse(world(), (Watched(QUEUE, 91.0, 1.0),), NOW).why


def test_only_good_readings_count_as_seen() -> None:
    """Nor does a tick that only waits out what Cloudflare asked for another queue."""
    with light(WEBHOOK) as rig:
        beat = Beating(rig, beating())
        beat.run(31)
        read = dict(beat.heart._read)
        rig.queues.says[QUEUE] = UNREACHABLE
        beat.run(60)
        assert beat.heart._read == read
        rig.holds(0)
        beat.run(31)
        read = dict(beat.heart._read)
        rig.engine.submit(RateLimited(rig.clock.now() + HOUR))
        beat.run(120)
        assert beat.heart._read == read


# ---- a receiver that doesn't hear


def test_what_was_not_heard_is_said_again_soon_and_logged_once(
    beat: Beating, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dlqwatch.heart")
    beat.run(30)
    beat.receiver.answer = "HTTP 503"
    assert len(beat.run(3600)) >= 230, "every 15 s"
    beat.receiver.answer = ""
    assert len(beat.run(120)) == 2
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == 2
    assert "HTTP 503" in said[0]
    assert "hears again" in said[1]
    assert "canary" not in "".join(said)


def test_a_receiver_whose_name_never_resolves_is_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    over = threading.Event()

    class Hanging(FakeReceiver):
        def call(self, url: str) -> str:
            over.wait(30)
            return ""

    with light(WEBHOOK) as rig:
        heart = Heart(rig.engine, beating(), Hanging(timeout_s=0.2), rig.clock)
        rig.poll()
        heart.ticked(QUEUE)
        began = time.monotonic()
        heart.step()
        over.set()
    assert time.monotonic() - began <= 0.2 + SLACK + 0.25
    assert "may not resolve" in caplog.text


def test_a_receiver_that_breaks_in_an_unknown_way_shows_no_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Breaking(FakeReceiver):
        def call(self, url: str) -> str:
            raise RuntimeError(url)

    with light(WEBHOOK) as rig:
        heart = Heart(rig.engine, beating(), Breaking(), rig.clock)
        rig.poll()
        heart.ticked(QUEUE)
        heart.step()
    assert "RuntimeError" in caplog.text
    assert "canary" not in caplog.text
