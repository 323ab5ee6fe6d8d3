"""python -m training.reranker.join SET OUT [CHECKED ...]: how both rankings join.

A probability from the log-odds of the first ranking and what the second reading says, fitted to the
best candidates of questions that were held back from its training, and of a third as many that are
asked of other people, which nothing answers; and to requests of users that were held back. CHECKED
are sets to print figures for.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
from training.reranker.lists import HELD, held, stores

from ricordo.model.filters import ItemFilter, TurnFilter
from ricordo.recall.reranker import Joining, circumstances, log_odds, reranker
from ricordo.wiring import open_memory
from ricordo_bench.recall import _messages, read_questions

_MEMORIES = Path(__file__).parents[1] / "ranker" / "data" / "memories.jsonl"
_BEST, _PATIENCE = 10, 60.0
_ENDS = (15, 30, 1_000)  # also of stores that are still small
_TOGETHER = 6


def noted(search, user, text: str, wanted: set, names: dict, also: frozenset = frozenset()) -> dict:
    """The best of one question: both rankings' scores, and which of them are evidence."""
    filters = TurnFilter() if search.kind == "turns" else ItemFilter()
    answer = search.find(user.scope.user_id, text, _BEST, filters)
    with search._database.read(user.scope.user_id) as view:
        best, items = answer.ranked, answer.items
        lines = search._lines(view, user.scope.user_id, answer.question, best, items)
    said = reranker().said(text, lines, _PATIENCE) if lines else np.zeros(0)
    return {
        "first": np.array([one.score for one in best]),
        "said": said,
        "y": np.array([worth_of(names[one.id], wanted, also) for one in best], float),
        "count": len(wanted),
        "documents": len(names),
    }


def worth_of(name: object, wanted: set, also: frozenset) -> float:
    return 1.0 if name in wanted else 0.5 * (name in also)


def of_requests(kind: str) -> list[dict]:
    """Of users that were held back, also while little is known of them."""
    found = []
    with open_memory(":memory:", run_jobs=False, formation=False) as memory:
        for number, store in enumerate(stores()[1]):
            for end in _ENDS if store["kind"] == kind else ():
                user = memory.user(f"r{number}-{end}")
                lines = store["lines"][:end]
                if kind == "memories":
                    ids = [one.id for one in user.add_many(lines)]
                else:
                    for at, line in enumerate(lines):
                        user.observe([{"role": "user", "content": line}], thread=f"{at // 4}")
                    ids = [
                        one.id for at in range(0, len(lines), 4) for one in user.turns(f"{at // 4}")
                    ]
                names = {one: place for place, one in enumerate(ids)}
                search = user.recall.memories if kind == "memories" else user.recall.turns
                for asked in store["requests"]:
                    wanted, also = (
                        {place for place in asked[part] if place < len(ids)}
                        for part in ("e", "also")
                    )
                    found.append(noted(search, user, asked["q"], wanted, names, frozenset(also)))
    return found


