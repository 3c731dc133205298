"""A message whose answer was lost may be in Slack: looked up by a bot, repeated and marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from dlqwatch.decide.outcomes import Answer
from dlqwatch.decide.sending import lost_again_ms
from dlqwatch.model import (
    HOUR,
    NoticeStatus,
    Outcome,
    QueueRules,
    Reason,
)
from tests.rig import BOT, QUEUE, WEBHOOK, LightRig, light

REPEAT = "(possible repeat)"
MAY_NOT = Answer(Outcome.NEEDS_PERSON, "missing_scope")
BUSY = Answer(Outcome.TEMPORARY, "ratelimited")


@pytest.fixture
def bot() -> Iterator[LightRig]:
    with light(BOT) as found:
        yield found


@pytest.fixture
def hook() -> Iterator[LightRig]:
    with light(WEBHOOK) as found:
        yield found


def rate_limited(rig: LightRig, seconds: float) -> Answer:
    return replace(BUSY, retry_at=rig.clock.now() + round(seconds * 1000))


def fire(rig: LightRig, depth: int = 3) -> None:
    """A dead letter is seen, and what is due is sent."""
    rig.holds(depth)
    rig.tick()


# ---- the answer was lost: a webhook


def test_a_webhooks_lost_first_word_is_repeated_at_5_s_30_s_2_min_then_every_10_min(
    hook: LightRig,
) -> None:
    hook.speaker.weather = "stored and lost"
    fire(hook)
    hook.run(2000)
    times = hook.attempts()
    assert times[:3] == [0, 5, 35]
    assert [b - a for a, b in pairwise(times)][2:] == [120, 600, 600, 600][: len(times) - 3]
    assert [lost_again_ms(n) for n in range(7)] == [
        5000, 5000, 30_000, 120_000, 600_000, 600_000, 600_000,
    ]  # fmt: skip


def test_every_repeat_is_marked_and_only_the_repeats(hook: LightRig) -> None:
    hook.speaker.script.extend(["stored and lost", "lost", "stored and lost"])
    fire(hook)
    hook.run(300)
    assert [REPEAT in line for line in hook.posted()] == [False, True, True]
    assert hook.told() == ["first"]


def test_a_lost_answer_never_counts_as_delivered(hook: LightRig) -> None:
    hook.speaker.weather = "stored and lost"
    fire(hook)
    hook.run(3 * HOUR / 1000)
    (first,) = hook.notices()
    assert (first.status, first.delivered_at) == (NoticeStatus.PENDING, None)
    hook.speaker.weather = "ok"
    hook.run(601)
    assert hook.told() == ["first"]


def test_a_webhooks_growth_is_not_repeated_and_its_attempt_counts(hook: LightRig) -> None:
    fire(hook, 3)
    hook.holds(5)
    hook.speaker.script.append("stored and lost")
    hook.run(1000)
    assert [n.status for n in hook.notices()] == [NoticeStatus.DELIVERED, NoticeStatus.DEAD]
    hook.holds(6)
    hook.run(700)
    assert len(hook.speaker.posts) == 2, "within the interval of the lost one"
    hook.run(200)
    assert [n.reason for n in hook.notices()] == [Reason.FIRST, Reason.GROWN, Reason.GROWN]
    assert hook.told() == ["first", "grown"]


def test_growth_whose_answer_was_lost_stays_news_and_is_told_an_interval_later(
    hook: LightRig,
) -> None:
    """Told is what a destination confirmed: else two more would wait for the daily reminder."""
    fire(hook, 3)
    hook.holds(5)
    hook.speaker.script.append("stored and lost")
    hook.run(2 * 3600)
    assert hook.told() == ["first", "grown"]
    lost, repeated = hook.posted()[1:]
    assert "2 more dead letters" in lost
    assert "now 5 (was 3)" in repeated
    assert [REPEAT in line for line in (lost, repeated)] == [False, True]


def test_growth_whose_answer_was_lost_is_measured_by_what_people_know(hook: LightRig) -> None:
    fire(hook, 3)
    hook.holds(5)
    hook.speaker.script.append("lost")
    hook.run(1000)
    hook.holds(4)
    hook.run(1000)
    assert hook.told() == ["first", "grown"], "one more than the three that people know of"
    assert "1 more dead letter" in hook.posted()[-1]


def test_an_outage_that_may_swallow_growth_costs_one_attempt_an_interval(hook: LightRig) -> None:
    fire(hook, 3)
    hook.holds(5)
    hook.speaker.weather = "lost"
    hook.run(6 * 900)
    assert 5 <= len(hook.attempts()) <= 8
    hook.speaker.weather = "ok"
    hook.run(901)
    assert hook.told() == ["first", "grown"]


def test_a_webhook_is_told_of_a_crash_though_an_answer_was_lost(hook: LightRig) -> None:
    fire(hook)
    hook.run(60)
    hook.speaker.script.extend(["lost", "lost"])
    hook.restart(seen_at=hook.clock.now())
    hook.run(120)
    said = hook.posted(itself=True)[-1]
    assert "after a crash" in said
    assert REPEAT in said


def test_a_webhooks_reminder_is_not_repeated_and_the_next_comes_an_interval_later() -> None:
    with light(WEBHOOK, QueueRules(QUEUE, repeat_ms=HOUR)) as rig:
        fire(rig)
        rig.speaker.script.append("lost")
        rig.run(3700)
        assert [n.status for n in rig.notices()] == [NoticeStatus.DELIVERED, NoticeStatus.DEAD]
        rig.run(3500)
        assert rig.told() == ["first", "repeat"]
        assert rig.attempts() == pytest.approx([0, 3585, 7170], abs=31)


def test_a_webhook_that_died_while_posting_repeats_marked(hook: LightRig) -> None:
    hook.holds(3)
    hook.poll()
    assert hook.engine.begin("slack") is not None  # the POST begins, and the process dies
    hook.restart()
    hook.run(4, polling=False)
    assert hook.posted() == []
    hook.run(2, polling=False)
    assert [REPEAT in line for line in hook.posted()] == [True]
    assert hook.told() == ["first"]


def test_while_its_first_word_may_be_posted_the_end_waits_and_comes_second(
    hook: LightRig,
) -> None:
    hook.speaker.weather = "stored and lost"
    fire(hook)
    hook.holds(0)
    hook.run(200)
    assert [n.reason for n in hook.pending()] == [Reason.FIRST, Reason.RESOLVED]
    hook.speaker.weather = "ok"
    hook.run(700)
    assert hook.told() == ["first", "resolved"]


# ---- the answer was lost: a bot


def test_a_bot_looks_before_any_second_attempt_and_not_sooner_than_10_s(bot: LightRig) -> None:
    bot.speaker.script.append("stored and lost")
    fire(bot)
    bot.run(9.9, polling=False)
    assert [name for name, _ in bot.speaker.calls] == ["post"]
    bot.run(1, polling=False)
    assert [name for name, _ in bot.speaker.calls] == ["post", "look"]
    assert bot.told() == ["first"]
    assert len(bot.posted()) == 1


def test_a_bot_that_does_not_find_it_posts_it_unmarked(bot: LightRig) -> None:
    bot.speaker.script.append("lost")
    fire(bot)
    bot.run(20, polling=False)
    assert [name for name, _ in bot.speaker.calls] == ["post", "look", "post"]
    assert [REPEAT in line for line in bot.posted()] == [False]
    assert bot.told() == ["first"]


def test_a_bot_leaves_one_copy_however_many_answers_are_lost(bot: LightRig) -> None:
    bot.speaker.script.extend(["lost", "lost", "stored and lost"])
    fire(bot)
    bot.run(120, polling=False)
    assert len(bot.posted()) == 1
    assert bot.told() == ["first"]


def test_a_bots_growth_whose_answer_was_lost_is_looked_for_too(bot: LightRig) -> None:
    fire(bot, 3)
    bot.holds(5)
    bot.speaker.script.append("stored and lost")
    bot.run(1000)
    assert bot.told() == ["first", "grown"]
    assert len(bot.posted()) == 2


def test_a_bot_that_may_not_look_goes_on_as_a_webhook_with_marks(bot: LightRig) -> None:
    bot.speaker.script.extend(["stored and lost", "stored and lost"])
    bot.speaker.look_weather = MAY_NOT
    fire(bot)
    bot.run(100, polling=False)
    assert [REPEAT in line for line in bot.posted()] == [False, True, True]
    assert bot.attempts("look") == [0], "it is asked once"
    assert bot.told() == ["first"]


def test_a_bot_that_may_not_look_lets_a_reminder_be(bot: LightRig) -> None:
    fire(bot)
    bot.speaker.look_weather = MAY_NOT
    bot.holds(9)
    bot.speaker.script.append("stored and lost")
    bot.run(1000)
    assert [n.status for n in bot.notices()] == [NoticeStatus.DELIVERED, NoticeStatus.DEAD]


def test_a_look_that_fails_for_the_moment_is_tried_again_before_any_post(bot: LightRig) -> None:
    bot.speaker.script.append("stored and lost")
    bot.speaker.look_weather = Answer(Outcome.TEMPORARY, "conversations.history: ratelimited")
    fire(bot)
    bot.run(120, polling=False)
    assert len(bot.attempts("look")) >= 3
    assert bot.attempts() == [0]
    bot.speaker.look_weather = None
    bot.run(90, polling=False)
    assert bot.told() == ["first"]
    assert len(bot.posted()) == 1


def test_a_looks_retry_after_is_obeyed(bot: LightRig) -> None:
    bot.speaker.script.append("stored and lost")
    fire(bot)
    bot.speaker.look_weather = rate_limited(bot, 130)
    bot.run(129, polling=False)
    assert bot.attempts("look") == [0]
    bot.speaker.look_weather = None
    bot.run(2, polling=False)
    assert bot.told() == ["first"]


def test_a_bot_that_died_while_posting_looks_first(bot: LightRig) -> None:
    bot.holds(3)
    bot.poll()
    assert bot.engine.begin("slack") is not None
    bot.restart()
    bot.run(20, polling=False)
    assert [name for name, _ in bot.speaker.calls] == ["look", "post"]
    assert [REPEAT in line for line in bot.posted()] == [False]


def test_over_before_the_look_and_found_the_end_follows_the_first_word() -> None:
    with light(BOT, QueueRules(QUEUE, poll_ms=5000, keep_ms=0)) as bot:
        bot.speaker.script.append("stored and lost")
        fire(bot)
        bot.holds(0)
        bot.run(8)
        assert [n.reason for n in bot.pending()] == [Reason.FIRST, Reason.RESOLVED]
        bot.run(10)
        assert bot.told() == ["first", "resolved"]


def test_over_before_the_look_and_not_found_one_message_tells_both() -> None:
    with light(BOT, QueueRules(QUEUE, poll_ms=5000, keep_ms=0)) as bot:
        bot.speaker.script.append("lost")
        fire(bot)
        bot.holds(0)
        bot.run(20)
        assert bot.told() == ["first_and_resolved"]
        assert len(bot.posted()) == 1


def test_facts_are_frozen_while_a_copy_may_be_in_slack(bot: LightRig) -> None:
    bot.speaker.script.append("stored and lost")
    fire(bot, 3)
    bot.holds(200)
    bot.poll()
    (first,) = bot.notices()
    assert getattr(first.facts, "depth", None) == 3
    bot.run(30)
    assert bot.told() == ["first", "severity_raised"]
