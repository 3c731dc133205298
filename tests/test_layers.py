"""The layers hold: imports go one way, waiting and the outside world stay where they belong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A module may import from its own layer and from those above it in this list.
LAYERS = (
    "model",
    "facts",
    "rows",
    "errors",
    "durations",
    "config",
    "decide",
    "words",
    "edges",
    "journal",
    "engine",
    "daemon",
    "handled",
    "sim",
    "demo",
    "cli",
    "__main__",
)

# Which modules may import a package from outside.
ONLY_IN = {
    "apscheduler": ("daemon",),
    "httpcore": ("edges.http",),
    "httpx": ("edges.http",),
    "pydantic": ("config",),
    "pydantic_settings": ("config",),
    "rich": ("demo", "cli"),
    "slack_sdk": ("edges.slack*",),
    "sqlite3": ("edges.store*",),
}

# Only these may wait, or start something that runs beside them.
MAY_WAIT = ("daemon", "sim", "demo")
WAITING = (
    "apscheduler",
    "asyncio",
    "concurrent",
    "multiprocessing",
    "sched",
    "subprocess",
    "threading.Barrier",
    "threading.BoundedSemaphore",
    "threading.Condition",
    "threading.Event",
    "threading.Semaphore",
    "threading.Thread",
    "threading.Timer",
    "time.sleep",
)

# decide/ and words/ turn values into values: this is all of the standard library they need.
PURE = ("decide", "words")
PURE_MODULES = (
    *("__future__", "abc", "base64", "bisect", "collections", "contextlib", "copy"),
    *("dataclasses", "datetime", "decimal", "difflib", "email.utils", "enum", "fractions"),
    *("functools", "hashlib", "heapq", "html", "itertools", "json", "math", "numbers"),
    *("operator", "re", "statistics", "string", "textwrap", "types", "typing", "unicodedata"),
    *("urllib.parse", "zlib"),
)
IMPURE_CALLS = ("open", "print", "input", "exec", "eval", "__import__")
CLOCK_CALLS = ("now", "utcnow", "today", "monotonic")


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the patterns or lies inside it; `x*` is a start."""
    return any(
        name.startswith(p[:-1]) if p.endswith("*") else name == p or name.startswith(p + ".")
        for p in patterns
    )


def layer(name: str) -> int | None:
    """The place of a module (`decide.reading`) in LAYERS."""
    return next((i for i, p in enumerate(LAYERS) if matches(name, (p,))), None)


