"""Anthropic's memory tool on a ricordo store: Claude keeps files, and each file is a memory.

The SDK's tool runner calls the tool; the files can be searched, have a history, and can be undone.
Run it with: python examples/anthropic_memory_tool.py
"""

from typing import Any

from anthropic import Anthropic

import ricordo
from ricordo.integrations.anthropic import MemoryTool
from ricordo.testing import ModelServer

memory = ricordo.open(":memory:")
ana = memory.user("ana")
TRIP = "/memories/trip.md"


def chat(client: Anthropic, model: str, text: str) -> str:
    """One turn; the runner goes on until the model has answered."""
    runner = client.beta.messages.tool_runner(
        model=model,
        max_tokens=1_000,
        messages=[{"role": "user", "content": text}],
        tools=[MemoryTool(ana)],
    )
    return "".join(block.text for block in runner.until_done().content if block.type == "text")


with ModelServer() as server:  # a model that says what it was told to say
    commands: list[dict[str, Any]] = [
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": TRIP, "file_text": "# Trip\n- to Lisbon\n- by train\n"},
    ]
    for command in commands:
        server.answer_calling("memory", command)
    server.answer("A fine plan.")
    change = {"path": TRIP, "old_str": "by train", "new_str": "by ferry"}
    server.answer_calling("memory", {"command": "str_replace", **change})
    server.answer("By ferry, then.")
    # For a real model change this line, e.g. to Anthropic(), and name the model below.
    with Anthropic(base_url=server.root, api_key="none") as client:
        print("claude:", chat(client, server.model, "We go to Lisbon by train."))
        print("claude:", chat(client, server.model, "No, by ferry!"))

(hit,) = ana.search("How do we get to Lisbon?")
file = ana.get(hit.id)
for change_made in ana.history(file.id):
    print(f"  {change_made.event}: {change_made.reason}")
print(f"remembered in {file.theme}, {file.key}: {file.content!r}")
print(f"after undo: {ana.undo(file.id).content!r}")
memory.close()
