"""CrewAI: a real crew and a real agent, with a scripted model."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from crewai import Agent, BaseLLM, Crew, Task
from pydantic import PrivateAttr

from ricordo import InvalidValue, Memory
from ricordo.integrations.crewai import RicordoMemory


class Scripted(BaseLLM):
    """Calls the tools that it is told to, and answers; what it was sent is kept."""

    _left: list[Any] = PrivateAttr()
    _sent: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, *script: Any) -> None:
        super().__init__(model="scripted")
        self._left = list(script)

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        self._sent.append(json.dumps(messages, default=str))
        return self._left.pop(0)

    def supports_function_calling(self) -> bool:
        return False

    @property
    def sent(self) -> list[str]:
        return self._sent


def answer(text: str) -> str:
    return f"Thought: I now can give a great answer\nFinal Answer: {text}"


def using(tool: str, **arguments: Any) -> str:
    return f"Thought: I need it\nAction: {tool}\nAction Input: {json.dumps(arguments)}"


def crew(memory: RicordoMemory, model: Scripted, question: str) -> Crew:
    agent = Agent(role="host", goal="Serve guests", backstory="Kind.", llm=model)
    task = Task(description=question, expected_output="A sentence.", agent=agent)
    return Crew(agents=[agent], tasks=[task], memory=memory)


def test_a_crew_is_told_what_is_remembered_of_its_user(memory: Memory) -> None:
    for user_id, is_told in (("ana", True), ("ben", False)):
        model = Scripted(answer("Green tea."))
        user = memory.user(user_id)
        before = len(user.list())
        done = crew(RicordoMemory(user), model, "Which tea does Ana like?").kickoff()
        assert done.raw == "Green tea."
        assert ("Ana likes green tea" in "".join(model.sent)) == is_told
        assert len(user.list()) == before  # what a crew produces is no word of the user


def test_agents_search_and_save_with_their_tools(memory: Memory) -> None:
    ana = memory.user("ana")
    model = Scripted(
        using("search_memory", queries=["which tea does Ana like?"]),
        using("save_to_memory", contents=["Ana plays chess"]),
        answer("Done."),
    )
    crew(RicordoMemory(ana), model, "Prepare the evening.").kickoff()
    assert "Ana likes green tea" in model.sent[1]
    (chess,) = (one for one in ana.list() if one.content == "Ana plays chess")
    assert chess.source == "conversation"


def test_what_agents_save_is_screened(memory: Memory) -> None:
    ana = memory.user("ana")
    own = RicordoMemory(ana)
    waits = own.remember("Ana is allergic to peanuts")
    assert waits.metadata["status"] == "proposed"
    assert len(ana.proposals()) == 1
    with pytest.raises(InvalidValue, match="holds a secret"):
        own.remember("Ana's password is hunter2!Xy")
    for given in ({"private": True}, {"metadata": {"a": 1}}, {"source": "x"}):
        with pytest.raises(InvalidValue, match="is nothing that a memory here has"):
            own.remember("Ana plays the cello", **given)
    assert len(ana.list()) == 1


def test_scopes_are_themes_and_categories_are_tags(memory: Memory) -> None:
    own = RicordoMemory(memory.user("ana"))
    made = own.remember("Ana wants to see Tromsø", "/travel/north", ["wish"], importance=0.8)
    assert (made.scope, made.categories, made.importance) == ("/travel-north", ["wish"], 0.8)
    assert [one.record.id for one in own.recall("Tromsø", scope="/travel/north")] == [made.id]
    assert own.recall("Tromsø", scope="/drinks") == []
    assert sorted(own.list_scopes()) == ["/drinks", "/travel-north"]
    assert own.list_categories() == {"wish": 1}
    assert own.info("/").record_count == 2
    assert [one.content for one in own.list_records(limit=1, offset=1)] == ["Ana likes green tea"]
    assert own.forget(record_ids=[made.id]) == 1
    for refused in (
        lambda: own.forget(scope="/drinks"),
        lambda: own.update(made.id, "x"),
        own.reset,
        own.reset_all,
    ):
        with pytest.raises(InvalidValue):
            refused()
    assert [one.content for one in own.list_records()] == ["Ana likes green tea"]


def test_a_wrong_object_is_refused(memory: Memory, refused: Callable[..., None]) -> None:
    refused(RicordoMemory, "expected the memory of one user", memory, "ana", None)
