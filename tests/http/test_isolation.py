"""Every route × whose things are asked for × who asks: nothing of another user's ever comes back,
and what is another's answers exactly like what does not exist.

The matrix is made from the routes themselves: a new one is part of it, or the tests fail.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from ricordo.http.app import all_routers
from ricordo.memory import Memory
from tests.http.filled import filled
from tests.support.service import Service, running

MINE, THEIRS = "heron", "osprey"
NOBODYS_ID = 987_654_321
OUTSIDE = "on day 1"
"""What a memory of ana's says that is in none of the agent's categories."""
ROUTES = {
    route.name: route
    for router in all_routers()
    for route in router.routes
    if isinstance(route, APIRoute) and route.path.startswith("/v1/")
}
OWN = sorted(name for name, route in ROUTES.items() if not route.path.startswith("/v1/admin/"))
ADMIN = sorted(name for name, route in ROUTES.items() if route.path.startswith("/v1/admin/"))
CALLERS = ("user", "agent", "service")
EACH_KIND = (
    *("add_memory", "get_memory", "search_memories", "forget_memory"),
    *("list_turns", "approve", "load_checkpoint", "export_user"),
)
OWN_ROUTES = (
    pytest.param(EACH_KIND, id="each kind"),
    pytest.param(OWN, id="all", marks=pytest.mark.slow),
)
ALL_ROUTES = (
    pytest.param((*EACH_KIND, "list_users", "create_key", "erase_user"), id="each kind"),
    pytest.param((*OWN, *ADMIN), id="all", marks=pytest.mark.slow),
)
# These go to a model, also for callers whom nobody remembers.
PROXIED = {
    *("create_chat_completion", "create_message", "create_response", "create_embeddings"),
    *("list_models", "get_model", "get_response", "delete_response", "cancel_response"),
    *("list_input_items", "compact_response", "count_response_tokens", "count_message_tokens"),
    *(f"{verb}_conversation" for verb in ("create", "get", "update", "delete")),
}
CHAT = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hello there"}]}
BODIES: dict[str, Any] = {
    "add_memory": {"content": "New", "supersedes": "ID"},
    "add_memories": {"memories": [{"content": "New", "supersedes": "ID"}]},
    "merge_memories": {"ids": ["ID", "OWN_ID"], "content": "Both"},
    "forget_key": {"key": "KEY"},
    "redact_turn": {"whole": True},
    "search_memories": {"query": THEIRS, "explain": True},
    "query_memories": {"query": f"what about the {THEIRS}?", "agent": None},
    "build_context": {
        "message": f"the {THEIRS}",
        "thread": "THREAD",
        "modes": ["tools", "recall", "summary"],
    },
    "give_feedback": {"recalled": ["ID"], "answer": f"The {THEIRS}"},
    "observe": {"messages": [{"role": "user", "content": "Hello"}]},
    "search_turns": {"query": f"the {THEIRS}", "thread": "THREAD"},
    "call_tool": {"arguments": {"id": "ID"}},
    "update_profile": {"fields": {"city": "Porto"}},
    "describe_theme": {"description": "Birds"},
    "save_checkpoint": {"step": 1},
    "set_embeddings": {"provider": "none", "confirm": True},
    "read_embedding_states": {"ids": ["ID"]},
    "get_memories": {"ids": ["ID"], "include_deleted": True},
    "create_chat_completion": CHAT,
    "create_message": CHAT,
    "create_response": {"model": "m", "input": "Hello there"},
    "create_embeddings": {"model": "m", "input": "Hello there"},
    "count_message_tokens": CHAT,
    "count_response_tokens": {"model": "m", "input": "Hello there"},
    "create_key": {"name": "more"},
    "add_global_memory": {"content": "For all"},
}


class Birds:
    """A service with two users who watch different birds, and keys for those who ask."""

    def __init__(self, service: Service) -> None:
        self.service = service
        admin = service.memory.create_key("all", permissions=("read_all", "manage")).secret
        self.mine = filled(service, "ana", MINE, key=admin)
        self.theirs = filled(service, "ben", THEIRS, key=admin)
        self.admin = service.client("ana", key=admin)
        make = service.memory.create_key
        self.callers: dict[str, Callable[[], httpx2.Client]] = {
            "user": lambda: service.client(key=make("user", user="ana").secret),
            "agent": lambda: service.client(
                key=make("agent", user="ana", agent="planner", categories=[f"{MINE}-0"]).secret
            ),
            "service": lambda: service.client("ana", key=make("service").secret),
        }

    def ask(
        self, client: httpx2.Client, name: str, whose: str, *, number: object = None
    ) -> httpx2.Response:
        """Send the request of a route about things of ``mine``, ``theirs`` or ``nobodys``."""
        route, names = ROUTES[name], self.names(name, whose)
        if number is not None:
            names["ID"] = number
        path = route.path_format.replace("/tools/{name}", "/tools/memory_get")
        for parameter, value in names.items():
            path = path.replace("{" + parameter.lower() + "}", str(value))
        method = next(iter(route.methods))
        body = BODIES.get(name)
        if name in ("import_user", "import_store"):
            return client.request(method, path, content=b"")
        sent = None if body is None else json.loads(_filled_in(body, names))
        return client.request(method, path, json=sent)

    def names(self, name: str, whose: str) -> dict[str, object]:
        """What a request calls the things that it is about."""
        kind = "proposal" if "proposals" in ROUTES[name].path_format else "id"
        own = self.mine.known["id"][0]
        if whose == "nobodys":
            return _named(NOBODYS_ID, "nobodys", own)
        of = self.mine if whose == "mine" else self.theirs
        return _named(of.known[kind][0], of.mark, own)


def _named(number: object, mark: str, own: object) -> dict[str, object]:
    return {
        "ID": number,
        "OWN_ID": own,
        "THREAD": f"{mark}-thread",
        "THEME": f"{mark}-0",
        "KEY": f"{mark}-key",
        "VIEWER": f"{mark}-viewer",
        "USER": f"{mark}-user",
        "DAY": "2026-01-01",
    }


def _filled_in(body: object, names: dict[str, object]) -> str:
    text = json.dumps(body)
    for name, value in sorted(names.items(), key=lambda entry: -len(entry[0])):
        text = text.replace(f'"{name}"', json.dumps(value))
    return text


def _comparable(response: httpx2.Response, names: dict[str, object]) -> tuple[int, str]:
    """An answer without what was asked by name, and without times and request ids."""
    text = re.sub(r'"request_id":"[^"]*"', "", response.text)
    text = re.sub(r'"(embed_ms|search_ms|latency_ms|created|\w*ids?)":\[?[0-9.e,-]+', "", text)
    for value in sorted((str(value) for value in names.values()), key=len, reverse=True):
        text = re.sub(rf"\b{value}\b", "…", text)
    return response.status_code, text


@pytest.fixture
def birds(
    backend_url: str, open_store: Callable[..., Memory], upstreams: dict[str, str]
) -> Iterator[Birds]:
    memory = open_store(backend_url, port=0, require_keys=True, **upstreams)
    with running(memory) as service:
        yield Birds(service)


@pytest.mark.requirement("access.isolation")
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("names", OWN_ROUTES)
def test_what_is_anothers_answers_like_what_does_not_exist(
    birds: Birds, caller: str, names: Sequence[str]
) -> None:
    before = _everything_of_ben(birds)
    asking = birds.callers[caller]()
    for name in names:
        others = birds.ask(asking, name, "theirs")
        unknown = birds.ask(asking, name, "nobodys")
        if _names_something(name):
            nobodys = _comparable(unknown, birds.names(name, "nobodys"))
            assert _comparable(others, birds.names(name, "theirs")) == nobodys, name
            if caller == "agent":
                _check_confined(birds, asking, name, nobodys)
        for response in (others, unknown, birds.ask(asking, name, "mine")):
            assert response.status_code < 500, (name, response.text)
            for secret in (f"Saw a {THEIRS}", f"like the {THEIRS}", f"likes the {THEIRS}"):
                assert secret not in response.text, name
            assert caller != "agent" or OUTSIDE not in response.text, name
    assert _everything_of_ben(birds) == before


def _check_confined(
    birds: Birds, asking: httpx2.Client, name: str, nobodys: tuple[int, str]
) -> None:
    """What lies outside the agent's categories answers as if it were not there, too."""
    outside = birds.mine.known["id"][1]
    if "{id}" in ROUTES[name].path_format and "proposals" not in ROUTES[name].path_format:
        found = birds.ask(asking, name, "mine", number=outside)
        status, said = nobodys  # a refusal names the categories that are allowed
        expected = status, said.replace(f"{MINE}-0", "…")
        assert _comparable(found, {**birds.names(name, "mine"), "ID": outside}) == expected


