"""Finds candidates for memories in a segment of a conversation: by rules, or with a model.

It imports everything that reads and checks texts, which takes longer than most commands do. So it
is imported only when something is formed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation import prompts
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.decisions import Rejection, RejectionCode, rejected
from ricordo.formation.evidence import (
    find_quote,
    reason_in_material,
    retells,
    supports,
    with_cut_quote,
)
from ricordo.formation.gate import LANGUAGES, NOT_KEPT, Reading, gate
from ricordo.formation.own_words import KINDS, LIKELY, in_own_words, unanswered
from ricordo.formation.passages import Transcript, divided, render
from ricordo.formation.rules.clauses import ends_role_play, screened, sentences, starts_role_play
from ricordo.formation.rules.explicit import (
    explicit_spans,
    is_certainly_requested,
    procedure_in,
    requests_in,
)
from ricordo.formation.rules.extractor import extract
from ricordo.formation.segment import Found, Segment
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.formation.text_spans import Sentences
from ricordo.formation.voice import Reason
from ricordo.formation.words import pattern
from ricordo.formation.writing_rules import validated
from ricordo.metering import MeteredModel
from ricordo.model.checks import theme_slug
from ricordo.model.reports import Decision
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, GENERAL_THEME, MemoryType
from ricordo.providers.chat_model import Message
from ricordo.text.languages import guess
from ricordo.text.normalise import folded, slug
from ricordo.text.secrets import has_secret, without_secrets

_OPENING_CHARS: Final = 60
_PUTS_RIGHT: Final = pattern("corrections", "puts right")
_MISTAKEN: Final = pattern("corrections", "mistaken")
ASSISTANT_ROLE: Final = "assistant"
SURELY_NOT: Final = 0.8
INJECTED: Final = "inject"
TOUCHED: Final = 0.25
_EVERYDAY_FIELDS: Final = frozenset({"preferred_name", "pronouns", "city", "language"})
CLEARLY_TOUCHED: Final = 0.6
NEVER_ASKED_FOR: Final = frozenset({"ask", "quote", "fiction", "hypo", "claim", "oneoff", "inject"})
_SUBJECT: Final = re.compile(r"\b(?:The user|User|Pengguna|Nutzer|Der Nutzer)\b|ユーザー")

_STRONG = pattern("corrections", "strong correction", re.IGNORECASE)
_WEAK = pattern("corrections", "weak correction", re.IGNORECASE)
_GONE = pattern("corrections", "gone", re.IGNORECASE)
_NOT_THIS = re.compile(r"\b(?:not|bukan|isn['’]t|never)\s+(?:(?:an?|the|my|in|to|at|di|"
    r"ke)\s+)?([\w-]{3,})",
                       re.IGNORECASE)  # fmt: skip
_WORD = re.compile(r"[\w-]{3,}")


_OUT_OF_REACH: Final = Rejection(RejectionCode.OUT_OF_REACH, "not in the agent's categories")
_REPEATED: Final = Rejection(RejectionCode.REPEATED, "read already")
_SECRET: Final = Rejection(RejectionCode.SECRET, "holds a secret")
_ROLE_PLAY: Final = Rejection(RejectionCode.ROLE_PLAY, "said in a role play")
_TAKEN_BACK: Final = Rejection(RejectionCode.TAKEN_BACK, "taken back later")
_NOT_UNDERSTOOD: Final = Rejection(RejectionCode.NOT_UNDERSTOOD, "a request without a statement")
_ATTACK: Final = Rejection(RejectionCode.ADDRESSES_THE_MODEL, "a request in injected text")

SUBJECT: Final = "User"
# A small model writes in the language of its instructions unless it is told the name of another.
_LANGUAGE_NAMES: Final = {
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "he": "Hebrew",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pt": "Portuguese",
    "th": "Thai",
    "zh": "Chinese",
}
_CLAUSE_BREAK: Final = re.compile(r"[,;:，、；：]|\s[-–—]\s")
_AROUND_QUESTION: Final = " \n\"'¿?？"


def named_speakers(
    candidates: Sequence[Candidate], speakers: AbstractSet[str], user_id: str
) -> list[Candidate]:
    """Replace "User" by a name in what other speakers said.

    A single speaker is the user, whatever they are called. Of several, the user is the one with the
    user's own name.
    """
    if len({folded(name) for name in speakers}) < 2:
        return list(candidates)
    named = []
    for candidate in candidates:
        actor = candidate.passage.actor
        if actor is None or folded(actor) == folded(user_id):
            named.append(candidate)
            continue
        content = actor.join(_SUBJECT.split(candidate.content))
        key = None if candidate.key is None else f"{slug(actor)}:{candidate.key}"
        if key is not None and len(key) > limits.MAX_KEY_CHARS:
            key = None  # truncated, it could be another key
        named.append(replace(candidate, content=content, key=key))
    return named


@dataclass(frozen=True, slots=True)
class _Correction:
    """Where a passage begins to take something back, and how clearly."""

    passage: Passage
    start: int
    is_strong: bool
    refused: frozenset[str]


def uncorrected(
    candidates: Sequence[Candidate], passages: Sequence[Passage]
) -> tuple[list[Candidate], list[Decision]]:
    """Reject candidates that a later turn takes back or that are part of a role play.

    The rules read one passage at a time; this looks at their candidates in order. When in doubt,
    reject: a memory that was never true does more harm than a missing one. ``passages`` are those
    of the candidates, in order.
    """
    said = [passage for passage in passages if passage.is_from_user]
    played = set()
    is_scene = False
    for passage in said:
        is_scene = (is_scene or starts_role_play(passage.text)) and not ends_role_play(passage.text)
        if is_scene:
            played.add(passage.turn_id)
    kept = [one for one in candidates if one.passage.turn_id not in played]
    refused = [
        rejected(one.content, _ROLE_PLAY) for one in candidates if one.passage.turn_id in played
    ]
    for number, passage in enumerate(said):
        if correction := _correction(passage):
            before = said[number - 1] if number else None
            withdrawn = _withdrawn(kept, correction, before)
            kept = [one for one in kept if not any(one is gone for gone in withdrawn)]
            refused += [rejected(one.content, _TAKEN_BACK) for one in withdrawn]
    return kept, refused


def _correction(passage: Passage) -> _Correction | None:
    strong, gone = _STRONG.search(passage.text), _GONE.search(passage.text)
    refused = frozenset(word.lower() for word in _NOT_THIS.findall(passage.text))
    found = strong or _WEAK.search(passage.text) or gone
    if found is None and not refused:
        return None
    return _Correction(passage, found.start() if found else 0, bool(strong or gone), refused)


def _withdrawn(
    kept: Sequence[Candidate], correction: _Correction, before: Passage | None
) -> list[Candidate]:
    """The earlier candidates that a correction takes back."""
    passage = correction.passage
    earlier = [one for one in kept if _precedes(one, correction)]
    own = [one for one in kept if _is_of(one, passage) and not _precedes(one, correction)]
    families = {family for one in own if (family := _family(one))}
    named = [
        one
        for one in earlier
        if correction.refused & {word.lower() for word in _WORD.findall(one.content)}
    ]
    if named and (correction.is_strong or any(_family(one) in families for one in named)):
        return named
    if not correction.is_strong:
        # A bare "no" or "actually" takes back only what it names: another answer to the same
        # question is resolved later, with history, and another taste is kept beside the first.
        return []
    related = [one for one in earlier if _family(one) in families]
    if related:
        nearest = max(one.passage.position for one in related)
        return [one for one in related if one.passage.position == nearest]
    same_turn = [one for one in earlier if _is_of(one, passage)]
    return same_turn or [one for one in earlier if before is not None and _is_of(one, before)]


def _is_of(candidate: Candidate, passage: Passage) -> bool:
    return candidate.passage.turn_id == passage.turn_id


def _precedes(candidate: Candidate, correction: _Correction) -> bool:
    if not _is_of(candidate, correction.passage):
        return candidate.passage.position < correction.passage.position
    place = candidate.passage.text.find(candidate.quote)
    return 0 <= place < correction.start


def _family(candidate: Candidate) -> str | None:
    """What kind of thing it is about: ``allergy`` for ``allergy:nuts``."""
    return candidate.key.split(":", maxsplit=1)[0] if candidate.key else None


def find_candidates(model: MeteredModel | None, user_id: str, segment: Segment) -> Found:
    """Read a segment, after everything was cut out that may not be learned from.

    Rules, the user's own words and the model, if there is one, propose; the gate judges.

    Raises:
        LanguageModelError: the model could not answer.
    """
    read_turns = divided(segment.new)
    said = [passage for passage in read_turns if passage.text]
    material = Counter(one.reason for passage in read_turns for one in passage.material)
    readings = _readings(said, segment)
    by_model: list[Candidate] = []
    refused: list[Decision] = []
    if model is not None and said:
        transcript = render(
            [*segment.earlier, *segment.new], first_new_position=segment.new[0].position
        )
        by_model, without_ground = read_with_model(model, user_id, transcript)
        refused += [rejected(entry.content, reason) for entry, reason in without_ground]
    read = [one for passage in said for one in _read(passage, readings[passage.turn_id])]
    read, not_agreed = _agreed(read, by_model, readings)
    refused += [rejected(one.content, reason) for one, reason in not_agreed]
    found, taken_back = uncorrected(read, said)
    refused += taken_back
    refused += _secrets_asked_for(segment) + _asked_in_vain(read_turns, read)
    kept = []
    for candidate in named_speakers(found, segment.speakers, user_id):
        observed = candidate
        if candidate.passage.observed_by is not None:
            # Never explicit: only the agent claims that the user asked for it.
            observed = replace(candidate, is_explicit=False)
        checked = validated(with_cut_quote(observed))
        if isinstance(checked, Candidate) and checked.passage.is_from_user:
            checked = judged(checked, readings[checked.passage.turn_id])
        if isinstance(checked, Rejection):
            refused.append(rejected(candidate.content, checked))
        elif not _may_be_filed(checked):
            refused.append(rejected(checked.content, _OUT_OF_REACH))
        else:
            kept.append(checked)
    for reason, dropped in (
        (_REPEATED, _told_by_model),
        (_TAKEN_BACK, partial(_corrected, said=said, readings=readings)),
    ):
        gone = dropped(kept)
        kept = [one for one in kept if not any(one is other for other in gone)]
        refused += [rejected(one.content, reason) for one in gone]
    return Found(kept, refused, material)


def _corrected(
    kept: Sequence[Candidate], said: Sequence[Passage], readings: Mapping[int, Reading]
) -> list[Candidate]:
    """What the next message of the user puts right: the same kind of thing, after "no, wait", or
    the only thing told, if nothing was asked in between.
    """
    own = [passage for passage in said if passage.is_from_user]
    found = []
    for before, after in pairwise(own):
        opening = after.text[:_OPENING_CHARS].lower()
        if not (_PUTS_RIGHT.match(opening) or _MISTAKEN.search(opening)):
            continue
        told = [
            one
            for one in kept
            if one.passage.turn_id == before.turn_id and (one.is_in_own_words or one.is_by_model)
        ]
        kinds = {one.kind for one in kept if one.passage.turn_id == after.turn_id}
        same = [one for one in told if one.kind in kinds]
        answers = readings[after.turn_id].answers
        found += same if same or answers or len(told) > 1 else told
    return found


def _read(passage: Passage, reading: Reading) -> list[Candidate]:
    """What the rules read, and what the gate keeps beside it."""
    found = extract(passage)
    if passage.is_from_user:
        found += in_own_words(passage, reading, found)
        found += unanswered(passage, reading, found)
    return found


def _agreed(
    read: Sequence[Candidate], by_model: Sequence[Candidate], readings: Mapping[int, Reading]
) -> tuple[list[Candidate], list[tuple[Candidate, Rejection]]]:
    """What was read without a model, beside it the model's sentences that retell it.

    A model alone decides only where the gate cannot: in languages that it does not know.
    """
    kept = list(read)
    refused = []
    for one in by_model:
        reading = readings[one.passage.turn_id]
        start = reading.text.find(one.quote)
        piece = reading.judged(start, start + len(one.quote))
        around = f"{reading.asked}\n{reading.text}"
        is_known = guess(reading.text) in {*LANGUAGES, None}
        same = [other for other in read if _overlap(one, other)]
        own = [other for other in same if other.is_in_own_words]
        if len(same) == len(own) == 1 and retells(one.content, own[0].quote, around):
            kept.append(
                replace(own[0], content=one.content, is_in_own_words=False, is_by_model=True)
            )
        elif same:
            refused.append((one, _REPEATED))
        elif not one.passage.is_from_user:
            if piece.is_kept and retells(one.content, one.quote, around):
                kept.append(one)
            else:
                reason = NOT_KEPT.get(piece.label, "not what the tool says")
                refused.append((one, Rejection(RejectionCode.NOT_KEPT, reason)))
        elif not is_known or (one.is_explicit and retells(one.content, one.quote, around)):
            kept.append(one)
        else:
            reason = NOT_KEPT.get(piece.label, "not surely lasting")
            refused.append((one, Rejection(RejectionCode.NOT_KEPT, reason)))
    return sorted(kept, key=lambda one: one.passage.position), refused


def _told_by_model(kept: Sequence[Candidate]) -> list[Candidate]:
    """The user's own words for which a model has found a sentence that holds."""
    by_model = [one for one in kept if one.is_by_model]
    return [
        one
        for one in kept
        if one.is_in_own_words and any(_overlap(one, other) for other in by_model)
    ]


