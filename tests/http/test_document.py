"""What the service says of itself: everything that the library offers is offered over HTTP, with
every parameter, and described. What is not is listed here with the reason."""

import html.parser
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from ricordo.http import examples, manual
from ricordo.memory import Memory
from ricordo.model import record
from ricordo.model.context import Feedback
from ricordo.model.filters import FILTER_NAMES
from ricordo.model.item import Added, Change, Changes, Item, Theme
from ricordo.model.search import MemoryHit, QueryAnswer, Related, SearchResults
from ricordo.model.thread import Turn
from ricordo.user_memory import UserMemory
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.complete")

CALLED_LIKE = ("{}", "{}_memory", "memory_{}", "list_{}", "read_{}", "get_{}")
"""How the route of a method is called."""
RENAMED: dict[type, dict[str, tuple[str, ...]]] = {
    UserMemory: {
        "add_many": ("add_memories",),
        "context": ("build_context",),
        "day_log": ("read_log", "read_todays_log"),
        "embedding_status": ("read_embeddings",),
        "export_lines": ("export_user",),
        "feedback": ("give_feedback",),
        "forget": ("forget_memory", "forget_key"),
        "form": ("form_thread", "form"),
        "get_many": ("get_memories",),
        "groups": ("list_my_groups",),
        "import_file": ("import_user",),
        "links": ("memory_links",),
        "links_of": ("list_links",),
        "list": ("list_memories",),
        "members": ("list_group_members",),
        "merge": ("merge_memories",),
        "purge": ("purge_memories",),
        "query": ("query_memories",),
        "redact": ("redact_turn",),
        "related": ("related_memories",),
        "relation_graph": ("read_graph",),
        "remove_member": ("remove_group_member",),
        "search": ("search_memories", "search_memories_by_address"),
        "set_member": ("set_group_member",),
        "undo": ("undo_change",),
        "update_user_profile": ("update_profile",),
        "user_profile": ("read_profile",),
    },
    Memory: {
        "counters": ("read_all_counters",),
        "daily": ("read_all_daily",),
        "export_lines": ("export_store",),
        "global_memories": (
            "add_global_memory",
            "list_global_memories",
            "get_global_memory",
            "forget_global_memory",
        ),
        "import_file": ("import_store",),
        "list": ("list_all_memories",),
        "members": ("list_members_of_group",),
        "purge": ("purge_all",),
        "remove_member": ("remove_member_of_group",),
        "set_member": ("set_member_of_group",),
        "create_webhook": ("create_store_webhook",),
        "delete_webhook": ("delete_any_webhook",),
        "rotate_webhook_secret": ("rotate_any_webhook_secret",),
        "test_webhook": ("test_any_webhook",),
        "update_webhook": ("update_any_webhook",),
        "webhook": ("read_any_webhook",),
        "webhook_deliveries": ("list_any_webhook_deliveries",),
        "webhooks": ("list_all_webhooks",),
    },
}
"""Routes that are called otherwise, or of which a method has several."""
NOT_OFFERED: dict[type, dict[str, str]] = {
    UserMemory: {
        "export": "it writes a file of the machine; the lines themselves are streamed",
        "mirror_status": "the mirror lies in the home folder of the machine",
        "narrow": "a request is bound to who asks by its key and headers",
        "sync_mirror": "the mirror lies in the home folder of the machine",
    },
    Memory: {
        "authenticate": "every request is",
        "backup": "it writes a file of the machine, with everybody's rows: an operator's act",
        "close": "the service ends with its process",
        "export": "it writes a file of the machine; the lines themselves are streamed",
        "has_keys": "the list of keys tells it",
        "user": "a request is bound to its user by its key and headers",
    },
}
WITHOUT_A_METHOD = {
    "call_tool": "Tools.run",
    "create_chat_completion": "the chat proxy",
    **dict.fromkeys(
        (
            *("count_message_tokens", "count_response_tokens", "compact_response"),
            *(f"{verb}_conversation" for verb in ("create", "get", "update", "delete")),
        ),
        "the chat proxy",
    ),
    "create_embeddings": "the chat proxy",
    "create_message": "the chat proxy",
    "create_response": "the chat proxy",
    "cancel_response": "the chat proxy",
    "delete_response": "the chat proxy",
    "get_model": "the chat proxy",
    "get_response": "the chat proxy",
    "list_input_items": "the chat proxy",
    "list_models": "the chat proxy",
    "list_tools": "Tools.openai and the like, Tools.guide",
}
CALLED = {
    "actor": None,  # who acts comes from the key and the headers
    "delete_checkpoint.expected_version": "if-match",
    "expected_updated_at": "if-match",
    "import_file.path": "body",
    "progress": None,  # there is nobody to be told while a request is under way
    "save_checkpoint.expected_version": "if-match",
    "save_checkpoint.state": "body",
}
"""Parameters that have another name over HTTP, or none."""


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        operation["operationId"]: {**operation, "path": path}
        for path, methods in document["paths"].items()
        for operation in methods.values()
    }


def public_methods(face: type) -> dict[str, Any]:
    return {
        name: method
        for name, method in inspect.getmembers(face, inspect.isfunction)
        if not name.startswith("_")
    }


