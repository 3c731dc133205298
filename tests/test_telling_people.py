"""What went wrong for others when people were to be told: over real HTTP to a scripted Slack."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.daemon.courier import Courier
from dlqwatch.edges.http import shared_ssl_context
from dlqwatch.edges.slack import Speaker, Webhook
from dlqwatch.edges.speakers import speaker
from dlqwatch.model import (
    Destination,
    DestinationKind,
    DestinationState,
    NoticeStatus,
    QueueRules,
    Reason,
)
from dlqwatch.rows import DestinationRow
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import BOT_TOKEN, CHANNEL, SimSlack
from dlqwatch.sim.wire import Request
from tests.configs import CLOUDFLARE, settings
from tests.rig import BOT, KINDS, QUEUE, WEBHOOK, SimRig, simulated

CONTEXT = shared_ssl_context()
REPEAT = "(possible repeat)"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> DestinationKind:
    found: DestinationKind = request.param
    return found


def is_post(request: Request) -> bool:
    return request.path.endswith("chat.postMessage") or request.path.startswith("/services/")


def speaks(rig: SimRig, first: Speaker) -> None:
    """From now on the first destination is reached through this edge."""
    rig.couriers[0] = Courier(rig.engine, rig.plan.destinations[0], first, rig.clock)


@contextmanager
def with_fallback(rig: SimRig) -> Iterator[SimSlack]:
    """A second destination: a webhook of another workspace."""
    with SimSlack(rig.clock) as other:
        second = Destination("slack.fallback", WEBHOOK, "other")
        rig.restart(plan=replace(rig.plan, destinations=(*rig.plan.destinations, second)))
        hook = Webhook(lambda: other.webhook_url, CONTEXT, rig.clock)
        rig.couriers[1] = Courier(rig.engine, second, hook, rig.clock)
        yield other


# -- Slack doesn't take it now


def test_a_429_on_the_first_word_and_a_drain_before_it_ends_leave_both_told(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with simulated(tmp_path, kind, QueueRules(QUEUE, keep_ms=0)) as rig:
        rig.cf.land(QUEUE)
        rig.slack.fail(Fault.rate_limited(3), times=1)
        rig.tick()
        assert rig.messages() == []
        rig.cf.drain(QUEUE)
        rig.poll()
        rig.run(5, polling=False)
        assert rig.told() == ["first_and_resolved"]
        (message,) = rig.messages()
        assert "Already over" in message.text


def test_slack_down_for_ten_minutes_then_the_first_word_with_its_time(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with simulated(tmp_path, kind) as rig:
        rig.cf.land(QUEUE)
        rig.slack.refuse()
        rig.run(600)
        assert rig.messages() == []
        rig.slack.start()
        rig.run(90)
        (message,) = rig.messages()
        assert "Late: decided" in message.text
        assert rig.told() == ["first"]


def test_a_500_on_the_first_word_comes_again_long_before_the_reminder(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig:
        rig.cf.land(QUEUE)
        rig.slack.fail(Fault.status(500), times=1)
        rig.run(60)
        assert rig.told() == ["first"]
        assert len(rig.messages()) == 1


def test_until_slack_confirms_the_row_says_pending(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig:
        rig.cf.land(QUEUE)
        rig.slack.refuse()
        rig.tick()
        (first,) = rig.notices()
        assert (first.reason, first.status) == (Reason.FIRST, NoticeStatus.PENDING)
        assert first.delivered_at is None


def test_a_death_after_the_decision_and_before_the_answer_leaves_one_or_two_copies(
    tmp_path: Path, kind: DestinationKind
) -> None:
    """Slack took it and the process died before it heard so. (A true kill -9: test_kill9.py.)"""
    with simulated(tmp_path, kind, give_up_s=0.2) as rig:
        rig.cf.land(QUEUE)
        rig.poll()
        rig.engine.begin("slack")
        rig.restart()
        rig.run(60)
        (message,) = rig.messages()
        assert (REPEAT in message.text) == (kind is WEBHOOK)


# -- Slack's answer is lost


def test_an_answer_that_hangs_after_slack_stored_it_makes_at_most_one_marked_copy(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with simulated(tmp_path, kind, give_up_s=0.2) as rig:
        rig.cf.land(QUEUE)
        rig.slack.fail(Fault.hang(after=True), times=1, when=is_post)
        rig.run(90)
        texts = [m.text for m in rig.messages()]
        assert len(texts) == (1 if kind is BOT else 2)
        assert [REPEAT in text for text in texts] == [False, True][: len(texts)]


def test_a_peer_that_closes_after_it_stored_it_is_not_posted_to_twice_at_once(
    tmp_path: Path, kind: DestinationKind
) -> None:
    """slack_sdk's own retry would."""
    with simulated(tmp_path, kind) as rig:
        rig.cf.land(QUEUE)
        rig.slack.fail(Fault.close(after=True), times=1, when=is_post)
        rig.tick()
        assert len(rig.messages()) == 1
        rig.run(90)
        assert len(rig.messages()) == (1 if kind is BOT else 2)


