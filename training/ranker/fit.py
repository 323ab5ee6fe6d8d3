"""python -m training.ranker.fit SET OUT [CHECKED ...]: the weights of the ranker.

Every question of SET is asked, and a third as many of other conversations, which nothing answers.
The candidates of the search, with its own features, are what the net learns from: which of them are
evidence, each for itself and among the others. Four nets from four starts are one with four times
the units. CHECKED are sets to print figures for, which nothing is fitted to.
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

from ricordo.model.filters import TurnFilter
from ricordo.recall import ranker, turn_search
from ricordo.wiring import open_memory
from ricordo_bench.recall import DEPTH, observe_all, read_questions, user_of

_UNITS, _STARTS, _EPOCHS, _AT_ONCE, _RATE = 16, 4, 8, 16, 3e-3
_SCORE_WEIGHT = 2.0


def lists(path: Path) -> list[dict]:
    """For each question the features of its candidates, which are evidence, and their scores."""
    questions = read_questions(path)
    chance, found, seen = random.Random(9), [], {}
    original = ranker.features

    def noted(question, candidates, fused, scores, boosts):
        given = original(question, candidates, fused, scores, boosts)
        seen.update(rows=candidates.rows, features=given, scores=np.array(scores))
        return given

    turn_search.features = noted
    with tempfile.TemporaryDirectory() as folder:
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
                few = min(len(others), max(20, len(one.questions) // 3))
                elsewhere = [(asked, False) for asked in chance.sample(others, few)]
                for asked, is_here in [*((asked, True) for asked in one.questions), *elsewhere]:
                    seen.clear()
                    user.recall.turns.find(user.scope.user_id, asked.text, DEPTH, TurnFilter())
                    if not seen:
                        continue
                    wanted = set(asked.evidence) if is_here else set()
                    found.append(
                        {
                            "of": one.id,
                            "category": asked.category if is_here else "elsewhere",
                            "evidence": len(wanted),
                            "x": seen["features"],
                            "y": np.array([names[row.id] in wanted for row in seen["rows"]], float),
                            "score": seen["scores"],
                        }
                    )
    turn_search.features = original
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
    net = nn.Sequential(nn.Linear(len(mean), _UNITS), nn.Tanh(), nn.Linear(_UNITS, 1))
    data = [
        (
            torch.tensor(np.clip((one["x"] - mean) / deviation, -3, 3), dtype=torch.float32),
            torch.tensor(one["y"], dtype=torch.float32),
        )
        for one in found
    ]
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=1e-3)
    chance = random.Random(seed)
    for _ in range(_EPOCHS):
        chance.shuffle(data)
        for start in range(0, len(data), _AT_ONCE):
            batch = data[start : start + _AT_ONCE]
            evidence = net(torch.cat([x for x, _ in batch]))[:, 0]
            parts = evidence.split([len(y) for _, y in batch])
            loss = torch.zeros(())
            for part, (_, y) in zip(parts, batch, strict=True):
                loss = loss + functional.binary_cross_entropy_with_logits(part, y, reduction="sum")
                if y.any():
                    loss = loss + 0.5 * (part.logsumexp(0) - part[y > 0].logsumexp(0))
            optimiser.zero_grad()
            (loss / _AT_ONCE).backward()
            optimiser.step()
    return net


def joined(nets: list[nn.Module], mean: np.ndarray, deviation: np.ndarray) -> dict:
    return {
        "features": list(ranker.FEATURES),
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
    found = lists(Path(sys.argv[1]))
    names = sorted({one["of"] for one in found})
    held = set(names[::4])
    apart = learned([one for one in found if one["of"] not in held])
    print("held back:", figures([one for one in found if one["of"] in held], apart))
    weights = learned(found)
    Path(sys.argv[2]).write_text(json.dumps(weights), encoding="utf-8")
    for path in sys.argv[3:]:
        print(f"{path}:", figures(lists(Path(path)), weights))


if __name__ == "__main__":
    main()
