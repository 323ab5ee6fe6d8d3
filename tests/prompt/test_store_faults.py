"""A store that fails is told in the prompt; whoever asked gets one all the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.storage.conversation_tables import thread_views

pytestmark = pytest.mark.requirement("prompt.unavailable")


def test_a_closed_store_gives_the_unavailable_block(
    open_store: Callable[..., Memory], backend_url: str, tmp_path: Path
) -> None:
    prompts = tmp_path / "files" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "SOUL.md").write_text("Be kind.")
    memory = open_store(backend_url, files=tmp_path / "files")
    ana = memory.user("ana")
    ana.add("The user drinks green tea")
    memory.close()

    context = ana.context("What tea?", thread="t", modes="tools,recall")
    assert "unavailable" in context.system and "Be kind." in context.system
    assert "memory_search" not in context.system
    assert context.memories == () and context.problems
    assert context.messages[-1] == {"role": "user", "content": "What tea?"}


def test_changes_that_cannot_be_read_are_told_later(
    memory: Memory, owner_url: str, open_store: Callable[..., Memory]
) -> None:
    owner = open_store(owner_url).database
    ana = memory.user("ana")
    ana.add("Something")
    ana.context("", thread="t")
    ana.add("Prefers tea", theme="drinks")
    with owner.transaction() as connection:
        connection.exec_driver_sql("ALTER TABLE thread_views RENAME TO away")
    try:
        context = ana.context("hi", thread="t")
        assert context.delta == () and context.problems
        assert "- drinks (1)" in context.system
    finally:
        with owner.transaction() as connection:
            connection.exec_driver_sql(f"ALTER TABLE away RENAME TO {thread_views.name}")
    assert len(ana.context("hi", thread="t").delta) == 1
