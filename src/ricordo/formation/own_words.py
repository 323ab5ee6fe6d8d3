"""What the user says of themselves: what the gate keeps, in the third person where it can be."""

import re
from collections.abc import Sequence
from typing import Final

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.gate import JOIN, OF_THE_MOMENT, REMEMBER, STEPS, Piece, Reading, gate
from ricordo.formation.regular_forms import (
    capitalised,
    english_in_third_person,
    has_no_subject,
    indonesian_in_third_person,
)
from ricordo.formation.resources import alternatives, lines, pattern
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_FORMED_CHARS
from ricordo.model.vocabulary import MemoryType
from ricordo.text.dates import with_dates
from ricordo.text.languages import guess
from ricordo.text.normalise import is_dense
from ricordo.text.spans import Span

LIKELY: Final = 0.5
CERTAIN: Final = 1.0
SURE: Final = 4.7
SURE_AMONG_OTHERS: Final = 5.7
SURE_IF_PLAIN: Final = 3.5
SURE_IF_PROPOSED: Final = 2.9
SURE_IF_ASKED: Final = 0.0
GOING_ON: Final = 2.0
_CARRIED_ON: Final = frozenset({"other", "reported", "hypo", "wish", "fiction", "quote", "world"})
RULE: Final = "rule"
_MOST_LINE_BREAKS: Final = 2
_MOST_LINES: Final = 20
_SHORT_WORDS: Final = 3
_WITH_NUMBERS: Final = frozenset({"money", "birthday", "age", "plan", "event", "goal", "rule"})
_LONG_NUMBER: Final = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{4,}")
_SHORT_DENSE: Final = 7
_NOT_A_CHANGE: Final = frozenset({"inject", "secret", REMEMBER})
ENDINGS: Final = frozenset({"past", "denied"})
_MAY_BEGIN: Final = frozenset({*ENDINGS, "chat", "deictic", "oneoff", "mood"})
_CHANGES_NOTHING: Final = frozenset({"ask", "hypo", "wish", JOIN})
_SURELY_ASKED: Final = 0.95
_ONLY_ASKED: Final = frozenset({"note", STEPS})
_FEWEST_LETTERS: Final = 4
_FEWEST_DENSE: Final = 3
_AROUND: Final = " ,.;:!?、。，！？；：…-–—\n\t"
SENTENCE_END: Final = re.compile(r"[.!?。！？\n]")

