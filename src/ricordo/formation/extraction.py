"""Finds candidates for memories in a segment of a conversation."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from ricordo import limits
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.decisions import Rejection, RejectionCode, rejected
from ricordo.formation.evidence import with_cut_quote
from ricordo.formation.hygiene import divided, render
from ricordo.formation.model_reader import read_with_model
from ricordo.formation.rules.explicit import explicit_spans
from ricordo.formation.rules.extractor import extract
from ricordo.formation.rules.tasks import ends_role_play, starts_role_play
from ricordo.formation.segment import Segment
from ricordo.formation.words import pattern
from ricordo.formation.writing_rules import validated
from ricordo.limits import MAX_WRITES_PER_TURN
from ricordo.metering import MeteredModel
from ricordo.model.checks import theme_slug
from ricordo.model.reports import Decision
from ricordo.model.vocabulary import GENERAL_THEME, MemoryType
from ricordo.text.normalise import folded, slug
from ricordo.text.secrets import has_secret, without_secrets


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates for memories, and rejections.

    ``material``: how many pieces were not read, by reason.
    """

    candidates: Sequence[Candidate]
    refused: Sequence[Decision]
    material: Mapping[str, int] = field(default_factory=dict)


_LONG_CHARS: Final = 160
_JOINING: Final = pattern("corrections", "joining", re.IGNORECASE)


def within_turns(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Drop candidates beyond what a short, simple turn can plausibly mean.

    Explicit requests come first, then the most important.
    """
    by_turn: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        by_turn.setdefault(candidate.passage.turn_id, []).append(candidate)
    kept: list[Candidate] = []
    for found in by_turn.values():
        room = MAX_WRITES_PER_TURN if says_several(found[0].passage) else 1
        best = sorted(found, key=lambda one: (not one.is_explicit, -one.importance))[:room]
        kept += [candidate for candidate in found if candidate in best]
    return kept


def says_several(passage: Passage) -> bool:
    """Whether a turn is long, or clearly says more than one thing."""
    text = passage.text.strip()
    return len(text) >= _LONG_CHARS or bool(_JOINING.search(text)) or bool(explicit_spans(text))


_SUBJECT: Final = re.compile(r"\b(?:The user|User|Pengguna|Nutzer|Der Nutzer)\b|ユーザー")


def named_speakers(
    candidates: Sequence[Candidate], speakers: AbstractSet[str], user_id: str
) -> list[Candidate]:
    """Replace "User" by a name in what other speakers said.

    A single speaker is the user, whatever they are called. Of several, the user is the one with the
    user's own name.
    """
    if len({folded(name) for name in speakers}) < 2:
        return list(candidates)
    return [_named(candidate, user_id) for candidate in candidates]


def _named(candidate: Candidate, user_id: str) -> Candidate:
    actor = candidate.passage.actor
    if actor is None or folded(actor) == folded(user_id):
        return candidate
    content = _SUBJECT.sub(lambda _: actor, candidate.content)
    key = None if candidate.key is None else f"{slug(actor)}:{candidate.key}"
    if key is not None and len(key) > limits.MAX_KEY_CHARS:
        key = None  # truncated, it could be another key
    return replace(candidate, content=content, key=key)


_STRONG = pattern("corrections", "strong correction", re.IGNORECASE)
_WEAK = pattern("corrections", "weak correction", re.IGNORECASE)
_GONE = pattern("corrections", "gone", re.IGNORECASE)
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
    """Drop candidates that a later turn takes back or that are part of a role play.

    The rules read one passage at a time; this looks at their candidates in order. When in doubt,
    drop: a memory that was never true does more harm than a missing one. ``passages`` are those of
    the candidates, in order.
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
    """The turns of a role play, from the one that starts it to the one that ends it."""
    played = set()
    is_scene = False
    for passage in said:
        is_scene = (is_scene or starts_role_play(passage.text)) and not ends_role_play(passage.text)
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
    """The earlier candidates that a correction takes back."""
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
    # A bare "no" or "actually" takes back only what it names: another answer to the same question
    # is resolved later, with history, and another taste is kept beside the first.
    return []


def _directly_before(
    earlier: Sequence[Candidate], correction: _Correction, before: Passage | None
) -> list[Candidate]:
    """The last candidates before the correction: in the same turn, or else in the one before."""
    same = [one for one in earlier if _is_of(one, correction.passage)]
    if same:
        return same
    return [one for one in earlier if before is not None and _is_of(one, before)]


def _nearest(related: Sequence[Candidate], passage: Passage) -> list[Candidate]:
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


# This module imports everything that reads and checks texts, which takes longer than most commands
# do. So it is imported only when something is formed.

_OUT_OF_REACH: Final = Rejection(RejectionCode.OUT_OF_REACH, "not in the agent's categories")
_SECRET: Final = Rejection(RejectionCode.SECRET, "holds a secret")


def find_candidates(model: MeteredModel | None, user_id: str, segment: Segment) -> Found:
    """Read a segment, after everything was cut out that may not be learned from.

    Raises:
        LanguageModelError: the model could not answer.
    """
    read_turns = divided(segment.new)
    said = [passage for passage in read_turns if passage.text]
    material = Counter(one.reason for passage in read_turns for one in passage.material)
    if model is None:
        read = [candidate for passage in said for candidate in extract(passage)]
        found = uncorrected(read, said)
        refused: list[Decision] = []
    elif said:
        transcript = render(
            [*segment.earlier, *segment.new], first_new_position=segment.new[0].position
        )
        found, without_ground = read_with_model(model, user_id, transcript)
        refused = [rejected(entry.content, reason) for entry, reason in without_ground]
    else:
        return Found((), _secrets_asked_for(segment), material)
    refused += _secrets_asked_for(segment)
    kept = []
    for candidate in named_speakers(found, segment.speakers, user_id):
        checked = validated(with_cut_quote(_as_observed(candidate)))
        if isinstance(checked, Rejection):
            refused.append(rejected(candidate.content, checked))
        elif not _may_be_filed(checked):
            refused.append(rejected(checked.content, _OUT_OF_REACH))
        else:
            kept.append(checked)
    return Found(within_turns(kept), refused, material)


def _as_observed(candidate: Candidate) -> Candidate:
    """Never explicit: only the agent claims that the user asked for it."""
    return (
        candidate
        if candidate.passage.observed_by is None
        else replace(candidate, is_explicit=False)
    )


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
