"""The fourteen ways in which a dead letter can die unseen: one test for each promise.

Real parts of the daemon, real HTTP to the scripted Cloudflare and Slack, a real file. Each
promise has a file of its own as well; here it is shown once, from end to end.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.config.sections import Heartbeat
from dlqwatch.daemon.heart import Heart
from dlqwatch.daemon.publishing import Counter
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.telemetry import Telemetry
from dlqwatch.model import (
    HOUR,
    MINUTE,
    SECOND,
    DestinationKind,
    DeviationKind,
    PublishWatch,
    QueueRules,
    Resolution,
    Rule,
)
from dlqwatch.sim.cloudflare import READ_TOKEN
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.queues import worker_consumer
from tests.rig import BOT, KINDS, QUEUE, WEBHOOK, SimRig, simulated

SOURCE = "nemo12-events"
RULES = QueueRules(QUEUE, source=SOURCE)
NEEDLE = "EVENT_PUBLISH_FAILED"


def texts(rig: SimRig) -> list[str]:
    """The first line of every message in the channel, also those about dlqwatch itself."""
    return [m.text.split("\n")[0] for m in rig.messages(itself=True)]


def of(rig: SimRig, rule: Rule) -> list[str]:
    """Why people were told of this rule, in that order."""
    return [notice.reason.value for notice in rig.told_of(rule)]


@pytest.mark.parametrize("kind", KINDS)
def test_s01_a_message_lands(tmp_path: Path, kind: DestinationKind) -> None:
    with simulated(tmp_path, kind, RULES) as rig:
        rig.run(60)
        rig.cf.land(QUEUE)
        rig.run(30)
        (message,) = rig.messages()
        assert f"1 dead letter in {QUEUE}" in message.text
        assert "handle before" in message.text
        (notice,) = rig.told_of(Rule.DEPTH)
        assert (notice.delivered_at or 0) - notice.created_at <= SECOND


def test_s02_more_land_while_the_alert_is_open(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT, RULES) as rig:
        rig.cf.land(QUEUE, 3)
        rig.tick()
        rig.cf.land(QUEUE, 2)
        rig.run(31)
        (card,) = rig.messages()
        assert "5 dead letters" in card.text
        rig.run(15 * 60)
        assert rig.told() == ["first", "grown"]
        rig.cf.take(QUEUE, 2)
        rig.run(3_600)
        assert rig.told() == ["first", "grown"], "a fall, and nothing, are not more"


def test_s03_it_is_forgotten(tmp_path: Path) -> None:
    rules = replace(RULES, poll_ms=30 * MINUTE, critical_depth=10, blind_after_ms=HOUR)
    with simulated(tmp_path, WEBHOOK, rules) as rig:
        rig.cf.land(QUEUE, 3)
        rig.run(25 * 3_600)
        assert rig.told() == ["first", "repeat"]
        rig.cf.land(QUEUE, 20)
        rig.run(3_600)
        assert rig.told()[-1] == "severity_raised"
        assert "<!subteam^" in rig.messages()[-1].text


def test_s04_it_nears_the_end_of_its_retention(tmp_path: Path) -> None:
    rules = replace(RULES, poll_ms=15 * MINUTE, blind_after_ms=HOUR)
    with simulated(tmp_path, WEBHOOK, rules) as rig:
        rig.cf.land(QUEUE, age_s=2.9 * 86_400)
        rig.run(25.5 * 3_600)
        assert rig.told().count("expiry_near") == 3
        assert all("<!date^" in m.text for m in rig.messages())
        assert "Critical" in rig.messages()[-1].text


def test_s05_it_expires_or_is_removed(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.cf.land(QUEUE, 2)
        rig.tick()
        rig.cf.drain(QUEUE)
        rig.run(180)
        assert "taken out elsewhere before their deadline" in rig.messages()[-1].text
        rig.cf.queue(QUEUE).retention_s = 3_600
        rig.cf.land(QUEUE, 2)
        rig.run(3_900)
        assert "Lost" in rig.messages()[-1].text
        assert "at least 2" in rig.messages()[-1].text
        first, second = rig.incidents()
        assert first.resolution is Resolution.REMOVED
        assert (second.resolution, second.lost) == (Resolution.EXPIRED, 2)


def test_s06_dead_letters_that_never_reach_the_queue(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.run(31)
        rig.cf.queue(SOURCE).consumers = [worker_consumer("nemo12-api", "nemo12-event-dlq")]
        for _ in range(2):
            rig.audit()
            rig.run(300)
        assert of(rig, Rule.WIRING) == ["first"]
        said = str(rig.messages()[-1])
        for words in ("nemo12-event-dlq", "expected", "wrangler"):
            assert words in said
        rig.cf.queue(SOURCE).consumers = [worker_consumer("nemo12-api", QUEUE)]
        rig.audit()
        rig.run(10)
        assert of(rig, Rule.WIRING) == ["first", "resolved"]


def test_s07_dlqwatch_can_not_see(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.cf.land(QUEUE, 3)
        rig.run(31)
        rig.cf.fail(Fault.html(502))
        rig.run(1_800)
        assert of(rig, Rule.BLIND) == ["first"]
        assert rig.told() == ["first"], "neither resolved nor hidden"
        rig.cf.heal()
        rig.run(60)
        assert of(rig, Rule.BLIND) == ["first", "resolved"]
        assert "can see again" in texts(rig)[-1]
        rig.cf.tokens.clear()
        rig.run(61)
        assert of(rig, Rule.BLIND) == ["first", "resolved", "first"], "at the second refusal"


class Ear:
    """A receiver of heartbeats that counts."""

    timeout_s = 1.0

    def __init__(self) -> None:
        self.heard = 0

    def call(self, url: str) -> str:
        self.heard += 1
        return ""


def test_s08_dlqwatch_itself_dies(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        ear = Ear()
        beats = Heartbeat.model_construct(url="https://hc.example/x", fail_url="", interval=MINUTE)
        heart = Heart(rig.engine, beats, ear, rig.clock)
        for _ in range(10):
            rig.run(30)
            heart.ticked(QUEUE)
            heart.step()
        assert ear.heard >= 4
        heard = ear.heard
        for _ in range(20):  # the loop hangs: no tick finishes
            rig.clock.move(30)
            heart.step()
        assert ear.heard <= heard + 2
        last_seen = rig.clock.now()
        rig.clock.move(600)
        rig.restart(seen_at=last_seen)
        rig.run(60)
        assert "runs again after a crash or a kill" in texts(rig)[-1]


def test_s09_slack_is_down(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT, RULES) as rig:
        rig.slack.fail(Fault.status(500))
        rig.cf.land(QUEUE, 3)
        rig.run(600)
        assert rig.messages() == []
        assert [n.reason.value for n in rig.pending()] == ["first"]
        rig.slack.heal()
        rig.run(600)
        assert rig.told() == ["first"]
        assert len(rig.messages()) == 1


def test_s10_the_process_is_killed(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT, RULES) as rig:
        rig.cf.land(QUEUE, 3)
        rig.poll()
        rig.restart()  # decided, not sent
        rig.run(60)
        rig.engine.begin("slack")
        rig.restart()
        rig.run(60)
        assert len(rig.messages()) == 1
        rig.clock.move(600)
        rig.cf.drain(QUEUE)  # while nobody looked
        rig.restart()
        rig.run(180)
        assert rig.told() == ["first", "resolved"]


def test_s11_history_can_not_be_written(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.run(31)
        rig.journal.failing = True
        rig.cf.land(QUEUE, 3)
        rig.run(60)
        assert any("3 dead letters" in text for text in texts(rig))
        rig.run(60)
        assert any("can't write" in text or "history" in text.lower() for text in texts(rig))
        rig.journal.failing = False
        rig.run(120)
        assert rig.told() == ["first"], "what memory held is written"


def test_s12_the_event_was_never_published(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        watch = PublishWatch("nemo12-api", NEEDLE, 5 * MINUTE)
        rig.restart(plan=replace(rig.plan, publish=watch))
        rig.cf.tokens[READ_TOKEN] |= {"workers_observability_read"}
        assert isinstance(rig.queues, Cloudflare)
        logs = Telemetry(rig.queues, rig.clock)
        counter = Counter(rig.engine, logs, watch, rig.clock, 5.0)
        rig.run(31)
        counter.tick()
        rig.cf.logs.write("nemo12-api", f"{NEEDLE}: timeout", rig.clock.now())
        for _ in range(15):
            rig.run(60)
            counter.tick()
            rig.settle()
        assert of(rig, Rule.PUBLISH_FAILURES) == ["first"]
        assert NEEDLE in str(rig.messages()[-1])


def test_s13_messages_grow_old_in_the_source(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.run(31)
        rig.cf.land(SOURCE, age_s=5_400)
        for _ in range(2):
            rig.audit()
            rig.run(300)
        assert of(rig, Rule.WIRING) == ["first"]
        facts = rig.told_of(Rule.WIRING)[0].facts
        assert getattr(facts, "topics", ()) == (DeviationKind.SOURCE_OLD,)
        assert "grow old" in rig.messages()[-1].text


def test_s14_the_clock_steps_the_host_sleeps_a_poll_hangs(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK, RULES) as rig:
        rig.cf.land(QUEUE, 3)
        rig.run(31)
        for step in (-3_600, 3_600, 10 * 365 * 86_400, -10 * 365 * 86_400):
            rig.clock.step(step)
            asked = len(rig.cf.requests)
            rig.run(61)
            assert len(rig.cf.requests) > asked
        rig.clock.move(8 * 3_600)  # asleep
        rig.run(61)
        assert rig.told().count("first") == 1
        assert len(rig.told()) <= 4, "no storm"
        assert of(rig, Rule.BLIND) == []
        rig.cf.fail(Fault(headers=(("Date", "Fri, 06 Nov 2026 10:00:00 GMT"),)))
        for _ in range(2):
            rig.audit()
            rig.run(300)
        facts = rig.told_of(Rule.WIRING)[0].facts
        assert getattr(facts, "topics", ()) == (DeviationKind.CLOCK_OFF,)