_PLAIN: Final = pattern("own_words", "plain", re.IGNORECASE)
_CERTAIN: Final = {
    label: pattern("own_words", f"certain {label}", re.IGNORECASE)
    for label in ("name", "home", "job", "health", "like", "rule")
}
_OFTEN_MEANT: Final = frozenset({"irony", "fiction", "mood", "chat", "reported", "oneoff"})
_NOT_SERIOUS: Final = pattern("own_words", "not serious", re.IGNORECASE)
_MAKES_TEXT: Final = pattern("own_words", "makes text", re.IGNORECASE)
CHANGE: Final = pattern("corrections", "change", re.IGNORECASE)
PUTS_RIGHT: Final = pattern("corrections", "right before", re.IGNORECASE)
_BREAK: Final = re.compile(r"[,.:;!?–—-]\s+")
_SURELY_NOT_MEANT: Final = 0.9
_BEFORE_A_STATEMENT: Final = ("", *".!?,;:")
_ENGLISH: Final = pattern("own_words", "english subject", re.IGNORECASE)
_INDONESIAN: Final = pattern("own_words", "indonesian subject", re.IGNORECASE)
TOLD_IN: Final = frozenset({"en", "id"})
"""The languages in which statements are told in the third person."""
_MOST_PLAIN_WORDS: Final = 12
_PASSING: Final = OF_THE_MOMENT - {"like", "dislike"}
_WISH: Final = re.compile(r"(?:i|saya|aku|gue|gw) ", re.IGNORECASE)
_REQUEST: Final = pattern("own_words", "request", re.IGNORECASE)
_UNCLEAR: Final = pattern("own_words", "unclear subject", re.IGNORECASE)
_AND_THAT: Final = pattern("own_words", "and that", re.IGNORECASE)
_AND_RULE: Final = pattern("own_words", "and rule", re.IGNORECASE)
_PLEASE: Final = pattern("own_words", "please", re.IGNORECASE)
_TO_BE_CALLED: Final = pattern("own_words", "to be called", re.IGNORECASE)
_ASIDE: Final = re.compile(rf"(?:{alternatives('voice', 'aside')})\s*[:,]\s*", re.IGNORECASE)
_WITHOUT: Final = pattern("own_words", "without", re.IGNORECASE)
_YOU_HAVE: Final = pattern("own_words", "you have", re.IGNORECASE)
_NOT_ALONE: Final = pattern("own_words", "not alone", re.IGNORECASE)
_ROLE: Final = pattern("consent", "role order", re.IGNORECASE)
_WORKED_ON: Final = pattern("own_words", "worked on", re.IGNORECASE)
_ABOUT_ME: Final = pattern("own_words", "about me", re.IGNORECASE)
_LISTED: Final = re.compile(r"[ \t]*(?:[-*•–+]|\(?\d{1,2}[.)])[ \t]+(?P<said>\S.*)")
_MOST_PRIVATE: Final = frozenset({"health", "faith", "sexuality", "politics", "money"})
_WORK: Final = re.compile(r"((?:User|Pengguna) \w+) ((?:at|for|di) .+?) ((?:as|sebagai) .+)")
_KEYS: Final = (
    *("preferred_name", "employer", "occupation", "home_city", "birthday", "language"),
    *("partner", "car"),
)
_OF_ONE: Final = {
    prefix: pattern("own_words", f"{prefix} of one", re.IGNORECASE)
    for prefix in ("favourite", "pet", "possession")
}
"""Things of which there is one at a time; their key has the prefix and the thing."""
_KEYED: Final = {key: pattern("own_words", key.replace("_", " "), re.IGNORECASE) for key in _KEYS}

_STEP: Final = re.compile(r"(?:^|\s)(\d{1,2})[.)]\s+(?=\S)")
_VERB_OF_REQUEST: Final = pattern("own_words", "verb of request", re.IGNORECASE)

