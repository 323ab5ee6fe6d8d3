"""A user with very many memories, and everything else that pages show."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from tests.support.life import Life

from ricordo.memory import Memory
from ricordo.model.vocabulary import MemoryType
from ricordo.storage.tables import relations
from ricordo.transfer.exports import Progress
from ricordo_bench.stores import USER, InventedTexts, synthetic

_AT_ONCE: Final = 5_000
_THEMES: Final = 40
_TAGS: Final = 60
_OVER_DAYS: Final = 300
_NEIGHBOURS: Final = 3
_THREADS: Final = 200
_TURNS: Final = 25
_QUESTIONS: Final = 200
_DECLARED: Final = ("pollen", "nuts", "milk", "fish", "eggs", "dust", "wool", "honey", "soy", "rye")


@dataclass(frozen=True, slots=True)
class Filled:
    """What is in the store, and what to ask it."""

    life: Life
    questions: Sequence[str]
    tag: str


def fill(url: str, home: Path, memories: int, progress: Progress) -> Filled:
    """Store so many memories of one user, with relations, conversations and open proposals.

    Vectors are invented under the name of the shipped model, which embeds the questions.
    """
    source = InventedTexts(seed=23)
    texts = source.texts(memories)
    chance = random.Random(20260101)
    ids: list[int] = []
    # Relations are written below: to find them, each memory would be compared with all others.
    with synthetic(
        url, home=home, upkeep=False, relations_per_memory=0, synchronous="NORMAL"
    ) as memory:
        user = memory.user(USER)
        drafts = _drafts(texts, chance)
        while batch := list(islice(drafts, _AT_ONCE)):
            ids += [one.id for one in user.add_many(batch)]
            progress(len(ids), memories)
        _relate(memory, ids, chance)
        _talk(memory, source)
        proposals = [one.id for one in user.proposals()]
        key = memory.create_key("phone", user=USER).key
    life = Life(
        USER,
        items=ids,
        superseded=ids[-1],
        threads=[_thread(number) for number in range(_THREADS)],
        themes=[_theme(number) for number in range(_THEMES)],
        proposals=proposals,
        key_ids=[key.id],
    )
    return Filled(life, source.queries(_QUESTIONS, texts), _tag(0))


def _drafts(texts: Sequence[str], chance: random.Random) -> Iterator[dict[str, Any]]:
    """Memories of different kinds, the oldest first, over most of a year up to now."""
    ends_at = datetime.now(UTC) - timedelta(minutes=5)
    apart = timedelta(days=_OVER_DAYS) / max(1, len(texts))
    kinds = [kind.value for kind in MemoryType if kind is not MemoryType.SUMMARY]
    for place, text in enumerate(texts):
        yield {
            "content": text,
            # As uneven as people's themes are: the first has the most.
            "theme": _theme(int(_THEMES * chance.random() ** 2)),
            "type": chance.choice(kinds),
            "tags": [_tag(int(_TAGS * chance.random() ** 2)) for _ in range(chance.randrange(3))],
            "importance": chance.choice((2, 2, 2, 3)),
            "created_at": ends_at - apart * (len(texts) - place),
            "thread_id": _thread(place % _THREADS),
            "message_id": f"m{place // _THREADS % _TURNS}",
        }


def _relate(memory: Memory, ids: Sequence[int], chance: random.Random) -> None:
    """As many relations as memories have when they are added one by one, to ones just before."""
    now = datetime.now(UTC)
    rows = [
        {
            "user_id": USER,
            "low_id": ids[place - step],
            "high_id": ids[place],
            "similarity": chance.uniform(0.6, 0.95),
            "created_at": now,
        }
        for place in range(len(ids))
        for step in range(1, min(place, _NEIGHBOURS) + 1)
    ]
    for start in range(0, len(rows), _AT_ONCE):
        with memory.database.write(USER) as writing:
            writing.connection.execute(sa.insert(relations), rows[start : start + _AT_ONCE])


def _talk(memory: Memory, source: InventedTexts) -> None:
    """Conversations, and one with open proposals."""
    user = memory.user(USER)
    said = iter(source.texts(_THREADS * _TURNS))
    for number in range(_THREADS):
        turns = [
            {"role": "assistant" if turn % 2 else "user", "content": text, "id": f"m{turn}"}
            for turn, text in enumerate(islice(said, _TURNS))
        ]
        user.observe(turns, thread=_thread(number), title=f"Conversation {number}")
    declared = [{"role": "user", "content": f"I am allergic to {what}"} for what in _DECLARED]
    user.observe(declared, thread="allergies")
    user.form("allergies")


def _theme(number: int) -> str:
    return f"theme-{number}"


def _tag(number: int) -> str:
    return f"tag{number}"


def _thread(number: int) -> str:
    return f"thread-{number}"
