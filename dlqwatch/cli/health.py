"""`dlqwatch health`: reads the pulse, nothing else. Imports no settings' library."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from dlqwatch.cli.main import add_config
from dlqwatch.config.file import database_path, find_config, read_toml
from dlqwatch.decide.alive import Alive, alive
from dlqwatch.edges.lockfile import Pulse, boot_id, is_held, read_pulse
from dlqwatch.errors import ConfigError

EXITS = "0 alive, 1 not alive, 2 usage or configuration"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)


def main(options: argparse.Namespace) -> int:
    database = Path(_database(options.config))
    problem = trouble(database, time.monotonic())
    if problem is None:
        return 0
    sys.stderr.write(f"dlqwatch health: {problem}\n")
    return 1


def look(database: Path, monotonic: float) -> tuple[Alive, Pulse]:
    """Whether the daemon of this database lives, and its pulse (an empty one if there's none)."""
    pulse = read_pulse(database)
    state = alive(
        held=is_held(database),
        same_boot=pulse is not None and pulse.boot == boot_id(),
        silent_s=None if pulse is None else monotonic - pulse.tick,
        limit_s=0.0 if pulse is None else pulse.limit_s,
    )
    return state, pulse if pulse is not None else Pulse()


def trouble(database: Path, monotonic: float) -> str | None:
    """Why the daemon isn't alive; None if it is."""
    state, pulse = look(database, monotonic)
    match state:
        case Alive.RUNS:
            return None
        case Alive.NEVER_RAN:
            return f"no daemon has run with {database}"
        case Alive.GONE:
            return f"no daemon runs with {database} (the last was pid {pulse.pid} on {pulse.host})"
        case Alive.NO_PULSE:
            return "the pulse can't be read, or is of another boot of this machine"
        case Alive.SILENT:
            silent = monotonic - pulse.tick
            return f"no tick has finished for {silent:.0f} s (limit {pulse.limit_s:.0f} s)"


def _database(config: str | None) -> str:
    try:
        found = read_toml(find_config(config, os.environ))
    except ConfigError:
        if config is not None or not os.environ.get("DLQWATCH_DATABASE__PATH"):
            raise
        found = {}  # all settings may come from the environment
    return database_path(found, os.environ)
