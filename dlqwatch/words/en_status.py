"""One short phrase for each state, reason and outcome, for a status and a history, in English."""

from __future__ import annotations

from dlqwatch.model import (
    DestinationState,
    NoticeStatus,
    Reason,
    Resolution,
    SampleReason,
    State,
)

STATES = {
    State.UNKNOWN: "not read yet",
    State.INACTIVE: "quiet",
    State.PENDING: "waiting out hold_duration",
    State.FIRING: "alerting",
}
NOTICE_STATUSES = {
    NoticeStatus.PENDING: "waiting to be sent",
    NoticeStatus.DELIVERED: "delivered",
    NoticeStatus.SUPERSEDED: "told by a later message",
    NoticeStatus.SILENCED: "held back by a silence",
    NoticeStatus.DEAD: "may have arrived, not repeated",
}
DESTINATION_STATES = {
    DestinationState.OK: "works",
    DestinationState.FAILING: "failing, tried again by itself",
    DestinationState.NEEDS_PERSON: "broken until a person mends it",
}
RESOLUTIONS = {
    Resolution.HANDLED: "handled through dlqwatch",
    Resolution.REMOVED: "taken out elsewhere",
    Resolution.EXPIRED: "expired: lost",
    Resolution.DELETED: "queue deleted: lost",
    Resolution.UNKNOWN: "not known",
    Resolution.CLEARED: "put right",
    Resolution.DRILL: "a drill",
    Resolution.UNWATCHED: "no longer watched",
}
REASONS = {
    Reason.DRILL: "drill",
    Reason.LOST: "dead letters lost",
    Reason.RESOLVED: "over",
    Reason.FIRST_AND_RESOLVED: "first word, already over",
    Reason.FIRST: "first word",
    Reason.SILENCE_ENDED: "silence ended",
    Reason.EXPIRY_NEAR: "deadline near",
    Reason.SEVERITY_RAISED: "became critical",
    Reason.GROWN: "more landed",
    Reason.REPEAT: "reminder",
    Reason.RECONNECTED: "told again: it works again",
    Reason.RESTARTED: "told again after a restart",
    Reason.STARTED: "dlqwatch started",
    Reason.UNCLEAN_END: "dlqwatch had crashed",
}
SAMPLE_REASONS = {
    SampleReason.AGE_UNKNOWN: "Cloudflare did not say how old the oldest message is",
    SampleReason.AGE_IN_FUTURE: "the oldest message is dated in the future",
    SampleReason.EMPTY_WITH_REMAINS: "no message counted, yet a size or an age is given",
    SampleReason.BYTES_UNKNOWN: "the size is missing or makes no sense",
    SampleReason.UNREACHABLE: "Cloudflare could not be reached",
    SampleReason.TIMEOUT: "Cloudflare did not answer in time",
    SampleReason.TOO_LARGE: "the answer was too large",
    SampleReason.RATE_LIMITED: "Cloudflare asks to wait (rate limit)",
    SampleReason.SERVER_ERROR: "Cloudflare answered with a server error",
    SampleReason.NOT_JSON: "the answer was not JSON",
    SampleReason.REDIRECTED: "the answer was a redirect, which is not followed",
    SampleReason.BAD_TOKEN: "Cloudflare refused the API token",
    SampleReason.BAD_ACCOUNT: "Cloudflare knows no such account",
    SampleReason.QUEUE_GONE: "the queue no longer exists",
    SampleReason.QUEUE_NOT_LISTED: "the account has no queue of this name",
    SampleReason.REFUSED: "Cloudflare refused the request",
    SampleReason.NONSENSE: "the numbers can't be true",
}
