"""python -m training.reranker.compare SHIPPED.npz TOKENIZER OUT.pt [SECONDS]: on two cores.

A copy of the upper layers that rank learns how a new statement stands to an old one: it ends it,
says the same, says more, or something else. The lowest stays as it is, and so does the ranking.
"""

import copy
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from training.reranker.train import BETWEEN, FIRST, config
from training.stance.pairs import (
    LABELS,
    NEW_TOKENS,
    OLD_TOKENS,
    Pair,
    plain_pairs,
    unrelated,
    written,
)
from transformers import BertModel

SHARED, LAYERS = 1, 4  # layers that both share, and all
RATE, SECONDS, ROUNDS = 2e-4, 560.0, 30
SHARES = {"written": 28, "plain": 28, "unrelated": 8}  # of a batch


class Comparer(nn.Module):
    """The lower layers, whose states are computed once, and the upper ones, which learn."""

    def __init__(self, weights: dict[str, torch.Tensor], tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        bert = BertModel(config(LAYERS), add_pooling_layer=False)
        state = bert.state_dict()
        for name, one in weights.items():
            if name in state:
                state[name][: len(one)] = one
        bert.load_state_dict(state)
        self._bert = [bert.eval()]
        self.layer = copy.deepcopy(bert.encoder.layer[SHARED:])
        self.stance = nn.Linear(384, len(LABELS))

    @torch.no_grad()
    def lower(self, pair: Pair) -> torch.Tensor:
        bert = self._bert[0]
        old, new = (
            self._tokenizer.encode(text, add_special_tokens=False).ids[:most]
            for text, most in ((pair.old, OLD_TOKENS), (pair.new, NEW_TOKENS))
        )
        ids = torch.tensor([[FIRST, *old, BETWEEN, *new, BETWEEN]])
        kinds = torch.tensor([[0] * (len(old) + 2) + [1] * (len(new) + 1)])
        states = bert.embeddings(input_ids=ids, token_type_ids=kinds)
        for layer in bert.encoder.layer[:SHARED]:
            states = _first(layer(states))
        return states[0].half()

    def forward(self, given: list[torch.Tensor]) -> torch.Tensor:
        states = nn.utils.rnn.pad_sequence([one.float() for one in given], batch_first=True)
        sizes = torch.tensor([len(one) for one in given])
        there = torch.arange(states.shape[1]) < sizes[:, None]
        mask = torch.where(there, 0.0, -1e4)[:, None, None, :]
        states = functional.dropout(states, 0.1, self.training)
        for layer in self.layer:
            states = _first(layer(states, mask))
        return self.stance(states[:, 0])


def _first(given: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return given if isinstance(given, torch.Tensor) else given[0]


@torch.no_grad()
def tested(model: Comparer, pairs: list[Pair]) -> dict[str, float]:
    model.eval()
    said = torch.cat([model([model.lower(pair)]).softmax(1) for pair in pairs])
    right = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    sure = said[:, 0] >= 0.9
    hits = (sure & (right == 0)).sum()
    model.train()
    return {
        "accuracy": round(float((said.argmax(1) == right).float().mean()), 3),
        "replaced, precision": round(float(hits / sure.sum()), 3),
        "replaced, recall": round(float(hits / (right == 0).sum()), 3),
    }


def main() -> None:
    source, vocabulary, out = map(Path, sys.argv[1:4])
    seconds = float(sys.argv[4]) if sys.argv[4:] else SECONDS
    torch.manual_seed(1)
    chance = random.Random(1)
    weights = {name: torch.from_numpy(one).float() for name, one in np.load(source).items()}
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    model = Comparer(weights, tokenizer)
    pools = {
        "written": written(is_held=False),
        "plain": plain_pairs(ROUNDS, 3),
        "unrelated": unrelated(written(is_held=False), chance),
    }
    known = {
        name: [(model.lower(pair), LABELS.index(pair.label)) for pair in pairs]
        for name, pairs in pools.items()
    }
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    started, step = time.monotonic(), 0
    while (done := (time.monotonic() - started) / seconds) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 30) * max(0.02, 1 - done)
        some = [
            one for name, count in SHARES.items() for one in chance.choices(known[name], k=count)
        ]
        right = torch.tensor([label for _, label in some])
        loss = functional.cross_entropy(
            model([one for one, _ in some]), right, label_smoothing=0.03
        )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
    print(step, "steps", tested(model, written(is_held=True)))
    upper = {
        f"stance.layer.{SHARED + int(name.split('.')[1])}.{name.split('.', 2)[2]}": one
        for name, one in model.state_dict().items()
        if name.startswith("layer.")
    }
    heads = {f"stance.{part}": getattr(model.stance, part).data for part in ("weight", "bias")}
    lower = {
        f"stance.layer.{number}.{name.split('.', 3)[3]}": one
        for number in range(SHARED)
        for name, one in weights.items()
        if name.startswith(f"encoder.layer.{number}.")
    }
    torch.save({name: one.half() for name, one in {**lower, **upper, **heads}.items()}, out)


if __name__ == "__main__":
    main()
