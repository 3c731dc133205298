"""`dlqwatch silences`: which silences hold."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from dlqwatch.cli import quieted, tables
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.settings import find_config, load
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.store_reader import Reader
from dlqwatch.rows import Silence

EXITS = "0 fine, 2 usage or configuration, 3 the database can't be read now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_json(parser)
    parser.add_argument("--all", action="store_true", help="those that are over too")


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    now = SystemClock().now()
    with Reader(Path(settings.database.path)) as reader:
        found = reader.silences(None if options.all else now)
    if options.json:
        tables.print_json([quieted.silence_json(silence) for silence in found])
        return 0
    out = tables.console()
    if not found:
        tables.line(out, "No silence holds: everything is told.")
        return 0
    tables.table(out, (*quieted.COLUMNS, "lifted"), [_as_row(silence, now) for silence in found])
    return 0


def _as_row(silence: Silence, now: int) -> tuple[str, ...]:
    lifted = ""
    if silence.lifted_at is not None:
        lifted = f"{tables.local(silence.lifted_at, now)} {silence.lifted_by}"
    return (*quieted.row(silence, now), lifted)
