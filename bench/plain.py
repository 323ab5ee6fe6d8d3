"""python -m bench plain: plain questions and requests over 64 memories of one user.

How often the answer is first in a search and shown in a context, how many other memories are shown
with it, and what happens where nothing is known. A request ("Suggest a restaurant for tonight.")
asks for no memory, and yet cannot be met well without some.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

from bench.options import Commands, add_json
from ricordo.wiring import open_memory

_SET: Final = Path(__file__).parent / "plain_questions.json"


def measure() -> dict[str, Any]:
    given = json.loads(_SET.read_text(encoding="utf-8"))
    with open_memory(":memory:", run_jobs=False) as memory:
        user = memory.user("ana")
        ids = [added.id for added in user.add_many(given["memories"])]
        first = shown = irrelevant = 0
        missed = []
        for text, places in given["questions"]:
            right = {ids[place] for place in places}
            found = user.search(text, limit=10).results
            is_first = bool(found) and found[0].id in right
            first += is_first
            seen = {one.id for one in user.context(text, modes="recall").memories}
            shown += bool(seen & right)
            irrelevant += len(seen - right)
            if not (is_first and seen & right):
                missed.append(text)
        needed = all_needed = beside = 0
        unmet = []
        for text, needs, helps in given["requests"]:
            right = {ids[place] for place in needs}
            seen = {one.id for one in user.context(text, modes="recall").memories}
            needed += bool(seen & right)
            all_needed += seen >= right
            beside += len(seen - right - {ids[place] for place in helps})
            if not seen & right:
                unmet.append(text)
        quiet = found_nothing = 0
        talkative = []
        for text in given["nothing"]:
            is_quiet = not user.context(text, modes="recall").memories
            quiet += is_quiet
            found_nothing += not user.search(text).results
            if not is_quiet:
                talkative.append(text)
        idle = [user.context(text, modes="recall").memories for text in given["idle"]]
    return {
        "questions": len(given["questions"]),
        "first in search": first,
        "shown in context": shown,
        "irrelevant shown": irrelevant,
        "not first or not shown": missed,
        "requests": len(given["requests"]),
        "needed shown": needed,
        "all needed shown": all_needed,
        "beside it shown": beside,
        "not shown": unmet,
        "need nothing": len(idle),
        "nothing shown for them": sum(not one for one in idle),
        "of nothing": len(given["nothing"]),
        "nothing found": found_nothing,
        "nothing shown": quiet,
        "shown for": talkative,
    }


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("plain", help="plain questions over 64 memories, and what is shown")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    measured = measure()
    if given.as_json:
        print(json.dumps(measured))
        return
    for name, value in measured.items():
        print(f"{name:24} {value}")
