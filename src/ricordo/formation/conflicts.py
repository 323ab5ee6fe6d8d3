"""Conflicts between new statements and stored memories, and how they are resolved."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import compress
from typing import Annotated, Final

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation import resources
from ricordo.formation.candidate import Candidate
from ricordo.formation.gate import NOT_KEPT, gate
from ricordo.formation.own_words import CHANGE, ENDINGS, PUTS_RIGHT, SENTENCE_END
from ricordo.formation.resources import pattern
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.formation.statements import (
    ENGLISH,
    are_of_one_subject,
    figures_and_denials,
    left_by,
    opposed,
    refines,
    says_nothing_new,
    share_of_words,
    statements_of,
)
from ricordo.frozen import dataclass, replace
from ricordo.metering import MeteredModel
from ricordo.model.filters import IN_NO_PROJECT, ItemFilter
from ricordo.model.group import group_of
from ricordo.model.item import Item
from ricordo.model.vocabulary import GLOBAL_OWNER, Action, MemoryType, Status
from ricordo.providers.chat_model import Message
from ricordo.recall.service import Recall
from ricordo.recall.stance import (
    SURELY,
    UNKNOWN,
    Stance,
    has_another_value,
    stances,
)
from ricordo.storage.database import Database
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.where import is_of, not_expired, sees_any
from ricordo.text.normalise import canonical, printable

_NEIGHBOURS: Final = 8
_RELATED: Final = 0.25  # the least similarity of what the model compares
_RELATED_TO_CHANGE: Final = 0.1
_COMPARED: Final = 5
_LEAST_SHARED: Final = 0.15  # of the words of two wishes about one thing
_NAMED_AS_OVER: Final = 0.3
ENDED: Final = Stance(1.0, 0.0, 0.0, 0.0)
"""A message names what it ends."""
_LIKELY: Final = Stance(SURELY, 0.0, 0.0, 0.0)
_LIKELY_IF_NEAR: Final = Stance(SURELY, 0.0, 0.0, 1 - SURELY)  # they have no word in common
_OVER: Final = pattern("corrections", "over", re.IGNORECASE)
_STOP: Final = pattern("corrections", "stop", re.IGNORECASE)
_OF_SOMEBODY: Final = pattern("corrections", "of somebody", re.IGNORECASE)
_CLAUSE_END: Final = re.compile(r"[,;:.!?]\s")
_NEVER_LEFT: Final = frozenset({"origin", "birthday", "language", "past"})
_TASTES: Final = frozenset({"like", "dislike", "event"})
_ENDS: Final = 0.85
_ENDS_IF_CHANGED: Final = 0.75
_UNLIKE: Final = 0.5
_NEAR_ENOUGH: Final = 0.25
_AS_NEAR: Final = 0.7
_OTHERS: Final = frozenset({MemoryType.INSIGHT, MemoryType.SUMMARY, MemoryType.PROCEDURE})
STATEMENT_TYPES: Final = tuple(kind for kind in MemoryType if kind not in _OTHERS)
"""The types that statements are compared with. Insights and summaries are our own words."""

IDENTICAL: Final = "known already"
REDUNDANT: Final = "says nothing new"
NOT_NEWER: Final = "older than what is known"
SAME_KEY: Final = "another answer to the same key"
MORE_SPECIFIC: Final = "more specific"
CONTRADICTION: Final = "contradicts what was known"
SHARED_CONTRADICTED: Final = "contradicts a shared memory"
NEW: Final = "new"
PUT_RIGHT: Final = "puts right what was known"
NOT_LASTING: Final = "not surely lasting"
CORRECTED: Final = "corrected later in the conversation"

WRITING_ACTIONS: Final = frozenset({Action.ADD, Action.UPDATE, Action.REPLACE, Action.UNLINK})
"""What leads to a stored memory."""


@dataclass(frozen=True, slots=True)
class KnownStatement:
    item: Item
    similarity: float

    def is_shared_with(self, user_id: str) -> bool:
        """Whether it is another user's memory, linked to this one."""
        return self.item.user_id not in (user_id, GLOBAL_OWNER)


