"""Adapters leave it to the program who the assistant is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.integrations.adapter import Chats


@pytest.mark.requirement("proxy.persona")
def test_no_prompt_file_is_sent(open_store: Callable[..., Memory], tmp_path: Path) -> None:
    files = tmp_path / "files"
    for path, text in (
        ("prompts/SOUL.md", "You are Pip."),
        ("prompts/RULES.md", "Rhyme always."),
        ("people/ana/USER.md", "Knits."),
    ):
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_text(text)
    ana = open_store(":memory:", files=str(files)).user("ana")
    ana.add("The user drinks green tea", theme="drinks")
    told = Chats().recall(ana, "What does the user drink?", None) or ""
    assert "green tea" in told
    assert not [text for text in ("Pip", "Rhyme", "Knits") if text in told]
    assert "Knits." in ana.context("What does the user drink?").system
