"""Importing folders of files, on the disk and as archives."""

import json
from pathlib import Path

import pytest

from ricordo import ImportFailed, UserMemory, limits
from tests.transfer.conftest import Zip
from tests.transfer.test_importers_systems import AT, GRAPH

PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
FILES: dict[str, bytes] = {
    "notes.txt": b"Plays chess\nDrinks tea\n",
    "2025/food.md": b"# Food\n\n- Eats no meat\n",
    "2025/cat.png": PICTURE,
    "graph/memory.jsonl": "\n".join(map(json.dumps, GRAPH[:1])).encode(),
    ".obsidian/workspace.json": b"{broken",
}
SAID = [
    "Drinks tea",
    "Eats no meat",
    "Plays chess",
    "The user works nights",
    "The user: Speaks Portuguese",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files of several kinds."""
    for name, content in FILES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "notes"


def contents(user: UserMemory) -> list[str]:
    return sorted(one.content for one in user.list())


@pytest.mark.requirement("transfer.folders")
def test_each_file_is_read_as_what_it_is(ana: UserMemory, folder: Path) -> None:
    report = ana.import_file(folder, consented=True)
    assert (report.format, report.added) == ("folder", 5)
    assert report.skipped == {"files that are no text": 1}
    assert contents(ana) == SAID
    assert ana.import_file(folder, consented=True).duplicates == 5


@pytest.mark.requirement("transfer.folders")
def test_an_archive_is_a_folder(ana: UserMemory, zipped: Zip) -> None:
    path = zipped(dict(FILES))
    report = ana.import_file(path, consented=True)
    assert (report.format, report.added, contents(ana)) == ("folder", 5, SAID)
    path = zipped({"a.txt": b"Has a cat", "b.json": b'{"cut'})
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path)
    assert str(failed.value).startswith(f"{path}, b.json: not valid JSON")
    inner = zipped({"c.txt": b"Has a dog"}).read_bytes()
    with pytest.raises(ImportFailed, match=r"inner\.zip: is an archive of files; unpack it first"):
        ana.import_file(zipped({"inner.zip": inner}))
    assert contents(ana) == SAID


@pytest.mark.requirement("transfer.folders")
@pytest.mark.requirement("transfer.source-user")
def test_files_of_several_users(ana: UserMemory, folder: Path) -> None:
    for user in ("7f0c", "9e1d"):
        entry = {"id": user, "user_id": user, "content": f"I am {user}", "created_at": AT}
        (folder / f"{user}.json").write_text(json.dumps([entry]), encoding="utf-8")
    with pytest.raises(ImportFailed, match="memories of 2 users"):
        ana.import_file(folder)
    assert ana.import_file(folder, source_user="7f0c", consented=True).added == 1
    assert contents(ana) == ["I am 7f0c"]


@pytest.mark.requirement("transfer.folders")
@pytest.mark.requirement("transfer.bad-files")
def test_a_wrong_file_is_named_and_nothing_written(
    ana: UserMemory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content, told in (
        ("z.json", b'[{"memory": "x"}, 5]', "z.json, memory 2: expected an object"),
        ("z.html", b"<html>", "z.html: not valid JSON"),
        ("z.jsonl", b'{"kind": "ricordo", "version": 1}\n', "is an export of ricordo"),
    ):
        (folder / name).write_bytes(content)
        with pytest.raises(ImportFailed) as failed:
            ana.import_file(folder)
        assert told in str(failed.value)
        (folder / name).unlink()
    (folder / "link.txt").symlink_to("/etc/hostname")  # left out
    monkeypatch.setattr(limits, "MAX_IMPORT_FOLDER_FILES", 3)
    with pytest.raises(ImportFailed, match="more than 3 files"):
        ana.import_file(folder)
    (folder / "empty").mkdir()
    with pytest.raises(ImportFailed, match="no file in it that can be read"):
        ana.import_file(folder / "empty")
    with pytest.raises(ImportFailed, match="neither a folder nor a zip archive"):
        ana.import_file(folder / "notes.txt", format="folder")
    assert ana.revision() == 0
