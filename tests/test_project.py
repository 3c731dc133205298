"""The frame: locks, versions, the image, the `dev` script, and what no file may say."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import dlqwatch

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pyproject() -> dict[str, Any]:
    return tomllib.loads(read("pyproject.toml"))


@pytest.fixture(scope="module")
def dev() -> ModuleType:
    """The `dev` script, loaded as a module."""
    loader = SourceFileLoader("dev_script", str(ROOT / "dev"))
    spec = importlib.util.spec_from_loader("dev_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


# -- the locks ----------------------------------------------------------------------------


def lock_faults(text: str) -> list[str]:
    """What is wrong with a lock: no pin, no hash, or an index's or file's address."""
    found = []
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in filter(None, code.replace("\\\n", " ").splitlines()):
        if not re.match(r"[a-z0-9.-]+==[^\s;]+( ; [^-]+)?\s+--hash=", line):
            found.append(f"not pinned and hashed: {line[:60]}")
        elif re.sub(r" +--hash=sha256:[0-9a-f]{64}(?= |$)", "", line).count("--"):
            found.append(f"an option or a broken hash: {line[:60]}")
    if re.search(r"://|--index|--find-links|--trusted-host|\.(org|com|net)\b", text):
        found.append("names a host")
    return found


def pins(lock: str) -> dict[str, Version]:
    return {
        canonicalize_name(name): Version(version)
        for name, version in re.findall(r"^([^\s=#]+)==([^\s;]+)", read(lock), re.MULTILINE)
    }


def test_the_locks_pin_and_hash_each_package_and_name_no_host() -> None:
    """What is installed is what was tested, from whatever index the machine uses."""
    assert LOCKS == [
        "requirements-build.lock",
        "requirements-dev.lock",
        "requirements-tools.lock",
        "requirements.lock",
    ]
    assert {name: lock_faults(read(name)) for name in LOCKS} == {name: [] for name in LOCKS}


@pytest.mark.parametrize(
    "line",
    [
        "httpx==0.28.1",
        "httpx>=0.28 \\\n    --hash=sha256:" + "a" * 64,
        "httpx==0.28.1 \\\n    --hash=sha256:" + "a" * 63,
        "httpx==0.28.1 \\\n    --hash=md5:" + "a" * 32,
        "--index-url=x",
        "httpx @ https://somewhere/x.whl \\\n    --hash=sha256:" + "a" * 64,
    ],
)
def test_a_bad_lock_line_is_seen(line: str) -> None:
    assert lock_faults(line)


def test_the_locks_hold_what_pyproject_asks_for() -> None:
    """A dependency changed in pyproject.toml without `./dev lock` is seen."""
    project = pyproject()["project"]
    build = pyproject()["build-system"]["requires"]
    for lock, wanted in {
        "requirements.lock": project["dependencies"],
        "requirements-build.lock": build,
        "requirements-dev.lock": [
            *project["dependencies"],
            *build,
            *project["optional-dependencies"]["dev"],
        ],
        "requirements-tools.lock": pyproject()["dependency-groups"]["tools"],
    }.items():
        pinned = pins(lock)
        for requirement in map(Requirement, wanted):
            version = pinned.get(canonicalize_name(requirement.name))
            assert version is not None, f"{lock} lacks {requirement}: run ./dev lock"
            assert requirement.specifier.contains(version), f"{lock}: {requirement}"


def test_the_tests_run_with_what_is_shipped() -> None:
    """One version of each package in the run-time, build and dev locks."""
    tested = pins("requirements-dev.lock")
    shipped = pins("requirements.lock") | pins("requirements-build.lock")
    assert {name: tested.get(name) for name in shipped} == shipped


# -- versions -----------------------------------------------------------------------------


def test_the_changelog_and_the_version_agree() -> None:
    """A released version heads the changelog; before that, [Unreleased] says what it brings."""
    assert pyproject()["tool"]["hatch"]["version"]["path"] == "dlqwatch/__init__.py"
    version = Version(dlqwatch.__version__)
    sections = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert sections[0].startswith("[Unreleased]\n")
    released = [Version(m[1]) for s in sections if (m := re.match(r"\[(\d[^\]]*)\]", s))]
    assert released == sorted(released, reverse=True)
    if re.search(r"^- ", sections[0], re.MULTILINE):
        assert not released or version >= released[0]
    else:
        assert released[:1] == [version]


# -- the image ----------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined."""
    lines = [line for line in read("Dockerfile").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (word.upper(), rest.strip())
        for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)
    ]


def final_stage() -> dict[str, str]:
    """The last instruction of each kind in the stage that is shipped."""
    kinds = [kind for kind, _ in instructions()]
    return dict(instructions()[len(kinds) - 1 - kinds[::-1].index("FROM") :])


def test_signals_reach_the_daemon() -> None:
    """Exec form: a shell between would swallow SIGTERM."""
    stage = final_stage()
    assert stage["ENTRYPOINT"] == '["dlqwatch"]'
    assert stage["CMD"] == '["run"]'
    assert stage["STOPSIGNAL"] == "SIGTERM"


def test_the_container_is_not_root_and_its_health_is_known() -> None:
    """A numeric user, so that an orchestrator can see that it isn't root."""
    stage = final_stage()
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", stage["USER"])
    assert stage["HEALTHCHECK"].endswith('CMD ["dlqwatch", "health"]')
    assert stage["VOLUME"] == "/data"


