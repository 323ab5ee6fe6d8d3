"""Earlier messages of the user that say what new ones end."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import compress
from typing import Final, NamedTuple

from ricordo.formation.candidate import USER_ROLE, Candidate
from ricordo.formation.conflicts import (
    ENDED,
    Resolution,
    over,
    related_to,
    stances_to,
    tells_change,
)
from ricordo.formation.gate import JOIN, Piece, gate
from ricordo.formation.own_words import KINDS, key_of
from ricordo.formation.resources import pattern
from ricordo.formation.statements import ENGLISH, are_of_one_subject, share_of_words
from ricordo.frozen import dataclass
from ricordo.model.filters import IN_NO_PROJECT, TurnFilter
from ricordo.model.item import Item
from ricordo.model.vocabulary import Action, Status
from ricordo.recall.origins import answers_repeating, read_formed, read_source
from ricordo.recall.service import Recall
from ricordo.recall.stance import SURELY, stated_in
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.threads import SaidTurn, is_first_said, turns_at

_NEAREST: Final = 6
_JUST_BEFORE: Final = (1, 2, 3, 4)  # turns
_ABOUT_IT: Final = 0.3
_LONGEST: Final = 300  # characters: more is hardly one statement
_TAKES_BACK: Final = pattern("corrections", "takes back", re.IGNORECASE)
_ABOUT_WHAT: Final = pattern("corrections", "about what", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ended:
    """Turns that no longer hold, and since when; and memories of them, by what ends them."""

    turns: Mapping[int, datetime]
    memories: Mapping[int, Sequence[Item]]


class _Said(NamedTuple):
    turn: SaidTurn
    place: tuple[str, int]
    similarity: float


class EarlierTurns:
    def __init__(self, database: Database, recall: Recall) -> None:
        self._database = database
        self._recall = recall

    def ended_by(
        self, user_id: str, thread_id: str, project: str | None, told: Iterable[Candidate]
    ) -> Ended:
        """What whole messages end, with the answers that only repeat it; in conversations of the
        same project alone."""
        turns: dict[int, datetime] = {}
        memories: dict[int, list[Item]] = {}
        for one in told:
            passage = one.passage
            if len(passage.text) > _LONGEST or passage.observed_by is not None:
                continue
            ended, is_implied = _over(one, self._near(user_id, thread_id, project, one), thread_id)
            if not ended:
                continue
            with self._database.read(user_id) as view:
                kept = {said.place: _kept_of(view, user_id, said.place) for said in ended}
                if is_implied:  # what is kept of them is replaced when the new value is
                    ended = [said for said in ended if not kept[said.place]]
                for said in ended:
                    if len(kept[said.place]) == 1:  # of several, it is not known which one ends
                        memories.setdefault(passage.turn_id, []).extend(kept[said.place])
                places = {said.place: said.turn.content for said in ended}
                answers = answers_repeating(view, user_id, places) if places else ()
            turns |= dict.fromkeys((*(said.turn.id for said in ended), *answers), passage.at)
        return Ended(turns, memories)

    def answers_to(self, user_id: str, replaced: Iterable[Resolution]) -> dict[int, datetime]:
        """The answers that only repeat what is replaced, and since when."""
        found: dict[int, datetime] = {}
        for one in replaced:
            for item in one.targets if one.action in (Action.REPLACE, Action.UPDATE) else ():
                with self._database.read(user_id) as view:
                    said = read_source(view, item)
                    if said is not None:
                        places = {(said.thread_id, said.position): said.content}
                        answers = answers_repeating(view, user_id, places)
                        found |= dict.fromkeys(answers, one.candidate.passage.at)
        return found

    def _near(
        self, user_id: str, thread_id: str, project: str | None, candidate: Candidate
    ) -> list[_Said]:
        """Short turns of the same speaker before it, near by meaning or just before it."""
        passage, least = candidate.passage, related_to(candidate)
        with self._database.read(user_id) as view:
            if is_first_said(view.connection, user_id, USER_ROLE, passage.turn_id, passage.at):
                return []
            last = {}
            if tells_change(candidate):
                just_before = [(thread_id, passage.position - back) for back in _JUST_BEFORE]
                last = turns_at(view.connection, user_id, just_before)
        wanted = TurnFilter(
            role=USER_ROLE,
            actor=passage.actor,
            project_id=project,
            in_project=IN_NO_PROJECT if project is None else None,
        )
        found = self._recall.turns.find(user_id, passage.text, _NEAREST, wanted)
        said = {
            turn.id: _Said(turn, (thread_id, position), 0.0)
            for (_, position), turn in last.items()
            if turn.role == USER_ROLE and turn.actor == passage.actor
        }
        for turn, one in zip(found.items, found.ranked, strict=True):
            shared = share_of_words(ENGLISH, passage.text, stated_in(turn.content))
            similarity = max(one.cosine or 0.0, shared)
            if candidate.puts_right is not None or similarity >= least or turn.id in said:
                said[turn.id] = _Said(turn, (one.row.thread_id, one.row.position), similarity)
        return [
            one
            for one in said.values()
            if (one.turn.at, one.turn.id) < (passage.at, passage.turn_id)
            and one.turn.ended_at is None
            and len(one.turn.content) <= _LONGEST
        ]


def _kept_of(view: ReadTransaction, user_id: str, place: tuple[str, int]) -> list[Item]:
    formed = read_formed(view, user_id, *place, 1, None)
    kept = [item for said in formed for item in said.memories]
    return [item for item in kept if item.status is Status.ACTIVE]


def _over(candidate: Candidate, said: Sequence[_Said], thread_id: str) -> tuple[list[_Said], bool]:
    """What a message ends, and whether only because it answers the same question."""
    if candidate.puts_right is not None:
        wrong = re.compile(rf"(?<!\w){re.escape(candidate.puts_right[0])}(?!\w)", re.IGNORECASE)
        return [one for one in said if wrong.search(one.turn.content)], False
    compared = stances_to(candidate, [one.turn.content for one in said])
    ended = [*compress(said, over(compared, [one.similarity for one in said]))]
    if ENDED not in compared:
        if meant := _meant(candidate, said, thread_id):
            return meant, False
        if answered := _answering(candidate, said):
            return answered, True
    return [one for one in ended if _told_by(one)], False


def _told_by(said: _Said) -> list[Piece]:
    """What a turn says beside questions."""
    text = said.turn.content.rstrip()
    skipped = {"ask", JOIN} if text.endswith(("?", "？")) else ()
    return [piece for piece in gate().read(text).pieces() if piece.label not in skipped]


def _told_in(candidate: Candidate, said: Sequence[_Said]) -> list[tuple[_Said, list[Piece]]]:
    """Turns about the same subject that tell something, and what."""
    theirs = [one for one in said if are_of_one_subject(one.turn.content, candidate.quote)]
    return [(one, pieces) for one in theirs if (pieces := _told_by(one))]


def _meant(candidate: Candidate, said: Sequence[_Said], thread_id: str) -> list[_Said]:
    """What a message takes back that does not name it: the message before it, or what is nearest
    to what it is about.
    """
    passage = candidate.passage
    if _TAKES_BACK.match(passage.text):
        last = (thread_id, passage.position - 1), (thread_id, passage.position - 2)
        return [one for one, _ in _told_in(candidate, said) if one.place in last]
    if not _ABOUT_WHAT.search(passage.text):
        return []
    near = [one for one, _ in _told_in(candidate, said) if one.similarity >= _ABOUT_IT]
    return sorted(near, key=lambda one: -one.similarity)[:1]


def _answering(candidate: Candidate, said: Sequence[_Said]) -> list[_Said]:
    """Other answers to a question that has one at a time."""
    key = key_of(candidate.content, candidate.kind)
    return [
        one
        for one, pieces in (_told_in(candidate, said) if key else ())
        for piece in pieces
        if piece.chance >= SURELY and piece.is_kept and KINDS[piece.label].key == key
    ]
