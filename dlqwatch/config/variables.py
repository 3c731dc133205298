"""Which `DLQWATCH_…` variables are settings, and what is wrong with the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dlqwatch.config.errors import PREFIX, Schema, nearest, table_at, tables, variable_name
from dlqwatch.config.file import CONFIG_VARIABLE
from dlqwatch.config.lines import KeyPath

OURS = frozenset({CONFIG_VARIABLE})  # variables that are not settings


def all_variables(schema: Schema) -> dict[str, KeyPath]:
    """Every variable that sets something → its key. Lists and whole tables take JSON."""
    found: dict[str, KeyPath] = {}
    for at, table in tables(schema):
        if "queues" not in at:  # a list: only as a whole
            found |= {variable_name((*at, name)): (*at, name) for name in table}
    return found


def check_variables(env: Mapping[str, str], schema: Schema) -> tuple[dict[str, str], list[str]]:
    """The variables that are settings (name in upper case → value), and a line for each bad one.

    An empty variable is not set. What Kubernetes sets for services called dlqwatch… passes.
    """
    known = all_variables(schema)
    good: dict[str, str] = {}
    problems: list[str] = []
    hosts = {n.removesuffix("SERVICE_HOST") for n in env if n.endswith("_SERVICE_HOST")}
    for name, value in sorted(env.items()):
        upper = name.upper()
        if not value or not upper.startswith(PREFIX) or upper in OURS:
            continue
        if _is_kubernetes(name, hosts | {PREFIX}):
            continue
        if upper not in known:
            problems.append(f"{name}: {unknown_variable(upper, schema)}")
        else:
            words = _json_words(value, _kind(schema, known[upper]))
            if words:
                problems.append(f"{name}: {words}")
            else:
                good[upper] = value
    return good, problems


def _is_kubernetes(name: str, prefixes: Iterable[str]) -> bool:
    return any(
        name == f"{prefix}PORT" or name.startswith((f"{prefix}PORT_", f"{prefix}SERVICE_"))
        for prefix in prefixes
    )


def unknown_variable(upper: str, schema: Schema, *, as_file: bool = False) -> str:
    """`unknown variable, did you mean …?`; for files in a secrets directory in their spelling."""
    known = all_variables(schema)
    what = "unknown secret file" if as_file else "unknown variable"
    if upper.startswith(f"{PREFIX}QUEUES__"):
        return f"{what}: {PREFIX}QUEUES takes all queues at once, as JSON"
    name = upper.removeprefix(PREFIX).lower()
    by_whole = {"__".join(map(str, path)): variable for variable, path in known.items()}
    by_leaf = {str(path[-1]): variable for variable, path in reversed(known.items())}
    # Without "__" most often the table was left out: then the last part says more.
    first, second = (by_whole, by_leaf) if "__" in name else (by_leaf, by_whole)
    near = first.get(nearest(name, first) or "") or second.get(
        nearest(name.rpartition("__")[2] if second is by_leaf else name, second) or ""
    )
    if near is None:
        return f"{what}: no setting is named so"
    return f"{what}, did you mean {near.lower() if as_file else near}?"


def _kind(schema: Schema, path: KeyPath) -> Any:
    return table_at(schema, path[:-1]).get(str(path[-1]))


def _json_words(value: str, kind: Any) -> str | None:
    """What is wrong with the JSON of a list or table; None if nothing is, or it needs none."""
    if kind is None:
        return None
    wanted = dict if isinstance(kind, dict) else list
    example = (
        '["a", "b"]' if kind == "list" else '[{"name": "…"}]' if wanted is list else '{"…": …}'
    )
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    return None if isinstance(found, wanted) else f"expected JSON such as {example}"
