"""Reading a set of questions: what it holds, and what is refused with the place named."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo.errors import ImportFailed
from ricordo_bench.recall import read_questions
from tests.bench.sets import small_set, written


def test_a_set_is_read_whole(tmp_path: Path) -> None:
    content = small_set()
    for name in ("answer", "at", "stale", "fresh"):  # what may be null may be left out
        del content["conversations"][0]["questions"][0][name]
    found = read_questions(written(tmp_path, content))
    assert found.conversations[0].questions[0].stale is None
    assert (found.name, found.turn_count, found.question_count) == ("small", 8, 6)
    people, chat = found.conversations
    assert (people.id, chat.id) == ("people", "chat")
    first = people.turns[0]
    assert (first.id, first.thread, first.actor, first.role) == ("t1", "s1", "ana", None)
    assert first.at == datetime(2025, 3, 1, 10, 0, 1, tzinfo=UTC)
    assert first.text == "My sister keeps bees behind the old mill."
    assert people.turns[4].text == ""
    assert people.questions[1].evidence == ("t2", "t4")
    assert people.questions[2].category == "adversarial"
    assert (chat.questions[0].stale, chat.questions[0].fresh) == (("t1",), ("t3",))
    assert (chat.questions[1].stale, chat.questions[1].fresh) == (None, None)


def changed(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Puts a value at a place such as ``conversations.0.turns.1.at``."""

    def change(content: Any) -> None:
        *steps, last = path.split(".")
        for step in steps:
            content = content[int(step) if step.isdigit() else step]
        content[int(last) if last.isdigit() else last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("name", 3), "name: expected text, got a number"),
        (changed("conversations", []), "conversations: there are none"),
        (changed("conversations.1.id", ""), "conversation 2, id: must not be empty"),
        (changed("conversations.1.id", "people"), "conversations: 'people' is there twice"),
        (changed("conversations.0.turns.1.id", "t1"), "(people), turns: 't1' is there twice"),
        (changed("conversations.0.turns.1.role", "tool"), "turn 2 (t2), role: 'tool' is not"),
        (changed("conversations.0.turns.1.at", "noon"), "turn 2 (t2), at: expected an ISO 8601"),
        (
            changed("conversations.0.turns.1.at", "2025-02-01T00:00:00+00:00"),
            "turn 2 (t2), at: is before the turn that comes before it",
        ),
        (changed("conversations.0.turns.4.thread", "s1"), "(t5), thread: 's1' had ended before"),
        (changed("conversations.0.turns.1.text", "a\0b"), "turn 2 (t2), text: must not contain"),
        (changed("conversations.0.questions.0.id", "q2"), "questions: 'q2' is there twice"),
        (changed("conversations.0.questions.0.text", " "), "question 1 (q1), text: must not be"),
        (changed("conversations.0.questions.0.text", "a" * 1_001), "text: 1001 characters"),
        (changed("conversations.0.questions.0.evidence", ["t9"]), "evidence: no turn 't9' in"),
        (changed("conversations.0.questions.0.evidence", ["t1", "t1"]), "'t1' is there twice"),
        (changed("conversations.0.questions.0.stale", ["t9"]), "(q1), stale: no turn 't9'"),
    ],
)
def test_what_breaks_the_format_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    content = small_set()
    change(content)
    with pytest.raises(ImportFailed) as refused:
        read_questions(written(tmp_path, content))
    assert message in str(refused.value)


def test_a_file_that_is_no_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    with pytest.raises(ImportFailed, match="cannot be read"):
        read_questions(path)
    for raw, message in (
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"[]", "expected an object"),
    ):
        path.write_bytes(raw)
        with pytest.raises(ImportFailed, match=message):
            read_questions(path)
