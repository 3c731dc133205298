"""Finding and reading `config.toml`. Light: `health` uses this without the settings' library."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dlqwatch.errors import ConfigError

CONFIG_VARIABLE = "DLQWATCH_CONFIG"
PLACES = ("config.toml", "/etc/dlqwatch/config.toml")
DEFAULT_DATABASE = "/data/dlqwatch.db"

_BIGGEST = 1024 * 1024  # no configuration is that big: a wrong path is
_START = "Start from config.example.toml."


def find_config(cli: str | None, env: Mapping[str, str], *, places: Sequence[str] = PLACES) -> Path:
    """The file to use: `--config`, else DLQWATCH_CONFIG, else the first of `places` that exists.

    Raises ConfigError if it isn't there, with the paths that were tried.
    """
    if cli is not None:
        return _named(cli, "--config")
    if env.get(CONFIG_VARIABLE):
        return _named(env[CONFIG_VARIABLE], CONFIG_VARIABLE)
    for place in places:
        if _is_there(place):
            return Path(place)
    raise ConfigError(
        f"no configuration file (tried {', '.join(places)})",
        f"Name it with --config FILE or {CONFIG_VARIABLE}. {_START}",
    )


def _named(name: str, given_by: str) -> Path:
    if not name.strip():
        raise ConfigError(f"{given_by} is empty", "Give it the path of a file.")
    if not _is_there(name):
        raise ConfigError(f"{name}: no such file (named by {given_by})", _START)
    return Path(name)


def _is_there(name: str) -> bool:
    """False only if surely nothing is there: one that can't be looked at is told as such."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.islink(name)
    except (OSError, ValueError):
        return True
    return True


def read_text(path: Path) -> str:
    """The file's text. Raises ConfigError in words of its own for each way it can't be read."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "")
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{path}: not a regular file", _START)
        if found.st_size > _BIGGEST:
            raise ConfigError(f"{path}: larger than 1 MiB: is it the right file?", _START)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {why_unreadable(path, error)}", _START) from None
    return decode(path, data)


def decode(path: Path, data: bytes) -> str:
    """The bytes of a configuration file as text. Raises ConfigError."""
    save = "Save it as UTF-8 without a byte order mark."
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{path}:1: the file is UTF-16, not UTF-8", save)
    if data.startswith(b"\xef\xbb\xbf"):
        raise ConfigError(f"{path}:1: the file starts with a byte order mark (BOM)", save)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: not UTF-8 (byte 0x{data[error.start]:02x}; Latin-1?)", save
        ) from None
    if not text.strip():
        raise ConfigError(f"{path}: the file is empty", _START)
    return text


def parse_toml(path: Path, text: str) -> dict[str, object]:
    """The settings in `text`. Raises ConfigError with file and line; never a value from it."""
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: not valid TOML: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}:{_toml_words(text, str(error))}") from None
    except ValueError:  # a number of thousands of digits, an impossible date
        raise ConfigError(f"{path}: not valid TOML: a number or date that can't be") from None
    if not found:
        raise ConfigError(f"{path}: the file holds comments but no settings", _START)
    return found


def read_toml(path: Path) -> dict[str, object]:
    """`read_text` and `parse_toml` in one. Raises ConfigError."""
    return parse_toml(path, read_text(path))


def database_path(toml: Mapping[str, object], env: Mapping[str, str]) -> str:
    """Where the database is, as the settings have it, for commands that must start fast.

    Checks nothing else: a broken configuration is the business of `check` and `run`.
    """
    section = toml.get("database")
    path = section.get("path") if isinstance(section, dict) else None
    named = env.get("DLQWATCH_DATABASE__PATH")
    return named or (path if isinstance(path, str) and path else DEFAULT_DATABASE)


def why_unreadable(path: Path, error: OSError | ValueError) -> str:
    """Why a file can't be read, in words; for a refusal with its owner and who we are."""
    if not isinstance(error, OSError):
        return "not a possible path"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"may not be read by uid {os.geteuid()}{_owner(path)}"
    words = {
        errno.ENOENT: "a link to a file that isn't there"
        if os.path.islink(path)
        else "no such file",
        errno.ENOTDIR: "no such file (a part of its path is a file, not a directory)",
        errno.EISDIR: "a directory, not a file (a mount of a file that wasn't there makes one)",
        errno.ELOOP: "a link that leads to itself",
        errno.ENAMETOOLONG: "not a possible path",
    }
    return words.get(error.errno or 0, f"can't be read ({error.strerror or type(error).__name__})")


def _owner(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:  # then a directory above it is what may not be entered
        return ", nor may its directory be entered"
    return f" (owner {found.st_uid}:{found.st_gid}, mode {stat.S_IMODE(found.st_mode):04o})"


def _toml_words(text: str, error: str) -> str:
    """`LINE: words` from tomllib's message: `Invalid value (at line 2, column 12)`."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", error, re.S)
    what = match[1] if match else "it can't be parsed"
    lines = text.rstrip("\n").split("\n")
    number = int(match[2]) if match and match[2] else len(lines)
    # tomllib points behind what it read: at the start of the next line if the fault ends one.
    source = lines[min(number, len(lines)) - 1]
    key = re.match(r"\s*([A-Za-z0-9_.-]{1,60})\s*=\s*(.?)", source)
    if what == "Cannot overwrite a value" and key:
        return f'{number}: the key "{key[1]}" is set twice'
    if what.startswith("Cannot declare"):
        return f"{number}: this table is declared twice"
    hint = ""
    if key and key[2] not in ("", '"', "'", "[", "{", "t", "f"):
        hint = ' (text and durations stand in quotes, such as "30s")'
    return f"{number}: not valid TOML: {what[:1].lower()}{what[1:]}{hint}"
