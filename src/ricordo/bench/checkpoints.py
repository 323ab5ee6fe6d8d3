"""What saving and loading a program's state costs, on each database that there is."""

import contextlib
import json
import time
from typing import Final

from ricordo.bench.figures import Figure, judged
from ricordo.bench.ground import USER, Ground, synthetic
from ricordo.bench.invented import InventedTexts
from ricordo.bench.latency import Latency, latency
from ricordo.errors import UserNotFound
from ricordo.user_memory import UserMemory

_FLOOR_MS: Final = 100.0
_STATE_BYTES: Final = 100_000
_WARM_UP: Final = 3
_THREADS: Final = 20


def checkpoint_figures(ground: Ground, postgres_url: str | None) -> list[Figure]:
    """A state of 100 KB, saved over the one before and loaded. What was stored is removed."""
    urls = {"SQLite": str(ground.folder / "checkpoints.db")}
    if postgres_url is not None:
        urls["PostgreSQL"] = postgres_url
    state = _state()
    figures = []
    for database, url in urls.items():
        with synthetic(url) as memory:
            try:
                times = _measured(memory.user(USER), state, ground.sizes.queries)
            finally:
                with contextlib.suppress(UserNotFound):
                    memory.erase_user(USER)
        for what, one in times.items():
            name = f"{what} a checkpoint of {_STATE_BYTES // 1_000} KB, {database}"
            figures += [
                judged(f"{name}, p50", one.p50_ms, "ms"),
                judged(
                    f"{name}, p95",
                    one.p95_ms,
                    "ms",
                    floor=_FLOOR_MS,
                    at_full_size=ground.sizes.are_full,
                ),
            ]
    return figures


def _measured(user: UserMemory, state: object, calls: int) -> dict[str, Latency]:
    saved, loaded = [], []
    for number in range(_WARM_UP + calls):
        thread = f"bench:{number % _THREADS}"
        started = time.perf_counter()
        user.save_checkpoint(thread, state)
        between = time.perf_counter()
        user.load_checkpoint(thread)
        ended = time.perf_counter()
        if number >= _WARM_UP:
            saved.append((between - started) * 1_000)
            loaded.append((ended - between) * 1_000)
    return {"save": latency(saved), "load": latency(loaded)}


def _state() -> object:
    """What an agent keeps: messages, and notes on each."""
    messages: list[dict[str, object]] = []
    size = 0
    for number, text in enumerate(InventedTexts(seed=1).texts(_STATE_BYTES // 50)):
        message = {"role": "user", "content": text, "step": number, "scores": [0.25, None, True]}
        size += len(json.dumps(message, ensure_ascii=False, separators=(",", ":"))) + 1
        if size > _STATE_BYTES:
            break
        messages.append(message)
    return {"messages": messages}
