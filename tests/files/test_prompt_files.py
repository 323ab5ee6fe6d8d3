"""Prompt files: read anew for every prompt, never in the way, never another user's."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.files.folder import FilesFolder
from ricordo.files.prompt_files import PromptFiles, PromptTexts
from ricordo.limits import MAX_PROMPT_FILE_BYTES


@pytest.fixture
def folder(tmp_path: Path) -> FilesFolder:
    made = FilesFolder(tmp_path / "files", "ana")
    made.prompts.mkdir(parents=True)
    return made


def put(path: Path, held: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(held.encode() if isinstance(held, str) else held)


@pytest.mark.requirement("prompt.files")
def test_each_file_is_its_own_section(folder: FilesFolder) -> None:
    put(folder.prompts / "SOUL.md", "You are calm.\n")
    put(folder.prompts / "RULES.md", "\n- Be brief.\n- Be right.\n\n")
    put(folder.of("ana").profile, "- City: Bekasi")
    assert PromptFiles(folder).read("ana") == PromptTexts(
        "You are calm.", "- Be brief.\n- Be right.", "- City: Bekasi"
    )


@pytest.mark.requirement("prompt.files")
def test_an_edit_holds_at_once(folder: FilesFolder) -> None:
    files = PromptFiles(folder)
    soul = folder.prompts / "SOUL.md"
    assert files.read("ana").soul == ""
    put(soul, "First.")
    assert files.read("ana").soul == "First."
    before = soul.stat()
    put(soul, "Later.")  # the same length
    os.utime(soul, ns=(before.st_atime_ns, before.st_mtime_ns))  # and the same time
    assert files.read("ana").soul == "Later."
    soul.unlink()
    assert files.read("ana").soul == ""


@pytest.mark.requirement("prompt.files")
def test_without_files_there_is_nothing(folder: FilesFolder) -> None:
    assert PromptFiles(None).read("ana") == PromptTexts()
    assert PromptFiles(folder).read("ana") == PromptTexts()
    assert PromptFiles(FilesFolder(folder.top / "nowhere", "ana")).read("ana") == PromptTexts()
    put(folder.of("ana").profile, "<!-- nothing yet -->\n")
    assert PromptFiles(folder).read("ana") == PromptTexts()


@pytest.mark.requirement("prompt.files")
def test_comments_and_marks_are_not_sent(folder: FilesFolder) -> None:
    put(folder.prompts / "SOUL.md", b"\xef\xbb\xbf<!-- for\npeople -->\nYou are calm.<!--x--> Yes.")
    put(folder.prompts / "RULES.md", "Before <!-- that never ends")
    texts = PromptFiles(folder).read("ana")
    assert texts.soul == "You are calm. Yes."
    assert texts.rules == "Before <!-- that never ends"


@pytest.mark.requirement("prompt.files")
@pytest.mark.parametrize(
    ("held", "says"),
    [
        (b"First line\nM\xfcnchen", "is not UTF-8 text (line 2)"),
        (b"\xff\xfeS\x00o\x00u\x00l\x00", "is not UTF-8 text"),
        (b"So\x00ul", "NUL"),
        (b"x" * (MAX_PROMPT_FILE_BYTES + 1), "larger than"),
    ],
)
def test_a_bad_file_is_left_out_and_said_so(folder: FilesFolder, held: bytes, says: str) -> None:
    put(folder.prompts / "SOUL.md", held)
    put(folder.prompts / "RULES.md", "- Be brief.")
    texts = PromptFiles(folder).read("ana")
    assert (texts.soul, texts.rules) == ("", "- Be brief.")
    (problem,) = texts.problems
    assert "SOUL.md" in problem
    assert says in problem


@pytest.mark.requirement("prompt.files")
def test_what_is_no_file_is_left_out(folder: FilesFolder) -> None:
    (folder.prompts / "SOUL.md").mkdir()
    os.mkfifo(folder.prompts / "RULES.md")  # reading it would wait for ever
    texts = PromptFiles(folder).read("ana")
    assert (texts.soul, texts.rules, len(texts.problems)) == ("", "", 2)


@pytest.mark.requirement("prompt.files")
def test_the_largest_file_is_sent_whole(folder: FilesFolder) -> None:
    put(folder.prompts / "SOUL.md", "x" * MAX_PROMPT_FILE_BYTES)
    assert len(PromptFiles(folder).read("ana").soul) == MAX_PROMPT_FILE_BYTES


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=80).filter(
    lambda name: name != "*"
)


@pytest.mark.requirement("prompt.files-isolation")
@settings(max_examples=150, deadline=None)
@given(users=st.lists(NAMES, min_size=2, max_size=4, unique=True), top=st.integers(0, 4))
def test_nobody_gets_the_file_of_another(
    tmp_path_factory: pytest.TempPathFactory, users: list[str], top: int
) -> None:
    folder = FilesFolder(tmp_path_factory.mktemp("files"), users[top % len(users)])
    for number, user in enumerate(users):
        put(folder.of(user).profile, f"This is user {number}.")
    files = PromptFiles(folder)
    assert [files.read(user).user for user in users] == [
        f"This is user {number}." for number in range(len(users))
    ]


@pytest.mark.requirement("prompt.files-isolation")
@pytest.mark.parametrize(
    "nasty", ["../ana", "..", "people/ben", "a/../../prompts", "ANA", "ben\\..\\ana", "%61na"]
)
def test_a_name_is_no_way_to_the_file_of_another(folder: FilesFolder, nasty: str) -> None:
    for user in ("ana", "ben", "people"):
        put(folder.of(user).profile, f"Secrets of {user}")
    assert PromptFiles(folder).read(nasty).user == ""
    assert PromptFiles(folder).read("*").user == ""
