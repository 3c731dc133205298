"""S10: whatever call the process dies at, nothing is lost, and nothing is told twice unmarked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dlqwatch.model import DestinationKind
from dlqwatch.rows import Change, Delivery
from tests.aftermath import broken
from tests.killing import Reaper, tell
from tests.storm import broken_in_a_storm, tell_in_a_storm

KINDS = list(DestinationKind)
EDGES = ("store", "slack")
MOMENTS = ("before", "after")


def sweep(
    tmp_path: Path, kind: DestinationKind, edge: str, moment: str, again_after: int = 0
) -> tuple[int, list[str]]:
    """Die at the 1st, 2nd, … call in turn (and again `again_after` calls later)."""
    wrong: list[str] = []
    for nth in range(1, 200):
        reaper = Reaper(edge, moment, {nth, nth + again_after})
        told = tell(kind, tmp_path / f"{nth}.db", reaper)
        wrong += [f"dead {moment} {edge} call {nth}: {what}" for what in broken(told)]
        if told.deaths == 0:
            return nth - 1, wrong
    raise AssertionError("the story never ends")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_death_at_any_call_loses_nothing_and_repeats_nothing_unmarked(
    tmp_path: Path, kind: DestinationKind, edge: str, moment: str
) -> None:
    calls, wrong = sweep(tmp_path, kind, edge, moment)

    assert wrong == []
    assert calls >= (25 if edge == "store" else 6), "the story has become too short to prove much"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again_after", [1, 2])
def test_a_second_death_while_it_recovers_changes_nothing_of_that(
    tmp_path: Path, kind: DestinationKind, again_after: int
) -> None:
    _, wrong = sweep(tmp_path, kind, "slack", "after", again_after)

    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_story_without_a_death_or_a_lost_answer_tells_each_word_once(
    tmp_path: Path, kind: DestinationKind
) -> None:
    told = tell(kind, tmp_path / "calm.db", Reaper("none", "before", ()), rough=False)

    assert broken(told) == []
    assert len(told.messages) == 4


def forgetful(change: Change) -> Change:
    """As if `posting_since` were never committed."""
    return replace(change, posting_since=None) if isinstance(change, Delivery) else change


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_commit_of_posting_since_copies_appear(
    tmp_path: Path, kind: DestinationKind
) -> None:
    """The proof that the tests above can fail."""
    wrong: list[str] = []
    for nth in range(1, 10):
        reaper = Reaper("slack", "after", {nth})
        wrong += broken(tell(kind, tmp_path / f"{nth}.db", reaper, rough=False, lossy=forgetful))

    expected = "copies" if kind is DestinationKind.BOT else "isn't marked"
    assert any(expected in what for what in wrong), wrong


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_death_at_any_call_loses_nothing_while_slack_and_the_database_fail_around_it(
    tmp_path: Path, kind: DestinationKind, edge: str, moment: str
) -> None:
    """S9, S10 and S11 at once. The store has many calls: every third must do."""
    wrong: list[str] = []
    for nth in range(1, 200, 3 if edge == "store" else 1):
        told = tell_in_a_storm(kind, tmp_path / f"{nth}.db", Reaper(edge, moment, {nth}))
        wrong += [f"dead {moment} {edge} call {nth}: {what}" for what in broken_in_a_storm(told)]
        if told.deaths == 0:
            break
    assert wrong == []
    assert nth >= (25 if edge == "store" else 6), "the story has become too short to prove much"
