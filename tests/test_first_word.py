"""S1 at a start: dlqwatch's own first message never stands before an alert."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlqwatch.model import DestinationKind
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.slack import SimSlack
from tests.aftermath import word
from tests.killing import Lives, Reaper


@pytest.mark.parametrize("kind", list(DestinationKind))
def test_what_lay_in_the_queue_before_the_start_is_told_at_the_first_poll(
    tmp_path: Path, kind: DestinationKind
) -> None:
    clock = HandClock()
    began = clock.now()
    with SimSlack(clock) as slack:
        lives = Lives(kind, tmp_path / "x.db", slack, clock, Reaper("none", "before", ()))
        lives.backlog.hold(3)
        try:
            lives.first_poll_in(0.5)
            lives.run_until(began + 10_000)
        finally:
            lives.stop()
        told = [(word(m), m.posted_at - began) for m in slack.messages()]

    assert told[0] == ("first", 500)
    assert [name for name, _ in told] == ["first", "started"]
