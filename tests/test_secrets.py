"""A secret is in no line of any log and in no file, whatever fails, however loud the log is."""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlqwatch.daemon.courier import Courier
from dlqwatch.daemon.logs import Redacting, RedactingJson
from dlqwatch.daemon.polling import Poller
from dlqwatch.decide.inputs import Reading, Started
from dlqwatch.decide.world import Plan, World
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.http import Http
from dlqwatch.edges.lockfile import Lock, lock_path
from dlqwatch.edges.slack import Bot, Speaker, Webhook
from dlqwatch.edges.store_keeper import Keeper
from dlqwatch.engine import Engine
from dlqwatch.model import Destination, DestinationKind, QueueRules, Sample, SampleKind
from dlqwatch.sim.clocks import HandClock
from dlqwatch.sim.cloudflare import SimCloudflare
from dlqwatch.sim.faults import Fault
from dlqwatch.sim.slack import SimSlack
from tests.process import QUEUE, Place, place

TOKEN = "canary-cloudflare-token-7Yq2mXw0"
BOT_TOKEN = "xoxb-1-2-canaryBotToken"
KINDS = list(DestinationKind)
RULES = QueueRules(QUEUE, poll_ms=1_000, group_ms=60_000)
SAYS_IT = f"the token {TOKEN} isn't good"
SLACK_SAYS_IT = f"the token {BOT_TOKEN} isn't good"

CLOUDFLARE_FAULTS = [
    Fault.status(401),
    Fault.status(403),
    Fault.status(404),
    Fault.status(500),
    Fault.json({"success": False, "errors": [{"code": 10000, "message": SAYS_IT}]}, 403),
    Fault.json({"success": False, "errors": [{"code": 1, "message": SAYS_IT}]}),
    Fault.status(502, SAYS_IT),
    Fault.json({"success": True, "errors": [], "result": {"backlog_count": SAYS_IT}}),
    Fault.html(),
    Fault.redirect(f"https://example.invalid/?token={TOKEN}"),
    Fault.truncated(),
    Fault.short_body(),
    Fault.not_utf8(),
    Fault.hang(),
    Fault.close(),
    Fault.reset(),
    Fault.drip_headers(0.1),
    Fault.drip_body(0.1),
    Fault.rate_limited(1),
]
SLACK_FAULTS = [
    Fault.status(400),
    Fault.status(403),
    Fault.status(404),
    Fault.status(500),
    Fault.status(500, SLACK_SAYS_IT),
    Fault.json({"ok": False, "error": SLACK_SAYS_IT}),
    Fault.json({"ok": False, "error": "invalid_auth", "token": BOT_TOKEN}),
    Fault.json([1]),
    Fault.html(),
    Fault.redirect(f"https://example.invalid/?token={BOT_TOKEN}"),
    Fault.truncated(),
    Fault.short_body(),
    Fault.not_utf8(),
    Fault.hang(after=True),
    Fault.close(after=True),
    Fault.reset(),
    Fault.drip_headers(0.1),
    Fault.rate_limited("soon"),
]


class Canaries:
    """The secrets of one run, and where they must not be."""

    def __init__(self, webhook_url: str) -> None:
        self.hook = webhook_url
        self.all = (TOKEN, BOT_TOKEN, webhook_url, webhook_url.rpartition("/")[2])

    def found_in(self, place: str, content: str) -> list[str]:
        return [f"{canary} in {place}" for canary in self.all if canary in content]

    def found_in_files(self, folder: Path) -> list[str]:
        return [
            what
            for path in folder.iterdir()
            if path.name != "config.toml"
            for what in self.found_in(path.name, path.read_bytes().decode("latin-1"))
        ]


