"""The lines of an export, and what is asked of a store after an import."""

import json
from pathlib import Path
from typing import Any

from ricordo import Memory, UserMemory
from ricordo.storage.consistency import find_inconsistencies

Lines = list[dict[str, Any]]


def exported(user: UserMemory) -> Lines:
    return [json.loads(line) for line in user.export_lines()]


def write(path: Path, lines: Lines) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def without(lines: Lines, *kinds: str) -> Lines:
    """An export from before there were lines of these kinds."""
    header, *inside, end = (line for line in lines if line["kind"] not in kinds)
    return [header, *inside, {**end, "rows": len(inside)}]


def inconsistencies(memory: Memory) -> list[str]:
    with memory.database.read_all() as view:
        return find_inconsistencies(view.connection)
