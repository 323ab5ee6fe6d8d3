"""python -m training.stance.train SPC XPERSONA TOKENIZER ENCODER OUT [SECONDS]: on a GPU.

The layers of the sentence encoder learn to read two texts together: whether a later message ends an
earlier statement, says the same, says more, or something else. The word table stays, because the
encoder reads it too. What one speaker says in one dialogue of SPC (Synthetic-Persona-Chat) and of
XPERSONA ends nothing that the same one said before, however near it is; nor does what tells of no
change in our long conversations. Of what does, ``told`` has the labels.
"""

import json
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from training.multilingual.train import meant, model
from training.stance.pairs import (
    BETWEEN,
    FIRST,
    LABELS,
    NEW_TOKENS,
    OLD_TOKENS,
    Pair,
    plain_pairs,
    spoken,
    stories,
    tells_change,
    told,
    unrelated,
    written,
)

RATE, SECONDS, ROUNDS = 1.5e-4, 250.0, 30
SHARES = {
    "written": 96, "spoken": 144, "told": 16, "plain": 48, "unrelated": 32,
    "near": 64, "stories": 48,
}  # of a batch  # fmt: skip
NEAREST, FARTHEST = 0.97, 0.2  # cosines of what is near
BESIDE = 6  # lines of a story that one is compared with
DROPPED = 0.1
UNSEEN = 10_000  # of the near lines that are held back
Said = list[tuple[int, str]]  # what one speaker says, with the number of the turn
Pools = dict[str, list[tuple[list[int], list[int], int]]]
LOST = 0.05  # of the tokens, so that nothing is learned by heart


def said_by_one(spc: Path, xpersona: Path) -> Iterator[Said]:
    """What each speaker of a dialogue says in it."""
    for path in sorted(spc.rglob("*.json")):
        by: dict[str, list[str]] = {}
        for one in json.loads(path.read_text(encoding="utf-8"))["messages"]:
            by.setdefault(one["role"], []).append(one["content"]["text"])
        yield from (list(enumerate(said)) for said in by.values())
    for path in sorted(xpersona.glob("*_persona_*.json")):
        for one in json.loads(path.read_text(encoding="utf-8")):
            for speaker in zip(*one["dialogue"], strict=False):
                yield list(enumerate(speaker))


@torch.no_grad()
def near(
    encoder, tokens: list[list[int]], dialogues: list[Said], most: int
) -> list[tuple[list[int], list[int], int, int]]:
    """Of each line the nearest that the same speaker said before, as places of the lines."""
    order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
    vectors = torch.zeros(len(tokens), 384, device="cuda")
    for start in range(0, len(order), 4096):
        some = order[start : start + 4096]
        rows = [[FIRST, *tokens[place][:NEW_TOKENS], BETWEEN] for place in some]
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        sizes = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(ids.shape[1]) < sizes[:, None]).long()
        vectors[some] = meant(encoder, ids.cuda(), mask.cuda())
    found, first = [], 0
    vectors = vectors.cpu()
    for said in dialogues:
        own = vectors[first : first + len(said)]
        turn = torch.tensor([number for number, _ in said])
        alike = (own @ own.T).where(turn[None, :] < turn[:, None], torch.tensor(-1.0))
        best = alike.topk(min(most, len(said)), dim=1)
        for later, (cosines, earlier) in enumerate(zip(*best, strict=True)):
            for cosine, place in zip(cosines.tolist(), earlier.tolist(), strict=True):
                if FARTHEST <= cosine <= NEAREST:
                    found.append((tokens[first + place], tokens[first + later], -1, first + later))
        first += len(said)
    return found


