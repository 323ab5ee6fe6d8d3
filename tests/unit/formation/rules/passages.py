"""Passages as a user says them."""

from datetime import UTC, datetime

from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.rules.extracting import extract

NOW = datetime(2025, 5, 14, 9, 0, tzinfo=UTC)


def passage(text: str, role: str = USER_ROLE, at: datetime = NOW) -> Passage:
    return Passage(turn_id=1, position=0, role=role, actor=None, message_id=None, at=at, text=text)


def said(text: str, at: datetime = NOW) -> list[Candidate]:
    return extract(passage(text, at=at))
