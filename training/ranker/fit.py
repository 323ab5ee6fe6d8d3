"""python -m training.ranker.fit SET OUT [CHECKED ...]: the weights of the ranker.

Every question of SET (turns) and of ``data/memories.jsonl`` is asked, and a third as many of other
conversations or people, which nothing answers. The candidates of the search, with its own features,
are what the nets learn from: which of them are evidence, each for itself and among the others. Four
nets from four starts are one with four times the units. CHECKED are sets to print figures for,
which nothing is fitted to.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ricordo.model.filters import ItemFilter, TurnFilter
from ricordo.recall import memory_search, ranker, turn_search
from ricordo.wiring import open_memory
from ricordo_bench.recall import DEPTH, observe_all, read_questions, user_of

_UNITS, _STARTS, _EPOCHS, _AT_ONCE, _RATE = 16, 4, 8, 16, 3e-3
_SCORE_WEIGHT = 2.0


class Noted:
    """Keeps what a search has computed of its candidates."""

    def __init__(self, search) -> None:
        self._search, self.seen = search, {}

    def __enter__(self):
        self._search.features = self._noted
        return self.seen

    def __exit__(self, *error):
        self._search.features = ranker.features

    def _noted(self, question, candidates, fused, scores, boosts=None):
        given = ranker.features(question, candidates, fused, scores, boosts)
        self.seen.update(rows=candidates.rows, features=given, scores=scores)
        return given


def entry(seen: dict, of: str, category: str, wanted: set, names: dict) -> dict:
    return {
        "of": of,
        "category": category,
        "evidence": len(wanted),
        "x": seen["features"],
        "y": np.array([names[row.id] in wanted for row in seen["rows"]], float),
        "score": seen["scores"],
    }


def lists_of_memories(path: Path) -> list[dict]:
    """Like :func:`lists`, of whole stores and of their beginnings."""
    stores = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    chance, found = random.Random(9), []
    with open_memory(":memory:", run_jobs=False) as memory, Noted(memory_search) as seen:
        for number, store in enumerate(stores):
            for end in (len(store["memories"]), *chance.sample((6, 12, 20, 35, 50), 2)):
                user = memory.user(f"p{number}-{end}")
                added = user.add_many(store["memories"][:end])
                names = {one.id: place for place, one in enumerate(added)}
                here = [
                    (one["q"], one["k"], {e for e in one["e"] if e < end})
                    for one in store["questions"]
                ]
                if end < len(store["memories"]):
                    here = chance.sample(here, 16)
                others = [
                    one["q"] for other in stores if other is not store for one in other["questions"]
                ]
                asked = here + [
                    (text, "elsewhere", set()) for text in chance.sample(others, len(here) // 3)
                ]
                for text, kind, wanted in asked:
                    seen.clear()
                    user.recall.memories.find(user.scope.user_id, text, DEPTH, ItemFilter())
                    if seen:
                        called = kind if wanted else "elsewhere"
                        found.append(entry(seen, f"p{number}", called, wanted, names))
    return found


def lists(path: Path) -> list[dict]:
    """For each question the features of its candidates, which are evidence, and their scores."""
    questions = read_questions(path)
    chance, found = random.Random(9), []
    with Noted(turn_search) as seen, tempfile.TemporaryDirectory() as folder:
        url = f"{folder}/ricordo.db"
        observe_all(url, questions)
        with open_memory(url, run_jobs=False) as memory:
            for one in questions.conversations:
                user = memory.user(user_of(one))
                names = {}
                for thread in user.threads(limit=100):
                    names |= {turn.id: turn.message_id for turn in _turns(user, thread.thread_id)}
                others = [
                    asked
                    for other in questions.conversations
                    if other.id != one.id
                    for asked in other.questions
                    if asked.evidence
                ]
                few = min(len(others), 1 + len(one.questions) // 3)
                elsewhere = [(asked, False) for asked in chance.sample(others, few)]
                for asked, is_here in [*((asked, True) for asked in one.questions), *elsewhere]:
                    seen.clear()
                    user.recall.turns.find(user.scope.user_id, asked.text, DEPTH, TurnFilter())
                    if not seen:
                        continue
                    wanted = set(asked.evidence) if is_here else set()
                    kind = asked.category if is_here else "elsewhere"
                    found.append(entry(seen, one.id, kind, wanted, names))
    return found


def _turns(user, thread):
    cursor = None
    while True:
        page = user.turns(thread, limit=100, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


def fitted(found: list[dict], seed: int, mean: np.ndarray, deviation: np.ndarray) -> nn.Module:
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # more would wait for each other
    net = nn.Sequential(nn.Linear(len(mean), _UNITS), nn.Tanh(), nn.Linear(_UNITS, 1))
    x, y, present = padded(found, mean, deviation)
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=1e-3)
    for _ in range(_EPOCHS):
        for some in torch.randperm(len(x)).split(_AT_ONCE):
            evidence, wanted, there = net(x[some])[..., 0], y[some], present[some]
            each = functional.binary_cross_entropy_with_logits(evidence, wanted, reduction="none")
            loss = (each * there).sum()
            answered = wanted.any(1)
            among = evidence[answered].masked_fill(there[answered] == 0, -1e4)
            best = among.masked_fill(wanted[answered] == 0, -1e4).logsumexp(1)
            loss = loss + 0.5 * (among.logsumexp(1) - best).sum()
            optimiser.zero_grad()
            (loss / _AT_ONCE).backward()
            optimiser.step()
    return net


def padded(
    found: list[dict], mean: np.ndarray, deviation: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All lists as long as the longest: features, which are evidence, and which are there."""
    shape = (len(found), max(len(one["y"]) for one in found))
    x, y, present = np.zeros((*shape, len(mean))), np.zeros(shape), np.zeros(shape)
    for place, one in enumerate(found):
        end = len(one["y"])
        x[place, :end] = np.clip((one["x"] - mean) / deviation, -3, 3)
        y[place, :end], present[place, :end] = one["y"], 1
    first, second, third = (torch.tensor(each, dtype=torch.float32) for each in (x, y, present))
    return first, second, third


