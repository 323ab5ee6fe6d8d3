"""The files of the home folder, as editors, scripts and other programs may leave them."""

import contextlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.errors import RicordoError
from ricordo.files.home import UserFiles, comment_spans, without_comments
from ricordo.files.mirror_merge import Notes
from ricordo.files.mirror_text import (
    ShownMemory,
    as_written,
    body,
    decoded,
    digests,
    header,
    in_one_line,
    read_mirror,
)
from ricordo.files.profile import field_lines, with_fields
from ricordo.files.sync import Unreadable
from tests.files.mirrors import Mirrored
from tests.fuzz.mutating import (
    altered,
    json_values,
    mutated,
    mutated_bytes,
    odd_texts,
    well_formed,
)
from tests.fuzz.running import FUZZ, FUZZ_SLOWLY
from tests.fuzz.stores import fresh_user

pytestmark = pytest.mark.requirement("faults.fuzzed")

SHOWN = (
    ShownMemory(1, "general", "Likes tea"),
    ShownMemory(2, "places", "Lives in Porto\nsince 2019"),
    ShownMemory(30, "places", "⏎ \\⏎ and \r too"),
)
COPY = "0a1b-3"
MIRROR = header(COPY, 2) + body(SHOWN, ["what is this", "", "```", "- [5] x"])
MIRRORS = (
    MIRROR,
    MIRROR.replace("[1]", "\\[1\\]").replace("- ", "* "),
    "# Memory\n\n## Work ##\n- [ ] new\n  goes on\n    - nested\n\n~~~\ncode\n~~~\n## \n- lost\n",
    "<<<<<<< ours\n- [1] a\n=======\n- [1] b\n>>>>>>> theirs\n",
)
PROFILES = (
    "# About me\n\n- City: Bekasi\n- **Diet:** no pork\n* Job : nurse <!-- as of May -->\n",
    "\ufeff- City: Porto\r\n- Name: Ana\r\n<!--\n- City: hidden\n-->\r\n",
    "",
)
NOTES = {
    "version": 1,
    "user": "ana",
    "series": "0a1b",
    "newest": 3,
    "oldest": 1,
    "daily_reached": {"k": 4},
    "daily_since": "2026-01-31T12:00:00+00:00",
    "lines": [[1, "general", "d1", 1, None], [2, "places", "d2", 1, 2]],
}
stored_texts = odd_texts.map(well_formed)


@FUZZ
@given(stored_texts)
def test_a_text_in_one_line_is_the_text_again(content: str) -> None:
    line = in_one_line(content)
    assert "\n" not in line and "\r" not in line
    assert as_written(line) == content


@FUZZ
@given(stored_texts)
def test_any_line_stands_for_a_text_that_is_stable(line: str) -> None:
    text = as_written(line.replace("\n", " "))
    assert as_written(in_one_line(text)) == text


@FUZZ
@given(mutated(MIRRORS).map(well_formed))
def test_every_line_of_a_mirror_is_a_memory_or_left_over_and_none_is_both(text: str) -> None:
    found = read_mirror(text, digests(SHOWN))
    rows = re.split("\r?\n|\r", text)
    taken: set[int] = set()
    for part in (*found.lines, *found.leftovers):
        numbers = range(part.number, part.number + len(part.raw))
        assert [rows[number - 1] for number in numbers] == list(part.raw)
        assert taken.isdisjoint(numbers)
        taken.update(numbers)
    for line in found.lines:
        assert line.id is not None or line.theme is not None
    assert all(one >= 1 for one in found.mentioned()) or 0 in found.mentioned()


@FUZZ
@given(mutated_bytes([mirror.encode() for mirror in MIRRORS]))
def test_bytes_are_a_mirror_or_unreadable(held: bytes) -> None:
    with contextlib.suppress(Unreadable):
        text = decoded(held)
        notes = Notes(series="0a1b", newest=3)
        found = read_mirror(text, {})
        assert notes.base(found.copy) in (None, {})


@FUZZ
@given(
    st.one_of(
        altered([NOTES], list(NOTES)).map(lambda noted: json.dumps(noted).encode()),
        json_values(list(NOTES)).map(lambda noted: json.dumps(noted).encode()),
        mutated_bytes([json.dumps(NOTES).encode()]),
    )
)
def test_notes_that_others_wrote_are_read_or_begun_anew_and_can_be_saved(
    tmp_path: Path, held: bytes
) -> None:
    file = UserFiles("ana", tmp_path / "USER.md", tmp_path).mirror
    file.notes.write_bytes(held)
    try:
        file.check_owner()
    except RicordoError:  # another user's
        return
    notes = Notes.load(file)
    notes.base(notes.copy)
    notes.begin_copy(digests(SHOWN))
    notes.note_logged([("k", 1, datetime(2026, 1, 1, tzinfo=UTC))])
    notes.save(file)
    again = Notes.load(file)
    assert (again.copy, again.lines) == (notes.copy, notes.lines)
    base = again.base(again.copy)
    assert base == digests(SHOWN)


@FUZZ
@given(mutated(PROFILES).map(well_formed), stored_texts, stored_texts)
def test_a_profile_keeps_all_but_its_fields(text: str, city: str, job: str) -> None:
    value = " ".join(city.replace("<!--", "").replace("-->", "").split())
    if value:
        changed = with_fields(text, {"city": ("City", value)})
        assert with_fields(changed, {"city": ("City", value)}) == changed
    # A mark of byte order in the middle of a text is a part of its line, until that is the first.
    text = text[:1] + text[1:].replace("\ufeff", "")
    without = with_fields(text, {"city": None, "job": None})
    left = field_lines(without)
    for key in ("city", "job"):
        assert key not in left or left[key].has_comment or not left[key].value
    assert comment_spans(without_comments(text)) == [] or "<!--" in text


@FUZZ_SLOWLY
@given(mutated(MIRRORS).map(well_formed))
def test_a_mirror_in_any_state_is_taken_over_once_and_then_settled(
    file_store: Memory, text: str
) -> None:
    mirrored = Mirrored(file_store, fresh_user(file_store).scope.user_id)
    stored = {one.id: mirrored.user.add(one.content, theme=one.theme).id for one in SHOWN[:2]}
    mirrored.sync()
    # What was made up is about these very memories, and mostly about this very copy of the file.
    (copy,) = re.findall("mirror, copy ([0-9a-f-]+)", mirrored.text)
    edited = text.replace(COPY, copy)
    for number, item_id in stored.items():
        edited = edited.replace(f"[{number}]", f"[{item_id}]")
    before = mirrored.user.revision()
    mirrored.write(edited)
    report = mirrored.sync()
    if report.applied:
        mirrored.assert_settled()
    else:
        assert mirrored.user.revision() == before
        assert mirrored.path.read_bytes() == edited.encode("utf-8")
