"""The stage and the screen, and what scenes hand on to each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from dlqwatch.demo import drawing
from dlqwatch.demo.stage import DidNotComeTrue, Pace, Stage
from dlqwatch.sim.slack import SlackMessage


@dataclass(slots=True)
class Play:
    """The stage and the screen, and what scenes hand on to each other."""

    stage: Stage
    console: Console
    pace: Pace
    refused_from: int = 0  # how many requests Slack had seen when its refusal was prepared
    incident: int = 0  # whose message the scenes look at now

    def say(self, text: str) -> None:
        """A line or paragraph for the reader."""
        self.console.print(Text(text))

    def draw(self, message: SlackMessage) -> None:
        """A message as it stands in Slack now."""
        channel = self.stage.slack.channels[message.channel].name
        now = self.stage.slack.clock.now()
        self.console.print(drawing.message(message, channel, now))

    def read(self, seconds: float) -> None:
        """Time for the reader."""
        self.stage.pause(seconds * self.pace.reading)

    def wait(self, what: str, condition: Callable[[], bool], due_s: float = 0.0) -> None:
        """Until the services show `what`, which is due within `due_s`."""
        waiting: AbstractContextManager[object] = nullcontext()
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            waiting = self.console.status(f"waiting: {what}")
        with waiting:
            self.stage.until(what, condition, due_s + self.pace.limit_s)

    def begins(self, words: str) -> bool:
        """A message of an incident not looked at yet has these words; look at that one now."""
        for message in self.stage.slack.messages():
            number = incident_of(message)
            if number > self.incident and not message.thread_ts and words in message.text:
                self.incident = number
                return True
        return False

    def card(self) -> SlackMessage | None:
        """The incident's own message in the channel."""
        told = [m for m in self.stage.slack.messages() if incident_of(m) == self.incident]
        return next((m for m in told if not m.thread_ts), None)

    def the_card(self) -> SlackMessage:
        card = self.card()
        if card is None:
            raise DidNotComeTrue("the incident's message is no longer in Slack")
        return card

    def card_says(self, words: str) -> bool:
        card = self.card()
        return card is not None and words in card.text

    def replies(self, words: str = "") -> list[SlackMessage]:
        """The replies in the card's thread that have these words."""
        card = self.card()
        return [
            m
            for m in self.stage.slack.messages()
            if card is not None and m.thread_ts == card.ts and words in m.text
        ]


def incident_of(message: SlackMessage) -> int:
    """The number of the incident it is about; 0: of none."""
    return int((message.metadata or {}).get("event_payload", {}).get("incident", 0))
