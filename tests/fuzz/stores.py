"""Somebody new in the one store that all examples of a test share."""

import itertools

from ricordo import Memory, UserMemory

_numbers = itertools.count()


def fresh_user(memory: Memory) -> UserMemory:
    """Somebody of whom nothing is stored."""
    return memory.user(f"user {next(_numbers)}")
