"""Paths of memory files lead nowhere else, and writers at the same time lose nothing."""

import threading
import unicodedata
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo import InvalidValue, Memory, NotFound, RicordoError, UserMemory
from ricordo.limits import MAX_KEY_CHARS
from ricordo.model.item import Item
from ricordo.testing import WordEmbedder
from ricordo.tools.memory_file_text import directories_of, is_file_key, key_of, replaced, shown
from ricordo.tools.memory_files import FILES_THEME, FileMemories, MemoryFiles
from ricordo.wiring import open_memory
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("tools.memory-files-safe")

REFUSED = [
    *("", "/", "notes.md", "memories/notes.md", "/memoriesx/notes.md", "/Memories/notes.md"),
    *("/etc/passwd", "//memories/notes.md", "C:\\memories\\notes.md"),
    *("file:///memories/notes.md", "~/memories", "/memories/..", "/memories/../etc/passwd"),
    *("/memories/a/../../b", "/memories/./a", "/memories/a/.", "/memories/..."),
    *("/memories/..\\..\\etc", "/memories/a\\b", "/memories/%2e%2e/etc"),
    *("/memories/%2E%2E%2Fetc", "/memories/%252e%252e", "/memories/a%00.md"),
    *("/memories/a\x00.md", "/memories/a\nb", "/memories/a\x1b[0m", "/memories/\u202egnp.exe"),
    *("/memories/a\u200b.md", "/memories/a\u034f.md", "/memories/a\ufe0f.md"),
    *("/memories/\u3164", "/memories/\u2800", "/memories/\u2025/etc"),
    *("/memories/\uff0e\uff0e/etc", "/memories/\u2024\u2024/etc", "/memories/\u3002\u3002"),
    *("/memories/a\uff0fb", "/memories/a\u2215b", "/memories/a\u2044b", "/memories/a\uff3cb"),
    *("/memories/\u2100", "/memories/C:/Windows", "/memories/c:notes", "/memories/ a"),
    *("/memories/a ", "/memories/ /b", "/memories/a\u3000", "/memories/\ud800"),
    *(f"/memories/{'n' * MAX_KEY_CHARS}",),
]

NAMES = ("memories", "/memories", "notes.md", "a", "B", "é", "e\u0301", ".", "..", "%2e", "C:")
parts = st.sampled_from([*NAMES, *"/\\%~*_: \n\x00\u2025\uff0f\u2215\uff0e"])
paths = st.lists(parts | st.text(max_size=4), max_size=8).map("".join)
paths = paths | paths.map("/memories/{}".format)


def test_paths_that_are_refused() -> None:
    for path in REFUSED:
        with pytest.raises(InvalidValue, match="path"):
            key_of("path", path)


def test_paths_that_are_allowed() -> None:
    for path, key in (
        ("/memories", ""),
        ("/memories//", ""),
        ("/memories/a//b.md/", "/a/b.md"),
        ("/memories/.hidden", "/.hidden"),
        ("/memories/a..b", "/a..b"),
        ("/memories/100% sure", "/100% sure"),
        ("/memories/cafe\u0301.md", "/caf\u00e9.md"),
        ("/memories/日記/一日目。", "/日記/一日目。"),
        ("/memories/at 10:30", "/at 10:30"),
        (f"/memories/{'n' * (MAX_KEY_CHARS - 1)}", f"/{'n' * (MAX_KEY_CHARS - 1)}"),
    ):
        assert key_of("path", path) == key
        assert key_of("path", shown(key)) == key
        assert is_file_key(key) is bool(key)


@given(paths)
def test_an_allowed_path_is_a_plain_name(path: str) -> None:
    try:
        key = key_of("path", path)
    except InvalidValue:
        return
    assert path == "/memories" or path.startswith("/memories/")
    assert key_of("path", shown(key)) == key
    assert key.isprintable() and key == unicodedata.normalize("NFC", key)
    alike = unicodedata.normalize("NFKC", key)
    assert alike.count("/") == key.count("/") and "\\" not in alike
    for name in key.split("/")[1:]:
        assert name.strip() == name and name.strip(".")
    assert all(key.startswith(f"{directory}/") for directory in directories_of(key))


