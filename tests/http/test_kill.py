"""The running command under load: killed and started again, and stopped as it should be."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from ricordo import JobState, Memory
from ricordo.formation.schedule import FORM_JOB
from tests.support.endpoints import FaultyModel
from tests.support.scripted_model import PORTRAIT, read_tastes
from tests.support.served import served
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.chaos

CHATS = 5


class Held:
    """A model that answers nobody until it is told to."""

    def __init__(self, server: FaultyModel) -> None:
        self.server = server
        self._may_answer = threading.Event()
        server.answer_with(read_tastes)
        server.before_answer = self._hold

    def _hold(self) -> None:
        assert self._may_answer.wait(PATIENCE_SECONDS)

    def release(self) -> None:
        self._may_answer.set()

    @property
    def settings(self) -> dict[str, str]:
        """Environment of a service that reads conversations with it."""
        return {
            "RICORDO_MODEL_PROVIDER": "custom_http",
            "RICORDO_MODEL_NAME": "scripted",
            "RICORDO_MODEL_BASE_URL": self.server.base_url,
            "RICORDO_FORMATION_DELAY_SECONDS": "0",
            "RICORDO_JOB_LEASE_SECONDS": "2",
            "RICORDO_JOB_POLL_SECONDS": "0.2",
        }


@pytest.fixture
def held() -> Iterator[Held]:
    with FaultyModel() as server:
        model = Held(server)
        yield model
        model.release()


@pytest.fixture(autouse=True)
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The services here make no vectors, which they would need time for."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")


Open = Callable[..., Memory]


def converse(memory: Memory) -> None:
    """Something for a job to read."""
    memory.user("ana").observe([{"role": "user", "content": "I love jazz"}], thread="one")


def forming(memory: Memory) -> list[JobState]:
    return [job.state for job in memory.jobs(kind=FORM_JOB)]


@pytest.mark.requirement("service.crash")
def test_a_job_of_a_killed_service_is_taken_up_again(
    backend_url: str, open_store: Open, held: Held
) -> None:
    memory = open_store(backend_url, formation_delay_seconds=0)
    converse(memory)
    with served(backend_url, **held.settings) as service:
        wait_until(lambda: held.server.prompts)
        assert JobState.RUNNING in forming(memory)
        service.kill()
        assert JobState.RUNNING in forming(memory)  # nobody was there to hand it back
        held.release()
        service.start()
        wait_until(lambda: memory.user("ana").list())
        wait_until(lambda: JobState.RUNNING not in forming(memory))
    assert [item.content for item in memory.user("ana").list()] == ["User loves jazz."]


@pytest.mark.requirement("service.graceful")
def test_stopping_answers_what_was_accepted(backend_url: str, open_store: Open, held: Held) -> None:
    """Requests and a job are under way when it is told to stop; all of them come to their end."""
    memory = open_store(backend_url, formation_delay_seconds=0)
    converse(memory)
    settings = {**held.settings, "RICORDO_UPSTREAM_URL": held.server.base_url}
    answers: list[httpx2.Response] = []
    with served(backend_url, **settings) as service:
        chats = [
            threading.Thread(target=lambda: answers.append(chat(service.url))) for _ in range(CHATS)
        ]
        for one in chats:
            one.start()
        wait_until(lambda: len(held.server.prompts) == CHATS + 1)  # the job asks as well
        service.ask_to_stop()
        wait_until(lambda: not listens(service.url))
        assert answers == []
        held.release()
        for one in chats:
            one.join()
        assert service.ended() == 0, service.log
    assert [answer.status_code for answer in answers] == [200] * CHATS
    assert {answer.json()["choices"][0]["message"]["content"] for answer in answers} == {PORTRAIT}

    assert memory.jobs(state=JobState.RUNNING) == ()
    assert set(forming(memory)) <= {JobState.DONE, JobState.QUEUED}


def chat(url: str) -> httpx2.Response:
    return httpx2.post(
        f"{url}/v1/chat/completions",
        json={"model": "any", "messages": [{"role": "user", "content": "Who am I?"}]},
        headers={"X-Ricordo-User": "ben"},
        timeout=PATIENCE_SECONDS,
    )


def listens(url: str) -> bool:
    parts = urlsplit(url)
    with contextlib.suppress(OSError), socket.create_connection((parts.hostname, parts.port)):
        return True
    return False


@pytest.mark.requirement("proxy.durable")
def test_what_was_said_outlives_a_kill_in_the_middle_of_the_answer(
    backend_url: str, open_store: Open
) -> None:
    memory = open_store(backend_url, run_jobs=False)
    release = threading.Event()

    def hold(number: int) -> None:
        if number:
            release.wait(PATIENCE_SECONDS)

    event = b'data: {"choices": [{"index": 0, "delta": {"content": "Green tea"}}]}\n\n'
    asked = [{"role": "user", "content": "What should I drink?"}]
    with FaultyModel() as model:
        model.answer_bytes([event, event], content_type="text/event-stream", before_part=hold)
        model.answer("Green tea.", times=2)
        with served(backend_url, RICORDO_UPSTREAM_URL=model.base_url) as service:
            sent = {
                "json": {"model": "any", "messages": asked, "stream": True},
                "headers": {"X-Ricordo-User": "ana", "X-Ricordo-Thread": "t"},
                "timeout": PATIENCE_SECONDS,
            }
            path = "/v1/chat/completions"
            with httpx2.stream("POST", service.url + path, **sent) as answer:
                assert answer.headers["X-Ricordo-Recorded"] == "yes"
                assert b"Green tea" in next(answer.iter_raw())
                service.kill()
            release.set()
            assert said(memory) == [("user", "What should I drink?")]
            service.start()
            for _ in range(2):  # the client asks again, and once more
                again = httpx2.post(service.url + path, **sent)
                assert again.headers["X-Ricordo-Recorded"] == "yes"
            assert service.stop() == 0, service.log
    assert said(memory) == [("user", "What should I drink?"), ("assistant", "Green tea.")]


def said(memory: Memory) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in memory.user("ana").turns("t")]
