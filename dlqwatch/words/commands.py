"""The commands that a message can tell people to run."""

from __future__ import annotations

CHECK = "dlqwatch check"
HISTORY = "dlqwatch history"
STATUS = "dlqwatch status"
TRIAL = "dlqwatch test-alert"


def history_of(incident: int) -> str:
    """The command that shows what became of one incident."""
    return f"{HISTORY} --incident {incident}"


def ack_of(incident: int) -> str:
    """The command that quiets an incident's reminders."""
    return f"dlqwatch ack {incident} --by NAME"


def commands(incident: int) -> tuple[str, ...]:
    """Every command that a Slack text can name, for a test that runs each of them."""
    return (CHECK, STATUS, HISTORY, history_of(incident), ack_of(incident), TRIAL)
