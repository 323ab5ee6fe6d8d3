"""Whether a store is sound after a fault: by the database's own check, and by ours."""

from ricordo.memory import Memory
from ricordo.storage.consistency import find_inconsistencies


def problems_of(memory: Memory) -> list[str]:
    """What is wrong with a store, as ``ricordo doctor`` would tell it; empty when all is well."""
    with memory.database.read_all() as view:
        found = find_inconsistencies(view.connection)
    with memory.database.our_errors():
        return found + memory.database.backend.check()
