"""The judge knows each documented limit: at it is taken, one over is refused with a pointer."""

from __future__ import annotations

from typing import Any

import pytest

from dlqwatch.sim.blockkit import judge, pings


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def section(text: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "section", "text": mrkdwn(text), **more}


def button(**more: Any) -> dict[str, Any]:
    return {"type": "button", "text": plain("x"), **more}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


def image(**more: Any) -> dict[str, Any]:
    return {"type": "image", "image_url": "https://x.example/a.png", "alt_text": "x", **more}


def url(length: int) -> str:
    return "https://x.example/".ljust(length, "a")


LIMITS = [
    ("blocks", 50, lambda n: [{"type": "divider"}] * n, "/blocks"),
    ("section text", 3_000, lambda n: [section("x" * n)], "/blocks/0/text/text"),
    (
        "fields",
        10,
        lambda n: [{"type": "section", "fields": [plain("x")] * n}],
        "/blocks/0/fields",
    ),
    (
        "field text",
        2_000,
        lambda n: [{"type": "section", "fields": [mrkdwn("x" * n)]}],
        "/blocks/0/fields/0/text",
    ),
    (
        "header",
        150,
        lambda n: [{"type": "header", "text": plain("x" * n)}],
        "/blocks/0/text/text",
    ),
    (
        "context elements",
        10,
        lambda n: [{"type": "context", "elements": [plain("x")] * n}],
        "/blocks/0/elements",
    ),
    (
        "context text",
        3_000,
        lambda n: [{"type": "context", "elements": [mrkdwn("x" * n)]}],
        "/blocks/0/elements/0/text",
    ),
    ("actions", 25, lambda n: [actions(*[button()] * n)], "/blocks/0/elements"),
    (
        "button text",
        75,
        lambda n: [actions(button(text=plain("x" * n)))],
        "/blocks/0/elements/0/text/text",
    ),
    ("button url", 3_000, lambda n: [actions(button(url=url(n)))], "/blocks/0/elements/0/url"),
    ("value", 2_000, lambda n: [actions(button(value="x" * n))], "/blocks/0/elements/0/value"),
    (
        "action_id",
        255,
        lambda n: [actions(button(action_id="x" * n))],
        "/blocks/0/elements/0/action_id",
    ),
    ("block_id", 255, lambda n: [section(block_id="x" * n)], "/blocks/0/block_id"),
    ("image_url", 3_000, lambda n: [image(image_url=url(n))], "/blocks/0/image_url"),
    ("alt_text", 2_000, lambda n: [image(alt_text="x" * n)], "/blocks/0/alt_text"),
    ("image title", 2_000, lambda n: [image(title=plain("x" * n))], "/blocks/0/title/text"),
    ("markdown", 12_000, lambda n: [{"type": "markdown", "text": "x" * n}], "/blocks/0/text"),
]


@pytest.mark.parametrize(
    ("most", "make", "pointer"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS]
)
def test_a_limit_is_taken_and_one_more_is_refused(most: int, make: Any, pointer: str) -> None:
    assert judge(make(most)) == []
    (wrong,) = judge(make(most + 1))
    assert wrong.endswith(f" [json-pointer:{pointer}]")


@pytest.mark.parametrize(
    ("block", "pointer"),
    [
        ({"type": "nope"}, "/blocks/0/type"),
        ({"type": "alert", "text": plain("x")}, "/blocks/0/type"),  # not allowed in messages
        ({}, "/blocks/0/type"),
        ("x", "/blocks/0"),
        ({"type": "section"}, "/blocks/0"),
        (section(""), "/blocks/0/text/text"),
        ({"type": "section", "text": "x"}, "/blocks/0/text"),
        ({"type": "section", "text": {"type": "mrkdwn"}}, "/blocks/0/text/text"),
        ({"type": "section", "fields": []}, "/blocks/0/fields"),
        ({"type": "header", "text": mrkdwn("x")}, "/blocks/0/text/type"),
        ({"type": "context", "elements": []}, "/blocks/0/elements"),
        ({"type": "context"}, "/blocks/0"),
        ({"type": "divider", "colour": "red"}, "/blocks/0"),
        ({"type": "section", "text": {**mrkdwn("x"), "emoji": True}}, "/blocks/0/text"),
        ({"type": "section", "text": {**plain("x"), "verbatim": True}}, "/blocks/0/text"),
        (actions(button(text=mrkdwn("x"))), "/blocks/0/elements/0/text/type"),
        (actions(button(style="loud")), "/blocks/0/elements/0/style"),
        (section(accessory=button(url="nope")), "/blocks/0/accessory/url"),
        ({"type": "image", "image_url": "https://x.example/a.png"}, "/blocks/0"),
        ({"type": "image", "alt_text": "x"}, "/blocks/0"),
        (image(slack_file={"id": "F1"}), "/blocks/0"),
        ({"type": "rich_text", "elements": [{"type": "text"}]}, "/blocks/0/elements/0/type"),
    ],
)
def test_what_slack_would_not_understand_is_refused_where_it_is(block: Any, pointer: str) -> None:
    (wrong,) = judge([block])
    assert wrong.endswith(f" [json-pointer:{pointer}]")


@pytest.mark.parametrize(
    "bad", ["", "https://", "http:/x", "ftp://x.example", "x.example/a", "https:// x.example"]
)
def test_a_button_url_needs_http_and_a_host(bad: str) -> None:
    wrong = judge([actions(button(url=bad))])
    assert any("/blocks/0/elements/0/url" in words for words in wrong)


def test_ids_that_appear_twice_are_refused() -> None:
    assert judge([section(block_id="a"), section(block_id="a")])
    assert judge([actions(button(action_id="a"), button(action_id="a"))])


def test_markdown_counts_over_all_blocks() -> None:
    half = {"type": "markdown", "text": "x" * 6_001}
    assert len(judge([half, half])) == 1


def test_an_attachments_blocks_and_footer_are_judged_too() -> None:
    wrong = judge(None, [{"blocks": [{"type": "nope"}], "footer": "x" * 301}])
    assert [w.split(" [")[1] for w in wrong] == [
        "json-pointer:/attachments/0/blocks/0/type]",
        "json-pointer:/attachments/0/footer]",
    ]


def test_an_ordinary_message_is_taken() -> None:
    blocks = [
        {"type": "header", "text": {**plain("x"), "emoji": True}},
        section("*x*", block_id="a"),
        {"type": "divider"},
        {"type": "context", "elements": [mrkdwn("x"), image()]},
        actions(button(url="http://127.0.0.1:80/x", style="danger")),
        {
            "type": "rich_text",
            "elements": [
                {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x"}]}
            ],
        },
    ]
    assert judge(blocks) == []


@pytest.mark.parametrize(
    ("text", "blocks", "who"),
    [
        ("<!here> and <!subteam^S1|ops> and <@U1>", [], ("!here", "!subteam^S1", "@U1")),
        ("@here &lt;!channel&gt;", [], ()),
        ("<!date^1^{date}|then>", [], ()),
        ("", [section("@here")], ("!here",)),
        ("", [section("mail@here.example")], ()),
        ("", [{"type": "section", "text": {**mrkdwn("@here"), "verbatim": True}}], ()),
        ("", [{"type": "header", "text": plain("@here <!channel>")}], ()),
        (
            "",
            [{"type": "rich_text", "elements": [{"type": "broadcast", "range": "here"}]}],
            ("!here",),
        ),
    ],
)
def test_who_is_pinged_is_who_slack_would_ping(text: str, blocks: Any, who: Any) -> None:
    assert pings(text, blocks) == who