def test_the_base_image_has_a_version() -> None:
    bases = [rest.split()[0] for kind, rest in instructions() if kind == "FROM"]
    assert bases
    assert set(bases) == {"python:3.13-slim"}


def test_the_image_has_all_that_it_copies() -> None:
    """.dockerignore lets through just what the build stage needs."""
    let_in = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    copied = [
        rest.split()[:-1]
        for kind, rest in instructions()
        if kind == "COPY" and not rest.startswith("--from")
    ]
    assert {name for names in copied for name in names} == let_in
    assert all((ROOT / name).exists() for name in let_in)


def stripped_by_optimisation(source: str) -> list[int]:
    """Lines that mean something else under PYTHONOPTIMIZE=2, as the image runs."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assert)
        or (isinstance(node, ast.Attribute) and node.attr == "__doc__")
        or (isinstance(node, ast.Name) and node.id in ("__doc__", "__debug__", "getdoc"))
        or (isinstance(node, ast.Attribute) and node.attr == "getdoc")
    ]


def test_nothing_relies_on_assert_or_docstrings() -> None:
    """PYTHONOPTIMIZE=2 takes both away."""
    found = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "dlqwatch").rglob("*.py")
        if (lines := stripped_by_optimisation(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("bad", ["assert x", "print(__doc__)", "f.__doc__", "inspect.getdoc(f)"])
def test_what_optimisation_strips_is_seen(bad: str) -> None:
    assert stripped_by_optimisation(bad) == [1]


# -- dev ----------------------------------------------------------------------------------


def test_an_old_python_can_read_dev_and_is_told_what_is_missing(dev: ModuleType) -> None:
    """A syntax error would hide the reason."""
    ast.parse(read("dev"), feature_version=(3, 6))
    text = dev.unsuitable((3, 9, 18), True, "/usr/bin/python3")
    assert "3.11 or newer" in text
    assert "Python 3.9 (/usr/bin/python3)" in text


def test_a_python_without_venv_is_told_which_package_to_install(dev: ModuleType) -> None:
    text = dev.unsuitable((3, 13, 5), False, "/usr/bin/python3")
    assert "apt install python3-venv (or python3.13-venv)" in text
    assert dev.unsuitable((3, 11, 0), True, "/usr/bin/python3") == ""


def test_another_python_on_the_path_is_found_past_a_shim_that_starts_nothing(
    dev: ModuleType, tmp_path: Path
) -> None:
    for name, body in {"python3.14": "exit 127", "python3.12": "exit 0"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "none"), "", str(tmp_path)])
    assert dev.another_python(path) == str(tmp_path / "python3.12")
    (tmp_path / "python3.12").unlink()
    assert dev.another_python(path) is None


def test_a_failed_step_shows_the_last_words_of_what_failed(dev: ModuleType) -> None:
    code = "print('early', *range(50), sep='\\n'); print('no such package'); raise SystemExit(3)"
    with pytest.raises(dev.Failed) as caught:
        dev.step("installing x", [sys.executable, "-c", code])
    text = str(caught.value)
    assert text.startswith("installing x failed (exit 3):")
    assert "\n    no such package\n" in text
    assert "early" not in text


def test_an_unknown_dev_command_exits_2_and_names_those_there_are() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "dev", "tset"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "demo, test, check" in done.stderr


def unknown_dev_commands(text: str, known: dict[str, object]) -> set[str]:
    return set(re.findall(r"\./dev ([a-z]+)", text)) - known.keys()


def test_each_dev_command_that_is_written_down_exists(dev: ModuleType) -> None:
    written = "\n".join(read(name) for name in ("README.md", ".ci/run", "dev", "pyproject.toml"))
    assert unknown_dev_commands(written, dev.COMMANDS) == set()
    assert unknown_dev_commands("run ./dev tests now", dev.COMMANDS) == {"tests"}


# -- what no file may say -----------------------------------------------------------------

# In parts, so that this file doesn't hold them.
FORBIDDEN = ("/wo" + "rk/", "../sha" + "red", "py" + "pi.org", "pythonho" + "sted")
ALLOWED = (".ci/run", "../sha" + "red/tools/image-check.sh")


def forbidden(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        rest = line.replace(ALLOWED[1], "") if name == ALLOWED[0] else line
        yield from (f"{name}:{number}: {word}" for word in FORBIDDEN if word in rest)


def test_no_tracked_file_names_a_place_that_only_one_machine_has() -> None:
    """The product builds and passes from its own files, with any package index."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    tracked = [name for name in listed if name and (ROOT / name).is_file()]
    assert "pyproject.toml" in tracked
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", "replace") for name in tracked}
    assert [f for name, text in texts.items() for f in forbidden(name, text)] == []


def test_a_forbidden_word_is_seen_except_in_the_one_line_that_is_guarded() -> None:
    guarded = f"bash {ALLOWED[1]} ."
    assert list(forbidden(".ci/run", guarded)) == []
    assert list(forbidden("README.md", guarded)) == [f"README.md:1: {FORBIDDEN[1]}"]
    assert list(forbidden(".ci/run", "x\ncd " + FORBIDDEN[0])) == [f".ci/run:2: {FORBIDDEN[0]}"]
