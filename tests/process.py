"""The real `dlqwatch` as a process, against scripted services on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from dlqwatch.model import DestinationKind
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.slack import SimSlack

QUEUE = "nemo12-events-dlq"
PATIENCE_S = 25.0  # a loaded machine may be slow; a promise has its own, tighter check

# Root may write everywhere. The child gives that up for good, then becomes the daemon.
AS_ANYBODY = """
import ctypes, os, sys
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24
if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
    raise SystemExit("can't give up the right to write everywhere")
os.execv(sys.argv[1], sys.argv[1:])
"""
ANYBODY = (sys.executable, "-c", AS_ANYBODY)


class Daemon:
    """`dlqwatch run`, from its start to its end. Whatever happens, it is dead when this ends."""

    def __init__(
        self,
        config: Path,
        *options: str,
        env: dict[str, str] | None = None,
        through: tuple[str, ...] = (),
    ) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self.began_ms = time.time_ns() // 1_000_000
        self._process = subprocess.Popen(
            [
                *through,
                *(sys.executable, "-m", "dlqwatch", "run", "--config", str(config), *options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_line(self, pattern: str, timeout_s: float = PATIENCE_S) -> str:
        """The first line it logs that fits."""

        def found() -> str | None:
            return next((line for line in self.lines if re.search(pattern, line)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() is not None, timeout_s)
            line = found()
        assert line is not None, f"no line fits {pattern!r}: {self.lines}"
        return line

    def kill(self) -> None:
        """kill -9, unless it has ended."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def terminate(self) -> tuple[int, float]:
        """SIGTERM; its exit code, and how many seconds it took."""
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(PATIENCE_S)
        took = time.monotonic() - began
        self._reader.join(PATIENCE_S)
        return code, took

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit code, when it ends by itself."""
        return self._process.wait(PATIENCE_S)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()


@dataclass
class Place:
    """The services, the configuration that points at them, and the database."""

    folder: Path
    kind: DestinationKind
    cloudflare: SimCloudflare
    slack: SimSlack
    alerts: dict[str, str] = field(default_factory=dict)
    queues: tuple[str, ...] = (QUEUE,)
    timeout: str = "2s"
    data: Path | None = None  # the directory of the database, if it has one of its own
    more: str = ""  # further sections

    @property
    def database(self) -> Path:
        return (self.data or self.folder) / "dlqwatch.db"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may be in the configuration, and nowhere else."""
        return (READ_TOKEN, self.slack.bot_token, self.slack.webhook_url.rpartition("/")[2])

    def config(self) -> Path:
        """Written anew, as the place is now."""
        address = f'webhook_url = "{self.slack.webhook_url}"'
        if self.kind is DestinationKind.BOT:
            address = (
                f'bot_token = "{self.slack.bot_token}"\nchannel = "{self.slack.channel}"\n'
                f'api_base_url = "{self.slack.api_url}"'
            )
        alerts = {"poll_interval": "1s", "keep_firing_for": "1s", **self.alerts}
        lines = [
            "[cloudflare]",
            f'account_id = "{self.cloudflare.account_id}"',
            f'api_token = "{READ_TOKEN}"',
            f'api_base_url = "{self.cloudflare.base_url}"',
            f'timeout = "{self.timeout}"',
            f"[slack]\n{address}\n[alerts]",
            *(f'{key} = "{value}"' for key, value in alerts.items()),
            *(f'[[queues]]\nname = "{name}"' for name in self.queues),
            f'[database]\npath = "{self.database}"\n',
            self.more,
        ]
        path = self.folder / "config.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def daemon(
        self,
        *options: str,
        env: dict[str, str] | None = None,
        through: tuple[str, ...] = (),
    ) -> Daemon:
        """`through`: a command that starts it, with what else it needs to know."""
        return Daemon(self.config(), *options, env=env, through=through)

    def command(self, *words: str, rewrite: bool = True) -> subprocess.CompletedProcess[str]:
        """Another command, to its end. `rewrite`: False for a configuration changed by hand."""
        config = self.config() if rewrite else self.folder / "config.toml"
        return subprocess.run(
            [sys.executable, "-m", "dlqwatch", *words, "--config", str(config)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def polls(self, queue: str = QUEUE) -> list[int]:
        """When a queue was polled, in ms since 1970."""
        path = f"{self.cloudflare.queue(queue).id}/metrics"
        return [r.at for r in list(self.cloudflare.requests) if r.path.endswith(path)]

    def wait_polls(self, more: int = 1, queue: str = QUEUE) -> list[int]:
        """The next polls, once they have come."""
        before = len(self.polls(queue))
        came = self.cloudflare.wait_for(
            lambda: len(self.polls(queue)) >= before + more, PATIENCE_S + more
        )
        assert came, "the daemon doesn't poll"
        return self.polls(queue)[before:]

    def wait_said(self, words: str, timeout_s: float = PATIENCE_S) -> int:
        """When a message that holds these words, now or before an edit, came to Slack (ms)."""

        def found() -> list[int]:
            return [
                m.posted_at
                for m in self.slack.messages()
                if words in m.text or any(words in text for text, _ in m.edits)
            ]

        assert self.slack.wait_for(lambda: bool(found()), timeout_s), (
            f"{words!r} was never said: {[m.text for m in self.slack.messages()]}"
        )
        return found()[0]


@contextmanager
def place(folder: Path, kind: DestinationKind = DestinationKind.BOT) -> Iterator[Place]:
    """Both services, and an empty dead-letter queue."""
    with SimCloudflare() as cloudflare, SimSlack() as slack:
        cloudflare.create_pair()
        yield Place(folder, kind, cloudflare, slack)
