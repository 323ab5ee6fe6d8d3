"""python -m bench ends: what conversations end, where little of it should be.

Every turn of a set is observed, and memories are formed without a language model. Then the turns
are counted that are marked as no longer so, and the memories that others have replaced.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from bench.options import Commands, add_json
from ricordo.model.vocabulary import Status
from ricordo.storage.tables import items, turns
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.answers import FORMED_PREFIX, form_all
from ricordo_bench.recall import QuestionSet, read_questions, store_for_measuring, user_of


@dataclass(frozen=True, slots=True)
class End:
    """A turn or a memory that is over, and what was said then or took its place."""

    of: str
    said: str
    by: str


@dataclass(frozen=True, slots=True)
class Ends:
    """Of one conversation."""

    conversation: str
    turns: int
    marked: int
    memories: int
    replaced: int
    ends: tuple[End, ...]


def measure(questions: QuestionSet) -> Iterator[Ends]:
    with store_for_measuring(None) as url:
        form_all(url, questions)
        with open_memory(url, run_jobs=False) as memory:
            for conversation in questions.conversations:
                yield _ends(conversation.id, memory.user(user_of(conversation, FORMED_PREFIX)))


def _ends(conversation: str, user: UserMemory) -> Ends:
    user_id = user.scope.user_id
    with user.database.read(user_id) as view:
        said = view.connection.execute(sa.select(turns).where(turns.c.user_id == user_id)).all()
        kept = view.connection.execute(sa.select(items).where(items.c.user_id == user_id)).all()
    then = {turn.at: turn.content for turn in said}
    marked = [turn for turn in said if turn.ended_at is not None]
    replaced = [item for item in kept if item.status == Status.SUPERSEDED.value]
    successors = [user.lineage(item.id).successor for item in replaced]
    ends = [End("turn", turn.content, then.get(turn.ended_at, "")) for turn in marked]
    ends += [
        End("memory", item.content, "" if new is None else new.content)
        for item, new in zip(replaced, successors, strict=True)
    ]
    return Ends(conversation, len(said), len(marked), len(kept), len(replaced), tuple(ends))


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("ends", help="what conversations end: turns and memories")
    add_json(parser)
    parser.add_argument("--path", type=Path, required=True, help="set of conversations")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    parser.add_argument("--show", action="store_true", help="also show what ended, and by what")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    whole = read_questions(given.path)
    some = replace(whole, conversations=whole.conversations[: given.conversations])
    found = list(measure(some))
    shown = found if given.show else [replace(one, ends=()) for one in found]
    if given.as_json:
        print(json.dumps([asdict(one) for one in shown], ensure_ascii=False))
        return
    print(f"{'Conversation':20} {'Turns':>6} {'Marked':>7} {'Memories':>9} {'Replaced':>9}")
    columns = [(one.turns, one.marked, one.memories, one.replaced) for one in found]
    total = tuple(map(sum, zip(*columns, strict=True)))
    names = [*(one.conversation for one in found), "all"]
    for name, (said, marked, kept, replaced) in zip(names, [*columns, total], strict=True):
        print(f"{name:20} {said:6} {marked:7} {kept:9} {replaced:9}")
    for one in shown:
        for end in one.ends:
            print(f"{one.conversation}, {end.of}: {end.said!r}\n    by {end.by!r}")
