"""`dlqwatch unsilence`: lift the silences of a queue."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dlqwatch.cli.main import add_config
from dlqwatch.config.settings import find_config, load
from dlqwatch.edges import store_commands
from dlqwatch.edges.clock import SystemClock

EXITS = "0 done, 1 no silence holds, 2 usage or configuration, 3 the database can't be written now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("queue", metavar="QUEUE")
    parser.add_argument("--by", default=os.environ.get("USER", ""), help="who (default: $USER)")


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    lifted = store_commands.unsilence(
        Path(settings.database.path), options.queue, now=SystemClock().now(), by=options.by
    )
    what = "the silence was" if len(lifted) == 1 else f"{len(lifted)} silences were"
    sys.stdout.write(
        f"{options.queue}: {what} lifted. What it held back is told at the next poll.\n"
    )
    return 0
