"""`dlqwatch health`: reads the pulse, nothing else. Imports no settings' library."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from dlqwatch.cli.main import add_config
from dlqwatch.config_file import database_path, find_config, read_toml
from dlqwatch.edges.lockfile import boot_id, is_held, read_pulse
from dlqwatch.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)


def main(options: argparse.Namespace) -> int:
    database = Path(_database(options.config))
    problem = trouble(database, time.monotonic())
    if problem is None:
        return 0
    sys.stderr.write(f"dlqwatch health: {problem}\n")
    return 1


def trouble(database: Path, monotonic: float) -> str | None:
    """Why the daemon isn't alive; None if it is."""
    pulse = read_pulse(database)
    if pulse is None:
        return f"no daemon has run with {database}"
    if not is_held(database):
        return f"no daemon runs with {database} (the last was pid {pulse.pid} on {pulse.host})"
    silent = monotonic - pulse.tick
    if pulse.boot != boot_id() or silent < 0:
        return "the pulse is of another boot of this machine"
    if silent > pulse.limit_s:
        return f"no tick has finished for {silent:.0f} s (limit {pulse.limit_s:.0f} s)"
    return None


def _database(config: str | None) -> str:
    try:
        found = read_toml(find_config(config, os.environ))
    except ConfigError:
        if config is not None or not os.environ.get("DLQWATCH_DATABASE__PATH"):
            raise
        found = {}  # all settings may come from the environment
    return database_path(found, os.environ)
