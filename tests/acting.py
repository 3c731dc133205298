"""A daemon that hypothesis acts upon, and what must hold of it after each act."""

from __future__ import annotations

from hypothesis import strategies as st

from dlqwatch.decide.inputs import TimePassed
from dlqwatch.decide.outcomes import Answer, answer_lost, not_sent
from dlqwatch.decide.world import World
from dlqwatch.facts import DepthFacts, IncidentFacts
from dlqwatch.model import (
    HOUR,
    MINUTE,
    NoticeStatus,
    Outcome,
    QueueRules,
    Sample,
    SampleKind,
    SampleReason,
    State,
)
from dlqwatch.rows import TABLES, Alert, Incident, Key, Notice, Row
from tests.fakes import UNREACHABLE, Script
from tests.rig import QUEUE, LightRig

YEARS_S = 10 * 365 * 86_400
MARKS = 3

RULES = QueueRules(QUEUE, keep_ms=60_000, group_ms=15 * MINUTE, repeat_ms=6 * HOUR)

WEATHERS: dict[str, Script] = {
    "works": "ok",
    "refuses": not_sent("connection refused"),
    "loses": "lost",
    "stores and loses": "stored and lost",
    "rejects blocks": Answer(Outcome.PAYLOAD, "invalid_blocks"),
    "needs a person": Answer(Outcome.NEEDS_PERSON, "is_archived"),
    "lost the target": Answer(Outcome.TARGET_GONE, "cannot_reply_to_message"),
}
LOOKS: dict[str, Answer | None] = {
    "looks": None,
    "may not look": Answer(Outcome.NEEDS_PERSON, "missing_scope"),
    "can't look now": Answer(Outcome.TEMPORARY, "ratelimited"),
}
EDITS: dict[str, Answer | None] = {
    "edits": None,
    "may not edit": Answer(Outcome.TARGET_GONE, "cant_update_message"),
    "card is gone": Answer(Outcome.TARGET_GONE, "message_not_found"),
    "loses edits": answer_lost("no answer"),
}

Act = tuple[str, int | str]

readings = st.one_of(
    st.tuples(st.just("read"), st.sampled_from([0, 0, 1, 2, 3, 5, 120])),
    st.tuples(st.just("read partly"), st.sampled_from([0, 1, 4])),
    st.just(("fail", 0)),
    st.just(("tick", 0)),
)
waits = st.tuples(st.just("wait"), st.sampled_from([1, 10, 60, 900, 4 * 3600]))
weathers = st.tuples(st.just("slack"), st.sampled_from(sorted(WEATHERS)))
looks = st.tuples(st.just("look"), st.sampled_from(sorted(LOOKS)))
edits = st.tuples(st.just("edit"), st.sampled_from(sorted(EDITS)))
deaths = st.sampled_from([("die", 0), ("die posting", 0), ("die behind", 0)])
steps = st.tuples(st.just("step"), st.sampled_from([-3600, 3600, YEARS_S, -YEARS_S]))

calm_acts = st.lists(st.one_of(readings, readings, waits, weathers, looks, edits, deaths))
wild_acts = st.lists(st.one_of(readings, readings, waits, weathers, looks, edits, deaths, steps))


