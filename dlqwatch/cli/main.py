"""The command line: which commands there are, and how an error ends.

Each command's module is imported when it runs: `health` and `--help` stay fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from dlqwatch import __version__
from dlqwatch.errors import EXIT_UNKNOWN, EXIT_USAGE, DlqwatchError

# name, module, what it does in a line; the order of `--help`
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("run", "running", "watch, until SIGTERM"),
    ("demo", "demonstrating", "watch a simulated Cloudflare and Slack through a short story"),
    ("check", "checking", "try configuration, token, queue and Slack, and say what isn't kept"),
    ("poll", "polling", "read each queue once: exit 1 at its threshold, 3 if unread, else 0"),
    ("test-alert", "trying", "send a marked test message; exit 0 only if Slack confirmed"),
    ("status", "status", "what is: queues, alerts, outbox, destinations; exit 1 if unhealthy"),
    ("history", "history", "what was: incidents and who was told"),
    ("silence", "silencing", "hold an alert's notices back for a time; losses pass"),
    ("unsilence", "unsilencing", "lift the silences of a queue"),
    ("silences", "silences", "which silences hold"),
    ("ack", "acking", "say that somebody has an incident in hand: no reminders"),
    ("health", "health", "is the daemon's loop alive (for HEALTHCHECK)"),
    ("backup", "backing_up", "a consistent copy of the database while the daemon runs"),
)

EPILOG = """\
The configuration is --config FILE, else $DLQWATCH_CONFIG, else ./config.toml, else
/etc/dlqwatch/config.toml. Every setting can also come from the environment
(DLQWATCH_SECTION__KEY), every secret from a file (its key with _file).
Exit codes: 0 fine, 1 the answer is bad, 2 usage or configuration, 3 could not find out.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    at = _command_at(arguments)
    if at is None:
        _parser().parse_args(arguments)  # --help, --version, or an error that lists the commands
        _parser().print_help(sys.stderr)
        return EXIT_USAGE
    name = arguments.pop(at)
    command = import_module(f"dlqwatch.cli.{next(m for n, m, _ in COMMANDS if n == name)}")
    sub = _sub_parser(name, getattr(command, "EXITS", ""))
    command.add_arguments(sub)
    try:
        code = int(command.main(sub.parse_args(arguments)))
        sys.stdout.flush()
        return code
    except DlqwatchError as error:
        sys.stderr.write(f"dlqwatch {name}: {error}\n")
        return error.exit_code
    except BrokenPipeError:
        # `| head` has seen enough, and nobody the whole answer; Python must not complain at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_UNKNOWN
    except KeyboardInterrupt:
        return 130


def _command_at(arguments: Sequence[str]) -> int | None:
    """Where the command stands: the options may come before it (`--config FILE status`)."""
    names = {name for name, _, _ in COMMANDS}
    for at, argument in enumerate(arguments):
        if argument in names and (at == 0 or arguments[at - 1] != "--config"):
            return at
    return None


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<12} {says}" for name, _, says in COMMANDS)
    parser = argparse.ArgumentParser(
        prog="dlqwatch",
        usage="dlqwatch COMMAND [--config FILE]",
        description="Watches Cloudflare dead-letter queues: no dead letter dies unseen.\n\n"
        f"commands (dlqwatch COMMAND --help for each):\n{listed}",
        epilog=EPILOG,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=_width()),
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dlqwatch {__version__}")
    parser.add_argument("--config", help=argparse.SUPPRESS)
    parser.add_argument(
        "command", nargs="?", choices=[n for n, _, _ in COMMANDS], help=argparse.SUPPRESS
    )
    return parser


def _sub_parser(name: str, exits: str) -> argparse.ArgumentParser:
    says = next(s for n, _, s in COMMANDS if n == name)
    return argparse.ArgumentParser(
        prog=f"dlqwatch {name}",
        description=f"{says[0].upper()}{says[1:]}.",
        epilog=f"Exit codes: {exits}." if exits else None,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=_width()),
        allow_abbrev=False,
    )


def _width() -> int:
    """The terminal's, less a margin. argparse would import shutil for it, 7 ms in `health` too."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        columns = 80
    return max(40, columns - 2)


def add_config(parser: argparse.ArgumentParser) -> None:
    """`--config`, as every command but `demo` has it."""
    parser.add_argument("--config", metavar="FILE", help="the configuration file")


def add_json(parser: argparse._ActionsContainer) -> None:
    """`--json`, as every reading command has it."""
    parser.add_argument("--json", action="store_true", help="for scripts: times in UTC")


if __name__ == "__main__":
    sys.exit(main())
