"""Edits of the policy file apply to the next request."""

import os
import threading
from pathlib import Path

import pytest

from ricordo.access.policy import AccessPolicy
from ricordo.access.policy_file import PolicyFile
from ricordo.errors import InvalidPolicy

BEFORE = "categories: [a, b]\nallowlists: {planner: [a]}\n"
AFTER = "categories: [a, b]\nallowlists: {planner: [b]}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(BEFORE, encoding="utf-8")
    return path


def test_a_file_that_stays_is_parsed_once(path: Path) -> None:
    file = PolicyFile(path)
    assert file.current() is file.current()
    assert PolicyFile(None).current() == AccessPolicy.open()


def test_an_edit_applies_at_once_even_with_the_same_size_and_time(path: Path) -> None:
    file = PolicyFile(path)
    assert file.current().allowed("planner") == {"a"}
    times = path.stat()
    path.write_text(AFTER, encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_size == times.st_size
    assert file.current().allowed("planner") == {"b"}


def test_a_file_that_is_broken_or_gone_allows_nothing(path: Path) -> None:
    file = PolicyFile(path)
    file.current()
    for broken in ("allowlists: [", "", "categories: [a, b]\n"):
        path.write_text(broken, encoding="utf-8")
        for _ in range(2):
            with pytest.raises(InvalidPolicy, match="policy.yaml, line 1"):
                file.current()
    path.write_text(BEFORE, encoding="utf-8")
    assert file.current().allowed("planner") == {"a"}
    path.unlink()
    with pytest.raises(InvalidPolicy, match="cannot be read"):
        file.current()


def test_threads_see_one_whole_policy_or_the_other(path: Path) -> None:
    file = PolicyFile(path)
    seen: set[frozenset[str] | None] = set()
    failures: list[Exception] = []

    def look() -> None:
        try:
            for _ in range(50):
                seen.add(file.current().allowed("planner"))
        except Exception as failure:
            failures.append(failure)

    lookers = [threading.Thread(target=look) for _ in range(4)]
    for looker in lookers:
        looker.start()
    for turn in range(20):
        beside = path.with_suffix(".new")
        beside.write_text((AFTER, BEFORE)[turn % 2], encoding="utf-8")
        beside.replace(path)
    for looker in lookers:
        looker.join()
    assert failures == []
    assert seen <= {frozenset({"a"}), frozenset({"b"})}
    assert file.current().allowed("planner") == {"a"}