@pytest.mark.requirement("access.isolation")
@pytest.mark.parametrize("names", OWN_ROUTES)
def test_a_key_of_one_user_cannot_name_another(birds: Birds, names: Sequence[str]) -> None:
    for caller in ("user", "agent"):
        asking = birds.callers[caller]()
        for name in names:
            answers = []
            for other in ("ben", "nobody"):
                asking.headers["X-Ricordo-User"] = other
                answers.append(_comparable(birds.ask(asking, name, "theirs"), {"USER": other}))
            assert answers[0] == answers[1], (caller, name)
            assert answers[0][0] == 403, (caller, name)


@pytest.mark.requirement("access.anonymous")
@pytest.mark.parametrize("names", OWN_ROUTES)
def test_without_a_user_there_is_no_memory(birds: Birds, names: Sequence[str]) -> None:
    nameless = birds.service.client(key=birds.service.memory.create_key("service").secret)
    for name in names:
        answered = birds.ask(nameless, name, "mine")
        if name in PROXIED:
            # Not every address is one of the scripted model's, which then says so.
            assert answered.status_code == 200 or "not found" in answered.json()["error"]["message"]
            assert "memories" not in answered.json()
        else:
            assert answered.status_code == 401, name
        assert MINE not in answered.text, name


@pytest.mark.requirement("access.keys")
@pytest.mark.parametrize("names", ALL_ROUTES)
def test_no_key_and_a_bad_key_are_told_nothing(birds: Birds, names: Sequence[str]) -> None:
    made = birds.service.memory.create_key("revoked", permissions=("read_all", "manage"))
    birds.service.memory.revoke_key(made.key.id)
    id_of_a_good_key = birds.admin.headers["Authorization"].split("_")[1]
    bad = (made.secret, "rk_000000000000_nothing", f"rk_{id_of_a_good_key}_{'x' * 43}", "nonsense")
    clients = [birds.service.client("ana", key=key) for key in bad]
    keyless = birds.service.client("ana")
    for name in names:
        answers = {_comparable(birds.ask(client, name, "mine"), {}) for client in clients}
        assert len(answers) == 1, name
        assert next(iter(answers))[0] == 401, name
        assert birds.ask(keyless, name, "mine").status_code == 401, name


def test_every_route_with_a_body_is_in_the_matrix() -> None:
    needed = {
        name
        for name, route in ROUTES.items()
        if route.body_field is not None and route.body_field.field_info.is_required()
    }
    assert needed - {"import_user", "import_store"} <= set(BODIES)


def _names_something(name: str) -> bool:
    return "{" in ROUTES[name].path_format or any(
        f'"{word}"' in json.dumps(BODIES.get(name)) for word in ("ID", "KEY", "THREAD")
    )


def _everything_of_ben(birds: Birds) -> list[str]:
    """Ben's export without what reading it changes."""
    exported = list(birds.service.memory.user("ben").export_lines())
    assert any(THEIRS in line for line in exported)
    return exported
