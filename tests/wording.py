"""Facts and messages that the tests of the words share, and a judge of Slack's limits."""

from __future__ import annotations

import re
from dataclasses import replace

from dlqwatch.facts import (
    BlindFacts,
    DepthFacts,
    Deviation,
    Facts,
    Payload,
    PublishFacts,
    SeenQueue,
    StartedFacts,
    StoreFacts,
    Telling,
    UnseenQueue,
    WiringFacts,
)
from dlqwatch.model import (
    DAY,
    HOUR,
    MINUTE,
    DestinationKind,
    DeviationKind,
    Reason,
    Resolution,
    SampleReason,
    Severity,
    StoreTrouble,
)
from dlqwatch.sim import blockkit
from dlqwatch.words import slack as words

NOW = 1_795_985_880_000  # 2026-11-29 20:58 UTC
QUEUE = "nemo12-events-dlq"
TEAM = "<!subteam^S0123456789>"

FIRING = DepthFacts(
    at=NOW,
    depth=3,
    bytes=4_213,
    oldest_at=NOW - 2 * HOUR - 5 * MINUTE,
    retention_ms=4 * DAY,
    threshold=1,
    peak_depth=3,
    opened_at=NOW - 2 * HOUR,
    severity=Severity.WARNING,
    runbook_url="https://wiki.example/dlq?a=1&b=2",
)
CRITICAL = replace(FIRING, severity=Severity.CRITICAL)
OVER = replace(
    FIRING,
    depth=0,
    bytes=0,
    oldest_at=None,
    peak_depth=5,
    resolved_at=NOW - 40 * MINUTE,
    resolution=Resolution.UNKNOWN,
)
STARTED = StartedFacts(version="0.1.0", queues=(QUEUE,), poll_ms=30_000, host="watch-1")
UNSEEN = UnseenQueue(
    name=QUEUE,
    reason=SampleReason.SERVER_ERROR,
    detail="reading the depth: HTTP 502: text/html instead of JSON (ray 8f1)",
    since=NOW - 65 * MINUTE,
    last_depth=3,
)
REFUSED = replace(
    UNSEEN,
    reason=SampleReason.BAD_TOKEN,
    detail="reading the depth: HTTP 401, code 10000: Authentication error (ray 8f1)",
)
BLIND = BlindFacts(
    at=NOW, opened_at=NOW - HOUR, severity=Severity.WARNING, unseen=(UNSEEN,), topics=("x",)
)
BLIND_PERSON = replace(BLIND, unseen=(REFUSED,), severity=Severity.CRITICAL, needs_person=True)
SIGHT = replace(
    BLIND,
    resolved_at=NOW,
    resolution=Resolution.CLEARED,
    found=(SeenQueue(name=QUEUE, depth=3, before=2),),
)
ASTRAY = Deviation(
    kind=DeviationKind.OTHER_DEAD_LETTER_QUEUE,
    is_="nemo12-event-dlq",
    expected=QUEUE,
    cure="npx wrangler queues consumer add nemo12-events nemo12-api --dead-letter-queue " + QUEUE,
    critical=True,
)
RETRIES = Deviation(
    kind=DeviationKind.MAX_RETRIES,
    is_="3",
    expected="5",
    cure="Set max_retries to 5 in the consumer's wrangler.jsonc and deploy it.",
    critical=False,
)
WIRING = WiringFacts(
    at=NOW,
    opened_at=NOW - HOUR,
    severity=Severity.CRITICAL,
    source="nemo12-events",
    deviations=(RETRIES, ASTRAY),
)
WIRED = replace(WIRING, resolved_at=NOW, resolution=Resolution.CLEARED)
STORE = StoreFacts(
    at=NOW,
    opened_at=NOW - 12 * MINUTE,
    severity=Severity.CRITICAL,
    path="/data/dlqwatch.db",
    trouble=StoreTrouble.FULL,
    detail="database or disk is full",
    waiting=41,
)
STORED = replace(STORE, resolved_at=NOW, resolution=Resolution.CLEARED, waiting=0)
PUBLISH = PublishFacts(
    at=NOW,
    opened_at=NOW - 80 * MINUTE,
    severity=Severity.WARNING,
    worker="nemo12-api",
    needle="EVENT_PUBLISH_FAILED",
    count=12,
    total=40,
    window_from=NOW - 10 * MINUTE,
    window_to=NOW - 5 * MINUTE,
)
PUBLISHED = replace(PUBLISH, resolved_at=NOW, resolution=Resolution.CLEARED, count=0)
FIRST = Telling(
    reason=Reason.FIRST,
    subject=QUEUE,
    incident=12,
    facts=FIRING,
    created_at=NOW,
    sent_at=NOW,
    kind=DestinationKind.BOT,
    dashboard_url="https://dash.cloudflare.com/0123/workers/queues",
)


