"""JSON as models write it: found, read, and nothing made up."""

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.limits import MAX_ANSWER_DEPTH, MAX_MODEL_ANSWER_CHARS
from ricordo.providers import json_repair
from ricordo.providers.json_repair import read_object, without_thinking

pytestmark = pytest.mark.requirement("formation.structured-output")

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)
PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{<"))


def parse_object(text: str) -> dict[str, object]:
    """The first object in the text, whatever it is."""
    return read_object(text, lambda found: found)


@given(OBJECTS, PROSE, PROSE, st.sampled_from([None, 0, 2]), st.booleans())
def test_an_object_in_noise_comes_back_equal(
    value: dict[str, Any], before: str, after: str, indent: int | None, is_ascii: bool
) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert parse_object(written) == value
    assert parse_object(f"{before}{written}{after}") == value
    assert parse_object(f"Sure!\n```json\n{written}\n```\nAnything else?") == value


LITERALS = st.recursive(st.none() | st.booleans() | TEXTS, st.lists, max_leaves=12)


@given(st.dictionaries(TEXTS, LITERALS, max_size=5))
def test_a_python_literal_comes_back_equal(value: dict[str, Any]) -> None:
    """Where Python and JSON write their escapes alike."""
    written = repr(value)
    if "\\x" not in written and "\\U" not in written:
        assert parse_object(written) == value


@given(OBJECTS, st.data())
def test_what_is_cut_off_is_never_more_than_was_there(
    value: dict[str, Any], data: st.DataObject
) -> None:
    written = json.dumps(value)
    cut = written[: data.draw(st.integers(1, len(written)))]
    try:
        found = parse_object(cut)
    except ValueError:
        return
    assert is_part(found, value)


def is_part(found: Any, whole: Any) -> bool:
    if isinstance(found, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(found[name], whole[name]) for name in found)
    if isinstance(found, list) and isinstance(whole, list):
        pairs = zip(found, whole, strict=False)
        return len(found) <= len(whole) and all(is_part(one, other) for one, other in pairs)
    if isinstance(found, str) and isinstance(whole, str):
        # A character beyond the first plane is written as two halves, and the cut may be there.
        return whole.startswith((found, found[:-1]))
    return found == whole or found in beginnings(json.dumps(whole))


def beginnings(number: str) -> list[Any]:
    """Every number that begins the one that is written."""
    found = []
    for end in range(1, len(number)):
        with contextlib.suppress(ValueError):
            found.append(json.loads(number[:end]))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ("{'a': 'it is', 'b': True, 'c': None}", {"a": "it is", "b": True, "c": None}),
        ("{'a': 'it's ana's'}", {"a": "it's ana's"}),
        (r"""{'a': 'it\'s "so"'}""", {"a": 'it\'s "so"'}),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{a: 1, b_c: "x"}', {"a": 1, "b_c": "x"}),
        ('{"a": {"b": [1, {"c": 2}', {"a": {"b": [1, {"c": 2}]}}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b"', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": "unfinished', {"a": "unfinished"}),
        ('```json\n{"a": [1, 2]\n```\nDone.', {"a": [1, 2]}),
        ('Use {name} like so: {"a": 1}', {"a": 1}),
        ('{ {"a": 1}', {"a": 1}),
        ('<think>{"a": 0} or so?</think>{"a": 1}', {"a": 1}),
        ('hm, {"a": 0}?</think>\n{"a": 1,}', {"a": 1}),
        ('<think>hm</think>{"a": "</think>"}', {"a": "</think>"}),
        ('{"a": "</think>"}', {"a": "</think>"}),
        ('Sure: {"a": "</think>"}', {"a": "</think>"}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": 1} {"a": 2}', {"a": 1}),
        ('{"a": 1}}}', {"a": 1}),
        ("{}", {}),
    ],
)
def test_what_models_write(text: str, expected: dict[str, Any]) -> None:
    assert parse_object(text) == expected


NO_OBJECTS = [
    "", "no JSON here", "[1, 2]", '"text"', "null", "}{", '{"a" 1}', '{"a": }', '{"a": nope}',
    '{"a": NaN}', '{"a": Infinity}', '{"a": tru', '{"a": 01}', '{"a": "\\d"}', '{"a": "\\',
    '<think>{"a": 1} or',
    '{"a": 1 "b": 2}', '{"a": "x"; "b": "y"}', "{'a': 'x'; 'b': 'y'}", '{"a": [1, 2}',
    '{"items": [{"a": 1}, {"a": 2} oops', "{" * 1_000, '{"a":' * (MAX_ANSWER_DEPTH + 1) + "1",
    '{"a": ' + "9" * 10_000 + ",}", "x" * (MAX_MODEL_ANSWER_CHARS + 1),
]  # fmt: skip


def test_what_is_no_object() -> None:
    for text in NO_OBJECTS:
        with pytest.raises(ValueError):
            parse_object(text)


@given(st.text() | st.text(alphabet="{}[]\"'\\:,` \n1etTrueNonal<think>/"))
def test_no_text_is_more_than_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(parse_object(text), dict)


def test_the_first_that_is_accepted() -> None:
    def accept(found: dict[str, object]) -> object:
        if found.get("b") != 1:
            raise ValueError(f"{found} is not it")
        return found["b"]

    assert read_object('For {"a": 1} say: {"b": 1}', accept) == 1
    with pytest.raises(ValueError, match="'a': 1} is not it"):
        read_object('{"a": 1} {"c": 1}', accept)
    with pytest.raises(ValueError, match="'c': 1} is not it"):
        read_object('{oops} {"c": 1}', accept)


def test_an_open_end_is_closed_only_where_that_is_wanted_and_accepted() -> None:
    text = '{"a": "unfin'
    assert read_object(text, dict) == {"a": "unfin"}
    with pytest.raises(ValueError, match="not a JSON object"):
        read_object(text, dict, close_open_ends=False)
    assert read_object('{"a": 1} and so', dict, close_open_ends=False) == {"a": 1}


def test_thinking_is_left_out() -> None:
    assert without_thinking("<think>hm</think> Tea.") == " Tea."
    assert without_thinking("Tea.") == "Tea."
    assert without_thinking("hm</think> Tea.") == " Tea."
    assert without_thinking(" <think>hm, Tea.") == ""


HOSTILE = [
    "{", '{"a":', '{"a":[', "{'", "{'a", '{"', '{"a": "\\', "{a", "{a:1,", "{ ", "[", '{"a":1} ',
    "{'a':'b'c", "```{", "{\n",
]  # fmt: skip


@given(st.sampled_from(HOSTILE), st.integers(1, 3_000))
def test_nothing_is_read_twice(piece: str, count: int) -> None:
    """Each reading begins at or after where the one before came to, so work is linear."""
    text = (piece * count)[:MAX_MODEL_ANSWER_CHARS]
    found = list(json_repair.readings(text))
    for one, other in itertools.pairwise(found):
        assert other.start >= max(one.start + 1, one.end)
    assert sum(reading.end - reading.start + 1 for reading in found) <= 3 * len(text)


@pytest.mark.slow
def test_the_longest_hostile_texts_come_to_an_end() -> None:
    for piece in HOSTILE:
        with contextlib.suppress(ValueError):
            parse_object((piece * MAX_MODEL_ANSWER_CHARS)[:MAX_MODEL_ANSWER_CHARS])


@pytest.mark.requirement("faults.fuzzed")
def test_an_answer_that_is_nested_too_deeply_is_none_also_where_it_is_valid_json() -> None:
    def nested(depth: int) -> str:
        return '{"a":' * depth + "1" + "}" * depth

    assert parse_object(nested(MAX_ANSWER_DEPTH))
    for depth in (MAX_ANSWER_DEPTH + 1, 900, 960, 990):
        with pytest.raises(ValueError, match="nested deeper"):
            parse_object(nested(depth))
