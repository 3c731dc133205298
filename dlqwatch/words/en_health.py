"""Why dlqwatch isn't healthy and what to do next, in English. Pure."""

from __future__ import annotations

from dlqwatch.decide.alive import Alive
from dlqwatch.decide.healthy import Cause, Daemon, Trouble
from dlqwatch.facts import WiringFacts
from dlqwatch.words.commands import CHECK, TRIAL
from dlqwatch.words.en_blind import CURES
from dlqwatch.words.en_check import deviation
from dlqwatch.words.en_cures import cure as mend
from dlqwatch.words.en_status import SAMPLE_REASONS
from dlqwatch.words.en_wiring import by_gravity
from dlqwatch.words.units import duration, listed, tidy

RUN = "dlqwatch run"


def trouble(why: Trouble, daemon: Daemon, database: str, now: int) -> tuple[str, str]:
    """What is wrong, and the next step: two sentences for people."""
    name = tidy(why.subject)
    ago = duration(now - why.since) if why.since is not None else ""
    match why.cause:
        case Cause.NO_DAEMON:
            return _no_daemon(daemon, database)
        case Cause.SILENT:
            return _silent(daemon)
        case Cause.NO_DATABASE:
            return (
                f"the database {database} is gone while the daemon runs: history is lost",
                "Restart the daemon: it begins a new one.",
            )
        case Cause.IN_MEMORY:
            return (
                f"history waits in memory: {database} can't be written, what follows may be old",
                "The daemon's log says why. Alerts go out all the same; once the file can be "
                "written, it catches up by itself.",
            )
        case Cause.NOT_LISTED:
            near = listed([f'"{tidy(n)}"' for n in why.nearest], 3)
            return (
                f'the account has no queue named "{name}"' + (f"; nearest: {near}" if near else ""),
                f"Correct the name in [[queues]], or create it: npx wrangler queues create {name}",
            )
        case Cause.UNWATCHED:
            return (
                f"{name} is in the configuration, but the running daemon doesn't watch it",
                "Restart the daemon: it read its configuration when it started.",
            )
        case Cause.UNREAD:
            said = "" if why.reason is None else f": {SAMPLE_REASONS[why.reason]}"
            if why.detail:
                said += f" ({tidy(why.detail, 300)})"
            cure = f"Run {CHECK}: it says what to do."
            if why.reason is not None:
                cure = CURES[why.reason].format(check=CHECK)
            return f"{name} could not be read for {ago}{said}", cure
        case Cause.DESTINATION:
            told = f"{name} has refused messages for {ago}: {tidy(why.detail, 200)}"
            return told, f"{mend(why.detail, destination=why.subject)} Then: {TRIAL}"
        case Cause.UNTOLD:
            many = "a notice waits" if why.count == 1 else f"{why.count} notices wait"
            said = f" ({tidy(why.detail, 200)})" if why.detail else ""
            return (
                f"{many} to be sent, the oldest for {ago}{said}",
                f"Sent by itself as soon as Slack takes it. {TRIAL} shows what Slack says now.",
            )


def miswired(facts: WiringFacts) -> list[tuple[str, str]]:
    """What is wired wrongly and how to put it right, the gravest first."""
    return [(deviation(d), d.cure) for d in by_gravity(facts.deviations)]


def _no_daemon(daemon: Daemon, database: str) -> tuple[str, str]:
    start = f"Start it: {RUN}, or its container."
    if daemon.alive is Alive.NEVER_RAN:
        return f"nobody watches: no daemon has run with {database}", start
    how = "ended when told to" if daemon.ended else "crashed or was killed"
    last = f"the last one, pid {daemon.pid} on {tidy(daemon.host)}, {how}"
    look = "" if daemon.ended else " Its log says what happened."
    return f"nobody watches: no daemon runs with {database} ({last})", start + look


def _silent(daemon: Daemon) -> tuple[str, str]:
    who = f"the daemon (pid {daemon.pid} on {tidy(daemon.host)})"
    again = "Its watchdog ends it, to be started again; if that doesn't happen, restart it."
    if daemon.alive is Alive.NO_PULSE:
        return f"{who} has no pulse, or one of another boot of this machine", again
    return (
        f"{who} hangs: no poll has finished for {daemon.silent_s:.0f} s (limit "
        f"{daemon.limit_s:.0f} s)",
        again,
    )
