"""`python -m dlqwatch.sim`: both services on loopback until SIGINT or SIGTERM.

What it prints is a configuration for `dlqwatch run`; how to script the services is in its comments.
"""

from __future__ import annotations

import argparse
import signal
import sys
from threading import Event

from dlqwatch.sim.cloudflare import READ_TOKEN, WRITE_TOKEN, SimCloudflare
from dlqwatch.sim.faults import MAKERS
from dlqwatch.sim.slack import SimSlack

CONFIG = """\
# A Cloudflare and a Slack simulated on this machine, until Ctrl-C. This text is a config.toml.
#
#   curl -d n=3                          {cloudflare}/_sim/land      messages arrive
#   curl -d n=1                          {cloudflare}/_sim/take      someone removes the oldest
#   curl -X POST                         {cloudflare}/_sim/drain     someone removes all
#   curl -d '{{"queue": "other"}}'         {cloudflare}/_sim/create-queue
#   curl -d '{{"fault": "status", "code": 500, "times": 2}}' {cloudflare}/_sim/fail
#   curl -d '{{"fault": "hang", "after": true, "path": "postMessage"}}' {slack}/_sim/fail
#   curl -X POST                         {slack}/_sim/heal      forget the faults
#   curl -d archived=true                {slack}/_sim/channel   also: webhook, bot
#   curl {cloudflare}/_sim/state ; curl {slack}/_sim/messages
#
# Faults: {faults}.

[cloudflare]
account_id = "{account}"
api_token = "{read}"
operator_token = "{write}"
api_base_url = "{cloudflare}/client/v4"

[slack]
bot_token = "{bot}"
channel = "{channel}"
api_base_url = "{slack}/api/"
# or, instead of these three:
# webhook_url = "{webhook}"

[alerts]
poll_interval = "5s"

[[queues]]
name = "nemo12-events-dlq"
source = "nemo12-events"

[database]
path = "./dlqwatch-sim.db"
"""


def main(argv: list[str] | None = None) -> int:
    """Run both services; 0 when told to stop."""
    parser = argparse.ArgumentParser(
        "python -m dlqwatch.sim", description="A scripted Cloudflare and Slack on loopback."
    )
    parser.add_argument("--cloudflare-port", type=int, default=0, metavar="N")
    parser.add_argument("--slack-port", type=int, default=0, metavar="N")
    wanted = parser.parse_args(argv)
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with (
        SimCloudflare(port=wanted.cloudflare_port) as cloudflare,
        SimSlack(port=wanted.slack_port) as slack,
    ):
        cloudflare.create_pair()
        sys.stdout.write(
            CONFIG.format(
                cloudflare=cloudflare.url,
                slack=slack.url,
                faults=", ".join(MAKERS),
                account=cloudflare.account_id,
                read=READ_TOKEN,
                write=WRITE_TOKEN,
                bot=slack.bot_token,
                channel=slack.channel,
                webhook=slack.webhook_url,
            )
        )
        sys.stdout.flush()
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
