"""`dlqwatch test-alert`: a marked test message to every configured destination, once."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from dlqwatch.cli import tables
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.settings import Settings, find_config, load
from dlqwatch.daemon import disposable
from dlqwatch.decide.outcomes import Answer, answer_lost
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.http import shared_ssl_context
from dlqwatch.edges.speakers import speaker
from dlqwatch.errors import EXIT_BAD, EXIT_UNKNOWN
from dlqwatch.model import Destination, DestinationKind, Outcome
from dlqwatch.words.en_cures import attempt
from dlqwatch.words.slack import render_test

EXITS = (
    "0 Slack confirmed every message, 1 a destination refused, 3 Slack could not be asked or its "
    "answer was lost, 2 usage or configuration"
)
GIVE_UP_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_json(parser)


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    destinations = settings.destinations()
    answers = send(settings, destinations)
    if options.json:
        tables.print_json([_as_json(d, a) for d, a in zip(destinations, answers, strict=True)])
    else:
        _draw(destinations, answers)
    return exit_code(answers)


def send(settings: Settings, destinations: Sequence[Destination]) -> list[Answer]:
    """One message to each, side by side, each answer within GIVE_UP_S. Nothing is tried again."""
    clock, context = SystemClock(), shared_ssl_context()

    def sender(name: str) -> Callable[[], Answer]:
        to = speaker(settings, name, context, clock)
        payload = render_test(name, clock.now())
        return lambda: to.post(payload)

    found = disposable.side_by_side([sender(d.name) for d in destinations], GIVE_UP_S)
    return [a if isinstance(a, Answer) else _no_answer(a) for a in found]


def exit_code(answers: Sequence[Answer]) -> int:
    """0 only if Slack confirmed all."""
    outcomes = {a.outcome for a in answers}
    if outcomes <= {Outcome.DELIVERED}:
        return 0
    unknown = {Outcome.DELIVERED, Outcome.TEMPORARY, Outcome.AMBIGUOUS}
    return EXIT_UNKNOWN if outcomes <= unknown else EXIT_BAD


def _no_answer(error: Exception) -> Answer:
    if isinstance(error, disposable.GivenUp):
        return answer_lost(f"no answer within {GIVE_UP_S:g} s")
    return answer_lost(f"no answer ({type(error).__name__})")  # its text may hold a secret


def _attempt(destination: Destination, answer: Answer) -> tuple[str, str]:
    webhook = destination.kind is DestinationKind.WEBHOOK
    return attempt(answer, destination=destination.name, webhook=webhook)


def _as_json(destination: Destination, answer: Answer) -> dict[str, object]:
    confirmed = answer.outcome is Outcome.DELIVERED
    return {
        "name": destination.name,
        "confirmed": confirmed,
        "outcome": answer.outcome,
        "reason": answer.error or None,
        "do": None if confirmed else _attempt(destination, answer)[1],
        "channel": answer.channel or destination.channel or None,
        "ts": answer.ts or None,
    }


def _draw(destinations: Sequence[Destination], answers: Sequence[Answer]) -> None:
    out = tables.console()
    for destination, answer in zip(destinations, answers, strict=True):
        what, do = _attempt(destination, answer)
        place = f" {destination.channel}" if destination.channel else ""
        if answer.outcome is Outcome.DELIVERED:
            tables.line(out, f"✓ {destination.name}{place}: {what}", tables.GOOD)
        else:
            tables.line(out, f"✗ {destination.name}{place}: {what}", tables.BAD)
            tables.line(out, do, indent=2)
