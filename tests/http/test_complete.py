"""Everything that the library offers is offered over HTTP, with every parameter; the rest is
listed here with the reason."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from ricordo.http.app import create_app
from ricordo.memory import Memory
from ricordo.model.filters import FILTER_NAMES
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

pytestmark = pytest.mark.requirement("http.complete")

ROUTES_OF: dict[type, dict[str, tuple[str, ...]]] = {
    UserMemory: {
        "add": ("add_memory",),
        "add_many": ("add_memories",),
        "approve": ("approve",),
        "archive": ("archive_memory",),
        "audit": ("audit",),
        "backfill_embeddings": ("backfill_embeddings",),
        "changes": ("list_changes",),
        "checkpoints": ("list_checkpoints",),
        "compact": ("compact",),
        "consolidate": ("consolidate",),
        "context": ("build_context",),
        "counters": ("read_counters",),
        "daily": ("read_daily",),
        "day_log": ("read_log", "read_todays_log"),
        "delete_checkpoint": ("delete_checkpoint",),
        "describe_theme": ("describe_theme",),
        "embedding_states": ("read_embedding_states",),
        "embedding_status": ("read_embeddings",),
        "events": ("list_events",),
        "export_lines": ("export_user",),
        "feedback": ("give_feedback",),
        "fill_embeddings": ("fill_embeddings",),
        "forget": ("forget_memory", "forget_key"),
        "form": ("form_thread", "form"),
        "formed_turns": ("list_formed_turns",),
        "get": ("get_memory",),
        "get_many": ("get_memories",),
        "history": ("memory_history",),
        "import_file": ("import_user",),
        "lineage": ("memory_lineage",),
        "link": ("link_memory",),
        "links": ("memory_links",),
        "list": ("list_memories",),
        "load_checkpoint": ("load_checkpoint",),
        "merge": ("merge_memories",),
        "observe": ("observe",),
        "pin": ("pin_memory",),
        "proposals": ("list_proposals",),
        "purge": ("purge_memories",),
        "query": ("query_memories",),
        "rebuild_embeddings": ("rebuild_embeddings",),
        "reject": ("reject",),
        "related": ("related_memories",),
        "relation_graph": ("read_graph",),
        "reset_embeddings": ("reset_embeddings",),
        "restore": ("restore_memory",),
        "resume": ("resume",),
        "revision": ("get_revision",),
        "save_checkpoint": ("save_checkpoint",),
        "search": ("search_memories", "search_memories_by_address"),
        "search_turns": ("search_turns",),
        "set_embeddings": ("set_embeddings",),
        "source_turn": ("read_source_turn",),
        "summary": ("read_summary",),
        "test_embeddings": ("test_embeddings",),
        "themes": ("list_themes",),
        "thread": ("read_thread",),
        "threads": ("list_threads",),
        "turns": ("list_turns",),
        "undo": ("undo_change",),
        "unlink": ("unlink_memory",),
        "update_user_profile": ("update_profile",),
        "upkeep": ("upkeep",),
        "user_profile": ("read_profile",),
        "verify": ("verify_memory",),
        "window": ("read_window",),
    },
    Memory: {
        "cancel_job": ("cancel_job",),
        "counters": ("read_all_counters",),
        "create_key": ("create_key",),
        "daily": ("read_all_daily",),
        "erase_user": ("erase_user",),
        "export_lines": ("export_store",),
        "global_memories": (
            "add_global_memory",
            "list_global_memories",
            "get_global_memory",
            "forget_global_memory",
        ),
        "import_file": ("import_store",),
        "job_stats": ("read_job_stats",),
        "jobs": ("list_jobs",),
        "key": ("read_key",),
        "keys": ("list_keys",),
        "list": ("list_all_memories",),
        "purge": ("purge_all",),
        "reindex": ("reindex",),
        "retry_job": ("retry_job",),
        "revoke_key": ("revoke_key",),
        "run_jobs": ("run_jobs",),
        "test_model": ("test_model",),
        "users": ("list_users",),
    },
}
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
    "create_message": "the chat proxy",
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
    "formed_turns.thread_id": "thread",
    "thread.thread_id": "thread",
    "turns.thread_id": "thread",
    "user_id": "user",
    "with_user": "viewer",
}
"""Parameters that have another name over HTTP, or none."""


@pytest.fixture(scope="module")
def document() -> Iterator[dict[str, Any]]:
    with open_memory(":memory:", run_jobs=False, upkeep=False) as memory:
        yield create_app(memory).openapi()


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


@pytest.mark.parametrize("face", [UserMemory, Memory])
def test_every_method_has_a_route_or_a_reason(face: type) -> None:
    offered, left_out = set(ROUTES_OF[face]), set(NOT_OFFERED[face])
    assert offered & left_out == set()
    assert offered | left_out == set(public_methods(face))


def test_every_route_has_a_method_or_a_reason(document: dict[str, Any]) -> None:
    listed = [name for face in ROUTES_OF.values() for names in face.values() for name in names]
    assert len(listed) == len(set(listed))
    there = {
        name
        for name, operation in operations(document).items()
        if operation["path"].startswith("/v1/")
    }
    assert there == {*listed, *WITHOUT_A_METHOD}


@pytest.mark.parametrize(
    ("face", "method"),
    [(face, method) for face, methods in ROUTES_OF.items() for method in methods],
)
def test_every_parameter_can_be_given(document: dict[str, Any], face: type, method: str) -> None:
    missing = set(_parameters(public_methods(face)[method], method))
    for name in ROUTES_OF[face][method]:
        missing -= _taken_by(document, operations(document)[name])
    assert missing == set()


@pytest.mark.parametrize("method", ["summary", "description", "tags", "responses"])
def test_every_route_is_described(document: dict[str, Any], method: str) -> None:
    assert [name for name, one in operations(document).items() if not one.get(method)] == []


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