def _overlap(one: Candidate, other: Candidate) -> bool:
    if one.passage.turn_id != other.passage.turn_id:
        return False
    first, second = (each.passage.text.find(each.quote) for each in (one, other))
    return first < second + len(other.quote) and second < first + len(one.quote)


def _readings(said: Sequence[Passage], segment: Segment) -> dict[int, Reading]:
    """What the gate sees in each message, after the messages before it."""
    turns = [*segment.earlier, *segment.new]
    found = {}
    for passage in said:
        before = [turn for turn in turns if turn.position < passage.position]
        asked = before[-1].content if before and before[-1].role == ASSISTANT_ROLE else ""
        earlier = next((turn.content for turn in reversed(before) if turn.role == USER_ROLE), "")
        found[passage.turn_id] = gate().read(passage.text, asked=asked, earlier=earlier)
    return found


def judged(candidate: Candidate, reading: Reading) -> Candidate | Rejection:
    """What the gate says to a candidate: not kept, or kept, with the sensitive fields it touches.

    What the user asked to remember is kept unless it is a secret or not the user's own statement.
    Of what the rules read, which screen by themselves, only secrets and injected text are refused.
    """
    start = reading.text.find(candidate.quote)
    if start < 0:
        return candidate
    end = start + len(candidate.quote)
    if reading.chance_of("secret", start, end) > LIKELY:
        return Rejection(RejectionCode.SECRET, "holds a secret")
    piece = reading.judged(start, end)
    is_injected = piece.label == INJECTED and _is_injected(reading.text, start, end)
    is_procedure = candidate.type is MemoryType.PROCEDURE and not is_injected
    is_wanted = candidate.is_explicit and (is_procedure or piece.label not in NEVER_ASKED_FOR)
    is_judged = candidate.is_by_model or candidate.is_in_own_words or is_injected
    if is_judged and not piece.is_kept and piece.chance > SURELY_NOT and not is_wanted:
        return Rejection(RejectionCode.NOT_KEPT, NOT_KEPT[piece.label])
    fields = {
        kind.field
        for label, kind in KINDS.items()
        if kind.field is not None
        and reading.mean_of(label, start, end)
        > (CLEARLY_TOUCHED if kind.field in _EVERYDAY_FIELDS else TOUCHED)
    }
    return replace(candidate, kind=piece.label, fields=candidate.fields | fields)


