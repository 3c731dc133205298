"""`dlqwatch poll`: one reading of each queue, straight from Cloudflare."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from dlqwatch.cli import tables
from dlqwatch.cli.asking import Asked, ask_all, cloudflare_of
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.settings import find_config, load
from dlqwatch.decide.judging import depth_condition
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.http import Http
from dlqwatch.errors import EXIT_BAD, EXIT_UNKNOWN
from dlqwatch.model import Condition, SampleKind
from dlqwatch.words import en_status
from dlqwatch.words.units import size, tidy

EXITS = (
    "0 every queue is below its threshold, 1 one is at it, else 3 if one could not be read, "
    "2 usage or configuration"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_json(parser)


def main(options: argparse.Namespace) -> int:
    settings = load(find_config(options.config, os.environ))
    clock, http = SystemClock(), Http()
    try:
        cloudflare = cloudflare_of(settings, clock, http)
        timeout_s = settings.cloudflare.timeout / 1000
        asked = ask_all(cloudflare, settings.rules(), clock, timeout_s)
    finally:
        http.close()
    if options.json:
        tables.print_json([as_json(one) for one in asked])
    else:
        _draw(asked, clock.now())
    return exit_code([depth_condition(one.sample, one.rules) for one in asked])


def exit_code(conditions: Sequence[Condition]) -> int:
    """1 if any is at its threshold, else 3 if any isn't known, else 0."""
    if Condition.YES in conditions:
        return EXIT_BAD
    return EXIT_UNKNOWN if Condition.UNKNOWN in conditions else 0


def as_json(one: Asked) -> dict[str, Any]:
    """One queue's reading; `depth` is null where it failed, never 0."""
    return {
        "name": one.rules.name,
        "depth": one.sample.depth,
        "bytes": one.sample.bytes,
        "oldest_at": tables.utc(one.sample.oldest_at),
        "polled_at": tables.utc(one.sample.at),
        "sample": one.sample.kind,
        "reason": one.sample.reason,
        "detail": one.sample.detail or None,
        "threshold": one.rules.threshold,
        "at_threshold": depth_condition(one.sample, one.rules) is Condition.YES,
    }


def _draw(asked: Sequence[Asked], now: int) -> None:
    out = tables.console()
    rows: list[Sequence[tables.Cell]] = []
    for one in asked:
        sample = one.sample
        depth = "?" if sample.depth is None else f"{sample.depth:,}"
        at = depth_condition(sample, one.rules) is Condition.YES
        failed = sample.kind is SampleKind.FAILED
        oldest = tables.ago(sample.oldest_at, now) if sample.depth else "–"
        rows.append(
            (
                tidy(one.rules.name),
                (depth, tables.WARN if at or failed else tables.GOOD),
                f"{one.rules.threshold:,}",
                "?" if failed else oldest,
                "?" if failed else size(sample.bytes),
                (sample.kind, tables.WARN if sample.reason is not None else ""),
            )
        )
    names = ("queue", "depth", "threshold", "oldest", "size", "reading")
    tables.table(out, names, rows, right="depth threshold")
    for one in asked:
        if one.error is not None:
            tables.line(out, f"✗ {tidy(one.rules.name)}: {one.error.what}", tables.BAD)
            tables.line(out, one.error.do, indent=2)
        elif one.sample.reason is not None:
            said = f"{en_status.SAMPLE_REASONS[one.sample.reason]} ({one.sample.detail})"
            tables.line(out, f"✗ {tidy(one.rules.name)}: {said}", tables.BAD)
