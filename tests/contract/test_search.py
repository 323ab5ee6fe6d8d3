"""Searching memories, on each database, with the index in memory and inside the database."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from ricordo import EmbedderUnavailable, InvalidValue, Memory, UnknownField, UserMemory
from ricordo.providers.embedder import Vectors
from ricordo.recall import candidates
from ricordo.recall.ranking import MAX_BOOST
from ricordo.testing import ManualClock, WordEmbedder
from tests.contract.conftest import on_sqlite
from tests.support import postgres
from tests.support.searching import WIDTH, Searching
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("recall.search")

WORDS_ALONE = {"ranking_off": "semantic"}
BARE = {"ranking_off": "recency,importance,confidence,relations,date"}


class BrittleEmbedder(WordEmbedder):
    """Works until it is told to be down."""

    down = False

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        if self.down:
            raise EmbedderUnavailable("nobody\nanswers")
        return super().embed(texts)


def ids(user: UserMemory, query: str, **wanted: Any) -> list[int]:
    return [hit.id for hit in user.search(query, **wanted)]


def test_a_hit_has_all_its_fields(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    tea = ana.add("Likes green tea", theme="Food", type="preference").id
    ana.add(f"{'word ' * 600} the key is under the doormat {'other ' * 600}")
    found = ana.search("green tea")
    hit = found[0]
    assert (hit.id, hit.theme, hit.type) == (tea, "food", "preference")
    assert (hit.content_snippet, hit.created_at) == ("Likes green tea", clock())
    assert (hit.signals.fts, hit.signals.semantic) == (1.0, 1.0)
    assert found.confidence == hit.confidence
    assert found.degraded is None
    assert set(found.timings) == {"embed_ms", "search_ms"}
    assert hit.explanation is None
    snippet = ana.search("doormat key")[0].content_snippet
    assert "under the doormat" in snippet
    assert len(snippet) <= 240
    nothing = searching_store.user("nobody").search("anything at all")
    assert (len(nothing), nothing.confidence, searching_store.users()) == (0, None, ("ana",))


def test_no_question_gives_the_newest(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    added = []
    for number in range(4):
        clock.advance(days=1)
        added.append(ana.add(f"Note {number}", theme="even" if number % 2 == 0 else "odd").id)
    ana.archive(added[3])
    for query in ("", "*", "  *  ", "\n"):
        found = ana.search(query)
        assert [hit.id for hit in found] == [added[2], added[1], added[0]]
        assert ids(ana, query, limit=2) == [added[2], added[1]]
        assert ids(ana, query, theme="even") == [added[2], added[0]]
        assert ids(ana, query, status="any")[0] == added[3]
        assert found.confidence is None
    for query in ("*", "note"):
        assert set(ids(ana, query, recency_days=2)) == {added[1], added[2]}
        assert ids(ana, query, recency_days=1.99) == [added[2]]
    with pytest.raises(InvalidValue, match="either this or created_after"):
        ana.search("note", recency_days=1, created_after="2020-01-01")


def test_status_decides_and_the_forgotten_is_never_found(
    searching_store: Memory, clock: ManualClock
) -> None:
    ana = searching_store.user("ana")
    active = ana.add("Tea in the morning").id
    archived = ana.archive(ana.add("Tea at noon").id).id
    old = ana.add("Tea at five").id
    new = ana.add("Tea at six", supersedes=old).id
    gone = ana.add("Tea at night").id
    ana.forget(gone)
    short = ana.add("Tea for an hour", expires_at=clock() + timedelta(hours=1)).id
    assert short in ids(ana, "tea")
    clock.advance(hours=1)
    assert set(ids(ana, "tea")) == {active, new}
    assert set(ids(ana, "tea", status="archived")) == {archived}
    assert set(ids(ana, "tea", status="any")) == {active, archived, old, new}
    assert set(ids(ana, "*", status="any")) == {active, archived, old, new}
    for status in ("deleted", ["active", "deleted"]):
        with pytest.raises(InvalidValue, match="never finds what was forgotten"):
            ana.search("tea", status=status)
    ana.restore(gone)
    assert gone in ids(ana, "tea")


def test_as_of_answers_from_what_was_true_then(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    home = ana.add("Lives in Bekasi", key="home").id
    first = ana.add("Works at the harbour").id
    started = clock()
    clock.advance(days=10)
    ana.add("Lives in Jakarta", key="home")
    second = ana.add("Works at the airport", supersedes=first).id
    clock.advance(days=10)
    then = started + timedelta(days=5)
    assert ids(ana, "lives in")[0] == home
    assert ana.search("lives in")[0].content_snippet == "Lives in Jakarta"
    lived = [hit.content_snippet for hit in ana.search("lives in", as_of=then)]
    assert "Lives in Bekasi" in lived
    assert "Lives in Jakarta" not in lived
    worked = {hit.id for hit in ana.search("works at", as_of=then)}
    assert first in worked
    assert second not in worked
    assert ids(ana, "works at", as_of=started - timedelta(days=1)) == []
    assert second in ids(ana, "works at", as_of=clock())
    assert first not in ids(ana, "works at", as_of=clock())


@pytest.mark.requirement("recall.filters-exact")
def test_of_many_more_are_checked_and_a_filter_costs_no_result(
    searching_store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = searching_store.user("ana")
    drafts = [
        {"content": f"tea {'tea ' * (n % 4)}cup {n}", "tags": ["a"][: n % 3]} for n in range(150)
    ]
    ana.add_many(drafts)
    ana.add("Once there was tea in a needle house", tags=["b"])
    asked = [{"tags": ["a"]}, {"tags": ["b"]}, {}]
    expected = [[hit.id for hit in ana.search("tea", limit=20, **one)] for one in asked]
    assert list(map(len, expected)) == [20, 1, 20]
    monkeypatch.setattr(candidates, "_MANY", 100)
    monkeypatch.setattr(candidates, "_MORE", 120)
    assert [[hit.id for hit in ana.search("tea", limit=20, **one)] for one in asked] == expected


@pytest.mark.slow
@pytest.mark.requirement("recall.filters-exact")
def test_each_filter_finds_the_one_among_two_hundred(
    searching_store: Memory, clock: ManualClock
) -> None:
    """More rows are better by both signals than candidates are looked at."""
    ana = searching_store.user("ana")
    ana.add_many([f"tea tea tea {number}" for number in range(200)])
    clock.advance(hours=1)
    fields: dict[str, Any] = {
        "theme": "work",
        "type": "preference",
        "tags": ["a", "b"],
        "source": "tool_call",
        "pinned": True,
        "agent_id": "helper",
    }
    text, kept = "Once there was tea in a needle house", {"importance": 5, "confidence": 100}
    one = ana.add(text, key="k", **kept, **fields).id
    least = ana.add("Once there was tea in a pin house", importance=1).id
    started = clock()
    filters = [
        *({name: value} for name, value in fields.items()),
        {"category": ["work", "food"]},
        {"key": "k"},
        {"importance_min": 4},
        {"confidence_min": 99},
        {"contains": "NEEDLE"},
        {"created_after": started, "importance_min": 2},
        {"updated_after": started, "importance_min": 2},
    ]
    for wanted in filters:
        assert ids(ana, "tea tea tea", **wanted) == [one], wanted
        assert ids(ana, "*", **wanted) == [one], wanted
    assert ids(ana, "tea tea tea", importance_max=1) == [least]
    for wanted in ({"created_before": started}, {"updated_before": started}, {"pinned": False}):
        assert one not in ids(ana, "tea house needle", limit=50, **wanted)


@on_sqlite
def test_bad_values_are_refused(memory: Memory) -> None:
    ana = memory.user("ana")
    bad: list[tuple[dict[str, Any], str]] = [
        *(({"limit": limit}, "1 to 50") for limit in (0, 51, True)),
        *(({"threshold": threshold}, "from 0 to 1") for threshold in (1.01, float("nan"))),
        ({"recency_days": -1}, "from 0 to 36500"),
        ({"explain": 1}, "not true or false"),
        ({"types": "feeling"}, "not one of"),
        ({"as_of": "yesterday"}, "as_of"),
    ]
    for wanted, said in bad:
        with pytest.raises(InvalidValue, match=said):
            ana.search("tea", **wanted)
    questions: list[Any] = [None, 5, "a\x00b", "x" * 1001, "\ud800"]
    for query in questions:
        with pytest.raises(InvalidValue, match="query"):
            ana.search(query)
    with pytest.raises(UnknownField, match="colour"):
        ana.search("tea", colour="green")


@pytest.mark.requirement("recall.explain")
def test_the_parts_reproduce_the_score(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    for number, kind in enumerate(["fact", "insight", "episode", "preference"] * 3):
        clock.advance(days=15)
        ana.add(
            f"Tea number {number} with {'lemon' if number % 2 else 'milk'} in January 2026",
            type=kind,
            importance=number % 5 + 1,
            confidence=number * 9,
        )
    found = ana.search("tea with lemon in January 2026", explain=True, limit=50)
    assert len(found) == 12
    for hit in found:
        parts = hit.explanation
        assert parts is not None
        boost = sum(parts["boosts"].values())
        bounded = max(-MAX_BOOST, min(MAX_BOOST, boost))
        assert parts["weighed"] == pytest.approx(parts["fused"] * (1 + bounded), abs=5e-4)
        assert hit.score == pytest.approx(parts["weighed"] / (1 + MAX_BOOST), abs=5e-4)
        fused = 0.7 * (parts["semantic"] or 0.0) + 0.3 * (parts["lexical"] or 0.0)
        assert parts["fused"] == pytest.approx(fused, abs=5e-4)
        assert hit.signals.to_dict() == {"fts": parts["lexical"], "semantic": parts["semantic"]}
        assert ("insight" in parts["boosts"]) == (hit.type == "insight")
        assert {"recency", "importance", "confidence"} <= set(parts["boosts"])
        assert 0 <= parts["coverage"] <= 1 and parts["exact"] == 0
        assert set(parts["terms"]) >= {"tea"}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(hit.explanation is None for hit in ana.search("tea"))


@pytest.mark.requirement("recall.explain")
@pytest.mark.requirement("recall.isolation")
def test_an_explanation_tells_no_word_of_what_is_not_shared(searching: Searching) -> None:
    memory = searching.open()
    ana, ben = memory.user("ana"), memory.user("ben")
    ben.add("Likes soup")
    share(ana, ana.add("A recipe for soup").id, "ben")
    before = ben.search("soup pregnan zebrai", explain=True)
    ana.add_many(["She is pregnant", "She is pregnan", "Has soup"])
    share(ana, taken := ana.add("Soup is zebraic").id, "ben")
    ana.forget(taken)
    after = ben.search("soup pregnan zebrai", explain=True)
    assert after.results == before.results
    everybody = memory.global_memories()
    everybody.forget(everybody.add("Soup is zebraical").id)
    for hit in ben.search("soup pregnan zebrai", explain=True):
        assert hit.explanation is not None
        assert set(hit.explanation["terms"]) == {"soup"}


def test_ties_go_to_the_newest_then_the_highest_id(
    searching: Searching, clock: ManualClock
) -> None:
    """Also where more are equal than candidates are looked at."""
    ana = searching.open(ranking_off=f"{WORDS_ALONE['ranking_off']},{BARE['ranking_off']}").user(
        "ana"
    )
    texts = [f"note {chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(120)]
    first = [one.id for one in ana.add_many(texts)]
    assert ids(ana, "note", limit=50) == first[::-1][:50]
    late = ana.add("note older", valid_from=clock() - timedelta(days=400)).id
    clock.advance(days=1)
    new = ana.add("note newer").id
    found = ids(ana, "note", limit=50)
    assert found[0] == new
    assert found[-1] == late
    assert len({hit.score for hit in ana.search("note", limit=50)}) == 1


def test_either_signal_alone_when_the_other_is_off(searching: Searching) -> None:
    both = searching.open()
    tea = both.user("ana").add("Likes green tea").id
    both.user("ana").add("Owns a yellow boat")
    for words in ({"ranking_off": "semantic"}, {"embedder": None, "embedding_provider": "none"}):
        by_words = searching.open(**words).user("ana").search("tea")
        assert ([hit.id for hit in by_words], by_words.degraded) == ([tea], None)
        assert (by_words[0].signals.semantic, by_words[0].signals.fts) == (None, 1.0)
    by_meaning = searching.open(ranking_off="lexical").user("ana").search("green tea")
    assert by_meaning[0].id == tea
    assert {hit.signals.fts for hit in by_meaning} == {None}
    neither = searching.open(ranking_off="semantic,lexical").user("ana")
    assert len(neither.search("tea")) == 0
    assert len(neither.search("*")) == 2


def test_an_embedder_that_fails_leaves_the_words(searching: Searching) -> None:
    embedder = BrittleEmbedder(384)
    ana = searching.open(embedder=embedder).user("ana")
    tea = ana.add("Likes green tea").id
    ana.add("Owns a yellow boat")
    embedder.down = True
    waiting = ana.add("Tea without a vector").id
    found = ana.search("tea")
    assert {hit.id for hit in found} == {tea, waiting}
    assert found.degraded == "nobody answers"
    assert {hit.signals.semantic for hit in found} == {None}
    assert len(ana.search("nothing of that")) == 0
    embedder.down = False
    mixed = ana.search("some tea")
    assert mixed.degraded is None
    assert {hit.id: hit.signals.semantic for hit in mixed}[waiting] is None
    assert waiting in [hit.id for hit in mixed]


@pytest.mark.requirement("recall.confidence")
def test_the_shipped_model_finds_by_meaning_and_is_sure(searching: Searching) -> None:
    ana = searching.open(embedder=None).user("ana")
    ana.add_many(["Is allergic to peanuts", "Keeps two cats and a dog", "Plays the violin"])
    found = ana.search("Which pets does she have?")
    assert found[0].content_snippet == "Keeps two cats and a dog"
    assert found[0].signals.semantic == 1.0
    sure = ana.search("What is she allergic to?")
    unsure = ana.search("How many moons does Saturn have?")
    assert sure.confidence is not None
    assert unsure.confidence is not None
    assert sure.confidence > 0.4 > 0.1 > unsure.confidence
    assert len(ana.search("How many moons does Saturn have?", threshold=0.5)) == 0
    kept = ana.search("What is she allergic to?", threshold=0.4)
    assert [hit.content_snippet for hit in kept] == ["Is allergic to peanuts"]


@pytest.mark.requirement("recall.confidence")
def test_a_threshold_only_leaves_out(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    ana.add_many([f"tea {'lemon ' * (n % 3)}{'milk ' * (n % 5)}cup {n}" for n in range(30)])
    everything = ana.search("tea with lemon and rum", limit=50)
    for threshold in (0.0, 0.05, 0.2, 0.5, 1.0):
        kept = ana.search("tea with lemon and rum", limit=50, threshold=threshold)
        expected = [hit.id for hit in everything if hit.confidence >= threshold]
        assert [hit.id for hit in kept] == expected
        few = ana.search("tea with lemon and rum", limit=3, threshold=threshold)
        assert [hit.id for hit in few] == expected[:3]


def test_an_old_truth_beats_a_fresh_irrelevance_and_a_fact_an_insight(
    searching_store: Memory, clock: ManualClock
) -> None:
    ana = searching_store.user("ana")
    truth = ana.add("Allergic to peanuts", importance=1, confidence=0).id
    clock.advance(days=3_000)
    ana.add("Peanuts were cheap at some shop somewhere today", importance=5, confidence=100)
    assert ids(ana, "allergic to peanuts")[0] == truth
    insight = ana.add("Likes tea very much", theme="one", type="insight").id
    fact = ana.add("Likes tea very much", theme="two", type="fact").id
    assert ids(ana, "likes tea", limit=2) == [fact, insight]


@pytest.mark.slow
@pytest.mark.requirement("recall.filters-exact")
def test_the_vector_index_of_postgresql_walks_on_past_others(
    postgres_url: str, open_store: Any
) -> None:
    """Three of hundreds of near rows pass; an index walk that gives up early finds fewer."""
    memory = open_store(
        postgres_url,
        embedder=WordEmbedder(WIDTH),
        index_cache_mb=0,
        exact_scan_rows=0,
        relations_per_memory=0,
    )
    for name in ("noise", "more noise"):
        memory.user(name).add_many([f"tea tea tea {number}" for number in range(500)])
    ana = memory.user("ana")
    ana.add_many([f"tea tea tea {number}" for number in range(100)])
    far = [one.id for one in ana.add_many([f"boat {n}" for n in range(3)])]
    for item_id in far:
        ana.pin(item_id)
    with psycopg.connect(postgres.as_owner(postgres_url), autocommit=True) as connection:
        connection.execute("ANALYZE")
    assert {hit.id for hit in ana.search("tea tea tea", pinned=True)} == set(far)
    assert len(ana.search("tea tea tea", limit=50)) == 50
