"""Bad configurations, each with the exact words of its refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.configs import ACCOUNT, BASE, CLOUDFLARE, HOOK, SLACK, TOKEN, refusal

BOT = '[slack]\nbot_token = "xoxb-canary"\n'
QUOTES = 'a duration needs a unit (s, m, h or d) and quotes, such as "30s", "5m" or "1h30m"'
UNIT = 'a duration needs a unit (s, m, h or d), such as "30s", "5m" or "1h30m"'
FORM = (
    'expected a duration such as "30s", "5m" or "1h30m"'
    " (whole numbers, the largest unit first: d, h, m, s)"
)
ADDRESS = 'expected a full address such as "https://example.com/page"'
AGE = 'expected a share of the retention from "1%" to "100%", or a duration'
CHANNEL = (
    'expected a channel\'s ID such as "C0123456789", not its name'
    " (in Slack: open the channel's details, the ID is at the bottom)"
)
MENTION = 'expected "<!subteam^S…>", "<@U…>", "<!channel>" or "<!here>", with an ID, not a name'
BUDGET = "they must stay under 600, half of Cloudflare's limit"

FILES = {
    "a misspelt key": (
        BASE + '[alerts]\npol_interval = "5s"\n',
        'config.toml:7: alerts.pol_interval: unknown key, did you mean "poll_interval"?',
    ),
    "a misspelt key of one queue": (
        BASE + '[[queues]]\nname = "a"\n[[queues]]\nname = "b"\ninterval = "5s"\n',
        'config.toml:10: queues[1].interval: unknown key, did you mean "poll_interval"?',
    ),
    "a misspelt key in a nested table": (
        BASE + f'[slack.fallback]\nwebhook = "{HOOK}"\nwebhook_url = "https://x.example/y"\n',
        'config.toml:7: slack.fallback.webhook: unknown key, did you mean "webhook_url"?',
    ),
    "a misspelt table": (
        BASE + "[alert]\nthreshold = 1\n",
        'config.toml:6: alert: unknown key, did you mean "alerts"?',
    ),
    "a table in capitals": (
        BASE + "[Alerts]\nthreshold = 1\n",
        'config.toml:6: Alerts: unknown key, did you mean "alerts"?',
    ),
    "a key in the wrong table": (
        CLOUDFLARE + 'blind_after = "5m"\n' + SLACK,
        "config.toml:4: cloudflare.blind_after: unknown key here: it belongs in [alerts]",
    ),
    "a key that is like none": (
        BASE + "[server]\nzzz = 1\n",
        "config.toml:7: server.zzz: unknown key; known here: listen",
    ),
    "a key of an inline table": (
        'queues = [\n  {name = "a"},\n  {name = "b", nme = 1},\n]\n' + BASE,
        'config.toml:3: queues[1].nme: unknown key, did you mean "name"?',
    ),
    "a table that is like none": (
        BASE + "[x]\n",
        "config.toml:6: x: unknown key; known here: cloudflare, slack, alerts, queues, heartbeat,"
        " server, database, publish_failures",
    ),
    "a number for a duration": (
        BASE + "[alerts]\nhold_duration = 5\n",
        f"config.toml:7: alerts.hold_duration: {QUOTES}",
    ),
    "a duration without a unit": (
        BASE + '[alerts]\nhold_duration = "5"\n',
        f"config.toml:7: alerts.hold_duration: {UNIT}",
    ),
    "a duration in other words": (
        BASE + '[alerts]\nexpiry_warnings = ["24h", "six hours"]\n',
        f"config.toml:7: alerts.expiry_warnings[1]: {FORM}",
    ),
    "a negative duration": (
        BASE + '[alerts]\npoll_interval = "-5s"\n',
        "config.toml:7: alerts.poll_interval: a duration can't be negative: allowed is 1s to 1d",
    ),
    "a poll each moment": (
        BASE + '[alerts]\npoll_interval = "0s"\n',
        "config.toml:7: alerts.poll_interval: too short: allowed is 1s to 1d",
    ),
    "a timeout longer than a poll may hang": (
        CLOUDFLARE + 'timeout = "5m"\n' + SLACK,
        "config.toml:4: cloudflare.timeout: too long: allowed is 1s to 30s",
    ),
    "true for a number": (
        BASE + "[alerts]\nthreshold = true\n",
        "config.toml:7: alerts.threshold: expected a whole number from 1 to 1000000000",
    ),
    "a threshold that is always reached": (
        BASE + "[alerts]\nthreshold = 0\n",
        "config.toml:7: alerts.threshold: expected a whole number from 1 to 1000000000",
    ),
    "half a message": (
        BASE + "[alerts]\ncritical_depth = 1.5\n",
        "config.toml:7: alerts.critical_depth: expected a whole number from 1 to 1000000000",
    ),
    "more than the whole retention": (
        BASE + '[alerts]\ncritical_age = "150%"\n',
        f"config.toml:7: alerts.critical_age: {AGE}",
    ),
    "half an address for the runbook": (
        BASE + '[alerts]\nrunbook_url = "https://"\n',
        f"config.toml:7: alerts.runbook_url: {ADDRESS}",
    ),
    "no address for the runbook": (
        BASE + '[alerts]\nrunbook_url = "wiki/dlq"\n',
        f"config.toml:7: alerts.runbook_url: {ADDRESS}",
    ),
    "a runbook's address that would end a link": (
        BASE + '[alerts]\nrunbook_url = "https://r.example/a|b>"\n',
        f"config.toml:7: alerts.runbook_url: {ADDRESS}, without spaces, quotes, < > or |",
    ),
    "an account that is none": (
        CLOUDFLARE.replace(ACCOUNT, "nemo12") + SLACK,
        "config.toml:2: cloudflare.account_id: expected 32 hex digits, as they follow"
        " dash.cloudflare.com/ in the browser",
    ),
    "a token over http": (
        CLOUDFLARE + 'api_base_url = "http://api.example/"\n' + SLACK,
        "config.toml:4: cloudflare.api_base_url: http would send the secret in clear:"
        " use https (http is for loopback)",
    ),
    "no token": (
        f'[cloudflare]\naccount_id = "{ACCOUNT}"\n' + SLACK,
        "config.toml:1: cloudflare.api_token: is required: a token with the permission Queues Read"
        " (or api_token_file)",
    ),
    "no table": (SLACK, "config.toml: cloudflare: the table [cloudflare] is required"),
    "a value for a table": (
        "heartbeat = 5\n" + BASE,
        "config.toml:1: heartbeat: expected a table [heartbeat]",
    ),
    "a number for text": (
        BASE + "channel = 5\n",
        "config.toml:6: slack.channel: expected text in quotes",
    ),
    "text for a list": (
        BASE + 'mention_critical = "<!here>"\n',
        'config.toml:6: slack.mention_critical: expected a list, such as ["a", "b"]',
    ),
    "a mention by name": (
        BASE + 'mention_critical = ["<!here>",\n  "@oncall"]\n',
        f"config.toml:7: slack.mention_critical[1]: {MENTION}",
    ),
    "a channel by name": (
        CLOUDFLARE + BOT + 'channel = "#alerts"\n',
        f"config.toml:6: slack.channel: {CHANNEL}",
    ),
    "a bot without a channel": (
        CLOUDFLARE + BOT,
        "config.toml:4: slack.channel: is required beside bot_token: the channel's ID, such as"
        ' "C0123456789"',
    ),
    "a channel without a bot": (
        CLOUDFLARE + '[slack]\nchannel = "C0123456789"\n',
        "config.toml:4: slack.bot_token: is required beside channel (or bot_token_file)",
    ),
    "a webhook with a channel": (
        BASE + 'channel = "C0123456789"\n',
        "config.toml:6: slack.channel: a webhook has its own channel: remove it, or use bot_token",
    ),
    "a webhook and a bot": (
        BASE + 'bot_token = "xoxb-canary"\nchannel = "C0123456789"\n',
        "config.toml:4: slack: set webhook_url alone, or bot_token and channel, not both",
    ),
    "no way to Slack": (
        CLOUDFLARE + "[slack]\n",
        "config.toml:4: slack: set webhook_url, or bot_token and channel",
    ),
    "a fallback to the same address": (
        BASE + f'[slack.fallback]\nwebhook_url = "{HOOK}"\n',
        "config.toml:6: slack.fallback: the same address as [slack]: it would break with it",
    ),
    "no queue": (
        "queues = []\n" + BASE,
        "config.toml:1: queues: at least one queue must be watched",
    ),
    "a queue without a name": (
        BASE + "[[queues]]\nthreshold = 1\n",
        "config.toml:6: queues[0].name: is required",
    ),
    "a queue's name with a space": (
        BASE + '[[queues]]\nname = "q "\n',
        "config.toml:7: queues[0].name: a queue's name has no spaces around it and no control"
        " characters",
    ),
    "the same queue twice": (
        BASE + '[[queues]]\nname = "q"\n[[queues]]\nname = "q"\n',
        "config.toml:9: queues[1].name: the same queue as queues[0]",
    ),
    "a queue that is its own source": (
        BASE + '[[queues]]\nname = "q"\nsource = "q"\n',
        "config.toml:8: queues[0].source: the dead-letter queue itself: it takes the queue whose"
        " dead letters land there",
    ),
    "blind between two polls": (
        BASE + '[alerts]\npoll_interval = "10m"\n',
        "config.toml:7: alerts.poll_interval: blind_after (5m) is shorter than poll_interval (10m):"
        " between two polls dlqwatch would seem blind",
    ),
    "too many calls": (
        BASE + '[alerts]\npoll_interval = "1s"\n[[queues]]\nname = "a"\n[[queues]]\nname = "b"\n',
        "config.toml:7: alerts.poll_interval: 2 queues would make 608 calls to Cloudflare per"
        " 5 minutes (600 polls, one per poll_interval, and 8 for audits, 4 per audit_interval);"
        f" {BUDGET}: a poll_interval of 2s for all would do",
    ),
    "too many audits": (
        BASE + '[alerts]\naudit_interval = "1s"\n',
        "config.toml:6: alerts.poll_interval: 1 queue would make 1210 calls to Cloudflare per"
        " 5 minutes (10 polls, one per poll_interval, and 1200 for audits, 4 per audit_interval);"
        f" {BUDGET}: raise audit_interval first",
    ),
    "a retention that Cloudflare doesn't have": (
        BASE + '[[queues]]\nname = "q"\nretention = "15d"\n',
        "config.toml:8: queues[0].retention: too long: allowed is 1m to 14d",
    ),
    "a consumer's name where yes or no is asked for": (
        BASE + '[[queues]]\nname = "q"\nconsumer = "nemo12-api"\n',
        "config.toml:8: queues[0].consumer: expected true or false",
    ),
    "an address to listen on without a host": (
        BASE + '[server]\nlisten = ":8080"\n',
        'config.toml:7: server.listen: expected "host:port" ("127.0.0.1:8080"), or "" for off',
    ),
    "a port that can't be": (
        BASE + '[server]\nlisten = "127.0.0.1:80800"\n',
        "config.toml:7: server.listen: a port is at most 65535",
    ),
    "no path for the database": (
        BASE + '[database]\npath = ""\n',
        "config.toml:7: database.path: expected the path of a file",
    ),
}


@pytest.mark.parametrize(("text", "words"), FILES.values(), ids=FILES.keys())
def test_a_bad_file_is_refused_in_these_words(tmp_path: Path, text: str, words: str) -> None:
    assert refusal(tmp_path, text) == [words]


VARIABLES = {
    "a misspelt variable": (
        {"DLQWATCH_POLL": "5s"},
        "DLQWATCH_POLL: unknown variable, did you mean DLQWATCH_ALERTS__POLL_INTERVAL?",
    ),
    "a variable without its table": (
        {"DLQWATCH_API_TOKEN": "canary"},
        "DLQWATCH_API_TOKEN: unknown variable, did you mean DLQWATCH_CLOUDFLARE__API_TOKEN?",
    ),
    "a misspelt table": (
        {"DLQWATCH_ALERT__THRESHOLD": "1"},
        "DLQWATCH_ALERT__THRESHOLD: unknown variable, did you mean DLQWATCH_ALERTS__THRESHOLD?",
    ),
    "one underscore for two": (
        {"DLQWATCH_SLACK_WEBHOOK_URL": "canary"},
        "DLQWATCH_SLACK_WEBHOOK_URL: unknown variable, did you mean DLQWATCH_SLACK__WEBHOOK_URL?",
    ),
    "like none": (
        {"DLQWATCH_XYZZY": "1"},
        "DLQWATCH_XYZZY: unknown variable: no setting is named so",
    ),
    "one queue of the list": (
        {"DLQWATCH_QUEUES__0__THRESHOLD": "9"},
        "DLQWATCH_QUEUES__0__THRESHOLD: unknown variable: DLQWATCH_QUEUES takes all queues at once,"
        " as JSON",
    ),
    "a duration without a unit": (
        {"DLQWATCH_ALERTS__POLL_INTERVAL": "60"},
        f"DLQWATCH_ALERTS__POLL_INTERVAL: {UNIT}",
    ),
    "a list that is no JSON": (
        {"DLQWATCH_ALERTS__EXPIRY_WARNINGS": "24h,6h"},
        'DLQWATCH_ALERTS__EXPIRY_WARNINGS: expected JSON such as ["a", "b"]',
    ),
    "queues that are no JSON": (
        {"DLQWATCH_QUEUES": "a,b"},
        'DLQWATCH_QUEUES: expected JSON such as [{"name": "…"}]',
    ),
    "a table that is no JSON": (
        {"DLQWATCH_SLACK": "[1]"},
        'DLQWATCH_SLACK: expected JSON such as {"…": …}',
    ),
    "a misspelt key inside JSON": (
        {"DLQWATCH_QUEUES": '[{"name": "a", "treshold": 1}]'},
        'DLQWATCH_QUEUES: queues[0].treshold: unknown key, did you mean "threshold"?',
    ),
}


@pytest.mark.parametrize(("env", "words"), VARIABLES.values(), ids=VARIABLES.keys())
def test_a_bad_variable_is_refused_in_these_words(
    tmp_path: Path, env: dict[str, str], words: str
) -> None:
    assert refusal(tmp_path, BASE, env) == [words]


def test_every_problem_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        CLOUDFLARE.replace(ACCOUNT, "x").replace(TOKEN, "")
        + SLACK
        + '[alerts]\nthreshold = "x"\nzzz = 1\n[server]\nlisten = "x"\n'
    )
    starts = [line[: line.index(": ")] for line in refusal(tmp_path, text, {"DLQWATCH_Q": "1"})]
    assert starts == ["DLQWATCH_Q"] + [f"config.toml:{n}" for n in (2, 3, 7, 8, 10)]


def test_the_unfilled_example_says_what_to_fill_in(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "config.example.toml").read_text(encoding="utf-8")
    words = [line.partition(": ")[2] for line in refusal(tmp_path, text)]
    assert words == [
        "cloudflare.account_id: is empty: expected 32 hex digits, as they follow"
        " dash.cloudflare.com/ in the browser",
        "cloudflare.api_token: is empty: fill it in, or remove it",
        "slack.webhook_url: is empty: fill it in, or remove it",
    ]
