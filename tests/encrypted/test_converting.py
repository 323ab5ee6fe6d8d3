"""Encrypting, decrypting, another key: the same memories before and after, whatever happens."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import DatabaseKeyMismatch, Memory, StorageBusy, StorageFull, StorageUnavailable
from ricordo.storage.sqlite import rekey
from ricordo.storage.sqlite.connection import DatabaseKey
from ricordo.storage.sqlite.rekey import convert, left_behind
from ricordo.wiring import open_memory
from tests.backup.killing import AT_THE_END, killed_at, steps_of
from tests.support import processes
from tests.support.commandline import Ran, ricordo

pytestmark = pytest.mark.requirement("security.encryption-conversion")
MARKER = "quokkas-and-marmalade"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "store" / "ricordo.db"
    with open_memory(path, run_jobs=False, embedding_provider="none") as memory:
        ana = memory.user("ana")
        ana.add_many([f"{MARKER} {number}" for number in range(20)])
        ana.observe([{"role": "user", "content": f"I love {MARKER}"}], thread="monday")
    return path


def told(path: Path, key: str | None) -> list[str]:
    """Everything that a store knows, and that it is sound."""
    chosen: dict[str, Any] = {} if key is None else {"database_key": key}
    with open_memory(path, run_jobs=False, embedding_provider="none", **chosen) as memory:
        ana = memory.user("ana")
        assert memory.database.backend.check() == []
        assert len(ana.search_turns(MARKER).results) == 1  # which is not counted as recalled
        return list(ana.export_lines())[1:]


@pytest.mark.smoke
def test_there_and_back_again(plain: Path) -> None:
    before = told(plain, None)
    mode = plain.stat().st_mode
    convert(plain, None, DatabaseKey("first"))
    assert MARKER.encode() not in plain.read_bytes()
    assert told(plain, "first") == before
    convert(plain, DatabaseKey("first"), DatabaseKey("second"))
    with pytest.raises(DatabaseKeyMismatch):
        told(plain, "first")
    assert told(plain, "second") == before
    convert(plain, DatabaseKey("second"), None)
    assert told(plain, None) == before
    assert MARKER.encode() in plain.read_bytes()
    assert plain.stat().st_mode == mode
    assert [one.name for one in plain.parent.iterdir()] == ["ricordo.db"]


@pytest.mark.slow
def test_the_old_bytes_are_overwritten_also_behind_a_link(plain: Path, tmp_path: Path) -> None:
    kept, link = plain.with_name("kept"), tmp_path / "link.db"
    kept.hardlink_to(plain)
    link.symlink_to(plain)
    size = plain.stat().st_size
    convert(link, None, DatabaseKey("key"))
    assert link.is_symlink()
    assert MARKER.encode() not in plain.read_bytes()
    assert kept.read_bytes() == bytes(size)
    assert told(link, "key")


def test_a_store_that_is_open_is_left_alone(plain: Path, open_store: Callable[..., Memory]) -> None:
    memory = open_store(str(plain))
    with pytest.raises(StorageBusy, match="in use; stop every program"):
        convert(plain, None, DatabaseKey("key"))
    memory.user("ana").add("Still here")


@pytest.mark.chaos
@pytest.mark.parametrize("key", [None, "key"])
def test_a_store_that_another_process_has_open_is_left_alone(
    key: str | None, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if key is not None:
        convert(plain, None, DatabaseKey(key))
        monkeypatch.setenv("RICORDO_DATABASE_KEY", key)
    other = processes.start("form_when_told", plain)
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    with pytest.raises(StorageBusy, match="in use; stop every program"):
        convert(plain, _key(key), DatabaseKey("new"))
    _, errors = other.communicate("\n", timeout=120)
    assert (other.returncode, errors) == (0, "")
    assert told(plain, key)


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("old", "new"),
    [(None, "new"), ("old", None), ("old", "new")],
    ids=["encrypt", "decrypt", "rekey"],
)
def test_killed_anywhere_it_is_the_old_file_or_the_new_one(
    old: str | None, new: str | None, plain: Path
) -> None:
    before = told(plain, None)
    if old is not None:
        convert(plain, None, DatabaseKey(old))
    seen: set[str | None] = set()
    keys = json.dumps([old, new])
    steps = steps_of("convert", keys, plain, some=10_000)
    convert(plain, _key(new), _key(old))
    # Few places are before the copy is begun, most in it; those that matter are the last ones.
    for step in (steps[len(steps) // 2], *steps[-9 :: 1 if old is None else 3], AT_THE_END):
        assert killed_at(step, "convert", keys, plain)
        now = next(key for key in (old, new) if _opens(plain, key))
        seen.add(now)
        assert told(plain, now) == before
        if now != old:
            convert(plain, _key(new), _key(old))
    convert(plain, _key(old), _key(new))
    assert told(plain, new) == before
    assert seen == {old, new}
    assert not any(path.exists() for path in left_behind(plain))
    assert [one.name for one in plain.parent.iterdir()] == ["ricordo.db"]


def _key(passphrase: str | None) -> DatabaseKey | None:
    return None if passphrase is None else DatabaseKey(passphrase)


def _opens(path: Path, key: str | None) -> bool:
    try:
        told(path, key)
    except DatabaseKeyMismatch:
        return False
    return True


@pytest.mark.slow
def test_a_copy_that_is_not_the_same_takes_no_place(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told(plain, None)
    compare = rekey._compare

    def lossy(source: Any, path: Path) -> None:
        source.execute("UPDATE target.items SET content = 'x' WHERE id = 7")
        compare(source, path)

    monkeypatch.setattr(rekey, "_compare", lossy)
    with pytest.raises(Exception, match="the copy is not the same as the database"):
        convert(plain, None, DatabaseKey("key"))
    assert told(plain, None) == before
    assert [one.name for one in plain.parent.iterdir()] == ["ricordo.db"]


@pytest.mark.slow
def test_without_room_for_a_copy_nothing_changes(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told(plain, None)
    write = rekey._write_draft

    def on_a_small_disk(source: Any, path: Path, draft: Path, new: DatabaseKey | None) -> None:
        class Small:
            def execute(self, statement: str, *values: Any) -> Any:
                done = source.execute(statement, *values)
                if statement.startswith("ATTACH"):
                    source.execute("PRAGMA target.max_page_count = 20")
                return done

        write(Small(), path, draft, new)

    monkeypatch.setattr(rekey, "_write_draft", on_a_small_disk)
    with pytest.raises(StorageFull, match="no room for a second copy"):
        convert(plain, None, DatabaseKey("key"))
    assert told(plain, None) == before
    assert [one.name for one in plain.parent.iterdir()] == ["ricordo.db"]


@pytest.mark.slow
def test_what_cannot_be_converted(tmp_path: Path, plain: Path) -> None:
    with pytest.raises(StorageUnavailable, match="there is no database"):
        convert(tmp_path / "nothing.db", None, DatabaseKey("key"))
    assert not (tmp_path / "nothing.db").exists()
    with pytest.raises(DatabaseKeyMismatch, match="not encrypted"):
        convert(plain, DatabaseKey("key"), None)
    convert(plain, None, DatabaseKey("key"))
    encrypted = plain.read_bytes()
    with pytest.raises(DatabaseKeyMismatch, match="encrypted already"):
        convert(plain, None, DatabaseKey("key"))
    with pytest.raises(DatabaseKeyMismatch, match="with another key"):
        convert(plain, DatabaseKey("other"), None)
    assert plain.read_bytes() == encrypted


# -- the command line -----------------------------------------------------------------------------


@pytest.fixture
def cli(plain: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ran]]:
    def run(*arguments: str, key: str | None = None, new: str | None = None) -> Ran:
        for name, value in (("DATABASE_KEY", key), ("NEW_DATABASE_KEY", new)):
            monkeypatch.delenv(f"RICORDO_{name}", raising=False)
            if value is not None:
                monkeypatch.setenv(f"RICORDO_{name}", value)
        ran = ricordo(*arguments, "--db", str(plain), "--json")
        assert not any(one and one in ran.out + ran.err for one in (key, new))
        return ran

    yield run


@pytest.mark.slow
def test_the_commands(cli: Callable[..., Ran], plain: Path) -> None:
    refused = ricordo("database", "encrypt", "--json", "--db", "postgresql://127.0.0.1:1/nothing")
    assert refused.code == 2
    assert "have the server's disk encrypted" in refused.error["message"]
    for command in ("encrypt", "decrypt", "rekey"):
        refused = cli("database", command)
        assert refused.code == 2
        assert refused.error["fix"] == "set RICORDO_DATABASE_KEY"
    shown = {"database": str(plain), "encrypted": True}
    assert cli("database", "encrypt", key="s3cr3t-1").json == shown
    assert cli("database", "rekey", key="s3cr3t-1").error["error"] == "InvalidValue"
    assert cli("database", "rekey", key="s3cr3t-1", new="s3cr3t-2").json == shown
    for key in (None, "s3cr3t-1"):
        refused = cli("list", key=key)
        assert (refused.code, refused.error["error"]) == (6, "DatabaseKeyMismatch")
        assert refused.error["fix"].startswith("correct RICORDO_DATABASE_KEY")
    assert cli("database", "decrypt", key="s3cr3t-2").json == {**shown, "encrypted": False}


@pytest.mark.slow
def test_doctor_says_whether_the_file_is_encrypted(cli: Callable[..., Ran], plain: Path) -> None:
    def finding(**keys: str) -> tuple[str, str]:
        (one,) = [f for f in cli("doctor", **keys).json if f["check"] == "encryption"]
        return one["state"], one["found"]

    assert finding() == ("ok", "the file is not encrypted")
    left_behind(plain)[0].write_bytes(b"half")
    assert finding() == (
        "warning",
        "a conversion was interrupted, and left ricordo.db.converting",
    )
    cli("database", "encrypt", key="s3cr3t-1")
    result, message = finding(key="s3cr3t-1")
    assert (result, message.startswith("the file is encrypted (SQLCipher 4.")) == ("ok", True)
