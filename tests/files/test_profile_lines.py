"""The lines of USER.md that are fields: only they change, and each change is made once."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.errors import InvalidInput
from ricordo.files.comments import comment_spans, without_comments
from ricordo.files.profile_lines import all_field_lines, field_lines, with_fields
from ricordo.limits import MAX_PROMPT_FILE_BYTES
from ricordo.model.profile import FieldChange, checked_change, field_content, field_key

CITY = {"city": ("City", "Bekasi")}
NO_CITY = {"city": None}


@pytest.mark.requirement("prompt.profile")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "- City: Bekasi\n"),
        ("Likes tea.\n", "Likes tea.\n\n- City: Bekasi\n"),
        ("Likes tea.", "Likes tea.\n- City: Bekasi\n"),
        ("- Tone: short\n", "- Tone: short\n- City: Bekasi\n"),
        ("- Tone: short\r\n", "- Tone: short\r\n- City: Bekasi\r\n"),
        ("- City: Porto\nMore.\n", "- City: Bekasi\nMore.\n"),
        ("a\n* CITY :  Porto  \nb", "a\n* CITY :  Bekasi  \nb"),
        ("- **City:** Porto\n", "- **City:** Bekasi\n"),
        ("- **City**: Porto\n", "- **City**: Bekasi\n"),
        ("- City:\n", "- City: Bekasi\n"),
        ("- City: Porto <!-- by the sea -->\n", "- City: Bekasi <!-- by the sea -->\n"),
        ("<!--\n- City: no\n-->\n", "<!--\n- City: no\n-->\n\n- City: Bekasi\n"),
        ("<!-- open\n- City: Porto\n", "<!-- open\n- City: Bekasi\n"),
        ("\ufeff- City: Porto\n", "\ufeff- City: Bekasi\n"),
        ("\ufeff", "\ufeff- City: Bekasi\n"),
        ("City: not a line of a list\n", "City: not a line of a list\n\n- City: Bekasi\n"),
        ("- City: one\n- City: two\n", "- City: Bekasi\n- City: two\n"),
    ],
)
def test_a_field_is_set_in_its_place(before: str, after: str) -> None:
    assert with_fields(before, CITY) == after
    assert with_fields(after, CITY) == after
    assert field_lines(after)["city"].value == "Bekasi"


@pytest.mark.requirement("prompt.profile")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a\n- City: Porto\nb\n", "a\nb\n"),
        ("a\n- City: Porto", "a\n"),
        ("- City: Porto\r\nb\r\n", "b\r\n"),
        ("\ufeff- City: Porto\nb", "\ufeffb"),
        ("- City: Porto <!-- mine -->\n", "- City:  <!-- mine -->\n"),
        ("- City: one\nb\n- city: two\n", "b\n"),
        ("<!--\n- City: no\n-->\n", "<!--\n- City: no\n-->\n"),
        ("- City hall: far\n", "- City hall: far\n"),
    ],
)
def test_a_field_is_taken_out(before: str, after: str) -> None:
    assert with_fields(before, NO_CITY) == after


@pytest.mark.requirement("prompt.profile")
def test_new_fields_stand_with_the_others() -> None:
    text = "# About\n\n- Tone: short <!-- a note\nof two lines -->\n\nThe end.\n"
    wanted = {"tone": ("Tone", "short"), **CITY}
    assert with_fields(text, wanted) == (
        "# About\n\n- Tone: short <!-- a note\nof two lines -->\n- City: Bekasi\n\nThe end.\n"
    )


PIECES = st.sampled_from(
    ["- City: Porto", "- Tone : dry", "* **City:** Rome", "- city:", "<!--", "-->", "- ", ":", "**"]
) | st.sampled_from(
    ["\n", "\n\n", "\r\n", "\r", "\ufeff", "\u2028", " ", "\t", "# About", "text", "City", "ß"]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=60)
LABELS = st.sampled_from(["City", "Tone", "Preferred name", "C++ level"]) | st.text(max_size=12)
VALUES = st.sampled_from(["Bekasi", "**bold**", "a: b", "- x", "#1", "x -> y", "…"]) | st.text(
    max_size=20
)


def allowed(label: str, value: str) -> bool:
    try:
        checked_change(label, value)
    except InvalidInput:
        return False
    return True


FIELDS = st.lists(
    st.tuples(LABELS, VALUES).filter(lambda pair: allowed(*pair)).map(lambda p: checked_change(*p)),
    max_size=4,
    unique_by=lambda change: change.key,
)


def others(text: str, keys: set[str]) -> str:
    """The text without the lines of these fields, and without line breaks that end it."""
    lines = {(line.start, line.end) for line in all_field_lines(text) if line.key in keys}
    kept, place = "", 0
    for start, end in sorted(lines):
        kept += text[place:start]
        place = end
    return (kept + text[place:]).rstrip("\r\n").removeprefix("\ufeff")


@pytest.mark.requirement("prompt.profile")
@settings(max_examples=600, deadline=None)
@given(text=TEXTS, changes=FIELDS)
def test_nothing_else_changes_and_twice_is_once(text: str, changes: list[FieldChange]) -> None:
    wanted = {change.key: (change.label, change.value or "") for change in changes}
    after = with_fields(text, wanted)
    assert with_fields(after, wanted) == after
    found = field_lines(after)
    assert {key: found[key].value for key in wanted} == {
        key: value for key, (_, value) in wanted.items()
    }
    untouched = {key: line for key, line in field_lines(text).items() if key not in wanted}
    assert {key: found[key].value for key in untouched} == {
        key: line.value for key, line in untouched.items()
    }
    removed = with_fields(after, dict.fromkeys(wanted))
    left = {line.key for line in all_field_lines(removed) if line.value}
    assert not left & set(wanted)


@pytest.mark.requirement("prompt.profile")
@settings(max_examples=600, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["text", "# About", "", "- Tea: yes", "<!-- c -->", "ü\r"])),
    ending=st.sampled_from(["", "\n"]),
    changes=FIELDS,
)
def test_the_rest_is_the_same_byte_for_byte(
    lines: list[str], ending: str, changes: list[FieldChange]
) -> None:
    text = "\n".join(lines) + ending
    wanted = {change.key: (change.label, change.value or "") for change in changes}
    wanted.pop("tea", None)
    after = with_fields(text, wanted)
    assert others(after, set(wanted)) == text.rstrip("\r\n").removeprefix("\ufeff")
    changed = {key: (label, f"{value} x") for key, (label, value) in wanted.items()}
    assert others(with_fields(after, changed), set(wanted)) == others(after, set(wanted))
    assert with_fields(with_fields(after, changed), wanted) == after


@pytest.mark.requirement("prompt.profile")
@settings(max_examples=300, deadline=None)
@given(change=st.tuples(LABELS, VALUES).filter(lambda pair: allowed(*pair)))
def test_a_field_reads_as_it_was_written(change: tuple[str, str]) -> None:
    checked = checked_change(*change)
    assert checked.key == field_key(checked.label)
    line = field_lines(f"- {field_content(checked.label, checked.value or '')}\n")[checked.key]
    assert line.value == checked.value


@pytest.mark.requirement("prompt.profile")
@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_comments_are_found_as_a_browser_finds_them(text: str) -> None:
    found = [match.span() for match in re.finditer(r"<!--.*?-->", text, re.DOTALL)]
    assert comment_spans(text) == found
    assert without_comments(text) == re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    inside = {
        line.start
        for line in all_field_lines(text)
        if any(start < line.start < end for start, end in found)
    }
    assert inside == set()


@pytest.mark.requirement("prompt.profile")
@pytest.mark.parametrize("piece", ["<!--", "<!---->\n- a: b\n"])
def test_a_file_full_of_comments_takes_no_ages(piece: str) -> None:
    text = piece * (MAX_PROMPT_FILE_BYTES // len(piece))
    labels = [f"Field {number}" for number in range(50)]
    wanted = {field_key(label): (label, "x") for label in labels}
    assert field_lines(with_fields(text, wanted)).keys() >= wanted.keys()
