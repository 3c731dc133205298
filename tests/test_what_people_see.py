"""What went wrong for others in what a message says, over real HTTP to a scripted Slack."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlqwatch.model import (
    DestinationKind,
    NoticeStatus,
    QueueRules,
    Reason,
)
from dlqwatch.sim.blockkit import pings
from dlqwatch.sim.faults import Fault
from tests.configs import BASE, refusal
from tests.rig import BOT, KINDS, QUEUE, TEAM, simulated


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> DestinationKind:
    found: DestinationKind = request.param
    return found


def test_a_name_of_5000_characters_is_told(tmp_path: Path, kind: DestinationKind) -> None:
    name = "q" * 5000
    with simulated(tmp_path, kind, QueueRules(name)) as rig:
        rig.cf.create_queue(name)
        rig.cf.land(name)
        rig.tick()
        (message,) = rig.messages()
        assert message.blocks, "not as plain text only"
        assert len(message.text) <= 3000


def test_sixty_queues_at_once_are_all_told_one_a_second(
    tmp_path: Path, kind: DestinationKind
) -> None:
    names = [f"queue-{n}-dlq" for n in range(60)]
    with simulated(tmp_path, kind, *(QueueRules(n) for n in names)) as rig:
        rig.slack.one_per_second = True
        for name in names:
            rig.cf.create_queue(name)
            rig.cf.land(name)
        rig.poll()
        rig.run(61, polling=False)
        assert sorted(m.text.split(" in ")[1].split(",")[0] for m in rig.messages()) == sorted(
            names
        )


def test_slack_that_rejects_anything_with_blocks_still_shows_a_text(
    tmp_path: Path, kind: DestinationKind
) -> None:
    with simulated(tmp_path, kind) as rig:
        no = {"ok": False, "error": "invalid_blocks"}
        refused = Fault.json(no) if kind is BOT else Fault.status(400, "invalid_blocks")
        rig.slack.fail(refused, when=lambda r: '"blocks": [{' in r.body.decode())
        rig.cf.land(QUEUE)
        rig.run(5)
        (message,) = rig.messages()
        assert not message.blocks
        assert QUEUE in message.text


def test_a_mention_from_the_configuration_pings_and_a_name_never_does(
    tmp_path: Path, kind: DestinationKind
) -> None:
    name = "<!channel> @here & *x*"
    with simulated(tmp_path, kind, QueueRules(name, critical_depth=2)) as rig:
        rig.cf.create_queue(name)
        rig.cf.land(name)
        rig.tick()
        (message,) = rig.messages()
        assert pings(message.text, message.blocks) == ()
        rig.cf.land(name, 5)
        rig.tick()
        rig.run(5, polling=False)
        last = rig.messages()[-1]
        assert set(pings(last.text, last.blocks)) == {TEAM.strip("<>")}


def test_quotes_and_ampersands_in_a_name_show_as_themselves(
    tmp_path: Path, kind: DestinationKind
) -> None:
    name = """a"b'c&d"""
    with simulated(tmp_path, kind, QueueRules(name)) as rig:
        rig.cf.create_queue(name)
        rig.cf.land(name)
        rig.tick()
        (message,) = rig.messages()
        for seen in (message.text, str(message.blocks)):
            assert seen.replace("\\'", "'").replace("&amp;", "&").count(name) >= 1
            assert "&quot;" not in seen
            assert "&#" not in seen


def test_every_message_has_a_text_with_queue_and_depth(
    tmp_path: Path, kind: DestinationKind
) -> None:
    """It is what a phone shows."""
    rules = QueueRules(QUEUE, group_ms=60_000, repeat_ms=600_000, critical_depth=6)
    with simulated(tmp_path, kind, rules) as rig:
        for depth in (3, 2, 4):
            rig.cf.land(QUEUE, depth)
            rig.run(120)
        rig.run(800)
        reasons = [n.reason for n in rig.notices() if n.status is NoticeStatus.DELIVERED]
        assert {Reason.FIRST, Reason.GROWN, Reason.SEVERITY_RAISED, Reason.REPEAT} >= set(reasons)
        assert len(set(reasons)) >= 3
        for message in rig.messages():
            assert QUEUE in message.text
            assert any(char.isdigit() for char in message.text.replace(QUEUE, ""))


def test_half_a_runbook_address_is_refused_at_the_start(tmp_path: Path) -> None:
    """It would make a button that Slack rejects the whole message for."""
    said = "\n".join(refusal(tmp_path, f'{BASE}[alerts]\nrunbook_url = "https://"\n'))
    assert "runbook_url" in said
    assert refusal(tmp_path, f'{BASE}[alerts]\nrunbook_url = "https://wiki.example/"\n') == []


# -- the message that is edited


def test_after_a_death_the_old_message_is_edited_and_a_deleted_one_made_anew(
    tmp_path: Path,
) -> None:
    with simulated(tmp_path, BOT) as rig:
        rig.cf.land(QUEUE, 2)
        rig.tick()
        rig.restart()
        rig.cf.drain(QUEUE)
        rig.run(120)
        card, _ = rig.messages()
        assert "is empty again" in card.text
        assert card.edits
        rig.cf.land(QUEUE, 2)
        rig.run(31)
        rig.slack.remove(rig.messages()[-1].ts)
        rig.restart()
        rig.cf.drain(QUEUE)
        rig.run(120)
        fresh = rig.messages()[2:]
        assert len(fresh) == 1
        assert "is empty again" in fresh[0].text