@pytest.fixture(params=[Redacting, RedactingJson])
def log(request: pytest.FixtureRequest) -> Iterator[tuple[io.StringIO, list[str]]]:
    """Everything that anybody logs, from DEBUG on, libraries too; and the secrets to hide."""
    stream, secrets = io.StringIO(), list[str]()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param(lambda: secrets))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream, secrets
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.mark.parametrize("kind", KINDS)
def test_no_failure_puts_a_secret_into_a_log_or_a_file(
    tmp_path: Path, kind: DestinationKind, log: tuple[io.StringIO, list[str]]
) -> None:
    stream, secrets = log
    clock, http = HandClock(), Http(trust_env=False)
    with SimCloudflare(clock) as cf, SimSlack(clock) as slack:
        cf.create_pair()
        cf.tokens[TOKEN] = {"queues_read"}
        slack.add_bot(BOT_TOKEN)
        canaries = Canaries(slack.webhook_url)
        secrets += canaries.all
        lock = Lock(tmp_path / "x.db", now=clock.now(), monotonic=clock.monotonic())
        engine = _engine(tmp_path / "x.db", kind, clock)
        try:
            for address in (cf.base_url, _refused(), cf.base_url.replace("http:", "https:")):
                client = Cloudflare(
                    base_url=address,
                    account_id=cf.account_id,
                    token=lambda: TOKEN,
                    timeout_s=0.3,
                    clock=clock,
                    http=http,
                )
                for fault in CLOUDFLARE_FAULTS if address == cf.base_url else [None]:
                    if fault is not None:
                        cf.fail(fault, 1)
                    clock.move(400)
                    Poller(engine, client, RULES, clock, 0.3).tick()
            for depth, (fault, speaker) in enumerate(_sendings(kind, slack, http, clock), 3):
                if fault is not None:
                    slack.fail(fault, 1)
                now = clock.now()
                engine.submit(Reading(QUEUE, Sample(now, SampleKind.COMPLETE, depth, 1, now)))
                _send(engine, speaker, clock)
            try:
                raise ValueError(f"a library's error names {TOKEN}, {BOT_TOKEN}, {canaries.hook}")
            except ValueError:
                logging.getLogger("dlqwatch").exception("a tick failed")
            lock.beat(1.0, 90.0, behind=False)
        finally:
            engine.close()
            lock.close()
            http.close()

    said = stream.getvalue()
    assert said.count("slack: ") >= 8, "little of it was logged at all"
    assert "[hidden]" in said
    assert canaries.found_in("the log", said) == []
    assert lock_path(tmp_path / "x.db").exists()
    assert canaries.found_in_files(tmp_path) == []


def _engine(path: Path, kind: DestinationKind, clock: HandClock) -> Engine:
    destination = Destination("slack", kind, "f1", "C0123456789")
    keeper = Keeper(path, clock)
    keeper.start()
    engine = Engine(World(Plan({QUEUE: RULES}, (destination,), "1")), keeper, clock)
    engine.submit(Started("base"))
    return engine


def _refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}/client/v4"


def _sendings(
    kind: DestinationKind, slack: SimSlack, http: Http, clock: HandClock
) -> Iterator[tuple[Fault | None, Speaker]]:
    """Each fault, then an address that refuses and one that doesn't speak TLS."""
    good, refused = slack.url, _refused().removesuffix("/client/v4")
    for base in (good, refused, good.replace("http:", "https:")):
        hook, api = slack.webhook_url.replace(good, base), slack.api_url.replace(good, base)
        speaker: Speaker = (
            Webhook(lambda hook=hook: hook, http.ssl_context, clock)  # type: ignore[misc]
            if kind is DestinationKind.WEBHOOK
            else Bot(lambda: BOT_TOKEN, slack.channel, api, http.ssl_context, clock)
        )
        for fault in SLACK_FAULTS if base == good else [None]:
            yield fault, speaker


def _send(engine: Engine, speaker: Speaker, clock: HandClock) -> None:
    courier = Courier(engine, engine.plan.destination("slack"), speaker, clock, give_up_s=0.3)
    for _ in range(4):
        courier.step()
        clock.move(61)


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_real_process_at_debug_shows_no_secret(
    tmp_path: Path, kind: DestinationKind, style: str
) -> None:
    with place(tmp_path, kind) as where:
        where.cloudflare.fail(Fault.status(401), 1)
        where.slack.refuse()
        where.cloudflare.land(QUEUE)
        with where.daemon("--log-format", style, "--log-level", "debug") as daemon:
            daemon.wait_line("bad_token")
            daemon.wait_line("connection refused")
            where.slack.start()
            daemon.wait_line(r"told incident #1 \(first\)")
            assert daemon.terminate()[0] == 0
        assert _leaks(where, "\n".join(daemon.lines)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("api_token = ", "api_token = 5 # "),
        ('webhook_url = "http', 'webhook_url = "ftp'),
        ("webhook_url = ", 'channel = "x"\nwebhook_url = '),
        ("api_token = ", "api_tokn = "),
        ("[slack]", "[slack"),
    ],
)
def test_a_configuration_that_is_refused_shows_no_secret(
    tmp_path: Path, old: str, new: str
) -> None:
    with place(tmp_path, DestinationKind.WEBHOOK) as where:
        config = where.config()
        config.write_text(config.read_text().replace(old, new, 1))
        for command in ("run", "check"):
            ended = where.command(command, rewrite=False)
            assert ended.returncode == 2
            assert _leaks(where, ended.stdout + ended.stderr) == []


def _leaks(where: Place, output: str) -> list[str]:
    token = where.secrets
    found = [f"{secret} in the output" for secret in token if secret in output]
    for path in where.folder.iterdir():
        content = path.read_bytes().decode("latin-1")
        if path.name != "config.toml":
            found += [f"{secret} in {path.name}" for secret in token if secret in content]
    return found
