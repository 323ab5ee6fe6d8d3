"""Whose a kept response, conversation or item is, where an endpoint knows one key alone."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from ricordo.memory import Memory
from ricordo.proxy import service as proxying
from ricordo.proxy.kept import Keeping
from ricordo.testing import Request, Response, error_response, json_response
from tests.support.endpoints import FaultyModel
from tests.support.service import Service, running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("proxy.tenants")

Start = Callable[..., Service]
TITLE = "### Task:\nGenerate a concise, 3-5 word title with an emoji. Answer as JSON."


class KeepingModel(FaultyModel):
    """Keeps conversations, and has whatever response it is asked for."""

    def respond(self, request: Request) -> Response:
        path = request.path.partition("?")[0]
        if path == "/v1/conversations":
            return json_response(200, {"id": f"conv_{uuid.uuid4().hex}", "object": "conversation"})
        if path == "/v1/responses/compact":
            given = {"id": f"resp_{uuid.uuid4().hex}", "object": "response.compaction"}
            return json_response(200, {**given, "output": [{"id": "msg_of_client"}]})
        if path == "/v1/responses/input_tokens":
            return json_response(200, {"input_tokens": 7})
        if path.startswith(("/v1/responses/", "/v1/conversations/")):
            if path.split("/")[3] == "gone":
                return error_response(404, "of the endpoint")
            late = {"id": "msg_late", "type": "message", "content": []}
            return json_response(200, {"id": path.split("/")[3], "output": [late]})
        return super().respond(request)


@pytest.fixture
def model() -> Iterator[KeepingModel]:
    with KeepingModel() as server:
        server.answer_with(lambda _body: "Green tea!")
        yield server


@pytest.fixture
def start(
    backend_url: str, open_store: Callable[..., Memory], model: KeepingModel
) -> Iterator[Start]:
    with ExitStack() as started:

        def begin(**settings: Any) -> Service:
            given: dict[str, Any] = {"upstream_url": model.base_url, "port": 0}
            store = open_store(backend_url, **{**given, "upstream_api_key": "sk-op", **settings})
            return started.enter_context(running(store))

        yield begin


@pytest.fixture
def keyed(start: Start) -> Service:
    return start(require_keys=True)


def of(service: Service, user: str, **about: Any) -> httpx2.Client:
    return service.client(key=service.memory.create_key("k", user=user, **about).secret)


def respond(client: httpx2.Client, **body: object) -> httpx2.Response:
    return client.post("/v1/responses", json={"model": "m", "input": "Tea?", **body})


def streamed(client: httpx2.Client, **body: object) -> dict[str, Any]:
    """The response of a stream."""
    text = respond(client, stream=True, **body).text
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    found: dict[str, Any] = events[-1]["response"]
    return found


def naming(kept: str, client: httpx2.Client) -> dict[str, httpx2.Response]:
    """The answers to every request that can name what is kept."""
    reference = [{"type": "item_reference", "id": kept}]
    answers = {
        f"{method} {path}": client.request(method, f"/v1/{path.replace('ID', kept)}")
        for method, path in (
            ("GET", "responses/ID?include[]=x"),
            ("GET", "responses/ID/input_items"),
            ("POST", "responses/ID/cancel"),
            ("GET", "conversations/ID"),
            ("GET", "conversations/ID/items"),
            ("DELETE", "conversations/ID/items/msg_1"),
            ("DELETE", "responses/ID"),
            ("DELETE", "conversations/ID"),
        )
    }
    for path in ("responses", "responses/input_tokens", "responses/compact"):
        bodies: dict[str, dict[str, Any]] = {
            "previous": {"previous_response_id": kept},
            "conversation": {"conversation": kept},
            "its id": {"conversation": {"id": kept}},
            "item": {"input": reference},
        }
        for about, body in bodies.items():
            answers[f"{path} {about}"] = client.post(f"/v1/{path}", json={"model": "m", **body})
    answers["begun with"] = client.post("/v1/conversations", json={"items": reference})
    answers["added"] = client.post(f"/v1/conversations/{kept}/items", json={"items": []})
    return answers


def test_what_another_user_got_is_as_what_is_not_there(keyed: Service, model: KeepingModel) -> None:
    ana, ben = of(keyed, "ana"), of(keyed, "ben")
    first = respond(ana).json()
    conversation = ana.post("/v1/conversations", json={}).json()
    item = first["output"][0]
    before = len(model.requests)
    for kept in (first["id"], conversation["id"], item["id"]):
        others, nobodys = naming(kept, ben), naming("x_1", ben)
        for about, answer in others.items():
            error = answer.json()["error"]
            assert (answer.status_code, error["type"]) == (404, "invalid_request_error"), about
            same = answer.text.replace(kept, "x_1")
            assert (nobodys[about].status_code, nobodys[about].text) == (404, same), about
    assert len(model.requests) == before
    assert naming("x_1", ben)["responses previous"].json()["error"] == {
        "message": "Previous response with id 'x_1' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


@pytest.mark.requirement("proxy.responses")
def test_what_a_user_got_is_theirs(keyed: Service, model: KeepingModel) -> None:
    """Also a brand-new user's, what is streamed, made in the background, a task, without words."""
    clients = [of(keyed, user) for user in ("ana", "ben", "cleo", "dora", "emil")]
    ana, task, background, image, early = clients
    picture = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]
    conversation = early.post("/v1/conversations").json()["id"]
    for client, given in (
        (ana, respond(ana).json()),
        (ana, streamed(ana)),
        (task, respond(task, input=TITLE).json()),
        (task, streamed(task, input=TITLE)),
        (background, respond(background, background=True).json()),
        (image, respond(image, input=picture).json()),
    ):
        reference = {"type": "item_reference", "id": given["output"][0]["id"]}
        assert respond(client, previous_response_id=given["id"]).status_code == 200
        assert client.get(f"/v1/responses/{given['id']}").status_code == 200
        assert respond(client, input=[reference]).status_code == 200
        others = [one for one in clients if one is not client]
        assert {one.get(f"/v1/responses/{given['id']}").status_code for one in others} == {404}
    assert respond(early, conversation=conversation).status_code == 200
    assert early.get(f"/v1/conversations/{conversation}/items").status_code == 200
    assert respond(ana, conversation={"id": conversation}).status_code == 404
    # What a response made in the background consists of is first seen when it is fetched.
    late = {"type": "item_reference", "id": "msg_late"}
    assert respond(background, input=[late]).status_code == 200
    assert respond(early, input=[late]).status_code == 404
    # What a client sent itself does not become its own.
    compact = early.post("/v1/responses/compact", json={"input": "x"}).json()
    assert respond(early, previous_response_id=compact["id"]).status_code == 200
    echoed = [{"type": "item_reference", "id": "msg_of_client"}]
    assert respond(early, input=echoed).status_code == 404
    # A conversation that an answer names.
    model.answer_bytes([b'{"id": "resp_9", "output": [], "conversation": {"id": "conv_9"}}'])
    respond(ana)
    assert respond(ana, conversation="conv_9").status_code == 200
    assert respond(early, conversation="conv_9").status_code == 404


