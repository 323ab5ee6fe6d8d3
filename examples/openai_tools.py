"""Memory as tools for the plain OpenAI SDK: chat completions, and a loop that calls tools.

Works with every endpoint that speaks like OpenAI's, local ones included.
Run it with: python examples/openai_tools.py
"""

from typing import Any

from openai import OpenAI

import ricordo
from ricordo.testing import ModelServer
from ricordo.tools import Tools

memory = ricordo.open(":memory:")


def chat(client: OpenAI, model: str, user_id: str, text: str) -> str:
    """One turn: the model calls tools until it answers. Whose memory it is, this program says."""
    tools = Tools(memory.user(user_id))
    messages: list[Any] = [
        {"role": "system", "content": tools.guide()},  # how to use the tools, and when
        {"role": "user", "content": text},
    ]
    offered: Any = tools.openai()
    while True:
        done = client.chat.completions.create(model=model, messages=messages, tools=offered)
        answer: Any = done.choices[0].message
        messages.append(answer)
        if not answer.tool_calls:
            return str(answer.content)
        for call in answer.tool_calls:
            # Errors are answered, too, so that the model can mend its call.
            result = tools.call(call.function.name, call.function.arguments)
            print(f"  {call.function.name} -> {result[:70]}")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


with ModelServer() as server:  # a model that says what it was told to say
    server.answer_calling("memory_add", {"content": "Ana runs every morning.", "theme": "sports"})
    server.answer("Good for you!")
    server.answer_calling("memory_search", {"query": "What does Ana do in the morning?"})
    server.answer("Your running shoes.")
    # For a real model change this line, e.g. to OpenAI(), and name the model below.
    with OpenAI(base_url=server.base_url, api_key="none") as client:
        print("ana:", chat(client, server.model, "ana", "I run every morning."))
        print("ana:", chat(client, server.model, "ana", "What should I pack for tomorrow morning?"))

for item in memory.user("ana").list():
    print(f"remembered in {item.theme}: {item.content}")
memory.close()
