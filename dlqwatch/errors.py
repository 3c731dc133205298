"""Errors that say what is wrong, where, and what to do next. Never a secret.

Light: `health` starts every half minute and needs no more than this, so neither dataclasses nor
the model are imported for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dlqwatch.model import SampleReason, StoreTrouble

EXIT_BAD = 1  # the answer is bad
EXIT_USAGE = 2  # usage or configuration
EXIT_UNKNOWN = 3  # could not find out


class DlqwatchError(Exception):
    """An error for people: one line of what and where, one line of what to do."""

    exit_code = EXIT_UNKNOWN

    def __init__(self, what: str, do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.do = do

    def __str__(self) -> str:
        return f"{self.what}\n  {self.do}" if self.do else self.what


class ConfigError(DlqwatchError):
    """The configuration, environment or a secret file can't be used. Exit 2."""

    exit_code = EXIT_USAGE


class StoreError(DlqwatchError):
    """The database can't be read or written now. `trouble`: how it fails, where that is known."""

    refused = False

    def __init__(self, what: str, do: str = "", *, trouble: StoreTrouble | None = None) -> None:
        super().__init__(what, do)
        self.trouble = trouble


class StoreRefused(StoreError):
    """The database can't be used at all. Exit 2."""

    exit_code = EXIT_USAGE
    refused = True


class NewerSchema(StoreRefused):
    """A newer dlqwatch wrote this database. `schema`: its number."""

    def __init__(self, what: str, do: str = "", *, schema: int = 0) -> None:
        super().__init__(what, do)
        self.schema = schema


class PlaceRefused(StoreRefused):
    """No database can be written there: path, owner and uid are in the words."""


class LockHeld(DlqwatchError):
    """Another `run` holds this database. Exit 2."""

    exit_code = EXIT_USAGE


class CloudflareAnswer(NamedTuple):
    """What Cloudflare said, kept for people. `message` is Cloudflare's own words, shortened."""

    status: int | None = None
    code: int | None = None
    message: str = ""
    ray: str = ""  # cf-ray: what Cloudflare's support asks for


class CloudflareError(DlqwatchError):
    """A call to Cloudflare's API gave no usable answer.

    `retry_at` (ms since 1970) is set for a 429: no call before it.
    """

    def __init__(
        self,
        reason: SampleReason,
        what: str,
        do: str = "",
        *,
        answer: CloudflareAnswer | None = None,
        retry_at: int | None = None,
    ) -> None:
        super().__init__(what, do)
        self.reason = reason
        self.answer = answer if answer is not None else CloudflareAnswer()
        self.retry_at = retry_at


class QueueNotListed(CloudflareError):
    """A fully read list doesn't have this queue. `nearest`: names much like it."""

    def __init__(self, name: str, nearest: tuple[str, ...], listed: int) -> None:
        from dlqwatch.model import SampleReason

        like = ", ".join(f'"{n}"' for n in nearest)
        count = "1 queue" if listed == 1 else f"{listed} queues"
        super().__init__(
            SampleReason.QUEUE_NOT_LISTED,
            f'the account has no queue named "{name}" ({count} listed)'
            + (f"; nearest: {like}" if like else ""),
            "Correct the name in [[queues]], or create the queue: "
            f"npx wrangler queues create {name}",
        )
        self.name = name
        self.nearest = nearest
