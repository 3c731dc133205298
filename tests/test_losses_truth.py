"""S5 against a simulated queue whose truth is known, and in the daemon."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.decide import losses
from dlqwatch.decide.losses import TOLERANCE_MS, Fall
from dlqwatch.decide.retention import Term
from dlqwatch.facts import DepthFacts, Ledger
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    QueueRules,
    Reason,
    Resolution,
    Sample,
    SampleKind,
)
from dlqwatch.rows import FallRow
from tests.rig import QUEUE, WEBHOOK, LightRig, light

T0 = 1_794_000_000_000
POLL = 30 * SECOND


# ---- a queue whose truth is known


@dataclass
class Truth:
    """Messages with the time each was written, and what really became of those that left."""

    kept_ms: int | None
    at: int = T0
    messages: list[int] = field(default_factory=list)
    expired: int = 0
    purged_early: int = 0  # so long before their deadline that nobody may call them lost
    purged_late: int = 0
    arrived: int = 0

    def pass_time(self, ms: int) -> None:
        self.at += ms
        self.expire()

    def expire(self) -> None:
        if self.kept_ms is None:
            return
        stay = [m for m in self.messages if m + self.kept_ms > self.at]
        self.expired += len(self.messages) - len(stay)
        self.messages = stay

    def land(self, count: int, age_ms: int = 0) -> None:
        self.messages = sorted([*self.messages, *[self.at - age_ms] * count])
        self.arrived += count

    def purge(self, count: int) -> None:
        """Somebody takes the oldest."""
        for written in self.messages[:count]:
            left = POLL if self.kept_ms is None else written + self.kept_ms - self.at
            if left > TOLERANCE_MS + POLL:
                self.purged_early += 1
            else:
                self.purged_late += 1
        self.messages = self.messages[count:]

    def reading(self, *, known: bool = True) -> Sample:
        oldest = self.messages[0] if self.messages and known else None
        depth = len(self.messages)
        kind = SampleKind.COMPLETE if known or not depth else SampleKind.PARTIAL
        return Sample(self.at, kind, depth, depth * 100, oldest)


@dataclass
class Watcher:
    """What the ledger says of it."""

    ledger: Ledger | None = None
    lost: int = 0
    perhaps: int = 0
    removed: int = 0
    unknown: int = 0
    left: int = 0

    def look(self, sample: Sample, term: Term | None) -> None:
        if sample.kind is not SampleKind.COMPLETE:
            return
        if self.ledger is None:
            self.ledger = losses.opened(sample)
            return
        self.ledger, fall = losses.read(self.ledger, sample, term, POLL)
        self._count(fall)

    def close(self, term: Term | None) -> None:
        if self.ledger is not None:
            self.ledger, fall = losses.last(self.ledger, term, POLL)
            self._count(fall)

    def _count(self, fall: Fall | None) -> None:
        if fall is None:
            return
        assert fall.lost + fall.perhaps + fall.removed + fall.unknown == fall.left
        assert min(fall.lost, fall.perhaps, fall.removed, fall.unknown) >= 0
        self.lost += fall.lost
        self.perhaps += fall.perhaps
        self.removed += fall.removed
        self.unknown += fall.unknown
        self.left += fall.left


RETENTION = 30 * MINUTE
small = st.integers(1, 9)

# one step of a story: (what, how many, milliseconds until the next reading)
steps = st.lists(
    st.tuples(
        st.sampled_from(["nothing", "nothing", "land", "land old", "purge", "drain", "gap"]),
        small,
        st.sampled_from([POLL, POLL, POLL, POLL - 400, POLL + 700]),
    ),
    min_size=1,
    max_size=150,
)


def play(story: list[tuple[str, int, int]]) -> tuple[Truth, Watcher, bool]:
    """The story as it was, as it was told, and whether others arrived in place of some that left
    before two readings had shown the fall."""
    truth, watcher = Truth(RETENTION), Watcher()
    truth.land(1, age_ms=SECOND)
    watcher.look(truth.reading(), Term(RETENTION, RETENTION))
    mixed = falling = False
    for what, count, wait in story:
        gone, came = truth.expired, truth.arrived
        early, late = truth.purged_early, truth.purged_late
        if what == "land":
            truth.land(count)
        elif what == "land old":
            truth.land(count, age_ms=count * MINUTE)
        elif what == "purge":
            truth.purge(count)
        elif what == "drain":
            truth.purge(len(truth.messages))
        truth.pass_time(wait + (count * 4 * MINUTE if what == "gap" else 0))
        left = truth.expired > gone or (truth.purged_early, truth.purged_late) != (early, late)
        mixed = mixed or ((left or falling) and truth.arrived > came)
        falling = left
        watcher.look(truth.reading(), Term(RETENTION, RETENTION))
    watcher.look(replace(truth.reading(), at=truth.at + 1), Term(RETENTION, RETENTION))
    watcher.close(Term(RETENTION, RETENTION))
    return truth, watcher, mixed


@given(steps)
def test_what_was_removed_in_time_is_never_lost_and_what_expired_never_removed(
    story: list[tuple[str, int, int]],
) -> None:
    truth, watcher, mixed = play(story)
    purged = truth.purged_early + truth.purged_late
    assert watcher.lost <= truth.expired + truth.purged_late
    assert watcher.removed <= purged
    assert watcher.unknown == 0
    if not mixed:
        assert watcher.left == truth.expired + purged
        assert truth.expired <= watcher.lost + watcher.perhaps


@given(steps)
def test_a_queue_where_nothing_expires_loses_nothing(story: list[tuple[str, int, int]]) -> None:
    truth, watcher = Truth(None), Watcher()
    truth.land(3)
    for what, count, wait in story:
        if what.startswith("land"):
            truth.land(count)
        elif what in ("purge", "drain"):
            truth.purge(count if what == "purge" else len(truth.messages))
        truth.pass_time(wait)
        watcher.look(truth.reading(), Term(365 * DAY, 365 * DAY))
    watcher.close(Term(365 * DAY, 365 * DAY))
    assert (watcher.lost, watcher.perhaps, watcher.unknown) == (0, 0, 0)


@given(steps)
def test_where_nobody_removes_anything_nothing_is_removed(
    story: list[tuple[str, int, int]],
) -> None:
    calm = [(what if what not in ("purge", "drain") else "nothing", n, w) for what, n, w in story]
    truth, watcher, _ = play(calm)
    assert watcher.removed == 0
    assert watcher.lost <= truth.expired


@given(steps, st.lists(st.booleans(), min_size=150, max_size=150))
def test_a_gauge_that_lies_now_and_then_makes_no_loss_of_its_own(
    story: list[tuple[str, int, int]], lies: list[bool]
) -> None:
    """Every other reading may be one too low; nothing expires and nobody removes anything."""
    truth, watcher = Truth(None), Watcher()
    truth.land(3)
    lied = False
    for (what, count, wait), lie in zip(story, lies, strict=False):
        truth.pass_time(wait)
        if what.startswith("land") and not lied:
            truth.land(count)
        sample = truth.reading()
        lied = lie and not lied
        if lied and sample.depth:
            sample = replace(sample, depth=sample.depth - 1)
        watcher.look(sample, Term(365 * DAY, 365 * DAY))
    assert watcher.left == 0


@given(steps, st.integers(0, 149), st.sampled_from([2 * MINUTE, 10 * MINUTE]))
def test_a_cut_of_the_retention_never_makes_what_expired_removed(
    story: list[tuple[str, int, int]], when: int, cut_ms: int
) -> None:
    """It is read anew after a fall, before what the fall means is decided."""
    truth, watcher = Truth(RETENTION), Watcher()
    truth.land(2, age_ms=SECOND)
    term = Term(RETENTION, RETENTION)
    watcher.look(truth.reading(), term)
    for number, (what, count, wait) in enumerate(story):
        if number == when:
            truth.kept_ms = cut_ms
            truth.expire()
            term = Term(cut_ms, cut_ms)
        if what.startswith("land"):
            truth.land(count)
        truth.pass_time(wait)
        watcher.look(truth.reading(), term)
    watcher.close(term)
    assert watcher.removed == 0
    assert watcher.lost <= truth.expired


@given(steps, st.lists(st.booleans(), min_size=150, max_size=150))
def test_unknown_ages_claim_nothing(story: list[tuple[str, int, int]], known: list[bool]) -> None:
    """Readings without an age are not taken in; what they hide is told later or not at all."""
    truth, watcher = Truth(RETENTION), Watcher()
    truth.land(1, age_ms=SECOND)
    watcher.look(truth.reading(), Term(RETENTION, RETENTION))
    for (what, count, wait), sure in zip(story, known, strict=False):
        if what.startswith("land"):
            truth.land(count)
        elif what in ("purge", "drain"):
            truth.purge(count if what == "purge" else len(truth.messages))
        truth.pass_time(wait)
        watcher.look(truth.reading(known=sure), Term(RETENTION, RETENTION))
    watcher.close(Term(RETENTION, RETENTION))
    assert watcher.lost <= truth.expired + truth.purged_late
    assert watcher.removed <= truth.purged_early + truth.purged_late


# ---- the whole daemon


def expire_by_themselves(rig: LightRig, kept_ms: int, written: list[int], seconds: int) -> None:
    """Let time pass over messages that Cloudflare deletes at their age."""
    for _ in range(seconds // 30):
        now = rig.clock.now()
        here = [at for at in written if at <= now < at + kept_ms]
        rig.holds(len(here), age_ms=now - here[0] if here else 0)
        rig.run(30)


def test_a_batch_of_200_that_expires_over_twenty_minutes_makes_a_handful_of_notices() -> None:
    """They name all 200, and the end is a loss, never a resolution."""
    kept_ms = 2 * HOUR
    with light(WEBHOOK, QueueRules(QUEUE, expiry_warnings_ms=(), critical_depth=1_000)) as rig:
        rig.queues.retention_ms = kept_ms
        began = rig.clock.now()
        written = [began + n * 6 * SECOND for n in range(200)]
        expire_by_themselves(rig, kept_ms, written, 3 * 3_600)
        lost = [n.facts for n in rig.notices() if n.reason is Reason.LOST]
        assert 2 <= len(lost) <= 4
        assert rig.told().count("lost") == len(lost)
        (incident,) = rig.incidents()
        assert (incident.lost, incident.resolution) == (200, Resolution.EXPIRED)
        last = lost[-1]
        assert isinstance(last, DepthFacts)
        assert last.lost == 200
        assert "200" in rig.posted()[-1]
        assert "Lost" in rig.posted()[-1]
        assert not any("esolved" in line for line in rig.posted())
        assert sum(f.left for f in rig.rows(FallRow)) == 200


def test_a_daemon_that_restarts_at_every_poll_counts_the_same() -> None:
    kept_ms = HOUR
    with light(WEBHOOK, QueueRules(QUEUE, expiry_warnings_ms=())) as rig:
        rig.queues.retention_ms = kept_ms
        began = rig.clock.now()
        written = [began + n * 60 * SECOND for n in range(9)]
        for _ in range(150):
            expire_by_themselves(rig, kept_ms, written, 30)
            rig.restart()
        (incident,) = rig.incidents()
        assert (incident.lost, incident.resolution) == (9, Resolution.EXPIRED)
