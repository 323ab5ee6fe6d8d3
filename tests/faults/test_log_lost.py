"""The write-ahead log of a killed process is deleted, cut off or damaged: what is left is whole."""

import itertools
import random
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ricordo import Memory
from tests.support import processes
from tests.support.commandline import ricordo
from tests.support.soundness import problems_of

pytestmark = [pytest.mark.requirement("faults.log-lost"), pytest.mark.chaos]
OpenStore = Callable[..., Memory]


class Killed:
    """A store whose writer was killed; some of what it wrote is only in the log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        processes.killed_writer(str(path), first=0, lines=20)
        every = ("--limit", 1_000, "--status", "any", "--json")
        listed = ricordo("list", "-u", "ana", "--db", path, *every)
        assert not Path(f"{path}-wal").exists()  # whoever closes the file last empties the log
        self.earlier = numbers(item["content"] for item in listed.json["items"])
        lines = processes.killed_writer(str(path), first=100_000, lines=60)
        self.later = {int(line[2]) for line in lines if line[0] == "added"}
        self.log = Path(f"{path}-wal").read_bytes()

    def left(
        self, folder: Path, open_store: OpenStore, log: bytes | None, *, has_index: bool = False
    ) -> set[int]:
        """What is there of what was written, with another log, or none; all of it must agree."""
        folder.mkdir()
        path = Path(shutil.copy(self.path, folder))
        if log is not None:
            Path(f"{path}-wal").write_bytes(log)
        if has_index:
            shutil.copy(f"{self.path}-shm", folder)
        memory = open_store(str(path))
        assert problems_of(memory) == []
        ana = memory.user("ana")
        present = numbers(item.content for item in ana.list(limit=1_000, status="any"))
        for number in present:
            assert ana.search(f"Statement {number}", status="any").results
        ana.add("And so on")
        memory.close()
        assert ricordo("doctor", "--db", path, "--json").code == 0
        return present


def numbers(contents: Iterable[str]) -> set[int]:
    return {int(found[1]) for one in contents if (found := re.fullmatch(r"Statement (\d+)", one))}


@pytest.fixture(scope="module")
def killed(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    folder = tmp_path_factory.mktemp("killed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RICORDO_HOME", str(folder / "home"))
        return Killed(Path(shutil.copy(sqlite_template, folder)))


def test_only_what_was_in_a_missing_log_is_lost(
    killed: Killed, open_store: OpenStore, tmp_path: Path
) -> None:
    """The index of a log is made anew, where it is missing and where it is of another log."""
    assert killed.left(tmp_path / "none", open_store, None) == killed.earlier
    assert killed.left(tmp_path / "index", open_store, None, has_index=True) == killed.earlier
    whole = killed.left(tmp_path / "log", open_store, killed.log)
    assert whole >= killed.earlier | killed.later


def test_a_log_that_was_cut_off_gives_all_up_to_there(
    killed: Killed, open_store: OpenStore, tmp_path: Path
) -> None:
    chance = random.Random(20260101)
    size = len(killed.log)
    lengths = sorted([0, 31, 32, size - 1, *(chance.randrange(size) for _ in range(4))])
    seen = [killed.left(tmp_path / str(end), open_store, killed.log[:end]) for end in lengths]
    assert seen[0] == killed.earlier
    assert all(before <= after for before, after in itertools.pairwise(seen))
    # In the order in which it was written, without a gap.
    for present in seen:
        later = sorted(present - killed.earlier)
        assert later == list(range(100_000, 100_000 + len(later)))
    assert len(seen[-1]) > len(killed.earlier)


def test_garbage_in_the_log_ends_it(killed: Killed, open_store: OpenStore, tmp_path: Path) -> None:
    chance = random.Random(20260101)
    half = len(killed.log) // 2
    after = killed.log + chance.randbytes(10_000)
    assert killed.left(tmp_path / "after", open_store, after) >= killed.earlier | killed.later
    within = killed.log[:half] + chance.randbytes(5_000) + killed.log[half + 5_000 :]
    assert killed.left(tmp_path / "within", open_store, within) >= killed.earlier
    noise = chance.randbytes(len(killed.log))
    assert killed.left(tmp_path / "noise", open_store, noise) == killed.earlier
