"""Where the story is played: both services simulated on loopback, the real daemon beside them.

Everything that was started is ended, and the folder removed, however the story ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dlqwatch.errors import EXIT_BAD, DlqwatchError
from dlqwatch.sim.cloudflare import READ_TOKEN, SimCloudflare
from dlqwatch.sim.queues import worker_consumer
from dlqwatch.sim.slack import SimSlack

QUEUE = "nemo12-events-dlq"
SOURCE = "nemo12-events"
WORKER = "nemo12-api"
MISSPELT = "nemo12-event-dlq"
DAEMON = (sys.executable, "-m", "dlqwatch", "run")
END_S = 8.0  # the daemon promises to end within 5
LOOK_S = 0.25  # how soon a daemon that died is noticed
TAIL_LINES = 15

CONFIG = """\
# An ordinary configuration. Only the addresses and the short durations are the demo's.
[cloudflare]
account_id = "{account}"
api_token = "{token}"
api_base_url = "{cloudflare}"

[slack]
bot_token = "{bot}"
channel = "{channel}"
api_base_url = "{slack}"

[alerts]
poll_interval = "{pace.poll_s}s"
keep_firing_for = "{pace.keep_s}s"
group_interval = "{pace.group_s}s"
repeat_interval = "{pace.repeat_s}s"
audit_interval = "{pace.audit_s}s"
runbook_url = "https://example.com/runbooks/dead-letters"

[[queues]]
name = "{queue}"
source = "{source}"

[server]
listen = ""

[database]
path = "{folder}/dlqwatch.db"
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the story goes, in seconds. The first five are the configuration's durations."""

    poll_s: int
    keep_s: int
    group_s: int
    repeat_s: int
    audit_s: int
    retry_after_s: int  # what Slack asks for with its 429
    reading: float  # pauses for a reader: 1 as written, 0 none
    limit_s: float  # how much later than due something may come


ABOUT_TWO_MINUTES = Pace(
    poll_s=2,
    keep_s=4,
    group_s=12,
    repeat_s=18,
    audit_s=8,
    retry_after_s=5,
    reading=1.0,
    limit_s=20.0,
)
FAST = Pace(
    poll_s=1,
    keep_s=0,
    group_s=1,
    repeat_s=1,
    audit_s=5,  # more often would be too many calls beside a poll a second
    retry_after_s=1,
    reading=0.0,
    limit_s=20.0,
)


class DidNotComeTrue(DlqwatchError):
    """Something that the story tells did not happen."""

    exit_code = EXIT_BAD


@dataclass(frozen=True, slots=True)
class Stage:
    """The two services, the running daemon and the folder with its configuration."""

    cloudflare: SimCloudflare
    slack: SimSlack
    daemon: subprocess.Popen[bytes]
    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    def until(self, what: str, condition: Callable[[], bool], limit_s: float) -> None:
        """Wait until `condition` holds of the services. Raises DidNotComeTrue, saying `what`."""
        end = time.monotonic() + limit_s
        while not self.slack.wait_for(condition, min(LOOK_S, max(0.0, end - time.monotonic()))):
            self._must_run(what)
            if time.monotonic() >= end:
                raise self._failure(f"{what}: not within {limit_s:g} s")

    def pause(self, seconds: float) -> None:
        """Time to read, unless the daemon ends meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._must_run("the daemon runs")
            time.sleep(min(LOOK_S, left))

    def command(self, *words: str) -> str:
        """What `dlqwatch WORDS` prints, run for real. Raises DidNotComeTrue unless it exits 0."""
        shown = f"dlqwatch {' '.join(words)}"
        try:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-m", "dlqwatch", *words, "--config", str(self.config)],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=30,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._failure(f"{shown} did not end within 30 s") from None
        said = done.stdout.strip("\n")
        if done.returncode != 0 or not said:
            heard = f"{said}\n{done.stderr.strip()}".strip()
            raise self._failure(f"{shown} ended with exit code {done.returncode}\n{heard}".strip())
        return said

    def _must_run(self, what: str) -> None:
        code = self.daemon.poll()
        if code is not None:
            raise self._failure(f"{what}: the daemon ended meanwhile with exit code {code}")

    def _failure(self, what: str) -> DidNotComeTrue:
        log = (self.folder / "daemon.log").read_text(encoding="utf-8", errors="replace")
        lines = log.splitlines()[-TAIL_LINES:] or ["(it is empty)"]
        return DidNotComeTrue(what, "\n  ".join(["The daemon's log ends with:", *lines]))


@contextmanager
def set_up(pace: Pace, daemon: Sequence[str] = DAEMON, *, keep: bool = False) -> Iterator[Stage]:
    """The stage, with the daemon started by `daemon` and `--config FILE`.

    `keep`: the folder with configuration, database and log stays.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="dlqwatch-demo-"))
        if not keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        cloudflare = stack.enter_context(SimCloudflare())
        slack = stack.enter_context(SimSlack())
        # as the story begins, the token may read nothing, and a name is misspelt
        cloudflare.create_queue(SOURCE, consumers=[worker_consumer(WORKER, MISSPELT)])
        cloudflare.create_queue(QUEUE)
        cloudflare.tokens[READ_TOKEN] = set()
        config = CONFIG.format(
            account=cloudflare.account_id,
            token=READ_TOKEN,
            cloudflare=cloudflare.base_url,
            bot=slack.bot_token,
            channel=slack.channel,
            slack=slack.api_url,
            pace=pace,
            queue=QUEUE,
            source=SOURCE,
            folder=folder,
        )
        path = folder / "config.toml"
        path.write_text(config, encoding="utf-8")
        log = stack.enter_context((folder / "daemon.log").open("wb"))
        process = subprocess.Popen(  # noqa: S603
            [*daemon, "--config", str(path)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        stack.callback(_end, process)
        yield Stage(cloudflare, slack, process, folder)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    """Ours without what would configure dlqwatch or lead its calls through a proxy."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("DLQWATCH_") and not name.upper().endswith("_PROXY")
    }
    return kept | {"NO_PROXY": "127.0.0.1", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
