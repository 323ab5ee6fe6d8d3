"""Who is who: "my sister" and "Carolina" meet in searches, relations and the graph."""

from datetime import timedelta
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo.testing import ManualClock
from tests.support.searching import Searching
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("recall.aliases")

QUESTION = "What flowers does my sister like?"


def aliases(user: UserMemory, query: str = QUESTION, **wanted: Any) -> list[str]:
    found = user.search(query, threshold=0, explain=True, **wanted).results
    return list((found[0].explanation or {}).get("aliases", [])) if found else []


def family(user: UserMemory) -> list[int]:
    told = ["User's sister is called Carolina.", "Carolina grows peonies.", "Mira mows lawns."]
    return [added.id for added in user.add_many(told)]


def test_a_question_finds_memories_by_another_name(searching: Searching) -> None:
    off = searching.open(ranking_off="aliases").user("ana")
    named, peonies, _ = family(off)
    assert peonies not in [hit.id for hit in off.search("my sister?", limit=1)]
    ana = searching.open().user("ana")
    found = ana.search("Does my sister grow peonies?", explain=True).results
    assert found[0].id == peonies
    assert found[0].explanation is not None
    assert found[0].explanation["aliases"] == ["Carolina"]
    assert "carolina" in found[0].explanation["terms"]
    assert {named, peonies} <= {hit.id for hit in ana.search("my sister", threshold=0)}


def test_another_name_is_known_at_once_whoever_wrote_it(searching: Searching) -> None:
    here, there = (searching.open(ranking_off="lexical").user("ana") for _ in range(2))
    peonies = here.add("Carolina grows peonies.").id

    def cosine() -> float:
        hits = here.search("my sister", threshold=0, explain=True).results
        return next((hit.explanation or {})["cosine"] for hit in hits if hit.id == peonies)

    before = [cosine(), cosine()]
    there.add("User's sister is called Carolina.")
    assert max(before) < 0.2 < cosine()


def test_a_question_finds_turns_by_another_name(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    family(ana)
    ana.observe(
        [
            {"role": "user", "content": "Carolina sent a parcel"},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "Mira mows lawns"},
        ],
        thread="t",
    )
    best = ana.search_turns("my sister?", explain=True).results[0]
    assert (best.content_snippet, best.explanation and best.explanation["aliases"]) == (
        "Carolina sent a parcel",
        ["Carolina"],
    )


def test_without_another_name_nothing_changes(searching: Searching) -> None:
    ana = searching.open().user("ana")
    family(ana)
    ana.observe([{"role": "user", "content": "Carolina sent a parcel"}], thread="t")
    before = searching.open(ranking_off="aliases").user("ana")
    for query in ("who mows lawns", "What does Ben's sister like?", "a sister", "Mira"):
        for one, other in (
            (ana.search(query, explain=True), before.search(query, explain=True)),
            (ana.search_turns(query, explain=True), before.search_turns(query, explain=True)),
        ):
            assert one.results == other.results


def test_only_what_holds_names_somebody(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    named = family(ana)[0]
    assert aliases(ana) == ["Carolina"]
    for end, back in ((ana.archive, ana.restore), (ana.forget, ana.restore)):
        end(named)
        assert aliases(ana) == []
        back(named)
        assert aliases(ana) == ["Carolina"]
    new = ana.add("User's sister is called Caro.", supersedes=named, key="sister").id
    assert aliases(ana) == ["Caro"]
    later = clock() + timedelta(hours=1)
    assert ana.add("User's sister is called Lina.", key="sister", expires_at=later).id == new
    assert aliases(ana) == ["Lina"]
    clock.advance(hours=2)
    assert aliases(ana) == []
    ana.add("User's sister Anna sings.")
    assert aliases(ana) == ["Anna"]
    ana.add("User's sister Bea sings.")
    assert aliases(ana) == []


@pytest.mark.requirement("recall.isolation")
def test_nobody_else_says_who_is_who(searching_store: Memory) -> None:
    ana, ben = searching_store.user("ana"), searching_store.user("ben")
    named, peonies, _ = family(ana)
    searching_store.global_memories().add("User's sister is called Greta.")
    own = ben.add("Carolina is a city.").id
    for item_id in (named, peonies):
        share(ana, item_id, "ben")
    assert aliases(ben) == aliases(ben, "What is Carolina?") == []
    assert all(not one.names for one in ben.related(own))
    assert aliases(ana) == ["Carolina"]
    searching_store.erase_user("ana")
    ana.add("Carolina grows peonies.")
    assert aliases(ana) == []


@pytest.mark.requirement("graph.relations")
def test_the_graph_says_who_is_named_and_where(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    named, peonies, _ = family(ana)
    tools = ana.add("Carolina borrowed the ladder.", theme="tools").id
    ana.archive(ana.add("Carolina was ill.").id)
    (carolina,) = [one for one in ana.relation_graph().entities if "Carolina" in one.names]
    assert (carolina.told, carolina.memories) == ("my sister", (tools, peonies, named))
    (there,) = ana.relation_graph("tools").entities
    assert (there.names, there.memories) == (("Carolina",), (tools,))
    assert ana.relation_graph("nowhere").entities == ()
    assert ana.narrow(categories="tools").relation_graph().entities == ()
    assert searching_store.user("ben").relation_graph().entities == ()


@pytest.mark.requirement("access.categories")
def test_a_confined_scope_knows_whom_its_themes_name(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    ana.add("User's sister is called Carolina.", theme="family")
    garden = [ana.add(text, theme="garden").id for text in ("Carolina grows peonies.", "A sister.")]
    ana.add("Carolina mows lawns.", theme="garden")
    gardener = ana.narrow(categories="garden")
    assert aliases(ana) == ["Carolina"]
    assert aliases(gardener) == aliases(ana, theme="garden") == []
    assert gardener.related(garden[0]) == ()
    assert gardener.relation_graph().relations == ()
    assert len(ana.related(garden[0])) == 2


@pytest.mark.requirement("recall.related")
@pytest.mark.requirement("graph.relations")
def test_memories_that_mention_the_same_are_related(searching: Searching) -> None:
    ana = searching.open(link_min=0.95).user("ana")
    named, peonies, lawns = family(ana)
    sings = ana.add("User's sister sings in a choir.").id
    others = ana.add_many(["Ben's sister paints.", "carolina blue is a colour, says Mira"])
    assert {one.id for one in ana.related(sings)} == {named, peonies}
    assert {one.names for one in ana.related(sings)} == {("Carolina",)}
    for unrelated in (lawns, *(one.id for one in others)):
        assert ana.related(unrelated) == ()
    graph = ana.relation_graph()
    listed = {
        (min(one, near.id), max(one, near.id), near.similarity, near.names)
        for one in (named, peonies, sings)
        for near in ana.related(one)
    }
    assert listed == {(e.one, e.other, e.similarity, e.names) for e in graph.relations}
    assert len(listed) == 3
    few = searching.open(link_min=0.95, relations_per_memory=1).user("ana")
    assert len(few.relation_graph().relations) == 2
    assert searching.open(relations_per_memory=0).user("ana").relation_graph().relations == ()
    ana.forget(named)
    assert ana.related(peonies) == ()


def test_what_is_exported_names_the_same(searching_store: Memory, tmp_path: Any) -> None:
    ana = searching_store.user("ana")
    family(ana)
    ana.export(tmp_path / "ana.json")
    ben = searching_store.user("ben")
    ben.import_file(tmp_path / "ana.json")
    assert aliases(ben) == ["Carolina"]
    shown = [[edge.names for edge in user.relation_graph().relations] for user in (ana, ben)]
    assert shown[0] == shown[1]
