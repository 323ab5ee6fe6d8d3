"""Sets of conversations with questions about them, read from one JSON file.

The format is neutral: whatever a set was made from, it becomes turns, questions and the ids of the
turns that answer them. What the format states is checked before anything is measured, because a
set that breaks it would give numbers that mean nothing. Fields beyond it are left alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.model import checks
from ricordo.model.checks import parse_moment
from ricordo.transfer.foreign_files import JsonObject, a_list, a_text, an_object, parsed, read_text

_ROLES: Final = ("user", "assistant", None)


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """Something that was said. ``text`` may be blank where a set has turns without words."""

    id: str
    thread: str
    actor: str | None
    role: str | None
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, and the turns that answer it.

    ``stale`` and ``fresh`` are the turns with the old and the new statement of a fact that
    changed, or None where the question is not about such a fact.
    """

    id: str
    text: str
    category: str
    evidence: tuple[str, ...]
    stale: tuple[str, ...] | None
    fresh: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one user said and heard, in order, and the questions about it."""

    id: str
    turns: tuple[SaidTurn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Conversations to measure with."""

    name: str
    conversations: tuple[Conversation, ...]

    @property
    def turn_count(self) -> int:
        """How many turns there are in all conversations."""
        return sum(len(conversation.turns) for conversation in self.conversations)

    @property
    def question_count(self) -> int:
        """How many questions there are about all conversations."""
        return sum(len(conversation.questions) for conversation in self.conversations)


def read_questions(path: Path) -> QuestionSet:
    """Read and check a whole set.

    Raises:
        ImportFailed: the file cannot be read, or breaks the format; the message says where.
    """
    text = read_text(path, limits.MAX_IMPORT_FILE_BYTES)  # one's own, and as large as it is
    whole = an_object(str(path), parsed(str(path), text))
    listed = a_list(f"{path}, conversations", whole.get("conversations"))
    if not listed:
        raise ImportFailed(f"{path}, conversations: there are none")
    conversations = tuple(
        _conversation(f"{path}, conversation {number}", entry)
        for number, entry in enumerate(listed, start=1)
    )
    _no_repeats(f"{path}, conversations", (one.id for one in conversations))
    return QuestionSet(a_text(f"{path}, name", whole.get("name")), conversations)


def _conversation(place: str, entry: object) -> Conversation:
    given = an_object(place, entry)
    conversation_id = _reference(f"{place}, id", given.get("id"))
    place = f"{place} ({conversation_id})"
    turns = tuple(
        _turn(f"{place}, turn {number}", turn)
        for number, turn in enumerate(a_list(f"{place}, turns", given.get("turns")), start=1)
    )
    _no_repeats(f"{place}, turns", (turn.id for turn in turns))
    _in_order(place, turns)
    known = frozenset(turn.id for turn in turns)
    asked = a_list(f"{place}, questions", given.get("questions"))
    questions = tuple(
        _question(f"{place}, question {number}", question, known)
        for number, question in enumerate(asked, start=1)
    )
    _no_repeats(f"{place}, questions", (question.id for question in questions))
    return Conversation(conversation_id, turns, questions)


def _turn(place: str, entry: object) -> SaidTurn:
    given = an_object(place, entry)
    turn_id = _reference(f"{place}, id", given.get("id"))
    place = f"{place} ({turn_id})"
    role = given.get("role")
    if role not in _ROLES:
        raise ImportFailed(f"{place}, role: {role!r} is not user, assistant or null")
    actor = given.get("actor")
    text = a_text(f"{place}, text", given.get("text"))
    return SaidTurn(
        id=turn_id,
        thread=_reference(f"{place}, thread", given.get("thread")),
        actor=None if actor is None else _reference(f"{place}, actor", actor),
        role=role,
        at=_moment(f"{place}, at", given.get("at")),
        text=_text(f"{place}, text", text, limits.MAX_TURN_CHARS) if text.strip() else "",
    )


def _question(place: str, entry: object, known: frozenset[str]) -> Question:
    given = an_object(place, entry)
    question_id = a_text(f"{place}, id", given.get("id"))
    place = f"{place} ({question_id})"
    evidence = _turn_ids(f"{place}, evidence", given.get("evidence"), known)
    return Question(
        id=question_id,
        text=_text(f"{place}, text", given.get("text"), limits.MAX_QUERY_CHARS),
        category=a_text(f"{place}, category", given.get("category")),
        evidence=evidence,
        stale=_optional_turn_ids(place, "stale", given, known),
        fresh=_optional_turn_ids(place, "fresh", given, known),
    )


def _turn_ids(place: str, value: object, known: frozenset[str]) -> tuple[str, ...]:
    found = tuple(a_text(place, entry) for entry in a_list(place, value))
    _no_repeats(place, found)
    for turn_id in found:
        if turn_id not in known:
            raise ImportFailed(f"{place}: no turn {turn_id!r} in this conversation")
    return found


def _optional_turn_ids(
    place: str, name: str, given: JsonObject, known: frozenset[str]
) -> tuple[str, ...] | None:
    value = given.get(name)
    return None if value is None else _turn_ids(f"{place}, {name}", value, known)


def _in_order(place: str, turns: tuple[SaidTurn, ...]) -> None:
    """Refuse times that run backwards, and threads that are left and taken up again."""
    seen: set[str] = set()
    last: SaidTurn | None = None
    for number, turn in enumerate(turns, start=1):
        where = f"{place}, turn {number} ({turn.id})"
        if last is not None and turn.at < last.at:
            raise ImportFailed(f"{where}, at: is before the turn that comes before it")
        if last is None or turn.thread != last.thread:
            if turn.thread in seen:
                raise ImportFailed(f"{where}, thread: {turn.thread!r} had ended before")
            seen.add(turn.thread)
        last = turn


def _no_repeats(place: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ImportFailed(f"{place}: {one!r} is there twice")
        seen.add(one)


def _reference(place: str, value: object) -> str:
    try:
        return checks.reference(place, value)
    except InvalidValue as problem:
        raise ImportFailed(str(problem)) from None


def _text(place: str, value: object, maximum: int) -> str:
    try:
        return checks.text(place, value, maximum)
    except InvalidValue as problem:
        raise ImportFailed(str(problem)) from None


def _moment(place: str, value: Any) -> datetime:
    try:
        return parse_moment(place, value)
    except InvalidValue as problem:
        raise ImportFailed(str(problem)) from None
