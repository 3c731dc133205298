"""The sources beside the TOML file, as pydantic-settings wants them: variables, secret files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_settings import BaseSettings, EnvSettingsSource

from dlqwatch.config import secrets
from dlqwatch.config.errors import PREFIX, Schema
from dlqwatch.config.lines import KeyPath
from dlqwatch.config.variables import all_variables, unknown_variable


class Variables(EnvSettingsSource):
    """Settings by their variables' names, from a mapping of ours instead of the process's own."""

    def __init__(self, settings_cls: type[BaseSettings], variables: Mapping[str, str]) -> None:
        self._variables = {name.lower(): value for name, value in variables.items()}
        super().__init__(
            settings_cls, env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True
        )

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return dict(self._variables)


def _secret_keys(schema: Schema) -> dict[KeyPath, KeyPath]:
    """The key of each secret → its `*_file` key."""
    keys = set(all_variables(schema).values())
    pairs = {key: (*key[:-1], f"{key[-1]}_file") for key in keys}
    return {key: file_key for key, file_key in pairs.items() if file_key in keys}


def from_secrets_dir(
    directory: str, schema: Schema
) -> tuple[dict[str, str], dict[KeyPath, str], list[str]]:
    """The secrets directory as variables, where each key lies, and what is wrong with it.

    A secret becomes its `*_file` key, so that it is read again when it was changed.
    """
    secret_keys = _secret_keys(schema)
    known = {name.lower(): path for name, path in all_variables(schema).items()}
    variables: dict[str, str] = {}
    places: dict[KeyPath, str] = {}
    problems: list[str] = []
    try:
        found = secrets.secrets_in(directory)
    except ValueError as error:
        return {}, {}, [f"{directory}: {error}"]
    for name, file in found.items():
        if name not in known:
            problems.append(f"{file}: {unknown_variable(name.upper(), schema, as_file=True)}")
            continue
        key = known[name]
        places[key] = file
        if key in secret_keys:
            variables[f"{name}_file"] = file
            places[secret_keys[key]] = file
            continue
        try:
            variables[name] = secrets.read_secret(file)
        except ValueError as error:
            problems.append(str(error))
    return variables, places, problems


def higher_wins(
    schema: Schema, variables: Mapping[str, str], files: dict[str, str], toml: dict[str, Any]
) -> None:
    """A secret and its `*_file` are one setting: where a higher source sets either, a lower
    one's other form must go, or both would be set.
    """
    by_key = {path: name for name, path in all_variables(schema).items()}
    for key, file_key in _secret_keys(schema).items():
        names = {by_key[key], by_key[file_key]}
        in_variables = bool(names & set(variables))
        if in_variables:
            for name in names:
                files.pop(name.lower(), None)
        if in_variables or any(name.lower() in files for name in names):
            table: Any = toml
            for part in key[:-1]:
                table = table.get(part) if isinstance(table, dict) else None
            if isinstance(table, dict):
                table.pop(key[-1], None)
                table.pop(file_key[-1], None)