class Neighbourhood:
    """A user with memories that are no files, and another user with files of the same names."""

    def __init__(self, memory: Memory) -> None:
        self.ana, self.ben = memory.user("ana"), memory.user("ben")
        self.ana.update_user_profile({"name": "Ana"}, explicit=True)
        for key in ("a", "/a", "notes.md", "/notes.md", "..", "/"):
            self.ana.add(f"under {key}", theme="work", key=key)
        for key in ("a", "../work", "/../a", "//", "/a//b", "/ x", "a/b"):
            self.ana.add(f"filed as {key}", theme=FILES_THEME, key=key)
        self.ana.add("without a key", theme=FILES_THEME)
        self.theirs = MemoryFiles(self.ben)
        for path in ("/memories/a", "/memories/notes.md"):
            self.theirs.create(path, "of ben")
        shared = self.ben.add("linked", theme=FILES_THEME, key="/linked.md")
        share(self.ben, shared.id, "ana")
        self.before = self.others()

    def others(self) -> list[tuple[str, str, object]]:
        """What is not to be reached: everything but the files of the one user."""
        found = [*self.ana.list(limit=1000, status="any"), *self.ben.list(limit=1000, status="any")]
        return sorted(
            (item.user_id, item.content, item.updated_at)
            for item in found
            if not item.content.startswith("mine")
        )


@pytest.fixture(scope="module")
def around() -> Iterator[Neighbourhood]:
    memory = open_memory(":memory:", run_jobs=False, upkeep=False, embedder=WordEmbedder())
    yield Neighbourhood(memory)
    memory.close()


@pytest.mark.fuzz
@example("/memories/../other/a", "/memories/a")
@example("/memories/a", "/memories/other/../a")
@example("/memories/linked.md", "/memories/b")
@example("/memories//", "/memories/notes.md")
@given(paths, paths)
def test_no_command_reaches_anything_else(around: Neighbourhood, path: str, other: str) -> None:
    files = MemoryFiles(around.ana)
    answers = [
        files.run({"command": "create", "path": path, "file_text": "mine"}),
        files.run({"command": "view", "path": path}),
        files.run({"command": "insert", "path": path, "insert_line": 0, "insert_text": "mine"}),
        files.run({"command": "str_replace", "path": path, "old_str": "of ben", "new_str": "x"}),
        files.run({"command": "rename", "old_path": path, "new_path": other}),
        files.run({"command": "view", "path": other}),
        files.run({"command": "delete", "path": other}),
        files.run({"command": "delete", "path": path}),
    ]
    for answer in answers:
        assert answer.error is None or isinstance(answer.error, RicordoError)
        told = ("of ben", "under ", "filed as", "without a key", "linked\n", "Ana")
        assert answer.is_error or not [word for word in told if word in answer.text]
    assert around.others() == around.before
    files.clear()
    assert around.others() == around.before


def test_users_have_files_of_their_own(memory: Memory) -> None:
    ana, ben = MemoryFiles(memory.user("ana")), MemoryFiles(memory.user("ben"))
    ana.create("/memories/a.md", "of ana")
    ben.create("/memories/a.md", "of ben")
    ana.delete("/memories/a.md")
    assert ben.view("/memories/a.md").endswith("of ben")
    assert ana.run({"command": "view", "path": "/memories/a.md"}).is_error


def at_once(*work: Callable[[], object]) -> list[BaseException]:
    """Do it all at the same time, each in a thread; what was raised."""
    start = threading.Barrier(len(work))
    raised: list[BaseException] = []

    def run(one: Callable[[], object]) -> None:
        start.wait()
        try:
            one()
        except RicordoError as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_writers_at_once_lose_nothing(backend_url: str, open_store: Callable[..., Memory]) -> None:
    """Two stores, as two processes have them."""
    users = [open_store(backend_url).user("ana") for _ in range(2)]
    MemoryFiles(users[0]).create("/memories/log.md", "begin")

    def writer(user: UserMemory, name: str) -> Callable[[], None]:
        def insert() -> None:
            for number in range(5):
                MemoryFiles(user).insert("/memories/log.md", 1, f"{name} {number}")

        return insert

    assert at_once(writer(users[0], "one"), writer(users[1], "two")) == []
    (item,) = users[0].list()
    lines = item.content.split("\n")
    assert lines[0] == "begin" and len(lines) == 11
    for name in ("one", "two"):
        told = [line for line in lines if line.startswith(name)]
        assert told == [f"{name} {number}" for number in reversed(range(5))]


