"""A whole session, after which no line of the log has a word of what was said, or a secret."""

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo.errors import MemoryNotFound, RicordoError, StorageError
from ricordo.memory import Memory
from tests.observing.conftest import OpenLog
from tests.observing.services import Service
from tests.support.endpoints import EmbeddingServer, FaultyModel
from tests.support.scripted_model import read_tastes


class Words:
    """Words that nothing else has, each for one place."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def __call__(self, beginning: str = "zyx") -> str:
        letters = "".join(chr(ord("a") + int(digit, 16)) for digit in secrets.token_hex(8))
        self.all.append(beginning + letters)
        return self.all[-1]


def failing(work: Callable[[], object], *errors: type[Exception]) -> None:
    with pytest.raises(errors or RicordoError):
        work()


@pytest.mark.requirement("observability.no-content")
@pytest.mark.parametrize(
    "log_format",
    [
        pytest.param("json", marks=pytest.mark.smoke),
        pytest.param("text", marks=pytest.mark.matrix),
    ],
)
def test_no_line_of_a_session_has_a_word_of_it(
    backend_url: str, open_store: Callable[..., Memory], open_log: OpenLog, log_format: str
) -> None:
    word = Words()
    with (
        FaultyModel(required_key=word()) as models,
        EmbeddingServer(required_key=word()) as vectors,
    ):
        log = open_log(log_format, logging.DEBUG)
        memory = open_store(
            backend_url,
            embedder=None,
            model_provider="custom_http",
            model_name="scripted",
            model_base_url=models.base_url,
            model_api_key=models.required_key,
            embedding_provider="custom_http",
            embedding_model=vectors.model,
            embedding_base_url=vectors.base_url,
            embedding_api_key=vectors.required_key,
        )
        _talk(memory, models, word)
        _be_refused_by_endpoints(memory, models, vectors, word)
        _fail(memory, word)
        asyncio.run(_call(Service(memory), word))
    logged = log.text.lower()
    assert "memory_decision" in logged
    assert "failed" in logged
    assert "no vector for a question" in logged
    assert [one for one in word.all if one in logged] == []


def _talk(memory: Memory, models: FaultyModel, word: Words) -> None:
    ana = memory.user("ana")
    models.answer_with(read_tastes)
    added = ana.add(f"Likes {word()}", theme=word(), key=word(), tags=[word()])
    ana.add(f"Dislikes {word()}", source_context=word())
    ana.search(word())
    ana.context(f"what of {word()}?", modes=["recall", "summary"])
    ana.observe([{"role": "user", "content": f"I love {word()}"}], thread="monday")
    assert ana.form("monday").decisions
    ana.forget(added.id, reason=word())
    memory.run_jobs()


def _be_refused_by_endpoints(
    memory: Memory, models: FaultyModel, vectors: EmbeddingServer, word: Words
) -> None:
    """Endpoints that repeat what they were sent when they refuse it."""
    ana = memory.user("ana")

    def refusal() -> dict[str, Any]:
        return {"status": 400, "body": f'{{"error": {{"message": "{word()}"}}}}'.encode()}

    vectors.fail_next(8, **refusal())
    assert ana.search(word()).degraded is not None
    ana.add(f"Sees {word()}")
    memory.run_jobs()
    vectors.forget_faults()
    models.fail_next(8, **refusal())
    ana.observe([{"role": "user", "content": f"I love {word()}"}], thread="tuesday")
    failing(lambda: ana.form("tuesday"))
    memory.run_jobs()
    models.forget_faults()
    models.answer(f"I will not say {word()}", times=9)
    failing(lambda: ana.form("tuesday"))


def _fail(memory: Memory, word: Words) -> None:
    ana = memory.user("ana")
    failing(lambda: ana.add("x", theme=word(), type=word()))
    wrong: dict[str, Any] = {word(): 1}
    failing(lambda: ana.list(**wrong))
    failing(lambda: ana.get(999_999), MemoryNotFound)
    statement = sa.text("INSERT INTO items (user_id, content) VALUES (:user_id, :content)")

    def refused_by_the_database(_stint: object) -> None:
        with memory.database.write("ana") as writing:
            writing.connection.execute(statement, {"user_id": "ana", "content": word()})

    with pytest.raises(StorageError) as raised:
        refused_by_the_database(None)
    assert [one for one in word.all if one in str(raised.value)] == []
    logging.getLogger("ricordo.jobs").warning("a job failed", exc_info=raised.value)


async def _call(service: Service, word: Words) -> None:
    await service.call("GET", "/v1/users/ana/search", params={"query": word()})
    await service.call("POST", "/v1/fail", params={"text": word()})
    await service.call("GET", "/v1/refused", params={"text": word()})
    await service.call("GET", f"/{word()}/{word()}", headers={"Authorization": word()})


@pytest.mark.requirement("observability.logs")
def test_a_decision_is_a_line_with_its_values(memory: Memory, open_log: OpenLog) -> None:
    log = open_log(level=logging.INFO)
    ana = memory.user("ana")
    ana.observe([{"role": "user", "content": "I love jazz music."}], thread="monday")
    ana.form("monday")
    (line,) = [line for line in log.lines if line["logger"] == "ricordo.decisions"]
    assert (line["message"], line["event"]) == ("memory_decision", "memory_decision")
    assert (line["read_by"], line["turns"]) == ("rules", 1)
    (decision,) = line["decisions"]
    assert decision["action"] == "add"
    assert "content" not in decision
