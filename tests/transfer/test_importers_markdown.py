"""Importing Markdown bullet lists."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import ImportFailed, Memory, Source, UserMemory
from ricordo.testing.clock import ManualClock
from ricordo.transfer.importers import IMPORTERS

NOTES = """\
---
title: notes
- not: a memory
---
# About Ana

Some words before the list.

- Has a cat
  called Miso

  and feeds it twice a day
- Likes:
    - green tea
    * [ ] to read
    - [x] cycling

Food & Drink
------------
1. Prefers tea
2) Never drinks coffee

* * *

```python
- print("not a memory")
```

**Work:**
+ Teaches biology
\t+ at a school
Closing words,
in two lines.
## !!!
- Under a heading without letters
## C# ##
- Writes programs
"""


@pytest.fixture
def ana(open_store: Callable[..., Memory], sqlite_url: str) -> UserMemory:
    return open_store(sqlite_url).user("ana")


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """A Markdown file with this in it."""

    def write(text: str | bytes) -> Path:
        path = tmp_path / "notes.md"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return write


@pytest.mark.requirement("transfer.markdown")
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_bullets_become_memories_under_their_headings(
    ana: UserMemory, written: Callable[[str], Path], clock: ManualClock, line_end: str
) -> None:
    report = ana.import_file(written(NOTES.replace("\n", line_end)))
    assert (report.format, report.added) == ("markdown", 11)
    assert [(item.theme, item.content) for item in ana.list(sort="id", order="asc")] == [
        ("about-ana", "Has a cat called Miso and feeds it twice a day"),
        ("about-ana", "Likes:"),
        ("about-ana", "green tea"),
        ("about-ana", "to read"),
        ("about-ana", "cycling"),
        ("food-drink", "Prefers tea"),
        ("food-drink", "Never drinks coffee"),
        ("work", "Teaches biology"),
        ("work", "at a school"),
        ("general", "Under a heading without letters"),
        ("c", "Writes programs"),
    ]
    assert report.skipped == {"code blocks": 1, "front matter": 1, "text outside bullets": 2}
    assert {(item.source, item.created_at) for item in ana.list()} == {(Source.FILE, clock())}


@pytest.mark.requirement("transfer.markdown")
def test_the_same_file_again_changes_nothing(
    ana: UserMemory, written: Callable[[str], Path]
) -> None:
    path = written(NOTES)
    ana.import_file(path)
    revision = ana.revision()
    again = ana.import_file(path)
    assert (again.added, again.updated, again.duplicates) == (0, 0, 11)
    assert ana.revision() == revision


@pytest.mark.requirement("transfer.markdown")
def test_what_cannot_be_kept_is_left_out_and_counted(
    ana: UserMemory, written: Callable[[str], Path]
) -> None:
    report = ana.import_file(written(f"\ufeff-\n- {'x' * 8_001}\n- kept\x00\n# {'t' * 65}\n- too"))
    assert {(item.theme, item.content) for item in ana.list()} == {
        ("general", "kept"),
        ("general", "too"),
    }
    assert report.skipped == {"empty": 1, "longer than 8000 characters": 1}


@pytest.mark.requirement("transfer.markdown")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one\n\n  two\nthree\n  four", ["one two"]),
        ("- a\n```\n- b\n~~~\n- c\n```\n- d", ["a", "d"]),
        ("~~~~\n- a\n~~~\n- b\n~~~~\n- c", ["c"]),
        ("```inline```\n- a\n", ["a"]),
        ("- a\n```\n- never closed", ["a"]),
        ("---\n- a\n", ["a"]),
        ("-5 degrees\n1.5 km\n**b** and **c**\n- a - b", ["a - b"]),
        ("- - -\n___\n- [x]\n- [link](x)", ["[link](x)"]),
    ],
)
def test_what_counts_as_a_bullet(
    ana: UserMemory, written: Callable[[str], Path], text: str, expected: list[str]
) -> None:
    ana.import_file(written(text))
    assert [item.content for item in ana.list(sort="id", order="asc")] == expected


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no Markdown bullets"),
        ("Just text.\n\n    and more", "no Markdown bullets"),
        ("```\n- only code\n```", "no Markdown bullets"),
        (b"- caf\xe9", "not text in UTF-8 (byte 5)"),
    ],
)
def test_a_wrong_file_is_refused(
    ana: UserMemory, written: Callable[[str | bytes], Path], text: str | bytes, message: str
) -> None:
    path = written(text)
    for format_name in ("markdown", "auto"):
        with pytest.raises(ImportFailed) as failed:
            ana.import_file(path, format=format_name)
        assert message in str(failed.value)
        assert str(path) in str(failed.value)
    assert ana.revision() == 0


LINES = st.lists(
    st.sampled_from(["- ", "  * ", "1. ", "# ", "```", "~~~", "---", "==", "**a**", "", "\t", "x"])
    | st.text(st.characters(codec="utf-8"), max_size=20)
).map("\n".join)


@pytest.mark.requirement("transfer.bad-files")
@given(text=st.text(st.characters(codec="utf-8")) | LINES)
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.md"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        found = IMPORTERS["markdown"](path)
    except ImportFailed as failed:
        assert str(path) in str(failed)
    else:
        assert found.memories or found.skipped