class KnownMemories:
    def __init__(self, database: Database, recall: Recall) -> None:
        self._database = database
        self._recall = recall

    def near(
        self, user_id: str, content: str, kind: MemoryType, project: str | None = None
    ) -> list[KnownStatement]:
        """The most similar memories of a project, or of none, best first."""
        with self._database.read(user_id) as view:
            if not sees_any(view.connection, user_id):
                return []
        wanted = ItemFilter(
            statuses=(Status.ACTIVE,),
            types=(MemoryType.PROCEDURE,) if kind is MemoryType.PROCEDURE else STATEMENT_TYPES,
            project_id=project,
            in_project=IN_NO_PROJECT if project is None else None,
        )
        found = self._recall.memories.find(user_id, content, _NEIGHBOURS, wanted)
        near = []
        for item, ranked in zip(found.items, found.ranked, strict=True):
            if group_of(item.user_id) not in (None, group_of(user_id)):
                continue  # what a group knows is nothing that is known of the user
            similarity = ranked.cosine
            if similarity is None:  # without vectors, the share of words in common
                similarity = share_of_words(self._database.analyser, content, item.content)
            near.append(KnownStatement(item, similarity))
        return sorted(near, key=lambda one: (-one.similarity, one.item.id))

    def with_key(
        self, user_id: str, key: str, theme: str | None, project: str | None
    ) -> Item | None:
        """The user's memory of a project, or of none, with this key, preferably in this theme."""
        with self._database.read(user_id) as view:
            where = (
                (items.c.user_id == user_id)
                & (items.c.key == key)
                & is_of(items, project)
                & (items.c.status == Status.ACTIVE.value)
                & not_expired(view.now)
            )
            found = find_items(view.connection, where)
        return min(found, key=lambda item: (item.theme != theme, item.id), default=None)


class Relationship(StrEnum):
    SAME = "same"
    CONTRADICTION = "contradiction"
    REFINEMENT = "refinement"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Pair:
    new: str
    new_at: datetime
    old: str
    old_at: datetime
    similarity: float

    @property
    def texts(self) -> tuple[str, str]:
        return self.new, self.old


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Relationship
    reason: str | None = None


Answered = dict[tuple[str, str], Verdict]
"""The model's verdicts, by the new and the old text of a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What to do with a candidate. ``why`` explains it to the user, beyond ``reason``."""

    candidate: Candidate
    action: Action
    reason: str
    targets: tuple[Item, ...] = ()
    similarity: float | None = None
    why: str | None = None


Judge = Callable[[str, Sequence[Pair]], list[Verdict]]
"""Decides for a user what words and similarity cannot: one verdict for each pair, in order."""


