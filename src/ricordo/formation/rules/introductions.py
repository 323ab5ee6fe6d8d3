"""Names given with a greeting: "Hi, I'm Ana", where "I'm" alone goes with anything."""

import re

from ricordo.formation.rules.places import NOT_PLACES
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.things import capitalised_name, name

_NAME = r"(?P<name>[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*){0,2})"
_GIVEN = (
    (
        re.compile(
            rf"(?:(?:I am|[Tt]his is|[Ii]t(?:'s| is)) {_NAME}(?=$|,| from (?!the\b)| and | here$)|"
            rf"{_NAME.replace('<name>', '<here>')} (?:here|again)(?=$|,))"
        ),
        "User's name is {}.",
    ),
    (re.compile(rf"saya(?: adalah)? {_NAME}(?=$|,| dari | dan )"), "Nama pengguna adalah {}."),
)
_PRESENTED = re.compile(
    r"(?:\w+[,!]? ){0,2}(?:kenalin|kenalkan|perkenalkan)[,]? (?:nama )?(?:saya|aku|gue|gw|gua)"
    r"(?: adalah)? (?P<name>[\w'’-]{2,20}(?: [\w'’-]{2,20})?)(?=$|,| dari | dan )",
    re.IGNORECASE,
)


def name_given_in_greeting(english: str, indonesian: str) -> Statement | None:
    """The name in a regular clause that follows a greeting."""
    for clause, (pattern, content) in zip((english, indonesian), _GIVEN, strict=True):
        given = pattern.match(clause)
        groups = given.groupdict() if given else {}
        found = capitalised_name(groups.get("name") or groups.get("here") or "")
        if found and found.lower() not in NOT_PLACES:
            return Statement(content.format(found), key="preferred_name", importance=4)
    return None


def name_presented(text: str) -> Statement | None:
    """The name after "kenalin", by which one presents oneself, in capitals or not."""
    given = _PRESENTED.match(text)
    found = name(given["name"]) if given else None
    if found is None:
        return None
    return Statement(f"Nama pengguna adalah {found}.", key="preferred_name", importance=4)
