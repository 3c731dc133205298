"""One incident of one dead-letter queue, as rows that tests start from."""

from __future__ import annotations

from dlqwatch.facts import DepthFacts
from dlqwatch.model import DAY, HOUR, Rule, Severity
from dlqwatch.rows import Incident
from tests.rig import QUEUE

NOW = 1_794_000_000_000
FACTS = DepthFacts(
    at=NOW,
    depth=3,
    bytes=100,
    oldest_at=NOW - HOUR,
    retention_ms=4 * DAY,
    threshold=1,
    peak_depth=3,
    opened_at=NOW - HOUR,
    severity=Severity.WARNING,
)
UNTOLD = Incident(
    id=1,
    rule=Rule.DEPTH,
    subject=QUEUE,
    opened_at=NOW - HOUR,
    severity=Severity.WARNING,
    facts=FACTS,
    peak_depth=3,
)
