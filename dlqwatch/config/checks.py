"""What a value of the configuration may be. Each raises ValueError in words, without the value."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from dlqwatch.durations import parse_duration, show_duration
from dlqwatch.model import DAY, SECOND

_MENTION = re.compile(r"<!subteam\^S[A-Z0-9]+>|<@[UW][A-Z0-9]+>|<!channel>|<!here>", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3})\s*%", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def whole(value: object, lowest: int, highest: int) -> int:
    """A whole number from `lowest` to `highest`; text too, since the environment has only text."""
    words = f"expected a whole number from {lowest} to {highest}"
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ValueError(words)
    return value


def critical_age(value: object) -> str:
    """`"50%"` of the retention or a duration, in one spelling (see `critical_age_parts`)."""
    words = 'expected a share of the retention from "1%" to "100%", or a duration'
    if isinstance(value, str) and (match := _PERCENT.fullmatch(value.strip())):
        if not 1 <= int(match[1]) <= 100:
            raise ValueError(words)
        return f"{int(match[1])}%"
    try:
        return show_duration(parse_duration(value, lowest=SECOND, highest=366 * DAY))
    except ValueError as error:
        raise ValueError(f"{words}: {error}") from None


def critical_age_parts(value: str) -> tuple[float | None, int | None]:
    """A checked `critical_age` as (share of the retention, ms): exactly one is set."""
    if value.endswith("%"):
        return int(value[:-1]) / 100, None
    return None, parse_duration(value)


def account_id(value: str) -> str:
    """Cloudflare's account ids are 32 hex digits (so are queues' and zones')."""
    text = value.strip()
    if not re.fullmatch(r"[0-9a-fA-F]{32}", text):
        empty = "is empty: " if not text else ""
        raise ValueError(
            f"{empty}expected 32 hex digits, as they follow dash.cloudflare.com/ in the browser"
        )
    return text.lower()


def channel(value: str) -> str:
    """A Slack channel's ID, or "". Slack takes names in some places only, so names are refused."""
    text = value.strip()
    if text and not re.fullmatch(r"[CG][A-Z0-9]{2,}", text, re.ASCII):
        raise ValueError(
            'expected a channel\'s ID such as "C0123456789", not its name'
            " (in Slack: open the channel's details, the ID is at the bottom)"
        )
    return text


def mention(value: str) -> str:
    """Somebody to mention. By ID: Slack shows a name as plain text and tells nobody."""
    text = value.strip()
    if not _MENTION.fullmatch(text):
        raise ValueError(
            'expected "<!subteam^S…>", "<@U…>", "<!channel>" or "<!here>", with an ID, not a name'
        )
    return text


def queue_name(value: str) -> str:
    """A queue's name. Only what can't be one is refused: the list of queues tells a wrong one."""
    if not value:
        raise ValueError("is empty: it takes the name of a queue")
    if value != value.strip() or not value.isprintable():
        raise ValueError("a queue's name has no spaces around it and no control characters")
    return value


def optional_queue_name(value: str) -> str:
    """ "" or a queue's name."""
    return queue_name(value) if value else ""


def file_path(value: str) -> str:
    """The path of a file, made by us if it isn't there."""
    if not value.strip() or not value.isprintable():
        raise ValueError("expected the path of a file")
    return value


def web_address(value: str) -> str:
    """A full http(s) address. One half of it would make Slack refuse the whole message."""
    words = 'expected a full address such as "https://example.com/page"'
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises if it isn't a number
        host = parts.hostname
    except ValueError:
        raise ValueError(words) from None
    if parts.scheme not in ("http", "https") or not host or not _is_host(host):
        raise ValueError(words)
    if any(c.isspace() or not c.isprintable() or c in '<>|"\\' for c in value):
        raise ValueError(f"{words}, without spaces, quotes, < > or |")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address must not hold a user name or password")
    return value


def service_address(value: str) -> str:
    """The address of a service that gets a secret: https, or http on loopback."""
    text = web_address(value.strip())
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise ValueError("expected an address without ? and #")
    only_encrypted(text)
    return text


def only_encrypted(address: str) -> str:
    """The address, if a secret may go there. Raises ValueError for http to another machine."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise ValueError("http would send the secret in clear: use https (http is for loopback)")
    return address


def optional_address(value: str) -> str:
    """ "" or a full http(s) address."""
    return web_address(value.strip()) if value.strip() else ""


def listen(value: str) -> str:
    """`host:port`, or "" for off."""
    text = value.strip()
    if not text:
        return ""
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or (":" in bare and bare == host) or not re.fullmatch(r"[0-9]{1,5}", port):
        raise ValueError('expected "host:port" ("127.0.0.1:8080"), or "" for off')
    if int(port) > 65535:
        raise ValueError("a port is at most 65535")
    return text


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.rstrip(".").split(".")
        return all(re.fullmatch(r"[^\W](?:[\w-]*[^\W])?", label) for label in labels)
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
