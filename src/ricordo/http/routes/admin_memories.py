"""Administration of memories: all users' together, and those that everybody sees."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from ricordo.http.answers import answer
from ricordo.http.asked import MemoryId
from ricordo.http.callers import Caller, Calling, Managing, ReadingAll
from ricordo.http.routes.changing import ForgetAsked
from ricordo.http.routes.memories import GetAsked, ListAsked, NewMemoryAsked
from ricordo.http.routing import router_for
from ricordo.memory import Memory
from ricordo.model.item import Added, Item
from ricordo.model.record import Page
from ricordo.user_memory import UserMemory

router = router_for("Administration: memories", "/v1/admin")


@router.get("/memories", response_model=Page[Item])
def list_all_memories(asked: Annotated[ListAsked, Query()], store: ReadingAll) -> Response:
    """List all users' memories. Takes what the list of one user's takes."""
    return answer(
        store.list(
            sort=asked.sort,
            order=asked.order,
            limit=asked.limit,
            cursor=asked.cursor,
            **asked.filters(),
        )
    )


@router.get("/global/memories", response_model=Page[Item])
def list_global_memories(asked: Annotated[ListAsked, Query()], store: ReadingAll) -> Response:
    """List the memories that every user sees who has few of their own."""
    return answer(
        store.global_memories().list(
            sort=asked.sort,
            order=asked.order,
            limit=asked.limit,
            cursor=asked.cursor,
            **asked.filters(),
        )
    )


@router.post(
    "/global/memories",
    status_code=HTTPStatus.CREATED,
    response_model=Added,
    responses={200: {"model": Added, "description": "It was there already, or was updated."}},
)
def add_global_memory(asked: NewMemoryAsked, store: Managing, caller: Calling) -> Response:
    """Keep a memory that every user sees who has few of their own."""
    added = _global_memories(store, caller).add(**asked.given())
    return answer(added, HTTPStatus.CREATED if added.is_new else HTTPStatus.OK)


@router.get("/global/memories/{id}", response_model=Item)
def get_global_memory(
    id: MemoryId, asked: Annotated[GetAsked, Query()], store: ReadingAll
) -> Response:
    """Read one of the memories that everybody sees."""
    return answer(store.global_memories().get(id, **asked.given()))


@router.delete("/global/memories/{id}", response_model=Item)
def forget_global_memory(
    id: MemoryId, asked: Annotated[ForgetAsked, Query()], store: Managing, caller: Calling
) -> Response:
    """Forget one of the memories that everybody sees."""
    (forgotten,) = _global_memories(store, caller).forget(id, **asked.given())
    return answer(forgotten)


def _global_memories(store: Memory, caller: Caller) -> UserMemory:
    """The global memories; history names the agent, or else the key, that changes them."""
    key = None if caller.key is None else caller.key.id
    return store.global_memories(actor=caller.agent or key)
