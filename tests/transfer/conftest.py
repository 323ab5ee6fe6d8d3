"""Fixtures: somebody whose memory is empty, and files to import into it."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory, UserMemory

Write = Callable[[Any], Path]
Zip = Callable[[dict[str, Any]], Path]


@pytest.fixture
def ana(open_store: Callable[..., Memory], sqlite_url: str) -> UserMemory:
    return open_store(sqlite_url).user("ana")


@pytest.fixture
def exported(tmp_path: Path) -> Write:
    """Makes a file with this JSON in it."""

    def write(data: Any) -> Path:
        path = tmp_path / "export.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


@pytest.fixture
def zipped(tmp_path: Path) -> Zip:
    """Makes an archive with these members in it: bytes as they are, anything else as JSON."""

    def write(members: dict[str, Any]) -> Path:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
        return path

    return write
