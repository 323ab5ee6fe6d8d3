"""What a prompt costs to build, without and with looking for memories."""

from collections.abc import Iterator
from typing import Final

from ricordo.bench.figures import Figure, judged
from ricordo.bench.ground import Ground
from ricordo.bench.latency import latency, times_ms
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

_PLAIN_FLOOR_MS: Final = 10.0
_RECALLING_FLOOR_MS: Final = 100.0
_THREAD: Final = "bench"
_TURNS: Final = 15
_WARM_UP: Final = 3
_PLAIN: Final = "tools"
_RECALLING: Final = "tools+recall+summary"


def context_figures(ground: Ground) -> list[Figure]:
    """``context`` of a conversation, embedding the message with the shipped model included."""
    (searches,) = ground.small.searches
    with open_memory(ground.small.url, run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(searches.user)
        user.observe(list(_said()), thread=_THREAD)
        return [
            *_figures(user, searches.queries, _PLAIN, _PLAIN_FLOOR_MS, ground),
            *_figures(user, searches.queries, _RECALLING, _RECALLING_FLOOR_MS, ground),
        ]


def _figures(
    user: UserMemory, messages: tuple[str, ...], modes: str, floor: float, ground: Ground
) -> list[Figure]:
    def build(message: str) -> object:
        return user.context(message, thread=_THREAD, modes=modes)

    for message in messages[:_WARM_UP]:
        build(message)
    times = latency(times_ms(build, messages))
    name = f"context ({modes}), {ground.sizes.small:,} memories"
    full = ground.sizes.are_full
    return [
        judged(f"{name}, p50", times.p50_ms, "ms"),
        judged(f"{name}, p95", times.p95_ms, "ms", floor=floor, at_full_size=full),
    ]


def _said() -> Iterator[dict[str, str]]:
    for number in range(_TURNS):
        role = "user" if number % 2 == 0 else "assistant"
        yield {"role": role, "content": f"Something that was said as turn number {number}."}
