"""python -m bench aliases: questions that meet their answers only by another name.

"My sister" in the question, "Carolina" in the memory or the turn. How often the answer is first,
and among the first five; whether answers that have the question's own words stay first; and how
many traps were fallen into, where two names are not of the same one.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.options import Commands, add_json
from ricordo.model.search import Hit
from ricordo.wiring import open_memory

_SET: Final = Path(__file__).parent / "alias_questions.json"
_FEW: Final = 5


def measure(ranking_off: str = "") -> dict[str, Any]:
    given = json.loads(_SET.read_text(encoding="utf-8"))
    with open_memory(":memory:", run_jobs=False, ranking_off=ranking_off) as memory:
        user = memory.user("ana")
        for added in user.add_many(given["forgotten"]):
            user.forget(added.id)
        for added in user.add_many(given["superseded"]):
            user.add("User has another dentist now.", supersedes=added.id)
        ids = [added.id for added in user.add_many(given["memories"])]
        said = [{"role": role, "content": content} for role, content in given["turns"]]
        user.observe(said, thread="spring")
        turn_ids = [turn.id for turn in user.turns("spring")]
        memories = Tally()
        for text, places in given["questions"]:
            memories.count(text, user.search(text, limit=_FEW), {ids[place] for place in places})
        same = Tally()
        for text, places in given["same_name"]:
            same.count(text, user.search(text, limit=_FEW), {ids[place] for place in places})
        turns = Tally()
        for text, places in given["turn_questions"]:
            right = {turn_ids[place] for place in places}
            turns.count(text, user.search_turns(text, limit=_FEW), right)
        fallen_into = []
        for text, places, names in given["traps"]:
            found = user.search(text, limit=_FEW, explain=True).results
            wrong = {ids[place] for place in places}
            explained = found[0].explanation if found else None
            added = (explained or {}).get("aliases", [])
            if set(added) - set(names) or (found and found[0].id in wrong):
                fallen_into.append(text)
    return {
        **memories.figures("memories"),
        **turns.figures("turns"),
        **same.figures("memories by the same name"),
        "traps": len(given["traps"]),
        "fallen into": fallen_into,
    }


class Tally:
    def __init__(self) -> None:
        self._asked = self._first = self._few = 0
        self._missed: list[str] = []

    def count(self, text: str, found: Iterable[Hit], right: set[int]) -> None:
        places: Sequence[int] = [place for place, hit in enumerate(found) if hit.id in right]
        self._asked += 1
        self._few += bool(places)
        is_first = bool(places) and places[0] == 0
        self._first += is_first
        if not is_first:
            self._missed.append(text)

    def figures(self, of: str) -> dict[str, Any]:
        return {
            f"questions about {of}": self._asked,
            f"first of {of}": self._first,
            f"among {_FEW} {of}": self._few,
            f"not first of {of}": self._missed,
        }


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("aliases", help="questions that name somebody otherwise")
    parser.add_argument("--off", default="", help="parts of the ranking to leave out")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = measure(given.off)
    if given.as_json:
        print(json.dumps(measured))
        return
    for name, value in measured.items():
        print(f"{name:44} {value}")
