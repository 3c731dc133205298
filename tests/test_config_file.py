"""Finding and reading config.toml: each way it can fail has its own words."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlqwatch.config.file import (
    database_path,
    decode,
    find_config,
    read_toml,
    why_unreadable,
)
from dlqwatch.errors import ConfigError


def words(path: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        read_toml(path)
    return refused.value.what.replace(f"{path.parent}/", "")


def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    return path


def test_the_option_wins_over_the_variable_and_it_over_the_places(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    for path in (a, b, c):
        path.touch()
    env = {"DLQWATCH_CONFIG": str(b)}
    places = [str(tmp_path / "none"), str(c)]
    assert find_config(str(a), env, places=places) == a
    assert find_config(None, env, places=places) == b
    assert find_config(None, {"DLQWATCH_CONFIG": ""}, places=places) == c
    assert find_config(None, {}, places=[str(a), str(c)]) == a


def test_without_a_file_anywhere_the_paths_tried_are_named(tmp_path: Path) -> None:
    places = [str(tmp_path / "x.toml"), str(tmp_path / "y.toml")]
    with pytest.raises(ConfigError) as refused:
        find_config(None, {}, places=places)
    assert refused.value.what == f"no configuration file (tried {places[0]}, {places[1]})"
    assert "--config FILE or DLQWATCH_CONFIG" in refused.value.do
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("name", ["/nope.toml", "/dev/null/nope.toml"])
def test_a_named_file_that_is_not_there_is_told_with_who_named_it(name: str) -> None:
    with pytest.raises(ConfigError) as by_option:
        find_config(name, {})
    assert by_option.value.what == f"{name}: no such file (named by --config)"
    with pytest.raises(ConfigError) as by_variable:
        find_config(None, {"DLQWATCH_CONFIG": name})
    assert by_variable.value.what == f"{name}: no such file (named by DLQWATCH_CONFIG)"


def test_an_empty_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="--config is empty"):
        find_config("", {})


def test_a_directory_in_a_file_s_place_is_found_and_then_refused(tmp_path: Path) -> None:
    made = tmp_path / "config.toml"
    made.mkdir()
    found = find_config(None, {}, places=[str(made)])
    assert words(found) == (
        "config.toml: a directory, not a file (a mount of a file that wasn't there makes one)"
    )


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    below = file(tmp_path, b"x = 1\n") / "config.toml"
    with pytest.raises(ConfigError, match=r"no such file \(a part of its path is a file"):
        read_toml(below)


def test_a_link_to_nothing_is_found_and_told_as_such(tmp_path: Path) -> None:
    link = tmp_path / "config.toml"
    link.symlink_to(tmp_path / "gone")
    found = find_config(None, {}, places=[str(link)])
    assert words(found) == "config.toml: a link to a file that isn't there"


def test_a_link_to_itself_is_told_as_such(tmp_path: Path) -> None:
    link = tmp_path / "config.toml"
    link.symlink_to(link)
    assert words(link) == "config.toml: a link that leads to itself"


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "config.toml"
    os.mkfifo(pipe)
    assert words(pipe) == "config.toml: not a regular file"


@pytest.mark.parametrize("name", ["nul\0.toml", "x" * 300])
def test_a_path_that_can_not_be_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="not a possible path"):
        read_toml(find_config(str(tmp_path / name), {}))


def test_a_refused_file_is_told_with_its_owner_and_who_we_are(tmp_path: Path) -> None:
    path = file(tmp_path, b"x = 1\n")
    path.chmod(0o600)
    me = f"{os.geteuid()}:{os.getegid()}"
    told = why_unreadable(path, PermissionError(errno.EACCES, "Permission denied"))
    assert told == f"may not be read by uid {os.geteuid()} (owner {me}, mode 0600)"
    hidden = why_unreadable(tmp_path / "no" / "x", PermissionError(errno.EACCES, ""))
    assert hidden.endswith("nor may its directory be entered")


def test_an_unforeseen_error_is_told_in_the_system_s_words(tmp_path: Path) -> None:
    told = why_unreadable(tmp_path, OSError(errno.EIO, "Input/output error"))
    assert told == "can't be read (Input/output error)"


BAD = {
    "empty": (b"", "config.toml: the file is empty"),
    "blank": (b" \r\n\n", "config.toml: the file is empty"),
    "only comments": (b"# a\n", "config.toml: the file holds comments but no settings"),
    "a BOM": (
        b"\xef\xbb\xbfx = 1\n",
        "config.toml:1: the file starts with a byte order mark (BOM)",
    ),
    "UTF-16": ("x = 1\n".encode("utf-16"), "config.toml:1: the file is UTF-16, not UTF-8"),
    "Latin-1": (b"a = 1\n# caf\xe9\n", "config.toml:2: not UTF-8 (byte 0xe9; Latin-1?)"),
    "too large": (
        b"#" * (1024 * 1024 + 1),
        "config.toml: larger than 1 MiB: is it the right file?",
    ),
    "a duplicate key": (b"[a]\nb = 1\nb = 2\n", 'config.toml:3: the key "b" is set twice'),
    "a duplicate table": (b"[a]\n[b]\n[a]\n", "config.toml:3: this table is declared twice"),
    "text without quotes": (
        b"x = 1\ny = 30s\n",
        "config.toml:2: not valid TOML: expected newline or end of document after a statement"
        ' (text and durations stand in quotes, such as "30s")',
    ),
    "a word without quotes": (
        b"x = abc\n",
        "config.toml:1: not valid TOML: invalid value"
        ' (text and durations stand in quotes, such as "30s")',
    ),
    "no value": (b"x =\ny = 1\n", "config.toml:1: not valid TOML: invalid value"),
    "nested too deeply": (b"x = " + b"[" * 5000, "config.toml: not valid TOML: nested too deeply"),
    "a number of 5,000 digits": (
        b"x = " + b"9" * 5000,
        "config.toml: not valid TOML: a number or date that can't be",
    ),
}


@pytest.mark.parametrize(("content", "told"), BAD.values(), ids=BAD.keys())
def test_a_broken_file_is_refused_in_these_words(tmp_path: Path, content: bytes, told: str) -> None:
    assert words(file(tmp_path, content)) == told


def test_an_open_string_is_told_without_what_it_holds(tmp_path: Path) -> None:
    told = words(file(tmp_path, b'[slack]\nbot_token = "canary\n'))
    assert told.startswith("config.toml:2: not valid TOML: ")
    assert "canary" not in told


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    assert read_toml(file(tmp_path, b'[a]\r\nb = "c"\r\n')) == {"a": {"b": "c"}}


def test_utf_8_is_fine() -> None:
    assert decode(Path("x"), "# Đã gửi\n".encode()) == "# Đã gửi\n"


def test_the_database_s_path_is_found_without_checking_anything_else() -> None:
    assert database_path({}, {}) == "/data/dlqwatch.db"
    assert database_path({"database": {"path": "a.db"}}, {}) == "a.db"
    assert database_path({"database": {"path": "a.db"}}, {"DLQWATCH_DATABASE__PATH": "b"}) == "b"
    assert database_path({"database": 5}, {"DLQWATCH_DATABASE__PATH": ""}) == "/data/dlqwatch.db"
    assert database_path({"database": {"path": 5}}, {}) == "/data/dlqwatch.db"


def test_reading_the_file_does_not_import_the_settings_library() -> None:
    """`health` runs every half minute and must not pay for pydantic."""
    code = "import dlqwatch.config.file, sys; print('pydantic' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
