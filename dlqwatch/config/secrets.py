"""Secrets: what they may look like, and the files they may lie in. No message ever shows one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from dlqwatch.config.checks import only_encrypted, web_address
from dlqwatch.config.file import why_unreadable

SECRETS_DIR = "/run/secrets"
PREFIX = "dlqwatch_"

_LONGEST = 4096  # of a secret, in characters


def token(value: str) -> str:
    """A token, stripped. Raises ValueError: httpx and slack_sdk would print it in theirs."""
    text = value.strip()
    if not text:
        raise ValueError("is empty: fill it in, or remove it")
    if len(text) > _LONGEST:
        raise ValueError(f"is longer than {_LONGEST} characters: no token is")
    if not text.isascii():
        raise ValueError("holds a character that is not ASCII: no token does")
    if any(c.isspace() for c in text):
        raise ValueError('holds a space or line break: the token alone, without "Bearer"')
    if not text.isprintable():
        raise ValueError("holds a control character: no token does")
    return text


def webhook(value: str) -> str:
    """A webhook's address, stripped. Raises ValueError."""
    text = token(value)
    only_encrypted(web_address(text))
    if urlsplit(text).path.strip("/") == "":
        raise ValueError("is only half of an address: copy all of it, with what follows the host")
    return text


def read_secret(path: str, check: Callable[[str], str] = str.strip) -> str:
    """What a secret file holds, checked. Raises ValueError saying why it can't be used.

    The path is shown only if it looks like one: somebody may have put the secret in its place.
    """
    if not path.strip():
        raise ValueError("is empty: it takes the path of a file")
    like_a_path = path.startswith(("/", "./", "../"))
    try:
        return check(_content(Path(path)))
    except ValueError as error:
        if like_a_path:
            raise ValueError(f"{path}: {error}") from None
        hint = " (this key takes the path of a file, not the secret itself)"
        raise ValueError(f"{error}{'' if os.path.exists(path) else hint}") from None


def _content(place: Path) -> str:
    if "\0" in str(place):
        raise ValueError("not a possible path")
    try:
        found = place.stat()
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "")
        if not stat.S_ISREG(found.st_mode):  # a pipe would block, a device never end
            raise ValueError("not a regular file")
        with place.open("rb") as file:
            data = file.read(4 * _LONGEST + 1)
    except OSError as error:
        raise ValueError(why_unreadable(place, error)) from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the file is not text") from None
    if not text.strip():
        raise ValueError("the file is empty")
    return text


def secrets_in(directory: str) -> dict[str, str]:
    """The files named `dlqwatch_…` in a secrets directory: name in lower case → path.

    Links are followed wherever they lead (an orchestrator makes them). No directory: nothing.
    """
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ValueError(why_unreadable(Path(directory), error)) from None
    return {
        name.lower(): os.path.join(directory, name)
        for name in names
        if name.lower().startswith(PREFIX)
    }