THE_USER: Final = pattern("own_words", "the user", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kind:
    theme: str
    type: MemoryType
    key: str | None
    importance: int
    field: str | None


def _kind(theme: str, type: str, importance: str, *rest: str) -> Kind:
    key, field = (None if one == "none" else one for one in rest)
    return Kind(theme, MemoryType(type), key, int(importance), field)


KINDS: Final = {label: _kind(*of) for label, *of in map(str.split, lines("own_words", "kinds"))}


def in_own_words(passage: Passage, reading: Reading) -> list[Candidate]:
    """What a message tells, and plain statements on lines of their own.

    The gate takes much that follows a line break for a quotation; here the voice is known.
    """
    text = passage.text
    lines = text.split("\n")[:_MOST_LINES]
    worked_on = None if passage.material else _WORKED_ON.search(text)
    if worked_on or _NOT_SERIOUS.search(text) or all(map(_LISTED.match, lines)):
        return []
    found = _in_message(passage, reading)
    if len(lines) == 1 or passage.material or passage.doubtful:
        return found
    found += _listed(passage, reading, lines, found)
    for line in () if passage.unsure or _MAKES_TEXT.search(text) else lines:
        alone = _in_message(replace(passage, text=line), gate().read(line))
        place = text.find(line)
        found += [
            replace(one, passage=passage, is_explicit=False)
            for one in alone
            if _is_plain(one.quote)
            and not any(other.is_at(place, place + len(line)) for other in found)
        ]
    return sorted(found, key=lambda one: text.find(one.quote))


def _is_inside_a_word(text: str, at: int) -> bool:
    around = text[max(at - 1, 0) : at + 1]
    return at > 0 and len(around) == 2 and around.isalnum() and not any(map(is_dense, around))


def _in_message(passage: Passage, reading: Reading) -> list[Candidate]:
    """One candidate for each piece that is surely kept, or that the user asked to remember."""
    text = passage.text
    is_mixed = has_other_voices(passage)
    pieces = _with_subjects(_with_tails(pieces_with_requests(reading), text), text)
    if is_mixed:  # only what is certainly a request counts as one
        pieces = [one for one in pieces if one.label != REMEMBER or one.chance == CERTAIN]
    if not passage.material:
        pieces = [_made_certain(piece, text) for piece in pieces]
    found: list[Candidate] = []
    for number, piece in enumerate(pieces):
        quote = text[piece.start : piece.end]
        if not _is_statement(piece, text):
            continue
        asked = _is_asked_for(pieces, number, text)
        told = _in_third_person(quote, passage)
        is_whole = told is not None or piece.label == "name"
        is_wish = piece.label == RULE and told is not None and _WISH.match(quote) is not None
        may_last = is_wish or piece.label not in _PASSING
        is_plain = is_whole and may_last and _is_plain(quote)
        will_wait = KINDS[piece.label].field in _MOST_PRIVATE
        least = SURE_AMONG_OTHERS if is_mixed else SURE
        if is_plain and not passage.material:
            least = SURE_IF_PROPOSED if will_wait else SURE_IF_PLAIN
        if _goes_on(pieces, number, text):
            least = max(least, SURE) + GOING_ON
        may_mislead = is_plain and will_wait and piece.chance >= LIKELY
        if piece.evidence < (SURE_IF_ASKED if asked else least) and not (
            may_mislead and _is_sure_alone(quote, piece.label)
        ):
            continue
        if piece.label in _ONLY_ASKED and not asked:
            continue
        kind = KINDS["like" if is_wish else piece.label]
        is_private = kind.field or sensitive_fields_of(quote, "", None) & _MOST_PRIVATE
        if is_private and not _comes_first(pieces, number, text):
            asked = False  # what slips into a request is not asked for
        own = Candidate(
            content=quote,
            quote=quote,
            passage=passage,
            type=kind.type,
            theme=kind.theme,
            importance=kind.importance,
            is_explicit=asked or (piece.label == RULE and not is_wish and not is_mixed),
            is_in_own_words=True,
            kind=piece.label,
            fields=_numbers_in(quote, piece.label),
        )
        if piece.label == STEPS:
            found += _procedure(own, pieces[:number])
        else:
            whole = (told or quote).rstrip("?") if asked else told or quote
            for content in _divided(capitalised(whole), piece.label):
                found.append(replace(own, content=content, key=key_of(content, piece.label)))
    return [*found, *_not_taken_up(passage, reading, pieces, found)]


def _is_statement(piece: Piece, text: str) -> bool:
    """Whether users state something of themselves with it, in whole words."""
    quote = text[piece.start : piece.end]
    if not piece.is_kept or not _says_enough(quote) or THE_USER.match(quote):
        return False  # nobody speaks of themselves as the user
    if any(_is_inside_a_word(text, at) for at in (piece.start, piece.end)):
        return False  # of a word that is longer than what is read at once
    if _YOU_HAVE.search(text, 0, piece.start):
        return False  # the rest of what the assistant has wrong
    is_for_now = _ROLE.match(quote) and not _CERTAIN[RULE].search(quote)
    if is_for_now or _NOT_ALONE.match(quote):
        return False  # a part to play, or about what was said elsewhere
    is_wanted_text = "\n" in text[: piece.start] and _MAKES_TEXT.search(text, 0, piece.start)
    return not is_wanted_text


def change_in(passage: Passage, reading: Reading) -> list[Candidate]:
    """What a message says as a whole: it may say that something is over."""
    if has_other_voices(passage):
        return []
    pieces = pieces_with_requests(reading)
    told = [
        one
        for one in pieces
        if one.label not in _CHANGES_NOTHING or (one.label == "ask" and one.chance < _SURELY_ASKED)
    ]
    if not told or any(one.label in _NOT_A_CHANGE for one in pieces):
        return []
    if told[0].label == "reported" and told[-1].is_kept:
        told = told[-1:]  # "Earlier I said …"
    right = _begin_of_right(passage.text, told[0].start, told[-1].end)
    told = [one for one in told if one.end > right]
    quote = passage.text[max(right, told[0].start) : told[-1].end]
    is_short = _is_short(passage.text) and not CHANGE.search(passage.text)
    is_telling = not is_short or any(one.is_kept or one.label in ENDINGS for one in told)
    if not is_telling or len(quote) > MAX_FORMED_CHARS:
        return []
    surest = max(told, key=lambda one: one.chance)
    content = capitalised(_in_third_person(quote, passage) or quote)
    return [
        Candidate(
            content=content,
            quote=quote,
            passage=passage,
            is_in_own_words=True,
            kind=surest.label,
            is_change=True,
            is_ending=all(one.label in ENDINGS for one in told),
        )
    ]


def _begin_of_right(text: str, start: int, end: int) -> int:
    """Where a statement begins after words such as "That was wrong,", or else the start."""
    for found in _BREAK.finditer(text, start, end):
        rest = text[found.end() : end]
        is_unclear = _is_short(rest) or _NOT_ALONE.match(rest) or _UNCLEAR.match(rest)
        if PUTS_RIGHT.search(text, 0, found.end()) and not is_unclear:
            start = found.end()
    return start


def _made_certain(piece: Piece, text: str) -> Piece:
    """What people say only of themselves is kept, unless the gate is sure that it is not meant."""
    quote = text[piece.start : piece.end]
    label = next((label for label, said in _CERTAIN.items() if said.match(quote)), None)
    begins = text[: piece.start].rstrip()[-1:] in _BEFORE_A_STATEMENT
    is_short = len(quote.split()) <= _MOST_PLAIN_WORDS
    if label is None or not begins or not is_short or _MAKES_TEXT.search(text, 0, piece.start):
        return piece
    if not piece.is_kept:
        alone = gate().read(text).judged(piece.start, piece.end)  # what came before may mislead
        is_meant = alone.label in _OFTEN_MEANT and alone.chance < _SURELY_NOT_MEANT
        return replace(piece, label=label, chance=CERTAIN) if alone.is_kept or is_meant else piece
    return replace(piece, chance=CERTAIN)


def _is_sure_alone(quote: str, label: str) -> bool:
    """Whether the gate has no doubt without what came before, which may mislead."""
    alone = gate().read(quote).judged(0, len(quote))
    return alone.label == label and alone.evidence >= SURE_AMONG_OTHERS


def key_of(content: str, label: str | None) -> str | None:
    """The question that a statement answers, if there is one answer at a time."""
    for prefix, said in _OF_ONE.items():
        if found := said.match(content):
            return f"{prefix}:{found['thing'].lower()}"
    kind = KINDS.get(label or "")
    return next(
        (key for key, said in _KEYED.items() if said.match(content)), kind.key if kind else None
    )


def _divided(content: str, label: str) -> list[str]:
    """Two rules are two memories, and so is where somebody works and as what: either may change."""
    if label == RULE:
        parts = [capitalised(part) for part in _AND_RULE.split(content)]
        return [_TO_BE_CALLED.sub(r"User wants to be called \g<name>", part) for part in parts]
    both = _WORK.fullmatch(content) if label == "job" else None
    return [f"{both[1]} {both[2]}", f"{both[1]} {both[3]}"] if both else [content]


def _procedure(own: Candidate, before: Sequence[Piece]) -> list[Candidate]:
    """The numbered steps under the words of the request; none if they are not numbered."""
    text, place = own.passage.text, own.passage.text.find(own.quote)
    asked = [piece.start for piece in before if piece.label == REMEMBER]
    said = text[asked[-1] if asked else place : place + len(own.quote)]
    marks = list(_STEP.finditer(said))
    numbers = [int(mark[1]) for mark in marks]
    if not numbers[1:] or numbers != [*range(1, len(numbers) + 1)]:
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(said)]
    steps = [
        SENTENCE_END.split(said[mark.end() : end].strip(_AROUND))[0]
        for mark, end in zip(marks, ends, strict=True)
    ]
    listed = " ".join(f"{number}. {step}." for number, step in enumerate(steps, start=1))
    title = capitalised(_VERB_OF_REQUEST.sub("", said[: marks[0].start()]).strip(_AROUND))
    content = f"{title or 'Steps'}: {listed}"
    return [replace(own, content=content, quote=said, type=MemoryType.PROCEDURE)]


