"""Where vectors are made, over HTTP."""

from collections.abc import Callable, Iterator

import httpx2
import pytest

from ricordo.memory import Memory
from ricordo.model.record import plain
from tests.support.endpoints import EmbeddingServer
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("http.settings")

SETTINGS = "/v1/settings/embeddings"
SECRET = "sk-very-secret-key"


@pytest.fixture
def service(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """A service whose users may choose, also endpoints on this machine."""
    store = open_store(backend_url, port=0, embedder=None, allow_private_embedding_targets=True)
    with running(store) as started:
        yield started


@pytest.fixture
def ana(service: Service) -> httpx2.Client:
    return service.client("ana")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(model="first", required_key=SECRET) as started:
        yield started


def at(server: EmbeddingServer, **more: object) -> dict[str, object]:
    return {
        "provider": "custom_http",
        "base_url": server.base_url,
        "model": "first",
        "api_key": SECRET,
        **more,
    }


@pytest.mark.requirement("embeddings.states")
def test_states_of_single_memories(service: Service, ana: httpx2.Client) -> None:
    user = service.memory.user("ana")
    first, second = (one.id for one in user.add_many(["Drinks green tea", "Has a cat"]))
    theirs = service.memory.user("ben").add("Has a dog").id
    found = ana.post(f"{SETTINGS}/states", json={"ids": [second, theirs, 987_654, first]})
    assert found.json() == plain(user.embedding_states([second, first]))
    assert [one["id"] for one in found.json()] == [second, first]
    for ids in ([0], ["1"], [1.5], None, list(range(1, 1_002))):
        refused = ana.post(f"{SETTINGS}/states", json={"ids": ids})
        assert (refused.status_code, refused.json()["type"]) == (422, "InvalidValue")


def test_choosing_trying_filling_and_going_back(
    service: Service, ana: httpx2.Client, server: EmbeddingServer
) -> None:
    user = service.memory.user("ana")
    user.add("Drinks green tea")
    assert ana.get(SETTINGS).json()["origin"] == "default"
    assert ana.post(f"{SETTINGS}/test", json=at(server)).json()["ok"] is True
    wrong = ana.post(f"{SETTINGS}/test", json=at(server, api_key="sk-wrong"))
    assert (wrong.status_code, wrong.json()["ok"]) == (200, False)
    assert "sk-wrong" not in wrong.text
    planned = ana.put(SETTINGS, json=at(server))
    assert (planned.json()["applied"], planned.json()["to_rebuild"]) == (False, 1)
    assert ana.get(SETTINGS).json()["origin"] == "default"
    chosen = ana.put(SETTINGS, json=at(server, confirm=True))
    assert (chosen.json()["applied"], chosen.json()["problem"]) == (True, None)
    status = ana.get(SETTINGS)
    assert status.json() == plain(user.embedding_status())
    assert (status.json()["origin"], status.json()["pending"]) == ("user", 1)
    filled = ana.post(f"{SETTINGS}/fill")
    assert filled.json() == {"made": 1}
    assert ana.get(SETTINGS).json()["ready"] == 1
    backfilled = ana.post(f"{SETTINGS}/backfill")
    assert backfilled.json() == {"put_back": 0, "pending": 0}
    rebuilt = ana.post(f"{SETTINGS}/rebuild", json={"confirm": True})
    assert (rebuilt.json()["applied"], rebuilt.json()["to_rebuild"]) == (True, 1)
    assert ana.post(f"{SETTINGS}/rebuild").json()["applied"] is False
    tried = ana.post(f"{SETTINGS}/test")
    assert (tried.json()["ok"], tried.json()["dimensions"]) == (True, server.width)
    assert ana.delete(SETTINGS).json()["applied"] is False
    reset = ana.delete(SETTINGS, params={"confirm": "true"})
    assert reset.json()["applied"] is True
    assert ana.get(SETTINGS).json()["origin"] == "default"
    for answered in (planned, chosen, status, filled, backfilled, rebuilt, tried, reset):
        assert answered.status_code == 200
        assert SECRET not in answered.text


def test_users_cannot_reach_into_the_operators_network(
    backend_url: str, open_store: Callable[..., Memory], server: EmbeddingServer
) -> None:
    with running(open_store(backend_url, port=0, embedder=None)) as service:
        answered = service.client("ana").put(SETTINGS, json=at(server, confirm=True))
    assert (answered.status_code, answered.json()["type"]) == (422, "TargetRefused")
    assert server.requests == []


def test_mistakes_are_told_without_the_key(ana: httpx2.Client) -> None:
    for wrong in (
        {"provider": "somebody", "api_key": SECRET},
        *(
            {"provider": "custom_http", "base_url": f"http://{host}/v1", "api_key": SECRET}
            for host in ("0177.0.0.1", "999.1.1.1", "a..b", "0x7f.1")
        ),
        {"provider": "openai", "api_key": [SECRET]},
        {"provider": "custom_http", "base_url": "ftp://x", "api_key": SECRET},
        {"provider": "local", "confirm": "yes"},
    ):
        answered = ana.put(SETTINGS, json=wrong)
        assert answered.status_code == 422
        assert SECRET not in answered.text
    assert ana.post(f"{SETTINGS}/rebuild", json={"sure": True}).status_code == 422
    ana.put(SETTINGS, json={"provider": "none", "confirm": True})
    for route in ("/rebuild", "/backfill"):
        assert ana.post(f"{SETTINGS}{route}").status_code == 409