def test_what_was_deleted_is_not_there_any_more(keyed: Service) -> None:
    ana = of(keyed, "ana")
    for path in (
        f"/v1/responses/{respond(ana).json()['id']}",
        f"/v1/conversations/{ana.post('/v1/conversations').json()['id']}",
    ):
        assert ana.delete(f"{path}/items/msg_1").status_code in (200, 404, 405)
        assert ana.get(path).status_code == 200
        assert ana.delete(path).status_code == 200
        assert ana.get(path).status_code == 404
    made = respond(ana).json()["id"]
    keyed.memory.erase_user("ana")
    assert of(keyed, "ana").get(f"/v1/responses/{made}").status_code == 404


def test_no_other_spelling_gets_around_it(keyed: Service, model: KeepingModel) -> None:
    ana, ben = of(keyed, "ana"), of(keyed, "ben")
    made = respond(ana).json()["id"]
    own = respond(ben).json()["id"]
    before = len(model.requests)
    named = f'"previous_response_id": "{made}"'
    written = (
        f'{{"input": "x", {named}, "previous_response_id": "{own}"}}',
        f'{{"input": "x", "previous_response_id": "{own}", {named}}}',
        json.dumps({"Previous_Response_ID": made}),
        json.dumps({"previous_response_id": [made]}),
        json.dumps({"input": [{"id": made}]}),
        json.dumps({"input": [{"type": "reasoning", "id": made, "summary": []}]}),
        json.dumps({"input": [{"type": "image_generation_call", "id": made, "call_id": "c"}]}),
        json.dumps({"input": [{"type": "item_reference", "id": made, "content": "c"}]}),
    )
    for body in written:
        assert ben.post("/v1/responses", content=body).status_code == 404, body
    for path in (f"conversations//{made}", f"conversations/{own}%2F..%2F{made}", "conversations/"):
        assert ben.get(f"/v1/{path}").status_code == 404
    unread = f'{{"input": "x", {named}}}'
    for content in (
        unread.encode("utf-16"),
        unread[:-1].encode(),
        unread.encode("utf-8-sig"),
    ):
        refused = ben.post("/v1/responses", content=content)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_value")
        assert ben.post("/v1/conversations", content=content).status_code == 400
    assert len(model.requests) == before
    carried = [
        {"type": "reasoning", "id": "rs_elsewhere", "summary": [], "encrypted_content": "e"},
        {"type": "message", "role": "assistant", "id": "msg_elsewhere", "content": "Tea"},
        {"type": "function_call", "id": "fc_elsewhere", "call_id": "c", "name": "f"},
        {"role": "user", "content": "And now?"},
    ]
    assert respond(ben, input=carried).status_code == 200