def joined(nets: list[nn.Module], mean: np.ndarray, deviation: np.ndarray) -> dict:
    return {
        "mean": mean.round(6).tolist(),
        "deviation": deviation.round(6).tolist(),
        "first": np.concatenate([net[0].weight.detach().T for net in nets], 1).round(5).tolist(),
        "first_bias": np.concatenate([net[0].bias.detach() for net in nets]).round(5).tolist(),
        "last": (np.concatenate([net[2].weight.detach()[0] for net in nets]) / len(nets))
        .round(5)
        .tolist(),
        "last_bias": round(sum(float(net[2].bias.detach()) for net in nets) / len(nets), 5),
    }


def calibrated(weights: dict, found: list[dict]) -> dict:
    """The net and the score together, scaled and shifted so that they are a probability."""
    together = ranker.made_of({**weights, "score_weight": _SCORE_WEIGHT})
    chances = np.concatenate([together.chances(one["x"]) for one in found])
    evidence, y = np.log(chances / (1 - chances)), np.concatenate([one["y"] for one in found])
    scale, shift = 1.0, -1.0
    for _ in range(60):
        guess = 1 / (1 + np.exp(-(scale * evidence + shift)))
        spread = guess * (1 - guess)
        slope = np.array([((guess - y) * evidence).mean(), (guess - y).mean()])
        bend = np.array(
            [
                [(spread * evidence**2).mean(), (spread * evidence).mean()],
                [(spread * evidence).mean(), spread.mean()],
            ]
        )
        step = np.linalg.solve(bend + 1e-9 * np.eye(2), slope)
        scale, shift = scale - step[0], shift - step[1]
    return {
        **weights,
        "last": (scale * np.array(weights["last"])).round(6).tolist(),
        "last_bias": round(float(scale * weights["last_bias"] + shift), 5),
        "score_weight": round(float(scale * _SCORE_WEIGHT), 5),
    }


def learned(found: list[dict]) -> dict:
    x = np.concatenate([one["x"] for one in found])
    mean, deviation = x.mean(0), np.maximum(x.std(0), 1e-3)
    nets = [fitted(found, seed, mean, deviation) for seed in range(_STARTS)]
    return calibrated(joined(nets, mean, deviation), found)


def figures(found: list[dict], weights: dict) -> str:
    net = ranker.made_of(weights)
    said, tops, right, answerable = [], [], [], []
    for one in found:
        chances = net.chances(one["x"])
        if one["category"] == "adversarial":
            continue
        best = int(chances.argmax())
        tops.append(chances[best])
        right.append(one["y"][best])
        answerable.append(one["category"] != "elsewhere" and one["y"].any())
        if one["evidence"]:
            said.append([_measures(one, order) for order in (one["score"], chances)])
    before, after = np.mean(said, 0).round(3).tolist()
    tops, right = np.array(tops), np.array(right)
    error = 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (tops >= low) & (tops < low + 0.1)
        if inside.any():
            error += inside.mean() * abs(tops[inside].mean() - right[inside].mean())
    order = tops.argsort().argsort() + 1
    answerable = np.array(answerable)
    yes, no = answerable.sum(), (~answerable).sum()
    area = (order[answerable].sum() - yes * (yes + 1) / 2) / (yes * no)
    return f"R@1 R@10 MRR {before} -> {after}, calibration error {error:.3f}, AUROC {area:.3f}"


def _measures(one: dict, scores: np.ndarray) -> tuple[float, float, float]:
    y = one["y"][np.argsort(-scores, kind="stable")]
    hits = np.flatnonzero(y[:20])
    first = 1 / (hits[0] + 1) if len(hits) else 0.0
    return y[:1].sum() / one["evidence"], y[:10].sum() / one["evidence"], first


def main() -> None:
    weights: dict = {"features": list(ranker.FEATURES)}
    for kind, found in (
        ("memories", lists_of_memories(Path(__file__).parent / "data" / "memories.jsonl")),
        ("turns", lists(Path(sys.argv[1]))),
    ):
        names = sorted({one["of"].removesuffix("-begun") for one in found})
        held = {name + end for name in names[::4] for end in ("", "-begun")}
        apart = learned([one for one in found if one["of"] not in held])
        print(f"{kind}, held back:", figures([one for one in found if one["of"] in held], apart))
        weights[kind] = learned(found)
    Path(sys.argv[2]).write_text(json.dumps(weights), encoding="utf-8")
    for path in sys.argv[3:]:
        print(f"{path}:", figures(lists(Path(path)), weights["turns"]))


if __name__ == "__main__":
    main()
