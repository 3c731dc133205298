"""The story, told from its first word to its last."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from dlqwatch.demo.play import Play
from dlqwatch.demo.scenes import SCENES
from dlqwatch.demo.stage import (
    ABOUT_TWO_MINUTES,
    DAEMON,
    FAST,
    QUEUE,
    DidNotComeTrue,
    Pace,
    set_up,
)

WIDTH = 80

OPENING = f"""\
A dead-letter queue is where Cloudflare puts the messages that a Worker failed to \
handle, attempt after attempt. nemo12, a learning platform, has one: {QUEUE}. \
Nobody reads it, and after four days Cloudflare deletes what lies there. Pupils' \
work is lost, and no one ever knew.

dlqwatch watches that queue and tells Slack. What you see now is the real daemon: \
real HTTP, a real database, an ordinary configuration with short durations. Only \
Cloudflare and Slack are simulated, on this machine. No account is needed."""

HOW_LONG = "It takes two to three minutes; dlqwatch demo --fast tells it in fifteen seconds."

CLOSING = """\
Every scene came true. What to read next:
  README.md             run it for real, in four steps
  config.example.toml   every setting, its default and what it means"""


def tell(
    *,
    fast: bool = False,
    keep: bool = False,
    daemon: Sequence[str] = DAEMON,
    pace: Pace | None = None,
    out: TextIO | None = None,
) -> None:
    """Tell the story. Raises DidNotComeTrue for the first scene that did not.

    `daemon` is the command that runs the daemon (`--config FILE` is added), `pace` another pace
    than that of `fast`, `out` where the story goes (default stdout).
    """
    pace = pace or (FAST if fast else ABOUT_TWO_MINUTES)
    console = _console(out or sys.stdout)
    console.print(Rule("dlqwatch: no dead letter dies unseen", align="left"))
    console.print(Text(OPENING if fast else f"{OPENING} {HOW_LONG}"))
    with set_up(pace, daemon, keep=keep) as stage:
        if keep:
            console.print(Text(f"\nConfiguration, database and log are in {stage.folder}"))
        play = Play(stage, console, pace)
        play.read(10)
        for number, scene in enumerate(SCENES, start=1):
            console.print()
            console.print(Rule(f"{number}. {scene.title}", align="left"))
            play.say(f"{scene.before(pace)}\n")
            play.read(3)
            try:
                scene.act(play)
            except DidNotComeTrue as failure:
                what = f'scene {number}, "{scene.title}", did not come true: {failure.what}'
                raise DidNotComeTrue(what, failure.do) from None
    console.print()
    console.print(Text(CLOSING), soft_wrap=True)


def _console(out: TextIO) -> Console:
    """80 columns, and nothing but text when nobody's terminal is at the other end."""
    terminal = out.isatty()
    console = Console(
        file=out,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.width = min(console.width, WIDTH) if terminal else WIDTH
    return console