def _goes_on(pieces: Sequence[Piece], number: int, text: str) -> bool:
    """Whether it goes on with a sentence that is about somebody else, or not meant so."""
    before = [piece for piece in pieces[:number] if piece.label != JOIN][-1:]
    return any(
        one.label in _CARRIED_ON
        and not SENTENCE_END.search(text, one.end - 1, pieces[number].start)
        for one in before
    )


def _numbers_in(quote: str, label: str) -> frozenset[str]:
    """A long number that is no year, where none is expected, may be a code: it needs consent."""
    is_odd = label not in _WITH_NUMBERS and _LONG_NUMBER.search(quote)
    return frozenset({"identifiers"}) if is_odd else frozenset()


def _with_tails(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """With short ends joined to what they end: "by car", "no sugar"; "Always." to a rule."""
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.is_kept
            and piece.is_kept
            and _is_short(text[piece.start : piece.end])
            and (
                piece.label == before.label
                or piece.evidence < SURE
                or _WITHOUT.match(text, piece.start)
            )
            and (
                piece.label == before.label == RULE
                or not SENTENCE_END.search(text, before.end - 1, piece.start)
            )
        ):
            joined[-1] = replace(before, end=piece.end, tokens=before.tokens + piece.tokens)
        else:
            joined.append(piece)
    return joined


