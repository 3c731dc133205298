"""Rows to SQLite's values and back, by the types their dataclasses declare."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any, TypeVar, cast

from dlqwatch.errors import StoreError
from dlqwatch.facts import DepthFacts, Facts, StartedFacts
from dlqwatch.rows import TABLES, Row

R = TypeVar("R", bound=Row)
Value = str | int | float | None

FACTS: Mapping[str, type[DepthFacts] | type[StartedFacts]] = {
    "depth": DepthFacts,
    "started": StartedFacts,
}


def encode(row: Row) -> tuple[Value, ...]:
    """A row's values in the order of its columns."""
    return tuple(_encode(getattr(row, name)) for name in row.columns())


def decode(table: type[R], values: tuple[Any, ...]) -> R:
    """A row from its values. Raises StoreError where they make no sense."""
    names = table.columns()
    try:
        return table(
            **{
                name: convert(value)
                for name, value, convert in zip(names, values, _DECODERS[table], strict=True)
            }
        )
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"a row of {table.TABLE} can't be read: {type(error).__name__}",
            "Restore a backup, or move the database file aside: a new one is begun.",
        ) from error


def facts_to_json(facts: Facts) -> str:
    """Facts as JSON, with their kind."""
    kind = next(k for k, cls in FACTS.items() if isinstance(facts, cls))
    return json.dumps({"kind": kind, **asdict(facts)}, separators=(",", ":"))


def facts_from_json(text: str) -> Facts:
    """Facts from JSON. Keys that this version doesn't know are left out."""
    data = json.loads(text)
    cls = FACTS[data["kind"]]
    known = _FACT_FIELDS[data["kind"]]
    return cls(**{k: known[k](v) for k, v in data.items() if k in known})


def _encode(value: object) -> Value:
    if isinstance(value, DepthFacts | StartedFacts):
        return facts_to_json(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, bool):
        return int(value)
    return cast("Value", value)


def _fields(cls: Any) -> dict[str, Callable[[Any], Any]]:
    """What turns each field's stored value into what the dataclass declares."""
    hints = typing.get_type_hints(cls)
    return {f.name: _as(hints[f.name]) for f in fields(cls)}


def _as(hint: Any) -> Callable[[Any], Any]:
    if hint == Facts:
        return facts_from_json
    if isinstance(hint, types.UnionType):
        inner = _as(next(a for a in typing.get_args(hint) if a is not type(None)))
        return lambda v: None if v is None else inner(v)
    if typing.get_origin(hint) is tuple:
        return tuple
    if isinstance(hint, type) and (issubclass(hint, StrEnum) or hint is bool):
        return hint
    return lambda v: v


_FACT_FIELDS = {kind: _fields(cls) for kind, cls in FACTS.items()}
_DECODERS: dict[type[Row], tuple[Callable[[Any], Any], ...]] = {
    table: tuple(_fields(table).values()) for table in TABLES
}
