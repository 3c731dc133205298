"""The story of killing.py told while Slack and the database fail around it."""

from __future__ import annotations

from pathlib import Path

from dlqwatch.edges.store import connect, select
from dlqwatch.model import MINUTE, SECOND, DestinationKind, NoticeStatus
from dlqwatch.rows import Delivery, Incident, Notice
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack
from tests.aftermath import REPEAT, first_text, word
from tests.killing import Lives, Reaper, Told, is_post


def tell_in_a_storm(kind: DestinationKind, path: Path, reaper: Reaper) -> Told:
    """Nothing can be written from before the first word until after the growth; Slack refuses
    connections, answers 500 and loses an answer meanwhile, and is away again at the end."""
    clock = HandClock()
    began = clock.now()
    with SimSlack(clock) as slack:
        lives = Lives(kind, path, slack, clock, reaper)
        try:
            lives.run_until(began + 35 * SECOND)
            lives.store_fails(True)
            slack.refuse()
            lives.backlog.hold(3)
            lives.run_until(began + 70 * SECOND)
            slack.start()
            slack.fail(Fault.status(500), 1, is_post)
            slack.fail(Fault.close(after=True), 1, is_post)
            lives.run_until(began + 135 * SECOND)
            lives.backlog.hold(5)
            lives.run_until(began + 215 * SECOND)
            lives.store_fails(False)
            lives.run_until(began + 250 * SECOND)
            slack.refuse()
            lives.backlog.hold(0)
            lives.run_until(began + 280 * SECOND)
            slack.start()
            lives.run_until(began + 400 * SECOND)
            reaper.armed = False
            for minutes in range(7, 60):
                lives.run_until(began + minutes * MINUTE)
                if lives.settled():
                    break
        finally:
            lives.stop()
        messages = slack.messages()
    db = connect(path)
    try:
        return Told(
            kind,
            reaper.deaths,
            2,
            messages,
            select(db, Notice, "1"),
            select(db, Delivery, "1"),
            select(db, Incident, "rule = 'depth'"),
        )
    finally:
        db.close()


def broken_in_a_storm(told: Told) -> list[str]:
    """Every promise this story broke, in words. A death that memory did not survive costs one
    more word of each open incident, marked; nothing is lost, and the end comes last."""
    said = [(word(m), first_text(m)) for m in told.messages]
    said = [(name, text) for name, text in said if "history" not in text.lower()]
    names = [name for name, _ in said]
    wrong = [f"{name} was never told" for name in ("first", "resolved") if name not in names]
    if not wrong and names.index("resolved") < names.index("first"):
        wrong.append("the end came before the first word")
    if names and "resolved" in names:
        wrong += [f"{n} after the end" for n in names[names.index("resolved") :] if n == "first"]
    for name in ("first", "resolved"):
        texts = [text for each, text in said if each == name]
        unmarked = sum(REPEAT not in text for text in texts)
        if unmarked > 1:
            wrong.append(f"{name}: {unmarked} copies without a mark")
        if len(texts) > 1 + told.deaths + told.lost_answers:
            wrong.append(f"{name}: {len(texts)} copies for {told.deaths} deaths")
    if any(i.resolved_at is None for i in told.incidents) or not told.incidents:
        wrong.append("history holds no incident that ended")
    wrong += [f"{n.reason} is pending" for n in told.notices if n.status is NoticeStatus.PENDING]
    return wrong
