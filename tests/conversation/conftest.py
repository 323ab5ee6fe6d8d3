"""Fixtures of the tests about long conversations."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo import Memory, UserMemory, Window
from ricordo.storage.threads import count_open_turns
from ricordo.testing import ManualClock
from tests.support.endpoints import FaultyModel

THREAD = "garden"


class Talk:
    """A conversation of two, each turn a minute after the one before."""

    def __init__(self, memory: Memory, clock: ManualClock, user: str = "ana") -> None:
        self.memory = memory
        self.clock = clock
        self.me: UserMemory = memory.user(user)
        self._turns = 0

    def say(self, *texts: str, thread: str = THREAD) -> None:
        """Say something: by turns the user and the assistant."""
        messages = []
        for text in texts:
            self.clock.advance(minutes=1)
            role = "assistant" if self._turns % 2 else "user"
            self._turns += 1
            messages.append({"role": role, "content": text, "at": self.clock()})
        self.me.observe(messages, thread=thread)

    def go_on(self, count: int, thread: str = THREAD) -> None:
        """Say so many things, each of them another."""
        numbers = range(self._turns + 1, self._turns + count + 1)
        self.say(*(f"Bed number {n} gets {n} tulips." for n in numbers), thread=thread)

    def window(self, thread: str = THREAD) -> Window:
        return self.me.window(thread)

    @property
    def positions(self) -> list[int]:
        """Which turns the window shows."""
        return [turn.position for turn in self.window().turns]

    @property
    def open_turns(self) -> int:
        with self.memory.database.read_all() as view:
            return count_open_turns(view.connection, self.me.scope.user_id, THREAD)

    def queued(self, kind: str) -> int:
        return sum(job.kind == kind for job in self.memory.jobs(state="queued", limit=1000))


@pytest.fixture
def talk(memory: Memory, clock: ManualClock) -> Talk:
    """Without a language model, on both databases."""
    return Talk(memory, clock)


@pytest.fixture
def model_server() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        yield server


@pytest.fixture
def with_model(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    model_server: FaultyModel,
) -> Callable[..., Talk]:
    """Opens a store whose conversations the scripted model tells in short."""

    def open_one(**settings: Any) -> Talk:
        chosen = {
            "model_provider": "custom_http",
            "model_name": "scripted",
            "model_base_url": model_server.base_url,
            "formation": False,  # the model is asked for nothing else
            **settings,
        }
        return Talk(open_store(backend_url, **chosen), clock)

    return open_one
