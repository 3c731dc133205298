"""The command line itself: where the command stands, help, exit codes, what is imported."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dlqwatch import __version__
from dlqwatch.cli.main import COMMANDS, main
from dlqwatch.cli.tables import ago, local, utc
from dlqwatch.sim.cloudflare import SimCloudflare
from dlqwatch.sim.slack import SimSlack
from dlqwatch.words.commands import commands
from tests.cli_world import alive, left_behind, now, sections, write_config

Capture = pytest.CaptureFixture[str]
HEAVY = {"pydantic", "pydantic_settings", "rich", "httpx", "httpcore", "slack_sdk", "apscheduler"}
HEAVY |= {"sqlite3", "urllib.request", "ssl", "email", "http", "asyncio", "pygments"}
HEAVY |= {"dataclasses", "inspect", "shutil", "socket", "logging", "dlqwatch.model"}
NAMES = [name for name, _, _ in COMMANDS]


def imported(*arguments: str) -> tuple[int, set[str]]:
    """The exit code of a command, and the heavy modules it had imported when it ended."""
    code = (
        "import sys\n"
        "from dlqwatch.cli.main import main\n"
        "try:\n    code = main(sys.argv[1:])\n"
        "except SystemExit as end:\n    code = end.code\n"
        "sys.stderr.write(chr(10) + ' '.join(sys.modules))\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=30
    )
    return done.returncode, HEAVY & set(done.stderr.splitlines()[-1].split())


def test_health_imports_nothing_heavy(tmp_path: Path) -> None:
    config = str(write_config(tmp_path))
    with left_behind(tmp_path), alive(tmp_path):
        assert imported("health", "--config", config) == (0, set())
    assert imported("health", "--config", config) == (1, set())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["health", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported(*arguments) == (0, set())


@pytest.mark.parametrize("command", ["status", "history", "poll", "check", "test-alert", "backup"])
def test_json_is_made_without_rich(tmp_path: Path, command: str) -> None:
    config = str(write_config(tmp_path, sections(None, None)))
    with left_behind(tmp_path) as rig:
        rig.tick()
    file = [str(tmp_path / "copy.db")] if command == "backup" else []
    _, found = imported(command, "--json", "--config", config, *file)
    assert found & {"rich", "pygments"} == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_its_options_and_exit_codes(name: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert f"usage: dlqwatch {name}" in out
    if name != "demo":
        assert "--config" in out
        assert "Exit codes: 0 " in out


def test_help_lists_every_command(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in NAMES)
    assert "3 could not find out" in out


def test_the_version_is_told(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"dlqwatch {__version__}\n")


def test_no_command_is_usage(capsys: Capture) -> None:
    assert main([]) == 2
    assert "commands" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["stats"], ["--config", "x.toml", "stats"], ["--nope"]])
def test_an_unknown_command_is_usage(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: dlqwatch" in capsys.readouterr().err


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("run", "demo")])
def test_an_unknown_option_is_usage(name: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--nope"])
    assert end.value.code == 2


def test_the_options_may_come_before_the_command(tmp_path: Path, capsys: Capture) -> None:
    config = str(write_config(tmp_path))
    for arguments in (
        ["--config", config, "status", "--json"],
        ["--json", f"--config={config}", "status"],
        ["status", "--config", config, "--json"],
    ):
        assert main(arguments) == 1
        assert json.loads(capsys.readouterr().out)["healthy"] is False


def test_a_file_may_have_a_commands_name(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(tmp_path).rename(tmp_path / "history")
    monkeypatch.chdir(tmp_path)
    for arguments in (["--config", "history", "status"], ["status", "--config", "history"]):
        assert main([*arguments, "--json"]) == 1
        assert capsys.readouterr().out.startswith("{")


def test_the_configuration_may_be_named_by_the_environment(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLQWATCH_CONFIG", str(write_config(tmp_path)))
    assert main(["status", "--json"]) == 1
    assert capsys.readouterr().out.startswith("{")


@pytest.mark.parametrize("form", [[], ["--csv"]])
def test_a_reader_that_has_seen_enough_ends_nothing_badly(tmp_path: Path, form: list[str]) -> None:
    """`dlqwatch history | head -1`: no traceback, no complaint, and no 0 for what nobody read."""
    with left_behind(tmp_path, ago_s=60) as rig:
        rig.run(60)
    config = str(write_config(tmp_path))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "dlqwatch", "history", "--config", config, *form],
        stdout=writer, stderr=subprocess.PIPE, text=True, timeout=30,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (3, "")


def test_an_old_encoding_hides_nothing_else(tmp_path: Path) -> None:
    config = str(write_config(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "dlqwatch", "status", "--config", config],
        capture_output=True, timeout=30, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.startswith(b"? nobody watches")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("plain", [{"NO_COLOR": "1"}, {}])
def test_colours_need_a_terminal_and_no_no_color(tmp_path: Path, plain: dict[str, str]) -> None:
    import pty

    config = str(write_config(tmp_path))
    parent, child = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    done = subprocess.run(
        [sys.executable, "-m", "dlqwatch", "status", "--config", config],
        stdout=child, stderr=child, stdin=child, timeout=30,
        env={**env, "TERM": "xterm", "COLUMNS": "80", **plain},
    )  # fmt: skip
    os.close(child)
    shown = os.read(parent, 65536).decode()
    os.close(parent)
    assert done.returncode == 1
    assert "nobody watches" in shown
    coloured = "\x1b[1;31m" in shown
    assert coloured is (not plain)
    assert all(len(line) <= 80 for line in shown.splitlines() if "\x1b" not in line)


def test_every_command_that_slack_names_runs(tmp_path: Path, capsys: Capture) -> None:
    """What a message tells people to do next works, with an incident #1 in the database."""
    with SimCloudflare() as cf, SimSlack() as slack:
        cf.create_pair()
        config = str(write_config(tmp_path, sections(cf, slack)))
        with left_behind(tmp_path, ago_s=60) as rig, alive(tmp_path):
            rig.holds(1)
            rig.run(60)
            for command in commands(1):
                program, *arguments = shlex.split(command)
                assert program == "dlqwatch"
                assert main([*arguments, "--config", config]) == 0, command
                assert capsys.readouterr().out


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Ho_Chi_Minh"])
def test_times_are_local_for_people_and_utc_for_programs(zone: str) -> None:
    code = (
        "from dlqwatch.cli.tables import local, utc, zone\n"
        "summer, winter = 1_783_000_000_000, 1_796_000_000_000\n"
        "print(local(summer, winter), local(winter, winter), zone(winter), utc(winter), "
        "local(summer, winter, headed=True), local(winter, winter, headed=True), sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "TZ": zone}, timeout=30,
    )  # fmt: skip
    expected = {
        "UTC": "2 Jul 13:46 UTC|30 Nov 00:53 UTC|UTC|2026-11-30T00:53:20.000Z|"
        "2 Jul 13:46|30 Nov 00:53",
        "Europe/Berlin": "2 Jul 15:46 CEST|30 Nov 01:53 CET|CET|2026-11-30T00:53:20.000Z|"
        "2 Jul 15:46 CEST|30 Nov 01:53",
        "Asia/Ho_Chi_Minh": "2 Jul 20:46 +07|30 Nov 07:53 +07|+07|2026-11-30T00:53:20.000Z|"
        "2 Jul 20:46|30 Nov 07:53",
    }
    assert done.stdout.strip() == expected[zone]


def test_times_that_no_calendar_has_are_not_shown() -> None:
    assert (utc(None), utc(10**18), local(None, 0), local(-5, 0)) == (None, None, "–", "–")


def test_how_long_ago_is_told_in_one_unit() -> None:
    here = now()
    said = [ago(here - ms, here) for ms in (0, 12_000, 7_500_000, -90_000)]
    assert said == ["now", "12 s ago", "2 h ago", "in 1 min"]
    assert ago(None, here) == "–"


def test_the_readmes_table_has_each_command_that_help_has_and_no_other() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    table = text[text.index("## Commands") : text.index("## Configuration")]
    rows = re.findall(r"^\| `([a-z-]+)[^`]*` \|", table, re.MULTILINE)
    assert rows == [name for name, _, _ in COMMANDS]