class Resolver:
    """Decides what to do with each candidate of one user.

    An older statement never replaces a newer one. Words and similarity decide where they can; what
    lies in between goes to the model, in one question.
    """

    def __init__(
        self,
        known: KnownMemories,
        policy: FormationPolicy,
        judge: Judge | None,
        must_wait: Callable[[Candidate], bool],
    ) -> None:
        """``must_wait`` says which candidates will not be stored at once in any case."""
        self._known = known
        self._policy = policy
        self._judge = judge
        self._must_wait = must_wait

    def resolve(
        self, user_id: str, candidates: Sequence[Candidate], answered: Answered | None = None
    ) -> list[Resolution]:
        """Resolutions for candidates in the order in which they were said.

        ``answered`` caches the model's verdicts, so that a second run asks only about new pairs.

        Raises:
            LanguageModelError: the model was needed and could not answer.
        """
        resolved: list[Resolution | None] = []
        waiting: list[tuple[int, KnownStatement]] = []
        ended: dict[int, Candidate] = {}  # by the place of what corrects it
        for place, candidate in enumerate(candidates):
            if (overtaken := self._overtaken(candidates, place)) is not None:
                reason, by = overtaken
                if reason == CORRECTED and not candidate.is_change:
                    ended[by] = candidate
                elif reason != CORRECTED and place in ended:
                    ended[by] = ended[place]
                resolved.append(_ignored(candidate, reason, None))
                continue
            resolution, unclear = self._by_rules(user_id, candidate)
            if candidate.is_change and place in ended and resolution and not resolution.targets:
                resolution = self._in_place_of(ended[place], candidate) or resolution
            resolved.append(resolution)
            if resolution is None:
                waiting += [(place, one) for one in unclear]
        verdicts = self._judged(user_id, candidates, waiting, {} if answered is None else answered)
        return [
            found or self._by_verdicts(user_id, candidates[place], verdicts.get(place, []))
            for place, found in enumerate(resolved)
        ]

    def _overtaken(self, candidates: Sequence[Candidate], place: int) -> tuple[str, int] | None:
        """Why, and where, the same conversation repeats, improves or corrects it further on.

        A candidate that has to wait replaces nothing: the user may never agree to it.
        """
        candidate = candidates[place]
        for later, other in enumerate(candidates[place + 1 :], start=place + 1):
            if other.project_id != candidate.project_id:
                continue
            if canonical(candidate.content) == canonical(other.content):
                return IDENTICAL, later
            if self._must_wait(other) and not self._must_wait(candidate):
                continue
            same_key = candidate.key is not None and candidate.key == other.key
            if same_key or _ends(other, candidate):
                return CORRECTED, later
            if says_nothing_new(candidate.content, other.content):
                return REDUNDANT, later
        return None

    def _in_place_of(self, ended: Candidate, change: Candidate) -> Resolution | None:
        """A change in place of what was said just before, as if that had been stored already."""
        if self._must_wait(ended):
            return None
        return Resolution(candidate=_as_filed(change, ended), action=Action.ADD, reason=NEW)

    def _by_rules(
        self, user_id: str, candidate: Candidate
    ) -> tuple[Resolution | None, list[KnownStatement]]:
        """A resolution, or else the memories that the model has to compare."""
        if candidate.key is not None:
            present = self._known.with_key(
                user_id, candidate.key, candidate.theme, candidate.project_id
            )
            if present is not None:
                return _same_key(candidate, present), []
        found = self._known.near(user_id, candidate.content, candidate.type, candidate.project_id)
        if candidate.puts_right is not None:
            put_right = _put_right(user_id, candidate, found, *candidate.puts_right)
            if put_right is not None:
                return put_right, []
        near = [one for one in found if one.similarity >= self._policy.judge_min]
        for one in near:
            if canonical(one.item.content) == canonical(candidate.content):
                return _ignored(candidate, IDENTICAL, one), []
        least = related_to(candidate)
        related = [one for one in found if _are_related(candidate, one, least)][:_COMPARED]
        similar = {one.item.content for one in near}
        compared = stances_to(candidate, [one.item.content for one in related], similar)
        stance = {one.item.id: how for one, how in zip(related, compared, strict=True)}
        ended = list(compress(related, over(compared, [one.similarity for one in related])))
        against = [
            one
            for one in found
            if one in ended or (one in near and opposed(candidate.content, one.item.content))
        ]
        if against:
            return _replacing(user_id, candidate, against, CONTRADICTION), []
        if candidate.is_change:
            return _new(candidate, near), []
        for one in near:
            is_same = stance.get(one.item.id, UNKNOWN).same >= SURELY
            if is_same or says_nothing_new(candidate.content, one.item.content):
                return _ignored(candidate, REDUNDANT, one), []
        for one in near:
            is_more = stance.get(one.item.id, UNKNOWN).refined >= SURELY
            if is_more or refines(candidate.content, one.item.content):
                return _replacing(user_id, candidate, [one], MORE_SPECIFIC), []
        figures = figures_and_denials(candidate.content)
        for one in near:
            is_like = one.similarity >= self._policy.redundant_min
            if is_like and figures_and_denials(one.item.content) == figures:
                return _ignored(candidate, REDUNDANT, one), []
        if near and self._judge is not None:
            return None, near
        return _new(candidate, near), []

    def _judged(
        self,
        user_id: str,
        candidates: Sequence[Candidate],
        waiting: Sequence[tuple[int, KnownStatement]],
        answered: Answered,
    ) -> dict[int, list[tuple[KnownStatement, Verdict]]]:
        pairs = [
            Pair(
                new=candidates[place].content,
                new_at=candidates[place].passage.at,
                old=one.item.content,
                old_at=one.item.valid_from,
                similarity=one.similarity,
            )
            for place, one in waiting
        ]
        unknown = [pair for pair in pairs if pair.texts not in answered]
        if unknown and self._judge is not None:
            for pair, verdict in zip(unknown, self._judge(user_id, unknown), strict=True):
                answered[pair.texts] = verdict
        found: dict[int, list[tuple[KnownStatement, Verdict]]] = {}
        for (place, one), pair in zip(waiting, pairs, strict=True):
            found.setdefault(place, []).append((one, answered[pair.texts]))
        return found

    @staticmethod
    def _by_verdicts(
        user_id: str, candidate: Candidate, verdicts: Sequence[tuple[KnownStatement, Verdict]]
    ) -> Resolution:
        for one, verdict in verdicts:
            if verdict.kind is Relationship.SAME:
                return _ignored(candidate, REDUNDANT, one)
        for kind, reason in (
            (Relationship.CONTRADICTION, CONTRADICTION),
            (Relationship.REFINEMENT, MORE_SPECIFIC),
        ):
            matching = [(one, verdict) for one, verdict in verdicts if verdict.kind is kind]
            if matching:
                resolution = _replacing(user_id, candidate, [one for one, _ in matching], reason)
                return replace(resolution, why=matching[0][1].reason)
        return _new(candidate, [one for one, _ in verdicts])


