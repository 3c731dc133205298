"""Logging: text or JSON lines on stderr, and never a secret in them.

Redaction happens in the formatter, after exceptions are rendered and before JSON quotes them:
nothing gets past it, also not what a library logs.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import TracebackType
from urllib.parse import quote

HIDDEN = "[hidden]"
_WEBHOOK = re.compile(
    r"(https?://hooks\.slack[^/\s]*/|https?://[^\s\"'<>]*/services/|/services/T)[^\s\"'<>]+"
)
_TOKEN = re.compile(r"\bxox[a-z]-[A-Za-z0-9-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a terminal acts on them
NOISY = ("apscheduler", "httpx", "httpcore", "slack_sdk", "urllib3")


class Redacting(logging.Formatter):
    """A formatter whose every line has the secrets taken out."""

    def __init__(self, secrets: Callable[[], Iterable[str]]) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).astimezone()
        text = f"{when:%Y-%m-%d %H:%M:%S%z} {record.levelname} {self._message(record)}"
        # whatever breaks a line, the rest of the record is indented: nobody can forge a record
        return "\n  ".join(_CONTROL.sub("?", line) for line in text.splitlines())

    def _message(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return redact(text, self._secrets())


class RedactingJson(Redacting):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": self._message(record),
            }
        )


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without any of the secrets, also where JSON, Python or a URL quoted them."""
    for secret in secrets:
        quoted = (json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret), quote(secret, ""))
        for form in (secret, *quoted):
            text = text.replace(form, HIDDEN)
    return _TOKEN.sub(HIDDEN, _WEBHOOK.sub(lambda m: m.group(1) + HIDDEN, text))


def set_up(style: str, level: str, secrets: Callable[[], Iterable[str]]) -> None:
    """Log to stderr in `style` ("text" or "json") from `level` on; crashes too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((RedactingJson if style == "json" else Redacting)(secrets))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in NOISY:  # httpx logs every URL at INFO, apscheduler two lines a run
        logging.getLogger(name).setLevel(logging.WARNING)
    # what it says of a poll that still runs is the watchdog's to judge
    logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
    logging.captureWarnings(True)
    sys.excepthook = _crashed
    threading.excepthook = lambda args: _crashed(
        args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )
    sys.unraisablehook = lambda args: _crashed(
        args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )
    logging.raiseExceptions = False  # it would print a record's arguments past the formatter


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logging.getLogger("dlqwatch").critical("unexpected", exc_info=(kind, error, trace))