def imported(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import, wherever it stands: `from a import b` gives `a.b`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                base = module.split(".")[: -node.level] if node.level else []
                start = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def called(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Line, name and whether it is an attribute, of each call."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                yield node.lineno, name, False
            case ast.Call(func=ast.Attribute(attr=name)):
                yield node.lineno, name, True


def attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each `module.attribute`."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                yield node.lineno, f"{name}.{attribute}"


def faults(module: str, source: str) -> list[str]:
    """What breaks the layers in one module; a package is named `dlqwatch.x.__init__`."""
    tree = ast.parse(source)
    me = module.removeprefix("dlqwatch").removeprefix(".")
    found: list[tuple[int, str]] = []
    mine = layer(me)
    if mine is None and me != "__init__":
        found.append((1, "has no layer: give it one in LAYERS"))

    for line, name in imported(module, tree):
        if name.split(".")[0] == "dlqwatch":
            target = name.removeprefix("dlqwatch").removeprefix(".")
            theirs = layer(target)
            if matches(me, ("sim",)) and not matches(target, ("sim", "model")):
                found.append((line, f"sim imports {name}"))
            elif matches(target, ("sim",)) and not matches(me, ("sim", "demo")):
                found.append((line, f"imports {name}: only demo may import sim"))
            elif theirs is not None and (mine is None or theirs > mine):
                found.append((line, f"imports {name}, a later layer"))
            continue
        package = name.split(".")[0]
        if package in ONLY_IN and not matches(me, ONLY_IN[package]):
            found.append((line, f"imports {package}"))
        if matches(name, WAITING) and not matches(me, MAY_WAIT):
            found.append((line, f"imports {name}: only daemon/ waits"))
        if matches(me, PURE) and not matches(name, PURE_MODULES):
            found.append((line, f"imports {name}: decide/ and words/ are pure"))

    for line, name in attributes(tree):
        if matches(name, WAITING) and not matches(me, MAY_WAIT):
            found.append((line, f"uses {name}: only daemon/ waits"))
    for line, name, on_object in called(tree):
        if on_object and name in ("wait", "wait_for") and not matches(me, MAY_WAIT):
            found.append((line, f"calls .{name}(): only daemon/ waits"))
        if matches(me, PURE) and name in (CLOCK_CALLS if on_object else IMPURE_CALLS):
            found.append((line, f"calls {name}(): decide/ and words/ are pure"))
    return [f"{module}:{line}: {fault}" for line, fault in sorted(set(found))]


def modules() -> Iterator[tuple[str, str]]:
    """Name and source of every module of the product."""
    for path in sorted((ROOT / "dlqwatch").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        yield name, path.read_text(encoding="utf-8")


def test_every_module_keeps_to_its_layer() -> None:
    """The rules below hold for the whole product."""
    seen = dict(modules())
    assert "dlqwatch.model" in seen
    assert "dlqwatch.decide.__init__" in seen
    assert [fault for name, source in seen.items() for fault in faults(name, source)] == []


BAD = [
    ("model", "import dlqwatch.errors", "a later layer"),
    ("decide.x", "from dlqwatch.words import en", "a later layer"),
    ("decide.x", "from dlqwatch import edges", "a later layer"),
    ("decide.x", "from ..edges import http", "a later layer"),
    ("words.x", "def f():\n    from dlqwatch.engine import Engine", "a later layer"),
    ("edges.__init__", "from ..daemon import run", "a later layer"),
    ("engine", "import importlib\nimportlib.import_module('dlqwatch.daemon.run')", "a later layer"),
    ("daemon.run", "from dlqwatch.cli.main import main", "a later layer"),
    ("__init__", "from dlqwatch.model import Rule", "a later layer"),
    ("newcomer", "", "has no layer"),
    ("sim.x", "from dlqwatch.errors import DlqwatchError", "sim imports"),
    ("sim.x", "from dlqwatch import __version__", "sim imports"),
    ("cli.x", "from dlqwatch.sim.cloudflare import SimCloudflare", "only demo may import sim"),
    ("edges.http", "import time\ntime.sleep(1)", "only daemon/ waits"),
    ("edges.http", "from time import sleep", "only daemon/ waits"),
    ("engine", "import threading\nthreading.Thread(target=print)", "only daemon/ waits"),
    ("engine", "from threading import Event", "only daemon/ waits"),
    ("engine", "def f(stop):\n    stop.wait(1)", "only daemon/ waits"),
    ("edges.store", "from concurrent.futures import ThreadPoolExecutor", "only daemon/ waits"),
    ("cli.x", "import subprocess", "only daemon/ waits"),
    ("engine", "import apscheduler.schedulers.background", "imports apscheduler"),
    ("decide.x", "import time", "are pure"),
    ("decide.x", "import os", "are pure"),
    ("words.x", "import random", "are pure"),
    ("words.x", "import logging", "are pure"),
    ("words.x", "import socket", "are pure"),
    ("decide.x", "import threading", "are pure"),
    ("decide.x", "import sqlite3", "are pure"),
    ("decide.x", "from urllib.request import urlopen", "are pure"),
    ("decide.x", "from datetime import UTC, datetime\ndatetime.now(UTC)", "are pure"),
    ("decide.x", "def f(clock):\n    return clock.now()", "are pure"),
    ("words.x", "open('x')", "are pure"),
    ("words.x", "print('x')", "are pure"),
    ("edges.cloudflare", "import httpx", "imports httpx"),
    ("daemon.run", "from slack_sdk import WebClient", "imports slack_sdk"),
    ("daemon.run", "from rich.console import Console", "imports rich"),
    ("cli.x", "import sqlite3", "imports sqlite3"),
    ("engine", "import pydantic", "imports pydantic"),
]


@pytest.mark.parametrize(("module", "source", "words"), BAD)
def test_a_module_that_breaks_a_rule_is_named(module: str, source: str, words: str) -> None:
    """Each rule is shown to be able to fail."""
    found = faults(f"dlqwatch.{module}", source)
    assert found
    assert all(fault.startswith(f"dlqwatch.{module}:") for fault in found)
    assert any(words in fault for fault in found)


GOOD = [
    ("__init__", "__version__ = '1'"),
    ("decide.x", "import re\nfrom dlqwatch.decide import y\nfrom ..model import Clock"),
    ("words.x", "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, tz=UTC)"),
    ("edges.http", "import httpx, threading, time\ntime.monotonic()\nthreading.local()"),
    ("edges.store_reading", "import sqlite3"),
    ("edges.slack", "from slack_sdk.webhook import WebhookClient"),
    ("engine", "from threading import RLock\nfrom dlqwatch import __version__"),
    ("daemon.run", "import threading, time\nthreading.Thread(target=print)\ntime.sleep(0)"),
    ("config.file", "from dlqwatch.config.settings import Settings"),
    ("sim.x", "from threading import Thread\nfrom dlqwatch.model import Clock\nfrom . import y"),
    ("demo", "from dlqwatch.sim import slack\nimport rich, subprocess"),
    ("cli.x", "from dlqwatch.edges import store\nfrom rich.table import Table"),
]


@pytest.mark.parametrize(("module", "source"), GOOD)
def test_a_module_within_the_rules_passes(module: str, source: str) -> None:
    """The rules forbid no more than they say."""
    assert faults(f"dlqwatch.{module}", source) == []
