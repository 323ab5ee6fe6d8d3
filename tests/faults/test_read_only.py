"""A file or folder that may not be written: told on every surface, and left as it is."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory, StorageReadOnly
from ricordo.wiring import open_memory
from tests.support import disks, processes
from tests.support.commandline import ricordo
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.read-only")
OpenStore = Callable[..., Memory]


class Place:
    """A folder with a store, which can be sealed: its files may be read and not be written."""

    def __init__(self, folder: Path, *, is_mounted: bool) -> None:
        self.path = folder / "ricordo.db"
        self._folder = folder
        self._is_mounted = is_mounted

    @contextlib.contextmanager
    def sealed(self) -> Iterator[None]:
        self._let_write(allowed=False)
        try:
            yield
        finally:
            self._let_write(allowed=True)

    def held(self) -> dict[str, bytes]:
        # The log's index has marks of who reads.
        return {
            path.name: path.read_bytes()
            for path in self._folder.iterdir()
            if not path.name.endswith("-shm")
        }

    def _let_write(self, *, allowed: bool) -> None:
        if self._is_mounted:  # permissions do not bind root
            disks.mount("-o", f"remount,{'rw' if allowed else 'ro'}", self._folder)
            return
        for path in self._folder.iterdir():
            path.chmod(0o600 if allowed else 0o400)
        self._folder.chmod(0o700 if allowed else 0o500)


@pytest.fixture
def place(sqlite_url: str, tmp_path: Path) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        folder = tmp_path / "place"
        if os.geteuid() != 0:
            folder.mkdir()
        elif disks.may_mount():
            stack.enter_context(disks.small_file_system(folder))
        else:
            pytest.skip("root without the right to mount can write everywhere")
        made = Place(folder, is_mounted=os.geteuid() == 0)
        shutil.copy(sqlite_url, made.path)
        yield made


def test_a_folder_that_may_not_be_written(
    place: Place, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_URL", str(place.path))
    with open_memory(place.path, run_jobs=False, embedding_provider="none") as memory:
        memory.user("ana").add("Has a cat")
    before = place.held()
    assert set(before) == {"ricordo.db"}
    with place.sealed():
        with pytest.raises(StorageReadOnly, match="the folder may not be written, and SQLite"):
            open_memory(place.path, run_jobs=False)
        for command in (["list"], ["add", "Has a dog"]):
            ran = ricordo(*command, "-u", "ana", "--json")
            assert (ran.code, ran.error["error"]) == (6, "StorageReadOnly")
            assert "copy the file elsewhere" in ran.error["message"]
        ran = ricordo("doctor", "--json")
        assert ran.code == 6
        assert f"{place.path} may not be written" in ran.out
        assert ricordo("serve", "--port", "0", "--json").error["error"] == "StorageReadOnly"
        assert place.held() == before
    open_store(str(place.path)).user("ana").add("Has a dog")


@pytest.mark.chaos
def test_a_store_that_was_left_in_use_can_still_be_read(
    place: Place, open_store: OpenStore, tmp_path: Path
) -> None:
    acknowledged = processes.killed_writer(str(place.path), first=0, lines=30)
    added = {int(line[1]) for line in acknowledged if line[0] == "added"}
    before = place.held()
    assert before["ricordo.db-wal"]
    with place.sealed():
        memory = open_store(str(place.path), port=0)
        ana = memory.user("ana")
        assert {item.id for item in ana.list(limit=1_000, status="any")} >= added
        assert ana.search("statement").results
        ana.export(tmp_path / "ana.jsonl")
        writes: list[Callable[[], object]] = [
            lambda: ana.add("Has a dog"),
            lambda: ana.observe([{"role": "user", "content": "Hello"}], thread="t"),
            lambda: ana.forget(min(added)),
            lambda: memory.erase_user("ana"),
            memory.run_jobs,
        ]
        for write in writes:
            with pytest.raises(StorageReadOnly, match="may not be written; check permissions"):
                write()
        with running(memory) as service:
            client = service.client("ana")
            assert client.get("/readyz").status_code == 200
            assert client.get("/v1/memories").json()["items"]
            refused = client.post("/v1/memories", json={"content": "Has a dog"})
            assert problem(refused) == (503, "StorageReadOnly")
            assert str(place.path) not in refused.text
        memory.close()
        assert place.held() == before
    memory = open_store(str(place.path))
    memory.user("ana").add("Has a dog")
    assert {item.id for item in memory.user("ana").list(limit=1_000, status="any")} >= added
    assert problems_of(memory) == []
