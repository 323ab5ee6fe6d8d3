"""The second line: what the form of a clause says where no rule knows its words."""

from datetime import datetime
from typing import Final

from ricordo.formation.rules import (
    english_about,
    english_holding,
    english_roles,
    english_tastes,
    indonesian_general,
)
from ricordo.formation.rules.english_engagements import aim, engagement
from ricordo.formation.rules.english_forms import of_both, regular, spelled_out
from ricordo.formation.rules.english_habits import habit, ongoing
from ricordo.formation.rules.indonesian_forms import regular as regular_indonesian
from ricordo.formation.rules.indonesian_habits import (
    indonesian_aim,
    indonesian_engagement,
    indonesian_habit,
)
from ricordo.formation.rules.rule import Statement

_ENGLISH: Final = (
    *english_roles.RULES,
    *english_tastes.RULES,
    *english_holding.RULES,
    *english_about.RULES,
)


def general_statement(text: str, at: datetime) -> Statement | None:
    """What a clause states by its form; the first reading counts."""
    return _english(text, at) or _indonesian(text, at)


def _indonesian(text: str, at: datetime) -> Statement | None:
    clause = regular_indonesian(text)
    for rule in indonesian_general.RULES:
        statement = rule.read(clause)
        if statement:
            return statement
    return indonesian_engagement(clause, at) or indonesian_habit(clause) or indonesian_aim(clause)


def _english(text: str, at: datetime) -> Statement | None:
    clause = regular(text)
    for rule in _ENGLISH:
        statement = rule.read(clause) or rule.read(of_both(clause))
        if statement:
            return statement
    full = spelled_out(text)
    return engagement(full, at) or habit(full) or ongoing(full) or aim(clause)
