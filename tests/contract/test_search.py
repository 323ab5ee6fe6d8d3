"""Searching memories, on each database, with the index in memory and inside the database."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from ricordo import EmbedderUnavailable, InvalidValue, Memory, UnknownField, UserMemory
from ricordo.embedding.contract import Vectors
from ricordo.recall.ranking import MAX_BOOST
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from tests.support.searching import Searching

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


@pytest.mark.requirement("recall.search")
def test_a_hit_has_all_its_fields(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    tea = ana.add("Likes green tea", theme="Food", type="preference").id
    ana.add("Works at the harbour")
    found = ana.search("green tea")
    hit = found[0]
    assert (hit.id, hit.theme, hit.type) == (tea, "food", "preference")
    assert (hit.content_snippet, hit.created_at) == ("Likes green tea", clock())
    assert (hit.signals.fts, hit.signals.semantic) == (1.0, 1.0)
    assert found.confidence == hit.confidence
    assert found.degraded is None
    assert set(found.timings) == {"embed_ms", "search_ms"}
    assert hit.explanation is None


@pytest.mark.requirement("recall.search")
def test_no_question_gives_the_newest(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    added = []
    for number in range(4):
        clock.advance(hours=1)
        added.append(ana.add(f"Note {number}", theme="even" if number % 2 == 0 else "odd").id)
    ana.archive(added[3])
    for query in ("", "*", "  *  ", "\n"):
        found = ana.search(query)
        assert [hit.id for hit in found] == [added[2], added[1], added[0]]
        assert ids(ana, query, limit=2) == [added[2], added[1]]
        assert ids(ana, query, theme="even") == [added[2], added[0]]
        assert ids(ana, query, status="any")[0] == added[3]
        assert found.confidence is None


@pytest.mark.requirement("recall.search")
def test_a_store_without_anything_finds_nothing(searching_store: Memory) -> None:
    found = searching_store.user("nobody").search("anything at all")
    assert len(found) == 0
    assert found.confidence is None
    assert searching_store.users() == ()


@pytest.mark.requirement("recall.search")
def test_status_decides_and_the_forgotten_is_never_found(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    active = ana.add("Tea in the morning").id
    archived = ana.archive(ana.add("Tea at noon").id).id
    old = ana.add("Tea at five").id
    new = ana.add("Tea at six", supersedes=old).id
    gone = ana.add("Tea at night").id
    ana.forget(gone)
    assert set(ids(ana, "tea")) == {active, new}
    assert set(ids(ana, "tea", status="archived")) == {archived}
    assert set(ids(ana, "tea", status="any")) == {active, archived, old, new}
    assert set(ids(ana, "*", status="any")) == {active, archived, old, new}
    for status in ("deleted", ["active", "deleted"]):
        with pytest.raises(InvalidValue, match="never finds what was forgotten"):
            ana.search("tea", status=status)
    ana.restore(gone)
    assert gone in ids(ana, "tea")


@pytest.mark.requirement("recall.search")
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


@pytest.mark.requirement("recall.search")
def test_recency_days_leaves_out_what_is_older(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    old = ana.add("Old tea").id
    clock.advance(days=10)
    new = ana.add("New tea").id
    assert set(ids(ana, "tea", recency_days=10)) == {old, new}
    assert ids(ana, "tea", recency_days=9.99) == [new]
    assert ids(ana, "*", recency_days=0) == [new]
    with pytest.raises(InvalidValue, match="either this or created_after"):
        ana.search("tea", recency_days=1, created_after="2020-01-01")


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
        "source_context": "here",
        "pinned": True,
        "importance": 5,
        "confidence": 100,
        "thread_id": "t",
        "message_id": "m",
        "agent_id": "helper",
        "run_id": "r",
        "actor_id": "act",
        "role": "user",
    }
    one = ana.add("Once there was tea in a needle house", key="k", **fields).id
    least = ana.add("Once there was tea in a pin house", importance=1).id
    started = clock()
    filters = [
        *({name: fields[name]} for name in fields if name not in ("importance", "confidence")),
        {"category": ["work", "food"]},
        {"types": ["preference", "episode"]},
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
    assert one not in ids(ana, "tea house needle", limit=50, created_before=started)
    assert one not in ids(ana, "tea house needle", limit=50, updated_before=started)
    assert one not in ids(ana, "tea house needle", limit=50, pinned=False)


@pytest.mark.requirement("recall.search")
def test_bad_values_are_refused(memory: Memory) -> None:
    ana = memory.user("ana")
    bad: list[tuple[dict[str, Any], str]] = [
        ({"limit": 0}, "1 to 50"),
        ({"limit": 51}, "1 to 50"),
        ({"limit": True}, "1 to 50"),
        ({"threshold": 1.01}, "from 0 to 1"),
        ({"threshold": float("nan")}, "from 0 to 1"),
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
        assert hit.score == pytest.approx(parts["fused"] * (1 + bounded), abs=5e-4)
        assert abs(hit.score - parts["fused"]) <= MAX_BOOST * parts["fused"] + 5e-4
        fused = 0.7 * (parts["semantic"] or 0.0) + 0.3 * (parts["lexical"] or 0.0)
        assert parts["fused"] == pytest.approx(fused, abs=5e-4)
        assert hit.signals.to_dict() == {"fts": parts["lexical"], "semantic": parts["semantic"]}
        assert ("insight" in parts["boosts"]) == (hit.type == "insight")
        assert {"recency", "importance", "confidence"} <= set(parts["boosts"])
        assert 0 <= parts["coverage"] <= 1
        assert set(parts["terms"]) >= {"tea"}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(hit.explanation is None for hit in ana.search("tea"))


@pytest.mark.requirement("recall.explain")
def test_each_boost_can_be_turned_off(searching: Searching) -> None:
    searching.open().user("ana").add_many(
        ["Tea in January 2026 with lemon", "Tea in January 2026 with honey"]
    )
    every = {"recency", "importance", "confidence", "relations", "date"}
    for part in ("", *every):
        ana = searching.open(ranking_off=part).user("ana")
        parts = ana.search("tea in January 2026", explain=True)[0].explanation
        assert parts is not None
        assert set(parts["boosts"]) == every - {part}


@pytest.mark.requirement("recall.explain")
@pytest.mark.requirement("recall.isolation")
def test_an_explanation_tells_no_word_of_what_is_not_shared(searching: Searching) -> None:
    memory = searching.open()
    ana, ben = memory.user("ana"), memory.user("ben")
    ben.add("Likes soup")
    ana.link(ana.add("A recipe for soup").id, "ben")
    before = ben.search("soup pregnan zebrai", explain=True)
    ana.add_many(["She is pregnant", "She is pregnan", "Has soup"])
    ana.link(taken := ana.add("Soup is zebraic").id, "ben")
    ana.forget(taken)
    after = ben.search("soup pregnan zebrai", explain=True)
    assert after.results == before.results
    everybody = memory.global_memories()
    everybody.forget(everybody.add("Soup is zebraical").id)
    for hit in ben.search("soup pregnan zebrai", explain=True):
        assert hit.explanation is not None
        assert set(hit.explanation["terms"]) == {"soup"}


@pytest.mark.requirement("recall.search")
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


@pytest.mark.requirement("recall.search")
def test_either_signal_alone_when_the_other_is_off(searching: Searching) -> None:
    both = searching.open()
    tea = both.user("ana").add("Likes green tea").id
    both.user("ana").add("Owns a yellow boat")
    by_words = searching.open(ranking_off="semantic").user("ana").search("tea")
    assert [hit.id for hit in by_words] == [tea]
    assert by_words[0].signals.semantic is None
    assert by_words[0].signals.fts == 1.0
    by_meaning = searching.open(ranking_off="lexical").user("ana").search("green tea")
    assert by_meaning[0].id == tea
    assert {hit.signals.fts for hit in by_meaning} == {None}
    neither = searching.open(ranking_off="semantic,lexical").user("ana")
    assert len(neither.search("tea")) == 0
    assert len(neither.search("*")) == 2


@pytest.mark.requirement("recall.search")
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


@pytest.mark.requirement("recall.search")
def test_without_an_embedder_words_are_enough(searching: Searching) -> None:
    memory = searching.open(embedder=None, embedding_provider="none")
    ana = memory.user("ana")
    tea = ana.add("Likes green tea").id
    ana.add("Owns a boat")
    found = ana.search("tea")
    assert [hit.id for hit in found] == [tea]
    assert found.degraded is None
    assert ids(ana, "the of and") == []


@pytest.mark.requirement("recall.search")
def test_the_shipped_model_finds_by_meaning(searching: Searching) -> None:
    ana = searching.open(embedder=None).user("ana")
    ana.add_many(["Keeps two cats and a dog", "Works as a nurse", "Plays the violin"])
    found = ana.search("Which pets does she have?")
    assert found[0].content_snippet == "Keeps two cats and a dog"
    assert found[0].signals.semantic == 1.0


@pytest.mark.requirement("recall.confidence")
def test_an_answer_is_surer_than_a_question_about_nothing(searching: Searching) -> None:
    ana = searching.open(embedder=None).user("ana")
    ana.add_many(["Is allergic to peanuts", "Works as a nurse in Jakarta", "Plays the violin"])
    sure = ana.search("What is she allergic to?")
    unsure = ana.search("How many moons does Saturn have?")
    assert sure.confidence is not None
    assert unsure.confidence is not None
    assert sure.confidence > 0.6 > 0.3 > unsure.confidence
    assert len(ana.search("How many moons does Saturn have?", threshold=0.5)) == 0
    kept = ana.search("What is she allergic to?", threshold=0.5)
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


@pytest.mark.requirement("recall.search")
def test_what_has_expired_is_not_found(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    short = ana.add("Tea at noon", expires_at=clock() + timedelta(hours=1)).id
    assert ids(ana, "tea") == [short]
    clock.advance(hours=1)
    assert ids(ana, "tea", status="any") == []
    assert ids(ana, "*", status="any") == []


@pytest.mark.requirement("recall.search")
def test_what_is_shared_is_found_until_it_is_not(searching: Searching) -> None:
    memory = searching.open(global_until=0)
    ana, ben = memory.user("ana"), memory.user("ben")
    shared = ana.add("Soup recipe with leek", agent_id="cook", thread_id="secret thread").id
    private = ana.add("Soup is what she hates").id
    own = ben.add("Soup on Sundays").id
    assert ids(ben, "soup") == [own]
    ana.link(shared, "ben")
    assert set(ids(ben, "soup")) == {own, shared}
    assert ids(ben, "leek recipe", types="fact", theme="general")[0] == shared
    assert ids(ben, "soup", agent_id="cook") == []
    assert shared not in ids(ben, "secret thread cook", threshold=0.5)
    (whole,) = ben.query(None, "leek recipe", top_k=1, returns="full").items
    assert (whole.id, whole.agent_id, whole.thread_id) == (shared, None, None)
    assert private not in ids(ben, "soup hates", status="any")
    ana.archive(shared)
    assert set(ids(ben, "soup")) == {own}
    ana.restore(shared)
    ben.unlink(shared)
    assert ids(ben, "soup", status="any") == [own]
    assert shared in ids(ana, "soup")


@pytest.mark.requirement("recall.search")
def test_global_memories_are_found_at_a_cold_start(searching: Searching) -> None:
    memory = searching.open(global_until=3)
    everybody = memory.global_memories()
    tip = everybody.add("Tea tip: warm the pot").id
    ana = memory.user("ana")
    assert ids(ana, "tea") == [tip]
    first, second = ana.add("Tea first").id, ana.add("Tea second").id
    assert set(ids(ana, "tea")) == {tip, first, second}
    third = ana.add("Tea third").id
    assert set(ids(ana, "tea")) == {first, second, third}
    ana.archive(third)
    assert set(ids(ana, "tea")) == {tip, first, second}
    everybody.forget(tip)
    assert set(ids(ana, "tea", status="any")) == {first, second, third}


@pytest.mark.requirement("recall.search")
def test_an_insight_weighs_less(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    insight = ana.add("Likes tea very much", theme="one", type="insight").id
    fact = ana.add("Likes tea very much", theme="two", type="fact").id
    assert ids(ana, "likes tea") == [fact, insight]


@pytest.mark.requirement("recall.search")
def test_an_old_truth_beats_a_fresh_irrelevance(
    searching_store: Memory, clock: ManualClock
) -> None:
    ana = searching_store.user("ana")
    truth = ana.add("Allergic to peanuts", importance=1, confidence=0).id
    clock.advance(days=3_000)
    ana.add("Peanuts were cheap at some shop somewhere today", importance=5, confidence=100)
    assert ids(ana, "allergic to peanuts")[0] == truth


@pytest.mark.requirement("recall.search")
def test_long_texts_show_the_stretch_that_matches(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    ana.add(f"{'word ' * 600} the key is under the doormat {'other ' * 600}")
    snippet = ana.search("doormat key")[0].content_snippet
    assert "under the doormat" in snippet
    assert len(snippet) <= 240
