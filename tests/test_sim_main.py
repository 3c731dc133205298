"""`python -m dlqwatch.sim`, as a person uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import httpx


def test_both_services_run_by_themselves_and_obey_curl() -> None:
    """What it prints is a configuration; /_sim/ scripts it; SIGTERM ends it with 0."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dlqwatch.sim"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_PROXY": "127.0.0.1"},
    )
    try:
        assert process.stdout is not None
        text = ""
        while "[database]" not in text or "path" not in text.split("[database]")[1]:
            line = process.stdout.readline()
            assert line, text
            text += line
        config = tomllib.loads(text)
        base = config["cloudflare"]["api_base_url"]
        sim = base.removesuffix("/client/v4") + "/_sim"
        slack = config["slack"]["api_base_url"].removesuffix("/api/") + "/_sim"
        with httpx.Client(trust_env=False) as client:

            def post(url: str, body: str) -> httpx.Response:  # as `curl -d` does
                form = {"Content-Type": "application/x-www-form-urlencoded"}
                return client.post(url, content=body, headers=form)

            def depth() -> float:
                state = client.get(f"{sim}/state").json()["nemo12-events-dlq"]
                return float(state["backlog_count"])

            assert post(f"{sim}/land", "n=3").json() == {"count": 3}
            assert depth() == 3
            assert post(f"{sim}/take", '{"n": 1}').json() == {"count": 1}
            assert post(f"{sim}/create-queue", "queue=other").status_code == 200
            assert post(f"{sim}/land", "queue=nope").status_code == 400
            assert post(f"{sim}/fail", '{"fault": "status", "code": 500}').status_code == 200
            assert client.get(base).status_code == 500
            assert post(f"{sim}/fail", '{"fault": "sulk"}').status_code == 400
            post(f"{sim}/heal", "")
            assert client.get(base).status_code == 400  # no token: itself again
            assert post(f"{sim}/drain", "").json() == {"count": 2}
            assert depth() == 0
            headers = {"Authorization": f"Bearer {config['slack']['bot_token']}"}
            args = {"channel": config["slack"]["channel"], "text": "hello"}
            url = config["slack"]["api_base_url"] + "chat.postMessage"
            assert client.post(url, json=args, headers=headers).json()["ok"] is True
            assert client.get(f"{slack}/messages").json()[0]["text"] == "hello"
            post(f"{slack}/channel", "archived=true")
            refused = client.post(url, json=args, headers=headers).json()
            assert refused == {"ok": False, "error": "is_archived"}
            asked = client.get(f"{slack}/requests").json()
            assert json.loads(asked[0]["body"]) == args
        process.terminate()
        assert process.wait(5) == 0
    finally:
        process.kill()
        process.wait(5)
        if process.stdout is not None:
            process.stdout.close()
