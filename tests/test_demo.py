"""The demo tells what happened, fails when it did not happen, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from dlqwatch.demo import drawing
from dlqwatch.demo.scenes import SCENES
from dlqwatch.demo.stage import FAST, DidNotComeTrue
from dlqwatch.demo.story import tell
from dlqwatch.sim.slack import SlackMessage

NOW = 1_794_000_000_000  # 2026-11-06 21:20 UTC

# A real daemon whose courier does as many steps as it is told, and no more.
FEW_STEPS = """\
import sys, time
from pathlib import Path
from dlqwatch.cli.main import main
from dlqwatch.daemon.courier import Courier

def run(self, stop):
    left = int(sys.argv[1])
    while left and not stop.wait(0.05):
        left -= self.step()
    stop.wait()

Courier.run = run
Path(sys.argv[2]).write_text(sys.argv[4])
sys.exit(main(["run", *sys.argv[3:]]))
"""


def children(pid: int) -> set[int]:
    """The processes that a process has started and not ended."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return {int(number) for number in listed.split()}


# ---- the story


def test_the_fast_story_is_told_whole_in_any_environment_and_leaves_nothing(tmp_path: Path) -> None:
    """Plain text of 80 columns in a pipe, whatever the environment would configure."""
    misleading = {
        "TMPDIR": str(tmp_path),
        "DLQWATCH_CLOUDFLARE__API_TOKEN": "not-the-simulated-one",
        "DLQWATCH_ALERTS__THRESHOLD": "9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "socks5://127.0.0.1:9",
    }
    told = subprocess.run(
        [sys.executable, "-m", "dlqwatch", "demo", "--fast"],
        env=os.environ | misleading,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (told.returncode, told.stderr) == (0, "")
    at = 0
    for words in (
        "1. It can't see",
        "dlqwatch has not seen nemo12-events-dlq",
        "lacks the permission Queues Read",
        "2. All is quiet",
        "dlqwatch can see again",
        "nemo12-events-dlq is watched from now on",
        "0 messages",
        "3. A message lands",
        "1 dead letter in nemo12-events-dlq",
        "4. It grows",
        "5 dead letters in nemo12-events-dlq",
        "(edited)",
        "5. Slack refuses, once",
        "Slack answered 429",
        "also sent to #alerts",
        "now 5 (was 1)",
        "6. A reminder",
        "Still 5 dead letters",
        "7. Someone drains the queue",
        "nemo12-events-dlq is empty again",
        "taken out elsewhere",
        "in the thread only",
        "8. One comes too late",
        "Critical: 1 dead letter in nemo12-events-dlq",
        "Lost: at least 1 dead letter",
        "9. A misspelt name",
        "go to nemo12-event-dlq, not to",
        "$ dlqwatch status",
        "nemo12-events-dlq",
        "$ dlqwatch history",
        "expired: lost",
        "Every scene came true.",
    ):
        assert words in told.stdout[at:], words
        at = told.stdout.index(words, at) + len(words)
    assert len(told.stdout[at:].splitlines()) == 3
    assert "\x1b" not in told.stdout
    assert "\r" not in told.stdout
    assert [line for line in told.stdout.splitlines() if cell_len(line) > 80] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("steps", "scene"), [(0, 1), (1, 2), (4, 3)])
def test_without_its_courier_the_story_fails_at_the_scene_that_slack_never_shows(
    tmp_path: Path, steps: int, scene: int
) -> None:
    """Only what is read back from Slack can make a scene come true."""
    script, seen = tmp_path / "daemon.py", tmp_path / "config-path"
    script.write_text(FEW_STEPS, encoding="utf-8")
    started = children(os.getpid())
    daemon = [sys.executable, str(script), str(steps), str(seen)]
    with pytest.raises(DidNotComeTrue) as failed:
        tell(daemon=daemon, pace=replace(FAST, limit_s=6.0), out=io.StringIO())
    assert failed.value.exit_code == 1
    assert failed.value.what.startswith(f'scene {scene}, "{SCENES[scene - 1].title}"')
    assert "not within" in failed.value.what
    assert "nemo12-events-dlq is watched from now on" in failed.value.do
    assert not Path(seen.read_text(encoding="utf-8")).parent.exists()
    assert children(os.getpid()) == started


def test_a_daemon_that_ends_fails_the_story_at_once_with_its_last_words() -> None:
    """Nobody waits out a limit for a process that is gone."""
    daemon = [sys.executable, "-c", "import sys; sys.exit('no room on the disk')"]
    with pytest.raises(DidNotComeTrue) as failed:
        tell(daemon=daemon, pace=replace(FAST, limit_s=100.0), out=io.StringIO())
    assert "the daemon ended meanwhile with exit code 1" in failed.value.what
    assert failed.value.do.splitlines()[-1].strip() == "no room on the disk"


