"""One run: clients work, requests are made up, strangers attack, and the service is watched."""

import asyncio
import os
import random
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import httpx2
from tests.support.served import COMMAND, served

from bench.soaking.generated import Requests
from bench.soaking.hostile import TRAILED, attack
from bench.soaking.watching import Watch, Watched
from ricordo.testing import ModelServer
from ricordo.wiring import open_memory
from ricordo_bench.stores import InventedTexts

_SEED: Final = 20260101
_GENERATING: Final = 10  # requests that are under way at once
_PATIENCE_SECONDS: Final = 120.0
_SERVER_ERROR: Final = 500
_SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Soak:
    """How much of everything."""

    requests: int
    clients: int
    hostile: int


@dataclass(slots=True)
class Course:
    """What happened in a run. ``faults`` are answers of 5xx, and requests without an answer."""

    generated: Counter[int] = field(default_factory=Counter)
    worked: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    attacks: int = 0
    added: list[tuple[str, int, str]] = field(default_factory=list)
    lost: list[tuple[str, int, str]] = field(default_factory=list)
    trailed: int = 0
    seconds: float = 0.0
    watched: Watched = field(default_factory=Watched)
    exit_code: int = 0
    doctor: str | None = None


def run_course(url: str, soak: Soak) -> Course:
    """Serve an empty store, let everybody at it, and look what is in it afterwards."""
    course = Course()
    with ModelServer() as openai, ModelServer() as anthropic:
        openai.answer_with(lambda _request: "Hello.")
        anthropic.answer_with(lambda _request: "Hello.")
        upstreams = {
            "RICORDO_UPSTREAM_URL": openai.base_url,
            "RICORDO_ANTHROPIC_URL": anthropic.root,
        }
        with served(url, **upstreams) as service:
            started = time.monotonic()
            with Watch(service.url, service.pid) as watch:
                asyncio.run(_everybody(service.url, soak, course))
            course.seconds = time.monotonic() - started
            course.watched = watch.watched
            course.exit_code = service.stop()
    _look_into(url, course)
    return course


async def _everybody(url: str, soak: Soak, course: Course) -> None:
    ended = asyncio.Event()
    host, _, port = url.removeprefix("http://").rpartition(":")
    limits = httpx2.Limits(max_connections=soak.clients + _GENERATING)
    async with httpx2.AsyncClient(base_url=url, timeout=_PATIENCE_SECONDS, limits=limits) as client:
        document = (await client.get("/openapi.json")).json()
        users = [f"made-up-{number}" for number in range(5)]
        requests = Requests(document, users, random.Random(_SEED))
        strangers = [
            asyncio.create_task(attack((host, int(port)), number, ended))
            for number in range(soak.hostile)
        ]
        working = [
            asyncio.create_task(_work(client, f"worker-{number}", course, ended))
            for number in range(soak.clients)
        ]
        share = -(-soak.requests // _GENERATING)
        await asyncio.gather(
            *(_generate(client, requests, share, course) for _ in range(_GENERATING))
        )
        ended.set()
        await asyncio.gather(*working)
        course.attacks = sum(await asyncio.gather(*strangers))


async def _generate(
    client: httpx2.AsyncClient, requests: Requests, number: int, course: Course
) -> None:
    for _ in range(number):
        one = requests.next()
        try:
            answer = await client.request(
                one.method, one.path, headers=dict(one.headers), content=one.body
            )
        except httpx2.TransportError as error:
            course.generated[0] += 1
            course.faults.append(f"{one.method} {one.path[:_SHOWN_CHARS]}: {error!r}")
            continue
        course.generated[answer.status_code] += 1
        if answer.status_code >= _SERVER_ERROR:
            told = f"{answer.status_code} {answer.text[:_SHOWN_CHARS]}"
            asked = f"{one.method} {one.path[:_SHOWN_CHARS]} {(one.body or b'')[:_SHOWN_CHARS]!r}"
            course.faults.append(f"{asked}: {told}")


async def _work(
    client: httpx2.AsyncClient, user: str, course: Course, ended: asyncio.Event
) -> None:
    """What a client does all day; each of its requests must be answered well."""
    source = InventedTexts(seed=sum(user.encode()))
    texts = source.texts(200)
    number = 0
    while not ended.is_set():
        text = f"{texts[number % len(texts)]} Noted as {number}."
        number += 1
        said = [{"role": "user", "content": text}]
        for path, body in (
            ("/v1/memories", {"content": text}),
            ("/v1/memories/search", {"query": text[:200]}),
            ("/v1/context", {"message": text[:200]}),
            (f"/v1/threads/{number % 7}/turns", {"messages": said}),
            ("/v1/chat/completions", {"model": "m", "messages": said}),
            ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": said}),
        ):
            headers = {"X-Ricordo-User": user}
            try:
                answer = await client.post(path, json=body, headers=headers)
            except httpx2.TransportError as error:
                course.worked[0] += 1
                course.faults.append(f"POST {path} of {user}: {error!r}")
                continue
            course.worked[answer.status_code] += 1
            if not answer.is_success:
                told = f"{answer.status_code} {answer.text[:_SHOWN_CHARS]}"
                course.faults.append(f"POST {path} of {user}: {told}")
            elif path == "/v1/memories":
                course.added.append((user, answer.json()["id"], text))


def _look_into(url: str, course: Course) -> None:
    with open_memory(url, run_jobs=False, embedding_provider="none") as memory:
        for user in sorted({user for user, _, _ in course.added}):
            found: dict[int, str] = {}
            cursor = None
            while True:
                page = memory.user(user).list(limit=1_000, cursor=cursor, status="any")
                found |= {item.id: item.content for item in page}
                cursor = page.next_cursor
                if cursor is None:
                    break
            of_user = (one for one in course.added if one[0] == user)
            course.lost += [one for one in of_user if found.get(one[1]) != one[2]]
        course.trailed = len(memory.user(TRAILED).list(status="any"))
    done = subprocess.run(
        [COMMAND, "doctor", "--json"],
        env={**os.environ, "RICORDO_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    course.doctor = None if done.returncode == 0 else (done.stdout + done.stderr).strip()
