"""A service in a process of its own, its store, and what is stored of attempts in it.

Each attempt is on a user of its own; afterwards every text in the database but the conversations
themselves, and every file of the user, is looked through for what gives the attempt away.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import sqlalchemy as sa

from bench.attack.planted import Planted
from ricordo.files.home import UserFiles
from ricordo.memory import Memory
from ricordo.storage.tables import metadata
from ricordo.testing import ModelServer
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

User = str
WAIT_SECONDS: Final = 120.0
_RICORDO: Final = (sys.executable, "-m", "ricordo")
_TAKEN: Final = range(200, 300)
_REFUSED: Final = (403, 422)
_NOT_SEARCHED: Final = frozenset({"turns", "turn_index", "item_index", "proposals"})
_DERIVED: Final = frozenset({"user_id", "folded"})
_DAILY: Final = "daily"
_SAID_IN_SHORT: Final = frozenset({"compactions", "threads", _DAILY})
"""The conversation once more: no place for a secret, but for what else was said in it."""


class Target:
    """A service, and its store opened a second time from here."""

    def __init__(self, url: str, memory: Memory, model: ModelServer, store: str, home: str) -> None:
        self.memory = memory
        self.model = model
        self._place = ("--db", store, "--home", home)
        self._client = httpx2.Client(base_url=url, timeout=WAIT_SECONDS, trust_env=False)

    def send(
        self, path: str, user: User, body: Any = None, *, method: str = "POST", **more: Any
    ) -> str:
        """The answer, which may be a refusal. Raises RuntimeError where the service fails."""
        headers = {"X-Ricordo-User": user, **more.pop("headers", {})}
        response = self._client.request(method, path, json=body, headers=headers, **more)
        if response.status_code not in _TAKEN and response.status_code not in _REFUSED:
            raise RuntimeError(f"{path}: {response.status_code} {response.text}")
        return response.text

    def speak(self, user: User, *messages: dict[str, Any]) -> None:
        """Tell a server on standard streams of its own; raises RuntimeError where it fails."""
        command = [*_RICORDO, "mcp", *self._place, "-u", user, "--tools"]
        said = "".join(f"{json.dumps(message)}\n" for message in messages)
        with subprocess.Popen(
            [*command, "standard", "--tools", "profile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(said)
            process.stdin.flush()
            wanted = {message["id"] for message in messages if "id" in message}
            for line in process.stdout:
                wanted.discard(json.loads(line).get("id"))
                if not wanted:
                    break
            process.stdin.close()
        if wanted:
            raise RuntimeError("ricordo mcp did not answer")

    def user(self, user: User) -> UserMemory:
        return self.memory.user(user)

    def files(self, user: User) -> UserFiles:
        files = self.memory.parts.files
        assert files is not None
        return files.of(user)


def stored_texts(memory: Memory) -> dict[User, list[tuple[str, str]]]:
    """Every text of every user, with its table and column, but for the conversations."""
    found: dict[User, list[tuple[str, str]]] = defaultdict(list)
    with memory.database.read_all() as view:
        for table in metadata.tables.values():
            if table.name in _NOT_SEARCHED or "user_id" not in table.c:
                continue
            for row in view.connection.execute(sa.select(table)).mappings():
                for name, value in row.items():
                    if isinstance(value, str | list | dict) and name not in _DERIVED:
                        text = (
                            value
                            if isinstance(value, str)
                            else json.dumps(value, ensure_ascii=False)
                        )
                        found[row["user_id"]].append((f"{table.name}.{name}", text))
    return found


def stored_of(one: Planted, texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The places where an attempt is stored, with the text."""
    return tuple(
        f"{place}: {text}"
        for place, text in texts
        if one.is_in(text) and (one.is_secret or place.split(".")[0] not in _SAID_IN_SHORT)
    )


def texts_in_files(files: UserFiles) -> Iterator[tuple[str, str]]:
    """What ricordo has written into the files of a user."""
    for path in (files.memory_file, files.profile, *files.daily.glob("*.md")):
        if path.exists():
            place = _DAILY if path.parent == files.daily else path.name
            yield f"{place}.text", path.read_text(encoding="utf-8")


@contextlib.contextmanager
def running(*, has_model: bool) -> Iterator[Target]:
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder, ModelServer() as model:
        home = Path(folder) / "home"
        store = str(Path(folder) / "ricordo.db")
        settings = {
            "RICORDO_HOME": str(home),
            "RICORDO_RATE_LIMIT_PER_MINUTE": "0",
            "RICORDO_UPKEEP": "0",
            "RICORDO_UPSTREAM_URL": model.base_url,
            "RICORDO_ANTHROPIC_URL": model.root,
        }
        if has_model:
            settings["RICORDO_MODEL_PROVIDER"] = "custom_http"
            settings["RICORDO_MODEL_NAME"] = "obedient"
            settings["RICORDO_MODEL_BASE_URL"] = model.base_url
        command = [*_RICORDO, "serve", "--port", "0", "--json", "--db", store]
        with subprocess.Popen(
            command,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                line = process.stdout.readline() if process.stdout is not None else ""
                if not line:
                    raise SystemExit("the service did not start; try: ricordo serve")
                with open_memory(store, run_jobs=False, files=home) as memory:
                    yield Target(json.loads(line)["listening"], memory, model, store, str(home))
            finally:
                process.terminate()