def with_memories_of(
    user_id: str, resolutions: Sequence[Resolution], ended: Mapping[int, Sequence[Item]]
) -> list[Resolution]:
    """Also replace memories of turns that messages end, by the ids of these messages."""
    resolved = list(resolutions)
    targets = {
        item.id for one in resolutions for item in one.targets if one.action is not Action.IGNORE
    }
    for place, one in enumerate(resolved):
        over = ended.get(one.candidate.passage.turn_id, ())
        if one.candidate.puts_right is not None:
            continue
        if one.action is Action.UPDATE and not targets.isdisjoint(item.id for item in over):
            resolved[place] = replace(one, reason=CONTRADICTION)
        project = one.candidate.project_id
        left = [item for item in over if item.id not in targets and item.project_id == project]
        is_kept = one.action in (Action.ADD, Action.REPLACE) or one.candidate.is_change
        known_as = {item.id for item in one.targets}  # none where only a new statement says it
        is_over = one.reason == REDUNDANT and any(item.id in known_as for item in over)
        if left and (is_kept or is_over):
            olds = {item.id: item for item in (*one.targets, *left)}.values()
            known = [KnownStatement(item, 1.0) for item in olds]
            resolved[place] = _replacing(user_id, one.candidate, known, CONTRADICTION)
            targets |= {item.id for item in left}
    return resolved


def _ends(later: Candidate, candidate: Candidate) -> bool:
    if opposed(later.content, candidate.content):
        return True
    is_apart = later.passage.turn_id != candidate.passage.turn_id
    if is_apart and share_of_words(ENGLISH, later.content, candidate.content):
        return stances_to(later, [candidate.content])[0].replaced >= SURELY
    return False


def stances_to(
    candidate: Candidate, known: Sequence[str], similar: Collection[str] = ()
) -> list[Stance]:
    """How a candidate stands to what is known, in the words of the user.

    Only of what is ``similar`` it may say the same, or more.
    """
    said, quote = _in_its_sentence(candidate), candidate.quote
    is_over = _is_over(candidate)
    left = left_by(candidate.passage.text)
    found = [UNKNOWN] * len(known)
    asked: list[int] = []
    for place, old in enumerate(known):
        is_same = are_of_one_subject(old, quote) and (
            candidate.passage.actor is None or are_of_one_subject(candidate.content, old)
        )
        if not is_same or not _meet(candidate, old):
            continue
        is_named = is_over and share_of_words(ENGLISH, said, old) >= _NAMED_AS_OVER
        is_left = {_is_left(one, candidate, old) for one in left} - {None}
        if is_left == {False}:
            continue
        if is_left or is_named or _is_no_more(said, old):
            found[place] = ENDED
        else:
            asked.append(place)
    answers = stances(said, [known[place] for place in asked])
    changes = tells_change(candidate)
    for place, how in zip(asked, answers, strict=True):
        old = known[place]
        is_other = has_another_value(said, old)
        surely = how.replaced >= (_ENDS_IF_CHANGED if changes else _ENDS)
        if surely or (changes and is_other and how.other < _UNLIKE):
            found[place] = _LIKELY if share_of_words(ENGLISH, said, old) else _LIKELY_IF_NEAR
        elif old in similar and not is_other and not _seems_same(how, candidate.content, old):
            found[place] = how
    return found


def _seems_same(how: Stance, content: str, old: str) -> bool:
    """Whether two things are taken for one that only resemble each other, as trout and salmon."""
    return how.same == max(how) and has_another_value(content, old)


def over(compared: Sequence[Stance], similarities: Sequence[float]) -> list[bool]:
    """Whether each is ended: what is named, and what is near, as near as the nearest of these."""
    nearest = max(compress(similarities, (how.replaced >= SURELY for how in compared)), default=0.0)
    least = {_LIKELY: min(nearest, _AS_NEAR * nearest), ENDED: -1.0}
    least[_LIKELY_IF_NEAR] = max(least[_LIKELY], _NEAR_ENOUGH)
    return [
        how in least and near >= least[how]
        for how, near in zip(compared, similarities, strict=True)
    ]


