"""On which line a key stands."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dlqwatch.config.lines import KeyPath, key_lines

TEXT = '''\
# a comment with = and [brackets]
top = 1
[a]            # line 3
b = "x # = ]"  # line 4
"q.u" = """
  [not.a.table]
  no = "key"
"""
lit = \'\'\'
[neither] = 1\'\'\'
c.d = [ "x]", # line 11
  "y", { e = 1, f = [
    2 ] } ,
]
[a.g]
h = {}
[[t]]
n = 1
[[t.u]]
n = 2
[[t.u]]
n = 3
[[t]]
[t.v]
n = 4
last = 1979-05-27T07:32:00Z'''


def test_every_key_of_a_file_with_everything_in_it_is_found_on_its_line() -> None:
    lines = key_lines(TEXT)
    assert lines == {
        ("top",): 2,
        ("a",): 3,
        ("a", "b"): 4,
        ("a", "q.u"): 5,
        ("a", "lit"): 9,
        ("a", "c"): 11,
        ("a", "c", "d"): 11,
        ("a", "c", "d", 0): 11,
        ("a", "c", "d", 1): 12,
        ("a", "c", "d", 2): 12,
        ("a", "c", "d", 2, "e"): 12,
        ("a", "c", "d", 2, "f"): 12,
        ("a", "c", "d", 2, "f", 0): 13,
        ("a", "g"): 15,
        ("a", "g", "h"): 16,
        ("t",): 17,
        ("t", 0): 17,
        ("t", 0, "n"): 18,
        ("t", 0, "u"): 19,
        ("t", 0, "u", 0): 19,
        ("t", 0, "u", 0, "n"): 20,
        ("t", 0, "u", 1): 21,
        ("t", 0, "u", 1, "n"): 22,
        ("t", 1): 23,
        ("t", 1, "v"): 24,
        ("t", 1, "v", "n"): 25,
        ("t", 1, "v", "last"): 26,
    }
    assert set(lines) == set(paths(tomllib.loads(TEXT)))


def paths(value: Any, at: KeyPath = ()) -> list[KeyPath]:
    """Every key path in what tomllib has read."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [p for key, inner in items for p in [(*at, key), *paths(inner, (*at, key))]]


SCALARS = st.sampled_from(
    [
        "1",
        "-0.5",
        "true",
        '""',
        '"a\\"]b"',
        "'#'",
        '"""\nx = 1\n""""',
        "'''\n[y]\n'''",
        "1979-05-27",
    ]
)


def _list(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    gap = st.sampled_from(["", " ", "\n", " # x ]\n"])
    return st.builds(
        lambda g, xs: f"[{g}{f'{g},{g}'.join(xs)}{g}]", gap, st.lists(inner, max_size=3)
    )


def _table(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    return pairs.map(lambda p: "{ " + ", ".join(f"{k} = {v}" for k, v in p.items()) + " }")


VALUES = st.recursive(SCALARS, lambda inner: _list(inner) | _table(inner), max_leaves=6)
BODIES = st.dictionaries(st.sampled_from(["k", "l.m", '"n"']), VALUES, max_size=3)
TABLES = st.lists(
    st.tuples(st.sampled_from(["[[x]]", "[[x]]\n[x.y]", "[[z.w]]"]), BODIES), max_size=4
)


@given(BODIES, TABLES)
def test_no_key_that_tomllib_reads_is_missed_and_none_is_invented(
    top: dict[str, str], tables: list[tuple[str, dict[str, str]]]
) -> None:
    parts = [("", top), *tables]
    text = "\n".join(
        [line for head, body in parts for line in [head, *(f"{k} = {v}" for k, v in body.items())]]
    )
    assert set(key_lines(text)) == set(paths(tomllib.loads(text)))