def test_what_is_kept_is_named() -> None:
    """`--keep` leaves the configuration, and the story says where."""
    out = io.StringIO()
    with pytest.raises(DidNotComeTrue):
        tell(keep=True, daemon=[sys.executable, "-c", ""], pace=FAST, out=out)
    line = next(li for li in out.getvalue().splitlines() if "are in" in li)
    folder = Path(line.split()[-1])
    try:
        assert "poll_interval" in (folder / "config.toml").read_text(encoding="utf-8")
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_daemon_too_and_removes_the_folder(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C while a scene is waited for."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job of `&` ignores it
    try:
        demo = subprocess.Popen(
            [sys.executable, "-m", "dlqwatch", "demo", "--fast"],
            env=os.environ | {"TMPDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with demo:
        assert demo.stdout is not None
        assert any("1. It can't see" in line for line in demo.stdout)
        daemons = children(demo.pid)
        assert daemons
        assert list(tmp_path.iterdir()) != []
        demo.send_signal(number)
        rest = demo.stdout.read()
    assert demo.returncode == 128 + number
    assert "Traceback" not in rest
    assert not any(Path(f"/proc/{pid}").exists() for pid in daemons)
    assert list(tmp_path.iterdir()) == []


# ---- the drawing


def message(text: str = "hello", **more: object) -> SlackMessage:
    blocks = more.pop("blocks", None)
    plain = SlackMessage("1.000001", "C1", text, None, None, False, None, "bot", "B1", NOW)
    return replace(plain, blocks=blocks, **more)  # type: ignore[arg-type]


def drawn(what: RenderableType, *, colours: bool = False) -> str:
    console = Console(
        file=io.StringIO(),
        width=80,
        force_terminal=colours,
        color_system="256" if colours else None,
        _environ={},
    )
    with console.capture() as capture:
        console.print(what)
    return capture.get()


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("*bold* and _thin_ and ~gone~", "bold and thin and gone"),
        ("a `*b* <c` d", "a *b* <c d"),
        ("2 * 3 * 4, snake_case_name", "2 * 3 * 4, snake_case_name"),
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;"),
        ("<https://example.com/?a=1&amp;b=2|the page>", "the page"),
        ("<https://example.com/?a=1&amp;b=2>", "https://example.com/?a=1&b=2"),
        ("<!here> <@U1> <!subteam^S1> <!subteam^S1|@oncall>", "@here @U1 @S1 @oncall"),
        ("in <!date^1794000000^{ago}|a while> *`x`*", "in a while x"),
    ],
)
def test_markup_is_shown_as_slack_shows_it(source: str, shown: str) -> None:
    """Weights, code, links, mentions and entities."""
    assert drawing.mrkdwn(source, NOW).plain == shown


def test_a_date_is_shown_in_the_readers_zone_with_a_word_for_the_day() -> None:
    """Yesterday, today and tomorrow by name, as Slack's pretty dates are."""
    day = 86_400_000
    token = f"*<!date^{NOW // 1000}^{{date_short_pretty}} {{time}}|2026-11-06 21:20 UTC>*"
    days = [drawing.mrkdwn(token, NOW + n * day).plain.split()[0] for n in (-1, 0, 1)]
    assert days == ["tomorrow", "today", "yesterday"]
    later = drawing.mrkdwn(token, NOW + 9 * day).plain
    assert "2026 " in later
    assert "UTC" not in later


def test_the_blocks_are_drawn_and_not_the_text() -> None:
    """Fields stand in two columns; a block of a kind not known here is named, not left out."""
    blocks = (
        {"type": "header", "text": {"type": "plain_text", "text": "Head *line*"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "the *section*"}},
        {
            "type": "section",
            "fields": [{"type": "mrkdwn", "text": f"*field {n}*\n{n}{n}"} for n in (1, 2, 3)],
        },
        {"type": "divider"},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "small `print`"}]},
        {"type": "video"},
    )
    lines = drawn(drawing.message(message("the text", blocks=blocks), "alerts", NOW)).splitlines()
    text = "\n".join(lines)
    assert "the text" not in text
    for words in ("#alerts", "Head *line*", "the section", "small print", "[video]"):
        assert words in text
    assert any("field 1" in line and "field 2" in line for line in lines)
    assert "(edited)" not in text


def test_an_edit_and_a_reply_look_like_one() -> None:
    """An edit says so; a reply is indented and says whether the channel has it too."""
    card = drawn(drawing.message(message(edited_at=NOW), "alerts", NOW))
    assert "(edited)" in card
    assert card.startswith("╭")
    reply = drawn(drawing.message(message(thread_ts="1.0"), "alerts", NOW))
    assert "in the thread only" in reply
    assert all(line.startswith("    ") for line in reply.splitlines())
    shared = message(thread_ts="1.0", reply_broadcast=True)
    assert "also sent to #alerts" in drawn(drawing.message(shared, "alerts", NOW))


def test_a_terminal_gets_colours_and_links() -> None:
    """The same drawing, for somebody who looks at it."""
    text = drawn(drawing.mrkdwn("*b* <https://example.com|x>", NOW), colours=True)
    assert "\x1b[1mb" in text
    assert "https://example.com" in text
