"""Prompt files: read anew for every prompt, never in the way, never another user's."""

import os
from pathlib import Path

import pytest

from ricordo.files.home import (
    RULES_STARTER,
    SOUL_STARTER,
    USER_STARTER,
    FilesFolder,
    PromptFiles,
    PromptTexts,
    without_comments,
)
from ricordo.limits import MAX_PROMPT_FILE_BYTES
from tests.support.commandline import ricordo

pytestmark = [pytest.mark.requirement("prompt.files"), pytest.mark.requirement("prompt.init")]


@pytest.fixture
def folder(tmp_path: Path) -> FilesFolder:
    made = FilesFolder(tmp_path / "files", "ana")
    made.prompts.mkdir(parents=True)
    return made


def put(path: Path, held: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(held.encode() if isinstance(held, str) else held)


def test_each_file_is_its_own_section_and_an_edit_holds_at_once(folder: FilesFolder) -> None:
    files = PromptFiles(folder)
    soul = folder.prompts / "SOUL.md"
    put(soul, "You are calm.\n")
    put(folder.prompts / "RULES.md", "\n- Be brief.\n- Be right.\n\n")
    put(folder.of("ana").profile, "- City: Bekasi")
    assert files.read("ana") == PromptTexts(
        "You are calm.", "- Be brief.\n- Be right.", "- City: Bekasi"
    )
    before = soul.stat()
    put(soul, "You are kind.\n")  # the same length
    os.utime(soul, ns=(before.st_atime_ns, before.st_mtime_ns))  # and the same time
    assert files.read("ana").soul == "You are kind."
    put(soul, "x" * MAX_PROMPT_FILE_BYTES)
    assert len(files.read("ana").soul) == MAX_PROMPT_FILE_BYTES
    soul.unlink()
    assert files.read("ana").soul == ""


def test_without_files_there_is_nothing(folder: FilesFolder) -> None:
    assert PromptFiles(None).read("ana") == PromptTexts()
    assert PromptFiles(folder).read("ana") == PromptTexts()
    assert PromptFiles(FilesFolder(folder.top / "nowhere", "ana")).read("ana") == PromptTexts()
    put(folder.of("ana").profile, "<!-- nothing yet -->\n")
    assert PromptFiles(folder).read("ana") == PromptTexts()


def test_comments_and_marks_are_not_sent(folder: FilesFolder) -> None:
    put(folder.prompts / "SOUL.md", b"\xef\xbb\xbf<!-- for\npeople -->\nYou are calm.<!--x--> Yes.")
    put(folder.prompts / "RULES.md", "Before <!-- that never ends")
    texts = PromptFiles(folder).read("ana")
    assert texts.soul == "You are calm. Yes."
    assert texts.rules == "Before <!-- that never ends"


def test_a_bad_file_is_left_out_and_said_so(folder: FilesFolder) -> None:
    soul, rules = folder.prompts / "SOUL.md", folder.prompts / "RULES.md"
    put(rules, "- Be brief.")
    for held, says in (
        (b"First line\nM\xfcnchen", "is not UTF-8 text (line 2)"),
        (b"\xff\xfeS\x00o\x00u\x00l\x00", "is not UTF-8 text"),
        (b"So\x00ul", "NUL"),
        (b"x" * (MAX_PROMPT_FILE_BYTES + 1), "larger than"),
    ):
        put(soul, held)
        texts = PromptFiles(folder).read("ana")
        assert (texts.soul, texts.rules) == ("", "- Be brief.")
        (problem,) = texts.problems
        assert "SOUL.md" in problem
        assert says in problem
    for path in (soul, rules):
        path.unlink()
    soul.mkdir()
    os.mkfifo(rules)  # reading it would wait for ever
    texts = PromptFiles(folder).read("ana")
    assert (texts.soul, texts.rules, len(texts.problems)) == ("", "", 2)


@pytest.mark.requirement("prompt.files-isolation")
def test_a_name_is_no_way_to_the_file_of_another(folder: FilesFolder) -> None:
    for user in ("ana", "ben", "people"):
        put(folder.of(user).profile, f"Secrets of {user}")
    for nasty in (
        "../ana",
        "..",
        "people/ben",
        "a/../../prompts",
        "ANA",
        "ben\\..\\ana",
        "%61na",
        "*",
    ):
        assert PromptFiles(folder).read(nasty).user == ""


def prompts_of(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((home / "prompts").glob("[!.]*"))}


def test_it_makes_a_home(own_home: Path) -> None:
    ran = ricordo("init")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("Made ") == 5
    assert "Next:" in ran.out
    before = prompts_of(own_home)
    assert before == {
        "RULES.md": RULES_STARTER.encode(),
        "SOUL.md": SOUL_STARTER.encode(),
        "USER.md": USER_STARTER.encode(),
    }
    assert without_comments(USER_STARTER).strip() == ""
    again = ricordo("init", "--json").json
    assert (again["user"], again["made"]) == ("me", [])
    made = ["SOUL.md", "RULES.md", "USER.md", "memory", "ricordo.db"]
    assert [Path(path).name for path in again["present"]] == made
    assert prompts_of(own_home) == before
    other = ricordo("init", "--user", "ben", "--json").json
    assert [str(Path(path).relative_to(own_home)) for path in other["made"]] == [
        "people/ben/USER.md",
        "people/ben/memory",
    ]


def test_nothing_that_is_there_is_touched(own_home: Path) -> None:
    soul = own_home / "prompts" / "SOUL.md"
    soul.parent.mkdir(parents=True)
    soul.write_bytes(b"mine \xff")
    (own_home / "prompts" / "USER.md").symlink_to(own_home / "nowhere")
    assert ricordo("add", "Prefers tea").code == 0
    report = ricordo("init", "--json").json
    assert [Path(path).name for path in report["present"]] == ["SOUL.md", "USER.md", "ricordo.db"]
    assert soul.read_bytes() == b"mine \xff"
    assert not (own_home / "nowhere").exists()
    assert ricordo("list", "--json").json["items"][0]["content"] == "Prefers tea"


def test_another_database_needs_a_folder(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.db"
    ran = ricordo("init", "--db", other)
    assert ran.code == 2
    assert "RICORDO_FILES" in ran.err
    assert not other.exists()
    assert not own_home.exists()
    monkeypatch.setenv("RICORDO_FILES", str(tmp_path / "elsewhere"))
    report = ricordo("init", "--db", other, "--json").json
    assert report["folder"] == str(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "prompts" / "RULES.md").exists()
    assert other.exists()


def test_what_cannot_be_made_is_an_error(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "prompts").write_text("a file in the place of the folder")
    ran = ricordo("init", "--json")
    assert ran.code == 9
    assert ran.error["error"] == "FilesUnavailable"
    assert ricordo("init", "--user", " ").code == 2
