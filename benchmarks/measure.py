"""Measures a real `dlqwatch run` against the scripted services: the numbers it must hold.

    python benchmarks/measure.py [--minutes 10] [--latency 20] [--json]

Needs Linux (/proc) and dlqwatch installed; no network, no account. The daemon runs as in the
image: under `python -OO` from bytecode that is there already, with the image's MALLOC_ variables.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack

QUEUE = "nemo12-events-dlq"
POLL_S = 15
TICKS = os.sysconf("SC_CLK_TCK")
SIDE_BY_SIDE = 5  # daemons that measure latency at the same time
PYTHON = [sys.executable, "-OO", "-m", "dlqwatch"]
DOCKERFILE = Path(__file__).parents[1] / "Dockerfile"


def environment(bytecode: str) -> dict[str, str]:
    """The image's, with bytecode in a folder of its own: compiling at a start isn't measured."""
    malloc = dict(re.findall(r"\b(MALLOC_\w+)=(\w+)", DOCKERFILE.read_text(encoding="utf-8")))
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DLQWATCH_"))}
    return {**ours, **malloc, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONUNBUFFERED": "1"}


_BYTECODE = tempfile.TemporaryDirectory(prefix="dlqwatch-bytecode-")
ENV = environment(_BYTECODE.name)

CONFIG = """\
[cloudflare]
account_id = "{account}"
api_token = "{token}"
api_base_url = "{cloudflare}"
[slack]
{slack}
[alerts]
poll_interval = "{poll}s"
keep_firing_for = "0s"
[[queues]]
name = "{queue}"
[database]
path = "{database}"
"""


@dataclass
class Scene:
    """A daemon, and the services that it speaks to."""

    cloudflare: SimCloudflare
    slack: SimSlack
    config: Path
    process: subprocess.Popen[bytes]
    began_ms: int

    def polls(self) -> list[int]:
        """When it polled, in ms since 1970."""
        return [r.at for r in list(self.cloudflare.requests) if r.path.endswith("/metrics")]

    def wait_for_polls(self, count: int) -> None:
        if not self.cloudflare.wait_for(lambda: len(self.polls()) >= count, 30 + count * POLL_S):
            raise RuntimeError("the daemon doesn't poll")


@contextmanager
def scene(*, bot: bool = True, poll_s: int = POLL_S) -> Iterator[Scene]:
    """A daemon that runs; ended at the end."""
    with (
        tempfile.TemporaryDirectory() as folder,
        SimCloudflare() as cloudflare,
        SimSlack() as slack,
    ):
        cloudflare.create_pair()
        address = f'webhook_url = "{slack.webhook_url}"'
        if bot:
            address = (
                f'bot_token = "{slack.bot_token}"\nchannel = "{slack.channel}"\n'
                f'api_base_url = "{slack.api_url}"'
            )
        config = Path(folder) / "config.toml"
        config.write_text(
            CONFIG.format(
                account=cloudflare.account_id,
                token=READ_TOKEN,
                cloudflare=cloudflare.base_url,
                slack=address,
                poll=poll_s,
                queue=QUEUE,
                database=Path(folder) / "dlqwatch.db",
            ),
            encoding="utf-8",
        )
        began = time.time_ns() // 1_000_000
        process = subprocess.Popen(
            [*PYTHON, "run", "--config", str(config)],
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=ENV,
        )
        try:
            yield Scene(cloudflare, slack, config, process, began)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(15)


def first_poll_s() -> list[float]:
    """From the start of the process to its first poll."""
    found = []
    for _ in range(6):
        with scene() as s:
            s.wait_for_polls(1)
            found.append((s.polls()[0] - s.began_ms) / 1000)
    return found[1:]  # the first one writes the bytecode


def health_ms() -> list[float]:
    """How long `dlqwatch health` takes beside a daemon."""
    found = []
    with scene() as s:
        s.wait_for_polls(1)
        for _ in range(11):
            began = time.monotonic()
            subprocess.run([*PYTHON, "health", "--config", str(s.config)], check=True, env=ENV)
            found.append((time.monotonic() - began) * 1000)
    return found


def exit_s() -> list[float]:
    """From SIGTERM to the end, while Cloudflare and Slack both take requests and never answer."""
    found = []
    for bot in (True, False):
        with scene(bot=bot, poll_s=1) as s:
            _wait(s, lambda s=s: len(s.slack.messages()) > 0)  # type: ignore[misc]
            s.slack.fail(Fault.hang())
            s.cloudflare.land(QUEUE)
            if not s.slack.wait_for(lambda s=s: len(s.slack.requests) > 1, 15):  # type: ignore[misc]
                raise RuntimeError("Slack was never asked")
            s.cloudflare.fail(Fault.hang())
            s.wait_for_polls(len(s.polls()) + 1)
            began = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            if s.process.wait(30) != 0:
                raise RuntimeError(f"it ended with {s.process.returncode}")
            found.append(time.monotonic() - began)
    return found


def idle(minutes: float) -> dict[str, float]:
    """Memory and CPU of a daemon that polls an empty queue."""
    with scene() as s:
        s.wait_for_polls(1)
        time.sleep(min(20.0, minutes * 30))  # the start is not idle
        cpu, began = _cpu_s(s.process.pid), time.monotonic()
        time.sleep(minutes * 60)
        spent, lasted = _cpu_s(s.process.pid) - cpu, time.monotonic() - began
        memory = _memory_mib(s.process.pid)
        return {"cpu_s_per_minute": spent / lasted * 60, **memory}


def latency_s(count: int) -> list[float]:
    """From a message in the DLQ to the message in Slack, at phases spread over the interval."""
    phases = [POLL_S * (n + 0.5) / count for n in range(count)]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        shares = pool.map(_latencies, [phases[n::SIDE_BY_SIDE] for n in range(SIDE_BY_SIDE)])
        return [seconds for share in shares for seconds in share]


def _latencies(phases: list[float]) -> list[float]:
    found: list[float] = []
    if not phases:
        return found
    with scene() as s:
        _wait(s, lambda: len(s.slack.messages()) > 0)  # that it started
        for phase in phases:
            s.wait_for_polls(len(s.polls()) + 1)
            time.sleep(phase)
            before = len(s.slack.messages())
            landed = s.cloudflare.land(QUEUE)[0].at
            _wait(s, lambda before=before: len(s.slack.messages()) > before)  # type: ignore[misc]
            found.append((s.slack.messages()[before].posted_at - landed) / 1000)
            s.cloudflare.drain(QUEUE)
            _wait(s, lambda before=before: len(s.slack.messages()) > before + 1)  # type: ignore[misc]
    return found


def _wait(s: Scene, condition: Callable[[], bool]) -> None:
    if not s.slack.wait_for(condition, 3 * POLL_S):
        raise RuntimeError("Slack was never told")


def _cpu_s(pid: int) -> float:
    """CPU seconds of a process so far; /proc/PID/stat counts in hundredths."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _memory_mib(pid: int) -> dict[str, float]:
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, _, rest = line.partition(":")
        sizes[name] = int(rest.split()[0]) / 1024
    return {"rss_mib": sizes["Rss"], "pss_mib": sizes["Pss"]}


