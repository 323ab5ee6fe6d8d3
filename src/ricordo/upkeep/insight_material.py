"""What a user was recently busy with, read for a look at it."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.formation.candidate import USER_ROLE
from ricordo.formation.hygiene import kept_pieces
from ricordo.model.filters import Sort, SortColumn
from ricordo.model.item import Item
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import MemoryType, Status
from ricordo.storage.database import Reading
from ricordo.storage.formation import speakers_in
from ricordo.storage.items import find_items, page_of_items
from ricordo.storage.tables import formation, items, turns
from ricordo.storage.threads import page_of_threads
from ricordo.storage.transaction import Writing
from ricordo.storage.where import Condition, not_expired
from ricordo.text.normalise import folded

_TURN_COLUMNS: Final = [turns.c[field.name] for field in fields(Turn)]
_OWN_WORDS: Final = (MemoryType.INSIGHT, MemoryType.SUMMARY)
"""What memory has said itself; nothing is learned from it."""

_MIN_SHOWN_CHARS: Final = 40  # of a turn that is cut; with less room it is left out
_NOTHING: Final = "(nothing)"
_CUT: Final = "…"


@dataclass(frozen=True, slots=True)
class Shown:
    """One statement as a model is shown it, on one line."""

    at: datetime
    text: str

    @property
    def line(self) -> str:
        """With the day it is from."""
        return f"- ({self.at.date().isoformat()}) {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What was read in one view of the database, and from which rows."""

    looked_at: datetime
    lately: Sequence[Shown]
    known: Sequence[Shown]
    said: Sequence[Shown]
    items: Sequence[Item]
    turn_ids: Sequence[int]

    @property
    def statements(self) -> list[str]:
        """All that is shown, without the days."""
        return [one.text for one in (*self.lately, *self.known, *self.said)]

    def still_holds(self, writing: Writing) -> bool:
        """Whether nothing of it was changed, forgotten or erased since."""
        mine = items.c.id.in_([item.id for item in self.items]) & _holding(
            writing.user_id, writing.now
        )
        present = {item.id: item.content for item in find_items(writing.connection, mine)}
        said = sa.select(sa.func.count()).where(
            turns.c.user_id == writing.user_id, turns.c.id.in_(self.turn_ids)
        )
        return present == {item.id: item.content for item in self.items} and (
            writing.connection.execute(said).scalar_one() == len(self.turn_ids)
        )


def is_anything_new(view: Reading, user_id: str, since: datetime) -> bool:
    """Whether the user said something since then, or something was learned about them."""
    said = sa.exists().where(formation.c.user_id == user_id, formation.c.observed_at > since)
    learned = sa.exists().where(_told(user_id, view.now), items.c.updated_at > since)
    return bool(view.connection.execute(sa.select(sa.or_(said, learned))).scalar_one())


def gather(view: Reading, user_id: str) -> Material:
    """The latest episodes (or memories), the newest other memories, and what was said last.

    Everything passes the hygiene of formation: no tool output, no pasted context, no secrets, no
    recalled memories, no orders to a model.
    """
    told = _told(user_id, view.now)
    is_episode = items.c.type == MemoryType.EPISODE.value
    lately = _latest(view, told & is_episode, limits.MAX_INSIGHT_EPISODES)
    if not lately:
        lately = _latest(view, told, limits.MAX_INSIGHT_EPISODES)
    others = told & ~is_episode & items.c.id.not_in([item.id for item in lately])
    known = _latest(view, others, limits.MAX_INSIGHT_FACTS)
    said = _said_last(view, user_id)
    return Material(
        looked_at=view.now,
        lately=_shown(lately),
        known=_shown(known),
        said=[one for _, one in said],
        items=[*lately, *known],
        turn_ids=[turn_id for turn_id, _ in said],
    )


def lines_of(shown: Iterable[Shown]) -> str:
    """Statements as the lines of a prompt."""
    return "\n".join(one.line for one in shown) or _NOTHING


def _holding(user_id: str, now: datetime) -> Condition:
    return (items.c.user_id == user_id) & (items.c.status == Status.ACTIVE.value) & not_expired(now)


def _told(user_id: str, now: datetime) -> Condition:
    """What holds and was told by somebody; steps to follow tell nothing of who keeps them."""
    left_out = [kind.value for kind in (*_OWN_WORDS, MemoryType.PROCEDURE)]
    return _holding(user_id, now) & items.c.type.not_in(left_out)


def _latest(view: Reading, where: Condition, limit: int) -> Sequence[Item]:
    return page_of_items(view.connection, where, Sort(SortColumn.VALID_FROM), limit, None).items


def _shown(found: Iterable[Item]) -> list[Shown]:
    """Memories as statements, the oldest first; those of which nothing is left give none."""
    ordered = sorted(found, key=lambda item: (item.valid_from, item.id))
    cleaned = [Shown(item.valid_from, _cut(_clean(item.content))) for item in ordered]
    return [one for one in cleaned if one.text]


def _cut(text: str) -> str:
    most = limits.MAX_INSIGHT_STATEMENT_CHARS
    return text if len(text) <= most else f"{text[: most - 1]}{_CUT}"


def _said_last(view: Reading, user_id: str) -> list[tuple[int, Shown]]:
    """As much of what the user said last as may be shown, by the id of the turn, oldest first."""
    shown: list[tuple[int, Shown]] = []
    room = limits.MAX_INSIGHT_CONVERSATION_CHARS
    for turn in _own_turns(view, user_id):
        one = Shown(turn.at, _clean(turn.content, is_from_user=True))
        if not one.text:
            continue
        if len(one.line) > room:
            left = room - (len(one.line) - len(one.text)) - len(_CUT)
            if left >= _MIN_SHOWN_CHARS:
                shown.append((turn.id, Shown(turn.at, f"{one.text[:left]}{_CUT}")))
            break
        shown.append((turn.id, one))
        room -= len(one.line) + 1
    return shown[::-1]


def _own_turns(view: Reading, user_id: str) -> list[Turn]:
    """What the user said in their latest conversations, the latest first."""
    latest = page_of_threads(view.connection, user_id, limits.MAX_INSIGHT_THREADS, None).items
    said = itertools.chain.from_iterable(
        _own_turns_in(view, user_id, thread.thread_id) for thread in latest
    )
    return sorted(said, key=lambda turn: (turn.at, turn.id), reverse=True)


def _own_turns_in(view: Reading, user_id: str, thread_id: str) -> list[Turn]:
    """Where several speak to the assistant, only what the one with the user's name says."""
    wanted = (
        sa.select(*_TURN_COLUMNS)
        .where(
            turns.c.user_id == user_id,
            turns.c.thread_id == thread_id,
            turns.c.role == USER_ROLE,
        )
        .order_by(turns.c.position.desc())
        .limit(limits.MAX_INSIGHT_TURNS_PER_THREAD)
    )
    found = [Turn.from_row(row) for row in view.connection.execute(wanted).mappings()]
    speakers = speakers_in(view.connection, user_id, thread_id, USER_ROLE)
    if len({folded(name) for name in speakers}) < 2:
        return found
    return [turn for turn in found if turn.actor is None or folded(turn.actor) == folded(user_id)]


def _clean(text: str, *, is_from_user: bool = False) -> str:
    """What hygiene leaves, on one line."""
    return " ".join(" ".join(kept_pieces(text, is_from_user=is_from_user)).split())
