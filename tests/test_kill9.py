"""S10 with true deaths: kill -9 of the real process at five moments, then a start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlqwatch.model import DestinationKind
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SlackMessage
from dlqwatch.sim.wire import Request
from tests.aftermath import REPEAT, first_text, word
from tests.killing import is_post
from tests.process import PATIENCE_S, QUEUE, Daemon, Place, place


def _first_word(request: Request) -> bool:
    return is_post(request) and b"3 dead letters in" in request.body


def _held(where: Place, *, stored: bool) -> None:
    where.slack.fail(Fault.hang(after=stored), when=_first_word)
    where.cloudflare.land(QUEUE, 3)
    came = where.slack.wait_for(lambda: any(map(_first_word, where.slack.requests)), PATIENCE_S)
    assert came


def slack_has_it_and_holds_its_answer(where: Place, daemon: Daemon) -> None:
    _held(where, stored=True)


def slack_holds_the_request(where: Place, daemon: Daemon) -> None:
    _held(where, stored=False)


def people_have_been_told(where: Place, daemon: Daemon) -> None:
    where.cloudflare.land(QUEUE, 3)
    daemon.wait_line(r"told incident #1 \(first\)")


def a_poll_is_under_way(where: Place, daemon: Daemon) -> None:
    where.wait_polls()
    where.cloudflare.fail(Fault.hang(), when=lambda r: r.path.endswith("/metrics"))
    where.cloudflare.land(QUEUE, 3)
    where.wait_polls()


def it_has_just_started(where: Place, daemon: Daemon) -> None:
    where.cloudflare.land(QUEUE, 3)
    assert where.cloudflare.wait_for(lambda: bool(where.cloudflare.requests), PATIENCE_S)


MOMENTS = [
    slack_has_it_and_holds_its_answer,
    slack_holds_the_request,
    people_have_been_told,
    a_poll_is_under_way,
    it_has_just_started,
]


def told(
    folder: Path, kind: DestinationKind, moment: Callable[[Place, Daemon], None]
) -> list[SlackMessage]:
    """What Slack holds after a life, a kill -9 at this moment, and a second life to the end."""
    folder.mkdir()
    with place(folder, kind) as where:
        with where.daemon() as daemon:
            moment(where, daemon)
            daemon.kill()
        where.slack.heal()
        where.cloudflare.heal()
        with where.daemon() as daemon:
            where.wait_said("3 dead letters in")
            where.cloudflare.drain(QUEUE)
            daemon.wait_line(r"told incident #1 \(resolved\)")
            if kind is DestinationKind.BOT:
                where.wait_said("started")
        return where.slack.messages()


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda m: m.__name__)
def test_after_a_kill_a_bot_has_told_once_and_a_webhook_at_most_once_more_marked(
    tmp_path: Path, moment: Callable[[Place, Daemon], None]
) -> None:
    with ThreadPoolExecutor(2) as pool:
        bot = pool.submit(told, tmp_path / "bot", DestinationKind.BOT, moment)
        hook = pool.submit(told, tmp_path / "hook", DestinationKind.WEBHOOK, moment)

    words = Counter(word(m) for m in bot.result())
    assert words.pop("again", 0) <= 1  # it yields to both words of the incident
    assert words == {"started": 1, "first": 1, "resolved": 1}
    for name in ("first", "resolved"):
        copies = [m for m in hook.result() if word(m) == name]
        assert 1 <= len(copies) <= 2
        assert sum(REPEAT not in first_text(m) for m in copies) <= 1
    assert sum(word(m) != "again" for m in hook.result()) <= 4
