"""Asks a heartbeat receiver for an address: that it was asked for is the whole message.

Healthchecks, Cronitor, Uptime Kuma and Better Stack all take a plain GET of the address they
give out. Who has it can fake our life, so no word of ours holds it.
"""

from __future__ import annotations

from dlqwatch.decide.beating import trouble
from dlqwatch.edges.http import Http, HttpFailure

TIMEOUT_S = 10.0


class Receiver:
    """The way to the receiver. `call` never raises for what the receiver does."""

    def __init__(self, http: Http, timeout_s: float = TIMEOUT_S) -> None:
        self._http = http
        self.timeout_s = timeout_s

    def call(self, url: str) -> str:
        """GET exactly this address. "" if that was heard, else why not, without the address."""
        try:
            answer = self._http.request("GET", url, timeout_s=self.timeout_s)
        except HttpFailure as failure:
            return f"{failure.kind}: {failure.detail}"
        return trouble(answer.status, answer.body)
