"""Fixtures of the tests about formation: somebody who talks, and a model that answers by script."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo import FormationReport, Memory, UserMemory
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer


class Talking:
    """A user whose every turn takes a minute, on a store that a test opens as it needs."""

    def __init__(self, memory: Memory, clock: ManualClock, user: str = "ana") -> None:
        self.memory = memory
        self.clock = clock
        self.me: UserMemory = memory.user(user)

    def say(self, *texts: str, thread: str = "monday", role: str = "user", **more: Any) -> None:
        """Say something, a minute later than what was said before."""
        for text in texts:
            self.clock.advance(minutes=1)
            message = {"role": role, "content": text, "at": self.clock(), **more}
            self.me.observe([message], thread=thread)

    def form(self, *texts: str, thread: str = "monday") -> FormationReport:
        """Say something and have it formed at once."""
        self.say(*texts, thread=thread)
        return self.me.form(thread)

    @property
    def known(self) -> list[str]:
        """What is stored as true, the oldest first."""
        return [item.content for item in self.me.list(sort="id", order="asc", limit=1000)]

    @property
    def proposed(self) -> list[str | None]:
        """What waits for consent or to be said again."""
        return [proposal.content for proposal in self.me.proposals()]

    def run_jobs(self) -> int:
        """Run what is due; how many jobs there were."""
        return self.memory.run_jobs()


@pytest.fixture
def talking(memory: Memory, clock: ManualClock) -> Talking:
    """Without a language model, on both databases."""
    return Talking(memory, clock)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def with_model(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    model_server: ModelServer,
) -> Callable[..., Talking]:
    """Opens a store whose conversations the scripted model reads."""

    def open_one(**settings: Any) -> Talking:
        chosen = {
            "model_provider": "custom_http",
            "model_name": "scripted",
            "model_base_url": model_server.base_url,
            **settings,
        }
        return Talking(open_store(backend_url, **chosen), clock)

    return open_one
