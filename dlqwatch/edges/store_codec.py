"""Rows to SQLite's values and back, by the types their dataclasses declare."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar, cast

from dlqwatch.errors import StoreError
from dlqwatch.facts import (
    BlindFacts,
    DepthFacts,
    Facts,
    IncidentFacts,
    IncidentKind,
    PublishFacts,
    StartedFacts,
    StoreFacts,
    WiringFacts,
)
from dlqwatch.model import StoreTrouble
from dlqwatch.rows import COMMAND_TABLES, TABLES, Row

R = TypeVar("R", bound=Row)
Value = str | int | float | None
Convert = Callable[[Any], Any]

FACTS: Mapping[str, type[Facts]] = {
    "depth": DepthFacts,
    "wiring": WiringFacts,
    "blind": BlindFacts,
    "publish_failures": PublishFacts,
    "store": StoreFacts,
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
            trouble=StoreTrouble.CORRUPT,
        ) from error


def facts_to_json(facts: Facts) -> str:
    """Facts as JSON, with their kind."""
    kind = next(k for k, cls in FACTS.items() if isinstance(facts, cls))
    return json.dumps({"kind": kind, **asdict(facts)}, separators=(",", ":"))


def facts_from_json(text: str) -> Facts:
    """Facts from JSON. Keys that this version doesn't know are left out."""
    data = json.loads(text)
    return cast("Facts", _FACTS[data["kind"]](data))


def _encode(value: object) -> Value:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, IncidentFacts | StartedFacts):
        return facts_to_json(cast("Facts", value))
    if is_dataclass(value) and not isinstance(value, type):
        return json.dumps(asdict(value), separators=(",", ":"))
    if isinstance(value, tuple):
        plain = [asdict(v) if is_dataclass(v) and not isinstance(v, type) else v for v in value]
        return json.dumps(plain, separators=(",", ":"))
    if isinstance(value, bool):
        return int(value)
    return cast("Value", value)


def _fields(cls: Any) -> dict[str, Convert]:
    """What turns each field's stored value into what the dataclass declares."""
    hints = typing.get_type_hints(cls)
    return {f.name: _as(hints[f.name]) for f in fields(cls)}


def _object(cls: Any) -> Convert:
    known = _fields(cls)

    def build(data: Any) -> Any:
        found = json.loads(data) if isinstance(data, str) else data
        return cls(**{k: known[k](v) for k, v in found.items() if k in known})

    return build


def _as(hint: Any) -> Convert:
    if hint in (Facts, IncidentKind):
        return facts_from_json
    if isinstance(hint, types.UnionType):
        inner = _as(next(a for a in typing.get_args(hint) if a is not type(None)))
        return lambda v: None if v is None else inner(v)
    if typing.get_origin(hint) is tuple:
        item = _as(typing.get_args(hint)[0])
        return lambda v: tuple(item(i) for i in (json.loads(v) if isinstance(v, str) else v))
    if is_dataclass(hint):
        return _object(hint)
    if isinstance(hint, type) and (issubclass(hint, StrEnum) or hint is bool):
        return hint
    return lambda v: v


_FACTS = {kind: _object(cls) for kind, cls in FACTS.items()}
_DECODERS: dict[type[Row], tuple[Convert, ...]] = {
    table: tuple(_fields(table).values()) for table in (*TABLES, *COMMAND_TABLES)
}
