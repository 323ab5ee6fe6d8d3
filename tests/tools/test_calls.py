"""What each tool does, on both databases."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ricordo import EmbedderUnavailable, Memory, Source, UserMemory
from ricordo.providers.embedder import Vectors
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.tools import TOOL_SETS, Tools
from ricordo.tools.answers import BY_WORDS_ALONE, NOTHING_FITS, NOTHING_THERE

pytestmark = [
    pytest.mark.requirement("tools.standard"),
    pytest.mark.requirement("tools.single"),
    pytest.mark.requirement("tools.query"),
    pytest.mark.requirement("tools.profile"),
]


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def tools(ana: UserMemory) -> Tools:
    return Tools(ana, *TOOL_SETS)


def told(tools: Tools, name: str, **arguments: Any) -> dict[str, Any]:
    """What the model is told; a failure fails the test."""
    result = tools.run(name, arguments)
    assert not result.is_error, result.text
    answer: dict[str, Any] = json.loads(result.text)
    return answer


# -- standard ------------------------------------------------------------------------------


def test_what_was_added_is_found_read_and_archived(
    tools: Tools, ana: UserMemory, clock: ManualClock
) -> None:
    added = told(tools, "memory_add", content="Drinks green tea", theme="Food", tags=["drink"])
    assert added == {"id": added["id"], "status": "active"}
    (hit,) = told(tools, "memory_search", query="which tea does she drink")["results"]
    assert hit.pop("confidence") > 0.5
    shown = {"id": added["id"], "theme": "food", "type": "fact", "content": "Drinks green tea"}
    assert hit.pop("score") > 0
    assert hit.pop("signals") == {"fts": 1.0, "semantic": 1.0}
    noted = clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert hit == {**shown, "date": clock().date().isoformat(), "created_at": noted}
    assert told(tools, "memory_get", id=added["id"]) == {
        **shown,
        "tags": ["drink"],
        "status": "active",
        "source": "conversation",
        "confidence": 70,
        "importance": 2,
        "created_at": noted,
        "embedding": "ready",
    }
    archived = told(tools, "memory_archive", id=added["id"], reason="moved on to coffee")
    assert archived == {"id": added["id"], "status": "archived"}
    assert told(tools, "memory_search", query="tea")["results"] == []
    for status in ("any", "archived"):
        (old,) = told(tools, "memory_search", query="tea", status=status)["results"]
        assert (old["id"], old["status"]) == (hit["id"], "archived")  # not taken for what holds
    assert ana.history(added["id"])[-1].reason == "moved on to coffee"
    assert ana.restore(added["id"]).status == "active"


def test_a_star_gives_the_newest_without_a_measure_of_fit(tools: Tools, clock: ManualClock) -> None:
    ids = []
    for number in range(12):
        clock.advance(minutes=1)
        ids.append(told(tools, "memory_add", content=f"Note {number}")["id"])
    for query in ({}, {"query": "*"}, {"query": ""}, {"query": None}):
        found = told(tools, "memory_search", **query)["results"]
        assert [hit["id"] for hit in found] == ids[:1:-1]
        assert all("confidence" not in hit for hit in found)


def test_nothing_found_says_what_may_help(tools: Tools) -> None:
    there = told(tools, "memory_search", query="*")
    assert there == {"results": [], "note": NOTHING_THERE}
    told(tools, "memory_add", content="Has a cat")
    names = ["results", "bullets", "memories"]
    for answer in (
        told(tools, "memory_search", query="cat", tags=["none"]),
        told(tools, "memory_query", query="zebra", filters={"tags": ["none"]}),
        told(tools, "memory_query", query="cat", returns="full", filters={"tags": ["none"]}),
    ):
        assert answer.pop("note") == NOTHING_FITS
        (empty,) = answer.items()
        assert empty == (names.pop(0), [])


def test_an_argument_that_a_model_left_empty_is_not_given(tools: Tools) -> None:
    told(tools, "memory_add", content="Has a cat", theme="home")
    empty: dict[str, dict[str, Any]] = {
        "memory_search": {"query": "cat", "theme": "", "types": [], "tags": [], "status": ""},
        "memory": {"action": "search", "query": "", "content": "", "key": "", "cursor": ""},
        "memory_query": {"query": "cat", "categories": [], "returns": "", "filters": {}},
    }
    for name, given in empty.items():
        asked = {key: value for key, value in given.items() if value}
        assert "cat" in tools.call(name, given)
        assert tools.call(name, given) == tools.call(name, asked)


def test_every_condition_of_a_search_counts(tools: Tools, clock: ManualClock) -> None:
    old = told(tools, "memory_add", content="Tea long ago", theme="past")["id"]
    clock.advance(days=30)
    new = told(
        tools, "memory_add", content="Wants tea", theme="now", type="preference", tags=["hot"]
    )["id"]

    def ids(**wanted: Any) -> set[int]:
        return {hit["id"] for hit in told(tools, "memory_search", query="tea", **wanted)["results"]}

    assert ids() == {old, new}
    assert ids(theme="Past") == {old}
    assert ids(types=["preference"]) == {new}
    assert ids(types=["preference", "fact"]) == {old, new}
    assert ids(tags=["hot"]) == {new}
    assert ids(recency_days=7) == {new}
    assert len(ids(limit=1)) == 1


def test_what_has_no_theme_is_filed_under_general(tools: Tools, ana: UserMemory) -> None:
    told(tools, "memory_add", content="Has a cat")
    told(tools, "memory_add", content="Has a dog", theme="  ")
    listed = told(tools, "memory_list_themes")
    assert listed == {"themes": [{"theme": "general", "name": "General", "memories": 2}]}
    ana.describe_theme("general", description="What fits nowhere else")
    (general,) = told(tools, "memory_list_themes")["themes"]
    assert general["about"] == "What fits nowhere else"


@pytest.mark.requirement("tools.lean")
def test_answers_are_short_and_in_their_own_script(tools: Tools) -> None:
    long = "tea " * 1_900
    added = told(tools, "memory_add", content=long)
    (hit,) = told(tools, "memory_search", query="tea")["results"]
    assert len(hit["content"]) < 1_000
    assert told(tools, "memory_get", id=added["id"])["content"] == long.strip()
    text = tools.call("memory_add", {"content": "お茶が好き"})
    assert ": " not in text and "\n" not in text
    assert "お茶が好き" in tools.call("memory_search", {"query": "*"})
    first = told(tools, "memory_add", content="Has a cat")
    assert told(tools, "memory_add", content="Has a cat") == {**first, "duplicate": True}


# -- single --------------------------------------------------------------------------------


def test_one_tool_saves_finds_lists_and_forgets(tools: Tools, ana: UserMemory) -> None:
    trip = {"action": "save", "key": "next_trip", "theme": "places"}
    about = {"source": "user_explicit", "source_context": "said so in March", "confidence": 88}
    saved = told(tools, "memory", content="Goes to Porto next", **trip, **about)
    item = ana.get(saved["id"])
    assert (item.key, item.source, item.confidence) == ("next_trip", Source.USER_EXPLICIT, 88)
    assert item.source_context == "said so in March"
    assert told(tools, "memory", action="search", query="where do they go next")["results"]
    (listed,) = told(tools, "memory", action="list")["memories"]
    assert listed["content"] == "Goes to Porto next"
    again = told(tools, "memory", content="Goes to Faro next", **trip)
    assert (again["id"], again["updated"]) == (saved["id"], True)
    gone = told(tools, "memory", action="forget", key="next_trip", theme="places")
    assert [entry["id"] for entry in gone["forgotten"]] == [saved["id"]]
    assert gone["restorable_until"]
    assert told(tools, "memory", action="list") == {"memories": []}


def test_what_is_not_kept_is_not_said_to_be(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(sqlite_url, purge_after_days=0).user("ana")
    item = ana.add("Has a cat")
    gone = told(Tools(ana, "single"), "memory", action="forget", id=item.id)
    assert gone == {"forgotten": [{"id": item.id, "content": "Has a cat"}]}


def test_what_was_saved_for_some_days_is_gone_after_them(
    tools: Tools, ana: UserMemory, clock: ManualClock
) -> None:
    saved = told(tools, "memory", action="save", content="In Rome this week", expires_days=7)
    expires = ana.get(saved["id"]).expires_at
    assert expires is not None
    assert (expires - clock()).days == 7
    clock.advance(days=6)
    assert told(tools, "memory", action="search", query="Rome")["results"]
    clock.advance(days=2)
    assert told(tools, "memory", action="search", query="Rome")["results"] == []


def test_a_long_list_comes_in_pages(tools: Tools) -> None:
    for number in range(5):
        told(tools, "memory", action="save", content=f"Note {number}", tags=["n"])
    seen: list[int] = []
    cursor: dict[str, Any] = {}
    while True:
        page = told(tools, "memory", action="list", limit=2, tags=["n"], **cursor)
        seen += [entry["id"] for entry in page["memories"]]
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(seen) == len(set(seen)) == 5


def test_an_action_with_the_wrong_arguments_is_refused(tools: Tools, ana: UserMemory) -> None:
    for arguments, says in (
        ({}, "action: is missing"),
        ({"action": "delete"}, "not one of: save, search, forget, list"),
        ({"action": "save"}, "content: is missing"),
        ({"action": "forget"}, "give either an id, or a key"),
        ({"action": "list", "query": "tea"}, "unknown argument 'query'"),
        ({"action": "save", "content": "x", "limit": 2}, "unknown argument 'limit'"),
        ({"action": "save", "content": "x", "expires_days": 0}, "expires_days"),
        (
            {"action": "save", "content": "x", "source": "system"},
            "'system' is not one of: conversation",
        ),
        ({"action": "list", "limit": 51}, "limit"),
    ):
        result = tools.run("memory", arguments)
        assert result.is_error
        assert says in result.value["error"]["message"]
    assert len(ana.list()) == 0


# -- query ---------------------------------------------------------------------------------


def test_a_question_gets_bullets_within_its_budget(tools: Tools, ana: UserMemory) -> None:
    tea = ana.add("Drinks green tea", theme="food", importance=4)
    ana.add("Works at the harbour", theme="work")
    answer = told(tools, "memory_query", query="what does she drink", top_k=1)
    assert answer["bullets"] == [
        {"id": tea.id, "category": "food", "text": "[food] Drinks green tea"}
    ]
    assert 0 < answer["confidence"] <= 1
    full = told(tools, "memory_query", query="drink", returns="full", filters={"importance_min": 4})
    assert [entry["id"] for entry in full["memories"]] == [tea.id]
    (work,) = told(tools, "memory_query", query="drink", categories=["work"], top_k=1)["bullets"]
    assert work["category"] == "work"
    little = told(tools, "memory_query", query="drink", budget_tokens=1)
    assert little["bullets"] == []
    assert "budget_tokens" in little["note"]


def test_bullets_about_the_same_are_added(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(sqlite_url, link_min=0.5).user("ana")
    first, second = (ana.add(f"red garden chairs for {when}").id for when in ("summer", "winter"))
    asked = {"query": "red garden chairs for summer", "top_k": 1, "related": 1}
    answer = told(Tools(ana, "query"), "memory_query", **asked)
    assert [one["id"] for one in answer["bullets"]] == [first]
    assert [one["id"] for one in answer["related"]] == [second]


class Broken(WordEmbedder):
    """Works until it is told to be down."""

    down = False

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        if self.down:
            raise EmbedderUnavailable("http://10.0.0.7:8080 is not available")
        return super().embed(texts)


@pytest.mark.requirement("tools.errors")
def test_a_search_by_words_alone_says_so_but_not_which_machine_failed(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = Broken(384)
    tools = Tools(open_store(sqlite_url, embedder=embedder).user("ana"), *TOOL_SETS)
    told(tools, "memory_add", content="Drinks tea")
    embedder.down = True
    for name in ("memory_search", "memory_query"):
        answer = told(tools, name, query="tea")
        assert "tea" in str(answer)
        assert answer["degraded"] == BY_WORDS_ALONE


def test_an_agent_is_kept_to_its_categories(memory: Memory) -> None:
    ana = memory.user("ana")
    secret = ana.add("Sees a doctor on Monday", theme="health")
    coach = Tools(memory.user("ana", agent="coach", categories=["sport"]), *TOOL_SETS)
    refused = coach.run("memory_query", {"query": "doctor", "categories": ["health"]})
    assert refused.value["error"]["type"] == "CategoryNotAllowed"
    unfiled = coach.run("memory_add", {"content": "Runs"}).value["error"]
    assert "categories allowed: sport" in unfiled["message"]
    assert "that the message allows" in unfiled["hint"]  # not "do not try again"
    assert told(coach, "memory_query", query="doctor")["bullets"] == []
    assert told(coach, "memory_search", query="doctor")["results"] == []
    assert coach.run("memory_get", {"id": secret.id}).value["error"]["type"] == "MemoryNotFound"
    assert coach.run("memory_add", {"content": "x", "theme": "health"}).is_error
    assert coach.run("update_user_profile", {"fields": {"tone": "short"}}).is_error
    assert told(coach, "memory_add", content="Runs", theme="sport")["status"] == "active"


def test_a_model_cannot_choose_the_user(memory: Memory, tools: Tools) -> None:
    memory.user("ben").add("Ben likes rum", theme="food")
    refused = tools.run("memory_query", {"query": "rum", "filters": {"user_id": "ben"}})
    assert refused.is_error
    for name in tools.names:
        result = tools.run(name, {"user": "ben", "user_id": "ben"})
        assert result.is_error
        assert "rum" not in result.text


# -- profile -------------------------------------------------------------------------------


def test_a_thing_is_stored_replaced_and_forgotten_by_name(tools: Tools, ana: UserMemory) -> None:
    first = told(tools, "memory_store", key="favourite_drink", value="mint tea")
    assert ana.get(first["id"]).content == "Favourite drink: mint tea"
    assert ana.get(first["id"]).source is Source.CONVERSATION
    second = told(tools, "memory_store", key="favourite_drink", value="My Favourite Drink is rum")
    assert second == {"id": first["id"], "status": "active", "updated": True}
    assert ana.get(first["id"]).content == "My Favourite Drink is rum"
    assert told(tools, "memory_search", query="favourite drink")["results"][0]["id"] == first["id"]
    gone = told(tools, "memory_forget", key="favourite_drink")
    assert [entry["id"] for entry in gone["forgotten"]] == [first["id"]]
    assert tools.run("memory_forget", {"key": "favourite_drink"}).is_error
    other = told(tools, "memory_store", key="car", value="blue", theme="things")
    assert told(tools, "memory_forget", id=other["id"])["forgotten"][0]["id"] == other["id"]


def test_the_profile_asks_for_consent_where_it_must(tools: Tools, ana: UserMemory) -> None:
    answer = told(tools, "update_user_profile", fields={"city": "Porto", "nickname": None})
    by_field = {entry["field"]: entry for entry in answer["fields"]}
    assert by_field["city"]["outcome"] == "proposed"
    assert "consent" in by_field["city"]["note"]
    assert by_field["nickname"] == {"field": "nickname", "outcome": "unchanged"}
    (proposal,) = ana.proposals()
    ana.approve(proposal.id)
    again = told(tools, "update_user_profile", fields={"city": "Porto"})
    assert again["fields"][0]["outcome"] == "unchanged"
    assert ana.user_profile()["city"] == "Porto"
    told(tools, "update_user_profile", fields={"city": "Faro"})
    (proposal,) = ana.proposals()
    ana.reject(proposal.id)
    for fields, outcome, says in (
        ({"city": "Faro"}, "refused", "do not ask again"),
        ({"tone": "short answers"}, "waiting", "says it again"),
    ):
        (one,) = told(tools, "update_user_profile", fields=fields)["fields"]
        assert one["outcome"] == outcome
        assert says in one["note"]


def test_a_file_that_cannot_be_followed_is_not_told_to_a_model(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    file = tmp_path / "secret-place" / "prompts" / "USER.md"
    file.parent.mkdir(parents=True)
    file.write_text("Mine.\n")
    ana = open_store(sqlite_url, files=tmp_path / "secret-place", files_user="ana").user("ana")
    ana.update_user_profile({"city": "Porto"}, explicit=True)
    ana.add("City: Rome", theme="profile", key="city")  # past the file
    file.write_text("- City: Faro\n")  # both have changed, which is a problem
    told_model = told(Tools(ana, "profile"), "update_user_profile", fields={"city": None})
    assert list(told_model) == ["fields"]
