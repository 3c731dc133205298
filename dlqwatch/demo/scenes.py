"""The scenes: what is told before each, and what must come true in it.

Whatever is drawn is read back from the simulated services, and each scene waits until they show
it: nothing is told that did not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.padding import Padding
from rich.text import Text

from dlqwatch.demo import drawing
from dlqwatch.demo.play import Play, incident_of
from dlqwatch.demo.stage import MISSPELT, QUEUE, SOURCE, WORKER, DidNotComeTrue, Pace
from dlqwatch.sim.cloudflare import READ_TOKEN
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.queues import DEFAULT_RETENTION_S, worker_consumer
from dlqwatch.sim.slack import SlackMessage
from dlqwatch.sim.wire import Request

LANDED_AGE_S = 40  # six attempts took this long before the message became a dead letter


def _blind(play: Play) -> None:
    play.wait(
        "an alert says that the queue can't be seen",
        lambda: play.begins("has not seen"),
        due_s=2 * play.pace.poll_s,
    )
    play.draw(play.the_card())
    play.read(8)


def _quiet(play: Play) -> None:
    slack, cloudflare = play.stage.slack, play.stage.cloudflare
    cloudflare.tokens[READ_TOKEN] = {"queues_read"}
    play.wait("dlqwatch sees again", lambda: play.card_says("can see again"))
    play.draw(play.the_card())
    play.wait(
        "dlqwatch tells Slack that it started",
        lambda: any(_is_start(m) for m in slack.messages()),
    )
    play.draw(next(m for m in slack.messages() if _is_start(m)))
    play.read(5)
    times = _readings(cloudflare.requests)
    play.say(f"Cloudflare was asked {times} times by now: {cloudflare.depth(QUEUE)} messages.")
    play.read(1)


def _lands(play: Play) -> None:
    slack, cloudflare = play.stage.slack, play.stage.cloudflare
    landed_at = slack.clock.now()
    cloudflare.land(QUEUE, 1, age_s=LANDED_AGE_S)
    play.wait("an alert about 1 dead letter is in Slack", lambda: play.begins("1 dead letter in"))
    card = play.the_card()
    play.say(f"In Slack, {(card.posted_at - landed_at) / 1000:.1f} s after it landed:")
    play.draw(card)
    play.say("… and on a phone's lock screen:")
    play.console.print(Padding(drawing.push(card, slack.clock.now()), (0, 0, 0, 4)))
    play.read(7)


def _grows(play: Play) -> None:
    slack = play.stage.slack
    # Slack's refusal, of the next message only: an edit is another method with its own limits
    play.refused_from = len(slack.requests)
    slack.fail(Fault.rate_limited(play.pace.retry_after_s), times=1, when=_is_post)
    play.stage.cloudflare.land(QUEUE, 4, age_s=LANDED_AGE_S)
    play.wait("the alert in Slack says 5", lambda: play.card_says("5 dead letters"))
    play.draw(play.the_card())
    play.read(6)


def _refused(play: Play) -> None:
    slack, pace = play.stage.slack, play.pace
    play.wait(
        "a reply says that more landed, after Slack had refused it once",
        lambda: bool(play.replies("more dead letters")),
        due_s=pace.group_s + pace.retry_after_s,
    )
    reply = play.replies("more dead letters")[0]
    posts = [r for r in slack.requests[play.refused_from :] if _is_post(r)]
    refused, accepted = posts[0], [r for r in posts if _key(r.args) == _key_of(reply)][-1]
    if accepted is refused:
        raise DidNotComeTrue("Slack took the reply at once: its refusal was not met")
    later = (accepted.at - refused.at) / 1000
    play.say(
        f"Slack answered 429 and asked for {pace.retry_after_s} s. dlqwatch tried again "
        f"{later:.1f} s later, and it is there once:"
    )
    play.draw(reply)
    play.read(6)


def _reminds(play: Play) -> None:
    play.wait(
        "a reply reminds of 5 dead letters",
        lambda: bool(play.replies("till 5 dead letters")),
        due_s=play.pace.repeat_s,
    )
    play.draw(play.replies("till 5 dead letters")[0])
    play.read(5)


def _drained(play: Play) -> None:
    play.stage.cloudflare.drain(QUEUE)
    play.wait(
        "the alert in Slack, and a reply, say that the queue is empty again",
        lambda: play.card_says("empty again") and bool(play.replies("empty again")),
        due_s=play.pace.keep_s,
    )
    play.say("The alert is edited for the last time …")
    play.draw(play.the_card())
    play.say("… and its thread ends with:")
    play.draw(play.replies("empty again")[-1])
    play.read(7)


def _expires(play: Play) -> None:
    cloudflare = play.stage.cloudflare
    life_s = 1.5 * play.pace.poll_s
    cloudflare.land(QUEUE, 1, age_s=DEFAULT_RETENTION_S - life_s)
    play.wait("an alert about it is in Slack", lambda: play.begins("1 dead letter in"))
    play.draw(play.the_card())
    play.wait(
        "the alert says that it is lost",
        lambda: play.card_says("Lost:"),
        due_s=life_s + play.pace.keep_s,
    )
    play.say(f"Cloudflare has deleted it ({cloudflare.queue(QUEUE).expired} by now). In Slack:")
    play.draw(play.the_card())
    play.read(8)


def _misspelt(play: Play) -> None:
    before = play.incident
    play.incident = 0
    play.wait(
        f"an alert says that dead letters go to {MISSPELT}",
        lambda: play.begins(MISSPELT),
        due_s=3 * play.pace.audit_s,
    )
    play.draw(play.the_card())
    play.read(8)
    if play.pace.reading:  # who is in a hurry doesn't wait for the next audit
        play.stage.cloudflare.queue(SOURCE).consumers = [worker_consumer(WORKER, QUEUE)]
        play.say("Somebody deploys the right name; the next audit sees it:")
        play.wait(
            "the alert says that the wiring was put right",
            lambda: play.card_says("put right"),
            due_s=play.pace.audit_s,
        )
        play.draw(play.the_card())
        play.read(4)
    play.incident = before


def _status(play: Play) -> None:
    _run(play, "status")
    play.read(5)


def _history(play: Play) -> None:
    _run(play, "history")
    play.read(4)


def _run(play: Play, *words: str) -> None:
    play.say(f"$ dlqwatch {' '.join(words)}")
    said = play.stage.command(*words)
    play.console.print(Text(said))  # its tables are as wide as the screen; long lines fold


def _is_start(message: SlackMessage) -> bool:
    return bool(message.metadata) and not incident_of(message)


def _key_of(message: SlackMessage) -> object:
    return (message.metadata or {}).get("event_payload")


def _key(args: dict[str, object]) -> object:
    metadata = args.get("metadata")
    return metadata.get("event_payload") if isinstance(metadata, dict) else None


def _is_post(request: Request) -> bool:
    return request.path.endswith("/chat.postMessage")


def _readings(requests: Sequence[Request]) -> int:
    return sum(request.path.endswith("/metrics") for request in requests)


def _stays(pace: Pace) -> str:
    return f"here for {pace.keep_s} s and" if pace.keep_s else "here at once,"


@dataclass(frozen=True, slots=True)
class Scene:
    """`before` is told before anything happens; `act` makes it happen and waits for it."""

    title: str
    before: Callable[[Pace], str]
    act: Callable[[Play], None]


SCENES = (
    Scene(
        "It can't see",
        lambda p: (
            f"dlqwatch starts and asks Cloudflare every {p.poll_s} s how many messages the queue "
            "holds. But whoever made its API token forgot a permission. A watcher that never saw "
            "anything must not be quiet: at the second refusal it says that it is blind, in "
            "Cloudflare's own words, and what to do."
        ),
        _blind,
    ),
    Scene(
        "All is quiet",
        lambda _: (
            "Somebody gives the token its permission. dlqwatch says what it finds, and once that "
            "it is there. While the queue is empty it says nothing."
        ),
        _quiet,
    ),
    Scene(
        "A message lands",
        lambda _: (
            "The Worker has failed at an event six times, so Cloudflare moves it to the "
            "dead-letter queue. Its four days are running: somebody must hear of it now."
        ),
        _lands,
    ),
    Scene(
        "It grows",
        lambda _: (
            "The Worker is still broken and four more land. The alert is edited at once, so that "
            "whoever looks sees the newest numbers. An edit rings no phone."
        ),
        _grows,
    ),
    Scene(
        "Slack refuses, once",
        lambda p: (
            f"What people must notice is a reply, at most one in {p.group_s} s here and in "
            "15 minutes by default: more letters, not more noise. This one meets a Slack that "
            "says 429, too many requests. It waits in dlqwatch's database and is sent again."
        ),
        _refused,
    ),
    Scene(
        "A reminder",
        lambda p: (
            "Nobody has acted, and what is forgotten is lost. dlqwatch reminds: here after "
            f"{p.repeat_s} s, by default once a day, every four hours when it is critical."
        ),
        _reminds,
    ),
    Scene(
        "Someone drains the queue",
        lambda p: (
            "The Worker is mended and a person empties the queue. An empty queue is believed when "
            f"it stays empty, {_stays(p)} by default for a minute. They went before their "
            "deadline, so they were taken out: dlqwatch saw them go, not who took them."
        ),
        _drained,
    ),
    Scene(
        "One comes too late",
        lambda _: (
            "A message has been under way for four days, all but a moment, and nobody is quick "
            "enough. Cloudflare deletes what is too old and tells no one. dlqwatch can't bring it "
            "back, but it never calls that resolved."
        ),
        _expires,
    ),
    Scene(
        "A misspelt name",
        lambda p: (
            "Meanwhile somebody deployed the Worker with a misspelt dead_letter_queue. Cloudflare "
            "makes that other queue without a word, and the one that is watched stays empty, as "
            f"if all were well. dlqwatch looks at the wiring too: here every {p.audit_s} s, by "
            "default every five minutes; twice the same is told."
        ),
        _misspelt,
    ),
    Scene(
        "What is: dlqwatch status",
        lambda _: "Whoever wants to know whether all is well, dlqwatch included, asks it.",
        _status,
    ),
    Scene(
        "What was: dlqwatch history",
        lambda _: "Every incident is kept: how deep, how long, who was told what and when.",
        _history,
    ),
)