def _is_left(value: str, candidate: Candidate, old: str) -> bool | None:
    """Whether an earlier statement of a value that was given up is over; None if that is not said.

    That of a day, an hour or a sum has to be about the same thing, and so has somebody else's.
    """
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", old, re.IGNORECASE)
    if found is None:
        return None
    about = [text.replace(found[0], "") for text in (old, candidate.quote.replace(value, ""))]
    is_theirs = are_of_one_subject(candidate.quote, old) and not any(map(str.isdigit, value))
    if not is_theirs and not share_of_words(ENGLISH, *about):
        return None
    pieces = gate().read(old).pieces()
    kinds = {one.label for one in pieces if one.start < found.end() and one.end > found.start()}
    if candidate.kind not in kinds and not kinds.isdisjoint(_TASTES):
        return None
    return kinds.isdisjoint(_NEVER_LEFT)


def _is_no_more(said: str, old: str) -> bool:
    """Whether a clause of a statement only denies what an earlier one says, with more words, or
    tells to stop what was wished."""
    over = (_OVER,) if _OF_SOMEBODY.match(old) else (_OVER, _STOP)
    left = [
        {*ENGLISH.terms(one.sub("", clause))}
        for clause in _CLAUSE_END.split(said)
        for one in over
        if one.search(clause)
    ]
    if not any(left) or not all(one.is_positive for one in statements_of(old)):
        return False
    told = set(ENGLISH.terms(old))
    return any(words and words <= told for words in left)


def _in_its_sentence(candidate: Candidate) -> str:
    """The sentence of what was said, with words before it that put right; a change as a whole."""
    text, start = candidate.passage.text, candidate.passage.text.find(candidate.quote)
    if candidate.is_change or start < 0:
        return text if candidate.is_change else candidate.quote
    before = PUTS_RIGHT.search(text, 0, start)
    ends = [found.end() for found in SENTENCE_END.finditer(text, 0, start)]
    first = before.start() if before else max(ends, default=0)
    last = SENTENCE_END.search(text, start + len(candidate.quote) - 1)
    return text[first : last.end() if last else len(text)].strip()


def _meet(candidate: Candidate, old: str) -> bool:
    """Whether two texts are about one thing at all: a bare value is not known to be."""
    if candidate.type is MemoryType.INSTRUCTION:
        return share_of_words(ENGLISH, candidate.content, old) >= _LEAST_SHARED
    return " " in old.strip()


def _put_right(
    user_id: str, candidate: Candidate, known: Sequence[KnownStatement], wrong: str, right: str
) -> Resolution | None:
    """The memory with the wrong value, and the right one in its place."""
    said = re.compile(rf"\b{re.escape(wrong)}\b", re.IGNORECASE)
    for one in known:
        if one.item.user_id == user_id and said.search(one.item.content):
            content = right.join(said.split(one.item.content))
            better = replace(_as_filed(candidate, one.item), content=content, key=one.item.key)
            if one.item.key is not None:
                return _same_key(better, one.item)
            return _replacing(user_id, better, [one], PUT_RIGHT)
    return None


def _is_over(candidate: Candidate) -> bool:
    return candidate.is_ending or candidate.kind in ENDINGS


def tells_change(candidate: Candidate) -> bool:
    text = candidate.passage.text
    return _is_over(candidate) or bool(CHANGE.search(text) or left_by(text))


def related_to(candidate: Candidate) -> float:
    """How similar what is compared has to be: a change may name its subject only."""
    return _RELATED_TO_CHANGE if tells_change(candidate) else _RELATED


def _are_related(candidate: Candidate, known: KnownStatement, least: float) -> bool:
    shared = share_of_words(ENGLISH, candidate.content, known.item.content)
    return max(known.similarity, shared) >= least


def _same_key(candidate: Candidate, present: Item) -> Resolution:
    if canonical(present.content) == canonical(candidate.content):
        return _ignored(candidate, IDENTICAL, KnownStatement(present, 1.0))
    if says_nothing_new(candidate.content, present.content):
        return _ignored(candidate, REDUNDANT, KnownStatement(present, 1.0))
    # A detail said at the same time is no contradiction.
    is_detail = refines(candidate.content, present.content)
    said_at, known_since = candidate.passage.at, present.valid_from
    if said_at < known_since or (said_at == known_since and not is_detail):
        return _ignored(candidate, NOT_NEWER, KnownStatement(present, 1.0))
    kept_in_place = replace(candidate, theme=present.theme)
    return Resolution(
        candidate=kept_in_place, action=Action.UPDATE, reason=SAME_KEY, targets=(present,)
    )


