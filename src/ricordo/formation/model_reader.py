"""Reads a segment of a conversation with a language model."""

import re
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation import prompts
from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.decisions import Rejection, RejectionCode
from ricordo.formation.evidence import find_quote, reason_in_material, supports
from ricordo.formation.hygiene import Transcript
from ricordo.formation.rules.clauses import screened, sentences
from ricordo.formation.rules.explicit import (
    explicit_spans,
    is_certainly_requested,
    procedure_in,
    requests_in,
)
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.metering import MeteredModel
from ricordo.model.vocabulary import MemoryType
from ricordo.providers.chat_model import Message
from ricordo.text.normalise import slug

SUBJECT: Final = "User"
_ANSWER_TOKENS: Final = 1_000


class ExtractedEntry(BaseModel, defer_build=True):
    """One entry as the model writes it."""

    content: str
    quote: str
    type: Literal["preference", "fact", "instruction", "episode", "procedure"]
    theme: str
    key: str
    importance: Annotated[int, Field(ge=1, le=5)]


class Extracted(BaseModel, defer_build=True):
    """What the model found worth remembering."""

    # In the schema only, not validated: excess entries are rejected and counted. With constrained
    # decoding it also stops a small model that would never end.
    memories: Annotated[
        list[ExtractedEntry], Field(json_schema_extra={"maxItems": limits.MAX_EXTRACTED_CANDIDATES})
    ]


def read_with_model(
    model: MeteredModel, user_id: str, transcript: Transcript
) -> tuple[list[Candidate], list[tuple[ExtractedEntry, Rejection]]]:
    """The candidates in the order said, and the rejections.

    Whether something was said explicitly, and where, is not left to the model.

    Raises:
        LanguageModelError: the model could not answer.
    """
    prompt = prompts.render(
        prompts.EXTRACT,
        subject=SUBJECT,
        most=limits.MAX_EXTRACTED_CANDIDATES,
        transcript=transcript.text,
    )
    found = model.ask(user_id, [Message("user", prompt)], Extracted, max_tokens=_ANSWER_TOKENS)
    candidates: list[Candidate] = []
    rejected: list[tuple[ExtractedEntry, Rejection]] = []
    for place, entry in enumerate(found.memories):
        if place >= limits.MAX_EXTRACTED_CANDIDATES:
            rejected.append((entry, Rejection(RejectionCode.TOO_MANY, "too many in one answer")))
            continue
        result = _candidate(entry, transcript)
        if isinstance(result, Rejection):
            rejected.append((entry, result))
        else:
            candidates.append(result)
    return sorted(candidates, key=lambda one: one.passage.position), rejected


def _candidate(entry: ExtractedEntry, transcript: Transcript) -> Candidate | Rejection:
    match = find_quote(entry.quote, transcript.passages)
    if match is None:
        reason = reason_in_material(entry.quote, transcript.passages)
        if reason is not None:
            return Rejection(RejectionCode.MATERIAL, reason)
        return Rejection(RejectionCode.NO_EVIDENCE, "the quote was not said")
    passage, quote = match
    if not supports(entry.content, quote, passage):
        return Rejection(RejectionCode.UNSUPPORTED, "names or numbers that were not said")
    kind = MemoryType(entry.type)
    is_explicit = passage.is_from_user and _was_asked_for(entry.content, quote, passage)
    if kind is MemoryType.PROCEDURE and not is_explicit:
        return Rejection(RejectionCode.NOT_ASKED_FOR, "steps that nobody asked to keep")
    return Candidate(
        content=entry.content,
        quote=quote,
        passage=passage,
        type=kind,
        theme=_theme(entry.theme),
        key=_key(entry.key),
        importance=entry.importance,
        is_explicit=is_explicit,
    )


def _was_asked_for(content: str, quote: str, passage: Passage) -> bool:
    """Whether the user asked for this to be remembered.

    The quote must be part of a request. A model may quote too much, or the wrong words; so what is
    sensitive must be in the request itself, or it would be stored without consent.
    """
    requests = " ".join(_requests_around(quote, passage.text))
    touched = sensitive_fields_of(content, "", None)
    if not requests or not touched <= sensitive_fields_of(requests, "", None):
        return False
    own = screened(passage.text)
    named = [one for one in requests_in(sentences(own), own) if one.body.text.strip() in requests]
    return not named or any(is_certainly_requested(content, one) for one in named)


def _requests_around(quote: str, text: str) -> list[str]:
    """The requests to remember something that overlap the quote."""
    spans = explicit_spans(text)
    if procedure := procedure_in(screened(text)):
        spans.append((procedure.start, procedure.end))
    places = [found.span() for found in re.finditer(re.escape(quote), text)]
    return [
        text[first:last]
        for first, last in spans
        if any(first < end and start < last for start, end in places)
    ]


def _theme(given: str) -> str | None:
    """A valid theme name, or None."""
    return slug(_printable(given))[: limits.MAX_THEME_CHARS].strip("-") or None


def _key(given: str) -> str | None:
    """As rules write keys: lower case, words joined by underscores."""
    joined = "_".join(_printable(given).casefold().replace("-", "_").split())
    return joined[: limits.MAX_KEY_CHARS] or None


def _printable(given: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in given)
