"""`dlqwatch check`: tries everything that watching needs, and says what isn't kept."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from dlqwatch.cli import tables
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.settings import Settings, find_config, load
from dlqwatch.decide.healthy import Present
from dlqwatch.edges.clock import SystemClock
from dlqwatch.errors import EXIT_BAD, EXIT_UNKNOWN, EXIT_USAGE, ConfigError, DlqwatchError
from dlqwatch.words import en_check

EXITS = (
    "0 all fine, 1 something is bad, 2 the configuration can't be used, "
    "3 something could not be found out"
)


class Result(StrEnum):
    """What one check came to."""

    OK = "ok"
    BAD = "bad"
    UNKNOWN = "unknown"  # could not be found out
    NOTE = "note"  # worth knowing, and as it was chosen


@dataclass(frozen=True, slots=True)
class Check:
    """One line: what was looked at, what it came to, what to do."""

    name: str
    result: Result
    what: str
    do: str = ""


Show = Callable[[Check], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_json(parser)


def main(options: argparse.Namespace) -> int:
    done: list[Check] = []
    show: Show = done.append
    if not options.json:
        draw = _drawer()

        def show(check: Check) -> None:  # each line as soon as it is known
            done.append(check)
            draw(check)

    try:
        path = find_config(options.config, os.environ)
        settings = load(path)
    except ConfigError as error:
        show(Check("configuration", Result.BAD, error.what, error.do))
        _end(done, as_json=options.json)
        return EXIT_USAGE
    queues = settings.rules()
    many = "1 queue" if len(queues) == 1 else f"{len(queues)} queues"
    show(Check("configuration", Result.OK, f"{path}: {many}"))
    present = _database(Path(settings.database.path), show)
    try:
        _services(settings, present, show)
    except DlqwatchError as error:  # a secret's file that went away, a proxy that can't be used
        show(Check("services", Result.BAD, error.what, error.do))
    for rules in queues:
        kept, words = en_check.gate(rules)
        show(Check("QG-009", Result.OK if kept else Result.NOTE, words))
    fallback = settings.slack.fallback is not None
    words = en_check.FALLBACK if fallback else en_check.NO_FALLBACK
    show(Check("S9", Result.OK if fallback else Result.NOTE, words))
    heart = settings.heartbeat
    url, fail_url = (urlsplit(address).hostname or "" for address in (heart.url, heart.fail_url))
    kept, words = en_check.heartbeat(url, fail_url, heart.interval)
    show(Check("S8", Result.OK if kept else Result.NOTE, words))
    for name, words in en_check.not_kept(settings.not_acted_on()):
        show(Check(name, Result.NOTE, words))
    _end(done, as_json=options.json)
    return exit_code(done)


def exit_code(done: Sequence[Check]) -> int:
    """1 if anything is bad, else 3 if anything isn't known, else 0."""
    results = {check.result for check in done}
    if Result.BAD in results:
        return EXIT_BAD
    return EXIT_UNKNOWN if Result.UNKNOWN in results else 0


def _services(settings: Settings, present: Present, show: Show) -> None:
    """Cloudflare first: its answers also tell the time."""
    from dlqwatch.cli.checking_cloudflare import check_cloudflare
    from dlqwatch.cli.checking_slack import check_slack
    from dlqwatch.edges.http import Http

    clock = SystemClock()
    http = Http()
    try:
        check_cloudflare(settings, present, clock, http, show)
        check_slack(settings, clock, http.ssl_context, show)
    finally:
        http.close()


def _database(path: Path, show: Show) -> Present:
    """Its place, whether a daemon holds it, and what it knows."""
    from dlqwatch.cli.status import look, read
    from dlqwatch.decide.alive import Alive
    from dlqwatch.edges.store_errors import check_place

    try:
        check_place(path)
        present = read(path)
    except DlqwatchError as error:
        show(Check("database", Result.BAD, error.what, error.do))
        return Present(exists=False)
    daemon = look(path)
    if daemon.alive in (Alive.NEVER_RAN, Alive.GONE):
        runs = "no daemon runs with it now"
    else:
        runs = f"a daemon runs with it (pid {daemon.pid} on {daemon.host})"
    new = "" if present.exists else "will be made at the first start; "
    words = f"{path} can be written by uid {os.geteuid()}; {new}{runs}"
    show(Check("database", Result.OK, words))
    return present


def _drawer() -> Callable[[Check], None]:
    out = tables.console()
    signs = {
        Result.OK: ("✓", tables.GOOD),
        Result.BAD: ("✗", tables.BAD),
        Result.UNKNOWN: ("?", tables.WARN),
        Result.NOTE: ("–", ""),
    }

    def draw(check: Check) -> None:
        sign, style = signs[check.result]
        tables.line(out, f"{sign} {check.name}: {check.what}", style)
        if check.do:
            tables.line(out, check.do, indent=2)

    return draw


def _end(done: Sequence[Check], *, as_json: bool) -> None:
    if as_json:
        tables.print_json({"ok": exit_code(done) == 0, "checks": [asdict(c) for c in done]})
