"""The chat proxy as a route of the service: who is asking, and what is not set up.

What it does with a chat has tests of its own (``tests/proxy``).
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from ricordo.memory import Memory
from tests.support.endpoints import FaultyModel
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("http.chat")

CHAT: dict[str, Any] = {
    "model": "test-model",
    "messages": [{"role": "user", "content": "What should I drink in the morning?"}],
}
SAID = "The user drinks green tea in the morning"


@pytest.fixture
def model() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        server.answer("Green tea!", times=5)
        yield server


Serve = Callable[..., Service]


@pytest.fixture
def serve(
    backend_url: str, open_store: Callable[..., Memory], model: FaultyModel
) -> Iterator[Serve]:
    """A service in front of the model, in which ana drinks tea."""
    with ExitStack() as started:

        def start(**settings: object) -> Service:
            store = open_store(backend_url, port=0, upstream_url=model.base_url, **settings)
            store.user("ana").add(SAID)
            return started.enter_context(running(store))

        yield start


def knew(model: FaultyModel) -> bool:
    """Whether the model was told of what is stored of ana, when last asked."""
    return any("green tea" in str(message["content"]) for message in model.prompts[-1])


def chat(client: httpx2.Client, **more: object) -> httpx2.Response:
    return client.post("/v1/chat/completions", json={**CHAT, **more})


def test_whom_a_chat_is_for_without_keys(serve: Serve, model: FaultyModel) -> None:
    service = serve()
    for client, body, expected in (
        (service.client("ana"), {}, True),
        (service.client(X_OpenWebUI_User_Id="ana"), {}, True),
        (service.client(), {"user": "ana"}, True),
        (service.client("ben"), {"user": "ana"}, False),
        (service.client(), {}, False),
    ):
        answered = chat(client, **body)
        assert answered.status_code == 200
        assert knew(model) is expected
        assert bool(answered.json().get("memories")) is expected


def test_whom_a_chat_is_for_with_keys(serve: Serve, model: FaultyModel) -> None:
    service = serve(require_keys=True)
    make = service.memory.create_key
    acting, of_ana, of_ben = (
        make("s").secret,
        make("a", user="ana").secret,
        make("b", user="ben").secret,
    )
    for client, body, expected in (
        (service.client(key=of_ana), {}, True),
        (service.client(key=of_ben), {"user": "ana"}, False),
        (service.client(key=acting), {"user": "ana"}, True),
        (service.client("ben", key=acting), {"user": "ana"}, False),
        (service.client(key=acting), {}, False),
    ):
        assert chat(client, **body).status_code == 200
        assert knew(model) is expected
    assert chat(service.client("ana")).status_code == 401
    assert chat(service.client("ana", key=of_ben)).status_code == 403


def test_an_answer_is_streamed(serve: Serve) -> None:
    client = serve().client("ana")
    body = {**CHAT, "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=body) as answered:
        assert answered.headers["content-type"].startswith("text/event-stream")
        text = answered.read().decode()
    assert '"memories"' in text
    assert text.rstrip().endswith("data: [DONE]")


def test_without_a_model_behind_it(service: Service) -> None:
    for method, route, setting in (
        ("POST", "/v1/chat/completions", "upstream_url"),
        ("POST", "/v1/messages", "anthropic_url"),
        ("POST", "/v1/messages/count_tokens", "anthropic_url"),
        ("POST", "/v1/responses", "upstream_url"),
        ("GET", "/v1/responses/r", "upstream_url"),
        ("POST", "/v1/embeddings", "upstream_url"),
        ("GET", "/v1/models", "upstream_url"),
        ("GET", "/v1/models/m", "upstream_url"),
    ):
        refused = service.client("ana").request(method, route, content=b"{}")
        assert (refused.status_code, refused.json()["type"]) == (503, "NoUpstream")
        assert setting in refused.json()["detail"]


def test_anthropics_wire_format(backend_url: str, open_store: Callable[..., Memory]) -> None:
    with FaultyModel() as claude:
        claude.answer("Green tea!")
        store = open_store(backend_url, port=0, anthropic_url=claude.root)
        store.user("ana").add(SAID)
        with running(store) as service:
            answered = service.client("ana").post("/v1/messages", json={**CHAT, "max_tokens": 50})
        assert answered.status_code == 200
        assert answered.json()["memories"]
        assert "green tea" in str(claude.requests[-1].body)


@pytest.mark.requirement("proxy.responses")
def test_what_is_passed_on(serve: Serve, model: FaultyModel) -> None:
    """Paths keep what they name, queries and bodies their bytes; no path leads elsewhere."""
    client = serve().client("ana")
    for method, path in (
        ("GET", "/v1/responses/resp_1?include%5B%5D=a"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items?limit=2"),
        ("GET", "/v1/models/test%20model%3F"),
        ("GET", "/v1/models/acme/large:free"),
        ("DELETE", "/v1/conversations/conv_1/items/msg_1"),
        ("POST", "/v1/embeddings"),
    ):
        sent = b'{"input":  "tea"}' if path.endswith("embeddings") else b""
        model.answer_bytes([b'{"id":  "x"}'])
        answered = client.request(method, path, content=sent)
        asked = model.requests[-1]
        assert (asked.method, asked.path, asked.content) == (method, path, sent)
        assert answered.status_code in (200, 404)
        assert answered.content == b'{"id":  "x"}' or method == "GET"
    count = len(model.requests)
    for path in ("/v1/models/%2e%2e/files", "/v1/models/a/%2E%2E/%2E%2E/files", "/v1/responses/.."):
        assert client.get(path).status_code == 404
    assert len(model.requests) == count


def test_our_key_stays_here_also_beside_one_of_the_models(serve: Serve, model: FaultyModel) -> None:
    service = serve()
    ours = service.memory.create_key("s", user="ana").secret
    theirs = "sk-of-the-model"
    for shown in (
        {"Authorization": f"Bearer {ours}", "X-Api-Key": theirs},
        {"Authorization": f"Bearer {theirs}", "X-Api-Key": ours},
    ):
        assert chat(service.client(**shown)).status_code == 200
        assert knew(model)  # the key is ana's
        assert ours not in str(model.requests[-1].headers)
    chat(service.client("ana", key=theirs))
    assert model.requests[-1].headers.get("authorization") == f"Bearer {theirs}"
    chat(service.client("ana", key=ours))
    assert model.requests[-1].headers.get("authorization") is None
