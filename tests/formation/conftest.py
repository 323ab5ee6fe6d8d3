"""Fixtures of the tests about formation: somebody who talks, and a model that answers by script."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import FormationReport, Job, Memory, UserMemory
from ricordo.storage.tables import metadata
from ricordo.testing import ManualClock
from tests.support.endpoints import FaultyModel


class Talking:
    """A user whose every turn takes a minute, on a store that a test opens as it needs."""

    server: FaultyModel
    """The model that reads what is said, where there is one."""

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

    def other(self, user: str) -> "Talking":
        """Somebody else in the same store."""
        one = Talking(self.memory, self.clock, user)
        if hasattr(self, "server"):
            one.server = self.server
        return one

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

    def jobs(self, kind: str, state: str | None = "queued") -> list[Job]:
        return list(self.memory.jobs(kind=kind, state=state, limit=1000))

    def run_jobs(self) -> int:
        """Run what is due; how many jobs there were."""
        return self.memory.run_jobs()

    def rows(self, table: str) -> str:
        """All that a table holds, of whomever."""
        with self.memory.database.read_all() as view:
            return str(view.connection.exec_driver_sql(f"SELECT * FROM {table}").all())


WithModel = Callable[..., Talking]


def extracted(*entries: tuple[str, str], **more: object) -> dict[str, object]:
    """A model's answer: what to store, and the words it rests on."""
    usual = {"type": "fact", "theme": "life", "key": "", "importance": 2, **more}
    return {
        "memories": [{"content": content, "quote": quote, **usual} for content, quote in entries]
    }


def judged(*verdicts: str) -> dict[str, object]:
    return {
        "verdicts": [
            {"pair": number, "verdict": verdict, "reason": f"because of {verdict}"}
            for number, verdict in enumerate(verdicts, start=1)
        ]
    }


def tables_with(memory: Memory, user_id: str) -> list[str]:
    """The tables that still have a row of a user."""
    with memory.database.read_all() as view:
        return [
            table.name
            for table in metadata.sorted_tables
            if "user_id" in table.c
            and view.connection.execute(
                sa.select(sa.func.count()).where(table.c.user_id == user_id)
            ).scalar_one()
        ]


def at_once(*calls: Callable[[], object]) -> list[Any]:
    """Make calls at the same time, each in a thread; what each returned or raised."""
    barrier = threading.Barrier(len(calls))
    outcomes: list[Any] = [None] * len(calls)

    def make(place: int) -> None:
        barrier.wait()
        try:
            outcomes[place] = calls[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=make, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.fixture
def open_talking(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> Callable[..., Talking]:
    return lambda **settings: Talking(open_store(backend_url, **settings), clock)


@pytest.fixture
def talking(memory: Memory, clock: ManualClock) -> Talking:
    """Without a language model, on both databases."""
    return Talking(memory, clock)


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
    monkeypatch: pytest.MonkeyPatch,
) -> WithModel:
    """Opens a store whose conversations the scripted model reads, alone."""
    monkeypatch.setattr("ricordo.formation.extraction.in_own_words", lambda *_: [])
    monkeypatch.setattr("ricordo.formation.extraction.change_in", lambda *_: [])
    monkeypatch.setattr("ricordo.formation.extraction._agreed", lambda _, found, __: (found, []))

    def open_one(**settings: Any) -> Talking:
        chosen = {
            "model_provider": "custom_http",
            "model_name": "scripted",
            "model_base_url": model_server.base_url,
            **settings,
        }
        talking = Talking(open_store(backend_url, **chosen), clock)
        talking.server = model_server
        return talking

    return open_one


@pytest.fixture
def reader(with_model: WithModel) -> Talking:
    """Somebody whose conversations the scripted model reads."""
    return with_model()


@pytest.fixture
def doubter(with_model: WithModel) -> Talking:
    """Where the model is asked about whatever has a little in common."""
    return with_model(judge_min=0.1)
