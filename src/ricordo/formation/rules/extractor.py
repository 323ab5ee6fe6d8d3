"""Applies the rules to a passage."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.rules import english_facts, english_tastes, indonesian_facts
from ricordo.formation.rules.clauses import (
    Clause,
    Sentence,
    clauses,
    may_be_source,
    screened,
    sentences,
    without_helpful_tail,
)
from ricordo.formation.rules.explicit import (
    Request,
    is_certainly_requested,
    procedure_in,
    requests_in,
    whole_request,
)
from ricordo.formation.rules.instructions import instruction
from ricordo.formation.rules.noun_phrases import capitalised_name, name
from ricordo.formation.rules.regular_forms import (
    is_greeting,
    of_both,
    regular_english,
    regular_indonesian,
)
from ricordo.formation.rules.rule import (
    BUSINESSES,
    NOT_PLACES,
    OCCUPATIONS,
    RuleMatch,
    any_of,
    without_acronyms,
)
from ricordo.formation.words import pattern

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
    r"(?:\w+[,!]? ){0,2}(?:kenalin|kenalkan|perkenalkan)[,]? (?:nama )?(?:saya|aku|gue|gw|"
    r"gua)(?: adalah)? (?P<name>[\w'’-]{2,20}(?: [\w'’-]{2,20})?)(?=$|,| dari | dan )",
    re.IGNORECASE,
)

_NOTHING_SAID = pattern("clauses", "nothing said", re.IGNORECASE)
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
_GERUND: Final = pattern("clauses", "gerund", re.IGNORECASE)
_FINITE = pattern("clauses", "finite", re.IGNORECASE)
_HERE = re.compile(r"(?:an? )?((?:[a-z'’-]+ ){0,4}([a-z]+)) here(?=$|,)", re.IGNORECASE)
_ITEMS_MAX: Final = 8
_ABOUT_ME = re.compile(r"\b(?:about|abt) (?:me|myself)\s*:\s*", re.IGNORECASE)
_ITEM_SUBJECTS: Final = ("I am", "I have", "I")

MAX_CANDIDATES: Final = 10  # of one passage
MAX_CONTENT_CHARS: Final = 280

_RULES: Final = (
    (
        regular_english,
        (
            *english_facts.PROFILE_RULES,
            *english_facts.WORK_RULES,
            *english_tastes.PERSONAL_RULES,
            *english_facts.FAMILY_RULES,
            *english_facts.SELF_RULES,
            *english_facts.OCCUPATION_RULES,
            *english_facts.HOUSEHOLD_RULES,
        ),
    ),
    (
        regular_indonesian,
        (
            *indonesian_facts.PROFILE_RULES,
            *indonesian_facts.TASTE_RULES,
            *indonesian_facts.FAMILY_RULES,
            *indonesian_facts.SELF_RULES,
            *indonesian_facts.HOUSEHOLD_RULES,
        ),
    ),
)
_PERSON_LEFT = pattern("clauses", "person left", re.IGNORECASE)

# Names inside a sentence, and numbers.
_NAMED = re.compile(r"(?<=\s)[A-Z][\w'’-]+|\d+")

_AND_THAT = re.compile(
    r"\b(?:and|but|dan|serta)\s+(?:also\s+|juga\s+)?(?:that|bahwa|kalau|kalo)\s*$", re.IGNORECASE
)


def name_given_in_greeting(english: str, indonesian: str) -> RuleMatch | None:
    """The name in a regular clause that follows a greeting."""
    for clause, (greeting, content) in zip((english, indonesian), _GIVEN, strict=True):
        given = greeting.match(clause)
        groups = given.groupdict() if given else {}
        found = capitalised_name(groups.get("name") or groups.get("here") or "")
        if found and found.lower() not in NOT_PLACES:
            return RuleMatch(content.format(found), key="preferred_name", importance=4)
    return None


def name_presented(text: str) -> RuleMatch | None:
    """The name after "kenalin", in capitals or not."""
    given = _PRESENTED.match(text)
    found = name(given["name"]) if given else None
    if found is None:
        return None
    return RuleMatch(f"Nama pengguna adalah {found}.", key="preferred_name", importance=4)


def with_subject(text: str, before: str) -> str:
    """The clause with "I" restored, if that is what it leaves out; ``before`` is its sentence so
    far.
    """
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
    """The items of a list such as "about me: vegan, two cats", with their positions."""
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


def extract(passage: Passage) -> list[Candidate]:
    """What the user states about themselves in a passage; nothing for tool results.

    At most ten candidates; of two with the same key, the later one.
    """
    if not passage.is_from_user:
        return []
    by_subject: dict[str, Candidate] = {}
    for statement, start, end in _statements(passage):
        content = statement.content
        subject = statement.key or content
        if len(content) <= MAX_CONTENT_CHARS and not _PERSON_LEFT.search(without_acronyms(content)):
            by_subject.pop(subject, None)
            by_subject[subject] = Candidate(
                content=content,
                quote=passage.text[start:end],
                passage=passage,
                type=statement.type,
                theme=statement.theme,
                key=statement.key,
                importance=statement.importance,
                is_explicit=statement.is_explicit,
            )
        if len(by_subject) == MAX_CANDIDATES:
            break
    return list(by_subject.values())


def _statements(passage: Passage) -> Iterator[tuple[RuleMatch, int, int]]:
    own = screened(passage.text)
    procedure = procedure_in(own)
    if procedure:
        start, end = procedure.start, procedure.end
        yield procedure.statement, start, end
        own = own[:start] + " " * (end - start) + own[end:]
    found = sentences(own)
    requests = {request.body.start: request for request in requests_in(found, own)}
    requested = {request.body.end: request for request in requests.values()}
    greeted = False
    for sentence in found:
        request = requested.get(sentence.end) or requests.get(sentence.start)
        greeted = greeted or (sentence is found[0] and is_greeting(sentence.text))
        if request:
            before = own[sentence.start : request.start].rstrip(" ,")
            yield from _said(Sentence(before, sentence.start, ""), greeted)
            yield from _asked_for(request)
        else:
            yield from _said(sentence, greeted)


def _asked_for(request: Request) -> Iterator[tuple[RuleMatch, int, int]]:
    """The statements of a request to remember: by the rules, or else the whole request.

    Also the whole if the rules would leave out a name or a number: it was asked for.
    """
    statements = list(_said(request.body, greeted=False))
    contents = " ".join(statement.content for statement, _, _ in statements)
    left_out = [name for name in _NAMED.findall(request.body.text) if name not in contents]
    whole = whole_request(request) if left_out or not statements else None
    if whole:
        # If one rule has read it, its key and theme still apply.
        about = replace(statements[0][0], content=whole.content) if len(statements) == 1 else whole
        statements = [(about, request.body.start, request.body.end)]
    else:
        statements += _added_to(request, statements)
    for statement, start, end in statements:
        is_explicit = is_certainly_requested(statement.content, request)
        yield replace(statement, is_explicit=is_explicit), start, end


def _added_to(
    request: Request, statements: list[tuple[RuleMatch, int, int]]
) -> list[tuple[RuleMatch, int, int]]:
    """What a request adds ("… and that …") and no rule reads, unchanged: it was asked for."""
    found = []
    for clause in clauses(request.body):
        is_read = any(start < clause.end and clause.start < end for _, start, end in statements)
        if is_read or not _AND_THAT.search(clause.before):
            continue
        body = Sentence(clause.text, clause.start, "")
        alone = whole_request(replace(request, start=clause.start, end=clause.end, body=body))
        if alone:
            found.append((alone, clause.start, clause.end))
    return found


def _said(sentence: Sentence, greeted: bool) -> Iterator[tuple[RuleMatch, int, int]]:
    """A standing instruction, or what the clauses of a sentence state."""
    if "?" not in sentence.ending and (given := instruction(sentence.text)):
        yield given, sentence.start, sentence.end
        return
    for clause in clauses(sentence):
        if may_be_source(sentence, clause):
            for statement in _stated(clause, greeted):
                yield statement, clause.start, clause.end
    for item, place in items_about_me(sentence.text):
        # An item leaves out its subject and verb.
        readings = [regular_english(f"{subject} {item}") for subject in _ITEM_SUBJECTS]
        matches = (rule.read(reading) for reading in readings for rule in _RULES[0][1])
        if listed := next(filter(None, matches), None):
            yield listed, sentence.start + place, sentence.start + place + len(item)


def _stated(clause: Clause, greeted: bool) -> list[RuleMatch]:
    """What a clause states by the rules."""
    text = without_helpful_tail(clause.full)
    if not clause.subject:
        text = with_subject(text, clause.before)
    found: list[RuleMatch | None] = []
    for regular, rules in _RULES:
        said = regular(text)
        found += [rule.read(said) or rule.read(of_both(said)) for rule in rules]
    english, indonesian = regular_english(text), regular_indonesian(text)
    found.append(name_presented(text))
    if greeted or is_greeting(clause.before) or is_greeting(text):
        found.append(name_given_in_greeting(english, indonesian))
    return [statement for statement in found if statement is not None]
