"""From the settings of a destination to the edge that speaks to it."""

from __future__ import annotations

import ssl

from dlqwatch.config.settings import Settings
from dlqwatch.edges.slack import Bot, Webhook
from dlqwatch.model import Clock, DestinationKind


def speaker(settings: Settings, name: str, context: ssl.SSLContext, clock: Clock) -> Webhook | Bot:
    """The edge for "slack" or "slack.fallback". Secret files are read at each call."""
    target = settings.slack if name == "slack" else settings.slack.fallback
    if target is None:
        raise ValueError(name)
    if target.destination(name).kind is DestinationKind.WEBHOOK:
        return Webhook(lambda: target.read_webhook_url() or "", context, clock)
    token = lambda: target.read_bot_token() or ""  # noqa: E731
    return Bot(token, target.channel, target.api_base_url, context, clock)
