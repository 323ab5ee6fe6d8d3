"""The least server that can do what the load asks for: python -m bench.loading.bound STORE

With the model of the service it embeds, compares with all vectors of a user, which it reads from
STORE, and writes one row to an SQLite file, over HTTP: raw ASGI in one process, vectors in memory,
texts that come together embedded and committed together. No rights, no history, no words, no
ranking. Its first line says where it listens.
"""

import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import uvicorn

from bench.loading.listening import Listening
from bench.loading.requests import Kind
from ricordo.providers.local_embedder import SHIPPED_WIDTH, LocalEmbedder
from ricordo.wiring import open_memory

_TOP: Final = 10
_AT_ONCE: Final = 16
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS bound (user_id TEXT, id INTEGER, content TEXT, vector BLOB)"
)

Vector = np.ndarray[Any, Any]


class User:
    """The texts of one user, and their vectors in an array with room for more."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._rows = np.zeros((64, SHIPPED_WIDTH), np.float32)

    def add(self, text: str, vector: Vector) -> int:
        if len(self.texts) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[len(self.texts)] = vector
        self.texts.append(text)
        return len(self.texts)

    def nearest(self, vector: Vector) -> list[dict[str, Any]]:
        scores = self._rows[: len(self.texts)] @ vector
        top = np.argpartition(-scores, min(_TOP, len(scores) - 1))[:_TOP]
        best = sorted(top.tolist(), key=lambda row: -scores[row])
        return [
            {"id": row, "content": self.texts[row], "score": float(scores[row])} for row in best
        ]


class Together:
    """Work that came while other work was done, done in one go in a thread."""

    def __init__(self, work: Callable[[list[Any]], list[Any]]) -> None:
        self._work = work
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, one: Any) -> Any:
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((one, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            some, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
            found = await loop.run_in_executor(None, self._work, [one for one, _ in some])
            for (_, answer), result in zip(some, found, strict=True):
                answer.set_result(result)
        self._task = None


class Server:
    def __init__(self, url: str) -> None:
        self._embedder = LocalEmbedder(threads=1)
        self._users: dict[str, User] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="ricordo-bound-")
        self._database = sqlite3.connect(
            Path(self._folder.name) / "bound.db", check_same_thread=False
        )
        self._database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {_TABLE}")
        with open_memory(url, run_jobs=False) as memory:
            for name in memory.users():
                known, cursor = self._users.setdefault(name, User()), None
                while True:
                    page = memory.user(name).list(limit=1_000, cursor=cursor)
                    texts = [item.content for item in page]
                    for text, vector in zip(texts, self._embedder.embed(texts), strict=True):
                        known.add(text, vector)
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        self._vector = Together(lambda texts: list(self._embedder.embed(texts)))
        self._write = Together(self._written)

    def _written(self, rows: list[Any]) -> list[Any]:
        with self._database:
            self._database.executemany("INSERT INTO bound VALUES (?, ?, ?, ?)", rows)
        return rows

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        asked = json.loads(body)
        name = dict(scope["headers"])[b"x-ricordo-user"].decode()
        known = self._users[name]
        if scope["path"] == Kind.SEARCH.path:
            answer: Any = {"results": known.nearest(await self._vector(asked["query"]))}
        else:
            text = asked["content"]
            vector = await self._vector(text)
            answer = {"id": known.add(text, vector), "content": text}
            await self._write((name, answer["id"], text, vector.tobytes()))
        content = json.dumps(answer).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(content)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def main() -> None:
    app = Server(sys.argv[1])
    config = uvicorn.Config(app, port=0, lifespan="off", log_level="warning", access_log=False)
    Listening(config).run()


if __name__ == "__main__":
    main()
