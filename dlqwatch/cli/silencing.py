"""`dlqwatch silence`: hold notices back for a time."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dlqwatch.cli import tables
from dlqwatch.cli.main import add_config
from dlqwatch.config.settings import find_config, load
from dlqwatch.durations import parse_duration
from dlqwatch.edges import store_commands
from dlqwatch.edges.clock import SystemClock
from dlqwatch.errors import ConfigError
from dlqwatch.model import DAY, MINUTE, Rule

LONGEST = 30 * DAY  # a silence that nobody remembers is how messages die unseen

EXITS = "0 done, 2 usage or configuration, 3 the database can't be written now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("queue", metavar="QUEUE", help="a queue of [[queues]], or dlqwatch itself")
    parser.add_argument(
        "--for", dest="length", required=True, metavar="TIME", help='such as "2h"; 30d at most'
    )
    parser.add_argument("--reason", required=True, help="why, for those who see it")
    parser.add_argument("--by", default=os.environ.get("USER", ""), help="who (default: $USER)")
    parser.add_argument(
        "--rule",
        choices=[r.value for r in Rule if r is not Rule.STORE],
        help="only this rule's (default: every rule's)",
    )


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    known = [rules.name for rules in settings.rules()]
    if settings.publish_failures is not None:
        known.append(settings.publish_failures.worker)
    if options.queue not in (*known, "dlqwatch"):
        raise ConfigError(
            f'"{options.queue}" is not watched; watched: {", ".join(known)}',
            "A silence is of one of these, or of dlqwatch itself.",
        )
    try:
        length = parse_duration(options.length, lowest=MINUTE, highest=LONGEST)
    except ValueError as error:
        raise ConfigError(f"--for {options.length}: {error}") from None
    who, reason = options.by.strip(), options.reason.strip()
    if not who or not reason:
        raise ConfigError("--by and --reason can't be empty", "Say who holds it back, and why.")
    now = SystemClock().now()
    row = store_commands.silence(
        Path(settings.database.path),
        rule=options.rule or "",
        subject=options.queue,
        starts_at=now,
        ends_at=now + length,
        by=who,
        reason=reason,
    )
    until = tables.local(row.ends_at, now)
    sys.stdout.write(
        f"{row.subject} is silenced until {until}. Losses and the last deadline warning are told "
        f"all the same.\nTo end it: dlqwatch unsilence {row.subject}\n"
    )
    return 0
