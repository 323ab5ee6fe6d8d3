"""The query of an agent: what it may know, within its budget."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import (
    CategoryNotAllowed,
    InvalidPolicy,
    InvalidValue,
    Memory,
    ScopeWidened,
    UnknownField,
    UserMemory,
)
from ricordo.testing import ManualClock
from ricordo.text.tokens import estimate_tokens
from tests.contract.conftest import on_sqlite
from tests.support.searching import Searching

pytestmark = pytest.mark.requirement("recall.query")

POLICY = """\
categories:
  tasks: {display_name: Tasks}
  diary: {display_name: Diary}
allowlists:
  planner: [tasks]
  boss: ["*"]
  muted: []
"""


def bullets(memory: Memory, agent: str | None, query: str, **wanted: Any) -> list[str]:
    return [one.text for one in memory.user("ana").query(agent, query, **wanted).bullets]


def test_bullets_name_their_category_and_full_gives_whole_memories(searching_store: Memory) -> None:
    ana, ben = searching_store.user("ana"), searching_store.user("ben")
    milk = ana.add("Buy milk\n\n on  Monday", theme="tasks").id
    ana.add("Owns a boat")
    answer = ana.query(None, "milk on Monday", top_k=1)
    (bullet,) = answer.bullets
    assert (bullet.id, bullet.category) == (milk, "tasks")
    assert bullet.text == "[tasks] Buy milk on Monday"
    assert answer.tokens == estimate_tokens(bullet.text)
    assert answer.items == answer.related == ()
    assert answer.degraded is None
    assert (answer.confidence or 0) > 0.5
    assert len(ana.query(None, "milk").bullets) == len(ana.query(None, "").bullets) == 2
    long = ben.add(f"milk {'and cheese ' * 200}").id
    short = ben.add("milk and bread").id
    answer = ben.query(None, "milk", returns="full", budget_tokens=50)
    assert ([item.id for item in answer.items], answer.bullets) == ([short], ())
    assert answer.tokens == estimate_tokens("milk and bread")
    everything = ben.query(None, "milk", returns="full", budget_tokens=10_000)
    assert {item.id for item in everything.items} == {long, short}


def test_filters_reach_the_search(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    ana.add_many([f"milk milk {number}" for number in range(60)])
    clock.advance(days=1)
    fields: dict[str, Any] = {"agent_id": "helper", "pinned": True, "tags": ["x"], "role": "user"}
    one = ana.add("some other milk", theme="tasks", importance=5, **fields).id
    started = clock()
    clock.advance(days=1)
    ana.add("milk, the latest", importance=1)
    filters: list[dict[str, Any]] = [
        *({name: value} for name, value in fields.items()),
        {"user_id": "ana", "category": ["Tasks"]},
        {"importance_min": 3, "importance_max": None},
        {"updated_after": started, "updated_before": clock()},
    ]
    for wanted in filters:
        answer = ana.query(None, "milk milk", filters=wanted, top_k=50)
        assert [bullet.id for bullet in answer.bullets] == [one], wanted
    assert [one.id for one in ana.query(None, "milk", categories="tasks").bullets] == [one]


@on_sqlite
def test_bad_requests_are_refused(ana: UserMemory) -> None:
    for name in ("colour", "theme", "status", "content", "id"):
        with pytest.raises(UnknownField, match=name):
            ana.query(None, "milk", filters={name: "x"})
    with pytest.raises(ScopeWidened):
        ana.query(None, "milk", filters={"user_id": "ben"})
    with pytest.raises(ScopeWidened):
        ana.narrow(agent="helper").query("other", "milk")
    with pytest.raises(InvalidValue, match="given twice"):
        ana.query(None, "milk", categories="a", filters={"category": "b"})
    bad: list[dict[str, Any]] = [
        *({"top_k": number} for number in (0, 51)),
        *({"budget_tokens": number} for number in (0, 100_001)),
        {"returns": "poem"},
        {"threshold": -0.1},
        {"related": 3},
        *({"categories": names} for names in ([], [""])),
        {"filters": {"pinned": "yes"}},
    ]
    for wanted in bad:
        with pytest.raises(InvalidValue):
            ana.query(None, "milk", **wanted)


def test_procedures_come_only_when_asked_for(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    steps = ana.add("1. Boil milk 2. Add cocoa", theme="recipes", type="procedure").id
    fact = ana.add("Boil milk slowly", theme="recipes").id

    def asked(**wanted: Any) -> set[int]:
        return {one.id for one in ana.query(None, "boil milk", **wanted).bullets}

    assert asked() == {fact}
    assert asked(categories=["recipes"]) == {steps, fact}
    assert asked(filters={"category": "recipes"}) == {steps, fact}
    assert asked(filters={"type": "procedure"}) == {steps}
    assert asked(filters={"type": ["procedure", "fact", "other"]}) >= {steps}
    assert steps in {hit.id for hit in ana.search("boil milk")}


def test_related_bullets_are_added(searching: Searching) -> None:
    memory = searching.open(link_min=0.5)
    ana = memory.user("ana")
    first = ana.add("red garden chairs for summer", theme="home").id
    second = ana.add("red garden chairs for winter", theme="home").id
    third = ana.add("red garden chairs for autumn", theme="other").id
    gone = ana.add("red garden chairs for spring", theme="home").id
    ana.forget(gone)

    def asked(**wanted: Any) -> tuple[list[int], list[int]]:
        answer = ana.query(None, "red garden chairs for summer", top_k=1, **wanted)
        return [one.id for one in answer.bullets], [one.id for one in answer.related]

    assert asked() == ([first], [])
    found, near = asked(related=2)
    assert (found, set(near)) == ([first], {second, third})
    assert asked(related=2, categories=["home"]) == ([first], [second])
    assert asked(related=2, filters={"type": "insight"}) == ([], [])
    assert asked(related=2, returns="full")[1] != []
    assert asked(related=2, budget_tokens=14)[1] == []


@pytest.mark.requirement("recall.allowlists")
def test_an_allowlist_bounds_what_an_agent_reads(searching: Searching, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    memory = searching.open(policy_file=policy)
    ana = memory.user("ana")
    for theme in ("tasks", "diary", "general"):
        ana.add(f"milk for {theme}", theme=theme)
    task = "[tasks] milk for tasks"
    assert bullets(memory, "planner", "milk") == bullets(memory, "planner", "*") == [task]
    assert bullets(memory, "planner", "milk", categories=["Tasks"]) == [task]
    assert bullets(memory, "planner", "milk for diary", filters={"category": "tasks"}) == [task]
    assert len(bullets(memory, "boss", "milk")) == len(bullets(memory, None, "milk")) == 3
    revision = ana.revision()
    memory.recall.accesses.flush()
    refused: list[tuple[str, dict[str, Any]]] = [
        ("planner", {"categories": ["tasks", "diary"]}),
        ("planner", {"filters": {"category": "diary"}}),
        ("planner", {"categories": "DIARY"}),
        ("muted", {}),
        ("stranger", {}),
        ("stranger", {"categories": ["tasks"]}),
    ]
    for agent, wanted in refused:
        with pytest.raises(CategoryNotAllowed):
            ana.query(agent, "milk", **wanted)
        with pytest.raises(CategoryNotAllowed):
            ana.narrow(agent=agent).query(None, "milk", **wanted)
    assert memory.recall.accesses.flush() == 0
    assert ana.revision() == revision
    chairs = [ana.add(f"red garden chairs {theme}", theme=theme).id for theme in ("tasks", "diary")]
    assert [one.id for one in ana.related(chairs[0])] == [chairs[1]]
    assert ana.query("planner", "red garden chairs", related=2).related == ()


@pytest.mark.requirement("recall.allowlists")
def test_an_edited_policy_applies_at_once_and_a_broken_one_to_nothing(
    backend_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    memory = open_store(backend_url, policy_file=policy)
    for number in range(3):
        memory.user("ana").add(f"milk {number}", theme="diary")
    assert bullets(memory, "planner", "milk") == []
    policy.write_text(POLICY.replace("[tasks]", "[tasks, diary]"), encoding="utf-8")
    assert len(bullets(memory, "planner", "milk")) == 3
    short = POLICY.replace("{display_name: Diary}", "{context: rag, rag_length: 1}")
    policy.write_text(short, encoding="utf-8")  # a category shows no more than its length
    assert len(bullets(memory, "boss", "milk")) == 1
    policy.write_text("allowlists: [", encoding="utf-8")
    with pytest.raises(InvalidPolicy):
        bullets(memory, "boss", "milk")


def test_the_budget_is_never_exceeded(searching_store: Memory) -> None:
    texts = ["tea and milk " * 30, "漢字" * 40, "🎸" * 30, "tea", "a_b_c " * 20, "milk\n\ntea"]
    for theme in ("x", "a rather long category name"):
        user = searching_store.user(f"user of {theme}")
        user.add_many([{"content": text, "theme": theme} for text in texts])
        for budget, returns in itertools.product((1, 7, 30, 120), ("bullets", "full")):
            answer = user.query(
                None, "tea milk", top_k=50, budget_tokens=budget, returns=returns, related=2
            )
            shown = [one.text for one in (*answer.bullets, *answer.related)]
            shown += [item.content for item in answer.items]
            assert sum(map(estimate_tokens, shown)) == answer.tokens <= budget
            assert estimate_tokens("\n".join(shown)) <= budget + len(shown)
            assert all(one.text.startswith(f"[{one.category}] ") for one in answer.bullets)
