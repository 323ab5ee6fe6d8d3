"""The examples in the OpenAPI document are such as the service gives and takes."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from ricordo.http.app import create_app
from ricordo.http.routes import examples
from ricordo.memory import Memory
from ricordo.model.context import Context, Feedback
from ricordo.model.history import Change, Changes
from ricordo.model.item import Added, Item
from ricordo.model.page import Page
from ricordo.model.query import QueryAnswer
from ricordo.model.search import MemoryHit, Related, SearchResults
from ricordo.model.theme import Theme
from ricordo.model.thread import Turn

pytestmark = pytest.mark.requirement("http.memories")

SHAPES: list[tuple[Any, Any]] = [
    (examples.ADDED, Added),
    (examples.KNOWN, Added),
    (examples.ITEM, Item),
    (examples.PAGE, Page[Item]),
    (examples.CHANGE, Change),
    (examples.CHANGES, Changes),
    (examples.FOUND, SearchResults[MemoryHit]),
    (examples.RELATED, Related),
    (examples.TURN, Turn),
    (examples.THEME, Theme),
    (examples.QUERY_ANSWER, QueryAnswer),
    (examples.FEEDBACK, Feedback),
]


@pytest.mark.parametrize(("example", "shape"), SHAPES)
def test_an_example_has_the_shape_of_its_record(example: dict[str, Any], shape: Any) -> None:
    made = TypeAdapter(shape).validate_python(example)
    assert made.to_dict() == example


def test_the_example_of_a_prompt_adds_up() -> None:
    tokens = dict(examples.CONTEXT["tokens"])
    total = tokens.pop("total")
    assert total == sum(tokens.values()) - tokens["budget"]
    made = TypeAdapter(Context).validate_python({**examples.CONTEXT, "tokens": tokens})
    assert made.to_dict() == examples.CONTEXT


def test_every_route_of_memories_says_what_it_is_for(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    document = create_app(open_store(sqlite_url)).openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"].endswith("."), where
            assert operation["tags"], where
            if path.startswith("/v1/memories") and method != "get":
                names = {one["name"] for one in operation["parameters"]}
                assert "Idempotency-Key" in names, where
            if path.startswith("/v1/memories"):
                assert {"X-Ricordo-User", "X-Ricordo-Agent"} <= {
                    one["name"] for one in operation["parameters"]
                }
                good = [code for code in operation["responses"] if code in ("200", "201")]
                shown = [operation["responses"][code].get("content", {}) for code in good]
                assert all("example" in one["application/json"] for one in shown), where
