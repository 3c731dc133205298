"""Sections that hold secrets, each given as a key or in the file that its `*_file` key names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, PrivateAttr, SecretStr

from dlqwatch.config import secrets as secret
from dlqwatch.config.lines import KeyPath
from dlqwatch.errors import ConfigError


def _secret(check: Callable[[str], str]) -> AfterValidator:
    return AfterValidator(lambda v: SecretStr(check(v.get_secret_value())))


def _secret_file(check: Callable[[str], str]) -> AfterValidator:
    def checked(path: str) -> str:
        secret.read_secret(path, check)
        return path

    return AfterValidator(checked)


Token = Annotated[SecretStr, _secret(secret.token)]
TokenFile = Annotated[str, _secret_file(secret.token)]
Webhook = Annotated[SecretStr, _secret(secret.webhook)]
WebhookFile = Annotated[str, _secret_file(secret.webhook)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Holder(Section):
    """A section with secrets, each as a key or in the file its `*_file` key names."""

    secret_keys: ClassVar[tuple[str, ...]] = ()
    _seen: set[str] = PrivateAttr(default_factory=set)

    def _has(self, key: str) -> bool:
        return getattr(self, key) is not None or getattr(self, f"{key}_file") is not None

    def _read(self, key: str) -> str | None:
        """The secret now: from its file again, if it has one. Raises ConfigError."""
        check = secret.webhook if key == "webhook_url" else secret.token
        path = getattr(self, f"{key}_file")
        if path is not None:
            try:
                value = secret.read_secret(path, check)
            except ValueError as error:
                raise ConfigError(f"{key}_file: {error}", "Put the secret into the file.") from None
        elif (kept := getattr(self, key)) is not None:
            value = kept.get_secret_value()
        else:
            return None
        self._seen.add(value)
        return value

    def _both(self) -> Iterator[tuple[KeyPath, str]]:
        for key in self.secret_keys:
            if getattr(self, key) is not None and getattr(self, f"{key}_file") is not None:
                yield (f"{key}_file",), f"{key} and {key}_file are both set: keep one"

    def _remember(self) -> None:
        for key in self.secret_keys:
            self._read(key)

    def seen(self) -> frozenset[str]:
        """Every value the secrets here have had so far."""
        return frozenset(self._seen)