def _is_injected(text: str, start: int, end: int) -> bool:
    """Whether it looks so without the messages before it, too."""
    return gate().read(text).judged(start, end).label == INJECTED


def _may_be_filed(candidate: Candidate) -> bool:
    """Whether the recording agent may write to its theme; procedures only come from the user."""
    observer = candidate.passage.observed_by
    if observer is None:
        return True
    theme = theme_slug(candidate.theme) if candidate.theme else GENERAL_THEME
    return candidate.type is not MemoryType.PROCEDURE and observer.reaches(theme)


def _secrets_asked_for(segment: Segment) -> list[Decision]:
    """Rejections for secrets that the user asked to remember, so that they learn why."""
    refused = []
    for turn in segment.new:
        if turn.role == USER_ROLE and has_secret(turn.content):
            for start, end in explicit_spans(turn.content):
                request = turn.content[start:end]
                if has_secret(request):
                    refused.append(rejected(without_secrets(request), _SECRET))
    return refused


def _asked_in_vain(passages: Sequence[Passage], found: Sequence[Candidate]) -> list[Decision]:
    """Rejections for other requests to remember that no candidate was made of; a few of a turn."""
    refused = []
    for passage in passages:
        if not passage.is_from_user or any(one.reason == Reason.SECRET for one in passage.material):
            continue
        own = screened(passage.text)
        quotes = [one.quote for one in found if _is_of(one, passage)]
        places = [(passage.text.find(quote), len(quote)) for quote in quotes]
        in_vain = [
            rejected(passage.text[one.start : one.end], _NOT_UNDERSTOOD)
            for one in requests_in(sentences(own), own)
            if one.is_strong
            and not any(place < one.end and one.start < place + size for place, size in places)
        ]
        in_vain += [
            rejected(one.text, _ATTACK)
            for one in passage.material
            if one.reason == Reason.ATTACK and requests_in(sentences(one.text), one.text)
        ]
        refused += in_vain[: limits.MAX_WRITES_PER_TURN]
    return refused


