"""python -m training.reranker.join SET OUT [CHECKED ...]: how both rankings join.

A probability from the log-odds of the first ranking and what the second reading says, fitted to the
best candidates of questions that were held back from its training. CHECKED are sets to print
figures for.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from training.reranker.lists import HELD, held

from ricordo.model.filters import ItemFilter, TurnFilter
from ricordo.recall.reranker import log_odds, reranker
from ricordo.wiring import open_memory
from ricordo_bench.recall import observe_all, read_questions, user_of

_MEMORIES = Path(__file__).parents[1] / "ranker" / "data" / "memories.jsonl"
_BEST, _PATIENCE = 10, 60.0


def noted(search, user, text: str, wanted: set, names: dict, number: int) -> dict:
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
        "y": np.array([names[one.id] in wanted for one in best], float),
        "count": number,
    }


def of_turns(path: Path, held: frozenset[str] | None) -> list[dict]:
    questions, found = read_questions(path), []
    with tempfile.TemporaryDirectory() as folder:
        url = f"{folder}/ricordo.db"
        chosen = [one for one in questions.conversations if held is None or one.id in held]
        observe_all(url, type(questions)(**{**vars_of(questions), "conversations": tuple(chosen)}))
        with open_memory(url, run_jobs=False) as memory:
            for one in chosen:
                user = memory.user(user_of(one))
                names = {}
                for thread in user.threads(limit=100):
                    cursor = None
                    while True:
                        page = user.turns(thread.thread_id, limit=100, cursor=cursor)
                        names |= {turn.id: turn.message_id for turn in page}
                        cursor = page.next_cursor
                        if cursor is None:
                            break
                for asked in one.questions:
                    if asked.category == "adversarial":
                        continue
                    wanted = set(asked.evidence)
                    search = user.recall.turns
                    found.append(noted(search, user, asked.text, wanted, names, len(wanted)))
    return found


def vars_of(given) -> dict:
    return {name: getattr(given, name) for name in given.__dataclass_fields__}


def of_memories() -> list[dict]:
    stores = [json.loads(line) for line in _MEMORIES.read_text(encoding="utf-8").splitlines()]
    found = []
    with open_memory(":memory:", run_jobs=False) as memory:
        for number in HELD["memories"]:
            user, store = memory.user(f"p{number}"), stores[number]
            names = {one.id: place for place, one in enumerate(user.add_many(store["memories"]))}
            for asked in store["questions"]:
                wanted = set(asked["e"])
                search = user.recall.memories
                found.append(noted(search, user, asked["q"], wanted, names, len(wanted)))
    return found


def fitted(found: list[dict]) -> list[float]:
    """A logistic regression by Newton's steps."""
    x = np.concatenate(
        [np.stack([log_odds(one["first"]), one["said"]], 1) for one in found if len(one["first"])]
    )
    x = np.concatenate([x, np.ones((len(x), 1))], 1)
    y = np.concatenate([one["y"] for one in found])
    weights = np.array([0.5, 0.1, 0.0])
    for _ in range(60):
        guess = 1 / (1 + np.exp(-(x @ weights)))
        bend = (x * (guess * (1 - guess))[:, None]).T @ x + np.eye(3)
        step = np.linalg.solve(bend, x.T @ (guess - y))
        while loss(x @ (weights - step), y) > loss(x @ weights, y) and np.abs(step).max() > 1e-6:
            step = step / 2
        weights = weights - step
    return [round(float(one), 4) for one in weights]


def loss(evidence: np.ndarray, y: np.ndarray) -> float:
    return float((np.logaddexp(0, evidence) - y * evidence).sum())


def figures(found: list[dict], weights: list[float]) -> str:
    said, tops, right = [], [], []
    for one in found:
        if not len(one["first"]):
            continue
        joined = 1 / (
            1
            + np.exp(-(weights[0] * log_odds(one["first"]) + weights[1] * one["said"] + weights[2]))
        )
        tops.append(joined.max())
        right.append(one["y"][joined.argmax()])
        if one["count"]:
            said.append([measures(one, scores) for scores in (one["first"], joined)])
    before, after = np.mean(said, 0).round(3).tolist()
    tops, right, error = np.array(tops), np.array(right), 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (tops >= low) & (tops < low + 0.1)
        if inside.any():
            error += inside.mean() * abs(tops[inside].mean() - right[inside].mean())
    return f"R@1 R@5 MRR {before} -> {after}, calibration error {error:.3f}"


def measures(one: dict, scores: np.ndarray) -> tuple[float, float, float]:
    y = one["y"][np.argsort(-scores, kind="stable")]
    hits = np.flatnonzero(y)
    first = 1 / (hits[0] + 1) if len(hits) else 0.0
    return y[:1].sum() / one["count"], y[:5].sum() / one["count"], first


def main() -> None:
    source, out, *checked = map(Path, sys.argv[1:])
    joining = {}
    for kind, read in (("memories", of_memories), ("turns", lambda: of_turns(source, held()))):
        found = read()
        joining[kind] = fitted(found)
        print(kind, joining[kind], figures(found, joining[kind]), flush=True)
    out.write_text(json.dumps(joining) + "\n", encoding="utf-8")
    for path in checked:
        print(path, figures(of_turns(path, None), joining["turns"]))


if __name__ == "__main__":
    main()