def test_one_of_many_creates_or_renames(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    files = [MemoryFiles(open_store(backend_url).user("ana")) for _ in range(2)]
    raised = at_once(
        lambda: files[0].create("/memories/new.md", "one"),
        lambda: files[1].create("/memories/new.md", "two"),
    )
    assert [type(error).__name__ for error in raised] == ["Occupied"]
    for name in ("a", "b"):
        files[0].create(f"/memories/{name}", name)
    raised = at_once(
        lambda: files[0].rename("/memories/a", "/memories/c"),
        lambda: files[1].rename("/memories/b", "/memories/c"),
    )
    assert [type(error).__name__ for error in raised] == ["Occupied"]
    left = files[0].view("/memories").count("\n") - 1
    assert left == 3  # nothing was overwritten


def test_an_edit_is_made_anew_on_what_is_there_now(memory: Memory) -> None:
    """Where somebody was faster, in whatever way, the edit is made on their text, or refused."""
    ana = memory.user("ana")
    MemoryFiles(ana).create("/memories/a", "tea and a dog")
    keeping = FileMemories(ana)

    def replacing(faster: Callable[[], object], old: str, new: str) -> None:
        before = [faster]

        def edit(content: str) -> str:
            if before:
                before.pop()()
            return replaced(content, old, new)[0]

        keeping.change("path", "/a", edit, "test")

    replacing(lambda: MemoryFiles(ana).str_replace("/memories/a", "dog", "cat"), "tea", "mate")
    assert MemoryFiles(ana).view("/memories/a").endswith("mate and a cat")
    replacing(lambda: MemoryFiles(ana).str_replace("/memories/a", "cat", "Cat"), "mate", "tea")
    assert MemoryFiles(ana).view("/memories/a").endswith("tea and a Cat")
    with pytest.raises(InvalidValue, match="does not occur"):
        replacing(lambda: ana.add("rain", theme=FILES_THEME, key="/a"), "tea", "water")
    assert MemoryFiles(ana).view("/memories/a").endswith("rain")
    with pytest.raises(NotFound):
        replacing(lambda: MemoryFiles(ana).delete("/memories/a"), "rain", "sun")


class Overtaken(FileMemories):
    """Somebody is faster, once, between the look at a directory and the work on it."""

    def __init__(self, user: UserMemory, faster: Callable[[], object]) -> None:
        super().__init__(user)
        self._faster = [faster]

    def look(self, key: str) -> tuple[Item | None, list[Item]]:
        found = super().look(key)
        if self._faster:
            self._faster.pop()()
        return found


def test_work_on_a_directory_is_for_what_is_in_it_now(memory: Memory) -> None:
    ana = memory.user("ana")
    files = MemoryFiles(ana)
    files.create("/memories/a/1", "one")
    Overtaken(ana, lambda: files.create("/memories/a/2", "two")).move("/a", "/b")
    assert {item.key for item in ana.list()} == {"/b/1", "/b/2"}
    assert Overtaken(ana, lambda: files.create("/memories/b/3", "three")).remove("/b") == 3
    files.create("/memories/c/1", "one")
    with pytest.raises(NotFound):
        Overtaken(ana, lambda: files.delete("/memories/c")).remove("/c")
    files.create("/memories/d/1", "one")
    with pytest.raises(NotFound):
        Overtaken(ana, lambda: files.rename("/memories/d", "/memories/e")).move("/d", "/f")
    files.create("/memories/g", "Likes tea")
    with pytest.raises(InvalidValue, match="holds a secret"):
        Overtaken(ana, lambda: files.str_replace("/memories/g", "Likes tea", "4471")).move(
            "/g", "/gate-code"
        )
    assert {item.key for item in ana.list()} == {"/e/1", "/g"}
