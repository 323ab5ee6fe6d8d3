"""Whatever a person does to MEMORY.md, in any combination: what the file says is stored, and
nothing else is touched."""

import itertools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo import InvalidValue, Memory
from ricordo.files.home import FilesFolder, folder_name
from ricordo.files.mirror_text import (
    as_written,
    decoded,
    header,
    in_one_line,
    read_mirror,
)
from ricordo.files.sync import Unreadable
from ricordo.model.checks import theme_slug
from ricordo.model.vocabulary import GLOBAL_OWNER
from tests.files.mirrors import Mirrored, places

pytestmark = pytest.mark.requirement("files.mirror")

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

_users = itertools.count()
_WORDS = ("tea", "Tea.", "black cat", "lives in Porto", "rows", "tea - [4] cake", *HOSTILE)
texts = (
    st.one_of(
        st.sampled_from(_WORDS),
        st.lists(st.sampled_from(_WORDS), min_size=2, max_size=4).map(" ".join),
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
    )
    .map(str.strip)
    .filter(bool)
)
headings = st.sampled_from(["general", "Work", "free time", "Not-Understood", "Πράγματα"])
EDITS = ("add", "change", "delete", "break", "duplicate", "renumber", "move", "retitle", "unnumber")


@dataclass(frozen=True)
class Row:
    """A line of the file as a person sees it."""

    heading: str
    text: str
    number: int | None
    broken_at: int | None = None

    @property
    def place(self) -> tuple[str, str]:
        return theme_slug(self.heading), self.text

    @property
    def says(self) -> tuple[str, str, int | None]:
        """What it comes to, however the heading is written."""
        return *self.place, self.number

    def written(self) -> str:
        text = in_one_line(self.text)
        if self.number is None:
            return f"- \\{text}" if text.lstrip("\\").startswith("[") else f"- {text}"
        if self.broken_at is not None:
            text = f"{text[: self.broken_at]}\n  {text[self.broken_at + 1 :]}"
        return f"- [{self.number}] {text}"


def edited(rows: list[Row], kind: str, dice: random.Random, heading: str, text: str) -> list[Row]:
    """What a person makes of the lines."""
    if kind == "add" or not rows:
        return [*rows, Row(heading, text, None)]
    at = dice.randrange(len(rows))
    row = rows[at]
    before, after = rows[:at], rows[at + 1 :]
    if kind == "delete":
        return before + after
    if kind == "duplicate":
        return [*before, row, row, *after]
    if kind == "retitle":
        old = row.heading
        return [replace(one, heading=heading) if one.heading == old else one for one in rows]
    made = {
        "change": lambda: replace(row, text=text, broken_at=None),
        "break": lambda: broken(row, dice),
        "renumber": lambda: replace(row, number=None if row.number is None else dice.randint(1, 9)),
        "move": lambda: replace(row, heading=heading),
        "unnumber": lambda: replace(row, number=None, broken_at=None),
    }[kind]()
    return [*before, made, *after]


def broken(row: Row, dice: random.Random) -> Row:
    """A line with a break where a space was, if what follows does not look like another memory."""
    text = in_one_line(row.text)
    spaces = [
        at
        for at in range(1, len(text) - 1)
        if text[at] == " " and text[at - 1].strip() and text[at + 1].strip()
    ]
    spaces = [at for at in spaces if not text[at + 1 :].startswith(("- [", "* [", "+ [", "<<<"))]
    return replace(row, broken_at=dice.choice(spaces)) if spaces else row


def file_of(header: str, rows: list[Row], dice: random.Random) -> str:
    """The rows under their headings, in any order."""
    shuffled = dice.sample(rows, len(rows))
    parts = [header]
    for heading in dict.fromkeys(row.heading for row in shuffled):
        parts += ["", f"## {heading}", ""]
        parts += [row.written() for row in shuffled if row.heading == heading]
    return "\n".join([*parts, ""])