def of_turns(path: Path, held: frozenset[str] | None) -> list[dict]:
    """Of each conversation in a store of its own, and of those that were held back also of several
    in one store: among more turns it is harder to be sure.
    """
    questions = read_questions(path)
    chosen = [one for one in questions.conversations if held is None or one.id in held]
    stores = [[one] for one in chosen]
    if held is not None:
        mixed = random.Random(8).sample(chosen, len(chosen))
        stores += [mixed[start : start + _TOGETHER] for start in range(0, len(mixed), _TOGETHER)]
    found = []
    with open_memory(":memory:", run_jobs=False, formation=False) as memory:
        for number, together in enumerate(stores):
            user, names = memory.user(f"store{number}"), {}
            for one in together:
                for thread, messages in _messages(one):
                    user.observe(messages, thread=f"{one.id} {thread}")
                names |= {turn.id: (one.id, turn.message_id) for turn in turns_of(user, one)}
            others = [asked for one in chosen if one not in together for asked in one.questions]
            here = [(one, asked) for one in together for asked in one.questions]
            strange = random.Random(number).sample(others, min(len(others), len(here) // 3))
            for one, asked in (*here, *((None, asked) for asked in strange)):
                has_answer = one is not None and asked.category != "adversarial"
                wanted = {(one.id, name) for name in asked.evidence} if has_answer else set()
                found.append(noted(user.recall.turns, user, asked.text, wanted, names))
    return found


def turns_of(user, conversation):
    for thread in dict.fromkeys(turn.thread for turn in conversation.turns if turn.text):
        cursor = None
        while True:
            page = user.turns(f"{conversation.id} {thread}", limit=100, cursor=cursor)
            yield from page
            cursor = page.next_cursor
            if cursor is None:
                break


def of_memories() -> list[dict]:
    stores = [json.loads(line) for line in _MEMORIES.read_text(encoding="utf-8").splitlines()]
    found = []
    with open_memory(":memory:", run_jobs=False) as memory:
        for number, end in ((one, end) for one in HELD["memories"] for end in _ENDS):
            user, store = memory.user(f"p{number}-{end}"), stores[number]
            added = user.add_many(store["memories"][:end])
            names = {one.id: place for place, one in enumerate(added)}
            elsewhere = [
                {**asked, "e": []}
                for other in HELD["memories"]
                if other != number
                for asked in stores[other]["questions"]
            ]
            others = random.Random(number).sample(elsewhere, len(store["questions"]) // 3)
            for asked in (*store["questions"], *others):
                wanted = {place for place in asked["e"] if place < len(names)}
                found.append(noted(user.recall.memories, user, asked["q"], wanted, names))
    return found


def fitted(found: list[dict]) -> Joining:
    """First the order, then what the best and the others are worth at their distances."""
    found = [one for one in found if len(one["first"])]
    both = [
        np.stack([log_odds(one["first"]), one["said"], np.ones(len(one["said"]))], 1)
        for one in found
    ]
    y = [one["y"] for one in found]
    order = regression(np.concatenate(both), np.concatenate(y))
    worth = [given @ order for given in both]
    tops = [int(one.argmax()) for one in worth]
    far = [circumstances(one, given["documents"]) for one, given in zip(worth, found, strict=True)]
    best = regression(
        np.array([one[top] for one, top in zip(far, tops, strict=True)]),
        np.array([one[top] for one, top in zip(y, tops, strict=True)]),
    )
    rest = regression(
        np.concatenate([np.delete(one, top, 0) for one, top in zip(far, tops, strict=True)]),
        np.concatenate([np.delete(one, top) for one, top in zip(y, tops, strict=True)]),
    )
    return Joining(*(one.round(4).tolist() for one in (order, best, rest)))


def regression(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A logistic one, by Newton's steps."""
    weights = np.zeros(x.shape[1])
    for _ in range(60):
        guess = 1 / (1 + np.exp(-(x @ weights)))
        bend = (x * (guess * (1 - guess))[:, None]).T @ x + np.eye(len(weights))
        step = np.linalg.solve(bend, x.T @ (guess - y))
        while loss(x @ (weights - step), y) > loss(x @ weights, y) and np.abs(step).max() > 1e-6:
            step = step / 2
        weights = weights - step
    return weights


def loss(evidence: np.ndarray, y: np.ndarray) -> float:
    return float((np.logaddexp(0, evidence) - y * evidence).sum())


def figures(found: list[dict], joining: Joining) -> str:
    said, tops, right, answered = [], [], [], []
    for one in found:
        if not len(one["first"]):
            continue
        joined = joining.chances(one["first"], one["said"], one["documents"])
        tops.append(joined.max())
        answered.append(one["count"] > 0)
        right.append(one["y"][joined.argmax()] > 0)
        if one["count"]:
            said.append([measures(one, scores) for scores in (one["first"], joined)])
    before, after = np.mean(said, 0).round(3).tolist()
    tops, right, error = np.array(tops), np.array(right), 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (tops >= low) & (tops < low + 0.1)
        if inside.any():
            error += inside.mean() * abs(tops[inside].mean() - right[inside].mean())
    has_answer = np.array(answered)
    sure = (tops[has_answer][:, None] > tops[~has_answer][None]).mean() if len(tops) else 0.0
    return (
        f"R@1 R@5 MRR {before} -> {after}, calibration error {error:.3f},"
        f" AUROC of nothing {sure:.3f} ({(~has_answer).sum()})"
    )


def measures(one: dict, scores: np.ndarray) -> tuple[float, float, float]:
    y = (one["y"] == 1)[np.argsort(-scores, kind="stable")]
    hits = np.flatnonzero(y)
    first = 1 / (hits[0] + 1) if len(hits) else 0.0
    return y[:1].sum() / one["count"], y[:5].sum() / one["count"], first


def main() -> None:
    source, out, *checked = map(Path, sys.argv[1:])
    joining = {}
    for kind, read in (("memories", of_memories), ("turns", lambda: of_turns(source, held()))):
        questions, requests = read(), of_requests(kind if kind == "memories" else "messages")
        joining[kind] = fitted(questions + requests)
        print(kind, joining[kind], figures(questions, joining[kind]))
        print("requests", figures(requests, joining[kind]), flush=True)
    written = {kind: one._asdict() for kind, one in joining.items()}
    out.write_text(json.dumps(written) + "\n", encoding="utf-8")
    for path in checked:
        print(path, figures(of_turns(path, None), joining["turns"]))


if __name__ == "__main__":
    main()
