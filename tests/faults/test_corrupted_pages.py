"""Damaged pages of a SQLite file: an error, or doctor's word; no wrong answer unnoticed."""

import contextlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory, StorageCorrupt, StorageError
from ricordo.errors import in_log
from ricordo.testing import WordEmbedder
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.corrupted-page")
OpenStore = Callable[..., Memory]
PAGE = 4_096
USERS = ("ana", "ben", "cem")
ROUNDS = 20
FACTS = 25


def opened(path: Path) -> Memory:
    return open_memory(path, run_jobs=False, upkeep=False, embedder=WordEmbedder())


@pytest.fixture(scope="module")
def sound_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of three users with memories and conversations, and an export of each."""
    folder = tmp_path_factory.mktemp("sound")
    with opened(folder / "ricordo.db") as memory:
        for name in USERS:
            user = memory.user(name)
            words = [" ".join(f"w{(n * 7 + k) % 97}" for k in range(20)) for n in range(FACTS)]
            user.add_many([f"{name} fact {n}: {said}" for n, said in enumerate(words)])
            said = [
                {"role": "user", "content": f"{name} says {n} " + "la " * 20} for n in range(20)
            ]
            user.observe(said, thread="t")
            user.export(folder / f"{name}.jsonl")
        assert problems_of(memory) == []
    return folder / "ricordo.db"


@pytest.fixture
def path(sound_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound_file, tmp_path / "ricordo.db"))


def damage(path: Path, at: int, held: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(held)


def replace(path: Path, old: bytes, new: bytes) -> None:
    """Put other bytes in the place of a text: where it is kept, and where it is kept folded."""
    held = path.read_bytes()
    assert (held.count(old), len(old)) == (2, len(new))
    path.write_bytes(held.replace(old, new))


def is_noticed(memory: Memory) -> bool:
    """Whether ``ricordo doctor`` would find it: by a problem, or because it cannot look."""
    try:
        return problems_of(memory) != []
    except StorageError:
        return True


def look_for_lies(memory: Memory, truth: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Whose export says something else than it should, and whose cannot be made."""
    wrong, failed = [], []
    for name in USERS:
        try:
            memory.user(name).search("fact w5")
            memory.user(name).export(folder / "now.jsonl")
        except StorageError:
            failed.append(name)
            continue
        if (folder / "now.jsonl").read_bytes() != (truth.parent / f"{name}.jsonl").read_bytes():
            wrong.append(name)
    return wrong, failed


@pytest.mark.fuzz
@pytest.mark.parametrize("whole_page", [False, True])
def test_whatever_is_damaged_is_never_told_unnoticed(
    sound_file: Path, path: Path, tmp_path: Path, whole_page: bool
) -> None:
    chance = random.Random(20260101)
    pages = path.stat().st_size // PAGE
    outcomes = {"opened": 0, "others readable": 0, "noticed": 0}
    for _ in range(ROUNDS):
        shutil.copy(sound_file, path)
        page = chance.randrange(pages)
        if whole_page:
            damage(path, page * PAGE, chance.randbytes(PAGE))
        else:
            damage(path, page * PAGE + chance.randrange(PAGE - 64), chance.randbytes(64))
        try:
            memory = opened(path)
        except StorageCorrupt as told:
            assert "damaged" in str(told) or "not a SQLite database" in str(told)
            continue
        with memory:
            wrong, failed = look_for_lies(memory, sound_file, tmp_path)
            noticed = is_noticed(memory)
            assert noticed or not (wrong or failed), page
        outcomes["opened"] += 1
        outcomes["noticed"] += noticed
        outcomes["others readable"] += 0 < len(failed) < len(USERS)
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
    assert min(outcomes.values()) > 0, outcomes  # each of them was seen


def test_a_text_that_became_another_one_is_found_by_doctor(path: Path) -> None:
    replace(path, b"ben fact 7: w49", b"ben fact 8: w49")
    # SQLite keeps no checksums: it reads like any other text.
    assert "ben fact 8: w49" in ricordo("list", "-u", "ben", "--db", path).out
    ran = ricordo("doctor", "--db", path, "--json")
    assert ran.code == 6
    told = {one["check"]: one for one in json.loads(ran.out)}
    assert told["consistency"]["state"] == "problem"
    assert told["consistency"]["found"] == "the text of item 33 is not the one that was written"


def test_a_text_that_is_no_text_is_not_quoted(path: Path) -> None:
    replace(path, b"ben fact 7: w49", b"ben \xff\xfect 7: w49")
    with opened(path) as memory:
        with pytest.raises(StorageCorrupt, match=r"damaged; restore a backup \(a text") as caught:
            memory.user("ben").list(limit=100)
        assert "w49" not in str(caught.value)  # what people said is in no message and no log
        assert "w49" not in in_log(caught.value)
        assert len(memory.user("ana").list(limit=100)) == FACTS


def test_a_value_that_is_none_of_the_possible_ones(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for item_id, field, wrong in ((33, "created_at", "soon"), (34, "tags", "{[")):
            connection.execute(f"UPDATE items SET {field} = ? WHERE id = ?", (wrong, item_id))
        connection.execute("UPDATE items SET status = 'lost' WHERE id = 35")
        connection.commit()
    with opened(path) as memory:
        for item_id in (33, 34, 35):
            with pytest.raises(StorageCorrupt, match="damaged; restore a backup"):
                memory.user("ben").get(item_id)
        assert memory.user("ana").get(1)
        with running(memory) as service:
            answered = service.client("ben").get("/v1/memories/33")
            assert problem(answered) == (503, "StorageCorrupt")


def test_a_damaged_text_index_is_found_and_made_anew(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        changed = "UPDATE item_fts_data SET block = zeroblob(length(block)) WHERE id > 100"
        assert connection.execute(changed).rowcount > 0
        connection.commit()
    ran = ricordo("doctor", "--db", path, "--json")
    told = {one["check"]: one for one in json.loads(ran.out)}
    assert (ran.code, told["integrity"]["state"]) == (6, "problem")
    assert "text index of items" in told["integrity"]["found"]
    assert "ricordo reindex --all" in told["integrity"]["found"]
    assert ricordo("reindex", "--all", "--db", path).code == 0
    with opened(path) as memory:
        assert problems_of(memory) == []


HEADERS = {
    "the name of the format": (0, b"Xqlite", "not a SQLite database"),
    "the size of a page": (16, b"\x00\x03", "not a SQLite database|damaged"),
    "the kind of the first page": (100, b"\x77", "damaged"),
    "the format of the schema": (44, b"\xff\xff\xff\xff", "damaged|refused"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_damaged_header_is_told_and_left_alone(path: Path, what: str) -> None:
    at, held, said = HEADERS[what]
    damage(path, at, held)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=said):
        opened(path)
    ran = ricordo("list", "-u", "ana", "--db", path, "--json")
    assert ran.code == 6
    assert "doctor" in ran.error["fix"]
    assert ricordo("doctor", "--db", path, "--json").code == 6
    assert path.read_bytes() == before
