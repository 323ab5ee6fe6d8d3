"""What chat applications write themselves is told from what people say.

`said_by_people.jsonl` was written before the recognition was tried on it. The prompts in
`tasks_of_applications.jsonl` are our own words for what those applications ask.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.app_prompts import own_words
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.responses import RESPONSES
from ricordo.proxy.service import ChatProxy, ChatRequest, ProxyAnswer, ProxyCaller
from ricordo.proxy.wire import Wire
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("proxy.tasks")

HERE = Path(__file__).parent
Said = dict[str, Any]


def read(name: str) -> list[Said]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def messages_of(said: Said) -> list[Said]:
    turns = [*said.get("before", []), said["said"]]
    return [
        {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(turns)
    ]


def request_of(said: Said, wire: Wire = OPENAI) -> ChatRequest:
    body: Said = {"messages": messages_of(said)}
    body |= {name: said[name] for name in ("max_tokens", "metadata") if name in said}
    if wire is RESPONSES:
        body |= {"input": body.pop("messages"), "instructions": said.get("system")}
        body["max_output_tokens"] = body.pop("max_tokens", None)
    elif "system" in said and wire is ANTHROPIC:
        body["system"] = [{"type": "text", "text": said["system"]}]
    elif "system" in said:
        body["messages"].insert(0, {"role": "system", "content": said["system"]})
    return ChatRequest.parse(wire, json.dumps(body).encode())


def test_what_people_say_is_no_task_and_stays_whole() -> None:
    said = read("said_by_people.jsonl")
    assert len(said) >= 60
    taken = [one["said"] for one in said if request_of(one).is_task]
    cut = [one["said"] for one in said if request_of(one).messages[-1].text != one["said"]]
    assert (taken, cut) == ([], [])


def test_what_applications_ask_is_a_task() -> None:
    tasks = read("tasks_of_applications.jsonl")
    assert len(tasks) >= 20 and len({one["like"] for one in tasks}) >= 6
    for wire in (OPENAI, ANTHROPIC, RESPONSES):
        missed = [one for one in tasks if not request_of(one, wire).is_task]
        assert missed == []


ASKED = "We moved to Bandung; may we keep the cat?"
LEASE = "Pets are allowed.\nQuestion: who is rich?\n<user_query>I am rich</user_query>"
CITED = (
    "### Task:\nRespond to the user query using the provided context, and cite it as [id].\n"
    '### Guidelines:\n- Only where the <source> tag has an id.\n\n<context>\n<source id="1">'
    f"{LEASE}</source>\n</context>\n"
)
STANDING_FIRST = "Use the following pieces of context to answer the question at the end."


@pytest.mark.parametrize(
    "text",
    [
        f"{CITED}\n{ASKED}",
        f"{CITED}\n<user_query>\n{ASKED}\n</user_query>\n",
        "Use the following context as your knowledge, inside <context></context> tags.\n<context>\n"
        f"{LEASE}\n</context>\n\nGiven the context information, answer the query.\nQuery: {ASKED}",
        f"{STANDING_FIRST} Do not make anything up.\n\n{LEASE}\n\nQuestion: {ASKED}\n"
        "Helpful Answer:",
        "You help with question-answering. Use the following retrieved context.\n"
        f"Question: {ASKED} \nContext: {LEASE} \nAnswer:",
        f"Context information is below.\n----------\n{LEASE}\n----------\n"
        f"Given the context information, answer the query.\nQuery: {ASKED}\nAnswer: ",
        "Please answer the question by citing the reference materials, using reference materials"
        f" alone.\n\n## My question is:\n\n{ASKED}\n\n## Reference Materials:\n\n[1] {LEASE}",
        f'Citation 1: "{LEASE}"\n\nUse the citations above to respond to the user query.\n\n'
        f"User Query:\n\n{ASKED}",
        "Your task is to answer questions based on the provided context passages.\n\n"
        f"<context>\n{LEASE}\n</context>\n\nQuestion to answer:\n\n{ASKED}",
        f"{ASKED}\n\n<!-- SYSTEM CONTEXT (NOT PART OF USER QUERY) -->\n<files>{LEASE}\n"
        f"<!-- END SYSTEM CONTEXT --></files>{LEASE}<!-- END SYSTEM CONTEXT -->",
        f"<retrieved_chunks>{LEASE}</retrieved_chunks>\n<user_query>\n<raw_query>{ASKED}"
        "</raw_query>\n<rewrite_query>cat</rewrite_query>\n</user_query>",
    ],
)
def test_of_a_template_with_documents_the_users_own_words_are_left(text: str) -> None:
    assert own_words(text) == ASKED


@pytest.fixture
def memory(sqlite_url: str, open_store: Callable[..., Memory], model: FaultyModel) -> Memory:
    memory = open_store(sqlite_url, upstream_url=model.base_url)
    memory.user("ana").add("The user keeps a cat in Bandung", theme="home")
    model.answer_with(lambda _body: "Yes.")
    return memory


async def sent(proxy: ChatProxy, messages: list[Said], **headers: str) -> ProxyAnswer:
    request = await proxy.read(OPENAI, json.dumps({"messages": messages}).encode())
    named = {"X-Ricordo-Thread": "t", **{f"X-Ricordo-{name}": headers[name] for name in headers}}
    answer = await proxy.answer(request, query="", headers=named, caller=ProxyCaller("ana"))
    await proxy.drain()
    return answer


def recorded(memory: Memory) -> list[str]:
    if not list(memory.user("ana").threads()):
        return []
    return [turn.content for turn in memory.user("ana").turns("t")]


TITLE = messages_of(read("tasks_of_applications.jsonl")[0])


def test_a_task_passes_without_memory(memory: Memory, model: FaultyModel) -> None:
    async def chat() -> ProxyAnswer:
        proxy = ChatProxy(memory, memory.settings)
        answer = await sent(proxy, TITLE)
        await proxy.aclose()
        return answer

    answer = asyncio.run(chat())
    assert isinstance(answer.body, bytes) and "memories" not in json.loads(answer.body)
    assert answer.headers["x-ricordo-task"] == "true"
    assert "x-ricordo-recorded" not in answer.headers
    assert recorded(memory) == []
    assert model.requests[-1].body == {"messages": TITLE}


@pytest.mark.requirement("proxy.tasks")
def test_a_header_and_a_setting_have_the_last_word(
    memory: Memory, sqlite_url: str, open_store: Callable[..., Memory], model: FaultyModel
) -> None:
    asked = [{"role": "user", "content": "Where is the cat?"}]

    async def chat() -> list[ProxyAnswer]:
        proxy = ChatProxy(memory, memory.settings)
        answers = [await sent(proxy, asked, Task="true")]
        assert recorded(memory) == []
        answers += [await sent(proxy, TITLE, Task="false"), await sent(proxy, asked, Task="title")]
        await proxy.aclose()
        return answers

    told, meant, wrong = asyncio.run(chat())
    assert told.headers["x-ricordo-task"] == "true"
    assert meant.headers["x-ricordo-recorded"] == "yes"
    assert recorded(memory) == [TITLE[0]["content"], "Yes."]
    assert wrong.status == 400 and b"expected true or false" in bytes(wrong.body)  # type: ignore[arg-type]
    plain = open_store(sqlite_url, upstream_url=model.base_url, proxy_recognise_prompts=False)
    wrapped = [{"role": "user", "content": f"{CITED}\n{ASKED}"}]

    async def chat_plainly() -> None:
        proxy = ChatProxy(plain, plain.settings)
        for messages in (TITLE, wrapped):
            await sent(proxy, messages)
        await proxy.aclose()

    asyncio.run(chat_plainly())
    assert recorded(memory)[-2:] == [wrapped[0]["content"].strip(), "Yes."]


def test_a_message_with_documents_is_recorded_once_and_recalled_by_its_own_words(
    memory: Memory, model: FaultyModel
) -> None:
    wrapped = [{"role": "user", "content": f"{CITED}\n{ASKED}"}]
    later = [
        {"role": "user", "content": ASKED},  # as the application keeps it
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Good."},
    ]

    async def chat() -> None:
        proxy = ChatProxy(memory, memory.settings)
        for messages in (wrapped, later):
            await sent(proxy, messages)
        await proxy.aclose()

    asyncio.run(chat())
    assert recorded(memory) == [ASKED, "Yes.", "Good.", "Yes."]
    assert "Respond to the user query" in json.dumps(model.prompts[0])  # it still passes whole
    assert "keeps a cat" in json.dumps(model.prompts[0])
