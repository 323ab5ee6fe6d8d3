"""A disk that is full: a clear error, nothing acknowledged is lost, and it goes on by itself."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory, StorageError, StorageFull
from ricordo.errors import FilesUnavailable, InvalidValue
from ricordo.testing import ManualClock
from ricordo.wiring import open_memory
from tests.faults.test_processes import every_item
from tests.support.commandline import ricordo
from tests.support.disks import Disk, limit_files
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("storage.full")
OpenStore = Callable[..., Memory]
MANY = 3_000
"""More writes than any of these disks has room for."""


def text(number: int) -> str:
    return f"Statement {number} " + "x" * 3_000


def write_until_full(write: Callable[[int], object], disk: Disk) -> int:
    """Write until it fails, which must be told well; how often it was acknowledged."""
    with pytest.raises(disk.error) as caught:
        for number in range(MANY):
            write(number)
    assert str(disk.folder / "ricordo.db") in str(caught.value)
    assert "disk" in str(caught.value)
    return number


@pytest.mark.parametrize("log", ["a long log", "an empty log"])
def test_what_was_acknowledged_is_there(disk: Disk, log: str, open_store: OpenStore) -> None:
    path = str(disk.folder / "ricordo.db")
    memory = open_store(path)
    ana, ben = memory.user("ana"), memory.user("ben")
    for number in range(20):
        ben.add(text(number))
    if log == "an empty log":
        memory.database.backend.scrub()
    disk.fill()
    added = write_until_full(lambda number: ana.add(text(number)), disk)
    batches = write_until_full(
        lambda number: ana.add_many([f"Batch {number}, {part} {'y' * 900}" for part in range(20)]),
        disk,
    )
    said = write_until_full(
        lambda number: ana.observe([{"role": "user", "content": text(number)}], thread="t"), disk
    )
    # What was stored can be read and searched meanwhile.
    assert ben.search("Statement 7").results[0].content_snippet == "Statement 7…"
    for find in (lambda: memory, lambda: reopened(memory, disk, path, open_store)):
        opened = find()
        assert len(every_item(opened.user("ana"))) == added + 20 * batches
        assert opened.user("ana").revision() == added + 20 * batches
        assert sum(thread.turn_count for thread in opened.user("ana").threads()) == said
        assert problems_of(opened) == []


def reopened(memory: Memory, disk: Disk, path: str, open_store: OpenStore) -> Memory:
    """The same store opened anew, after the old one has used the room that there is again."""
    disk.free()
    memory.user("cem").add(text(0))
    memory.close()
    return open_store(path)


def test_a_full_disk_when_a_store_is_opened(disk: Disk, open_store: OpenStore) -> None:
    (disk.folder / "other").write_bytes(b"x" * 10_000)
    disk.fill()
    path = str(disk.folder / "ricordo.db")
    with pytest.raises((StorageFull, disk.error), match="disk"):
        open_memory(path, run_jobs=False, upkeep=False)
    disk.free()
    memory = open_store(path)
    memory.user("ana").add("Has a cat")
    disk.fill()
    assert [item.content for item in memory.user("ana").list()] == ["Has a cat"]
    disk.free()


def test_an_export_leaves_no_half_file(
    sqlite_url: str, tmp_path: Path, open_store: OpenStore
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add_many([text(number) for number in range(20)])
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "old.jsonl").write_text("an export of yesterday")
    with files_end_at(10_000):
        for name in ("old.jsonl", "new.jsonl"):
            with pytest.raises(InvalidValue, match=rf"{name} cannot be written \(File too large\)"):
                memory.user("ana").export(folder / name)
        with pytest.raises(InvalidValue, match="cannot be written"):
            memory.export(folder / "all.jsonl")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "old.jsonl": "an export of yesterday"
    }
    memory.user("ana").export(folder / "new.jsonl")
    assert (folder / "new.jsonl").read_text().count('"content": "Statement') == 20


@contextlib.contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file of this process becomes larger than that."""
    limit_files(size)
    try:
        yield
    finally:
        limit_files(-1)


