"""All vectors made anew while everybody searches, through a second change and a killed worker."""

import threading
from collections.abc import Callable

import pytest
from bench.rebuild import problems_of
from bench.rebuilding.course import run_course
from bench.rebuilding.judging import Choice, Judge, Search, allowed
from bench.rebuilding.providers import Provider, vectors_in

from ricordo import Memory, UserMemory
from ricordo.limits import MAX_JOB_ATTEMPTS
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedding_server import EmbeddingServer
from tests.faults.test_embedder_faults import TouchyServer

CONTENTS = {1: "green tea with honey", 2: "a cat called momo", 3: "night shifts at the mill"}
QUESTION = "tea with the cat"
CHOICES = (Choice("first", 0.0, 1.0), Choice("second", 10.0, 11.0))


@pytest.mark.requirement("embeddings.rebuild-under-load")
def test_searches_go_on_while_vectors_are_rebuilt(backend_url: str) -> None:
    said: list[str] = []
    outcome = run_course(backend_url, memories=300, patience_seconds=120, say=said.append)
    assert problems_of(outcome) == ()
    assert outcome.archived > 0
    assert outcome.counts > 0
    assert outcome.verdict.degraded == 0


# -- the judge would notice ------------------------------------------------------------------


def cosines(space: str) -> tuple[tuple[int, float | None], ...]:
    """What a search shows that compares in one provider's space."""
    (question,) = vectors_in(space, [QUESTION])
    rows = vectors_in(space, list(CONTENTS.values()))
    return tuple(
        (item_id, round(float(row @ question), 4))
        for item_id, row in zip(CONTENTS, rows, strict=True)
    )


def search(began: float, ended: float, hits: tuple[tuple[int, float | None], ...]) -> Search:
    return Search(began, ended, 1.0, QUESTION, hits)


@pytest.fixture
def judge() -> Judge:
    """Of two providers that were asked for everything at the times 2 and 12."""
    providers = {name: Provider(name, CONTENTS.values()) for name in ("first", "second")}
    for provider, moment in zip(providers.values(), (2.0, 12.0), strict=True):
        provider.asked_at.update(dict.fromkeys(CONTENTS.values(), moment))
    return Judge(providers, CONTENTS, [QUESTION])


def test_either_provider_will_do_while_one_replaces_the_other() -> None:
    assert allowed(search(5.0, 9.9, ()), CHOICES) == ["first"]
    assert allowed(search(9.0, 10.5, ()), CHOICES) == ["first", "second"]
    assert allowed(search(11.5, 12.0, ()), CHOICES) == ["second"]


def test_a_search_by_the_right_vectors_is_right(judge: Judge) -> None:
    found = judge.verdict(
        [search(5.0, 6.0, cosines("first")), search(15.0, 16.0, cosines("second"))], CHOICES
    )
    assert (found.failed, found.stale) == ((), ())
    assert found.by_provider == {"first": 1, "second": 1}


def test_a_search_by_the_old_vectors_is_stale(judge: Judge) -> None:
    late = search(15.0, 16.0, cosines("first"))
    assert judge.verdict([late], CHOICES).stale == (late,)


def test_one_old_vector_among_new_ones_is_stale(judge: Judge) -> None:
    mixed = search(15.0, 16.0, (*cosines("second")[:2], cosines("first")[2]))
    assert judge.verdict([mixed], CHOICES).stale == (mixed,)


def test_one_old_vector_among_new_ones_is_stale_even_during_the_change(judge: Judge) -> None:
    mixed = search(9.0, 16.0, (*cosines("second")[:2], cosines("first")[2]))
    assert judge.verdict([mixed], CHOICES).stale == (mixed,)


def test_a_vector_that_was_not_made_yet_is_stale(judge: Judge) -> None:
    early = search(11.1, 11.5, cosines("second"))
    assert judge.verdict([early], CHOICES).stale == (early,)


def test_a_hit_without_a_vector_is_found_by_its_words(judge: Judge) -> None:
    partly = search(15.0, 16.0, (*cosines("second")[:2], (3, None)))
    by_words = search(15.0, 16.0, ((1, None), (3, None)))
    found = judge.verdict([partly, by_words], CHOICES)
    assert (found.stale, found.by_words) == ((), 1)


def test_a_search_that_fails_is_told(judge: Judge) -> None:
    failed = Search(5.0, 6.0, 0.0, QUESTION, (), problem="StorageBusy: locked")
    assert judge.verdict([failed], CHOICES).failed == ("StorageBusy: locked",)


# -- a provider that was left has no more say ------------------------------------------------


@pytest.fixture
def ana(backend_url: str, open_store: Callable[..., Memory]) -> UserMemory:
    settings = {"embedder": None, "allow_private_embedding_targets": True}
    return open_store(backend_url, **settings).user("ana")


def choose(user: UserMemory, server: EmbeddingServer) -> None:
    user.set_embeddings("custom_http", base_url=server.base_url, model=server.model, confirm=True)


def fill_while_changing(
    user: UserMemory, work: Callable[[], object], left: TouchyServer, new: EmbeddingServer
) -> None:
    """Change the provider while the one before has a request that it has not answered yet."""
    working = threading.Thread(target=work)
    working.start()
    assert left.stopped.wait(60)
    choose(user, new)
    left.go_on.set()
    working.join()


@pytest.mark.requirement("embeddings.rebuild-under-load")
def test_what_an_old_provider_refuses_is_not_marked_for_the_new_one(ana: UserMemory) -> None:
    with TouchyServer(model="left") as left, EmbeddingServer(model="new") as new:
        choose(ana, left)
        ana.add("Prefers green tea")
        left.poison, left.refuses_with_status = "green", True
        left.stops_at = len(left.embedded) + 1
        fill_while_changing(ana, ana.fill_embeddings, left, new)
        assert ana.embedding_status().error == 0
        ana.fill_embeddings()
        status = ana.embedding_status()
    assert (status.model, status.ready, status.error) == ("new", 1, 0)


@pytest.mark.requirement("embeddings.rebuild-under-load")
def test_an_old_provider_that_is_given_up_leaves_the_new_one_its_work(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    settings = {"embedder": None, "allow_private_embedding_targets": True}
    memory = open_store(backend_url, **settings)
    ana = memory.user("ana")
    with TouchyServer(model="left") as left, EmbeddingServer(model="new") as new:
        choose(ana, left)
        ana.add("Prefers green tea")
        left.required_key = "one that nobody has"
        for _ in range(MAX_JOB_ATTEMPTS - 1):
            assert memory.run_jobs() > 0
            clock.advance(hours=2)
        left.required_key = None
        left.refuses_with_status, left.poison = True, ""  # which every text has in it
        left.stops_at = len(left.embedded) + 1
        fill_while_changing(ana, memory.run_jobs, left, new)
        clock.advance(hours=2)
        memory.run_jobs()
        status = ana.embedding_status()
    assert (status.model, status.ready, status.error) == ("new", 1, 0)
