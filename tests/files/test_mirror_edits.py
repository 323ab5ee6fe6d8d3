"""Whatever a person does to MEMORY.md, in any combination: what the file says is stored, and
nothing else is touched."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from ricordo import Item, Memory
from ricordo.files.mirror_text import in_one_line
from ricordo.model.theme_name import theme_slug
from tests.files.mirrors import Mirrored, places
from tests.files.test_mirror_text import HOSTILE

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


@pytest.mark.requirement("files.mirror-edits")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    stored=st.lists(st.tuples(headings, texts, st.booleans()), max_size=7),
    edits=st.lists(st.tuples(st.sampled_from(EDITS), headings, texts), max_size=8),
    seed=st.integers(0, 2**32),
)
def test_what_the_file_says_is_what_is_stored(
    store: Memory,
    stored: list[tuple[str, str, bool]],
    edits: list[tuple[str, str, str]],
    seed: int,
) -> None:
    dice = random.Random(seed)
    ana = Mirrored(store, f"user-{next(_users)}")
    for number, (heading, text, keyed) in enumerate(stored):
        ana.user.add(text, theme=heading, key=f"key {number}" if keyed else None)
    ana.sync()
    originals = ana.own()
    rows = [Row(item.theme, item.content, item.id) for item in originals]
    untouched = {row.says for row in rows}
    for kind, heading, text in edits:
        rows = edited(rows, kind, dice, heading, text)
    # A broken line can only be known again as long as it says what it said, under its number.
    rows = [row if row.says in untouched else replace(row, broken_at=None) for row in rows]
    ana.write(file_of(ana.text.split("\n## ")[0], rows, dice))
    report = ana.sync(allow_deletes=True)
    event(f"writes: {min(report.writes, 4)}")
    # What the file says is active, each in its theme, and nothing else is.
    assert report.applied
    assert "\n## Not understood\n" not in ana.text
    assert ana.places() == places(row.place for row in rows)
    # Nothing is lost: what is not active was changed or deleted by the person.
    for item in originals:
        now = ana.user.get(item.id, include_deleted=True)
        assert now.content == item.content
        last = ana.user.history(item.id)[-1]
        if now.status.value != "active":
            assert last.actor == "file"
            assert (item.theme, item.content, item.id) not in {row.says for row in rows}
    ana.assert_settled()


@pytest.mark.requirement("files.mirror-conflicts")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    stored=st.lists(st.tuples(headings, texts), min_size=1, max_size=6),
    edits=st.lists(st.tuples(st.sampled_from(EDITS), headings, texts), max_size=5),
    meanwhile=st.lists(
        st.tuples(st.sampled_from(["add", "supersede", "forget", "archive"]), texts), max_size=5
    ),
    copies=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_no_text_is_lost_when_both_sides_change(
    store: Memory,
    stored: list[tuple[str, str]],
    edits: list[tuple[str, str, str]],
    meanwhile: list[tuple[str, str]],
    copies: bool,
    seed: int,
) -> None:
    dice = random.Random(seed)
    ana = Mirrored(store, f"user-{next(_users)}")
    for heading, text in stored:
        ana.user.add(text, theme=heading)
    ana.sync()
    header = ana.text.split("\n## ")[0]
    first = {item.id: item for item in ana.own()}
    rows = [Row(item.theme, item.content, item.id) for item in first.values()]
    untouched = {row.says for row in rows}
    for kind, heading, text in edits:
        rows = edited(rows, kind, dice, heading, text)
    rows = [replace(row, broken_at=None) for row in rows]
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
    active = ana.places()
    # What the person wrote is there, unless it is a line they left as it was.
    for row in rows:
        if row.says not in untouched and not (row.number is None and row.place in places_of(first)):
            assert places([row.place]) <= active, row
    # What others did meanwhile is there, unless the person changed or deleted just that.
    for item in before.values():
        now = ana.user.get(item.id, include_deleted=True)
        if now.status.value != "active":
            assert ana.user.history(item.id)[-1].actor == "file"
            assert item.id in first
            assert (item.theme, item.content, item.id) not in {row.says for row in rows}
    assert report.applied
    ana.assert_settled()


def places_of(items: dict[int, Item]) -> set[tuple[str, str]]:
    return {(item.theme, item.content) for item in items.values()}


@pytest.fixture
def store(backend_url: str, open_store: Callable[..., Memory], tmp_path: Path) -> Memory:
    return open_store(backend_url, files=tmp_path / "files")
