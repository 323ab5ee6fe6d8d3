"""What the user takes back later, and scenes that they set before: seen over several turns.

The rules read one passage at a time. Here what they found is looked at in the order in which it
was said, and where a later turn takes an earlier one back, the earlier candidate is withdrawn.
Where that is in doubt nothing is stored: a memory that was never true does more harm than one that
is missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.rules.tasks import ends_a_scene, sets_a_scene

# Said of one's own words only.
_STRONG = re.compile(
    r"\b(?:scratch that|strike that|no,? wait|wait,? no|forget (?:that|what i (?:just )?said)|"
    r"ignore (?:that|what i (?:just )?said|my last)|i take (?:that|it) back|"
    r"(?:wait|oops|sorry|whoops)\W{1,3}i (?:wrote|typed|said|put)|"
    r"(?:what )?i (?:actually )?meant|i (?:mistyped|misspoke|misspelled)|my mistake|"
    r"(?:sorry|oops|whoops|ah|argh|ugh|my bad|oh)\W{1,3}(?:no\W{1,3})?"
    r"(?:(?:that|it) was |that['’]?s |i made )?(?:a |my )?(?:typo|mistake|wrong|autocorrect)|"
    r"that was (?:a typo|wrong|a mistake|autocorrect)|"
    r"(?:sorry|oops|no|oh)\W{1,3}not \w+|"
    r"eh,? (?:salah|bukan|maaf)|(?:maaf|sorry|duh|aduh|ups)\W{0,3}(?:tadi )?(?:salah|typo)|"
    r"salah (?:ketik|tulis|sebut|ngomong)|ralat|koreksi(?=\s*[:,])|maksud (?:saya|aku|gue|gw)|"
    r"maksudku|maksudnya(?!\s*(?:\?|apa|gimana|bagaimana|yang mana|siapa)))\b|"
    r"(?:^|[.!?\n])\W{0,5}(?:typo|correction|koreksi|ralat|salah)\s*[:,.!]",
    re.IGNORECASE,
)
# Often no more than a way to begin.
_WEAK = re.compile(
    r"(?:^|[.!?\n])\W{0,5}(?:(?:oh|hmm|ah|eh|well|no|um)\W{1,3}){0,2}(?:actually|sorry|wait|update|no|nope|"
    r"hold on|sebenarnya|sebenernya|maaf|bukan|tunggu)\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\b(?:sold|gave|got rid of|lost|returned|traded|rehomed)(?: in)? (?:it|that|them|her|him)\b|"
    r"\b(?:not|no) (?:any ?more|longer)\b|\b(?:udah|sudah) (?:di)?jual\b",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(r"\b(?:not|bukan|isn['’]t|never)\s+(?:(?:an?|the|my|in|to|at|di|"
    r"ke)\s+)?([\w-]{3,})",
                       re.IGNORECASE)  # fmt: skip
_WORD = re.compile(r"[\w-]{3,}")


@dataclass(frozen=True, slots=True)
class _Correction:
    """Where a passage begins to take something back, and how clearly."""

    passage: Passage
    start: int
    is_strong: bool
    refused: frozenset[str]


def uncorrected(candidates: Sequence[Candidate], passages: Sequence[Passage]) -> list[Candidate]:
    """The candidates without those that a later turn takes back or that are part of a scene.

    ``passages`` are those from which the candidates come, in the order in which they were said.
    """
    said = [passage for passage in passages if passage.is_from_user]
    played = _played(said)
    kept = [one for one in candidates if one.passage.turn_id not in played]
    for number, passage in enumerate(said):
        correction = _correction(passage)
        if correction:
            before = said[number - 1] if number else None
            withdrawn = _withdrawn(kept, correction, before)
            kept = [one for one in kept if not any(one is gone for gone in withdrawn)]
    return kept


def _played(said: Sequence[Passage]) -> frozenset[int]:
    """The turns that belong to a scene, from the one that sets it to the one that ends it."""
    played = set()
    is_scene = False
    for passage in said:
        is_scene = (is_scene or sets_a_scene(passage.text)) and not ends_a_scene(passage.text)
        if is_scene:
            played.add(passage.turn_id)
    return frozenset(played)


def _correction(passage: Passage) -> _Correction | None:
    strong = _STRONG.search(passage.text)
    weak = _WEAK.search(passage.text) or _GONE.search(passage.text)
    refused = frozenset(word.lower() for word in _NOT_THIS.findall(passage.text))
    found = strong or weak
    if found is None and not refused:
        return None
    start = found.start() if found else 0
    is_strong = bool(strong or _GONE.search(passage.text))
    return _Correction(passage, start, is_strong, refused)


def _withdrawn(
    kept: Sequence[Candidate], correction: _Correction, before: Passage | None
) -> list[Candidate]:
    """Which of the earlier candidates a correction concerns."""
    own = [
        one for one in kept if _is_of(one, correction.passage) and not _precedes(one, correction)
    ]
    earlier = [one for one in kept if _precedes(one, correction)]
    families = {family for one in own if (family := _family(one))}
    named = [one for one in earlier if correction.refused & _words(one)]
    if named and (correction.is_strong or any(_family(one) in families for one in named)):
        return named
    related = [one for one in earlier if _family(one) in families]
    if correction.is_strong:
        return _nearest(related, correction.passage) or _directly_before(
            earlier, correction, before
        )
    # A mere "no" or "actually" takes back nothing that it does not name: another answer to the same
    # question is settled later, with history, and another taste stands beside the first.
    return []


def _directly_before(
    earlier: Sequence[Candidate], correction: _Correction, before: Passage | None
) -> list[Candidate]:
    """What was said last before the correction: in the same turn, or else in the one before."""
    same = [one for one in earlier if _is_of(one, correction.passage)]
    if same:
        return same
    return [one for one in earlier if before is not None and _is_of(one, before)]


def _nearest(related: Sequence[Candidate], passage: Passage) -> list[Candidate]:
    """Of several turns the last one."""
    positions = [
        one.passage.position for one in related if one.passage.position <= passage.position
    ]
    return [one for one in related if positions and one.passage.position == max(positions)]


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


def _words(candidate: Candidate) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(candidate.content))
