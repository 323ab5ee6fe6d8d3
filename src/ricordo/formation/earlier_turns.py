"""Earlier messages of the user that say what new ones end."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ricordo.formation.candidate import USER_ROLE, Candidate
from ricordo.formation.conflicts import related_to, stances_to, tells_change
from ricordo.formation.statements import ENGLISH, share_of_words
from ricordo.model.filters import TurnFilter
from ricordo.model.item import Item
from ricordo.model.vocabulary import Status
from ricordo.recall.origins import read_formed
from ricordo.recall.service import Recall
from ricordo.recall.stance import SURELY
from ricordo.storage.database import Database
from ricordo.storage.threads import SaidTurn, is_first_said, turns_at

_NEAREST: Final = 6
_JUST_BEFORE: Final = (1, 2, 3, 4)  # turns
_LONGEST: Final = 300  # characters: more is hardly one statement
_LONGEST_REPLY: Final = 120


@dataclass(frozen=True, slots=True)
class Ended:
    """Turns that no longer hold, and since when; and memories of them, by what ends them."""

    turns: Mapping[int, datetime]
    memories: Mapping[int, Sequence[Item]]


class EarlierTurns:
    def __init__(self, database: Database, recall: Recall) -> None:
        self._database = database
        self._recall = recall

    def ended_by(self, user_id: str, thread_id: str, told: Iterable[Candidate]) -> Ended:
        """What whole messages end, with the answers that only repeat it."""
        turns: dict[int, datetime] = {}
        memories: dict[int, list[Item]] = {}
        for one in told:
            passage = one.passage
            if len(passage.text) > _LONGEST or passage.observed_by is not None:
                continue
            near = self._near(user_id, thread_id, one)
            over = {turn.id for turn in _over(one, [turn for turn, _ in near])}
            places = {place: turn for turn, place in near if turn.id in over}
            if not places:
                continue
            with self._database.read(user_id) as view:
                answers = turns_at(view.connection, user_id, places)
                for thread, position in places:
                    formed = read_formed(view, user_id, thread, position - 1, 1, None)
                    own = [item for said in formed for item in said.memories]
                    active = [item for item in own if item.status is Status.ACTIVE]
                    if len(active) == 1:  # of several, it is not known which one ends
                        memories.setdefault(passage.turn_id, []).extend(active)
            repeated = {said.id for place, said in answers.items() if _repeats(said, places[place])}
            turns |= dict.fromkeys(over | repeated, passage.at)
        return Ended(turns, memories)

    def _near(
        self, user_id: str, thread_id: str, candidate: Candidate
    ) -> list[tuple[SaidTurn, tuple[str, int]]]:
        """Short turns of the same speaker before it, near by meaning or just before it, and where
        what follows them stands.
        """
        passage, least = candidate.passage, related_to(candidate)
        with self._database.read(user_id) as view:
            if is_first_said(view.connection, user_id, USER_ROLE, passage.turn_id, passage.at):
                return []
            last = {}
            if tells_change(candidate):
                just_before = [(thread_id, passage.position - back) for back in _JUST_BEFORE]
                last = turns_at(view.connection, user_id, just_before)
        wanted = TurnFilter(role=USER_ROLE, actor=passage.actor)
        found = self._recall.turns.find(user_id, passage.text, _NEAREST, wanted)
        said = {
            turn.id: (turn, (thread_id, position + 1))
            for (_, position), turn in last.items()
            if turn.role == USER_ROLE and turn.actor == passage.actor
        }
        for turn, one in zip(found.items, found.ranked, strict=True):
            if (
                candidate.puts_right is not None
                or (one.cosine or 0.0) >= least
                or share_of_words(ENGLISH, passage.text, turn.content) >= least
            ):
                said[turn.id] = turn, (one.row.thread_id, one.row.position + 1)
        return [
            (turn, place)
            for turn, place in said.values()
            if (turn.at, turn.id) < (passage.at, passage.turn_id)
            and turn.ended_at is None
            and len(turn.content) <= _LONGEST
        ]


def _over(candidate: Candidate, said: Sequence[SaidTurn]) -> list[SaidTurn]:
    """Those that say what a candidate ends."""
    if candidate.puts_right is not None:
        wrong = re.compile(rf"(?<!\w){re.escape(candidate.puts_right[0])}(?!\w)", re.IGNORECASE)
        return [turn for turn in said if wrong.search(turn.content)]
    compared = stances_to(candidate, [turn.content for turn in said])
    return [turn for turn, how in zip(said, compared, strict=True) if how.replaced >= SURELY]


def _repeats(answer: SaidTurn, turn: SaidTurn) -> bool:
    shares = share_of_words(ENGLISH, answer.content, turn.content) > 0
    return answer.role != USER_ROLE and len(answer.content) <= _LONGEST_REPLY and shares