def routes_of(face: type, document: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The routes of every method that is offered."""
    assert {*RENAMED[face], *NOT_OFFERED[face]} <= set(public_methods(face))
    there, found = operations(document), dict(RENAMED[face])
    for name in set(public_methods(face)) - {*found, *NOT_OFFERED[face]}:
        (found[name],) = [(one,) for form in CALLED_LIKE if (one := form.format(name)) in there]
    return found


def test_methods_and_routes_are_each_others(document: dict[str, Any]) -> None:
    listed = [
        name for face in RENAMED for names in routes_of(face, document).values() for name in names
    ]
    assert len(listed) == len(set(listed))
    there = {
        name
        for name, operation in operations(document).items()
        if operation["path"].startswith("/v1/")
    }
    assert there == {*listed, *WITHOUT_A_METHOD}


@pytest.mark.parametrize("face", [UserMemory, Memory])
def test_every_parameter_can_be_given(document: dict[str, Any], face: type) -> None:
    there = operations(document)
    for method, routes in routes_of(face, document).items():
        missing = set(_parameters(public_methods(face)[method], method))
        for name in routes:
            missing -= _taken_by(document, there[name])
        assert missing == set(), method


def _parameters(method: Any, name: str) -> Iterator[str]:
    """The names of a method's parameters over HTTP."""
    for parameter in inspect.signature(method).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            yield from FILTER_NAMES - {"statuses", "types", "sources"}  # shorter: status, type, …
            continue
        called = CALLED.get(f"{name}.{parameter.name}", CALLED.get(parameter.name, parameter.name))
        if called is not None:
            yield called


def _taken_by(document: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    """What a route takes: its parameters, the fields of its body, and the body."""
    taken = {parameter["name"].lower() for parameter in operation.get("parameters", ())}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        taken |= {"body", *_fields(document, content.get("schema", {}))}
    return taken


def _fields(document: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = document["components"]["schemas"][name]
    yield from schema.get("properties", ())
    for option in schema.get("anyOf", ()):
        yield from _fields(document, option)


@pytest.mark.requirement("http.memories")
def test_every_route_says_what_it_is_for(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation["summary"].endswith("."), where
            assert operation["description"] and operation["tags"] and operation["responses"], where
            if not path.startswith("/v1/memories"):
                continue
            names = {one["name"] for one in operation["parameters"]}
            assert {"X-Ricordo-User", "X-Ricordo-Agent", "X-Ricordo-Project"} <= names, where
            assert "Idempotency-Key" in names or method == "get", where
            good = [code for code in operation["responses"] if code in ("200", "201")]
            shown = [operation["responses"][code].get("content", {}) for code in good]
            assert all("example" in one["application/json"] for one in shown), where


@pytest.mark.requirement("http.memories")
def test_an_example_has_the_shape_of_its_record() -> None:
    for example, shape in (
        (examples.ADDED, Added),
        (examples.ITEM, Item),
        (examples.example_of(record.Page[Item]), record.Page[Item]),
        (examples.CHANGE, Change),
        (examples.CHANGES, Changes),
        (examples.FOUND, SearchResults[MemoryHit]),
        (examples.RELATED, Related),
        (examples.TURN, Turn),
        (examples.THEME, Theme),
        (examples.QUERY_ANSWER, QueryAnswer),
        (examples.FEEDBACK, Feedback),
    ):
        assert TypeAdapter(shape).validate_python(example).to_dict() == example, shape
    tokens = dict(examples.CONTEXT["tokens"])
    assert tokens.pop("total") == sum(tokens.values()) - tokens["budget"]


_VOID = {"meta"}


class Page(html.parser.HTMLParser):
    """What a browser would see, and what it would be asked to load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.slow
@pytest.mark.requirement("http.docs")
def test_every_route_is_shown_and_nothing_is_loaded_or_run(
    keyed: Service, document: dict[str, Any]
) -> None:
    answered = keyed.client().get("/docs")  # without a key
    assert answered.status_code == 200
    assert answered.headers["content-type"] == "text/html; charset=utf-8"
    page = Page(answered.text)
    assert page.open == []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in page.texts
            for parameter in operation.get("parameters", ()):
                assert parameter["name"] in page.texts
    for field_of_a_body in ("tool_calls", "base_url", "expires_days"):
        assert field_of_a_body in page.texts
    assert page.tags.isdisjoint({"script", "link", "img", "iframe", "form", "object"})
    assert page.links == ["openapi.json"]
    assert not any(name.startswith("on") or name == "style" for name in page.attributes)
    policy = answered.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    (style,) = re.findall("<style>(.*?)</style>", answered.text, re.DOTALL)
    assert manual.style_source(style) in policy


@pytest.mark.requirement("http.docs")
def test_whatever_the_document_says_is_only_text() -> None:
    evil = "</code><script>alert(1)</script><b a='\"'>"
    schema = {"type": "object", "required": [evil], "properties": {evil: {"description": evil}}}
    operation = {
        "operationId": evil,
        "tags": [evil],
        "description": evil,
        "parameters": [{"name": evil, "in": evil, "description": evil, "schema": {"type": evil}}],
        "requestBody": {"description": evil, "content": {evil: {"schema": schema}}},
        "responses": {evil: {"description": evil, "content": {evil: {"schema": {"$ref": evil}}}}},
    }
    document = {
        "info": {"title": evil, "version": evil, "description": evil},
        "paths": {evil: {"get": operation}},
    }
    page = Page(manual.page(document))
    assert page.open == []
    assert page.tags.isdisjoint({"script", "b"})
