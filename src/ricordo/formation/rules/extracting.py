"""The rule-based extractor: what a passage states about the user, in the order said."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.rules import (
    english_family,
    english_household,
    english_occupied,
    english_personal,
    english_profile,
    english_self,
    english_work,
    indonesian_family,
    indonesian_household,
    indonesian_personal,
    indonesian_profile,
    indonesian_self,
)
from ricordo.formation.rules.clauses import Clause, clauses
from ricordo.formation.rules.english_ellipsis import items_about_me, readings, with_subject
from ricordo.formation.rules.english_forms import is_greeting, of_both
from ricordo.formation.rules.english_forms import regular as regular_english
from ricordo.formation.rules.explicit import Request, is_surely_asked_for, requests_in
from ricordo.formation.rules.general import general_statement
from ricordo.formation.rules.guards import may_be_source, without_helpful_tail
from ricordo.formation.rules.indonesian_forms import regular as regular_indonesian
from ricordo.formation.rules.instructions import instruction
from ricordo.formation.rules.introductions import name_given_in_greeting, name_presented
from ricordo.formation.rules.plans import plan_or_goal
from ricordo.formation.rules.procedures import procedure_in
from ricordo.formation.rules.remembering import as_it_stands
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.screening import screened
from ricordo.formation.rules.sentences import Sentence, sentences

MAX_CANDIDATES: Final = 10  # of one passage
MAX_CONTENT_CHARS: Final = 280

_RULES: Final = (
    (
        regular_english,
        (
            *english_profile.RULES,
            *english_work.RULES,
            *english_personal.RULES,
            *english_family.RULES,
            *english_self.RULES,
            *english_occupied.RULES,
            *english_household.RULES,
        ),
    ),
    (
        regular_indonesian,
        (
            *indonesian_profile.RULES,
            *indonesian_personal.RULES,
            *indonesian_family.RULES,
            *indonesian_self.RULES,
            *indonesian_household.RULES,
        ),
    ),
)
_PERSON_LEFT = re.compile(
    r"\b(?:i|me|my|mine|myself|we|our|ours|you|your|yours|yourself|i'm|saya|aku|gue|gua|gw|"
    r"kamu|anda|kita|kami)\b"
    r"|\bus\b",
    re.IGNORECASE,
)


def extract(passage: Passage) -> list[Candidate]:
    """What the user states about themselves in a passage; nothing for what a tool gave back.

    At most ten candidates; where two are about the same key, the later one.
    """
    if not passage.is_from_user:
        return []
    by_subject: dict[str, Candidate] = {}
    for statement, start, end in _statements(passage):
        subject = statement.key or statement.content
        if _is_sound(statement.content):
            by_subject.pop(subject, None)
            by_subject[subject] = _candidate(passage, statement, start, end)
        if len(by_subject) == MAX_CANDIDATES:
            break
    return list(by_subject.values())


def _candidate(passage: Passage, statement: Statement, start: int, end: int) -> Candidate:
    return Candidate(
        content=statement.content,
        quote=passage.text[start:end],
        passage=passage,
        type=statement.type,
        theme=statement.theme,
        key=statement.key,
        importance=statement.importance,
        is_explicit=statement.is_explicit,
    )


def _is_sound(content: str) -> bool:
    without_country = re.sub(r"\b(?:US|IT)\b", "", content)
    return len(content) <= MAX_CONTENT_CHARS and not _PERSON_LEFT.search(without_country)


def _statements(passage: Passage) -> Iterator[tuple[Statement, int, int]]:
    own = screened(passage.text)
    procedure = procedure_in(own)
    if procedure:
        yield procedure.statement, procedure.start, procedure.end
        own = (
            own[: procedure.start] + " " * (procedure.end - procedure.start) + own[procedure.end :]
        )
    found = sentences(own)
    requests = {request.body.start: request for request in requests_in(found, own)}
    requested = {request.body.end: request for request in requests.values()}
    greeted = False
    for sentence in found:
        request = requested.get(sentence.end) or requests.get(sentence.start)
        greeted = greeted or (sentence is found[0] and is_greeting(sentence.text))
        if request:
            before = own[sentence.start : request.start].rstrip(" ,")
            yield from _said(passage, Sentence(before, sentence.start, ""), greeted)
            yield from _asked_for(passage, request)
        else:
            yield from _said(passage, sentence, greeted)


# Names inside a sentence, and numbers.
_NAMED = re.compile(r"(?<=\s)[A-Z][\w'’-]+|\d+")


def _asked_for(passage: Passage, request: Request) -> Iterator[tuple[Statement, int, int]]:
    """What a request to remember holds: by the rules, or else the whole of it.

    Also the whole where the rules would leave out a name or a number: it was asked for.
    """
    told = list(_said(passage, request.body, greeted=False))
    contents = " ".join(statement.content for statement, _, _ in told)
    left_out = [name for name in _NAMED.findall(request.body.text) if name not in contents]
    whole = as_it_stands(request) if left_out or not told else None
    if whole:
        # Where one rule has read it, that still tells what it is about.
        about = replace(told[0][0], content=whole.content) if len(told) == 1 else whole
        told = [(about, request.body.start, request.body.end)]
    else:
        told += _added_to(request, told)
    for statement, start, end in told:
        is_explicit = is_surely_asked_for(statement.content, request)
        yield replace(statement, is_explicit=is_explicit), start, end


_AND_THAT = re.compile(
    r"\b(?:and|but|dan|serta)\s+(?:also\s+|juga\s+)?(?:that|bahwa|kalau|kalo)\s*$", re.IGNORECASE
)


def _added_to(
    request: Request, told: list[tuple[Statement, int, int]]
) -> list[tuple[Statement, int, int]]:
    """What a request adds ("… and that …") and no rule reads, as it stands: it was asked for."""
    found = []
    for clause in clauses(request.body):
        is_read = any(start < clause.end and clause.start < end for _, start, end in told)
        if is_read or not _AND_THAT.search(clause.before):
            continue
        body = Sentence(clause.text, clause.start, "")
        alone = as_it_stands(replace(request, start=clause.start, end=clause.end, body=body))
        if alone:
            found.append((alone, clause.start, clause.end))
    return found


def _said(
    passage: Passage, sentence: Sentence, greeted: bool
) -> Iterator[tuple[Statement, int, int]]:
    """What a sentence says: a standing instruction, or what its clauses state."""
    if "?" not in sentence.ending:
        standing = instruction(sentence.text)
        if standing:
            yield standing, sentence.start, sentence.end
            return
    for clause in clauses(sentence):
        if may_be_source(sentence, clause):
            for statement in _stated(passage, clause, greeted):
                yield statement, clause.start, clause.end
    for item, place in items_about_me(sentence.text):
        listed = _listed(item)
        if listed:
            yield listed, sentence.start + place, sentence.start + place + len(item)


def _listed(item: str) -> Statement | None:
    """What a piece of a list about the user says."""
    for reading in readings(item):
        for rule in _RULES[0][1]:
            statement = rule.read(reading)
            if statement:
                return statement
    return None


def _stated(passage: Passage, clause: Clause, greeted: bool) -> Iterator[Statement]:
    """What a clause states: by the close rules, or else by the form of the sentence alone."""
    text = without_helpful_tail(clause.full)
    if not clause.subject:
        text = with_subject(text, clause.before)
    found = [*_closely(passage, text), *_named(text, clause, greeted)]
    if not found:
        general = general_statement(text, passage.at)
        found = [general] if general else []
    yield from found


def _closely(passage: Passage, text: str) -> Iterator[Statement]:
    for regular, rules in _RULES:
        spelled_out = regular(text)
        for rule in rules:
            statement = rule.read(spelled_out) or rule.read(of_both(spelled_out))
            if statement:
                yield statement
    plan = plan_or_goal(regular_english(text), regular_indonesian(text), passage.at)
    if plan:
        yield plan


def _named(text: str, clause: Clause, greeted: bool) -> Iterator[Statement]:
    presented = name_presented(text)
    if presented:
        yield presented
    if greeted or is_greeting(clause.before) or is_greeting(text):
        name = name_given_in_greeting(regular_english(text), regular_indonesian(text))
        if name:
            yield name
