"""Fixtures: a scripted model on loopback, and time that passes only when somebody sleeps."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import BaseModel, Field

from ricordo.providers.chat import ChatModel
from ricordo.providers.chat_model import Message, ModelChoice, Usage
from tests.endpoints.surroundings import SteppingTime, forget_proxies
from tests.support.endpoints import FaultyModel

QUESTION = [Message("system", "Be brief."), Message("user", "What does ana drink?")]
TEA = {"drink": "tea", "cups": 2}


class Drink(BaseModel):
    """An answer to ask for."""

    drink: str
    cups: int = Field(ge=0, le=9)


class Asker:
    """Asks one model, and keeps what it reports of its use."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.used: list[Usage] = []

    def ask(self, **options: float) -> Drink:
        used = self.used.append
        return self.model.ask(QUESTION, Drink, on_usage=used, **options)

    def reply(self, **options: float) -> str:
        return self.model.reply(QUESTION, on_usage=self.used.append, **options)

    @property
    def failed(self) -> list[bool]:
        return [usage.failed for usage in self.used]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_proxies(monkeypatch)


@pytest.fixture
def server() -> Iterator[FaultyModel]:
    with FaultyModel() as running:
        yield running


@pytest.fixture
def time() -> SteppingTime:
    return SteppingTime()


@pytest.fixture
def asker(server: FaultyModel, time: SteppingTime) -> Iterator[Callable[..., Asker]]:
    """Makes askers of the server, closed at the end."""
    made: list[ChatModel] = []

    def make(
        *,
        provider: str = "custom_http",
        is_real_time: bool = False,
        thinking: int = 500,
        **given: str,
    ) -> Asker:
        values = {"model": "test-model", "base_url": server.base_url, **given}
        model = ChatModel(
            ModelChoice.parse(provider, **values),
            deadline_seconds=60.0,
            thinking_tokens=thinking,
            timing=None if is_real_time else time.timing,
        )
        made.append(model)
        return Asker(model)

    yield make
    for model in made:
        model.close()


@pytest.fixture(autouse=True)
def no_pauses_between_requests() -> None:
    """These tests are about the pauses, on a clock that they move themselves."""
