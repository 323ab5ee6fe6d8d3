"""Finds candidates for memories in a segment of a conversation: by rules, or with a model.

It imports everything that reads and checks texts, which takes longer than most commands do. So it
is imported only when something is formed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation import resources
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.decisions import Rejection, RejectionCode, rejected
from ricordo.formation.evidence import cut_quote, find_quote, reason_in_material, retells, supports
from ricordo.formation.gate import JOIN, LANGUAGES, NOT_KEPT, Reading, gate
from ricordo.formation.injected import has_attack
from ricordo.formation.own_words import (
    KINDS,
    LIKELY,
    TOLD_IN,
    change_in,
    in_own_words,
    language_of,
    pieces_with_requests,
    requests,
)
from ricordo.formation.passages import Transcript, divided, render
from ricordo.formation.resources import pattern
from ricordo.formation.segment import Found, Segment
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.formation.voice import Reason
from ricordo.formation.writing_rules import validated
from ricordo.metering import MeteredModel
from ricordo.model.checks import theme_slug
from ricordo.model.reports import Decision
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, GENERAL_THEME, MemoryType
from ricordo.providers.chat_model import Message
from ricordo.text.languages import LANGUAGE_NAMES, guess
from ricordo.text.normalise import canonical, folded, printable, slug
from ricordo.text.secrets import has_secret, without_secrets
from ricordo.text.spans import Span, plain_view

_OPENING_CHARS: Final = 60
_PUTS_RIGHT: Final = pattern("corrections", "puts right")
_MISTAKEN: Final = pattern("corrections", "mistaken")
ASSISTANT_ROLE: Final = "assistant"
SURELY_NOT: Final = 0.8
INJECTED: Final = "inject"
TOUCHED: Final = 0.25
_MOST_OF_IT: Final = 0.7  # of the user's words, which a model's sentence may stand for
_EVERYDAY_FIELDS: Final = frozenset({"preferred_name", "pronouns", "city", "language"})
CLEARLY_TOUCHED: Final = 0.6
NEVER_ASKED_FOR: Final = frozenset({"ask", "quote", "fiction", "hypo", "claim", "oneoff", "inject"})
_SUBJECT: Final = re.compile(r"\b(?:The user|User|Pengguna|Nutzer|Der Nutzer)\b|ユーザー")

_STRONG = pattern("corrections", "strong correction", re.IGNORECASE)
_SAYS_NOTHING: Final = frozenset({"ask", "chat", "oneoff", JOIN})
_ADDS = re.compile(r"\b(?:too|also|as well|juga|auch|también|aussi|também)\b", re.IGNORECASE)
_SCENE = pattern("corrections", "scene", re.IGNORECASE)
_SCENE_OVER = pattern("corrections", "scene over", re.IGNORECASE)
_SCENE_CHARS: Final = 4_000
_GONE = pattern("corrections", "gone", re.IGNORECASE)
_NOT_THIS = pattern("corrections", "not this", re.IGNORECASE)
_WORD = re.compile(r"[\w-]{3,}")
_THIS_NOT_THAT = pattern("corrections", "this not that", re.IGNORECASE)


_OUT_OF_REACH: Final = Rejection(RejectionCode.OUT_OF_REACH, "not in the agent's categories")
_REPEATED: Final = Rejection(RejectionCode.REPEATED, "read already")
_SECRET: Final = Rejection(RejectionCode.SECRET, "holds a secret")
_ROLE_PLAY: Final = Rejection(RejectionCode.ROLE_PLAY, "said in a role play")
_TAKEN_BACK: Final = Rejection(RejectionCode.TAKEN_BACK, "taken back later")
_NOT_UNDERSTOOD: Final = Rejection(RejectionCode.NOT_UNDERSTOOD, "a request without a statement")
_REQUEST: Final = pattern("own_words", "request", re.IGNORECASE)
_STANDING: Final = frozenset({MemoryType.INSTRUCTION, MemoryType.PROCEDURE})
_NOT_OF_A_PERSON: Final = Rejection(RejectionCode.NOT_KEPT, "about work, and not lasting")
_ATTACK: Final = Rejection(RejectionCode.ADDRESSES_THE_MODEL, "a request in injected text")

SUBJECT: Final = "User"
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


def played(passages: Sequence[Passage]) -> set[int]:
    found = set()
    is_scene = False
    for passage in passages:
        opening = passage.text[:_SCENE_CHARS]
        begins, ends = _SCENE.search(opening), _SCENE_OVER.search(opening)
        is_scene = (is_scene or begins is not None) and ends is None
        if is_scene:
            found.add(passage.turn_id)
    return found


def corrected(
    candidates: Sequence[Candidate], passages: Sequence[Passage], readings: Mapping[int, Reading]
) -> list[Candidate]:
    """What the user takes back or puts right further on.

    When in doubt it counts: a memory that was never true does more harm than a missing one. A bare
    "actually" takes back only what it names, for another answer is resolved later, with history.
    """
    gone: list[Candidate] = []
    for before, passage in pairwise([None, *passages]):
        assert passage is not None
        opening = passage.text[:_OPENING_CHARS].lower()
        strong = _STRONG.search(passage.text) or _GONE.search(passage.text)
        is_put_right = not _ADDS.search(passage.text) and (
            _PUTS_RIGHT.match(opening) or _MISTAKEN.search(opening)
        )
        refused = {word.lower() for word in _NOT_THIS.findall(passage.text)}
        start = strong.start() if strong else 0
        kept = [
            one
            for one in candidates
            if not one.is_change and not any(one is other for other in gone)
        ]
        earlier = [one for one in kept if _precedes(one, passage, start)]
        kinds = {one.kind for one in kept if _is_of(one, passage) and one not in earlier}
        named = [one for one in earlier if refused & set(_WORD.findall(one.content.lower()))]
        if named and (strong or kinds & {one.kind for one in named}):
            gone += named
        elif strong or is_put_right:
            same = [one for one in earlier if one.kind in kinds and not _is_of(one, passage)]
            last = max((one.passage.position for one in same), default=0)
            told = [one for one in earlier if before is not None and _is_of(one, before)]
            reading = readings[passage.turn_id]
            says_something = not {one.label for one in reading.pieces()} <= _SAYS_NOTHING
            if strong:
                of_turn = [one for one in earlier if _is_of(one, passage)]
                gone += [one for one in same if one.passage.position == last] or of_turn or told
            else:
                nearest = [one for one in same if before is not None and _is_of(one, before)]
                is_meant = says_something and not (kinds or reading.answers or len(told) > 1)
                gone += told if is_meant and not nearest else nearest
    return gone


def put_right(candidates: Sequence[Candidate], passages: Sequence[Passage]) -> list[Candidate]:
    """What "Vue, not React" makes of what was said before; of a memory, if nothing was."""
    found: list[Candidate] = []
    for passage in passages:
        if passage.material or passage.unsure or passage.doubtful:
            continue
        for match in _THIS_NOT_THAT.finditer(passage.text[:_SCENE_CHARS]):
            found_as = {name.rstrip("2345"): one for name, one in match.groupdict().items() if one}
            right, wrong = found_as["right"], found_as["wrong"]
            told = [one for one in candidates if _is_of(one, passage) and not one.is_change]
            if any(one.is_at(*match.span()) for one in told):
                continue  # a statement of its own
            quote = match[0].rpartition("?")[2].strip(_AROUND_QUESTION)
            value = re.compile(rf"\b{re.escape(wrong)}\b", re.IGNORECASE)
            earlier = [one for one in candidates if _precedes(one, passage, match.start())]
            same = [one for one in earlier if value.search(one.content) and not one.is_change]
            if same:
                content = right.join(value.split(same[-1].content))
                better = replace(same[-1], content=content, quote=quote, passage=passage)
                found.append(replace(better, puts_right=(wrong, right)))
            else:
                found.append(
                    Candidate(
                        content=f"{wrong}: {quote}",
                        quote=quote,
                        passage=passage,
                        kind="unsure",
                        is_in_own_words=True,
                        is_change=True,
                        puts_right=(wrong, right),
                    )
                )
    return found


def _is_of(candidate: Candidate, passage: Passage) -> bool:
    return candidate.passage.turn_id == passage.turn_id


def _precedes(candidate: Candidate, passage: Passage, start: int) -> bool:
    if not _is_of(candidate, passage):
        return candidate.passage.position < passage.position
    return 0 <= passage.text.find(candidate.quote) < start


def find_candidates(model: MeteredModel | None, user_id: str, segment: Segment) -> Found:
    """Read a segment, after everything was cut out that may not be learned from.

    Rules, the user's own words and the model, if there is one, propose; the gate judges. Raises
    LanguageModelError: the model could not answer.
    """
    read_turns = divided(segment.new)
    found = _of_person(model, user_id, segment, read_turns)
    if segment.project_id is None:
        return found
    work, problems = about_work(model, user_id, segment, read_turns, found.candidates)
    return Found(work, [*found.refused, *problems], (), found.material)


def _of_person(
    model: MeteredModel | None, user_id: str, segment: Segment, read_turns: Sequence[Passage]
) -> Found:
    said = [passage for passage in read_turns if passage.text]
    material = Counter(one.reason for passage in read_turns for one in passage.material)
    readings = _readings(said, segment)
    by_model: list[Candidate] = []
    refused: list[Decision] = []
    if model is not None and said:
        transcript = render(
            [*segment.earlier, *segment.new], first_new_position=segment.new[0].position
        )
        by_model, without_ground = read_with_model(model, user_id, transcript, readings)
        refused += [rejected(entry.content, reason) for entry, reason in without_ground]
    own = [passage for passage in said if passage.is_from_user]
    read: list[Candidate] = []
    for passage in own:
        read += in_own_words(passage, readings[passage.turn_id])
    read += put_right(read, own)
    scene = played(own)
    whole = [
        one
        for passage in own
        if passage.turn_id not in scene
        for one in change_in(passage, readings[passage.turn_id])
    ]
    right = [one for one in read if one.puts_right]
    told = [
        *right,
        *(one for one in whole if not any(_is_of(other, one.passage) for other in right)),
    ]
    used = {one.passage.turn_id for one in read}
    read += [one for one in whole if one.passage.turn_id not in used]
    read, not_agreed = _agreed(read, by_model, readings)
    refused += [rejected(one.content, reason) for one, reason in not_agreed]
    refused += [rejected(one.content, _ROLE_PLAY) for one in read if one.passage.turn_id in scene]
    found = [one for one in read if one.passage.turn_id not in scene]
    refused += _secrets_asked_for(segment) + _asked_in_vain(read_turns, read, readings)
    kept = []
    for candidate in named_speakers(found, segment.speakers, user_id):
        # What an agent has observed is not explicit: only it claims that the user asked for it.
        is_explicit = candidate.is_explicit and candidate.passage.observed_by is None
        is_whole = candidate.is_by_model and candidate.kind  # the gate has cut it
        quote = candidate.quote if is_whole else cut_quote(candidate.content, candidate.quote)
        checked = validated(replace(candidate, quote=quote, is_explicit=is_explicit))
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
        (_TAKEN_BACK, partial(corrected, passages=own, readings=readings)),
    ):
        gone = dropped(kept)
        kept = [one for one in kept if not any(one is other for other in gone)]
        refused += [rejected(one.content, reason) for one in gone]
    return Found(kept, refused, told, material)


def about_work(
    model: MeteredModel | None,
    user_id: str,
    segment: Segment,
    read_turns: Sequence[Passage],
    kept: Sequence[Candidate],
) -> tuple[list[Candidate], list[Decision]]:
    """What a conversation about a project tells of the work, and of what it tells else the rest.

    Standing instructions are conventions of the project.
    """
    from ricordo.formation.work import DONE, OF_WORK, as_convention, read_work

    project_id = segment.project_id
    before = divided(segment.session)
    turns = [*segment.session, *segment.new]
    said, first_new = [*before, *read_turns], segment.new[0].position
    by_model: list[Candidate] = []
    problems: list[Decision] = []
    if model is not None:
        from ricordo.formation.work_model import read_work_with_model

        own = [one for one in said if one.is_from_user]
        by_model, unsaid = read_work_with_model(model, user_id, turns, first_new, own)
        problems += [rejected(content, reason) for content, reason in unsaid]
    work, refused = read_work(turns, first_new, said, by_model)
    found = [replace(one, project_id=project_id) for one in work]
    problems += [rejected(content, reason) for content, reason in refused]
    for one in kept:
        if any(_overlap(one, other) for other in found if other.kind != DONE):
            problems.append(rejected(one.content, _REPEATED))
        elif one.type in _STANDING or (one.is_explicit and _REQUEST.search(one.passage.text)):
            found.append(replace(as_convention(one), project_id=project_id))
        elif one.kind in OF_WORK:
            problems.append(rejected(one.content, _NOT_OF_A_PERSON))
        else:
            found.append(one)
    return sorted(found, key=lambda one: one.passage.position), problems


def _agreed(
    read: Sequence[Candidate], by_model: Sequence[Candidate], readings: Mapping[int, Reading]
) -> tuple[list[Candidate], list[tuple[Candidate, Rejection]]]:
    """What was read without a model, beside it the model's sentences that may stand for it.

    They have no word of what the gate does not keep, such as a task. A model alone decides only
    where the gate cannot: in languages that it does not know.
    """
    kept = list(read)
    refused = []
    for one in by_model:
        reading = readings[one.passage.turn_id]
        start = reading.text.find(one.quote)
        end = start + len(one.quote)
        piece = reading.judged(start, end)
        around = f"{reading.asked}\n{reading.kept_words(0, len(reading.text))}"
        same = [other for other in read if _overlap(one, other)]
        is_from_user = one.passage.is_from_user
        cut_out = "\n".join(part.text for part in one.passage.material)
        if len(same) == 1 and _may_tell(one, same[0], around):
            told = replace(same[0], content=one.content, is_in_own_words=False, is_by_model=True)
            kept.append(told)
        elif same:
            refused.append((one, _REPEATED))
        elif (is_from_user and guess(reading.text) not in {*LANGUAGES, None}) or (
            (one.is_explicit if is_from_user else not has_attack(plain_view(cut_out).text))
            and piece.is_kept
            and retells(one.content, reading.kept_words(start, end), around)
        ):
            kept.append(one)
        else:
            why = "not surely lasting" if is_from_user else "not what the tool says"
            why = NOT_KEPT.get(piece.label, why)
            refused.append((one, Rejection(RejectionCode.NOT_KEPT, why)))
    return sorted(kept, key=lambda one: one.passage.position), refused


def _may_tell(one: Candidate, own: Candidate, around: str) -> bool:
    """Whether a model's sentence may stand for the user's words: it retells what we could not.

    Instructions stay as they were given. In languages that we do not tell at all nobody checks the
    forms of words.
    """
    is_told = canonical(own.content) != canonical(own.quote) or not own.is_in_own_words
    if is_told or own.type is MemoryType.INSTRUCTION:
        return False
    is_ours = language_of(own.quote, own.passage) in TOLD_IN
    is_whole = min(len(one.quote), len(one.content)) >= _MOST_OF_IT * len(own.quote)
    known = around if is_ours else ""
    return is_whole and retells(one.content, own.quote, known, in_any_form=is_ours)


def _told_by_model(kept: Sequence[Candidate]) -> list[Candidate]:
    by_model = [one for one in kept if one.is_by_model]
    return [
        one
        for one in kept
        if one.is_in_own_words and any(_overlap(one, other) for other in by_model)
    ]


def _overlap(one: Candidate, other: Candidate) -> bool:
    start = other.passage.text.find(other.quote)
    return _is_of(one, other.passage) and one.is_at(start, start + len(other.quote))


_SURE_ALONE: Final = 0.9
_ASKS: Final = re.compile("[?？]")
_UNSURE_AFTER: Final = 0.7


def _readings(said: Sequence[Passage], segment: Segment) -> dict[int, Reading]:
    """What the gate sees in each message, after the messages before it."""
    turns = [*segment.earlier, *segment.new]
    found = {}
    for passage in said:
        before = [turn for turn in turns if turn.position < passage.position]
        asked = before[-1].content if before and before[-1].role == ASSISTANT_ROLE else ""
        earlier = next((turn.content for turn in reversed(before) if turn.role == USER_ROLE), "")
        found[passage.turn_id] = _reading(passage.text, asked, earlier)
    return found


def _reading(text: str, asked: str, earlier: str) -> Reading:
    """After what was said earlier, unless that only makes the gate doubt what it is sure of.

    After "My name is Ana" it takes "I prefer tea" for another name. What an assistant says that
    asks nothing does not tell what is meant either.
    """
    after = gate().read(text, asked=asked, earlier=earlier)
    if not earlier:
        return after
    alone = gate().read(text, asked=asked if _ASKS.search(asked) else "")
    sure = [one for one in alone.pieces() if one.is_kept and one.chance > _SURE_ALONE]
    doubted = any(
        one.label != other.label and (one.is_kept or one.chance < _UNSURE_AFTER)
        for one in after.pieces()
        for other in sure
        if one.label != JOIN and max(one.start, other.start) < min(one.end, other.end)
    )
    return alone if doubted else after


def judged(candidate: Candidate, reading: Reading) -> Candidate | Rejection:
    """What the gate says to a candidate: not kept, or kept, with the sensitive fields it touches.

    What the user asked to remember is kept unless it is a secret or not the user's own statement.
    """
    start = reading.text.find(candidate.quote)
    if start < 0:
        return candidate
    end = start + len(candidate.quote)
    if reading.chance_of("secret", start, end) > LIKELY:
        return Rejection(RejectionCode.SECRET, "holds a secret")
    piece = reading.judged(start, end)
    if candidate.kind is None and not piece.is_kept and piece.chance > SURELY_NOT:
        alone = gate().read(reading.text).judged(start, end)  # what came before may mislead
        labels = {piece.label, alone.label}
        is_procedure = candidate.type is MemoryType.PROCEDURE and labels != {INJECTED}
        is_own = is_procedure or not labels <= NEVER_ASKED_FOR
        if not (candidate.is_explicit and is_own):
            return Rejection(RejectionCode.NOT_KEPT, NOT_KEPT[piece.label])
    fields = {
        kind.field
        for label, kind in KINDS.items()
        if kind.field is not None
        and reading.mean_of(label, start, end)
        > (CLEARLY_TOUCHED if kind.field in _EVERYDAY_FIELDS else TOUCHED)
    }
    return replace(candidate, kind=candidate.kind or piece.label, fields=candidate.fields | fields)


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
            for start, end in _requests_in(turn.content):
                request = turn.content[start:end]
                if has_secret(request):
                    refused.append(rejected(without_secrets(request), _SECRET))
    return refused


def _asked_in_vain(
    passages: Sequence[Passage], found: Sequence[Candidate], readings: Mapping[int, Reading]
) -> list[Decision]:
    """Rejections for other requests to remember that no candidate was made of; a few of a turn."""
    refused = []
    for passage in passages:
        if not passage.is_from_user or any(one.reason == Reason.SECRET for one in passage.material):
            continue
        quotes = [one.quote for one in found if _is_of(one, passage) and not one.is_change]
        places = [(passage.text.find(quote), len(quote)) for quote in quotes]
        reading = readings.get(passage.turn_id)
        in_vain = [
            rejected(passage.text[start:end], _NOT_UNDERSTOOD)
            for start, end in (
                requests(pieces_with_requests(reading), passage.text) if reading else []
            )
            if not any(place < end and start < place + size for place, size in places)
        ]
        in_vain += [
            rejected(one.text, _ATTACK)
            for one in passage.material
            if one.reason == Reason.ATTACK and _requests_in(one.text)
        ]
        refused += in_vain[: limits.MAX_WRITES_PER_TURN]
    return refused


def _requests_in(text: str) -> list[Span]:
    return requests(pieces_with_requests(gate().read(text)), text)


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
    # In the schema only, not validated: excess entries are rejected and counted. With constrained
    # decoding it also stops a small model that would never end.
    memories: Annotated[
        list[ExtractedEntry], Field(json_schema_extra={"maxItems": limits.MAX_EXTRACTED_CANDIDATES})
    ]


def read_with_model(
    model: MeteredModel, user_id: str, transcript: Transcript, readings: Mapping[int, Reading]
) -> tuple[list[Candidate], list[tuple[ExtractedEntry, Rejection]]]:
    """The candidates in the order said, and the rejections.

    Whether something was said explicitly, and where, is not left to the model. Raises
    LanguageModelError: the model could not answer.
    """
    language = guess("\n".join(one.text for one in transcript.passages if one.is_from_user))
    candidates: list[Candidate] = []
    rejected: list[tuple[ExtractedEntry, Rejection]] = []
    for piece in transcript.pieces(model.read_chars):
        prompt = resources.render(
            resources.EXTRACT,
            subject=SUBJECT,
            most=limits.MAX_EXTRACTED_CANDIDATES,
            transcript=piece,
            # A small model writes in the language of its instructions unless it is told the name.
            language=LANGUAGE_NAMES.get(language or "", "their own language"),
        )
        found = model.ask(user_id, [Message("user", prompt)], Extracted)
        for place, entry in enumerate(found.memories):
            result = _candidate(entry, transcript, readings)
            if place >= limits.MAX_EXTRACTED_CANDIDATES:
                result = Rejection(RejectionCode.TOO_MANY, "too many in one answer")
            if isinstance(result, Rejection):
                rejected.append((entry, result))
            else:
                candidates.append(result)
    return sorted(candidates, key=lambda one: one.passage.position), rejected


def _candidate(
    entry: ExtractedEntry, transcript: Transcript, readings: Mapping[int, Reading]
) -> Candidate | Rejection:
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
    is_explicit = passage.is_from_user and _was_asked_for(
        entry.content, quote, readings[passage.turn_id]
    )
    if kind is MemoryType.PROCEDURE and not is_explicit:
        return Rejection(RejectionCode.NOT_ASKED_FOR, "steps that nobody asked to keep")
    theme = slug(printable(entry.theme))
    key = "_".join(printable(entry.key).casefold().replace("-", "_").split())
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


def _was_asked_for(content: str, quote: str, reading: Reading) -> bool:
    """Whether the user asked for this to be remembered.

    The quote must be part of a request. A model may quote too much, or the wrong words; so what is
    sensitive must be what the request names first, or it would be stored without consent.
    """
    places = [found.span() for found in re.finditer(re.escape(quote), reading.text)]
    pieces = pieces_with_requests(reading)
    for first, last in requests(pieces, reading.text):
        if any(first < end and start < last for start, end in places):
            named = next((one for one in pieces if one.start > first and one.is_kept), None)
            said = reading.text[first : named.end if named else last]
            return sensitive_fields_of(content, "", None) <= sensitive_fields_of(said, "", None)
    return False