class Comparer(nn.Module):
    """The encoder's layers over its own word table, which does not learn."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        table = quantised(weights["embeddings.word_embeddings.weight"])
        self.bert = model(len(table))
        self.bert.load_state_dict({**weights, "embeddings.word_embeddings.weight": table}, False)
        kinds = self.bert.embeddings.token_type_embeddings.weight.data
        kinds[1] = kinds[0] + 0.02 * torch.randn_like(kinds[0])
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.stance = nn.Linear(384, len(LABELS)).cuda()
        for part in self.bert.modules():
            if isinstance(part, nn.Dropout):
                part.p = DROPPED

    def forward(self, pairs: list[tuple[list[int], list[int]]]) -> torch.Tensor:
        rows = [
            ([FIRST, *old[:OLD_TOKENS], BETWEEN], [*new[:NEW_TOKENS], BETWEEN])
            for old, new in pairs
        ]
        ids = nn.utils.rnn.pad_sequence([torch.tensor(a + b) for a, b in rows], batch_first=True)
        kinds = nn.utils.rnn.pad_sequence(
            [torch.tensor([0] * len(a) + [1] * len(b)) for a, b in rows], batch_first=True
        )
        sizes = torch.tensor([len(a) + len(b) for a, b in rows])
        mask = (torch.arange(ids.shape[1]) < sizes[:, None]).long()
        with torch.autocast("cuda", torch.bfloat16):
            states = self.bert(
                input_ids=ids.cuda(), attention_mask=mask.cuda(), token_type_ids=kinds.cuda()
            ).last_hidden_state
        return self.stance(states[:, 0].float())


def thinned(tokens: list[int], chance: random.Random) -> list[int]:
    return [one for one in tokens if chance.random() >= LOST]


def quantised(table: torch.Tensor) -> torch.Tensor:
    """As the shipped graph has it, in eight bits a row."""
    scale = table.abs().max(1, keepdim=True).values / 127
    return (table / scale).round() * scale


@torch.no_grad()
def tested(comparer: Comparer, pairs: list[tuple[list[int], list[int], int]]) -> str:
    comparer.eval()
    said = torch.cat(
        [
            comparer([(old, new) for old, new, _ in pairs[start : start + 256]]).softmax(1).cpu()
            for start in range(0, len(pairs), 256)
        ]
    )
    comparer.train()
    right = torch.tensor([label for *_, label in pairs])
    sure = said[:, 0] >= 0.9
    hits = (sure & (right == 0)).sum()
    accuracy = (said.argmax(1) == right).float().mean()
    return f"{accuracy:.3f} {hits / sure.sum():.3f}/{hits / (right == 0).sum():.3f}"


def main() -> None:
    spc, xpersona, vocabulary, source, out = map(Path, sys.argv[1:6])
    seconds = float(sys.argv[6]) if sys.argv[6:] else SECONDS
    torch.manual_seed(1)
    chance = random.Random(1)
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding(), tokenizer.no_truncation()
    weights = {name: value.float() for name, value in load_file(str(source)).items()}

    def encoded(texts: list[str]) -> list[list[int]]:
        return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]

    def prepared(pairs: list[Pair]) -> list[tuple[list[int], list[int], int]]:
        olds, news = encoded([one.old for one in pairs]), encoded([one.new for one in pairs])
        labels = [LABELS.index(one.label) for one in pairs]
        return list(zip(olds, news, labels, strict=True))

    encoder = model(len(weights["embeddings.word_embeddings.weight"])).eval()
    encoder.load_state_dict(weights, strict=False)

    def beside(dialogues: list[Said], most: int) -> list[tuple[list[int], list[int], int]]:
        lines = [text for said in dialogues for _, text in said]
        found = near(encoder, encoded(lines), dialogues, most)
        kept = [pair[:3] for pair in found if most == 1 or not tells_change(lines[pair[3]])]
        chance.shuffle(kept)
        return kept

    dialogues = beside([said for said in said_by_one(spc, xpersona) if said], 1)
    in_languages = spoken()
    learned = [pair for pairs in in_languages.values() for pair, is_held in pairs if not is_held]
    known = written(is_held=False)
    pools = {
        "written": prepared(known),
        "spoken": prepared(learned),
        "told": prepared(told()),
        "plain": prepared(plain_pairs(ROUNDS, 3)),
        "unrelated": prepared(unrelated([*known, *learned], chance)),
        "near": dialogues[UNSEEN:],
        "stories": beside(list(stories(is_held=False)), BESIDE),
        "unseen": dialogues[:UNSEEN],
        "unseen stories": beside(list(stories(is_held=True)), BESIDE),
    }
    print({name: len(pool) for name, pool in pools.items()}, flush=True)
    checked = {
        language: prepared([pair for pair, is_held in pairs if is_held])
        for language, pairs in in_languages.items()
    }
    checked["written"] = prepared(written(is_held=True))
    comparer = learned_by(Comparer(weights), pools, checked, chance, seconds)
    made = {
        name.removeprefix("bert."): value.half().cpu().contiguous()
        for name, value in comparer.state_dict().items()
        if name != "bert.embeddings.word_embeddings.weight"
    }
    save_file(made, str(out))


def learned_by(
    comparer: Comparer, pools: Pools, checked: Pools, chance: random.Random, seconds: float
) -> Comparer:
    optimiser = torch.optim.AdamW(
        [value for value in comparer.parameters() if value.requires_grad],
        lr=RATE, weight_decay=0.01,
    )  # fmt: skip
    started, step = time.monotonic(), 0
    comparer.train()
    while (done := (time.monotonic() - started) / seconds) < 1:
        for group in optimiser.param_groups:
            group["lr"] = (
                RATE * min(1, (step + 1) / 100) * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
            )
        some = [
            one for name, count in SHARES.items() for one in chance.choices(pools[name], k=count)
        ]
        said = comparer([(thinned(old, chance), thinned(new, chance)) for old, new, _ in some])
        right = torch.tensor([label for *_, label in some]).cuda()
        labelled = right >= 0
        loss = functional.cross_entropy(said[labelled], right[labelled], label_smoothing=0.03)
        ends = said[~labelled].softmax(1)[:, 0]
        loss = loss - torch.log(1 - 0.999 * ends).sum() / len(some)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(comparer.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 400 == 0:
            figures = {name: tested(comparer, pairs) for name, pairs in checked.items()}
            print(int(time.monotonic() - started), step, round(loss.item(), 3), figures, flush=True)
    figures = {name: tested(comparer, pairs) for name, pairs in checked.items()}
    print(step, "steps", figures, flush=True)
    comparer.eval()
    for name in ("unseen", "unseen stories"):
        ends = ended(comparer, pools[name])
        print(
            name, [round(float((ends >= sure).float().mean()), 4) for sure in (0.5, 0.8, 0.9, 0.95)]
        )
    return comparer


@torch.no_grad()
def ended(comparer: Comparer, pairs: list[tuple[list[int], list[int], int]]) -> torch.Tensor:
    """How surely each later text ends the earlier one."""
    parts = [
        comparer([(old, new) for old, new, _ in pairs[start : start + 512]])
        for start in range(0, len(pairs), 512)
    ]
    return torch.cat(parts).softmax(1)[:, 0].cpu()


if __name__ == "__main__":
    main()