def test_an_agent_kept_to_categories_has_what_it_got_itself(keyed: Service) -> None:
    ana = of(keyed, "ana")
    agent = of(keyed, "ana", agent="cook", categories=["food"])
    whole, part = respond(ana).json()["id"], respond(agent).json()["id"]
    assert agent.get(f"/v1/responses/{part}").status_code == 200
    assert agent.get(f"/v1/responses/{whole}").status_code == 404
    assert ana.get(f"/v1/responses/{part}").status_code == 200


def test_whom_a_service_acts_for(keyed: Service) -> None:
    """Whom its header names; where it names nobody, everybody: it could name anybody."""
    secret = keyed.memory.create_key("s").secret
    service, ana, ben = (keyed.client(user, key=secret) for user in (None, "ana", "ben"))
    of_ana, of_nobody = respond(ana).json()["id"], respond(service).json()["id"]
    assert ana.get(f"/v1/responses/{of_ana}").status_code == 200
    assert ben.get(f"/v1/responses/{of_ana}").status_code == 404
    assert ana.get(f"/v1/responses/{of_nobody}").status_code == 404
    for made in (of_ana, of_nobody):
        assert service.get(f"/v1/responses/{made}").status_code == 200
        assert respond(service, previous_response_id=made, user="ben").status_code == 200
        assert respond(service, previous_response_id=made).status_code == 200


def test_where_no_keys_are_required(start: Start, model: KeepingModel) -> None:
    """Without the operator's key the client's own goes to the endpoint, which protects."""
    open_to_all = start(upstream_api_key=None)
    for client in (open_to_all.client("ben", key="sk-own"), open_to_all.client()):
        assert respond(client, previous_response_id="resp_elsewhere").status_code == 200
        assert client.get("/v1/responses/resp_elsewhere").status_code == 200
    assert respond(of(open_to_all, "ben"), previous_response_id="resp_elsewhere").status_code == 404
    trusting = start()
    made = respond(trusting.client("ana")).json()["id"]
    assert trusting.client("ben").get(f"/v1/responses/{made}").status_code == 404
    assert trusting.client("ana").get(f"/v1/responses/{made}").status_code == 200
    assert trusting.client().get(f"/v1/responses/{made}").status_code == 200


def calls_under_way(monkeypatch: pytest.MonkeyPatch, *methods: tuple[type, str]) -> list[object]:
    under_way: list[object] = []

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            one = object()
            under_way.append(one)
            try:
                return method(*given)
            finally:
                under_way.remove(one)

        return call

    for owner, name in methods:
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    return under_way


def test_a_store_that_is_away_leaks_nothing_and_fails_no_other_chat(
    start: Start, model: KeepingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = start(pool_size=1)
    ana = service.client("ana")
    made = respond(ana).json()["id"]
    before = len(model.requests)
    monkeypatch.setattr(proxying, "MAX_PROXY_MEMORY_SECONDS", 0.05)
    given_up = calls_under_way(monkeypatch, (Keeping, "begin"), (proxying.ChatProxy, "_recalled"))
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with service.memory.database.read("ana"):  # the only connection
            is_held.set()
            is_over.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    is_held.wait(60)
    try:
        for refused in (
            ana.get(f"/v1/responses/{made}"),
            respond(ana, previous_response_id=made),
            respond(ana, conversation="conv_1"),
        ):
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "not_checked"
        assert len(model.requests) == before
        assert respond(ana).json()["output"][0]["content"][0]["text"] == "Green tea!"
    finally:
        is_over.set()
        holding.join()
    wait_until(lambda: not given_up)  # what nobody waits for still ends on its thread
