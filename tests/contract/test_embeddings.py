"""Where vectors are made: settings, status, tests, rebuilding, and never the same text twice."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import sqlalchemy as sa

from ricordo import Conflict, InvalidValue, Memory, UserMemory
from ricordo.embedding.vectors import unit_rows
from ricordo.errors import TargetRefused
from ricordo.model.embedding import EmbeddingStatus
from ricordo.storage.relations import relations_of
from ricordo.storage.search_index import ITEMS
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedding_server import EmbeddingServer

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


# -- status --------------------------------------------------------------------------------


@pytest.mark.requirement("embeddings.lifecycle")
def test_a_store_with_nothing_set_makes_vectors_at_once(ana: UserMemory) -> None:
    ana.add_many(TEXTS)
    ana.observe([{"role": "user", "content": "Hello there"}], thread="t1")
    status = ana.embedding_status()
    assert (status.provider, status.origin, status.dimensions) == ("local", "default", 384)
    assert (status.memories, status.turns, counts(status)) == (4, 1, (5, 0, 0, 0))
    assert (status.last_error, status.problem) == (None, None)


@pytest.mark.requirement("embeddings.lifecycle")
def test_remote_vectors_wait_for_a_job(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    memory = open_store(backend_url, **operated_by(server))
    ana = memory.user("ana")
    ana.add_many(TEXTS)
    ana.observe([{"role": "user", "content": "Hello there"}], thread="t1")
    assert server.requests == []
    before = ana.embedding_status()
    assert (before.provider, before.model, before.origin) == ("custom_http", "first", "operator")
    assert (before.dimensions, counts(before)) == (None, (0, 5, 0, 0))
    assert memory.run_jobs() == 1
    after = ana.embedding_status()
    assert (after.dimensions, counts(after)) == (64, (5, 0, 0, 0))
    assert sorted(texts_sent(server)) == sorted([*TEXTS, "Hello there"])
    assert 1 in semantic(ana.search("green tea"))


@pytest.mark.requirement("embeddings.lifecycle")
def test_a_changed_text_gets_a_new_vector(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    memory = open_store(backend_url, **operated_by(server))
    ana = memory.user("ana")
    item = ana.add("Lives in Bekasi", key="home").id
    memory.run_jobs()
    assert stored(memory)[0][1] == "ready"
    ana.add("Lives in Jakarta", key="home")
    assert stored(memory)[0] == (item, "pending", None, None, None, None)
    assert semantic(ana.search("Bekasi", status="active")) == []
    memory.run_jobs()
    assert stored(memory)[0][:4] == (item, "ready", "custom_http", "first")
    assert [text for text in texts_sent(server) if text.startswith("Lives")] == [
        "Lives in Bekasi",
        "Lives in Jakarta",
    ]


@pytest.mark.requirement("embeddings.lifecycle")
def test_vectors_made_later_relate_memories_too(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    memory = open_store(backend_url, **operated_by(server))
    ana = memory.user("ana")
    ids = [ana.add(f"Prefers green tea in the {when}").id for when in ("morning", "evening")]
    gone = ana.add("Prefers green tea in the night").id
    ana.archive(gone)
    assert ana.related(ids[0]) == ()
    memory.run_jobs()
    assert [one.id for one in ana.related(ids[0])] == [ids[1]]
    with memory.database.read_all() as view:
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


# -- changing the provider -----------------------------------------------------------------


@pytest.mark.requirement("embeddings.rebuild")
def test_a_change_needs_a_confirmation(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ana.add_many(TEXTS)
    before = stored(store)
    change = ana.set_embeddings(**at(server))
    assert change.to_dict() == {
        "provider": "custom_http",
        "model": "first",
        "to_rebuild": 4,
        "applied": False,
        "problem": None,
    }
    assert (stored(store), store.jobs()) == (before, ())
    assert ana.embedding_status().provider == "local"
    assert texts_sent(server) == []


@pytest.mark.requirement("embeddings.rebuild")
def test_a_confirmed_change_starts_everything_over(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ids = [ana.add(text).id for text in TEXTS]
    ana.archive(ids[0])
    ana.forget(ids[1])
    ana.add("Plays the viola", supersedes=ids[3])
    ana.observe([{"role": "user", "content": "Hello there"}], thread="t1")
    revision = ana.revision()
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
        assert (len(found), semantic(found), found.degraded) == (1, [], None)
    assert len(other.embedded) == 2  # the try, and the question
    memory.run_jobs()
    assert semantic(ana.search("cello"))


@pytest.mark.requirement("embeddings.rebuild")
@pytest.mark.parametrize("cache_mb", [512, 0])
def test_another_operators_model_leaves_stale_vectors_until_a_rebuild(
    backend_url: str,
    open_store: OpenStore,
    server: EmbeddingServer,
    other: EmbeddingServer,
    cache_mb: int,
) -> None:
    first = open_store(backend_url, **operated_by(server))
    first.user("ana").add_many(TEXTS)
    first.run_jobs()
    second = open_store(backend_url, **operated_by(other), index_cache_mb=cache_mb)
    ana = second.user("ana")
    assert counts(ana.embedding_status()) == (0, 4, 4, 0)
    found = ana.search("cello")
    assert (len(found), semantic(found)) == (1, [])
    planned = ana.rebuild_embeddings()
    assert (planned.model, planned.to_rebuild, planned.applied) == ("second", 4, False)
    assert counts(ana.embedding_status()) == (0, 4, 4, 0)
    assert ana.rebuild_embeddings(confirm=True).applied
    assert counts(ana.embedding_status()) == (0, 4, 0, 0)
    second.run_jobs()
    assert counts(ana.embedding_status()) == (4, 0, 0, 0)
    assert semantic(ana.search("cello"))


@pytest.mark.requirement("embeddings.rebuild")
def test_backfill_asks_again_for_what_is_stale(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer, other: EmbeddingServer
) -> None:
    first = open_store(backend_url, **operated_by(server))
    first.user("ana").add_many(TEXTS)
    first.run_jobs()
    second = open_store(backend_url, **operated_by(other))
    ana = second.user("ana")
    ana.add("Something new")
    assert ana.backfill_embeddings().to_dict() == {"put_back": 4, "pending": 5}
    assert ana.backfill_embeddings().to_dict() == {"put_back": 0, "pending": 5}
    seen: list[tuple[int, int]] = []
    assert ana.fill_embeddings(progress=lambda done, total: seen.append((done, total))) == 5
    assert (seen[0], seen[-1]) == ((0, 5), (5, 5))
    assert counts(ana.embedding_status()) == (5, 0, 0, 0)
    assert ana.fill_embeddings() == 0


@pytest.mark.requirement("embeddings.rebuild")
def test_a_rebuild_makes_even_known_vectors_anew(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ana.set_embeddings(**at(server), confirm=True)
    ana.add_many(TEXTS)
    store.run_jobs()
    assert semantic(ana.search("cello"))
    assert ana.rebuild_embeddings(confirm=True).to_rebuild == 4
    assert semantic(ana.search("cello")) == []
    store.run_jobs()
    assert semantic(ana.search("cello"))
    assert sorted(texts_sent(server)) == sorted([*TEXTS * 2, "cello"])


@pytest.mark.requirement("embeddings.rebuild")
def test_the_same_model_elsewhere_is_no_rebuild(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ana.set_embeddings(**at(server), confirm=True)
    ana.add_many(TEXTS)
    store.run_jobs()
    before = stored(store)
    with EmbeddingServer(model="first") as moved:
        assert ana.set_embeddings(**at(moved, api_key="k1")).to_rebuild == 0
        assert ana.set_embeddings(**at(moved, api_key="k1"), confirm=True).to_rebuild == 0
        assert stored(store) == before
        assert ana.set_embeddings(**at(moved, dimensions=32)).to_rebuild == 4


@pytest.mark.requirement("embeddings.settings")
def test_one_users_settings_are_not_anothers(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ben = store.user("ben")
    ana.add("Prefers tea")
    ben.add("Prefers coffee")
    before = stored(store, "ben")
    ana.set_embeddings(**at(server), confirm=True)
    assert (stored(store, "ben"), ben.embedding_status().origin) == (before, "default")
    store.run_jobs()
    assert texts_sent(server) == ["Prefers tea"]
    ana.reset_embeddings(confirm=True)
    assert stored(store, "ben") == before


@pytest.mark.requirement("embeddings.settings")
def test_settings_are_effective_in_other_processes_at_once(
    backend_url: str, open_store: OpenStore, store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    elsewhere = open_store(backend_url, allow_private_embedding_targets=True).user("ana")
    elsewhere.add("Prefers tea")
    ana.set_embeddings(**at(server), confirm=True)
    assert elsewhere.embedding_status().model == "first"
    elsewhere.add("Has a cat")
    store.run_jobs()
    assert sorted(texts_sent(server)) == ["Has a cat", "Prefers tea"]


@pytest.mark.requirement("embeddings.settings")
def test_the_operators_choice_is_everybodys(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer, other: EmbeddingServer
) -> None:
    memory = open_store(backend_url, **operated_by(server), allow_private_embedding_targets=True)
    ana = memory.user("ana")
    for confirm in (False, True):
        with pytest.raises(Conflict, match="the operator has chosen"):
            ana.set_embeddings(**at(other), confirm=confirm)
        with pytest.raises(Conflict, match="the operator has chosen"):
            ana.reset_embeddings(confirm=confirm)
    assert memory.users() == ()
    assert other.requests == []


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
def test_an_embedder_of_the_program_is_everybodys(backend_url: str, open_store: OpenStore) -> None:
    ana = open_store(backend_url, embedder=_Given()).user("ana")
    ana.add("Prefers tea")
    status = ana.embedding_status()
    assert (status.provider, status.model, status.origin) == ("mine", "given", "operator")
    assert (status.dimensions, counts(status)) == (3, (1, 0, 0, 0))
    with pytest.raises(Conflict, match="the operator has chosen"):
        ana.set_embeddings("none", confirm=True)


@pytest.mark.requirement("embeddings.settings")
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"provider": "magic"}, "provider: 'magic' is not one of: local"),
        ({"provider": 5}, "provider: expected text, not int"),
        ({"provider": None}, "provider: expected text, not NoneType"),
        ({"provider": "local", "model": "x"}, "model: is not used by 'local'"),
        ({"provider": "default", "api_key": "x"}, "api_key: is not used by 'default'"),
        ({"provider": "local:/models/x"}, "provider: only the operator may name a model folder"),
        ({"provider": "openai"}, "api_key: openai needs one"),
        ({"provider": "openai", "api_key": 7}, "api_key: expected text, not int"),
        ({"provider": "custom_http", "model": "x"}, "base_url: custom_http needs the address"),
        (
            {"provider": "openai", "api_key": "k", "dimensions": 2_000},
            "dimensions: 2000; the database takes at most 1024",
        ),
        (
            {"provider": "openai", "api_key": "k", "dimensions": "many"},
            "dimensions: expected a whole number",
        ),
        ({"provider": "local", "confirm": "yes"}, "confirm: 'yes' is not true or false"),
    ],
)
def test_bad_settings_are_refused(memory: Memory, given: Any, complaint: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{complaint}"):
        memory.user("ana").set_embeddings(**given)
    assert memory.users() == ()


@pytest.mark.requirement("embeddings.settings")
def test_settings_are_erased_with_their_user(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    ana.set_embeddings(**at(server, api_key="k1"), confirm=True)
    assert store.users() == ("ana",)
    assert store.erase_user("ana").removed["embedding_settings"] == 1
    assert store.users() == ()
    assert ana.embedding_status().origin == "default"
    assert store.users() == ()


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
    assert status.problem is not None
    assert "cannot be decrypted" in status.problem
    assert ana.test_embeddings().problem == status.problem
    found = ana.search("tea")
    assert ([hit.id for hit in found], found.degraded) == ([1], status.problem)
    ana.add("Has a cat")
    assert ana.set_embeddings(**at(server, api_key="k1"), confirm=True).to_rebuild == 1
    second.run_jobs()
    assert counts(ana.embedding_status()) == (2, 0, 0, 0)
    assert texts_sent(server).count("Prefers tea") == 1


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


# -- trying --------------------------------------------------------------------------------


@pytest.mark.requirement("embeddings.test")
def test_trying_the_present_provider(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    tested = ana.test_embeddings()
    assert (tested.ok, tested.provider, tested.dimensions) == (True, "local", 384)
    ana.set_embeddings(**at(server), confirm=True)
    tested = ana.test_embeddings()
    assert (tested.ok, tested.model, tested.dimensions) == (True, "first", 64)
    assert tested.latency_ms is not None
    ana.set_embeddings("none", confirm=True)
    tested = ana.test_embeddings()
    assert (tested.ok, tested.provider, tested.dimensions) == (True, "none", None)


@pytest.mark.requirement("embeddings.test")
def test_trying_another_provider_stores_nothing(
    store: Memory, ana: UserMemory, server: EmbeddingServer
) -> None:
    tested = ana.test_embeddings(**at(server, dimensions=32))
    assert (tested.ok, tested.dimensions) == (True, 32)
    assert ana.test_embeddings("default").provider == "local"
    server.required_key = "k1"
    refused = ana.test_embeddings(**at(server, api_key="wrong-key"))
    assert (refused.ok, refused.dimensions) == (False, None)
    assert refused.problem is not None
    assert "401: Incorrect API key provided." in refused.problem
    assert "wrong-key" not in repr(refused)
    assert ana.test_embeddings(**at(server, api_key="k1")).ok
    assert (store.users(), ana.embedding_status().origin) == ((), "default")
    with pytest.raises(InvalidValue, match="^model: needs a provider, too"):
        ana.test_embeddings(model="first")


# -- never twice ---------------------------------------------------------------------------


@pytest.mark.requirement("embeddings.never-twice")
def test_the_same_text_is_never_embedded_twice(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer, clock: ManualClock
) -> None:
    memory = open_store(backend_url, **operated_by(server))
    ana = memory.user("ana")
    tea = ana.add("Prefers tea", theme="drinks").id
    ana.add("Prefers tea", theme="habits")
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
    status = ana.embedding_status()
    assert counts(status) == (status.memories + status.turns, 0, 0, 0)
    ana.add("Lives in Bekasi", key="home")
    memory.run_jobs()
    ana.add("Lives in Jakarta", key="home")
    ana.add("Lives in Bekasi", theme="past")
    memory.run_jobs()
    assert sorted(texts_sent(server)) == [
        "Lives in Bekasi",
        "Lives in Jakarta",
        "Prefers mate",
        "Prefers tea",
    ]


@pytest.mark.requirement("embeddings.never-twice")
def test_another_process_knows_what_was_embedded(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    for theme in ("drinks", "habits", "mornings"):
        memory = open_store(backend_url, **operated_by(server))
        memory.user("ana").add("Prefers tea", theme=theme)
        memory.run_jobs()
    assert texts_sent(server) == ["Prefers tea"]


@pytest.mark.requirement("embeddings.never-twice")
def test_a_batch_that_repeats_itself_is_sent_once(
    backend_url: str, open_store: OpenStore, server: EmbeddingServer
) -> None:
    memory = open_store(backend_url, **operated_by(server))
    ana = memory.user("ana")
    ana.add_many([{"content": "Prefers tea", "theme": f"theme-{n}"} for n in range(200)])
    memory.run_jobs()
    assert texts_sent(server) == ["Prefers tea"]
    assert counts(ana.embedding_status()) == (200, 0, 0, 0)


# -- width ---------------------------------------------------------------------------------


@pytest.mark.requirement("embeddings.width")
def test_vectors_of_any_width_up_to_the_limit_are_stored_as_they_are(
    backend_url: str, open_store: OpenStore
) -> None:
    with EmbeddingServer(width=1_024, model="wide") as wide:
        memory = open_store(backend_url, **operated_by(wide))
        ana = memory.user("ana")
        ana.add_many(TEXTS)
        memory.run_jobs()
        assert {row[4] for row in stored(memory)} == {1_024}
        assert semantic(ana.search("cello"))


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
