"""How a notice travels to Slack: in order, once, patiently, and honest about what may be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from dlqwatch.decide.outcomes import Answer, not_sent
from dlqwatch.decide.sending import backoff_ms
from dlqwatch.facts import Payload
from dlqwatch.model import (
    DestinationKind,
    DestinationState,
    Outcome,
    QueueRules,
    Reason,
)
from dlqwatch.sim.faults import Fault
from dlqwatch.words.en_cures import cure
from tests.fakes import FakeSpeaker
from tests.rig import BOT, KINDS, QUEUE, WEBHOOK, LightRig, light, plan_for, simulated
from tests.series import told, untimed

BUSY = Answer(Outcome.TEMPORARY, "ratelimited")
A_QUEUE, B_QUEUE, C_QUEUE = "a-dlq", "b-dlq", "c-dlq"


@pytest.fixture(params=KINDS)
def rig(request: pytest.FixtureRequest) -> Iterator[LightRig]:
    """A daemon with each kind of destination in turn."""
    with light(request.param) as found:
        yield found


def rate_limited(rig: LightRig, seconds: float) -> Answer:
    return replace(BUSY, retry_at=rig.clock.now() + round(seconds * 1000))


def fire(rig: LightRig, depth: int = 3) -> None:
    """A dead letter is seen, and what is due is sent."""
    rig.holds(depth)
    rig.tick()


# ---- the way out


def test_the_first_word_leaves_at_the_moment_of_the_poll_that_saw_it(rig: LightRig) -> None:
    began = rig.clock.now()
    fire(rig)
    assert [p.at for p in rig.speaker.posts] == [began]
    assert rig.told() == ["first"]


def test_that_a_post_begins_is_in_the_file_before_slack_hears_of_it(rig: LightRig) -> None:
    seen: list[int | None] = []
    inner = rig.speaker

    class Watching(FakeSpeaker):
        def post(
            self,
            payload: Payload,
            *,
            thread_ts: str | None = None,
            broadcast: bool = False,
            receipt: Mapping[str, object] | None = None,
        ) -> Answer:
            (notice,) = rig.pending()
            seen.append(rig.delivery(notice).posting_since)
            return inner.post(payload, thread_ts=thread_ts, broadcast=broadcast, receipt=receipt)

    rig.speaker = Watching(rig.clock, inner.bot)
    rig.restart()
    fire(rig)
    assert seen == [rig.clock.now()]
    (first,) = rig.notices()
    assert rig.delivery(first).posting_since is None


def test_what_says_that_dlqwatch_started_yields_to_an_alert() -> None:
    with light(WEBHOOK, started=False) as rig:
        rig.holds(3)
        rig.poll()
        rig.run(5, polling=False)
        assert [line[0] for line in rig.posted(itself=True)] == ["🟠", "🟢"]


def test_of_all_that_is_due_a_depth_alert_goes_first() -> None:
    with light(WEBHOOK, started=False) as rig:
        rig.speaker.weather = not_sent("connection refused")
        rig.run(20, polling=False)
        rig.holds(3)
        rig.poll()
        rig.speaker.weather = "ok"
        rig.clock.move(120)  # both are due
        rig.run(5, polling=False)
        assert [line[0] for line in rig.posted(itself=True)] == ["🟠", "🟢"]


def test_one_message_a_second_and_no_more() -> None:
    queues = [QueueRules(name) for name in (A_QUEUE, B_QUEUE, C_QUEUE)]
    with light(WEBHOOK, *queues) as rig:
        for rules in queues:
            rig.holds(1, rules.name)
        rig.poll()
        rig.run(10, polling=False)
        assert rig.attempts() == [0, 1, 2]


def test_slack_that_takes_one_a_second_never_refuses_one(tmp_path: Path) -> None:
    queues = [QueueRules(name) for name in (A_QUEUE, B_QUEUE, C_QUEUE)]
    with simulated(tmp_path, BOT, *queues) as rig:
        rig.slack.one_per_second = True
        for rules in queues:
            rig.cf.create_queue(rules.name)
            rig.cf.land(rules.name, 2)
        rig.run(25)
        assert len(rig.messages()) == 3
        assert rig.calls().count("chat.postMessage") == 3


def test_the_words_of_one_incident_keep_their_order() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, keep_ms=0)) as rig:
        rig.speaker.script.extend(["lost", "lost"])
        fire(rig)
        rig.holds(0)
        rig.run(30)
        assert [n.reason for n in rig.pending()] == [Reason.FIRST, Reason.RESOLVED]
        rig.run(60)
        assert rig.told() == ["first", "resolved"]
        first, last = rig.posted()
        assert "3 dead letters" in first
        assert "is empty again" in last


def test_incidents_do_not_wait_for_each_other() -> None:
    with light(WEBHOOK, QueueRules(A_QUEUE), QueueRules(B_QUEUE)) as rig:
        refused = Answer(Outcome.PAYLOAD, "HTTP 400 invalid_payload")
        rig.speaker.script.extend([refused, refused])
        rig.holds(1, A_QUEUE)
        rig.tick()
        rig.run(2, polling=False)  # its second refusal: it waits a minute now
        rig.holds(2, B_QUEUE)
        rig.tick()
        rig.run(3, polling=False)
        assert [A_QUEUE in line for line in rig.posted()] == [False]


# ---- while Slack is away


@pytest.mark.parametrize("kind", KINDS)
def test_what_happens_while_slack_is_away_becomes_one_message(kind: DestinationKind) -> None:
    shown = told("0 down 3 5 4 120 up 120*4", kind=kind)
    assert untimed(shown) == "first:120!"


@pytest.mark.parametrize("kind", KINDS)
def test_an_incident_that_came_and_went_while_slack_was_away_is_one_message(
    kind: DestinationKind,
) -> None:
    assert untimed(told("0 down 3 5 0*4 up 0*4", kind=kind)) == "first_and_resolved:0"


def test_a_death_while_slack_is_away_loses_nothing() -> None:
    assert untimed(told("0 down 3 5 restart 5 0*4 restart up 0*4")) == "first_and_resolved:0"
    assert untimed(told("3 down 0*4 restart up 0*4")) == "first:3 resolved:0"


def test_slack_is_tried_on_with_gaps_that_grow_to_a_minute_and_no_further(rig: LightRig) -> None:
    rig.speaker.weather = not_sent("connection refused")
    fire(rig)
    rig.run(600)
    gaps = [b - a for a, b in pairwise(rig.attempts())]
    assert 0.8 <= gaps[0] <= 3
    assert all(b > a * 1.2 for a, b in pairwise(gaps[:4]))
    assert all(45 <= gap <= 75 for gap in gaps[6:])
    assert 12 <= len(gaps) <= 20


def test_backoff_spreads_by_key_and_keeps_to_its_steps() -> None:
    steps = [1000, 2000, 5000, 10_000, 30_000, 60_000, 60_000]
    for key in ("1-a", "2-a", "slack"):
        for failures, step in enumerate(steps, 1):
            assert 0.8 * step <= backoff_ms(failures, key) <= 1.2 * step
    assert len({backoff_ms(9, f"{n}") for n in range(50)}) > 30
    assert backoff_ms(0, "a") <= 1200


def test_a_retry_after_is_obeyed_and_not_forgotten_by_a_restart(rig: LightRig) -> None:
    rig.speaker.script.append(rate_limited(rig, 120))
    fire(rig)
    rig.run(60)
    rig.restart()
    rig.run(59)
    assert rig.attempts() == [0]
    rig.run(2)
    assert rig.attempts() == [0, 120]
    assert rig.told() == ["first"]


def test_a_long_retry_after_survives_a_restart_up_to_an_hour(rig: LightRig) -> None:
    rig.speaker.script.append(rate_limited(rig, 3000))
    fire(rig)
    rig.restart()
    rig.run(2995)
    assert rig.attempts() == [0]
    rig.run(10)
    assert rig.told() == ["first"]


def test_a_retry_after_holds_for_every_message_to_that_destination() -> None:
    with light(WEBHOOK, QueueRules(A_QUEUE), QueueRules(B_QUEUE)) as rig:
        rig.speaker.script.append(rate_limited(rig, 50))
        rig.holds(1, A_QUEUE)
        rig.holds(1, B_QUEUE)
        rig.poll()
        rig.run(60, polling=False)
        assert rig.attempts() == [0, 50, 51]


def test_what_is_newer_goes_into_a_notice_that_slack_refused_for_now(rig: LightRig) -> None:
    rig.speaker.script.append(rate_limited(rig, 45))
    fire(rig, 3)
    rig.holds(7)
    rig.run(60)
    assert rig.told() == ["first"]
    assert "7 dead letters" in rig.posted()[0]


# ---- refused for what it says, by whom, or for where it goes


def test_refused_blocks_come_at_once_as_plain_text(rig: LightRig) -> None:
    rig.speaker.script.append(Answer(Outcome.PAYLOAD, "invalid_blocks"))
    fire(rig)
    rig.run(1, polling=False)
    assert rig.attempts() == [0, 1]
    (post,) = rig.speaker.posts
    assert post.payload.blocks is None
    assert "3 dead letters" in post.payload.text
    assert rig.told() == ["first"]


def test_a_plain_text_that_is_refused_too_is_tried_on_slowly(rig: LightRig) -> None:
    rig.speaker.weather = Answer(Outcome.PAYLOAD, "no_text")
    fire(rig)
    rig.run(150, polling=False)
    assert rig.attempts() == [0, 1, 61, 121]
    rig.speaker.weather = "ok"
    rig.run(40, polling=False)
    assert rig.told() == ["first"]


def test_slack_that_refuses_anything_with_blocks_still_tells(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig:
        refusal = Fault.json({"ok": False, "error": "invalid_blocks"})
        rig.slack.fail(refusal, when=lambda r: bool(r.args.get("blocks")))
        rig.cf.land(QUEUE, 3)
        rig.run(20)
        (message,) = rig.messages()
        assert message.blocks is None
        assert "3 dead letters" in message.text


def test_a_destination_that_needs_a_person_is_tried_once_a_minute(rig: LightRig) -> None:
    rig.speaker.weather = Answer(Outcome.NEEDS_PERSON, "is_archived")
    fire(rig)
    rig.run(200)
    assert rig.attempts() == [0, 60, 120, 180]
    row = rig.destination()
    assert (row.state, row.reason) == (DestinationState.NEEDS_PERSON, "is_archived")
    assert row.since == rig.clock.now() - 200_000
    rig.speaker.weather = "ok"
    rig.run(60)
    assert rig.told() == ["first"]
    assert rig.destination().state is DestinationState.OK
    assert rig.destination().reason == ""


def test_trouble_with_slack_is_logged_when_it_begins_and_when_it_ends(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.speaker.weather = Answer(Outcome.NEEDS_PERSON, "is_archived")
    fire(rig)
    rig.run(600)
    rig.speaker.weather = "ok"
    rig.run(61)
    ours = [r for r in caplog.records if r.name == "dlqwatch.courier" and r.levelname != "INFO"]
    assert [(r.levelname, r.message) for r in ours] == [
        ("ERROR", "slack refuses: is_archived. " + cure("is_archived", destination="slack")),
        ("WARNING", "slack works again"),
    ]


def test_a_speaker_that_raises_is_a_lost_answer_and_its_words_stay_unsaid(
    rig: LightRig, caplog: pytest.LogCaptureFixture
) -> None:
    class Raising(FakeSpeaker):
        def post(
            self,
            payload: Payload,
            *,
            thread_ts: str | None = None,
            broadcast: bool = False,
            receipt: Mapping[str, object] | None = None,
        ) -> Answer:
            raise ValueError("https://hooks.slack.com/services/T0/B0/canary")

    working = rig.speaker
    rig.speaker = Raising(rig.clock, working.bot)
    rig.restart()
    fire(rig)
    (first,) = rig.pending()
    assert rig.delivery(first).outcome is Outcome.AMBIGUOUS
    assert "canary" not in caplog.text
    assert "canary" not in rig.delivery(first).error
    rig.speaker = working
    rig.restart()
    rig.run(60)
    assert rig.told() == ["first"]


def test_a_new_address_gets_at_once_what_waited_for_the_old_one(rig: LightRig) -> None:
    rig.speaker.weather = Answer(Outcome.NEEDS_PERSON, "is_archived")
    fire(rig)
    rig.speaker.weather = "ok"
    rig.restart(plan=plan_for(rig.plan.destinations[0].kind, address="another"))
    rig.run(2, polling=False)
    assert rig.told() == ["first"]