def _replacing(
    user_id: str, candidate: Candidate, olds: Sequence[KnownStatement], reason: str
) -> Resolution:
    own = [one for one in olds if one.item.user_id == user_id]
    shared = [one for one in olds if one.is_shared_with(user_id)]
    newer_than = [one for one in own if one.item.valid_from < candidate.passage.at]
    if len(newer_than) < len(own):
        if reason == MORE_SPECIFIC:  # both are true: keep the detail
            return _new(candidate, olds)
        later = next(one for one in own if one not in newer_than)
        return _ignored(candidate, NOT_NEWER, later)
    if own:
        action, targets = Action.REPLACE, own
        candidate = _as_filed(candidate, own[0].item)
    elif shared and reason == CONTRADICTION:
        action, reason, targets = Action.UNLINK, SHARED_CONTRADICTED, shared
        candidate = _as_filed(candidate, shared[0].item)
    else:
        return _new(candidate, olds)
    return Resolution(
        candidate=candidate,
        action=action,
        reason=reason,
        targets=tuple(one.item for one in targets),
        similarity=olds[0].similarity,
    )


def _as_filed(candidate: Candidate, old: Item | Candidate) -> Candidate:
    """A change, filed as what it ends. What tells more that is sensitive does not only end it."""
    if not candidate.is_change:
        return candidate
    told = sensitive_fields_of(candidate.content, candidate.quote, None) | candidate.fields
    is_ending = candidate.is_ending and told <= sensitive_fields_of(old.content, "", old.key)
    return replace(
        candidate,
        theme=old.theme,
        type=old.type,
        importance=old.importance,
        is_ending=is_ending,
    )


def _ignored(candidate: Candidate, reason: str, match: KnownStatement | None) -> Resolution:
    return Resolution(
        candidate=candidate,
        action=Action.IGNORE,
        reason=reason,
        targets=() if match is None else (match.item,),
        similarity=None if match is None else match.similarity,
    )


def _new(candidate: Candidate, near: Sequence[KnownStatement]) -> Resolution:
    if candidate.is_change:
        return _ignored(candidate, NOT_KEPT.get(candidate.kind or "", NOT_LASTING), None)
    nearest = near[0].similarity if near else None
    return Resolution(candidate=candidate, action=Action.ADD, reason=NEW, similarity=nearest)


class PairVerdict(BaseModel, defer_build=True):
    pair: int
    verdict: Relationship
    reason: str


class Verdicts(BaseModel, defer_build=True):
    # In the schema only, not validated: verdicts on unknown pairs are ignored.
    verdicts: Annotated[
        list[PairVerdict], Field(json_schema_extra={"maxItems": limits.MAX_JUDGED_PAIRS})
    ]


class ModelJudge:
    def __init__(self, model: MeteredModel) -> None:
        self._model = model

    def __call__(self, user_id: str, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict for each pair. Only the most similar pairs are asked about; the others count
        as different. Raises LanguageModelError: the model could not answer."""
        order = sorted(range(len(pairs)), key=lambda place: -pairs[place].similarity)
        asked = sorted(order[: limits.MAX_JUDGED_PAIRS])
        shown = [_shown(number, pairs[place]) for number, place in enumerate(asked, start=1)]
        prompt = resources.render(resources.JUDGE, pairs="\n\n".join(shown))
        found = self._model.ask(user_id, [Message("user", prompt)], Verdicts)
        answered = {entry.pair: entry for entry in found.verdicts}
        verdicts = [Verdict(Relationship.DIFFERENT)] * len(pairs)
        for number, place in enumerate(asked, start=1):
            entry = answered.get(number)
            if entry is not None:
                why = printable(entry.reason).strip()[: limits.MAX_REASON_CHARS]
                verdicts[place] = Verdict(entry.verdict, why or None)
        return verdicts


def _shown(number: int, pair: Pair) -> str:
    old = f"OLD ({pair.old_at.date().isoformat()}): {_one_line(pair.old)}"
    new = f"NEW ({pair.new_at.date().isoformat()}): {_one_line(pair.new)}"
    return f"Pair {number}\n{old}\n{new}"


def _one_line(text: str) -> str:
    """On one line, so that a statement cannot pass for another pair."""
    return " ".join(text.split())[: limits.MAX_JUDGED_CHARS]