DUE = "handle before 2026-12-03 18:53 UTC (in 3 d 21 h)"
HELD = f"in {QUEUE}, oldest 2 h 5 min old: {DUE}"


def tell(reason: Reason, facts: Facts, **more: object) -> Telling:
    """A message about these facts, sent at once unless `more` says otherwise."""
    subject = {BlindFacts: "dlqwatch", StoreFacts: "dlqwatch", PublishFacts: "nemo12-api"}
    about = {"subject": subject.get(type(facts), QUEUE), **more}
    return replace(FIRST, reason=reason, facts=facts, **about)  # type: ignore[arg-type]


def as_shown(text: str) -> str:
    """A text as a reader without Slack's dates sees it: fallbacks for dates, entities undone."""
    text = re.sub(r"<!date\^-?\d+\^[^|>]*\|([^>]*)>", r"\1", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def push(telling: Telling) -> list[str]:
    """The lines of a push notification."""
    return as_shown(words.render(telling).text).split("\n")


def mrkdwn(payload: Payload) -> list[str]:
    """Every text in the blocks, as it goes to Slack."""
    found: list[str] = []

    def walk(part: object) -> None:
        if isinstance(part, dict):
            if part.get("type") == "mrkdwn":
                found.append(part["text"])
            for value in part.values():
                walk(value)
        elif isinstance(part, (list, tuple)):
            for value in part:
                walk(value)

    walk(payload.blocks)
    return found


def all_text(payload: Payload) -> str:
    """Everything a person can see of a message."""
    return as_shown("\n".join([payload.text, *mrkdwn(payload)]))


# ---- Slack's limits (docs.slack.dev, reference/block-kit), whatever the facts


def texts_of(payload: Payload) -> list[dict[str, object]]:
    """Every text object of the blocks."""
    found: list[dict[str, object]] = []
    for block in payload.blocks or ():
        parts = [block.get("text"), block.get("fields"), block.get("elements")]
        for part in parts:
            items = part if isinstance(part, list) else [part]
            found += [item for item in items if isinstance(item, dict)]
    return found


def judge(payload: Payload) -> None:
    """Fail for what Slack would refuse, split, or show broken."""
    assert 1 <= len(payload.text) <= 3_000
    assert payload.blocks is None or blockkit.judge(list(payload.blocks)) == []
    for text in (payload.text, *mrkdwn(payload)):
        assert not broken_markup(text), text
        text.encode()


def broken_markup(text: str) -> str:
    """What is left of `<`, `>` and `&` when whole tokens and entities are taken away."""
    text = re.sub(r"<!date\^\d+\^\{date_short_pretty\} \{time\}\|[^<>|^&]+>", "", text)
    text = re.sub(r"<(!subteam\^S[A-Z0-9]+|@[UW][A-Z0-9]+|!here|!channel|!everyone)>", "", text)
    text = re.sub(r"<https?://[^<>|]+\|[^<>|&]+>", "", text)
    text = re.sub(r"&(amp|lt|gt);", "", text)
    return "".join(re.findall("[<>&]", text))