# -- a person must act


def test_ok_false_is_not_sent_the_fallback_is_used_and_the_place_is_broken(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig, with_fallback(rig) as other:
        rig.slack.channels[CHANNEL].member = False
        rig.cf.land(QUEUE)
        rig.tick()
        assert rig.messages() == []
        (first,) = rig.notices()
        assert (first.status, first.delivered_by) == (NoticeStatus.DELIVERED, "slack.fallback")
        assert "1 dead letter" in other.messages()[-1].text
        row = next(d for d in rig.rows(DestinationRow) if d.name == "slack")
        assert (row.state, row.reason) == (DestinationState.NEEDS_PERSON, "not_in_channel")
        rig.slack.channels[CHANNEL].member = True
        rig.run(300)
        assert [n.reason for n in rig.notices()] == [Reason.FIRST, Reason.RECONNECTED]
        assert len(rig.messages()) == 1


def test_an_archived_channel_is_one_clear_error_and_it_is_told_once_it_works_again(
    tmp_path: Path, kind: DestinationKind, caplog: pytest.LogCaptureFixture
) -> None:
    with simulated(tmp_path, kind) as rig:
        rig.slack.channels[CHANNEL].archived = True
        rig.cf.land(QUEUE)
        rig.run(1800)
        errors = [r.message for r in caplog.records if r.levelno >= logging.ERROR]
        assert len(errors) == 1
        assert errors[0].startswith("slack refuses: ")
        assert "is_archived" in errors[0]
        assert "unarchive" in errors[0]
        polls = sum("metrics" in r.path for r in rig.cf.requests)
        assert polls >= 60
        rig.slack.channels[CHANNEL].archived = False
        rig.run(70)
        assert rig.told() == ["first"]


def test_a_mistyped_webhook_that_is_redirected_to_a_page_is_no_success(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with simulated(tmp_path, WEBHOOK) as rig:
        wrong = f"{rig.slack.url}/services/T0/B0/mistyped"
        speaks(rig, Webhook(lambda: wrong, CONTEXT, rig.clock))
        rig.cf.land(QUEUE)
        rig.tick()
        assert rig.told() == []
        assert rig.destination().state is DestinationState.NEEDS_PERSON
        assert "mistyped or old" in caplog.text
        assert wrong not in caplog.text


def test_a_token_that_is_replaced_in_its_file_is_used_without_a_restart(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig:
        file = tmp_path / "token"
        file.write_text("xoxb-1-1-revoked")
        text = f'{CLOUDFLARE}[slack]\nbot_token_file = "{file}"\nchannel = "{CHANNEL}"\n'
        made = settings(tmp_path, f'{text}api_base_url = "{rig.slack.api_url}"\n')
        speaks(rig, speaker(made, "slack", CONTEXT, rig.clock))
        rig.cf.land(QUEUE)
        rig.tick()
        assert rig.destination().state is DestinationState.NEEDS_PERSON
        file.write_text(f"{BOT_TOKEN}\n")
        rig.run(61)
        assert rig.told() == ["first"]


def test_a_dead_first_destination_does_not_stop_the_second(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT) as rig, with_fallback(rig) as other:
        rig.slack.refuse()
        rig.cf.land(QUEUE)
        rig.run(331)
        assert any("1 dead letter" in m.text for m in other.messages())
