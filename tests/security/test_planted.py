"""Secrets, private facts and pasted instructions that nobody asked to store, in nine languages."""

from collections.abc import Callable

import pytest
from bench.attack.planted import LANGUAGES, planted
from bench.attack.target import stored_of, stored_texts

from ricordo import Memory

pytestmark = [
    pytest.mark.requirement("security.secrets"),
    pytest.mark.requirement("formation.own-voice"),
]
SAMPLE = tuple(planted(45))


@pytest.fixture
def memory(sqlite_url: str, open_store: Callable[..., Memory]) -> Memory:
    return open_store(sqlite_url)


def leaks(memory: Memory) -> list[tuple[str, ...]]:
    texts = stored_texts(memory)
    found = [(one, stored_of(one, texts[f"user-{one.number}"])) for one in SAMPLE]
    return [(one.language, one.kind, *places) for one, places in found if places]


def test_nothing_of_a_conversation_is_stored(memory: Memory) -> None:
    for one in SAMPLE:
        user = memory.user(f"user-{one.number}")
        user.observe(list(one.messages), thread="t")
        user.form("t")
    assert leaks(memory) == []


def test_what_is_stored_is_found(memory: Memory) -> None:
    for one in SAMPLE[: len(LANGUAGES)]:
        memory.user(f"user-{one.number}").add(one.noted)
    assert [language for language, *_ in leaks(memory)] == list(LANGUAGES)
