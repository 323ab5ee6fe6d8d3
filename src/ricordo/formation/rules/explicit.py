"""What the user explicitly asked to be remembered."""

import re
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules.clauses import (
    Sentence,
    clauses,
    is_not_in_earnest,
    may_be_source,
    screened,
    sentences,
)
from ricordo.formation.rules.regular_forms import (
    english_in_third_person,
    indonesian_in_third_person,
)
from ricordo.formation.rules.rule import (
    RuleMatch,
    capitalised,
    has_indonesian_possessive,
    has_pronoun,
    short_slug,
)
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.formation.words import alternatives, pattern
from ricordo.model.vocabulary import MemoryType

_POLITE = alternatives("explicit", "polite")
_STRONG = alternatives("explicit", "strong request")
_WEAK = alternatives("explicit", "weak request")
_BEFORE = re.compile(rf"(?P<polite>{_POLITE})(?:(?P<strong>{_STRONG})|{_WEAK})\s*", re.IGNORECASE)
_AFTER = pattern("explicit", "request after", re.IGNORECASE)
_INTRODUCES = pattern("explicit", "introduces", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-*•–+]|\(?\d{1,3}[.)])[ \t]+\S")
_NOD = pattern("explicit", "nod", re.IGNORECASE)
_ASKED = re.compile(r"\W*(?:please |pls )?(?:can|could|will|would|bisa)\b", re.IGNORECASE)

_MOST_PRIVATE: Final = frozenset({"health", "faith", "sexuality", "politics", "money"})

_MIN_WORDS: Final = 3
_MAX_WORDS: Final = 40
_FILLER_TAIL = re.compile(
    r"[,\s]+(?:please|pls|ok|okay|thanks|thank you|ya|yah|dong|kak|makasih)\W*$", re.IGNORECASE
)
# "my member number, it's 4512": the thing is named twice.
_IT_IS = re.compile(r"^(my [\w' -]{2,40}?),? (?:it['’]?s|it is|that['’]?s) ", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|i['’]m|im|i['’]ve|my|me|mine)\b", re.IGNORECASE)
_FIRST_PERSON_INDONESIAN = pattern("explicit", "first person indonesian", re.IGNORECASE)
_INDONESIAN = pattern("explicit", "indonesian", re.IGNORECASE)
_STATES = pattern("explicit", "states", re.IGNORECASE)

_REACH_CHARS: Final = 1_000
_MIN_STEPS: Final = 2

