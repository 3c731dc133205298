"""What the commands work on: a configuration, scripted services, a database as a daemon left it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dlqwatch.edges.lockfile import Lock
from dlqwatch.edges.store import Store
from dlqwatch.model import DestinationKind, QueueRules, Sample, SampleKind
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.slack import BOT_TOKEN, CHANNEL, SimSlack
from tests.configs import BASE, SLACK
from tests.fakes import FakeQueues, FakeSpeaker
from tests.rig import QUEUE, Rig, plan_for

NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens


def now() -> int:
    return time.time_ns() // 1_000_000


def database(tmp_path: Path) -> Path:
    return tmp_path / "dlqwatch.db"


def write_config(tmp_path: Path, text: str = BASE, *, more: str = "") -> Path:
    """A configuration whose database lies in `tmp_path`."""
    path = tmp_path / "config.toml"
    path.write_text(f'{text}\n[database]\npath = "{database(tmp_path)}"\n{more}', encoding="utf-8")
    return path


def sections(
    cf: SimCloudflare | None, slack: SimSlack | None, kind: DestinationKind = DestinationKind.BOT
) -> str:
    """`[cloudflare]` and `[slack]` of the scripted services; None: nobody answers there."""
    base = cf.base_url if cf is not None else f"{NOBODY}/client/v4"
    account = cf.account_id if cf is not None else "0" * 32
    text = (
        f'[cloudflare]\naccount_id = "{account}"\napi_token = "{READ_TOKEN}"\n'
        f'api_base_url = "{base}"\ntimeout = "2s"\n'
    )
    if slack is None:
        return text + SLACK.replace("https://hooks.slack.com", NOBODY)
    if kind is DestinationKind.WEBHOOK:
        return text + f'[slack]\nwebhook_url = "{slack.webhook_url}"\n'
    bot = f'bot_token = "{BOT_TOKEN}"\nchannel = "{CHANNEL}"\napi_base_url = "{slack.api_url}"\n'
    return text + f"[slack]\n{bot}"


class Left(Rig):
    """A daemon's database. The rig's clock began some time ago and ends at the real now."""

    queues: FakeQueues
    speaker: FakeSpeaker
    clock: HandClock

    def holds(self, depth: int, queue: str = QUEUE, *, kind: SampleKind | None = None) -> None:
        """From now on Cloudflare says this depth."""
        oldest = self.clock.now() - 60_000 if depth else None
        self.queues.says[queue] = Sample(0, kind or SampleKind.COMPLETE, depth, depth * 100, oldest)


@contextmanager
def left_behind(
    tmp_path: Path, *rules: QueueRules, ago_s: float = 0, kind: DestinationKind | None = None
) -> Iterator[Left]:
    """A database that a daemon began to write `ago_s` before now; it may go on writing."""
    which = kind or DestinationKind.BOT
    clock = HandClock(now() - round(ago_s * 1000))
    store = Store(database(tmp_path))
    rig = Left(
        plan_for(which, *rules),
        clock,
        FakeQueues(clock),
        FakeSpeaker(clock, which is DestinationKind.BOT),
        lambda: store,
    )
    try:
        yield rig
    finally:
        store.close()


@contextmanager
def alive(
    tmp_path: Path, *, since_s: float = 3600, silent_s: float = 0, behind: bool = False
) -> Iterator[Lock]:
    """A daemon holds the lock: it runs since `since_s`, its last tick finished `silent_s` ago."""
    monotonic = time.monotonic()
    started_at = now() - round(since_s * 1000)
    lock = Lock(database(tmp_path), now=started_at, monotonic=monotonic)
    lock.beat(monotonic - silent_s, 90.0, behind=behind)
    try:
        yield lock
    finally:
        lock.close(behind=behind)
