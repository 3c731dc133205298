"""`dlqwatch run`."""

from __future__ import annotations

import argparse
import os

from dlqwatch.cli.main import add_config
from dlqwatch.config.settings import find_config, load

EXITS = "0 ended when told to, 2 usage or configuration, 3 a fault, 70 hung (to be started again)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument(
        "--log-format", type=str.lower, choices=("text", "json"), default="text",
        help="of the log on stderr",
    )  # fmt: skip
    parser.add_argument(
        "--log-level", type=str.lower, choices=("debug", "info", "warning", "error"),
        default="info", help="what it holds; info is a line a minute at most when all is well",
    )  # fmt: skip


def main(options: argparse.Namespace) -> int:
    from dlqwatch.daemon.run import run

    settings = load(find_config(options.config, os.environ))
    return run(settings, log_style=options.log_format, log_level=options.log_level)
