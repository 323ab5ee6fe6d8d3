"""How far the vectors of single memories have come, and who is told what of it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import EmbeddingState, InvalidValue, Memory, UserMemory
from ricordo.storage.index_tables import item_index
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedding_server import EmbeddingServer

pytestmark = pytest.mark.requirement("embeddings.states")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(model="first") as running:
        yield running


@pytest.fixture
def store(backend_url: str, open_store: Callable[..., Memory], server: EmbeddingServer) -> Memory:
    return open_store(
        backend_url,
        embedder=None,
        embedding_provider="custom_http",
        embedding_base_url=server.base_url,
        embedding_model=server.model,
    )


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    return store.user("ana")


def waiting(item_id: int) -> EmbeddingState:
    return EmbeddingState(
        id=item_id,
        state="pending",
        provider=None,
        model=None,
        dimensions=None,
        error=None,  # type: ignore[arg-type]
    )


def give_up(memory: Memory, item_id: int, error: str) -> None:
    with memory.database.write("ana") as writing:
        lost = sa.update(item_index).where(
            item_index.c.user_id == "ana", item_index.c.id == item_id
        )
        writing.connection.execute(lost.values(state="error", error=error))


def test_from_waiting_to_ready(ana: UserMemory) -> None:
    first, second = (one.id for one in ana.add_many(["Prefers tea", "Has a cat"]))
    assert ana.embedding_states([first, second]) == (waiting(first), waiting(second))
    ana.fill_embeddings()
    (ready,) = ana.embedding_states([second])
    assert (ready.id, ready.state, ready.error) == (second, "ready", None)
    assert (ready.provider, ready.model) == ("custom_http", ana.embedding_status().model)
    assert ready.dimensions == ana.embedding_status().dimensions


def test_what_was_given_up_says_why(store: Memory, ana: UserMemory) -> None:
    item_id = ana.add("Prefers tea").id
    give_up(store, item_id, "the endpoint says no")
    (state,) = ana.embedding_states([item_id])
    assert (state.state, state.error) == ("error", "the endpoint says no")


def test_a_vector_of_another_model_is_ready_under_that_model(
    backend_url: str, open_store: Callable[..., Memory], store: Memory, ana: UserMemory
) -> None:
    item_id = ana.add("Prefers tea").id
    ana.fill_embeddings()
    before = ana.embedding_states([item_id])
    other = open_store(backend_url, embedding_provider="none", embedder=None).user("ana")
    assert other.embedding_status().stale == 1
    assert other.embedding_states([item_id]) == before


def test_where_none_are_made_none_is_said_to_wait(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(backend_url, embedding_provider="none", embedder=None).user("ana")
    assert ana.embedding_states([ana.add("Prefers tea").id]) == ()


def test_in_the_order_of_the_ids_and_each_once(store: Memory, ana: UserMemory) -> None:
    made = [one.id for one in ana.add_many(["a", "b", "c"])]
    theirs = store.user("ben").add("Has a dog").id
    asked = [made[2], 987_654, made[0], theirs, made[2]]
    assert [one.id for one in ana.embedding_states(asked)] == [made[2], made[0]]
    assert [one.id for one in ana.embedding_states(iter(made))] == made
    assert ana.embedding_states([]) == ()
    assert store.user("ben").embedding_states(made) == ()


def test_every_status_has_one_but_what_has_expired(ana: UserMemory, clock: ManualClock) -> None:
    kept, aside, gone = (one.id for one in ana.add_many(["a", "b", "c"]))
    ended = ana.add("d", expires_at=clock() + timedelta(hours=1)).id
    ana.archive(aside)
    ana.forget(gone)
    clock.advance(hours=2)
    states = ana.embedding_states([kept, aside, gone, ended])
    assert [one.id for one in states] == [kept, aside, gone]


def test_of_what_is_shared_only_the_state_is_told(store: Memory, ana: UserMemory) -> None:
    tea, cat = (one.id for one in ana.add_many(["Prefers tea", "Has a cat"]))
    ana.fill_embeddings()
    give_up(store, cat, "https://secret.example says no to key 123")
    for item_id in (tea, cat):
        ana.link(item_id, "ben")
    everybodys = store.global_memories().add("The office closes at six").id
    ben = store.user("ben")
    seen = ben.embedding_states([tea, cat, everybodys])
    assert [(one.id, one.state) for one in seen] == [
        (tea, "ready"),
        (cat, "error"),
        (everybodys, "pending"),
    ]
    for one in seen:
        assert (one.provider, one.model, one.dimensions, one.error) == (None, None, None, None)
    ana.unlink(tea, "ben")
    ana.forget(cat)
    assert [one.id for one in ben.embedding_states([tea, cat])] == []


def test_a_confined_scope_is_told_of_its_categories(ana: UserMemory) -> None:
    work = ana.add("Works at night", theme="work").id
    health = ana.add("Has asthma", theme="health").id
    worker = ana.narrow(categories="work")
    assert [one.id for one in worker.embedding_states([health, work])] == [work]


BAD_IDS: list[Any] = [[0], [-1], [2**63], ["1"], [True], [None], "12", 5, None, range(1, 1_002)]


@pytest.mark.parametrize("ids", BAD_IDS)
def test_bad_input_is_refused(ana: UserMemory, ids: Any) -> None:
    with pytest.raises(InvalidValue):
        ana.embedding_states(ids)


def test_as_many_as_a_page_has(ana: UserMemory) -> None:
    made = ana.add_many([f"n{number}" for number in range(5)])
    assert len(ana.embedding_states(range(1, 1_001))) == len(made)
