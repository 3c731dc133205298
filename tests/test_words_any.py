"""Whatever the facts, names and addresses: Slack can show the message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.facts import (
    BlindFacts,
    DepthFacts,
    Deviation,
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
    DestinationKind,
    DeviationKind,
    Reason,
    Resolution,
    SampleReason,
    Severity,
    StoreTrouble,
)
from dlqwatch.sim.blockkit import pings
from dlqwatch.words import en
from dlqwatch.words import slack as words
from tests.wording import NOW, TEAM, judge

numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(NOW - 10 * DAY, NOW + 10 * DAY)
depths = st.integers(-3, 12) | st.integers(0, 10**9)
names = st.text(max_size=90) | st.text("<>&`*@!|^\n", max_size=6_000) | st.just("q" * 5_000)
urls = st.text(max_size=40) | st.text(":/[]<>|&a.", max_size=30).map("https://".__add__)
texts = names | st.just("") | st.just("npx wrangler <!channel> `x`" * 40)
shared = {
    "at": numbers,
    "opened_at": numbers,
    "severity": st.sampled_from(Severity),
    "resolved_at": st.none() | numbers,
    "resolution": st.none() | st.sampled_from(Resolution),
    "mark_ms": st.none() | numbers,
    "runbook_url": urls,
    "silenced_until": st.none() | numbers,
    "silenced_by": texts,
    "held": depths,
    "acked_by": texts,
    "ack_note": texts,
}
depth_facts = st.builds(
    DepthFacts,
    **shared,
    depth=depths,
    bytes=st.none() | numbers,
    oldest_at=st.none() | numbers,
    retention_ms=st.none() | numbers,
    threshold=depths,
    peak_depth=depths,
    told_depth=st.none() | depths,
    lost=depths,
    lost_at_most=st.none() | depths,
    removed=depths,
    handled=depths,
    left_unknown=depths,
    seen=st.booleans(),
    qg009=st.booleans(),
)
blind_facts = st.builds(
    BlindFacts,
    **shared,
    unseen=st.lists(
        st.builds(
            UnseenQueue,
            name=names,
            reason=st.sampled_from(SampleReason),
            detail=texts,
            since=numbers,
            last_depth=st.none() | depths,
        ),
        max_size=15,
    ).map(tuple),
    needs_person=st.booleans(),
    found=st.lists(
        st.builds(SeenQueue, name=names, depth=depths, before=st.none() | depths), max_size=15
    ).map(tuple),
)
wiring_facts = st.builds(
    WiringFacts,
    **shared,
    source=texts,
    deviations=st.lists(
        st.builds(
            Deviation,
            kind=st.sampled_from(DeviationKind),
            is_=texts,
            expected=texts,
            cure=texts,
            critical=st.booleans(),
        ),
        max_size=15,
    ).map(tuple),
)
store_facts = st.builds(
    StoreFacts,
    **shared,
    path=texts,
    trouble=st.sampled_from(StoreTrouble),
    detail=texts,
    waiting=numbers,
    kept_aside=texts,
)
publish_facts = st.builds(
    PublishFacts,
    **shared,
    worker=texts,
    needle=texts,
    count=numbers,
    total=numbers,
    window_from=numbers,
    window_to=numbers,
)
started_facts = st.builds(
    StartedFacts,
    version=names,
    queues=st.lists(names, max_size=60).map(tuple),
    poll_ms=numbers,
    host=names,
    database_new=st.booleans(),
    version_before=names,
    not_kept=st.lists(names, max_size=60).map(tuple),
    not_acted_on=st.lists(names, max_size=60).map(tuple),
    last_seen_at=st.none() | numbers,
    unclean_ends=depths,
)
mentions = st.sampled_from([TEAM, "<@U1>", "<!here>"]) | st.text(max_size=20)
tellings = st.builds(
    Telling,
    reason=st.sampled_from(Reason),
    subject=names,
    incident=st.none() | st.integers(1, 10**9),
    facts=st.one_of(
        depth_facts, blind_facts, wiring_facts, store_facts, publish_facts, started_facts
    ),
    created_at=numbers,
    sent_at=numbers,
    kind=st.sampled_from(DestinationKind),
    in_thread=st.booleans(),
    repeat=st.booleans(),
    mentions=st.lists(mentions, max_size=60).map(tuple),
    dashboard_url=urls,
)


@given(tellings)
def test_whatever_the_facts_slack_can_show_the_message(telling: Telling) -> None:
    """No facts, names or addresses break a limit, cut a token, or raise."""
    for payload in (words.render(telling), words.render_card(telling), words.render_plain(telling)):
        judge(payload)
        assert set(pings(payload.text, payload.blocks)) <= {"!subteam^S0123456789", "@U1", "!here"}
    assert en.LAST_RESORT not in words.render_plain(telling).text
    assert "\n" not in en.first_line(telling, words.BLOCK)