def _with_subjects(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """With what a sentence begins with, where a piece has no subject: "… and got a Skoda"."""
    found: list[Piece] = []
    for piece in pieces:
        before = [one for one in found if one.label != JOIN][-1:]
        if (
            piece.is_kept
            and before
            and (before[0].is_kept or before[0].label in _MAY_BEGIN)
            and has_no_subject(text[piece.start : piece.end])
            and _PLAIN.match(text, before[0].start, before[0].end)
            and not SENTENCE_END.search(text, before[0].start, piece.start)
        ):
            tokens = before[0].tokens + piece.tokens
            found = found[: found.index(before[0])]
            found.append(replace(piece, start=before[0].start, tokens=tokens))
        else:
            found.append(piece)
    return found


def _is_plain(quote: str) -> bool:
    return len(quote.split()) <= _MOST_PLAIN_WORDS and _PLAIN.match(quote) is not None


def _is_short(quote: str) -> bool:
    dense = sum(map(is_dense, quote))
    return dense <= _SHORT_DENSE if dense else len(quote.split()) <= _SHORT_WORDS


def has_other_voices(passage: Passage) -> bool:
    """Whether a message has, or may have, words that are not the user's: nothing is asked for."""
    return bool(
        passage.material
        or passage.unsure
        or passage.doubtful
        or passage.text.count("\n") > _MOST_LINE_BREAKS
    )


def requests(pieces: Sequence[Piece], text: str) -> list[Span]:
    """Each request to remember, with the rest of its sentence, or else with what precedes it."""
    found = []
    for number, piece in enumerate(pieces):
        if piece.label == REMEMBER and piece.chance >= LIKELY:
            stop = SENTENCE_END.search(text, piece.end - 1)
            end = max(piece.end, stop.start() if stop else len(text))
            is_last = number and not text[piece.end : end].strip(_AROUND)
            found.append((pieces[number - 1].start if is_last else piece.start, end))
    return found


def pieces_with_requests(reading: Reading) -> list[Piece]:
    """The pieces of a message, those that certainly ask to remember something on their own, and
    without "By the way:"."""
    aside = _ASIDE.match(reading.text)
    begin = aside.end() if aside else 0
    found = []
    for piece in [replace(one, start=max(one.start, begin)) for one in reading.pieces()]:
        request = _REQUEST.match(reading.text, piece.start, piece.end)
        if request and piece.label != REMEMBER:
            found.append(Piece(piece.start, request.end(), REMEMBER, CERTAIN))
            rest = reading.text[request.end() : piece.end]
            found.append(replace(piece, start=piece.end - len(rest.lstrip(_AROUND))))
        else:
            found.append(replace(piece, chance=CERTAIN) if request else piece)
    return [piece for piece in found if piece.start < piece.end]


def _not_taken_up(
    passage: Passage, reading: Reading, pieces: Sequence[Piece], taken: Sequence[Candidate]
) -> list[Candidate]:
    """What the user asked to remember beside that, filed as what it looks most like."""
    asked = [piece for piece in pieces if piece.label == REMEMBER and piece.chance >= LIKELY]
    found = []
    for piece, (_, end) in zip(asked, requests(pieces, passage.text), strict=True):
        if any(one.is_at(piece.start, end) for one in taken):
            continue
        for number, part in enumerate(_AND_THAT.split(passage.text[piece.end : end])):
            said = part.strip(_AROUND)
            if _UNCLEAR.match(said) or (_is_short(said) and not _is_plain(said)):
                continue
            is_private = sensitive_fields_of(said, "", None) & _MOST_PRIVATE
            found.append(_filed(said, passage, reading, is_asked=number == 0 or not is_private))
    return found


def _listed(
    passage: Passage, reading: Reading, lines: Sequence[str], taken: Sequence[Candidate]
) -> list[Candidate]:
    """The entries of a list under words such as "About me:", filed as what they look most like."""
    found = []
    heading = ""
    for line in lines:
        entry = _LISTED.match(line)
        if entry is None:
            heading = line if _ABOUT_ME.search(line) else ""
        elif heading:
            said = entry["said"].strip(_AROUND)
            place = passage.text.find(said)
            if not any(one.is_at(place, place + len(said)) for one in taken):
                is_asked = _REQUEST.match(heading) is not None
                found.append(_filed(said, passage, reading, is_asked=is_asked))
    return found


def _filed(said: str, passage: Passage, reading: Reading, *, is_asked: bool) -> Candidate:
    start = passage.text.find(said)
    chances = {label: reading.mean_of(label, start, start + len(said)) for label in KINDS}
    label = max(chances, key=lambda one: chances[one])
    content = capitalised(_in_third_person(said, passage) or said)
    return Candidate(
        content=content,
        quote=said,
        passage=passage,
        theme=KINDS[label].theme,
        key=key_of(content, label),
        importance=KINDS[label].importance,
        is_explicit=is_asked,
        is_in_own_words=True,
        kind=None if is_asked else label,
    )


def _is_asked_for(pieces: Sequence[Piece], number: int, text: str) -> bool:
    """Whether a request to remember comes before it in the same sentence, or right after it."""
    if pieces[number].label == STEPS:
        return any(one.label == REMEMBER for one in pieces)
    for before in reversed(pieces[:number]):
        if SENTENCE_END.search(text, before.end, pieces[number].start):
            break
        if before.label == REMEMBER:
            return True
    following = pieces[number + 1 : number + 3]
    if not following or following[0].label != REMEMBER:
        return False
    more = [one for one in following[1:] if one.is_kept]
    return not more or bool(SENTENCE_END.search(text, following[0].end - 1, more[0].start))


def _comes_first(pieces: Sequence[Piece], number: int, text: str) -> bool:
    """Whether a request, and not a mere please, is about this piece before any other."""
    before = [piece for piece in pieces[:number] if piece.label != JOIN]
    after = [piece for piece in pieces[number + 1 :] if piece.label != JOIN]
    return any(
        piece.label == REMEMBER and not _PLEASE.fullmatch(text, piece.start, piece.end)
        for piece in (*before[-1:], *after[:1])
    )


def _in_third_person(quote: str, passage: Passage) -> str | None:
    """A statement in English or Indonesian about the user, if it can be told so."""
    language = language_of(quote, passage)
    if language not in TOLD_IN:
        return None
    tell = english_in_third_person if language == "en" else indonesian_in_third_person
    return tell(with_dates(quote, passage.at))


def language_of(quote: str, passage: Passage) -> str | None:
    language = guess(quote) or guess(passage.text)
    if language is None and _ENGLISH.match(quote):
        return "en"
    return "id" if language is None and _INDONESIAN.match(quote) else language


def _says_enough(quote: str) -> bool:
    dense = sum(map(is_dense, quote))
    return dense >= _FEWEST_DENSE or sum(map(str.isalnum, quote)) >= _FEWEST_LETTERS