def test_a_mirror_on_a_full_disk_stays_as_it_was(
    disk: Disk, sqlite_url: str, open_store: OpenStore
) -> None:
    memory = open_store(sqlite_url, files=disk.folder / "files")
    ana = memory.user("ana")
    ana.add("Has a cat")
    ana.sync_mirror()
    assert memory.parts.files is not None
    mirror = memory.parts.files.of("ana").memory_file
    before = mirror.read_bytes()
    ana.add_many([text(number) for number in range(20)])
    disk.fill()
    with files_end_at(5_000), pytest.raises(FilesUnavailable, match="people/ana/memory.*: "):
        ana.sync_mirror()
    assert mirror.read_bytes() == before
    assert [path.name for path in mirror.parent.iterdir() if "draft" in path.name] == []
    disk.free()
    ana.sync_mirror()
    assert mirror.read_text().count("\n- [") == 21


def test_jobs_go_on_when_there_is_room_again(disk: Disk, clock: ManualClock) -> None:
    path = disk.folder / "ricordo.db"
    settings = {"upkeep": False, "embedding_provider": "none", "job_poll_seconds": 0.05}
    with open_memory(path, clock=clock, **settings) as memory:
        ana = memory.user("ana")
        ana.observe([{"role": "user", "content": "I love green tea.", "at": clock()}], thread="t")
        disk.fill()
        write_until_full(lambda number: ana.add(text(number)), disk)
        clock.advance(hours=1)  # past the pause of the conversation: the threads try and fail
        with contextlib.suppress(StorageError):
            memory.run_jobs()
        assert [job.kind for job in memory.jobs(state="done")] == []
        disk.free()
        clock.advance(hours=1)  # past the lease that a failed attempt may have left
        ana.add("Has a cat")
        wait_until(lambda: any("tea" in item.content for item in every_item(ana)))
        assert memory.jobs(state="dead") == ()
        assert problems_of(memory) == []


# -- as the command line and the service tell it --------------------------------------------------


@pytest.mark.requirement("faults.disk-full")
def test_the_command_line(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    url = str(disk.folder / "ricordo.db")
    monkeypatch.setenv("RICORDO_URL", url)
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    with open_memory(
        url, run_jobs=False, port=0
    ) as holding:  # as while a service runs: the log stays
        holding.user("ana").add_many([f"Before {number} {'x' * 3_000}" for number in range(50)])
        disk.fill()
        acknowledged = 0
        while (ran := ricordo("add", text(acknowledged), "-u", "ana", "--json")).code == 0:
            acknowledged += 1
            assert acknowledged < MANY
        assert ran.code == 6
        assert ran.error["error"] == disk.error.__name__
        assert f"{url}: the disk" in ran.error["message"]
        assert ran.error["fix"]
        told = "\n".join(f"user: {text(number)}" for number in range(90))
        assert ricordo("observe", "-u", "ana", "--thread", "t", stdin=told).code == 6
        assert ricordo("list", "-u", "ana", "--json", "--limit", "1").code == 0
        with running(holding) as service:
            client = service.client("ana")
            drafts = [{"content": text(number)} for number in range(90)]
            answered = client.post("/v1/memories/batch", json={"memories": drafts})
            assert problem(answered) == (disk.status, disk.error.__name__)
            assert url not in answered.text  # where the operator keeps it is nobody's business
            assert client.get("/readyz").status_code == 200
        disk.free()
        assert ricordo("add", "There is room again", "-u", "ana").code == 0
        contents = [one.content for one in holding.user("ana").list(limit=1_000)]
        assert len([one for one in contents if one.startswith("Statement")]) == acknowledged
        assert problems_of(holding) == []


@pytest.mark.slow
@pytest.mark.requirement("storage.full")
def test_an_import_is_there_as_a_whole_or_not_at_all(
    disk: Disk, sqlite_url: str, tmp_path: Path, open_store: OpenStore
) -> None:
    elsewhere = open_store(sqlite_url)
    elsewhere.user("ana").add_many([text(number) for number in range(400)])
    elsewhere.export(tmp_path / "all.jsonl")
    memory = open_store(str(disk.folder / "ricordo.db"))
    memory.user("ben").add("Has a cat")
    disk.fill()
    with pytest.raises(disk.error):
        memory.import_file(tmp_path / "all.jsonl")
    assert memory.users() == ("ben",)
    assert problems_of(memory) == []
    disk.free()
    memory.user("ben").add("Has a dog")
