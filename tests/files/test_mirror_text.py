"""How memories become lines and lines become memories, for every text there can be."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo import InvalidValue
from ricordo.files.folder import FilesFolder, folder_name
from ricordo.files.mirror_merge import merge
from ricordo.files.mirror_notes import Notes
from ricordo.files.mirror_reading import Unreadable, decoded, read_mirror
from ricordo.files.mirror_text import Shown, as_written, body, digests, header, in_one_line
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.text.normalise import slug

HOSTILE = (
    "- [3] x",
    "[3] x",
    "[ ] buy milk",
    "## heading",
    "## Not understood",
    "<!-- ricordo mirror, copy 0a-1",
    "-->",
    "```",
    "a\n\nb",
    "a ⏎ b",
    "⏎\n⏎",
    "\\⏎",
    "a\\\nb",
    "a \\\\⏎\\\n b",
    "a\r\nb␍\\␍\\\rc",
    "<<<<<<< HEAD",
    "* * *",
    "1. one",
    "\u202eright to left\u202c",
    "שלום\nעולם",
    "👩‍👩‍👧 family",
    "line\u2028separator\x85next\x0bvertical",
    "tab\there",
    "\ufeffmark",
    "    indented",
    "\u200b",
)
texts = (
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40),
        st.text(st.sampled_from("a⏎␍\\ \n\r-[]1#<!>`"), max_size=12),
        st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=3).map(" ".join),
    )
    .map(str.strip)
    .filter(bool)
)
themes = st.one_of(
    st.sampled_from(["general", "work", "not-understood", "日本", "a_b"]),
    st.text(max_size=8).map(slug).filter(bool),
)


@pytest.mark.requirement("files.mirror")
@given(texts)
@example("⏎\n")
def test_a_text_in_one_line_is_the_text_again(text: str) -> None:
    line = in_one_line(text)
    assert "\n" not in line and "\r" not in line
    assert as_written(line) == text


@pytest.mark.requirement("files.mirror")
@given(
    st.lists(st.tuples(themes, texts), max_size=8),
    st.lists(texts.map(in_one_line), max_size=3),
    st.booleans(),
)
def test_what_was_written_is_read_as_no_change(
    memories: list[tuple[str, str]], left: list[str], windows: bool
) -> None:
    shown = [Shown(number, *one) for number, one in enumerate(memories, start=1)]
    notes = Notes("ana")
    notes.begin_copy(digests(shown))
    text = header(notes.copy, hidden=len(left)) + body(shown, left)
    if windows:
        text = "\ufeff" + text.replace("\n", "\r\n")
    text = decoded(text.encode())
    base = notes.base(notes.copy)
    assert base is not None
    read = read_mirror(text, base)
    plan = merge(read, base, {one.id: one for one in shown}, allow_deletes=False)
    assert (plan.forgets, plan.replaces, plan.adds, plan.leftovers) == ([], [], [], [])
    assert read.waiting == left
    assert [as_written(line.text) for line in read.lines] == [
        one.content for one in sorted(shown, key=lambda one: (one.theme, one.id))
    ]


@pytest.mark.requirement("files.mirror-edits")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_file_is_read_without_loss(text: str) -> None:
    """Every sign of a file is in a memory or kept, whatever it is."""
    try:
        decoded(text.encode())
    except Unreadable:
        return
    read = read_mirror(text, {})
    kept = [row for line in read.lines for row in line.raw]
    kept += [row for left in read.leftovers for row in left.raw] + read.waiting
    for row in text.split("\n"):
        is_heading = row.startswith("##") and not row.startswith("###")
        if row.strip() and not is_heading and row.strip() != "# Memory":
            assert row.removesuffix("\r") in kept or row.removesuffix("\r")[4:] in kept


@pytest.mark.requirement("files.mirror")
@given(
    st.lists(
        st.dictionaries(st.integers(1, 6), st.tuples(themes, texts), max_size=6),
        min_size=1,
        max_size=6,
    )
)
def test_notes_know_what_every_copy_said(copies: list[dict[int, tuple[str, str]]]) -> None:
    notes = Notes("ana")
    said = []
    for copy in copies:
        shown = digests(Shown(item_id, *one) for item_id, one in copy.items())
        notes.begin_copy(shown)
        said.append((notes.copy, shown))
    for copy_name, shown in said:
        assert notes.base(copy_name) == shown
    assert notes.base(f"{notes.series}-{len(copies) + 1}") is None
    assert notes.base(f"{notes.series}-0") is None
    assert notes.base("ffff-1") is None
    assert notes.base(None) is None


@pytest.mark.requirement("files.mirror")
@given(st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=6))
@example(["A", "a", "..", ".", "con", "%63on", "CON", "a/b", "a%2fb", "x" * 200, "x" * 199 + "y"])
@example(["é" * 100, "é" * 99 + "e", "nul", "com1", "-", "_", "ÀÉ", "àé"])
def test_every_user_has_a_folder_of_their_own(names: list[str]) -> None:
    made = [folder_name(name) for name in names if name.isprintable()]
    assert len({name.casefold() for name in made}) == len(made)
    for name in made:
        assert re.fullmatch(r"[a-z0-9_%-]{1,120}", name)
        assert name not in ("con", "nul", "aux", "prn", "com1", "lpt9")


@pytest.mark.requirement("files.mirror")
def test_folders_tell_whose_they_are(tmp_path: Path) -> None:
    folder = FilesFolder(tmp_path, "me")
    for user_id in ("me", "ana", "Ana B/..", "con", "日本"):
        files = folder.of(user_id)
        files.memory.mkdir(parents=True)
        assert tmp_path in files.memory.parents
        assert ".." not in files.memory.parts
    (tmp_path / "people" / "no%zz" / "memory").mkdir(parents=True)
    (tmp_path / "people" / "me" / "memory").mkdir(parents=True)  # theirs lies at the top
    (tmp_path / "people" / "ben").mkdir()  # without a mirror
    found = [files.user_id for files in folder.mirrored()]
    assert sorted(found) == sorted(["me", "ana", "Ana B/..", "con", "日本"])
    assert found[0] == "me"
    with pytest.raises(InvalidValue, match="global memories have no files"):
        folder.of("*")
    with pytest.raises(InvalidValue, match="reserved"):
        FilesFolder(tmp_path, GLOBAL_OWNER)


_LONG = 1_000_000
"""Far more than a memory can have: what takes the square of it never comes to an end."""


@pytest.mark.requirement("faults.fuzzed")
def test_a_line_made_to_be_slow_comes_to_an_end() -> None:
    slashes = "\\" * _LONG
    assert as_written(slashes) == slashes
    assert as_written(in_one_line(f"{slashes}x\n")) == f"{slashes}x\n"
    (left,) = read_mirror(f"## a{'#' * _LONG}x\n- tea\n", {}).leftovers
    assert len(left.raw) == 2
    assert read_mirror(f"## Tea {'# ' * _LONG}\n- green\n", {}).lines[0].theme == "tea"
    opening = header("0a-1", 0).split("\n-->")[0]
    (left,) = read_mirror(f"{opening}\n{'1' * _LONG}z\n-->\n", {}).leftovers
    assert len(left.raw[0]) == _LONG + 1


@pytest.mark.requirement("faults.fuzzed")
def test_a_copy_with_a_number_that_nobody_can_read_is_not_known() -> None:
    text = header(f"0a-{'9' * 5_000}", 0)
    assert read_mirror(text, {}).copy is None


@pytest.mark.requirement("faults.fuzzed")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("series", "\ud800"),
        ("series", "../x"),
        ("newest", -1),
        ("newest", 10**30),
        ("lines", [[1, "\ud800", "d", 1, None]]),
        ("lines", [[1, "general", "\udc00", 1, None]]),
        ("lines", [[1, "general", "d", 1, 9]]),
        ("lines", [[1, "general", "d", 9, None]]),
        ("daily_reached", {"\ud800": 1}),
    ],
)
def test_notes_that_could_not_be_written_again_are_begun_anew(
    tmp_path: Path, name: str, value: object
) -> None:
    path = tmp_path / "notes.json"
    Notes("ana", series="0a", newest=3).save(path)
    noted = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**noted, name: value}), encoding="utf-8")
    notes = Notes.load(path, "ana")
    assert (notes.newest, notes.lines) == (0, [])
    notes.begin_copy(digests([Shown(2, "tea", "green")]))
    notes.save(path)
    assert Notes.load(path, "ana").base(notes.copy) == digests([Shown(2, "tea", "green")])