class Actor:
    """Does what it is told, and after each act looks whether all that must hold, holds."""

    def __init__(self, rig: LightRig) -> None:
        self.rig = rig
        self.delivered: list[int] = []
        self.forward_steps = 0
        self.deaths = 0
        self.may_not_look = False
        self._ranks: dict[int, int] = {}
        self._began = rig.clock.monotonic()

    def act(self, act: Act) -> None:
        rig, (name, value) = self.rig, act
        before, alert = self._newest_notice(), rig.alert()
        if name == "wait":
            rig.run(int(value), polling=False)
        elif name == "slack":
            rig.speaker.weather = WEATHERS[str(value)]
        elif name == "look":
            rig.speaker.look_weather = LOOKS[str(value)]
            self.may_not_look |= value == "may not look"
        elif name == "edit":
            rig.speaker.edit_weather = EDITS[str(value)]
        elif name == "step":
            self.forward_steps += int(value) > 0
            rig.clock.step(int(value))
        elif name.startswith("die"):
            self.deaths += 1
            if name == "die posting":
                rig.engine.begin("slack")
            rig.restart(behind=name == "die behind")
        else:
            rig.run(30, polling=False)
            self._read(name, int(value))
            if name in ("fail", "tick"):
                unchanged(alert, rig.alert())
        self._check(before, rig.clock.now() if name.startswith("read") else None)

    def _read(self, name: str, depth: int) -> None:
        rig = self.rig
        if name == "read":
            rig.holds(depth)
        elif name == "read partly":
            partial = Sample(0, SampleKind.PARTIAL, depth, 1, None, SampleReason.AGE_UNKNOWN)
            rig.queues.says[QUEUE] = partial
        elif name == "fail":
            rig.queues.says[QUEUE] = UNREACHABLE
        made = self._newest_notice()
        if name == "tick":
            rig.engine.submit(TimePassed(QUEUE))
        else:
            rig.poll()
        new = [n.incident for n in rig.notices() if n.id > made]
        assert len(new) == len(set(new)), "one notice an incident and tick"
        rig.settle()

    def heal(self) -> None:
        """Everything works from now on, and there is time for all that waits."""
        speaker = self.rig.speaker
        speaker.weather, speaker.look_weather, speaker.edit_weather = "ok", None, None
        for depth in (1, 0, 0, 0, 0):
            self.act(("read", depth))
        for _ in range(4):
            self.act(("wait", 3600))

    def _newest_notice(self) -> int:
        return max((n.id for n in self.rig.rows(Notice)), default=0)

    def _check(self, before: int, polled_at: int | None) -> None:
        rig = self.rig
        same(snapshot(rig.world), snapshot(rig.remembered()))
        for incident in rig.incidents():
            rank = incident.severity.rank
            assert rank >= self._ranks.get(incident.id, 0), "severity fell"
            self._ranks[incident.id] = rank
            sane(incident.facts)
        opened = [i for i in rig.incidents() if i.resolved_at is None]
        assert len(opened) <= 1
        assert (rig.state is State.FIRING) == (len(opened) == 1)
        for notice in rig.notices():
            sane(notice.facts)

    def bounded(self) -> None:
        """No storm: what is told more than once an incident is told an interval apart."""
        elapsed_ms = (self.rig.clock.monotonic() - self._began) * 1000
        intervals = elapsed_ms / (RULES.group_ms - RULES.poll_ms)
        once = len(self.rig.incidents()) * (3 + MARKS)
        again = intervals + (1 + MARKS) * (self.forward_steps + self.deaths)
        assert len(self.rig.notices()) <= once + again + 1


def unchanged(before: Alert, after: Alert) -> None:
    """All but times that a clock which went back put right."""
    assert (after.state, after.incident) == (before.state, before.incident)
    assert (after.clear_since is None) == (before.clear_since is None)


def sane(facts: object) -> None:
    assert isinstance(facts, IncidentFacts)
    assert facts.opened_at <= facts.at or facts.resolved_at is not None, "not open when read"
    if isinstance(facts, DepthFacts):
        assert facts.oldest_at is None or facts.oldest_at <= facts.at
    if facts.resolved_at is not None:
        assert facts.opened_at <= facts.resolved_at


def snapshot(world: World) -> dict[str, dict[Key, Row]]:
    """Every row in memory, by table."""
    return {t.TABLE: {r.identity: r for r in world.all(t)} for t in TABLES}


def same(memory: dict[str, dict[Key, Row]], file: dict[str, dict[Key, Row]]) -> None:
    """Memory and file hold the same. Which hours are kept, a clock set by years may change."""
    mine, theirs = memory.pop("hours"), file.pop("hours")
    assert all(mine[k] == theirs[k] for k in mine.keys() & theirs.keys()), "hours"
    for table, rows in memory.items():
        assert rows == file[table], table


def first_told(rig: LightRig, incident: Incident) -> Notice:
    """The incident's first notice that may have reached people."""
    done = (NoticeStatus.DELIVERED, NoticeStatus.DEAD)
    return next(n for n in rig.notices() if n.incident == incident.id and n.status in done)
