"""`dlqwatch backup FILE`: a consistent copy while the daemon writes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dlqwatch.cli import tables
from dlqwatch.cli.main import add_config, add_json
from dlqwatch.config.file import database_path, find_config, read_toml
from dlqwatch.edges.lockfile import lock_path
from dlqwatch.edges.store_reader import Reader
from dlqwatch.errors import ConfigError
from dlqwatch.words.units import size

EXITS = "0 written and checked, 2 usage or configuration, 3 it could not be copied"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="where the copy goes")
    add_config(parser)
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it is there")
    add_json(parser)


def main(options: argparse.Namespace) -> int:
    toml = read_toml(find_config(options.config, os.environ))
    database = Path(database_path(toml, os.environ))
    target = Path(options.file)
    _check(target, database, force=options.force)
    with Reader(database) as reader:
        incidents = reader.back_up(target)
    count = target.stat().st_size
    if options.json:
        tables.print_json({"file": str(target), "bytes": count, "incidents": incidents})
    else:
        many = f"{incidents:,} incident{'s' if incidents != 1 else ''}"
        sys.stdout.write(f"{target}: {size(count)}, {many}, checked\n")
    return 0


def _check(target: Path, database: Path, *, force: bool) -> None:
    if target.is_dir():
        raise ConfigError(f"{target} is a directory", "Name the file that the copy becomes.")
    if not target.parent.is_dir():
        raise ConfigError(f"the directory {target.parent} doesn't exist", "Make it first.")
    own = (database, lock_path(database), Path(f"{database}-journal"))
    if any(target.resolve() == path.resolve() for path in own):
        raise ConfigError(f"{target} is the database that is to be copied", "Name another file.")
    if target.exists() and not force:
        raise ConfigError(f"{target} is there already", "Name another file, or add --force.")
