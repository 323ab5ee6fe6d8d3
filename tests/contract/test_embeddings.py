"""Where vectors are made, and how far they have come: never the same text twice."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import numpy
import pytest
import sqlalchemy as sa

from ricordo import Conflict, EmbeddingState, InvalidValue, Memory, UserMemory
from ricordo.errors import TargetRefused
from ricordo.model.embedding import EmbeddingStatus
from ricordo.providers.embedder import unit_rows
from ricordo.storage.relations import relations_of
from ricordo.storage.tables import ITEMS, item_index
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite
from tests.support.endpoints import EmbeddingServer
from tests.support.sharing import share

OpenStore = Callable[..., Memory]
TEXTS = ("Prefers green tea", "Has a cat called Momo", "Works night shifts", "Plays the cello")


@pytest.fixture
def open_store(open_store: OpenStore) -> OpenStore:
    """Opens stores whose vectors are made as the settings say."""

    def open_one(url: str, **settings: object) -> Memory:
        return open_store(url, **{"embedder": None, **settings})

    return open_one


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(model="first") as running:
        yield running


@pytest.fixture
def other() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(model="second") as running:
        yield running


@pytest.fixture
def store(backend_url: str, open_store: OpenStore) -> Memory:
    """A store whose users may choose endpoints on loopback."""
    return open_store(backend_url, allow_private_embedding_targets=True)


@pytest.fixture
def remote(backend_url: str, open_store: OpenStore, server: EmbeddingServer) -> Memory:
    """A store whose operator has vectors made elsewhere."""
    return open_store(backend_url, **operated_by(server))


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    return store.user("ana")


def at(server: EmbeddingServer, **more: Any) -> dict[str, Any]:
    """The settings of a server, as set_embeddings takes them."""
    return {
        "provider": "custom_http",
        "base_url": server.base_url,
        "model": server.model,
        **more,
    }


def operated_by(server: EmbeddingServer) -> dict[str, Any]:
    """The settings of a server, as the operator writes them."""
    return {
        "embedding_provider": "custom_http",
        "embedding_base_url": server.base_url,
        "embedding_model": server.model,
    }


def counts(status: EmbeddingStatus) -> tuple[int, int, int, int]:
    return status.ready, status.pending, status.stale, status.error


def texts_sent(server: EmbeddingServer) -> list[str]:
    """Every text that was asked for, without the one that only tries the endpoint out."""
    tried = "Prefers tea over coffee."
    return [text for batch in server.embedded for text in batch if text != tried]


def stored(memory: Memory, user_id: str = "ana") -> list[tuple[Any, ...]]:
    index = ITEMS.index.c
    wanted = sa.select(
        index.id, index.state, index.provider, index.model, index.dimensions, index.error
    )
    with memory.database.read_all() as view:
        rows = view.connection.execute(wanted.where(index.user_id == user_id).order_by(index.id))
        return [tuple(row) for row in rows]


def semantic(found: Any) -> list[int]:
    return [hit.id for hit in found if hit.signals.semantic]


@pytest.mark.requirement("embeddings.lifecycle")
def test_a_store_with_nothing_set_makes_vectors_at_once(ana: UserMemory) -> None:
    ana.add_many(TEXTS)
    ana.observe([{"role": "user", "content": "Hello there"}], thread="t1")
    status = ana.embedding_status()
    assert (status.provider, status.origin, status.dimensions) == ("local", "default", 384)
    assert (status.memories, status.turns, counts(status)) == (4, 1, (5, 0, 0, 0))
    assert (status.last_error, status.problem) == (None, None)


@pytest.mark.requirement("embeddings.lifecycle")
def test_remote_vectors_wait_for_a_job(remote: Memory, server: EmbeddingServer) -> None:
    ana = remote.user("ana")
    home = ana.add("Lives in Bekasi", key="home").id
    ana.observe([{"role": "user", "content": "Hello there"}], thread="t1")
    assert server.requests == []
    before = ana.embedding_status()
    assert (before.provider, before.model, before.origin) == ("custom_http", "first", "operator")
    assert (before.dimensions, counts(before)) == (None, (0, 2, 0, 0))
    assert remote.run_jobs() == 1
    after = ana.embedding_status()
    assert (after.dimensions, counts(after)) == (64, (2, 0, 0, 0))
    assert semantic(ana.search("Bekasi")) == [home]
    ana.add("Lives in Jakarta", key="home")
    assert stored(remote)[0] == (home, "pending", None, None, None, None)
    assert semantic(ana.search("Bekasi", status="active")) == []
    remote.run_jobs()
    assert stored(remote)[0][:4] == (home, "ready", "custom_http", "first")
    assert sorted(text for text in texts_sent(server) if text != "Bekasi") == [
        "Hello there",
        "Lives in Bekasi",
        "Lives in Jakarta",
    ]


@pytest.mark.requirement("embeddings.lifecycle")
def test_vectors_made_later_relate_memories_too(remote: Memory) -> None:
    ana = remote.user("ana")
    ids = [ana.add(f"Prefers green tea in the {when}").id for when in ("morning", "evening")]
    gone = ana.add("Prefers green tea in the night").id
    ana.archive(gone)
    assert ana.related(ids[0]) == ()
    remote.run_jobs()
    assert [one.id for one in ana.related(ids[0])] == [ids[1]]
    with remote.database.read_all() as view:
        assert relations_of(view.connection, "ana", [gone]) == []


@pytest.mark.requirement("embeddings.settings")
def test_without_a_provider_search_goes_by_words(store: Memory, ana: UserMemory) -> None:
    ana.add("Prefers green tea")
    change = ana.set_embeddings("none", confirm=True)
    assert (change.provider, change.model, change.to_rebuild) == ("none", None, 1)
    ana.add("Has a cat")
    assert store.jobs() == ()
    status = ana.embedding_status()
    assert (status.provider, status.model, status.origin) == ("none", None, "user")
    assert counts(status) == (0, 2, 0, 0)
    found = ana.search("tea")
    assert ([hit.id for hit in found], semantic(found), found.degraded) == ([1], [], None)
    assert ana.fill_embeddings() == 0
    for method in (ana.rebuild_embeddings, ana.backfill_embeddings):
        with pytest.raises(Conflict, match="nothing makes vectors here"):
            method()
    back = ana.reset_embeddings(confirm=True)
    assert (back.provider, back.to_rebuild) == ("local", 2)
    store.run_jobs()
    assert counts(ana.embedding_status()) == (2, 0, 0, 0)
    assert ana.embedding_status().origin == "default"


@pytest.mark.requirement("embeddings.rebuild")
def test_a_confirmed_change_starts_everything_over(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ids = [ana.add(text).id for text in TEXTS]
    ana.archive(ids[0])
    ana.forget(ids[1])
    ana.add("Plays the viola", supersedes=ids[3])
    ana.observe([{"role": "user", "content": "Hello there"}], thread="t1")
    store.run_jobs()
    before, revision = stored(store), ana.revision()
    planned = ana.set_embeddings(**at(server))
    assert (planned.provider, planned.model, planned.to_rebuild) == ("custom_http", "first", 6)
    assert (planned.applied, planned.problem) == (False, None)
    assert (stored(store), ana.embedding_status().provider) == (before, "local")
    assert texts_sent(server) == []
    assert "embed" not in {job.kind for job in store.jobs(state="queued")}
    change = ana.set_embeddings(**at(server), confirm=True)
    assert (change.to_rebuild, change.applied) == (6, True)
    assert {row[1:] for row in stored(store)} == {("pending", None, None, None, None)}
    assert "embed" in {job.kind for job in store.jobs() if job.user_id == "ana"}
    assert counts(ana.embedding_status()) == (0, 6, 0, 0)
    assert ana.revision() == revision
    store.run_jobs()
    status = ana.embedding_status()
    assert (status.origin, counts(status)) == ("user", (6, 0, 0, 0))
    assert {row[1:5] for row in stored(store)} == {("ready", "custom_http", "first", 64)}
    assert sorted(texts_sent(server)) == sorted([*TEXTS, "Plays the viola", "Hello there"])


@pytest.mark.requirement("embeddings.rebuild")
@pytest.mark.parametrize("cache_mb", [512, 0])
def test_vectors_of_another_model_are_ignored_at_once(
    backend_url: str,
    open_store: OpenStore,
    server: EmbeddingServer,
    other: EmbeddingServer,
    cache_mb: int,
) -> None:
    memory = open_store(backend_url, allow_private_embedding_targets=True, index_cache_mb=cache_mb)
    ana = memory.user("ana")
    ana.set_embeddings(**at(server), confirm=True)
    ana.add_many(TEXTS)
    ana.observe([{"role": "user", "content": "A cello lesson"}], thread="t1")
    memory.run_jobs()
    assert semantic(ana.search("cello"))
    assert semantic(ana.search_turns("cello"))
    ana.set_embeddings(**at(other), confirm=True)
    for found in (ana.search("cello"), ana.search_turns("cello")):
        assert (len(found), semantic(found)) == (1, [])
        assert "not made yet" in str(found.degraded)
    assert len(other.embedded) == 2  # the try, and the question
    memory.run_jobs()
    assert semantic(ana.search("cello"))


@pytest.mark.requirement("embeddings.rebuild")
def test_an_endpoint_that_was_left_is_asked_nothing_more(
    ana: UserMemory, server: EmbeddingServer, other: EmbeddingServer
) -> None:
    ana.set_embeddings(**at(server), confirm=True)
    ana.search("cello")
    ana.search_turns("cello")
    ana.set_embeddings(**at(other), confirm=True)
    ana.search("Where is my test result?")
    ana.search_turns("Who knows about it?")
    assert texts_sent(server) == ["cello"]


@pytest.mark.requirement("embeddings.rebuild")
def test_another_operators_model_leaves_stale_vectors_until_a_rebuild(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer, other: EmbeddingServer
) -> None:
    first = open_store(backend_url, **operated_by(server))
    first.user("ana").add_many(TEXTS)
    first.run_jobs()
    second = open_store(backend_url, **operated_by(other))
    ana = second.user("ana")
    assert counts(ana.embedding_status()) == (0, 4, 4, 0)
    found = ana.search("cello")
    assert (len(found), semantic(found)) == (1, [])
    planned = ana.rebuild_embeddings()
    assert (planned.model, planned.to_rebuild, planned.applied) == ("second", 4, False)
    ana.add("Something new")
    assert ana.backfill_embeddings().to_dict() == {"put_back": 4, "pending": 5}
    assert ana.backfill_embeddings().to_dict() == {"put_back": 0, "pending": 5}
    seen: list[tuple[int, int]] = []
    assert ana.fill_embeddings(progress=lambda done, total: seen.append((done, total))) == 5
    assert (seen[0], seen[-1]) == ((0, 5), (5, 5))
    assert counts(ana.embedding_status()) == (5, 0, 0, 0)
    assert ana.fill_embeddings() == 0
    assert semantic(ana.search("cello"))


@pytest.mark.requirement("embeddings.rebuild")
def test_a_rebuild_makes_even_known_vectors_anew(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ana.set_embeddings(**at(server), confirm=True)
    ana.add_many(TEXTS)
    store.run_jobs()
    assert semantic(ana.search("cello"))
    before = stored(store)
    with EmbeddingServer(model="first") as moved:  # the same model elsewhere needs none
        assert ana.set_embeddings(**at(moved, dimensions=32)).to_rebuild == 4
        assert ana.set_embeddings(**at(moved, api_key="k1"), confirm=True).to_rebuild == 0
        assert stored(store) == before
        assert ana.rebuild_embeddings(confirm=True).to_rebuild == 4
        assert semantic(ana.search("cello")) == []
        store.run_jobs()
        assert semantic(ana.search("cello"))
        assert sorted(text for text in texts_sent(moved) if text != "cello") == sorted(TEXTS)


@pytest.mark.requirement("embeddings.settings")
def test_one_users_settings_are_not_anothers_and_hold_in_every_process(
    backend_url: str, open_store: OpenStore, store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    elsewhere = open_store(backend_url, allow_private_embedding_targets=True).user("ana")
    ben = store.user("ben")
    elsewhere.add("Prefers tea")
    ben.add("Prefers coffee")
    before = stored(store, "ben")
    ana.set_embeddings(**at(server), confirm=True)
    assert (stored(store, "ben"), ben.embedding_status().origin) == (before, "default")
    assert elsewhere.embedding_status().model == "first"
    elsewhere.add("Has a cat")
    store.run_jobs()
    assert sorted(texts_sent(server)) == ["Has a cat", "Prefers tea"]
    ana.reset_embeddings(confirm=True)
    assert stored(store, "ben") == before


@pytest.mark.requirement("embeddings.settings")
def test_the_operators_choice_is_everybodys(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer, other: EmbeddingServer
) -> None:
    for settings in (operated_by(server), {"embedder": _Given()}):
        memory = open_store(backend_url, **settings, allow_private_embedding_targets=True)
        ana = memory.user("ana")
        for confirm in (False, True):
            with pytest.raises(Conflict, match="the operator has chosen"):
                ana.set_embeddings(**at(other), confirm=confirm)
            with pytest.raises(Conflict, match="the operator has chosen"):
                ana.reset_embeddings(confirm=confirm)
        assert memory.users() == ()
    assert other.requests == []
    ana.add("Prefers tea")
    status = ana.embedding_status()
    assert (status.provider, status.model, status.origin) == ("mine", "given", "operator")
    assert (status.dimensions, counts(status)) == (3, (1, 0, 0, 0))


class _Given:
    """An embedder that a program brings along."""

    provider = "mine"
    model = "given"
    is_local = True
    width = 3

    def embed(self, texts: Any, *, deadline_seconds: float | None = None) -> Any:
        return unit_rows(numpy.ones((len(texts), 3)), "given")

    def close(self) -> None:
        pass


@pytest.mark.requirement("embeddings.settings")
@on_sqlite
def test_bad_settings_are_refused(memory: Memory) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"provider": "magic"}, "provider: 'magic' is not one of: local"),
        ({"provider": 5}, "provider: expected text, got int"),
        ({"provider": "local:/models/x"}, "provider: only the operator may name a model folder"),
        ({"provider": "openai", "api_key": "k", "dimensions": 2_000}, "dimensions: 2000; the"),
        ({"provider": "local", "confirm": "yes"}, "confirm: 'yes' is not true or false"),
    ]
    for settings, complaint in refused:
        with pytest.raises(InvalidValue, match=f"^{complaint}"):
            memory.user("ana").set_embeddings(**settings)
    assert memory.users() == ()


@pytest.mark.requirement("embeddings.settings")
def test_a_key_that_cannot_be_read_any_more(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    settings = {"allow_private_embedding_targets": True}
    first = open_store(backend_url, secret_key="A" * 43 + "=", **settings)
    first.user("ana").set_embeddings(**at(server, api_key="k1"), confirm=True)
    first.user("ana").add("Prefers tea")
    first.run_jobs()
    second = open_store(backend_url, secret_key="B" * 43 + "=", **settings)
    ana = second.user("ana")
    status = ana.embedding_status()
    assert (status.provider, status.origin) == ("custom_http", "user")
    assert "cannot be decrypted" in (status.problem or "")
    assert ana.test_embeddings().problem == status.problem
    found = ana.search("tea")
    assert ([hit.id for hit in found], found.degraded) == ([1], status.problem)
    ana.add("Has a cat")
    assert ana.set_embeddings(**at(server, api_key="k1"), confirm=True).to_rebuild == 1
    second.run_jobs()
    assert counts(ana.embedding_status()) == (2, 0, 0, 0)
    assert texts_sent(server).count("Prefers tea") == 1
    assert second.erase_user("ana").removed["embedding_settings"] == 1
    assert (ana.embedding_status().origin, second.users()) == ("default", ())


@pytest.mark.requirement("embeddings.settings")
def test_settings_may_not_lead_into_the_operators_network(
    memory: Memory, server: EmbeddingServer
) -> None:
    ana = memory.user("ana")
    ana.add("Prefers tea")
    before = stored(memory)
    for confirm in (False, True):
        with pytest.raises(TargetRefused, match=r"127\.0\.0\.1 is an address that is loopback"):
            ana.set_embeddings(**at(server), confirm=confirm)
    tested = ana.test_embeddings(**at(server))
    assert not tested.ok
    assert tested.problem is not None
    assert "loopback" in tested.problem
    assert (server.requests, stored(memory)) == ([], before)
    assert ana.embedding_status().origin == "default"


@pytest.mark.requirement("embeddings.test")
def test_trying_a_provider_stores_nothing(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    assert ana.test_embeddings().dimensions == ana.test_embeddings("default").dimensions == 384
    tested = ana.test_embeddings(**at(server, dimensions=32))
    assert (tested.ok, tested.dimensions) == (True, 32)
    server.required_key = "k1"
    refused = ana.test_embeddings(**at(server, api_key="wrong-key"))
    assert (refused.ok, refused.dimensions) == (False, None)
    assert refused.problem is not None
    assert "401: Incorrect API key provided." in refused.problem
    assert "wrong-key" not in repr(refused)
    assert (store.users(), ana.embedding_status().origin) == ((), "default")
    with pytest.raises(InvalidValue, match="^model: needs a provider, too"):
        ana.test_embeddings(model="first")
    ana.set_embeddings(**at(server, api_key="k1"), confirm=True)
    tested = ana.test_embeddings()
    assert (tested.ok, tested.model, tested.dimensions) == (True, "first", 64)
    assert tested.latency_ms is not None
    ana.set_embeddings("none", confirm=True)
    tested = ana.test_embeddings()
    assert (tested.ok, tested.provider, tested.dimensions) == (True, "none", None)


@pytest.mark.requirement("embeddings.never-twice")
def test_the_same_text_is_never_embedded_twice(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer, clock: ManualClock
) -> None:
    memory = open_store(backend_url, formation=False, **operated_by(server))
    ana = memory.user("ana")
    tea = ana.add("Prefers tea", theme="drinks").id
    ana.add_many([{"content": "Prefers tea", "theme": f"habits-{n}"} for n in range(8)])
    ana.observe([{"role": "user", "content": "Prefers tea"}], thread="t1")
    memory.run_jobs()
    ana.archive(tea)
    again = ana.add("Prefers tea", theme="drinks").id
    ana.forget(again)
    ana.restore(again)
    ana.add("Prefers mate", supersedes=again)
    memory.run_jobs()
    clock.advance(minutes=1)
    ana.undo(again)
    memory.run_jobs()
    # another process knows it, too
    memory = open_store(backend_url, formation=False, **operated_by(server))
    ana = memory.user("ana")
    for text in ("Lives in Bekasi", "Lives in Jakarta"):
        ana.add(text, key="home")
        memory.run_jobs()
    for text in ("Lives in Bekasi", "Prefers tea"):
        ana.add(text, theme="past")
    memory.run_jobs()
    status = ana.embedding_status()
    assert counts(status) == (status.memories + status.turns, 0, 0, 0)
    texts = ["Lives in Bekasi", "Lives in Jakarta", "Prefers mate", "Prefers tea"]
    assert sorted(texts_sent(server)) == texts


@pytest.mark.requirement("embeddings.width")
def test_a_model_that_changes_its_width_is_searched_by_words(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    first = open_store(backend_url, **operated_by(server))
    first.user("ana").add_many(TEXTS)
    twin = first.user("ana").add(TEXTS[0], theme="again").id
    first.run_jobs()
    index = ITEMS.index
    with first.database.write("ana") as writing:
        lost = sa.update(index).where(index.c.id == twin)
        writing.connection.execute(lost.values(state="error", error="no", vector=None))
    server.answer_width(48)
    memory = open_store(backend_url, **operated_by(server))
    ana = memory.user("ana")
    ana.add("Plays the flute")
    assert ana.backfill_embeddings().to_dict() == {"put_back": 1, "pending": 2}
    memory.run_jobs()
    assert [row[4] for row in stored(memory)] == [64, 64, 64, 64, 64, 48]
    assert [hit.id for hit in ana.search("cello")] == [4]
    ana.rebuild_embeddings(confirm=True)
    memory.run_jobs()
    assert {row[4] for row in stored(memory)} == {48}
    assert semantic(ana.search("cello"))


def waiting(item_id: int) -> EmbeddingState:
    nothing = dict.fromkeys(("provider", "model", "dimensions", "error"))
    return EmbeddingState(id=item_id, state="pending", **nothing)  # type: ignore[arg-type]


def give_up(memory: Memory, item_id: int, error: str) -> None:
    with memory.database.write("ana") as writing:
        lost = sa.update(item_index).where(
            item_index.c.user_id == "ana", item_index.c.id == item_id
        )
        writing.connection.execute(lost.values(state="error", error=error))


@pytest.mark.requirement("embeddings.states")
def test_from_waiting_to_ready_or_given_up(
    backend_url: str, open_store: OpenStore, remote: Memory
) -> None:
    ana = remote.user("ana")
    first, second = (one.id for one in ana.add_many(["Prefers tea", "Has a cat"]))
    assert ana.embedding_states([first, second]) == (waiting(first), waiting(second))
    ana.fill_embeddings()
    (ready,) = ana.embedding_states([second])
    assert (ready.id, ready.state, ready.error) == (second, "ready", None)
    assert (ready.provider, ready.model) == ("custom_http", ana.embedding_status().model)
    assert ready.dimensions == ana.embedding_status().dimensions
    give_up(remote, first, "the endpoint says no")
    (state,) = ana.embedding_states([first])
    assert (state.state, state.error) == ("error", "the endpoint says no")
    # A vector of another model is ready under that model, and where none are made none waits.
    other = open_store(backend_url, embedding_provider="none", embedder=None).user("ana")
    assert other.embedding_states([second]) == (ready,)
    assert other.embedding_states([other.add("Drinks mate").id]) == ()


@pytest.mark.requirement("embeddings.states")
def test_every_status_has_one_but_what_has_expired(remote: Memory, clock: ManualClock) -> None:
    ana = remote.user("ana")
    kept, aside, gone = (one.id for one in ana.add_many(["a", "b", "c"]))
    theirs = remote.user("ben").add("Has a dog").id
    ended = ana.add("d", expires_at=clock() + timedelta(hours=1)).id
    ana.archive(aside)
    ana.forget(gone)
    clock.advance(hours=2)
    states = ana.embedding_states(iter([gone, 987_654, kept, theirs, aside, ended, gone]))
    assert [one.id for one in states] == [gone, kept, aside]  # each once, in the order of the ids
    assert ana.embedding_states([]) == remote.user("ben").embedding_states([kept]) == ()
    work = ana.add("Works at night", theme="work").id
    worker = ana.narrow(categories="work")
    assert [one.id for one in worker.embedding_states([kept, work])] == [work]


@pytest.mark.requirement("embeddings.states")
def test_of_what_is_shared_only_the_state_is_told(remote: Memory) -> None:
    ana = remote.user("ana")
    tea, cat = (one.id for one in ana.add_many(["Prefers tea", "Has a cat"]))
    ana.fill_embeddings()
    give_up(remote, cat, "https://secret.example says no to key 123")
    for item_id in (tea, cat):
        share(ana, item_id, "ben")
    everybodys = remote.global_memories().add("The office closes at six").id
    ben = remote.user("ben")
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
    assert ben.embedding_states([tea, cat]) == ()
