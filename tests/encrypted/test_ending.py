"""What holds for any store (tests/contract/test_ending.py), on an encrypted one."""

from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.storage.sqlite.connection import DatabaseKey
from ricordo.storage.sqlite.rekey import convert
from tests.contract.test_ending import *  # noqa: F403
from tests.contract.test_ending import CITY, SECRET, dump, fill
from tests.encrypted.conftest import KEY


@pytest.mark.requirement("erasure.no-trace")
def test_nothing_is_left_of_an_erased_user(memory: Memory, backend_url: str) -> None:
    """In place of the one that looks for what was said in the bytes of a file: here nothing is
    ever to be seen in them, so the file is looked at without its encryption."""
    fill(memory)
    for text in (SECRET, CITY):
        assert text.encode() not in dump(memory, backend_url)
    assert memory.erase_user("ana").scrubbed
    memory.close()
    convert(Path(backend_url), DatabaseKey(KEY), None)
    plain = Path(backend_url).read_bytes()
    assert b"Ben's own" in plain
    for text in (SECRET, CITY):
        assert text.encode() not in plain