_REQUEST = pattern("explicit", "request for steps", re.IGNORECASE)
_REQUEST_AFTER = pattern("explicit", "request after steps", re.IGNORECASE)
_HEADING = pattern("explicit", "heading of steps", re.IGNORECASE)
_STEP = re.compile(
    r"(?:^|\s)(?P<number>\d{1,2})[.)][ \t]+(?P<text>[^\n]{2,200}?)(?=\s+\d{1,2}[.)][ \t]|\n|$)"
)
_IT = re.compile(r"\b(?:it|them)\b", re.IGNORECASE)
_END_OF_SENTENCE = re.compile(r"[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to remember a sentence, or its last part from ``body_start`` on.

    ``is_strong``: the verb has no other meaning; "note that" also just explains. ``start`` and
    ``end`` include the words of the request.
    """

    start: int
    end: int
    body: Sentence
    is_strong: bool


def requests_in(all_sentences: list[Sentence], text: str) -> list[Request]:
    found: list[Request] = []
    in_list_until = -1
    for number, sentence in enumerate(all_sentences):
        if sentence.start < in_list_until:
            found.append(Request(sentence.start, sentence.end, sentence, True))
            continue
        in_list_until = _end_of_list(sentence, text)
        request = _request_before(sentence) or _request_after(sentence)
        if request:
            found.append(request)
        elif number and _AFTER.fullmatch(sentence.text) and "?" not in sentence.ending:
            before = all_sentences[number - 1]
            if "?" not in before.ending and not (found and found[-1].end >= before.end):
                found.append(Request(before.start, sentence.end, before, True))
    return found


def is_certainly_requested(content: str, request: Request) -> bool:
    """Whether a request is certainly about this statement.

    Its first statement is. Of what is added ("and that I have cancer"), the most private is
    proposed instead of stored: it may have slipped in.
    """
    private = sensitive_fields_of(content, "", None) & _MOST_PRIVATE
    if not private:
        return True
    said = clauses(request.body)
    return not said or private <= sensitive_fields_of(said[0].full, "", None)


def explicit_spans(text: str) -> list[tuple[int, int]]:
    """The parts of a text that the user asked to be remembered, with the words of the request."""
    own = screened(text)
    return [(request.start, request.end) for request in requests_in(sentences(own), own)]


def _request_before(sentence: Sentence) -> Request | None:
    for clause in clauses(sentence):
        place = clause.start - sentence.start
        marker = _BEFORE.match(sentence.text, place)
        if marker is None:
            continue
        is_question = (
            "?" in sentence.ending
            and not _ASKED.match(sentence.text[place:])
            and not _NOD.search(sentence.text)
        )
        body = sentence.text[marker.end() :]
        if is_question or not body or is_not_in_earnest(clause.before):
            return None
        ending = sentence.ending.replace("?", "")
        said = Sentence(body, sentence.start + marker.end(), ending)
        return Request(clause.start, sentence.end, said, bool(marker["strong"]))
    return None


def _request_after(sentence: Sentence) -> Request | None:
    """A statement with "please remember that" at its end."""
    pieces = clauses(sentence)
    if len(pieces) > 1 and "?" not in sentence.ending and _AFTER.fullmatch(pieces[-1].text):
        body = sentence.text[: pieces[-2].end - sentence.start]
        return Request(sentence.start, sentence.end, Sentence(body, sentence.start, ""), True)
    return None


def _end_of_list(sentence: Sentence, text: str) -> int:
    """The end of a list that a sentence such as "Remember about me:" introduces, or -1."""
    if not _INTRODUCES.fullmatch(sentence.text):
        return -1
    place = text.find("\n", sentence.end)
    end = -1
    while place >= 0:
        line_end = text.find("\n", place + 1)
        if not _ITEM.match(text, place + 1):
            return end
        end = line_end if line_end >= 0 else len(text)
        place = line_end
    return end


def whole_request(request: Request) -> RuleMatch | None:
    """The whole request as one statement; None if it cannot be converted safely."""
    text = _FILLER_TAIL.sub("", request.body.text).strip(" ,.!")
    text = _IT_IS.sub(r"\1 is ", text)
    if not _MIN_WORDS <= len(text.split()) <= _MAX_WORDS:
        return None
    if not all(may_be_source(request.body, clause) for clause in clauses(request.body)):
        return None
    said = _said(text, request.is_strong)
    if said is None:
        return None
    is_own = bool(_FIRST_PERSON.search(text) or _FIRST_PERSON_INDONESIAN.search(text))
    theme = "profile" if is_own else "general"
    return RuleMatch(f"{capitalised(said)}.", theme=theme, importance=3, is_explicit=True)


def _said(text: str, is_strong: bool) -> str | None:
    if _FIRST_PERSON_INDONESIAN.search(text):
        return indonesian_in_third_person(text)
    if _FIRST_PERSON.search(text):
        starts = re.match(r"(?:i|i['’]m|im|i['’]ve|my)\b", text, re.IGNORECASE)
        return english_in_third_person(text) if starts or _STATES.search(text) else None
    if not is_strong or has_pronoun(text) or has_indonesian_possessive(text):
        return None
    return text if _STATES.search(text) or _INDONESIAN.search(text) else None


@dataclass(frozen=True, slots=True)
class Procedure:
    statement: RuleMatch
    start: int
    end: int


def procedure_in(text: str) -> Procedure | None:
    """The first procedure of a screened text that the user asks to be remembered."""
    request = _REQUEST.search(text)
    if request:
        start = request.start() + len(request.group()) - len(request.group().lstrip())
        return _procedure(text, start, request.end(), _title(request))
    after = _REQUEST_AFTER.search(text)
    first = _STEP.search(text, 0, after.start()) if after else None
    if after is None or first is None or first["number"] != "1":
        return None
    heading = _HEADING.search(text[: first.start() + 1])
    said = heading["how"] if heading else None
    title = _own_procedure(said) if said else None
    found = _procedure(text, first.start("number"), first.start(), title or "Steps")
    return found if found and found.end <= after.start() else None


def _procedure(text: str, start: int, low: int, title: str) -> Procedure | None:
    steps: list[str] = []
    end = low
    for step in _STEP.finditer(text, low, low + _REACH_CHARS):
        between = text[end : step.start()].strip(" \t\r\n.,;")
        if int(step["number"]) != len(steps) + 1 or between:
            break
        line = step["text"]
        stop = _END_OF_SENTENCE.search(line)
        steps.append((line[: stop.start()] if stop else line).strip(" ,;"))
        end = step.start("text") + len(line.rstrip())
        if stop and line[stop.end() :].strip():
            end = step.start("text") + stop.end()
            break
    content = " ".join(f"{number}. {step}." for number, step in enumerate(steps, start=1))
    # "Tag it" refers to the step before; any other pronoun is unresolved.
    if len(steps) < _MIN_STEPS or has_pronoun(f"{title} {_IT.sub('', content)}"):
        return None
    purpose = re.sub(r"^(?:Steps|Langkah) ?", "", title)
    key = short_slug(purpose)
    statement = RuleMatch(
        f"{title}: {content}",
        type=MemoryType.PROCEDURE,
        theme="procedures",
        key=f"procedure:{key}" if key else None,
        importance=3,
        is_explicit=True,
    )
    return Procedure(statement, start, end)


def _own_procedure(said: str) -> str | None:
    """The title of what the user describes as their own procedure: "How User brews"."""
    turned = english_in_third_person(f"I {said.strip()}")
    return f"How {turned}" if turned else None


def _title(request: re.Match[str]) -> str:
    if request["how"] is not None:
        return _own_procedure(request["how"]) or "Steps"
    said = (request["what"] or request["apa"] or "").strip(" ,")
    is_how_to = re.search(r"\bhow to\b", request.group(), re.IGNORECASE)
    if is_how_to and not said.lower().startswith(("for", "to")):
        said = f"to {said}"
    said = re.sub(r"\b(?:ini|berikut|following|please|ya)\b", "", said)
    said = re.sub(r" (?:saya|aku|gue|gw)\s*$|^(?:saya|aku|gue|gw) ", " ", said.strip())
    purpose = " ".join(said.split()).strip(" ,")
    name = "Langkah" if request["apa"] is not None else "Steps"
    return f"{name} {purpose}" if purpose else name
