"""What somebody would build instead: python -m bench.loading.chroma FOLDER TEXTS

A chromadb store in FOLDER behind two endpoints of FastAPI, with the model of the service, filled
with TEXTS: a list of texts for each user, as JSON. Its first line says where it listens. It runs in
the environment of the peers, which has chromadb.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header
from pydantic import BaseModel

from bench.loading.listening import Listening
from bench.peers.chroma import Chroma
from bench.peers.contract import Document
from ricordo.providers.local_embedder import LocalEmbedder

_AT_ONCE = 64
Whose = Annotated[str, Header(alias="X-Ricordo-User")]


class Searched(BaseModel):
    query: str
    limit: int = 10


class Added(BaseModel):
    content: str


class Hit(BaseModel):
    id: str
    content: str
    score: float


class Found(BaseModel):
    results: list[Hit]


class Stored(BaseModel):
    id: int
    content: str


def create_app(folder: Path, texts: dict[str, list[str]]) -> FastAPI:
    app = FastAPI()
    embedder = LocalEmbedder(threads=1)
    store = Chroma(folder / "chroma")
    numbers = dict.fromkeys(texts, 0)
    lock = threading.Lock()
    for user, kept in texts.items():
        for start in range(0, len(kept), _AT_ONCE):
            some = kept[start : start + _AT_ONCE]
            documents = [Document(str(start + at), text) for at, text in enumerate(some)]
            store.load(user, documents, embedder.embed(some))
        numbers[user] = len(kept)

    @app.post("/v1/memories/search")
    def search(asked: Searched, user: Whose) -> Found:
        vector = embedder.embed([asked.query])[0]
        hits = store.hits(user, vector, asked.limit)
        return Found(results=[Hit(id=key, content=text, score=1 - far) for key, text, far in hits])

    @app.post("/v1/memories", status_code=201)
    def add(asked: Added, user: Whose) -> Stored:
        vectors = embedder.embed([asked.content])
        with lock:
            numbers[user] += 1
            number = numbers[user]
        store.load(user, [Document(str(number), asked.content)], vectors)
        return Stored(id=number, content=asked.content)

    return app


def main() -> None:
    folder, texts = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    app = create_app(folder, texts)
    config = uvicorn.Config(app, port=0, lifespan="off", log_level="warning", access_log=False)
    Listening(config).run()


if __name__ == "__main__":
    main()
