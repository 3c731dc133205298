"""Counts log lines of a Worker with Cloudflare's Workers Observability API: one POST a count."""

from __future__ import annotations

from dlqwatch.decide.counting import Window, is_over, read_count
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.errors import CloudflareError
from dlqwatch.model import Clock, SampleReason

PATH = "/workers/observability/telemetry/query"
DOING = "counting in the Worker's log"

_PERMISSION = (
    "Give the API token the permission Workers Observability too: Read, and if that is refused "
    "Write (reports differ on which one Cloudflare asks for). The queues are watched all the same."
)
_CHANGED = (
    "Cloudflare may have changed this API: see whether there is a newer dlqwatch, or take "
    "[publish_failures] out. The queues are watched all the same."
)
_DO = {
    SampleReason.BAD_TOKEN: _PERMISSION,
    SampleReason.BAD_ACCOUNT: _CHANGED,
    SampleReason.REFUSED: _CHANGED,
    SampleReason.NONSENSE: _CHANGED,
}


class Telemetry:
    """The logs of an account's Workers. Safe to share between threads."""

    def __init__(self, cloudflare: Cloudflare, clock: Clock) -> None:
        self._cloudflare = cloudflare
        self._clock = clock

    def log_time(self) -> int:
        """The time in the log, which is Cloudflare's; ours until Cloudflare has told it. In ms."""
        now, seen = self._clock.now(), self._cloudflare.date_seen
        return now if seen is None else now + seen[0] - seen[1]

    def count(self, worker: str, needle: str, window: Window) -> int | None:
        """How many lines of the window hold the needle; None: the window isn't over yet.

        An estimate where the log is sampled. Raises CloudflareError.
        """
        try:
            envelope = self._cloudflare.post(PATH, DOING, _query(worker, needle, window))
            lines = read_count(envelope.get("result"))
        except CloudflareError as error:
            what = error.what if error.what.startswith(DOING) else f"{DOING}: {error.what}"
            raise CloudflareError(
                error.reason,
                what,
                _DO.get(error.reason, error.do),
                answer=error.answer,
                retry_at=error.retry_at,
            ) from None
        seen = self._cloudflare.date_seen
        return lines if seen is not None and is_over(window, seen[0]) else None


def _query(worker: str, needle: str, window: Window) -> dict[str, object]:
    """As Cloudflare's published libraries have it. `dry`: the query isn't kept in the account.

    Whether `to` itself belongs to the timeframe is not documented: if so, a line on the very
    millisecond between two windows counts in both, rather than in none.
    """
    of_worker = {"key": "$metadata.service", "operation": "eq", "type": "string", "value": worker}
    return {
        "queryId": "dlqwatch",
        "timeframe": {"from": window.start, "to": window.end},
        "view": "calculations",
        "dry": True,
        "ignoreSeries": True,
        "parameters": {
            "datasets": ["cloudflare-workers"],
            "filters": [of_worker],
            "filterCombination": "and",
            "needle": {"value": needle, "isRegex": False, "matchCase": True},
            "calculations": [{"operator": "count"}],
        },
    }
