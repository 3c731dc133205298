"""What the settings say: defaults, overrides, precedence, and what is derived from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from dlqwatch.config.settings import Settings
from dlqwatch.model import DAY, HOUR, MINUTE, SECOND, DestinationKind, QueueRules
from tests.configs import ACCOUNT, BASE, CLOUDFLARE, HOOK, TOKEN, refusal, settings

BOT = '[slack]\nbot_token = "xoxb-canary"\nchannel = "C0123456789"\n'


def test_two_tables_are_enough_and_nemo12_s_queue_is_watched(tmp_path: Path) -> None:
    rules = settings(tmp_path).rules()
    assert rules == (QueueRules(name="nemo12-events-dlq", source="nemo12-events"),)


def test_the_defaults_here_and_in_the_model_are_the_same(tmp_path: Path) -> None:
    made = settings(tmp_path, BASE + '[[queues]]\nname = "q"\n').rules()
    assert made == (QueueRules(name="q"),)


def test_a_queue_s_own_key_wins_over_alerts_and_the_rest_is_inherited(tmp_path: Path) -> None:
    text = (
        BASE + '[alerts]\nthreshold = 5\npoll_interval = "10s"\nrunbook_url = "https://r.example"\n'
        '[[queues]]\nname = "a"\nthreshold = 1\ncritical_age = "2d"\n[[queues]]\nname = "b"\n'
    )
    a, b = settings(tmp_path, text).rules()
    assert (a.threshold, a.poll_ms, a.runbook_url) == (1, 10 * SECOND, "https://r.example")
    assert (a.critical_age_share, a.critical_age_ms) == (None, 2 * DAY)
    assert (b.threshold, b.poll_ms) == (5, 10 * SECOND)
    assert (b.critical_age_share, b.critical_age_ms) == (0.5, None)


def test_every_alerts_key_can_be_set_for_one_queue(tmp_path: Path) -> None:
    keys = (
        'poll_interval = "2s"\nthreshold = 3\nhold_duration = "4s"\nkeep_firing_for = "5s"\n'
        'group_interval = "6s"\nrepeat_interval = "7s"\nrepeat_interval_critical = "8s"\n'
        'critical_depth = 9\ncritical_age = "10%"\nexpiry_warnings = ["11s"]\n'
        'blind_after = "12s"\naudit_interval = "13s"\nsource_max_age = "14s"\n'
        'runbook_url = "http://r.example/x"\n'
    )
    here = settings(tmp_path, BASE + '[[queues]]\nname = "q"\nsource = "s"\n' + keys).rules()[0]
    assert here == QueueRules(
        name="q",
        source="s",
        max_retries=5,
        poll_ms=2000,
        threshold=3,
        hold_ms=4000,
        keep_ms=5000,
        group_ms=6000,
        repeat_ms=7000,
        repeat_critical_ms=8000,
        critical_depth=9,
        critical_age_share=0.1,
        critical_age_ms=None,
        expiry_warnings_ms=(11000,),
        blind_after_ms=12000,
        audit_ms=13000,
        source_max_age_ms=14000,
        runbook_url="http://r.example/x",
    )
    there = settings(tmp_path, BASE + "[alerts]\n" + keys + '[[queues]]\nname = "q"\nsource="s"\n')
    assert there.rules()[0] == here


def test_what_a_queue_should_be_like_is_its_own(tmp_path: Path) -> None:
    """Unset: no consumer, and no less retention than was seen before."""
    text = (
        BASE + '[[queues]]\nname = "a"\nretention = "4d"\nconsumer = true\n[[queues]]\nname = "b"\n'
    )
    a, b = settings(tmp_path, text).rules()
    assert (a.retention_ms, a.may_have_consumer) == (4 * DAY, True)
    assert (b.retention_ms, b.may_have_consumer) == (None, False)


def test_expiry_warnings_are_sorted_the_earliest_mark_first(tmp_path: Path) -> None:
    text = BASE + '[alerts]\nexpiry_warnings = ["1h", "24h", "6h", "1h"]\n'
    assert settings(tmp_path, text).alerts.expiry_warnings == (24 * HOUR, 6 * HOUR, HOUR)
    assert (
        settings(tmp_path, BASE + "[alerts]\nexpiry_warnings = []\n").alerts.expiry_warnings == ()
    )


def test_the_environment_wins_over_secret_files_and_they_over_the_file(tmp_path: Path) -> None:
    text = BASE + '[alerts]\nthreshold = 2\nblind_after = "2m"\npoll_interval = "2s"\n'
    files = {"dlqwatch_alerts__threshold": "3\n", "dlqwatch_alerts__blind_after": "3m"}
    env = {"DLQWATCH_ALERTS__THRESHOLD": "4"}
    found = settings(tmp_path, text, env, files).alerts
    assert (found.threshold, found.blind_after, found.poll_interval) == (4, 3 * MINUTE, 2 * SECOND)


def test_lists_and_all_queues_come_from_the_environment_as_json(tmp_path: Path) -> None:
    env = {
        "DLQWATCH_QUEUES": json.dumps([{"name": "a", "poll_interval": "7s"}, {"name": "b"}]),
        "DLQWATCH_ALERTS__EXPIRY_WARNINGS": '["1h", "2h"]',
        "DLQWATCH_SLACK__MENTION_CRITICAL": '["<!here>"]',
        "DLQWATCH_HEARTBEAT": '{"interval": "2m"}',
    }
    found = settings(tmp_path, BASE + '[[queues]]\nname = "c"\n', env)
    assert [(r.name, r.poll_ms) for r in found.rules()] == [("a", 7000), ("b", 30000)]
    assert found.alerts.expiry_warnings == (2 * HOUR, HOUR)
    assert found.destinations()[0].mentions == ("<!here>",)
    assert found.heartbeat.interval == 2 * MINUTE


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    env = {"DLQWATCH_CLOUDFLARE__API_TOKEN": "", "DLQWATCH_ALERTS__THRESHOLD": ""}
    found = settings(tmp_path, BASE, env)
    assert found.cloudflare.read_api_token() == TOKEN
    assert found.alerts.threshold == 1


def test_what_kubernetes_sets_for_a_service_named_dlqwatch_passes(tmp_path: Path) -> None:
    env = {
        "DLQWATCH_PORT": "tcp://10.0.0.1:8080",
        "DLQWATCH_PORT_8080_TCP_ADDR": "10.0.0.1",
        "DLQWATCH_SERVICE_HOST": "10.0.0.1",
        "DLQWATCH_SERVICE_PORT_HTTP": "8080",
        "DLQWATCH_METRICS_SERVICE_HOST": "10.0.0.2",
        "DLQWATCH_METRICS_PORT": "tcp://10.0.0.2:9",
        "DLQWATCH_METRICS_PORT_9_TCP": "tcp://10.0.0.2:9",
        "DLQWATCH_CONFIG": "x",
        "DLQWATCHER": "somebody else's",
    }
    assert refusal(tmp_path, BASE, env) == []


def test_a_webhook_and_a_bot_are_destinations(tmp_path: Path) -> None:
    text = (
        CLOUDFLARE + BOT + 'mention_critical = ["<!subteam^S0123456789>", "<@U1>"]\n'
        f'[slack.fallback]\nwebhook_url = "{HOOK}"\n'
    )
    bot, hook = settings(tmp_path, text).destinations()
    assert (bot.name, bot.kind, bot.channel) == ("slack", DestinationKind.BOT, "C0123456789")
    assert bot.mentions == ("<!subteam^S0123456789>", "<@U1>")
    assert (hook.name, hook.kind, hook.channel) == ("slack.fallback", DestinationKind.WEBHOOK, "")


def test_a_fingerprint_changes_with_the_address_but_not_with_a_bot_s_new_token(
    tmp_path: Path,
) -> None:
    def print_of(slack: str) -> str:
        return settings(tmp_path, CLOUDFLARE + slack).destinations()[0].fingerprint

    assert print_of(BOT) == print_of(BOT.replace("canary", "rolled"))
    assert print_of(BOT) != print_of(BOT.replace("C01", "C02"))
    hook = f'[slack]\nwebhook_url = "{HOOK}"\n'
    assert print_of(hook) == print_of(hook)
    assert print_of(hook) != print_of(hook.replace("B0", "B1"))
    assert HOOK.rpartition("/")[2] not in print_of(hook)


def test_addresses_are_kept_in_one_spelling(tmp_path: Path) -> None:
    text = (
        CLOUDFLARE
        + 'api_base_url = "http://127.0.0.1:1/client/v4/"\n'
        + BOT
        + 'api_base_url = "http://localhost:2/api"\n'
    )
    found = settings(tmp_path, text)
    assert found.cloudflare.api_base_url == "http://127.0.0.1:1/client/v4"
    assert found.slack.api_base_url == "http://localhost:2/api/"


def test_only_what_somebody_has_set_is_listed_as_not_acted_on(tmp_path: Path) -> None:
    assert settings(tmp_path).not_acted_on() == ()
    off = '[server]\nlisten = ""\n[heartbeat]\nurl = ""\n'
    assert settings(tmp_path, BASE + off).not_acted_on() == ()
    text = (
        CLOUDFLARE + 'operator_token = "t"\n' + BOT + f'[slack.fallback]\nwebhook_url = "{HOOK}"\n'
        '[heartbeat]\nurl = "https://h.example/1"\nfail_url = "https://h.example/2"\n'
        '[server]\nlisten = "[::1]:9"\n[publish_failures]\nworker = "nemo12-api"\n'
    )
    assert settings(tmp_path, text).not_acted_on() == (
        "cloudflare.operator_token",
        "server.listen",
    )


def test_the_settings_fingerprint_follows_settings_and_not_secrets(tmp_path: Path) -> None:
    first = settings(tmp_path).fingerprint()
    assert settings(tmp_path).fingerprint() == first
    assert settings(tmp_path, BASE.replace(TOKEN, "another")).fingerprint() == first
    assert settings(tmp_path, BASE + "[alerts]\nthreshold = 2\n").fingerprint() != first


def test_settings_can_not_be_changed(tmp_path: Path) -> None:
    found = settings(tmp_path)
    with pytest.raises(ValidationError, match="frozen"):
        found.alerts.threshold = 2
    with pytest.raises(ValidationError, match="frozen"):
        found.alerts = found.alerts


def test_settings_made_directly_take_nothing_from_the_process_environment() -> None:
    made = Settings.model_validate(
        {
            "cloudflare": {"account_id": ACCOUNT.upper(), "api_token": f"  {TOKEN}\n"},
            "slack": {"webhook_url": HOOK},
        }
    )
    assert made.cloudflare.account_id == ACCOUNT
    assert made.cloudflare.read_api_token() == TOKEN
    assert made.slack.read_webhook_url() == HOOK
    assert made.slack.read_bot_token() is None
    assert made.cloudflare.read_operator_token() is None
