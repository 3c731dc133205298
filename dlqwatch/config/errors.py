"""What is wrong with a configuration, one line a problem: where, which key, what, what instead.

Never a value: pydantic's own texts hold them, so only its locations and types are used.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from dlqwatch.config.lines import KeyPath

PREFIX = "DLQWATCH_"

Schema = dict[str, Any]  # key → None (a value), "list", a Schema (table), or [Schema] (tables)

_WORDS = {
    "string_type": "expected text in quotes",
    "bool_parsing": "expected true or false",
    "bool_type": "expected true or false",
    "tuple_type": 'expected a list, such as ["a", "b"]',
    "list_type": 'expected a list, such as ["a", "b"]',
    "model_type": "expected a table",
    "model_attributes_type": "expected a table",
    "dict_type": "expected a table",
}


def refuse(problems: Iterable[tuple[KeyPath, str]]) -> None:
    """For validators of whole sections: all their problems at once, each at its own key."""
    found = list(dict.fromkeys(problems))
    if found:
        words = "; ".join(f"{show(at)}: {what}" for at, what in found)
        raise PydanticCustomError("dlqwatch", "{words}", {"words": words, "problems": found})


def schema_of(model: type[BaseModel]) -> Schema:
    """The keys a model takes, as plain nested dicts."""
    found: Schema = {}
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        inner = _model_in(annotation)
        is_list = getattr(annotation, "__origin__", None) is tuple
        if inner is not None:
            found[name] = [schema_of(inner)] if is_list else schema_of(inner)
        else:
            found[name] = "list" if is_list else None
    return found


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a)) is not None), None)


def show(path: KeyPath) -> str:
    """`("queues", 1, "name")` as `queues[1].name` (counted from 0)."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def variable_name(path: Iterable[str | int]) -> str:
    """The environment variable of a key: DLQWATCH_ALERTS__POLL_INTERVAL."""
    return PREFIX + "__".join(str(part) for part in path).upper()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where each key came from, to say so: variables and secret files win over the TOML file."""

    file: str
    lines: Mapping[KeyPath, int]
    schema: Schema
    variables: frozenset[str] = frozenset()  # names in use, upper case
    secret_files: Mapping[KeyPath, str] = field(default_factory=dict)  # key → path of its file

    def place(self, path: KeyPath) -> str:
        """What stands before the words: `config.toml:14: queues[1].name: `."""
        for end in range(len(path), 0, -1):
            part = path[:end]
            rest = "" if end == len(path) else f"{show(path)}: "
            if variable_name(part) in self.variables:
                return f"{variable_name(part)}: {rest}"
            if part in self.secret_files:
                return f"{self.secret_files[part]}: {rest}"
            if part in self.lines:
                return f"{self.file}:{self.lines[part]}: {show(path)}: "
        return f"{self.file}: {show(path)}: " if path else f"{self.file}: "

    def order(self, path: KeyPath) -> int:
        """The line to sort by; 0 for what isn't in the file."""
        prefixes = (path[:end] for end in range(len(path), 0, -1))
        return next((self.lines[p] for p in prefixes if p in self.lines), 0)


def explain(error: ValidationError, sources: Sources) -> list[str]:
    """All problems in pydantic's error, in the order of the file."""
    found: list[tuple[int, str]] = []
    for item in error.errors(include_input=False, include_url=False):
        loc: KeyPath = item["loc"]
        problems = item.get("ctx", {}).get("problems")
        if item["type"] == "dlqwatch" and problems is not None:
            pairs = [((*loc, *at), words) for at, words in problems]
        else:
            pairs = [(loc, _words(item, sources))]
        for at, words in pairs:
            place = sources.place(at)  # a secret file's own words name it already
            line = words if words.startswith(place) else place + words
            found.append((sources.order(at), line))
    return [line for _, line in sorted(found, key=lambda pair: pair[0])]


def _words(item: Any, sources: Sources) -> str:
    kind, loc = item["type"], item["loc"]
    if kind == "extra_forbidden":
        return unknown_key(loc, sources.schema)
    if kind == "missing":
        is_table = isinstance(table_at(sources.schema, loc[:-1]).get(loc[-1]), dict)
        return f"the table [{show(loc)}] is required" if is_table else "is required"
    if kind == "value_error":
        return str(item["ctx"]["error"])
    words = _WORDS.get(kind, f"is not valid ({kind})")
    return f"{words} [{show(loc)}]" if words == "expected a table" else words


def unknown_key(path: KeyPath, schema: Schema) -> str:
    """`unknown key, did you mean …?`: the nearest in the same table, else the table it is of."""
    name = str(path[-1])
    table = table_at(schema, path[:-1])
    near = nearest(name, table)
    if near:
        return f'unknown key, did you mean "{near}"?'
    homes = [show(home) for home, keys in tables(schema) if name in keys]
    if homes:
        return f"unknown key here: it belongs in [{homes[0]}]"
    return f"unknown key; known here: {', '.join(table)}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like this one, or None if none is like it."""
    known = list(names)
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    if close:
        return close[0]
    within = [k for k in known if len(name) > 2 and (name.lower() in k or k in name.lower())]
    return min(within, key=len, default=None)


def table_at(schema: Schema, path: KeyPath) -> Schema:
    here: Any = schema
    for part in path:
        here = here[0] if isinstance(part, int) else here.get(part, {})
    return here if isinstance(here, dict) else {}


def tables(schema: Schema, at: KeyPath = ()) -> Iterable[tuple[KeyPath, Schema]]:
    yield at, schema
    for name, inner in schema.items():
        if isinstance(inner, list):
            inner = inner[0]
        if isinstance(inner, dict):
            yield from tables(inner, (*at, name))