# figure, unit, limit
LIMITS: tuple[tuple[str, str, float | None], ...] = (
    ("first poll, median of 5 starts", "s", 1.0),
    ("health, median of 11", "ms", 60.0),
    ("exit with both services hung, worst of bot and webhook", "s", 5.0),
    ("resident memory, idle", "MiB", 48.0),
    ("proportional memory, idle", "MiB", None),
    ("CPU a minute, idle", "s", 0.06),
    ("message to Slack, median", "s", 8.5),
    ("message to Slack, worst", "s", 16.0),
)


def measure(minutes: float, count: int) -> Iterator[dict[str, Any]]:
    """Every figure beside the number it must hold, as it is known."""
    limits = iter(LIMITS)

    def row(value: float) -> dict[str, Any]:
        figure, unit, limit = next(limits)
        return {"figure": figure, "value": round(value, 3), "unit": unit, "limit": limit}

    yield row(statistics.median(first_poll_s()))
    yield row(statistics.median(health_ms()))
    yield row(max(exit_s()))
    lived = idle(minutes)
    yield from map(row, (lived["rss_mib"], lived["pss_mib"], lived["cpu_s_per_minute"]))
    told = latency_s(count)
    yield from map(row, (statistics.median(told), max(told)))


def main() -> int:
    """Print the figures; 1 if one of them breaks its limit."""
    parser = argparse.ArgumentParser(description="Measure dlqwatch against scripted services.")
    parser.add_argument("--minutes", type=float, default=10, help="how long to idle (10)")
    parser.add_argument("--latency", type=int, default=20, metavar="N", help="messages timed (20)")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rows, over = [], False
    for row in measure(wanted.minutes, max(1, wanted.latency)):
        rows.append(row)
        broken = row["limit"] is not None and row["value"] > row["limit"]
        over = over or broken
        if not wanted.json:
            limit = "" if row["limit"] is None else f"≤ {row['limit']:g} {row['unit']}"
            mark = "  OVER" if broken else ""
            print(f"{row['figure']:<56} {row['value']:>8.3f} {row['unit']:<4} {limit}{mark}")
            sys.stdout.flush()
    if wanted.json:
        print(json.dumps(rows, indent=2))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
