"""`dlqwatch demo`."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="in under 15 seconds, without pauses")
    parser.add_argument(
        "--keep", action="store_true", help="keep its configuration, database and log, say where"
    )


def main(options: argparse.Namespace) -> int:
    from dlqwatch.demo.story import tell

    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup's, say
            signal.signal(number, _leave)
    for stream in (sys.stdout, sys.stderr):  # an old terminal's encoding must not end the story
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    tell(fast=options.fast, keep=options.keep)
    return 0


def _leave(number: int, _frame: FrameType | None) -> None:
    """Unwind, which ends what was started; another signal must not interrupt that."""
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise SystemExit(128 + number)
