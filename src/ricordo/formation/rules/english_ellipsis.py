"""English chat that leaves out "I": the subject is put back where nobody else can be meant."""

import re
from typing import Final

from ricordo.formation.rules.english_forms import regular
from ricordo.formation.rules.english_personal import any_of
from ricordo.formation.rules.word_lists import BUSINESSES, OCCUPATIONS

# Before the part that is left out nothing may stand but such words.
_NOTHING_SAID = re.compile(
    r"\W*(?:(?:hi|hello|hey|hiya|ok|okay|yes|yeah|yep|well|so|also|and|oh|btw|by the way|fyi|"
    r"honestly|tbh|anyway|there|all|hmm|um|uh|plus|lol|thanks|thank you|just|update)\W+){0,4}",
    re.IGNORECASE,
)
_LEFT_OUT: Final = tuple(
    (re.compile(rf"(?:{begins})(?!\w)", re.IGNORECASE), subject)
    for begins, subject in (
        (r"been (?:living|working|studying|teaching|learning|playing|(?:a )?vegan|"
            r"(?:a )?vegetarian)",
         "I have"),
        (r"(?:just |recently |finally )(?:started|moved|turned|got|adopted|retired|bought|joined|"
         r"finished|graduated)", "I"),
        (r"retired (?:last|in|after|early|two|three|\d)|moved (?:here )?from .{2,30} to|"
         r"grew up in|got (?:a new|married(?= (?:last|in|this|two|a)\b|[,.!]|$)|"
         r"an? \w+ called)|adopted an?", "I"),
        (r"can(?:['’]?t|not) stand|hate(?! (?:to|it|that|this|when|on|speech|crimes?|"
            r"mail)\b)", "I"),
        (r"born (?:(?:and (?:raised|bred) )?in|(?:on )?(?:the )?\d)", "I was"),
        (rf"(?:own|run|manage) an? (?:[\w-]+ ){{0,3}}(?:{any_of(BUSINESSES)})|"
         r"live (?:in|by|near)|work (?:as an?|at|for|in|from home)", "I"),
        (r"(?:a )?(?:big|huge|massive) fan of", "I am"),
        (r"(?:currently|now|still|presently) (?:living|working|studying|learning|doing|training)",
         "I am"),
        (r"not (?:a (?:big |huge )?fan of|into|keen on|fond of)", "I am"),
        (r"(?:(?:severely|very|highly|deathly) )?allergic to|"
         r"based in|originally from", "I am"),
        (r"(?:trying|hoping|planning) to (?:learn|lose|quit|save|run|move|become|get)|"
         r"training for|saving (?:up )?for", "I am"),
    )
)  # fmt: skip
# An -ing form that opens a clause may also be what the clause is about: "moving to Rome is hard".
_GERUND: Final = re.compile(
    r"(?:(?:moving|relocating|flying|travell?ing) (?:from .{2,30} )?(?:back )?to|"
    r"doing (?:a|my) (?:[\w-]+ ){0,2}(?:phd|master['’]?s|bachelor['’]?s|mba|degree|doctorate)|"
    r"living in|working as|getting married)(?!\w)",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|isn['’]t|are|was|were|can|could|will|would|might|may|should|must|takes?|took|makes?|"
    r"made|seems?|sounds?|feels?|means?|requires?|needs?|has|have|had|costs?|does|did|helps?|gets?|"
    r"sucks?|became|becomes)\b",
    re.IGNORECASE,
)
_HERE = re.compile(r"(?:an? )?((?:[a-z'’-]+ ){0,4}([a-z]+)) here(?=$|,)", re.IGNORECASE)
_ITEMS_MAX: Final = 8
_ABOUT_ME = re.compile(r"\b(?:about|abt) (?:me|myself)\s*:\s*", re.IGNORECASE)
_ITEM_SUBJECTS: Final = ("I am", "I have", "I")


def with_subject(text: str, before: str) -> str:
    """The clause with "I" put back, or as it stands; ``before`` is its sentence so far."""
    if not _NOTHING_SAID.fullmatch(before):
        return text
    opening = _NOTHING_SAID.match(text)
    bare = text[opening.end() :] if opening else text
    full = text if re.match(r"\W*just\b", text, re.IGNORECASE) else bare
    for said in dict.fromkeys((full, bare)):
        for begins, subject in _LEFT_OUT:
            if begins.match(said):
                return f"{subject} {said}"
    if _GERUND.match(bare) and not _FINITE.search(bare):
        return f"I am {bare}"
    here = _HERE.match(bare)
    if here and here[2].lower() in OCCUPATIONS:
        return f"I am a {here[1]}"
    return text


def items_about_me(text: str) -> list[tuple[str, int]]:
    """The pieces of a list such as "about me: vegan, two cats", with their places."""
    introduction = _ABOUT_ME.search(text)
    if introduction is None:
        return []
    pieces = []
    place = introduction.end()
    for piece in text[place:].split(",")[:_ITEMS_MAX]:
        bare = piece.strip()
        if bare:
            pieces.append((bare, place + piece.index(bare[0])))
        place += len(piece) + 1
    return pieces


def readings(item: str) -> list[str]:
    """What such a piece may say in full, in regular form."""
    return [regular(f"{subject} {item}") for subject in _ITEM_SUBJECTS]
