"""python -m training.stance.belief: how far to believe the model that something ends.

Fits ``_belief`` of ``formation/conflicts.py``: of what the model takes for an end, pairs that were
held back and do end something, against near pairs of long conversations, where next to nothing
ends. Prints the weights, and what a bar lets pass of both.
"""

import random
from collections.abc import Iterator

import numpy as np
from training.stance.pairs import Pair, spoken, stories, tells_change, written

from ricordo.formation.gate import gate
from ricordo.formation.statements import ENGLISH, share_of_words
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.recall.stance import stances

LEAST = 0.75  # how surely the model has to take something for an end
NEAR, BESIDE = 0.2, 6
TALK = 2_000  # texts of conversations that are looked at
SHARPNESS = 0.3


def in_talk(chance: random.Random) -> Iterator[Pair]:
    embedder = LocalEmbedder()
    for said in stories(is_held=False):
        vectors = embedder.embed([text for _, text in said])
        alike = vectors @ vectors.T
        for later in chance.sample(range(len(said)), min(len(said), TALK // 16)):
            turn, text = said[later]
            before = [place for place in range(later) if said[place][0] < turn]
            before = [place for place in before if alike[later, place] >= NEAR]
            if not tells_change(text):
                for place in sorted(before, key=lambda one: -alike[later, one])[:BESIDE]:
                    yield Pair(said[place][1], text, "other")


def circumstances(pair: Pair) -> list[float] | None:
    """Of what the model takes for an end."""
    how = stances(pair.new, [pair.old])[0]
    if how.replaced < LEAST:
        return None
    pieces = gate().read(pair.old).pieces()
    return [
        -float(np.log(max(how.other, 1e-4))),
        -min(len(pair.new), 200) / 100,
        share_of_words(ENGLISH, pair.new, pair.old),
        max((one.chance for one in pieces if one.is_kept), default=0.0),
        1.0,
    ]


def fitted(rows: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """By Newton's method; the last of each row is one."""
    weights = np.zeros(rows.shape[1])
    kept = SHARPNESS * np.eye(len(weights))
    for _ in range(50):
        said = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (said - ends) + kept @ weights
        weights -= np.linalg.solve((rows.T * (said * (1 - said))) @ rows + kept, slope)
    return weights


def main() -> None:
    held = [pair for told in spoken().values() for pair, is_held in told if is_held]
    held += written(is_held=True)
    ending = [pair for pair in held if pair.label == "replaced"]
    found = [(circumstances(pair), 1) for pair in ending]
    found += [(circumstances(pair), 0) for pair in in_talk(random.Random(1))]
    known = [(row, label) for row, label in found if row is not None]
    rows, ends = np.array([row for row, _ in known]), np.array([label for _, label in known])
    weights = fitted(rows, ends)
    print(len(ends), "pairs,", ends.sum(), "of them end something; weights", weights.round(2))
    for bar in (-1.5, -1.0, -0.5, 0.0, 0.5):
        passed = rows @ weights >= bar
        print(
            bar,
            "ends",
            passed[ends == 1].mean().round(3),
            "talk",
            passed[ends == 0].mean().round(3),
        )


if __name__ == "__main__":
    main()
