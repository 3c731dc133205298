"""`dlqwatch ack`: somebody has an incident in hand."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dlqwatch.cli.main import add_config
from dlqwatch.config.settings import find_config, load
from dlqwatch.edges import store_commands
from dlqwatch.edges.clock import SystemClock
from dlqwatch.errors import ConfigError

EXITS = (
    "0 done, 1 no such open incident, 2 usage or configuration, 3 the database can't be written now"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("incident", metavar="N", type=int, help="the #N of its Slack message")
    parser.add_argument("--by", required=True, help="who has it in hand")
    parser.add_argument("--note", default="", help="for those who see it")


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    who = options.by.strip()
    if not who:
        raise ConfigError("--by can't be empty", "Say who has it in hand.")
    incident = store_commands.ack(
        Path(settings.database.path),
        options.incident,
        now=SystemClock().now(),
        by=who,
        note=options.note.strip(),
    )
    sys.stdout.write(
        f"#{incident.id} ({incident.subject}) is in {who}'s hands: no more reminders. A loss, a "
        "deadline, becoming critical or a doubled depth ends that.\n"
    )
    return 0
