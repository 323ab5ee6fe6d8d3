import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.coding_agents import jsonc

COMMENTED = """{
  // how it looks
  "theme": "dark", // not light
  "hooks": {
    /* before anything */
    "Stop": [
      {"command": "say done"}, // loud
    ],
  },
  "last": 1 // the end
}
"""


def plain(text: str) -> Any:
    return jsonc.parse(text).value


def test_comments_and_trailing_commas_are_read() -> None:
    assert plain(COMMENTED) == {
        "theme": "dark",
        "hooks": {"Stop": [{"command": "say done"}]},
        "last": 1,
    }


def test_an_element_is_added_and_everything_else_stays() -> None:
    changed = jsonc.with_element(COMMENTED, ("hooks", "Stop"), {"command": "ricordo-hook"})
    assert plain(changed)["hooks"]["Stop"][1] == {"command": "ricordo-hook"}
    added = [line for line in changed.splitlines() if line not in COMMENTED.splitlines()]
    assert added == ["      {", '        "command": "ricordo-hook"', "      },"]
    taken = jsonc.without(changed, ("hooks", "Stop"), lambda one: "ricordo" in str(one))
    assert taken == COMMENTED


def test_a_member_goes_behind_the_last_comment_and_comes_back_out() -> None:
    changed = jsonc.with_member(COMMENTED, ("mcpServers", "ricordo"), {"command": "ricordo"})
    assert "1, // the end\n" in changed
    assert plain(changed)["mcpServers"] == {"ricordo": {"command": "ricordo"}}
    taken = jsonc.without(changed, ("mcpServers", "ricordo"))
    assert jsonc.without_empty(taken, ("mcpServers",)) == COMMENTED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{"b": 2,}', '{"b": 2, "a": 1,}'),
        ('{"a": [1, 2]}', '{"a": 1}'),
        ('{\r\n\t"b": 2\r\n}\r\n', '{\r\n\t"b": 2,\r\n\t"a": 1\r\n}\r\n'),
        ("{ // why\n}", '{ // why\n  "a": 1\n}'),
        ('\ufeff{"b": 2}', '\ufeff{"b": 2, "a": 1}'),
        ('{"a": 0, "a": 5}', '{"a": 0, "a": 1}'),
    ],
)
def test_a_member_is_written_as_its_neighbours_are(before: str, after: str) -> None:
    assert jsonc.with_member(before, ("a",), 1) == after


def test_a_line_comment_before_what_is_taken_out_swallows_nothing() -> None:
    text = '{"b": 2, // note\n "a": 1, "c": 3}'
    assert plain(jsonc.without(text, ("a",))) == {"b": 2, "c": 3}
    text = '{"b": 2, // note\n "a": 1}'
    assert plain(jsonc.without(text, ("a",))) == {"b": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{'a': 1}",
        '{"a": tru}',
        "{} {}",
        "[" * 300,
        '{"a": "\\x"}',
    ],
)
def test_what_is_no_json_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(jsonc.NotJson, match=r"line \d+, column \d+"):
        jsonc.parse(text)


@pytest.mark.parametrize(("text", "path"), [("[]", ("a",)), ('{"a": 1}', ("a", "b"))])
def test_what_is_no_object_gets_no_member(text: str, path: tuple[str, ...]) -> None:
    with pytest.raises(jsonc.NotJson, match="not an object"):
        jsonc.with_member(text, path, 1)


def test_what_is_no_list_gets_no_element() -> None:
    with pytest.raises(jsonc.NotJson, match="not a list"):
        jsonc.with_element('{"a": {}}', ("a",), 1)


KEYS = st.sampled_from(["a", "b", "hooks", "é", "x y"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
SPACES = st.sampled_from(["", " ", "\n", "\n  ", " // note\n", " /* note */ ", "\r\n\t"])


@st.composite
def commented(draw: st.DrawFn, value: Any) -> str:
    """A value as somebody may have written it."""
    space = lambda: draw(SPACES)  # noqa: E731
    if isinstance(value, dict | list) and value:
        opener, closer = "{}" if isinstance(value, dict) else "[]"
        parts = [
            space()
            + (f"{json.dumps(one)}{space()}:{space()}" if isinstance(value, dict) else "")
            + draw(commented(value[one] if isinstance(value, dict) else one))
            + space()
            for one in value
        ]
        end = draw(st.sampled_from(["", ","]))
        return f"{opener}{','.join(parts)}{end}{space()}{closer}"
    return json.dumps(value)


@given(st.data(), st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_text_gets_a_member_and_gives_it_back(data: st.DataObject, value: Any) -> None:
    text = data.draw(commented(value))
    assert plain(text) == value
    changed = jsonc.with_member(text, ("ours", "it"), {"command": ["x"]})
    assert plain(changed) == {**value, "ours": {"it": {"command": ["x"]}}}
    taken = jsonc.without_empty(jsonc.without(changed, ("ours", "it")), ("ours",))
    assert plain(taken) == value
    if value:
        assert taken == text


@given(st.data(), st.lists(VALUES, min_size=1, max_size=4))
def test_any_list_gets_an_element_and_gives_it_back(data: st.DataObject, value: Any) -> None:
    text = data.draw(commented({"list": value}))
    changed = jsonc.with_element(text, ("list",), {"command": "ricordo"})
    assert plain(changed) == {"list": [*value, {"command": "ricordo"}]}
    ours = {"command": "ricordo"}
    assert jsonc.without(changed, ("list",), lambda one: one == ours) == text


@given(st.data(), st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_any_member_can_be_taken_out(data: st.DataObject, value: Any) -> None:
    text = data.draw(commented(value))
    name = data.draw(st.sampled_from(sorted(value)))
    del value[name]
    assert plain(jsonc.without(text, (name,))) == value
