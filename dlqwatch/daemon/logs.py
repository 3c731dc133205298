"""Logging: text or JSON lines on stderr, and never a secret in them.

Redaction happens in the formatter, after exceptions are rendered: nothing gets past it, also
not what a library logs.
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

HIDDEN = "[hidden]"
_WEBHOOK = re.compile(r"(https?://[^\s\"'<>]*/services/|/services/T)[^\s\"'<>]+")
_TOKEN = re.compile(r"\bxox[a-z]-[A-Za-z0-9-]+")
NOISY = ("apscheduler", "httpx", "httpcore", "slack_sdk", "urllib3")


class Redacting(logging.Formatter):
    """A formatter whose every line has the secrets taken out."""

    def __init__(self, secrets: Callable[[], Iterable[str]]) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redact(self.line(record), self._secrets())

    def line(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).astimezone()
        text = f"{when:%Y-%m-%d %H:%M:%S%z} {record.levelname} {self._message(record)}"
        return text.replace("\n", "\n  ")

    def _message(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


class RedactingJson(Redacting):
    """One JSON object a line."""

    def line(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": self._message(record),
            }
        )


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without any of the secrets, also where JSON or a URL quoted them."""
    for secret in secrets:
        for form in {secret, json.dumps(secret)[1:-1]}:
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


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logging.getLogger("dlqwatch").critical("unexpected", exc_info=(kind, error, trace))
