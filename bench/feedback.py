"""python -m bench feedback: what ratings do to searches.

Every turn of a conversation is a memory. Every other question is asked, and what answers it, among
the first ten, is rated. Then the other questions are asked: those about a memory that was rated,
and those about none, which must not get worse. Without --path they are the conversations in six
languages: the questions of the rated half come back in the other five.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from bench.languages import LANGUAGES, in_language
from bench.options import Commands, add_json
from ricordo.cli.render import say
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.recall import APART, Conversation, Question, read_questions

_SHOWN: Final = 10  # what a user sees, and can rate
_DEPTH: Final = 50
_PATIENT_MS: Final = 60_000  # the second reading is never cut short: the same every time
_FLATTERERS: Final = 40


class Asked(NamedTuple):
    """A question, and the memories that answer it."""

    text: str
    right: frozenset[int]


class Halves(NamedTuple):
    """The questions that are rated for, those about the same memories, and those about others."""

    rated: Sequence[Asked]
    same: Sequence[Asked]
    other: Sequence[Asked]


class Case(NamedTuple):
    conversation: Conversation
    again: Sequence[Conversation]
    """The same with its questions in other words; none where other questions are about the same."""


def cases(path: Path | None) -> list[Case]:
    if path is not None:
        return [Case(one, ()) for one in read_questions(path).conversations]
    english, *others = LANGUAGES
    asked = [in_language(english, language).conversations for language in others]
    told = in_language(english, english).conversations
    return [Case(one, again) for one, *again in zip(told, *asked, strict=True)]


@contextmanager
def _remembered(case: Case) -> Iterator[tuple[UserMemory, Halves]]:
    turns = [turn for turn in case.conversation.turns if turn.text.strip()]
    with open_memory(":memory:", run_jobs=False, rerank_ms=_PATIENT_MS) as memory:
        user = memory.user("ana")
        drafts = [
            {
                "content": turn.text if turn.actor is None else f"{turn.actor}: {turn.text}",
                "valid_from": turn.at,
                "theme": turn.thread,
            }
            for turn in turns
        ]
        ids = dict(zip((turn.id for turn in turns), user.add_many(drafts), strict=True))
        known = {name: added.id for name, added in ids.items()}
        yield user, _halves(case, known)


def _halves(case: Case, known: Mapping[str, int]) -> Halves:
    def asked(questions: Iterable[Question]) -> list[Asked]:
        return [
            Asked(one.text, frozenset(known[name] for name in one.evidence if name in known))
            for one in questions
        ]

    scored = [
        (place, one)
        for place, one in enumerate(case.conversation.questions)
        if one.evidence and one.category not in APART
    ]
    rated = asked(one for _, one in scored[::2])
    rest = asked(one for _, one in scored[1::2])
    met = frozenset(item_id for one in rated for item_id in one.right)
    if case.again:
        places = [place for place, _ in scored[::2]]
        same = [
            one for again in case.again for one in asked(again.questions[place] for place in places)
        ]
    else:
        same = [one for one in rest if one.right & met]
    return Halves(rated, same, [one for one in rest if not one.right & met])


class Place(NamedTuple):
    """The first memory that answers a question, and its place."""

    rank: int
    id: int


Places = Mapping[str, Sequence[Place | None]]
"""By the name of the half."""


def _place(user: UserMemory, one: Asked) -> Place | None:
    found = enumerate(user.search(one.text, limit=_DEPTH, threshold=0), 1)
    return next((Place(place, hit.id) for place, hit in found if hit.id in one.right), None)


def _places(user: UserMemory, halves: Halves) -> Places:
    return {name: [_place(user, one) for one in asked] for name, asked in halves._asdict().items()}


def _rate(by: UserMemory, asked: Sequence[Asked], places: Places, verdict: str) -> None:
    """What answers, where it is shown."""
    for one, place in zip(asked, places["rated"], strict=True):
        if place is not None and place.rank <= _SHOWN:
            by.rate(place.id, verdict, query=one.text)


def _flatter(user: UserMemory) -> None:
    """Many agents say of one memory in ten that it helped, whatever it says."""
    every = [item.id for item in user.list(limit=1_000, sort="id", order="asc")]
    for number in range(_FLATTERERS):
        agent = user.narrow(agent=f"agent-{number}")
        for item_id in every[::10]:
            agent.rate(item_id, "used")


def _withdraw(user: UserMemory) -> None:
    """Everybody takes back what they said."""
    for item in user.list(limit=1_000):
        for rating in item.ratings:
            by = user.narrow(agent=rating.by) if rating.is_agent else user
            by.rate(item.id, "withdrawn")


WAYS: Final[Mapping[str, Callable[[UserMemory, Halves, Places], None]]] = {
    "the user says used": lambda user, halves, places: _rate(user, halves.rated, places, "used"),
    "an agent is mistaken: says wrong": lambda user, halves, places: _rate(
        user.narrow(agent="bot"), halves.rated, places, "wrong"
    ),
    f"{_FLATTERERS} agents flatter a tenth of all": lambda user, *_: _flatter(user),
}


def measure(path: Path | None, conversations: int | None) -> dict[str, Any]:
    before: dict[str, list[Place | None]] = {}
    after: dict[str, dict[str, list[Place | None]]] = {way: {} for way in WAYS}
    for case in cases(path)[:conversations]:
        with _remembered(case) as (user, halves):
            first = _places(user, halves)
            _add(before, first)
            for way, act in WAYS.items():
                act(user, halves, first)
                _add(after[way], _places(user, halves))
                _withdraw(user)
        say(f"{case.conversation.id}: done")
    return {
        "questions": {name: len(places) for name, places in before.items()},
        "before": {name: _figures(_ranks(places)) for name, places in before.items()},
        **{
            way: {
                name: _figures(_ranks(places)) | _moved(_ranks(before[name]), _ranks(places))
                for name, places in by_half.items()
            }
            for way, by_half in after.items()
        },
    }


def _add(to: dict[str, list[Place | None]], places: Places) -> None:
    for name, more in places.items():
        to.setdefault(name, []).extend(more)


def _ranks(places: Sequence[Place | None]) -> list[int | None]:
    return [None if place is None else place.rank for place in places]


def _figures(ranks: Sequence[int | None]) -> dict[str, Any]:
    if not ranks:
        return {}
    return {
        "first": round(fmean(rank == 1 for rank in ranks), 3),
        "among 10": round(fmean(rank is not None and rank <= _SHOWN for rank in ranks), 3),
        "MRR": round(fmean(0.0 if rank is None else 1 / rank for rank in ranks), 3),
    }


def _moved(before: Sequence[int | None], after: Sequence[int | None]) -> dict[str, int]:
    pairs = [
        (_DEPTH + 1 if one is None else one, _DEPTH + 1 if other is None else other)
        for one, other in zip(before, after, strict=True)
    ]
    return {
        "better": sum(later < earlier for earlier, later in pairs),
        "worse": sum(later > earlier for earlier, later in pairs),
    }


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("feedback", help="what ratings do to searches")
    parser.add_argument("--path", type=Path, help="a set of questions, as for ricordo bench recall")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = measure(given.path, given.conversations)
    if given.as_json:
        print(json.dumps(measured))
        return
    for name, value in measured.items():
        print(name if isinstance(value, dict) else f"{name}: {value}")
        for half, figures in value.items() if isinstance(value, dict) else ():
            shown = (
                "  ".join(f"{what} {figure}" for what, figure in figures.items())
                if isinstance(figures, dict)
                else figures
            )
            print(f"  {half:8} {shown}")
