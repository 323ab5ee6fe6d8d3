"""What a chat leaves in memory, whichever part of the conversation a client sends again."""

import json
from collections.abc import Sequence

import pytest

from ricordo import Memory, UserMemory
from ricordo.limits import MAX_OBSERVED_MESSAGES, MAX_TOOL_CALLS_BYTES, MAX_TURN_CHARS
from ricordo.proxy.memory import ChatExchange, count_used, remember, turns_of
from ricordo.proxy.wire import ASSISTANT, NO_MESSAGE, TOOL, USER, ChatMessage

pytestmark = pytest.mark.requirement("proxy.observes")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def user(text: str) -> ChatMessage:
    return ChatMessage(USER, text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(ASSISTANT, text)


def conversation(exchanges: int) -> list[ChatMessage]:
    pairs = [(user(f"Question {n}?"), assistant(f"Answer {n}.")) for n in range(exchanges)]
    return [one for pair in pairs for one in pair]


def told(ana: UserMemory, said: Sequence[ChatMessage], answer: ChatMessage) -> None:
    remember(ana, ChatExchange("t", said, answer, ()))


def recorded(ana: UserMemory) -> list[str]:
    return [turn.content for turn in ana.turns("t", limit=1_000)]


@pytest.mark.parametrize(
    "sent", [20, 3, *(pytest.param(n, marks=pytest.mark.matrix) for n in (1_000, 21, 19, 9, 1))]
)
def test_nothing_is_recorded_twice(ana: UserMemory, sent: int) -> None:
    """A client sends the last so many messages with each request."""
    whole = conversation(30)
    for end in range(1, len(whole), 2):
        told(ana, whole[:end][-sent:], whole[end])
    assert recorded(ana) == [one.text for one in whole]


def test_of_a_long_request_the_latest_messages_are_recorded(ana: UserMemory) -> None:
    whole = conversation(40)
    told(ana, whole[:-1], whole[-1])
    assert recorded(ana) == [one.text for one in whole[-MAX_OBSERVED_MESSAGES - 1 :]]


@pytest.mark.requirement("proxy.observes")
def test_what_is_said_anew_and_what_is_said_twice(ana: UserMemory) -> None:
    remember(ana, ChatExchange(None, [user("Hello")], assistant("Hi"), ()))
    remember(ana, ChatExchange("t", [], NO_MESSAGE, ()))
    assert list(ana.threads()) == []
    told(ana, [user("Hello?")], assistant("Yes."))
    told(ana, [user("Hello?")], assistant("Yes!"))
    told(ana, [user("Hello!")], assistant("Yes."))
    assert recorded(ana) == ["Hello?", "Yes.", "Yes!", "Hello!", "Yes."]
    said = [user("Tea?"), assistant("Yes"), user("Coffee?"), assistant("Yes"), user("Milk?")]
    told(ana, said, assistant("Yes"))
    assert recorded(ana)[5:] == ["Tea?", "Yes", "Coffee?", "Yes", "Milk?", "Yes"]


def test_calls_and_results_of_tools(ana: UserMemory) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": '{"a": 1}'}}
    asked = [user("What time is it?")]
    told(ana, asked, ChatMessage(ASSISTANT, "", (call,)))
    again = {**call, "function": {"name": "now", "arguments": '{"a":1}'}}  # as clients rewrite it
    told(
        ana,
        [*asked, ChatMessage(ASSISTANT, "", (again,)), ChatMessage(TOOL, "Noon")],
        assistant("Noon."),
    )
    turns = list(ana.turns("t"))
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "What time is it?"),
        ("assistant", "[calls now]"),
        ("tool", "Noon"),
        ("assistant", "Noon."),
    ]
    assert turns[1].tool_calls == [call]


def test_what_is_too_long_or_cannot_be_stored_is_cut() -> None:
    large = {"id": "c", "name": "put", "input": {"text": "x" * MAX_TOOL_CALLS_BYTES}}
    said = [user("a\x00b\ud800" + "c" * MAX_TURN_CHARS), ChatMessage(ASSISTANT, "", (large,))]
    long, calling, answer = turns_of(said, assistant("  Done \n"))
    assert len(long.content) == MAX_TURN_CHARS and long.content.startswith("ab?c")
    assert (calling.content, calling.tool_calls) == ("[calls put]", [{"name": "put"}])
    assert answer.content == "Done"
    odd = ChatMessage(ASSISTANT, "", ({"function": 3, "input": json.loads("[" * 90 + "]" * 90)},))
    assert turns_of([odd], NO_MESSAGE)[0].content == "[calls tool]"


def test_what_the_answer_used_is_counted(ana: UserMemory) -> None:
    used = ana.add("Drinks green tea in the morning").id
    unused = ana.add("Owns a red bicycle").id
    answer = assistant("You drink green tea in the morning.")
    count_used(ana, ChatExchange("t", [user("What do I drink?")], answer, (used, unused)))
    count_used(ana, ChatExchange("t", [user("What do I drink?")], NO_MESSAGE, (used,)))
    ana.recall.accesses.flush()
    assert ana.counters().retrieval_hit_rate == 0.5
