"""The query of an agent: what it may know, within its budget."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import (
    CategoryNotAllowed,
    InvalidPolicy,
    InvalidValue,
    Memory,
    ScopeWidened,
    UnknownField,
)
from ricordo.testing.clock import ManualClock
from ricordo.text.tokens import estimate_tokens
from tests.support.searching import Searching

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


@pytest.mark.requirement("recall.query")
def test_bullets_name_their_category(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    milk = ana.add("Buy milk\n\n on  Monday", theme="tasks").id
    ana.add("Owns a boat")
    answer = ana.query(None, "milk on Monday", top_k=1)
    (bullet,) = answer.bullets
    assert bullet.to_dict() == {
        "id": milk,
        "category": "tasks",
        "text": "[tasks] Buy milk on Monday",
    }
    assert answer.tokens == estimate_tokens(bullet.text)
    assert answer.items == answer.related == ()
    assert answer.degraded is None
    assert answer.confidence is not None
    assert answer.confidence > 0.5
    assert len(ana.query(None, "milk").bullets) == 2
    assert len(ana.query(None, "").bullets) == 2


@pytest.mark.requirement("recall.query")
def test_full_gives_whole_memories(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    long = ana.add(f"milk {'and cheese ' * 200}").id
    short = ana.add("milk and bread").id
    answer = ana.query(None, "milk", returns="full", budget_tokens=50)
    assert [item.id for item in answer.items] == [short]
    assert answer.bullets == ()
    assert answer.tokens == estimate_tokens("milk and bread")
    everything = ana.query(None, "milk", returns="full", budget_tokens=10_000)
    assert {item.id for item in everything.items} == {long, short}


@pytest.mark.requirement("recall.query")
def test_every_filter_works(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    ana.add_many([f"milk milk {number}" for number in range(80)])
    clock.advance(days=1)
    fields: dict[str, Any] = {
        "agent_id": "helper",
        "run_id": "r",
        "actor_id": "a",
        "role": "user",
        "pinned": True,
        "tags": ["x"],
        "type": "preference",
    }
    one = ana.add("some other milk", theme="tasks", importance=5, **fields).id
    started = clock()
    clock.advance(days=1)
    ana.add("milk, the latest", importance=1)
    filters: list[dict[str, Any]] = [
        *({name: value} for name, value in fields.items()),
        {"category": "Tasks"},
        {"user_id": "ana", "category": ["tasks"]},
        {"importance_min": 3},
        {"importance_min": 3, "importance_max": None},
        {"updated_after": started, "updated_before": clock()},
    ]
    for wanted in filters:
        answer = ana.query(None, "milk milk", filters=wanted, top_k=50)
        assert [bullet.id for bullet in answer.bullets] == [one], wanted
    assert [one.id for one in ana.query(None, "milk", categories="tasks").bullets] == [one]
    latest = ana.query(None, "milk", filters={"importance_max": 1}).bullets
    assert [bullet.text for bullet in latest] == ["[general] milk, the latest"]


@pytest.mark.requirement("recall.query")
def test_bad_requests_are_refused(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("milk")
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
        {"top_k": 0},
        {"top_k": 51},
        {"budget_tokens": 0},
        {"budget_tokens": 100_001},
        {"returns": "poem"},
        {"threshold": -0.1},
        {"related": 3},
        {"categories": []},
        {"categories": [""]},
        {"filters": {"pinned": "yes"}},
    ]
    for wanted in bad:
        with pytest.raises(InvalidValue):
            ana.query(None, "milk", **wanted)


@pytest.mark.requirement("recall.query")
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


@pytest.mark.requirement("recall.query")
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
    ana.add_many(
        [
            {"content": "milk for the task", "theme": "tasks"},
            {"content": "milk in the diary", "theme": "diary"},
            {"content": "milk in general"},
        ]
    )
    task = "[tasks] milk for the task"
    assert bullets(memory, "planner", "milk") == [task]
    assert bullets(memory, "planner", "*") == [task]
    assert bullets(memory, "planner", "milk", categories=["Tasks"]) == [task]
    assert bullets(memory, "planner", "milk in the diary", filters={"category": "tasks"}) == [task]
    assert len(bullets(memory, "boss", "milk")) == 3
    assert len(bullets(memory, None, "milk")) == 3
    revision = ana.revision()
    memory.recall.accesses.flush()
    for agent, wanted in (
        ("planner", {"categories": ["diary"]}),
        ("planner", {"categories": ["tasks", "diary"]}),
        ("planner", {"filters": {"category": "diary"}}),
        ("planner", {"categories": "DIARY"}),
        ("muted", {}),
        ("stranger", {}),
        ("stranger", {"categories": ["tasks"]}),
    ):
        with pytest.raises(CategoryNotAllowed):
            ana.query(agent, "milk", **wanted)  # type: ignore[arg-type]
        with pytest.raises(CategoryNotAllowed):
            ana.narrow(agent=agent).query(None, "milk", **wanted)  # type: ignore[arg-type]
    assert memory.recall.accesses.flush() == 0
    assert ana.revision() == revision
    chairs = ana.add_many(
        [
            {"content": "red garden chairs now", "theme": "tasks"},
            {"content": "red garden chairs then", "theme": "diary"},
        ]
    )
    assert [one.id for one in ana.related(chairs[0].id)] == [chairs[1].id]
    assert ana.query("planner", "red garden chairs", related=2).related == ()


@pytest.mark.requirement("recall.allowlists")
def test_an_edited_policy_applies_at_once_and_a_broken_one_to_nothing(
    backend_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    memory = open_store(backend_url, policy_file=policy)
    memory.user("ana").add("milk", theme="diary")
    assert bullets(memory, "planner", "milk") == []
    policy.write_text(POLICY.replace("[tasks]", "[tasks, diary]"), encoding="utf-8")
    assert bullets(memory, "planner", "milk") == ["[diary] milk"]
    policy.write_text("allowlists: [", encoding="utf-8")
    with pytest.raises(InvalidPolicy):
        bullets(memory, "boss", "milk")


numbers = itertools.count()
contents = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
        str.strip
    )
    | st.sampled_from(["tea and milk " * 30, "漢字" * 40, "🎸" * 30, "tea", "a_b_c " * 20]),
    min_size=1,
    max_size=6,
)


@pytest.mark.requirement("recall.query")
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    texts=contents,
    theme=st.sampled_from(["x", "a rather long category name"]),
    budget=st.integers(1, 120),
    returns=st.sampled_from(["bullets", "full"]),
    related=st.integers(0, 2),
)
def test_the_budget_is_never_exceeded(
    searching_store: Memory, texts: list[str], theme: str, budget: int, returns: str, related: int
) -> None:
    user = searching_store.user(f"user-{next(numbers)}")
    user.add_many([{"content": text, "theme": theme} for text in texts])
    answer = user.query(
        None, "tea milk", top_k=50, budget_tokens=budget, returns=returns, related=related
    )
    shown = [one.text for one in (*answer.bullets, *answer.related)]
    shown += [item.content for item in answer.items]
    assert sum(map(estimate_tokens, shown)) == answer.tokens <= budget
    assert estimate_tokens("\n".join(shown)) <= budget + len(shown)
    assert all(one.text.startswith(f"[{one.category}] ") for one in answer.bullets)


@pytest.mark.requirement("recall.query")
def test_a_category_shows_no_more_than_its_length(
    backend_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "categories:\n  tasks: {context: rag, rag_length: 1}\n  notes:\nallowlists:\n"
        '  planner: ["*"]\n',
        encoding="utf-8",
    )
    memory = open_store(backend_url, policy_file=policy)
    ana = memory.user("ana")
    for number in range(3):
        ana.add(f"Water the plants, task {number}", theme="tasks")
    ana.add("The plants stand in the hall", theme="notes")
    answer = ana.query("planner", "plants", top_k=3)
    assert sorted(bullet.category for bullet in answer.bullets) == ["notes", "tasks"]
