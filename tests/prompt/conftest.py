"""Prompts of users of a store on each database."""

import pytest

from ricordo import Memory, UserMemory


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def ben(memory: Memory) -> UserMemory:
    return memory.user("ben")