class ExtractedEntry(BaseModel, defer_build=True):
    """One entry as the model writes it.

    The quote comes first: a small model writes what it has just copied. What has a default is left
    out by many.
    """

    quote: str
    content: str
    type: Literal["fact", "preference", "instruction", "episode", "procedure"] = "fact"
    theme: Annotated[
        str, Field(description="one word to file it under, such as work, family or health")
    ] = ""
    key: Annotated[
        str, Field(description="home_city, employer and the like if it has one answer, else empty")
    ] = ""
    importance: Annotated[int, Field(ge=1, le=5, description="5 is vital")] = DEFAULT_IMPORTANCE


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
    language = guess("\n".join(one.text for one in transcript.passages if one.is_from_user))
    candidates: list[Candidate] = []
    rejected: list[tuple[ExtractedEntry, Rejection]] = []
    for piece in transcript.pieces(model.read_chars):
        prompt = prompts.render(
            prompts.EXTRACT,
            subject=SUBJECT,
            most=limits.MAX_EXTRACTED_CANDIDATES,
            transcript=piece,
            language=_LANGUAGE_NAMES.get(language or "", "their own language"),
        )
        found = model.ask(user_id, [Message("user", prompt)], Extracted)
        for place, entry in enumerate(found.memories):
            result = _candidate(entry, transcript)
            if place >= limits.MAX_EXTRACTED_CANDIDATES:
                result = Rejection(RejectionCode.TOO_MANY, "too many in one answer")
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
    if passage.is_from_user and not is_explicit and _is_bare_question(quote, passage.text):
        return Rejection(RejectionCode.QUESTION, "the quote is a question")
    theme = slug(_printable(entry.theme))
    key = "_".join(_printable(entry.key).casefold().replace("-", "_").split())
    return Candidate(
        content=entry.content,
        quote=quote,
        passage=passage,
        type=kind,
        theme=theme[: limits.MAX_THEME_CHARS].strip("-") or None,
        key=key[: limits.MAX_KEY_CHARS] or None,
        importance=entry.importance,
        is_explicit=is_explicit,
        is_by_model=True,
    )


def _is_bare_question(quote: str, text: str) -> bool:
    """Whether a quote is all of a question of one clause, which tells nothing of who asks."""
    start = text.rfind(quote)
    first, last = Sentences(text).around(start, start + len(quote))
    sentence = text[first:last].strip()
    if not sentence.endswith(("?", "？")) or _CLAUSE_BREAK.search(sentence):
        return False
    return sentence.strip(_AROUND_QUESTION) == quote.strip(_AROUND_QUESTION)


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


def _printable(given: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in given)
