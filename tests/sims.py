"""How tests ask the scripted services."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from slack_sdk.errors import SlackApiError

from dlqwatch.sim.cloudflare import WRITE_TOKEN, SimCloudflare
from dlqwatch.sim.slack import SimSlack

SECTION = [{"type": "section", "text": {"type": "mrkdwn", "text": "*x*"}}]


def hook(slack: SimSlack, sent: Any, url: str = "") -> tuple[int, str]:
    with httpx.Client(trust_env=False) as client:
        got = client.post(url or slack.webhook_url, json=sent)
        return got.status_code, got.text


def refused(call: Any, **args: Any) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as caught:
        call(**args)
    data = caught.value.response.data
    assert isinstance(data, dict)
    return data


def word(call: Any, **args: Any) -> str:
    return str(refused(call, **args)["error"])


class Caller:
    """A client of the account, with a token."""

    def __init__(self, cf: SimCloudflare, client: httpx.Client) -> None:
        self.cf = cf
        self.client = client
        self.token = WRITE_TOKEN

    def __call__(self, path: str, sent: Any = None, **params: Any) -> httpx.Response:
        return self.client.request(
            "GET" if sent is None else "POST",
            f"{self.cf.base_url}/accounts/{self.cf.account_id}{path}",
            json=sent,
            params=params,
            headers={"Authorization": f"Bearer {self.token}"},
        )

    def result(self, path: str, sent: Any = None, **params: Any) -> Any:
        got = self(path, sent, **params)
        assert got.status_code == 200, got.text
        assert (got.json()["success"], got.json()["errors"]) == (True, [])
        return got.json()["result"]

    def refused(self, path: str, sent: Any = None, **params: Any) -> tuple[int, int]:
        got = self(path, sent, **params)
        assert got.json()["success"] is False
        return got.status_code, got.json()["errors"][0]["code"]
