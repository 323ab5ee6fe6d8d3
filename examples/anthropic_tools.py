"""Memory as tools for the plain Anthropic SDK: messages, and a loop that calls tools.

Run it with: python examples/anthropic_tools.py
"""

from typing import Any

from anthropic import Anthropic

import ricordo
from ricordo.testing import ModelServer
from ricordo.tools import Tools

memory = ricordo.open(":memory:")


def chat(client: Anthropic, model: str, user_id: str, text: str) -> str:
    """One turn: the model calls tools until it answers. Whose memory it is, this program says."""
    tools = Tools(memory.user(user_id), "single")  # one tool with an action
    messages: list[Any] = [{"role": "user", "content": text}]
    offered: Any = tools.anthropic()
    while True:
        answer = client.messages.create(
            model=model,
            max_tokens=1_000,
            system=tools.guide(),  # how to use the tools, and when
            messages=messages,
            tools=offered,
        )
        messages.append({"role": "assistant", "content": answer.content})
        results: list[Any] = []
        for block in answer.content:
            if block.type == "tool_use":
                done = tools.run(block.name, block.input)
                print(f"  {block.name} -> {done.text[:70]}")
                result = {"type": "tool_result", "tool_use_id": block.id, "content": done.text}
                results.append({**result, "is_error": done.is_error})
        if not results:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "user", "content": results})


with ModelServer() as server:  # a model that says what it was told to say
    server.answer_calling("memory", {"action": "save", "content": "Ana is learning the cello."})
    server.answer("How nice! Since when?")
    server.answer_calling("memory", {"action": "search", "query": "instrument"})
    server.answer("Rosin, for the bow of your cello.")
    # For a real model change this line, e.g. to Anthropic(), and name the model below.
    with Anthropic(base_url=server.root, api_key="none") as client:
        print("ana:", chat(client, server.model, "ana", "I am learning the cello."))
        print("ana:", chat(client, server.model, "ana", "What could I ask for as a present?"))

contents = [item.content for item in memory.user("ana").list()]
print(f"remembered of ana: {contents}")
memory.close()
