"""What people read when dlqwatch can't write its history, in English."""

from __future__ import annotations

from dlqwatch.facts import StoreFacts, Telling
from dlqwatch.model import StoreTrouble
from dlqwatch.words.en_common import ending, headline, lasted, times
from dlqwatch.words.facts import is_over
from dlqwatch.words.ink import Ink
from dlqwatch.words.units import counted

TROUBLES = {
    StoreTrouble.LOCKED: "another process holds the database",
    StoreTrouble.FULL: "the disk is full",
    StoreTrouble.READ_ONLY: "the file or its disk is read-only",
    StoreTrouble.DELETED: "its file was deleted or replaced",
    StoreTrouble.CORRUPT: "its file is damaged",
    StoreTrouble.IO: "the disk gives errors",
    StoreTrouble.OTHER: "SQLite refuses to write",
}
"""Why nothing can be written."""

CURES = {
    StoreTrouble.LOCKED: "Find what holds the file, a sqlite3 shell, a copy tool or a second "
    "container on the same volume, and end it.",
    StoreTrouble.FULL: "Free space on that disk, or make it larger.",
    StoreTrouble.READ_ONLY: "Let dlqwatch's user write the file and its directory. A disk that "
    "turned read-only by itself may be failing.",
    StoreTrouble.DELETED: "Find out what deletes or replaces files there. The old file's history "
    "comes back from a backup only; what is in memory is written to a new file.",
    StoreTrouble.CORRUPT: "Look at the disk: it may be failing. What was in memory goes into a new "
    "file.",
    StoreTrouble.IO: "Look at the disk, the volume and the host's log: the disk may be failing.",
    StoreTrouble.OTHER: "Look at dlqwatch's log and at the disk.",
}
"""What a person can do about it."""


def line(telling: Telling, facts: StoreFacts, ink: Ink) -> str:
    """What isn't written, why, and where."""
    where = ink.name(facts.path)
    if is_over(telling):
        again = f"dlqwatch writes its history again after {lasted(telling, facts)}"
        outcome = _outcome(facts)
        if outcome:  # a loss is not called resolved
            return ending(telling, "🟢", "", f"{again}, {outcome}", ink)
        whole = f"{again}: what waited was written, nothing is lost"
        return ending(telling, "✅", "Resolved:", whole, ink)
    if facts.kept_aside:
        sentence = f"dlqwatch's history was damaged and is begun anew ({where})"
    else:
        cant = ink.strong("can't write its history")
        sentence = f"dlqwatch {cant}: {TROUBLES[facts.trouble]} ({where})"
    return headline(telling, facts, sentence, ink)


def _outcome(facts: StoreFacts) -> str:
    if facts.kept_aside:
        return "in a new file, what is older lies in the damaged one"
    if facts.trouble is StoreTrouble.DELETED:
        return "in a new file, what stood only in the deleted one is lost"
    return ""


def notes(telling: Telling, facts: StoreFacts, ink: Ink) -> list[str]:
    """What to do, what still works, what a restart would cost."""
    aside = []
    if facts.kept_aside:
        aside.append(
            f"The damaged file was kept as {ink.quote(facts.kept_aside)}: sqlite3's "
            f"{ink.code('.recover')} may still read it."
        )
    if is_over(telling):
        return aside
    said = [f"What to do: {CURES[facts.trouble]}"]
    if aside:
        said += aside
    else:
        said.append("Alerts still go out; only what is kept of them is at risk.")
    if facts.waiting > 0:
        one = facts.waiting == 1
        said.append(
            f"{counted(facts.waiting, 'row')} {'waits' if one else 'wait'} in memory and "
            f"{'is' if one else 'are'} written when it works again. Don't restart dlqwatch before: "
            "it would forget them, and tell open alerts once more."
        )
    return said


def fields(telling: Telling, facts: StoreFacts, ink: Ink) -> list[tuple[str, str]]:
    """Where, how much waits, and SQLite's own word."""
    said = [("Database", ink.quote(facts.path))]
    if not is_over(telling):
        said.append(("Rows that wait", f"{facts.waiting:,}"))
    if facts.detail.strip():
        said.append(("SQLite says", ink.quote(facts.detail)))
    return [*said, *times(telling, facts, ink)]
