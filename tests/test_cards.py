"""A bot's card: the parent message of an incident, edited as it changes, never a second alarm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.decide.outcomes import Answer, answer_lost
from dlqwatch.model import Outcome, QueueRules
from dlqwatch.rows import Card
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SlackMessage
from dlqwatch.sim.wire import Request
from tests.rig import BOT, QUEUE, TEAM, WEBHOOK, LightRig, SimRig, light, plan_for, simulated


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[SimRig]:
    with simulated(tmp_path, BOT) as found:
        yield found


@pytest.fixture
def bot() -> Iterator[LightRig]:
    with light(BOT) as found:
        yield found


def fire(rig: SimRig, n: int = 3) -> SlackMessage:
    """Dead letters land and are told; the card."""
    rig.cf.land(QUEUE, n)
    rig.tick()
    return rig.messages()[0]


def land_and_poll(rig: SimRig, n: int) -> None:
    rig.cf.land(QUEUE, n)
    rig.run(30)


def an_update(request: Request) -> bool:
    return request.path.endswith("chat.update")


def card_text(rig: SimRig) -> str:
    return rig.messages()[0].text.split("\n")[0]


# ---- edits


def test_the_first_word_is_the_card(rig: SimRig) -> None:
    card = fire(rig)
    assert card.thread_ts is None
    row = rig.card()
    assert (row.ts, row.channel, row.shown_rev) == (card.ts, card.channel, 1)


def test_more_dead_letters_show_on_the_card_at_once_and_are_told_after_the_interval(
    rig: SimRig,
) -> None:
    fire(rig, 3)
    land_and_poll(rig, 2)
    assert "5 dead letters" in card_text(rig)
    assert len(rig.messages()) == 1
    rig.run(900)
    card, reply = rig.messages()
    assert reply.thread_ts == card.ts
    assert reply.reply_broadcast
    assert "2 more dead letters" in reply.text


def test_fewer_show_on_the_card_and_say_nothing_aloud(rig: SimRig) -> None:
    fire(rig, 5)
    rig.cf.take(QUEUE, 3)
    rig.run(1200)
    (card,) = rig.messages()
    assert "2 dead letters" in card.text
    assert len(card.edits) == 2, "the depth, then, once it is believed, that they were removed"


def test_what_did_not_change_is_never_edited(rig: SimRig) -> None:
    fire(rig)
    rig.run(1200)
    assert "chat.update" not in rig.calls()


def test_an_edit_mentions_nobody(rig: SimRig) -> None:
    fire(rig, 120)
    card = rig.messages()[0]
    assert card.pings == (TEAM[1:-1],)
    land_and_poll(rig, 5)
    assert rig.messages()[0].pings == ()


def test_the_card_is_edited_before_the_reply_is_posted(rig: SimRig) -> None:
    fire(rig, 3)
    rig.run(900)
    rig.slack.requests.clear()
    land_and_poll(rig, 2)
    rig.run(3, polling=False)
    assert rig.calls() == ["chat.update", "chat.postMessage"]


def test_a_resolve_at_warning_stays_in_the_thread_and_the_card_says_it_too(rig: SimRig) -> None:
    fire(rig)
    rig.cf.drain(QUEUE)
    rig.run(120)
    card, reply = rig.messages()
    assert (reply.thread_ts, reply.reply_broadcast) == (card.ts, False)
    assert "is empty again" in card.text
    assert "is empty again" in reply.text


def test_a_resolve_at_critical_is_broadcast(rig: SimRig) -> None:
    fire(rig, 120)
    rig.cf.drain(QUEUE)
    rig.run(120)
    card, reply = rig.messages()
    assert (reply.thread_ts, reply.reply_broadcast) == (card.ts, True)


def test_told_in_one_at_the_end_the_card_is_right_from_the_start(rig: SimRig) -> None:
    rig.slack.refuse()
    rig.cf.land(QUEUE, 3)
    rig.run(60)
    rig.cf.drain(QUEUE)
    rig.run(120)
    rig.slack.start()
    rig.run(120)
    (card,) = rig.messages()
    assert "Already over" in card.text
    assert card.edits == ()


def test_the_next_incident_gets_a_card_of_its_own(rig: SimRig) -> None:
    first = fire(rig)
    rig.cf.drain(QUEUE)
    rig.run(120)
    land_and_poll(rig, 4)
    assert [m.thread_ts for m in rig.messages()] == [None, first.ts, None]


def test_two_queues_have_two_cards(tmp_path: Path) -> None:
    with simulated(tmp_path, BOT, QueueRules(QUEUE), QueueRules("b-dlq")) as rig:
        rig.cf.create_queue("b-dlq")
        rig.cf.land("b-dlq", 1)
        fire(rig)
        rig.run(25)
        assert [m.thread_ts for m in rig.messages()] == [None, None]
        rig.cf.land("b-dlq", 1)
        rig.run(30)
        edited = [m for m in rig.messages() if m.edits]
        assert ["b-dlq" in m.text for m in edited] == [True]


def test_after_a_death_the_old_message_is_the_one_that_is_edited(rig: SimRig) -> None:
    card = fire(rig)
    rig.cf.drain(QUEUE)
    rig.poll()
    rig.restart()
    rig.run(120)
    assert rig.messages()[0].ts == card.ts
    assert "is empty again" in rig.messages()[0].text
    assert len(rig.messages()) == 2


def test_a_death_between_the_edit_and_its_record_edits_once_more_and_tells_once(
    rig: SimRig,
) -> None:
    fire(rig)
    rig.cf.land(QUEUE, 2)
    rig.poll()
    rig.slack.fail(Fault.close(after=True), times=1, when=an_update)
    rig.run(2, polling=False)
    rig.restart()
    rig.run(60)
    (card,) = rig.messages()
    assert "5 dead letters" in card.text


def test_a_webhook_has_no_cards(tmp_path: Path) -> None:
    with simulated(tmp_path, WEBHOOK) as rig:
        fire(rig)
        rig.cf.drain(QUEUE)
        rig.run(120)
        assert rig.rows(Card) == []
        assert [m.edits for m in rig.messages()] == [(), ()]


# ---- edits that fail


def test_an_edit_that_slack_puts_off_waits_and_then_shows_the_newest(rig: SimRig) -> None:
    fire(rig, 3)
    rig.slack.fail(Fault.rate_limited(60), times=1, when=an_update)
    land_and_poll(rig, 1)
    land_and_poll(rig, 1)
    assert "3 dead letters" in card_text(rig)
    rig.run(61)
    (card,) = rig.messages()
    assert "5 dead letters" in card.text
    assert len(card.edits) == 1


def test_an_edit_that_fails_again_and_again_holds_no_notice_up(bot: LightRig) -> None:
    bot.holds(3)
    bot.tick()
    bot.speaker.edit_weather = answer_lost("no answer")
    bot.holds(120)
    bot.run(150)
    assert bot.told() == ["first", "severity_raised"]


def test_an_edit_is_never_looked_up_it_is_done_again(bot: LightRig) -> None:
    bot.holds(3)
    bot.tick()
    bot.speaker.edit_weather = answer_lost("no answer")
    bot.holds(4)
    bot.run(60)
    bot.speaker.edit_weather = None
    bot.run(60)
    assert bot.attempts("look") == []
    assert len(bot.speaker.posts[0].edits) == 1
    assert bot.card().failures == 0


@pytest.mark.parametrize("error", ["cant_update_message", "edit_window_closed", "block_mismatch"])
def test_where_editing_is_forbidden_the_incident_goes_on_as_with_a_webhook(
    bot: LightRig, error: str
) -> None:
    bot.holds(3)
    bot.tick()
    bot.speaker.edit_weather = Answer(Outcome.TARGET_GONE, error)
    bot.holds(4)
    bot.run(1000)
    assert bot.attempts("edit") == [0], "asked once"
    assert bot.card().frozen
    bot.holds(0)
    bot.run(120)
    assert bot.told() == ["first", "grown", "resolved"]
    assert [p.thread_ts for p in bot.speaker.posts] == [None, None, None]


def test_an_edit_window_that_closed_is_noticed_by_a_real_slack(rig: SimRig) -> None:
    rig.slack.edit_window_s = 60
    fire(rig)
    rig.run(120)
    land_and_poll(rig, 1)
    rig.run(900)
    assert [m.thread_ts for m in rig.messages()] == [None, None]
    assert rig.told() == ["first", "grown"]


def test_an_edit_refused_for_what_it_says_is_not_tried_again(bot: LightRig) -> None:
    bot.holds(3)
    bot.tick()
    bot.speaker.edit_weather = Answer(Outcome.PAYLOAD, "msg_too_long")
    bot.holds(4)
    bot.run(1000)
    assert bot.attempts("edit") == [0]
    assert bot.told() == ["first", "grown"]


# ---- a parent that is gone


def test_a_deleted_card_makes_the_next_notice_the_new_one(rig: SimRig) -> None:
    card = fire(rig)
    rig.slack.remove(card.ts)
    rig.cf.drain(QUEUE)
    rig.run(120)
    (last,) = rig.messages()
    assert last.thread_ts is None
    assert rig.told() == ["first", "resolved"]


def test_the_new_card_is_the_one_that_is_edited(rig: SimRig) -> None:
    card = fire(rig, 3)
    rig.slack.remove(card.ts)
    land_and_poll(rig, 1)
    rig.run(900)  # grown, as a new card
    land_and_poll(rig, 1)
    (new,) = rig.messages()
    assert new.thread_ts is None
    assert "5 dead letters" in new.text
    assert rig.card().ts == new.ts


def test_a_reply_that_slack_made_a_message_becomes_the_new_card(bot: LightRig) -> None:
    bot.holds(3)
    bot.tick()
    bot.speaker.threads = False
    bot.holds(4)
    bot.run(1000)
    assert bot.told() == ["first", "grown"]
    assert bot.card().ts == bot.speaker.posts[1].ts
    bot.holds(5)
    bot.run(31)
    assert [len(p.edits) for p in bot.speaker.posts] == [1, 1]


def test_a_real_slack_that_lost_the_parent_answers_without_a_thread(rig: SimRig) -> None:
    card = fire(rig, 120)
    rig.cf.drain(QUEUE)
    rig.slack.fail(Fault.status(500), when=an_update)  # so that only the reply notices
    rig.slack.remove(card.ts)
    rig.run(150)
    (last,) = rig.messages()
    assert last.thread_ts is None
    assert rig.told() == ["first", "resolved"]


def test_a_reply_that_may_not_be_is_posted_at_once_as_a_new_card(bot: LightRig) -> None:
    bot.holds(3)
    bot.tick()
    bot.run(900)
    bot.speaker.script.append(Answer(Outcome.TARGET_GONE, "cannot_reply_to_message"))
    bot.holds(4)
    bot.run(35)
    assert bot.told() == ["first", "grown"]
    new = bot.speaker.posts[-1]
    assert new.thread_ts is None
    refused, again = bot.attempts()[-2:]
    assert again - refused == 1
    assert bot.card().ts == new.ts
    assert not bot.card().gone


def test_a_post_that_finds_no_target_though_it_has_none_is_tried_slowly(bot: LightRig) -> None:
    bot.speaker.weather = Answer(Outcome.TARGET_GONE, "is_inactive")
    bot.holds(3)
    bot.tick()
    bot.run(130)
    assert bot.attempts() == [0, 60, 120]
    bot.speaker.weather = "ok"
    bot.run(60)
    assert bot.told() == ["first"]


def test_another_channel_gets_a_new_card(bot: LightRig) -> None:
    bot.holds(3)
    bot.tick()
    moved = plan_for(BOT, address="another")
    bot.restart(plan=replace(moved, version=bot.plan.version))
    bot.holds(0)
    bot.run(120)
    assert bot.told() == ["first", "resolved"]
    assert bot.attempts("edit") == []
    assert bot.speaker.posts[-1].thread_ts is None
