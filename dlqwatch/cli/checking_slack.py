"""What `check` tries at Slack, without posting."""

from __future__ import annotations

from collections.abc import Callable
from ssl import SSLContext

from dlqwatch.cli.checking import Check, Result, Show
from dlqwatch.config.settings import Settings
from dlqwatch.daemon import disposable
from dlqwatch.decide.outcomes import Probe, not_sent
from dlqwatch.edges.speakers import speaker
from dlqwatch.model import Clock, Destination, DestinationKind, Outcome
from dlqwatch.words import en_cures
from dlqwatch.words.commands import TRIAL

GIVE_UP_S = 10.0


def check_slack(settings: Settings, clock: Clock, context: SSLContext, show: Show) -> None:
    """Every configured destination, side by side."""
    destinations = settings.destinations()

    def prober(name: str) -> Callable[[], Probe]:
        return speaker(settings, name, context, clock).probe

    found = disposable.side_by_side([prober(d.name) for d in destinations], GIVE_UP_S)
    for destination, probe in zip(destinations, found, strict=True):
        for check in _checks(destination, probe if isinstance(probe, Probe) else _none(probe)):
            show(check)


def _none(error: Exception) -> Probe:
    late = isinstance(error, disposable.GivenUp)
    words = f"no answer within {GIVE_UP_S:g} s" if late else f"no answer ({type(error).__name__})"
    return Probe(not_sent(words))  # the error's own text may hold a secret


def _checks(destination: Destination, probe: Probe) -> list[Check]:
    name, answer = destination.name, probe.answer
    about = f" ({probe.about})" if probe.about else ""
    if answer.outcome is Outcome.NEEDS_PERSON:
        webhook = destination.kind is DestinationKind.WEBHOOK
        do = en_cures.cure(answer.error, destination=name, webhook=webhook)
        return [Check(name, Result.BAD, f"{answer.error}{about}", do)]
    if answer.outcome is not Outcome.DELIVERED:
        do = f"Tried again by itself. {TRIAL} shows what Slack says now."
        return [Check(name, Result.UNKNOWN, f"{answer.error}{about}", do)]
    if destination.kind is DestinationKind.WEBHOOK:
        words = f"the webhook exists, as far as can be told without posting: {TRIAL} proves it"
        return [Check(name, Result.OK, words)]
    found = [Check(name, Result.OK, f"the bot may post{about}; {TRIAL} proves it")]
    if probe.lacks:
        found.append(Check(name, Result.NOTE, en_cures.scope_note(probe.lacks)))
    return found
