"""Graphs that tests run, also in processes of their own: python -m tests.integrations.graphs …"""

import operator
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from ricordo.memory import Memory
from ricordo.wiring import open_memory
from tests.support.processes import die_at

ROOT = Path(__file__).parents[2]


class State(TypedDict):
    """What the graph works on."""

    said: Annotated[list[str], operator.add]
    approved: str


def asking_graph(saver: RicordoSaver) -> Any:
    """Drafts, asks a person, and then sends."""

    def draft(state: State) -> dict[str, Any]:
        return {"said": [f"draft of {len(state['said'])}"]}

    def ask(state: State) -> dict[str, Any]:
        return {"approved": interrupt({"question": "send?", "draft": state["said"][-1]})}

    def send(state: State) -> dict[str, Any]:
        return {"said": [f"sent: {state['approved']}"]}

    builder = StateGraph(State)
    builder.add_node("draft", draft)
    builder.add_node("ask", ask)
    builder.add_node("send", send)
    builder.add_edge(START, "draft")
    builder.add_edge("draft", "ask")
    builder.add_edge("ask", "send")
    builder.add_edge("send", END)
    return builder.compile(checkpointer=saver)


def config(thread: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """Where a graph keeps its state."""
    inner = {"thread_id": thread, "checkpoint_ns": ""}
    return {
        "configurable": inner
        if checkpoint_id is None
        else {**inner, "checkpoint_id": checkpoint_id}
    }


def put_state(saver: RicordoSaver, thread: str, number: int, parent: str | None = None) -> str:
    """Keep a checkpoint with two values that must come back together; its id."""
    checkpoint = empty_checkpoint()
    versions: dict[str, str | int | float] = {"left": f"{number}.l", "right": f"{number}.r"}
    checkpoint["channel_versions"] = versions
    checkpoint["channel_values"] = {"left": [number] * 100, "right": {"number": number}}
    saver.put(config(thread, parent), checkpoint, {"source": "loop", "step": number}, versions)
    return checkpoint["id"]


def start(name: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start one of the programs below."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integrations.graphs", name, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _open(url: str) -> Memory:
    return open_memory(url, run_jobs=False, upkeep=False, embedding_provider="none")


def die_putting(url: str, at_command: str) -> None:
    """Keep a checkpoint, its writes and an entry, and die at a command to the database."""
    with _open(url) as memory:
        user = memory.user("ana")
        saver, store = RicordoSaver(user), RicordoStore(user)
        die_at(int(at_command))
        parent = put_state(saver, "t", 2)
        saver.put_writes(config("t", parent), [("left", 1), ("right", 2)], "task")
        store.put(("notes",), "a", {"text": "second"})
        sys.setprofile(None)
        print("done")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
