"""Passages as a user says them."""

from datetime import UTC, datetime

from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.gate import gate
from ricordo.formation.own_words import in_own_words

NOW = datetime(2025, 5, 14, 9, 0, tzinfo=UTC)


def passage(text: str, role: str = USER_ROLE, at: datetime = NOW, number: int = 1) -> Passage:
    return Passage(
        turn_id=number, position=number, role=role, actor=None, message_id=None, at=at, text=text
    )


def said(text: str, at: datetime = NOW) -> list[Candidate]:
    return in_own_words(passage(text, at=at), gate().read(text))


def written(text: str) -> str:
    """What is learned, each with its key behind it."""
    return " ".join(
        f"{found.content} [{found.key}]" if found.key else found.content for found in said(text)
    )