@pytest.mark.slow
@pytest.mark.requirement("files.mirror-edits")
@pytest.mark.requirement("files.mirror-conflicts")
@given(
    stored=st.lists(st.tuples(headings, texts, st.booleans()), max_size=7),
    edits=st.lists(st.tuples(st.sampled_from(EDITS), headings, texts), max_size=8),
    meanwhile=st.lists(
        st.tuples(st.sampled_from(["add", "supersede", "forget", "archive"]), texts), max_size=5
    ),
    copies=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_what_the_file_says_is_stored_and_no_text_is_lost(
    store: Memory,
    stored: list[tuple[str, str, bool]],
    edits: list[tuple[str, str, str]],
    meanwhile: list[tuple[str, str]],
    copies: bool,
    seed: int,
) -> None:
    dice = random.Random(seed)
    ana = Mirrored(store, f"user-{next(_users)}")
    for number, (heading, text, keyed) in enumerate(stored):
        ana.user.add(text, theme=heading, key=f"key {number}" if keyed else None)
    ana.sync()
    header = ana.text.split("\n## ")[0]
    first = {item.id: item for item in ana.own()}
    rows = [Row(item.theme, item.content, item.id) for item in first.values()]
    untouched = {row.says for row in rows}
    for kind, heading, text in edits:
        rows = edited(rows, kind, dice, heading, text)
    # A broken line can only be known again as long as it says what it said, under its number.
    may_break = untouched if not meanwhile else set()
    rows = [row if row.says in may_break else replace(row, broken_at=None) for row in rows]
    for kind, text in meanwhile:
        own = ana.own()
        target = dice.choice(own).id if own else None
        if kind == "add" or target is None:
            ana.user.add(text)
        elif kind == "supersede":
            ana.user.add(text, supersedes=target)
        else:
            (ana.user.forget if kind == "forget" else ana.user.archive)(target)
        if copies:  # the file is written anew while the person still edits the first copy
            ana.sync()
    before = {item.id: item for item in ana.own()}
    ana.write(file_of(header, rows, dice))
    report = ana.sync(allow_deletes=True)
    assert report.applied
    active = ana.places()
    if not meanwhile:  # what the file says is active, each in its theme, and nothing else is
        assert "\n## Not understood\n" not in ana.text
        assert active == places(row.place for row in rows)
    # What the person wrote is there, unless it is a line they left as it was.
    known = {(item.theme, item.content) for item in first.values()}
    for row in rows:
        if row.says not in untouched and not (row.number is None and row.place in known):
            assert places([row.place]) <= active, row
    # What was there, whoever put it there, is, unless the person changed or deleted just that.
    for item in before.values():
        now = ana.user.get(item.id, include_deleted=True)
        assert now.content == item.content
        if now.status.value != "active":
            assert ana.user.history(item.id)[-1].actor == "file"
            assert item.id in first
            assert (item.theme, item.content, item.id) not in {row.says for row in rows}
    ana.assert_settled()


@pytest.fixture
def store(backend_url: str, open_store: Callable[..., Memory], tmp_path: Path) -> Memory:
    return open_store(backend_url, files=tmp_path / "files")


@given(st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=6))
@example(["A", "a", "..", ".", "con", "%63on", "CON", "a/b", "a%2fb", "x" * 200, "x" * 199 + "y"])
@example(["é" * 100, "é" * 99 + "e", "nul", "com1", "-", "_", "ÀÉ", "àé"])
def test_every_user_has_a_folder_of_their_own(names: list[str]) -> None:
    made = [folder_name(name) for name in names if name.isprintable()]
    assert len({name.casefold() for name in made}) == len(made)
    for name in made:
        assert re.fullmatch(r"[a-z0-9_%-]{1,120}", name)
        assert name not in ("con", "nul", "aux", "prn", "com1", "lpt9")


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
    with pytest.raises(InvalidValue, match="global memories and groups have no files"):
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
    assert read_mirror(header(f"0a-{'9' * 5_000}", 0), {}).copy is None


@given(texts)
@example("⏎\n")
def test_a_text_in_one_line_is_the_text_again(text: str) -> None:
    line = in_one_line(text)
    assert "\n" not in line and "\r" not in line
    assert as_written(line) == text


@pytest.mark.requirement("files.mirror-edits")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_file_is_read_without_loss(text: str) -> None:
    try:
        decoded(text.encode())
    except Unreadable:
        return
    read = read_mirror(text, {})
    kept = [row for line in read.lines for row in line.raw]
    kept += [row for left in read.leftovers for row in left.raw] + read.waiting
    for row in re.split("\r?\n|\r", text):
        is_heading = row.startswith("##") and not row.startswith("###")
        if row.strip() and not is_heading and row.strip() != "# Memory":
            assert row in kept or row[4:] in kept


@pytest.mark.requirement("files.mirror-edits")
@pytest.mark.parametrize("text", ["\x00\r\r", "# Memory\r\r## Work\r- [ ] new\n  goes on\n"])
def test_line_ends_of_any_kind_are_settled_at_once(
    open_store: Callable[..., Memory], sqlite_url: str, tmp_path: Path, text: str
) -> None:
    mirrored = Mirrored(open_store(sqlite_url, files=tmp_path / "files"), "ana")
    mirrored.user.add("Likes tea")
    mirrored.sync()
    mirrored.write(text)
    mirrored.sync()
    mirrored.assert_settled()
