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

pytestmark = pytest.mark.requirement("faults.log-lost")
OpenStore = Callable[..., Memory]


class Killed:
    """A store whose writer was killed; some of what it wrote is only in the log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path.with_name(f"{path.name}-wal")
        self.index = path.with_name(f"{path.name}-shm")
        processes.killed_writer(str(path), first=0, lines=20)
        self._empty_log()
        self.earlier = self._written()
        lines = processes.killed_writer(str(path), first=100_000, lines=60)
        self.later = [int(line[2]) for line in lines if line[0] == "added"]
        assert self.log.stat().st_size > 0

    def _empty_log(self) -> None:
        # Whoever closes the file last empties it.
        assert ricordo("list", "-u", "ana", "--db", self.path).code == 0
        assert not self.log.exists()

    def _written(self) -> set[int]:
        every = ("--limit", 1_000, "--status", "any", "--json")
        listed = ricordo("list", "-u", "ana", "--db", self.path, *every)
        return numbers(item["content"] for item in listed.json["items"])


def numbers(contents: Iterable[str]) -> set[int]:
    return {int(found[1]) for one in contents if (found := re.fullmatch(r"Statement (\d+)", one))}


@pytest.fixture
def killed(sqlite_url: str) -> Killed:
    return Killed(Path(sqlite_url))


def left(memory: Memory) -> set[int]:
    """What is there of the killed writer; all of it must agree."""
    assert problems_of(memory) == []
    ana = memory.user("ana")
    present = numbers(item.content for item in ana.list(limit=1_000, status="any"))
    for number in present:
        assert ana.search(f"Statement {number}", status="any").results
    return present


def goes_on(memory: Memory) -> None:
    memory.user("ana").add("And so on")
    memory.close()
    assert ricordo("doctor", "--db", memory.database.backend.location, "--json").code == 0


def test_without_the_log_only_what_was_in_it_is_lost(killed: Killed, open_store: OpenStore) -> None:
    killed.log.unlink()
    killed.index.unlink()
    memory = open_store(str(killed.path))
    assert left(memory) == killed.earlier
    goes_on(memory)


def test_without_the_index_of_the_log_nothing_is_lost(
    killed: Killed, open_store: OpenStore
) -> None:
    killed.index.unlink()
    memory = open_store(str(killed.path))
    assert left(memory) >= killed.earlier | set(killed.later)
    goes_on(memory)


def test_a_stale_index_of_the_log_is_made_anew(killed: Killed, open_store: OpenStore) -> None:
    killed.log.unlink()
    assert killed.index.stat().st_size > 0
    memory = open_store(str(killed.path))
    assert left(memory) == killed.earlier
    goes_on(memory)


def test_a_log_that_was_cut_off_gives_all_up_to_there(
    killed: Killed, open_store: OpenStore, tmp_path: Path
) -> None:
    chance = random.Random(20260101)
    size = killed.log.stat().st_size
    lengths = sorted([0, 31, 32, size - 1, *(chance.randrange(size) for _ in range(8))])
    seen: list[set[int]] = []
    for length in lengths:
        folder = tmp_path / f"cut-{length}"
        folder.mkdir()
        path = Path(shutil.copy(killed.path, folder))
        (folder / killed.log.name).write_bytes(killed.log.read_bytes()[:length])
        seen.append(left(open_store(str(path))))
    assert seen[0] == killed.earlier
    assert all(before <= after for before, after in itertools.pairwise(seen))
    # In the order in which it was written, without a gap.
    for present in seen:
        later = sorted(present - killed.earlier)
        assert later == list(range(100_000, 100_000 + len(later)))
    assert len(seen[-1]) > len(killed.earlier)


@pytest.mark.parametrize("where", ["at its end", "in its middle", "everywhere"])
def test_garbage_in_the_log_ends_it(killed: Killed, open_store: OpenStore, where: str) -> None:
    chance = random.Random(20260101)
    held = killed.log.read_bytes()
    half = len(held) // 2
    killed.log.write_bytes(
        {
            "at its end": held + chance.randbytes(10_000),
            "in its middle": held[:half] + chance.randbytes(5_000) + held[half + 5_000 :],
            "everywhere": chance.randbytes(len(held)),
        }[where]
    )
    killed.index.unlink()
    memory = open_store(str(killed.path))
    present = left(memory)
    assert present >= killed.earlier
    if where == "at its end":
        assert present >= set(killed.later)
    if where == "everywhere":
        assert present == killed.earlier
    goes_on(memory)
