"""S8: the outside heartbeat says that the loop runs and that nobody is owed news."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from dlqwatch.config_sections import Heartbeat
from dlqwatch.daemon.heart import Heart
from dlqwatch.daemon.logs import redact
from dlqwatch.decide.beating import Beat, Watched, pulse, trouble
from dlqwatch.decide.inputs import RateLimited
from dlqwatch.decide.outcomes import Answer
from dlqwatch.decide.world import Plan, World
from dlqwatch.edges.heartbeat import Receiver
from dlqwatch.edges.http import Http
from dlqwatch.facts import BlindFacts, UnseenQueue
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    DestinationState,
    Outcome,
    QueueRules,
    Rule,
    SampleReason,
    Severity,
)
from dlqwatch.rows import DestinationRow, Incident, Queue, Row, Silence
from tests.configs import BASE, refusal, settings
from tests.fakes import UNREACHABLE
from tests.loopback import (
    OK,
    SLACK,
    TIMEOUT,
    Behaviour,
    drips,
    read_request,
    resets,
    says,
    says_nothing,
    serving,
)
from tests.process import place
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


@pytest.fixture
def http() -> Iterator[Http]:
    found = Http(trust_env=False)
    yield found
    found.close()


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
    told_at, over_at = NOW if told else None, NOW if over else None
    found = Incident(9, Rule.BLIND, "dlqwatch", NOW, Severity.WARNING, facts)
    return replace(found, first_told_at=told_at, resolved_at=over_at)


def silence(rule: str, *, ends_at: int = NOW + HOUR) -> Silence:
    return Silence(1, rule, "dlqwatch", NOW - HOUR, ends_at, by="an", reason="maintenance")


BLINDNESS: dict[str, tuple[World, Beat]] = {
    "nobody knows": (world(), Beat.NOTHING),
    "decided, not delivered": (world(blind(QUEUE, told=False)), Beat.NOTHING),
    "told": (world(blind(QUEUE)), Beat.ALIVE),
    "told of both": (world(blind(OTHER, QUEUE)), Beat.ALIVE),
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


# ---- the receiver

ANSWERS: dict[str, tuple[int, bytes, bool]] = {
    "Healthchecks": (200, b"OK", True),
    "Healthchecks, deleted check": (200, b"OK (not found)", False),
    "Cronitor": (200, b"OK\n", True),
    "Uptime Kuma": (200, b'{"ok":true}', True),
    "Uptime Kuma, unknown token": (404, b'{"ok":false,"msg":"Monitor not found"}', False),
    "Better Stack": (200, b"", True),
    "accepted": (202, b"", True),
    "a redirect": (301, b"", False),
    "too many": (429, b"", False),
    "out of order": (503, b"", False),
}


@pytest.mark.parametrize(("status", "body", "heard"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_heard_or_not(status: int, body: bytes, heard: bool) -> None:
    assert (trouble(status, body) == "") is heard


@pytest.mark.parametrize(
    "path",
    [
        "/uuid-0f3a",
        "/uuid-0f3a/fail",
        "/p/key/dlqwatch?state=run&env=production",
        "/p/key/dlqwatch?state=fail",
        "/api/push/tOkEn5AbCd?status=up&msg=OK&ping=",
        "/api/push/tOkEn5AbCd?status=down&msg=Slack%20is%20away",
    ],
)
def test_exactly_the_configured_address_is_asked_for(path: str, http: Http) -> None:
    asked: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        asked.append(read_request(connection))
        connection.sendall(OK)

    with serving(behave) as server:
        assert Receiver(http, 2.0).call(server.url + path) == ""
    assert asked[0].startswith(f"GET {path} HTTP/1.1\r\n".encode())


def test_a_redirect_is_not_followed_and_not_heard(http: Http) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    with serving(says(answer)) as server:
        said = Receiver(http, 2.0).call(f"{server.url}/canary")
        assert server.connections == 1
    assert "redirect" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    "behave",
    [says_nothing, resets, drips(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")],
    ids=["silence", "a reset", "a drip"],
)
def test_a_receiver_that_fails_is_given_up_in_time_without_its_address(
    behave: Behaviour, http: Http
) -> None:
    with serving(behave) as server:
        began = time.monotonic()
        said = Receiver(http, TIMEOUT).call(f"{server.url}/canary")
        assert time.monotonic() - began <= TIMEOUT + SLACK
    assert said
    assert "canary" not in said
    assert "127.0.0.1" not in said


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


# ---- the real process


def test_the_process_beats_while_a_hanging_receiver_delays_nothing(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def behave(connection: socket.socket, over: threading.Event) -> None:
        asked.append(read_request(connection))
        connection.sendall(OK)

    with place(tmp_path) as where, serving(behave) as server:
        where.more = f'[heartbeat]\nurl = "{server.url}/canary-beat"\ninterval = "1s"\n'
        with where.daemon("--log-level", "debug") as daemon:
            where.wait_polls(4)
            assert daemon.terminate()[0] == 0
        assert 2 <= len(asked) <= 6
        assert asked[0].startswith(b"GET /canary-beat HTTP/1.1\r\n")
        assert not any("canary-beat" in line for line in daemon.lines)

    with place(tmp_path) as where, serving(says_nothing) as server:
        where.more = f'[heartbeat]\nurl = "{server.url}/canary-beat"\ninterval = "1s"\n'
        with where.daemon() as daemon:
            polls = where.wait_polls(4)
            where.cloudflare.land(QUEUE)
            daemon.wait_line(r"told incident #1 \(first\)")
            assert polls[-1] - polls[0] <= 3 * 1_000 + 2_000
            code, took = daemon.terminate()
        assert code == 0
        assert took <= 3, "it isn't waited for"


# ---- the settings


def test_a_fail_url_like_url_is_refused(tmp_path: Path) -> None:
    """A failure would pass for a sign of life."""
    more = f'[heartbeat]\nurl = "{URL}"\nfail_url = "{URL}"\n'
    [line] = refusal(tmp_path, BASE + more)
    assert "config.toml:8: heartbeat.fail_url: the same address as url" in line
    assert "canary-beat" not in line


def test_the_addresses_are_secrets_also_without_their_host(tmp_path: Path) -> None:
    more = f'[heartbeat]\nurl = "{URL}"\n'
    more += 'fail_url = "https://up.example/api/push/tOkEn5AbCd?status=down"\n'
    found = settings(tmp_path, BASE + more).secrets()
    line = redact(f"GET {URL} and /api/push/tOkEn5AbCd?status=down and /canary-beat-x", found)
    assert "canary" not in line.replace("/canary-beat-x", "")
    assert "tOkEn5AbCd" not in line
    assert URL not in repr(settings(tmp_path, BASE + more))
